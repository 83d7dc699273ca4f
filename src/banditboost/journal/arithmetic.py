"""A fingerprint of the arithmetic here: where it is that of a journal's writer, repeated calls must give the same bits."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

ROUNDS = 4
"""How rounds are computed here: raised where their last digits change from one version to the next, so that journals of before are
read as those of another machine are."""


@cache
def arithmetic() -> str:
    """Return a text that is the same wherever the libraries and the kind of processor are.

    It follows from how this version computes rounds, from the versions of the libraries, from what the processor can do, from the
    processor that loops are compiled for, and from the last bits of a few products, sums and functions, which differ between the
    kernels of linear algebra. Equal texts make equal bits very likely and do not prove them.
    """
    values = np.linspace(0.1, 3.7, 403)
    table = np.outer(values, values[::-1])[:61, :157] ** 0.5
    parts = [
        table @ table.T,
        table.T @ values[:61],
        np.array([values @ values[::-1], values.sum()]),
        np.linalg.solve(table[:, :61] @ table[:, :61].T + np.eye(61), values[:61]),
        *(function(values) for function in (np.exp, np.log, np.sin, np.tanh, np.sqrt)),
    ]
    settings: Any = np.show_config(mode="dicts")
    described = [
        ROUNDS,
        *(_version(name) for name in ("numpy", "scipy", "numba")),
        settings.get("SIMD Extensions"),
        *(os.environ.get(name) for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_DISABLE_JIT")),
    ]
    total = hashlib.sha256(repr(described).encode())
    for part in parts:
        total.update(np.ascontiguousarray(part).tobytes())
    return total.hexdigest()[:16]


def _version(name: str) -> str | None:
    """Return the version of a library, without importing it; None where a program was packed without saying."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

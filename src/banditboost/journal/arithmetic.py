"""A fingerprint of the arithmetic here: where it is that of a journal's writer, repeated calls must give the same bits."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
import scipy

from banditboost._compiled.processor import compiled_for


@cache
def arithmetic() -> str:
    """Return a text that is the same wherever the libraries and the kind of processor are.

    It follows from the versions of the libraries, from the processor that loops are compiled for, and from the last bits of a few
    products, sums and functions, which differ between the kernels of linear algebra. Equal texts make equal bits very likely and
    do not prove them.
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
    total = hashlib.sha256(f"{np.__version__} {scipy.__version__} {compiled_for()}".encode())
    for part in parts:
        total.update(np.ascontiguousarray(part).tobytes())
    return total.hexdigest()[:16]

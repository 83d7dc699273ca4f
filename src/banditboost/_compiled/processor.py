"""Which kind of processor loops are compiled for: machine code for another kind may round differently."""

from __future__ import annotations

import numba
from llvmlite import binding  # type: ignore[import-untyped]
from numba.core import config


def compiled_for() -> str:
    """Return the versions and the processor that decide which machine code a loop becomes."""
    settings = vars(config)
    name = settings.get("CPU_NAME") or binding.get_host_cpu_name()
    return f"numba {numba.__version__} {name} {settings.get('CPU_FEATURES') or ''}"

"""The one place that knows how loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    # Sums may be reordered so that they vectorise; NaN and infinity keep their meaning.
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy",
}
_UNCOUNTED: dict[str, Any] = _OPTIONS | {"_nrt": False}
SOURCES = tuple(
    (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(Path(__file__).parent.glob("*.py"))
)
"""What compiled code on disk was made from."""


def _watching(function: Any) -> Any:
    """Have compiled code on disk made anew when any kernel's file has changed.

    Small functions are compiled into their callers, but by itself the cache looks at the caller's file alone.
    """
    file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if file is not None:  # there is none where compiling is switched off
        file._source_stamp = SOURCES
    return function


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile to machine code, cached on disk; runs without the interpreter's lock."""
    fast: Callable[P, R] = _watching(numba.njit(**_OPTIONS)(function))
    return fast


def uncounted(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that makes no arrays, without reference counts.

    Counting who holds an array, whenever a small function is given one, costs a round several times its arithmetic. What such
    a loop writes to is made by its caller in Python.
    """
    fast: Callable[P, R] = _watching(numba.njit(**_UNCOUNTED)(function))
    return fast


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into the caller, without reference counts: for small functions that make no arrays."""
    fast: Callable[P, R] = _watching(numba.njit(forceinline=True, **_UNCOUNTED)(function))
    return fast


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(start, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(call, [address, number(0), number(3), number(1)])  # to read, to keep close, data
        return context.get_dummy_value()

    return numba.void(array, index), generate


prefetch: Callable[[NDArray[Any], int], None] = cast(Any, intrinsic(_prefetch))
"""Ask for the memory of a contiguous array at a flat index, without waiting for it.

Rows of a large table in random order come from main memory, and a round would spend as long waiting for one as on its arithmetic.
"""

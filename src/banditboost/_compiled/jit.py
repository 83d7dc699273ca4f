"""The one place that knows how loops are compiled, and when compiled code on disk is out of date.

`loop` is for the few functions that Python calls, whose machine code is kept on disk; `inlined` and `called` are for what those are
made of. The name under which a loop's machine code is kept is a digest of the argument types and of the *source* of every file that
it was made from, so that editing one kernel compiles that kernel and what calls it, and nothing else. In which folder it is kept,
`banditboost._compiled.cache` decides.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import errors, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from banditboost._compiled.cache import FolderCache, warn_once
from banditboost._compiled.unfinished import KernelCompiler, LoopCompiler
from banditboost._compiled.waiting import compiling

NotCompilableError: type[Exception] = errors.TypingError
"""What a loop raises when it is first called with forms that lack an operation, before anything is played."""

P = ParamSpec("P")
R = TypeVar("R")

OPTIONS: dict[str, Any] = {
    "nogil": True,
    # Sums may be reordered so that they vectorise; NaN and infinity keep their meaning.
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy",
    # No reference counts: counting who holds an array, whenever a small function is given one, costs a round several times its
    # arithmetic. Kernels make no arrays; what they write to is made by their caller in Python.
    "_nrt": False,
}
# A function that only other kernels call needs no wrapper that Python or C could call, and no machine code of its own.
INLINED: dict[str, Any] = OPTIONS | {
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function into every loop that uses it."""
    fast: Callable[P, R] = numba.njit(**INLINED)(function)
    return fast


def called(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that loops call now and then: too large, or too rarely used, to stand in every loop."""
    fast: Callable[P, R] = numba.njit(**(INLINED | {"forceinline": False}))(function)
    return fast


def strict(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that loops call, whose sums are never reordered: for what decides by the last digit of a sum.

    Machine code that is read from disk may round otherwise than code that was just made, where sums may be reordered.
    """
    fast: Callable[P, R] = numba.njit(**(INLINED | {"forceinline": False, "fastmath": False}))(function)
    return fast


def loop(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, and keep its machine code on disk; it runs without the interpreter's lock."""
    return _kept(function, OPTIONS)


def brief(function: Callable[P, R]) -> Callable[P, R]:
    """Compile such a function for one round, which takes microseconds: it keeps the interpreter's lock.

    Where another thread waits for the lock, giving it up costs a turn of that thread and two switches, each longer than the round.
    """
    return _kept(function, OPTIONS | {"nogil": False})


def strict_brief(function: Callable[P, R]) -> Callable[P, R]:
    """Compile such a function whose sums are never reordered: to the last bit what the same arithmetic is in NumPy."""
    return _kept(function, OPTIONS | {"nogil": False, "fastmath": False})


def _kept(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    fast = numba.njit(**options, pipeline_class=LoopCompiler)(function)
    if hasattr(fast, "_cache"):  # not where compiling is switched off
        try:
            fast._cache = SourceCache(function)
        except RuntimeError:
            warn_once("No folder for machine code can be written to")
    return cast("Callable[P, R]", fast)


class SourceCache(FolderCache):
    """Machine code on disk, found by argument types and by the source of all that it was made from."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        # By content, since the time at which a file was written says nothing. Where the loop itself has changed, all that was
        # compiled of it is dropped; where only a form's file has, the names below no longer fit.
        self._cache_file._source_stamp = sources(frozenset({function.__module__}))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code of one signature; None where there is none, which is then made."""
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None:
            compiling()
        return found

    def _index_key(self, sig: Any, codegen: Any) -> str:
        """Name the machine code of one signature; a text, since reading back types would import the modules that define them."""
        from banditboost._compiled.dispatch import modules_behind

        forms = {kind for kind in map(_form, _parts(sig)) if kind is not None}
        modules = {self._py_func.__module__}.union(*map(modules_behind, forms))
        names = sorted(f"{form.__module__}:{form.__qualname__}" for form in forms)
        described = repr((str(sig), names, codegen.magic_tuple(), sources(frozenset(modules))))
        return hashlib.sha256(described.encode()).hexdigest()


def _parts(kind: Any) -> Iterator[Any]:
    """Give a Numba type, or a tuple of types, and all types within it."""
    yield kind
    for inner in kind if isinstance(kind, tuple) else getattr(kind, "types", ()):
        yield from _parts(inner)


def _form(kind: Any) -> type[Any] | None:
    """Return the class of a named tuple's type; None for other types."""
    found: type[Any] | None = getattr(kind, "instance_class", None)
    return found


def sources(modules: frozenset[str]) -> str:
    """Return a digest of the files of some modules and of all kernels that those import."""
    total, todo, done = hashlib.sha256(), set(modules), set[str]()
    while todo:
        name = todo.pop()
        done.add(name)
        todo |= set(_imported(name)) - done
    for name in sorted(done):
        total.update(f"{name}\n".encode())
        total.update(_text(name))
    return total.hexdigest()


def _text(name: str) -> bytes:
    """Return a module's source; where it has no file, as a notebook has none, the code of its functions."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file and Path(file).is_file():
        return Path(file).read_bytes()
    codes = (getattr(getattr(part, "py_func", part), "__code__", None) for part in vars(module).values())
    return b"".join(code.co_code + repr((code.co_consts, code.co_names)).encode() for code in codes if code is not None)


def _imported(name: str) -> Iterator[str]:
    """Give the modules that a kernel's file imports: other kernels of ours, or modules beside a user's own kernel."""
    if not getattr(sys.modules.get(name), "__file__", None):
        return
    package = "banditboost._compiled" if name.startswith("banditboost.") else name.partition(".")[0]
    for found in _named(_text(name)):
        ours = any(found == home or found.startswith(f"{home}.") for home in (package, "banditboost._compiled"))
        if ours and found in sys.modules and found != name:
            yield found


@cache
def _named(text: bytes) -> frozenset[str]:
    """Return all that the import statements of a file may mean."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def _at(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(start, [arguments[1]]))

    return array.dtype(array, types.intp), generate


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


at: Callable[[NDArray[Any], int], Any] = cast(Any, intrinsic(_at))
"""Return a number of a contiguous array at a flat index that is not negative, which nothing asks about."""
prefetch: Callable[[NDArray[Any], int], None] = cast(Any, intrinsic(_prefetch))
"""Ask for the memory of a contiguous array at a flat index, without waiting for it.

Rows of a large table in random order come from main memory, and a round would spend as long waiting for one as on its arithmetic.
"""

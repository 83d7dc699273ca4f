"""Kernels are optimised once, with the loop that calls them."""

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache

from banditboost._compiled import jit
from banditboost._compiled.unfinished import LoopLibrary, UnfinishedLibrary


@jit.inlined
def twice(x: float) -> float:
    if x < 0.0:
        raise ValueError("x must not be negative.")
    return 2.0 * x


@jit.called
def sum_of_twice(x: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += twice(x[i])
    return total


@jit.strict
def and_once(x: Any) -> float:
    return sum_of_twice(x) + float(x[0])


def outer(x: Any) -> float:
    total: float = and_once(x) + twice(x[0])
    return total


KERNELS: tuple[Any, ...] = (twice, sum_of_twice, and_once)


def fresh_loop() -> Any:
    """Return the outer function as a loop that is not on disk."""
    loop: Any = jit.loop(outer)
    loop._cache = NullCache()
    return loop


def libraries(kernel: Any) -> list[Any]:
    return [found.library for found in kernel.overloads.values()]


def test_kernels_are_unfinished_and_loops_are_not() -> None:
    loop = fresh_loop()
    assert loop(np.array([1.0, 2.0])) == 9.0
    assert isinstance(libraries(loop)[0], LoopLibrary)
    name = next(iter(loop.overloads.values())).fndesc.llvm_func_name
    assert libraries(loop)[0].get_pointer_to_function(name) != 0
    for kernel in KERNELS:
        (library,) = libraries(kernel)
        assert isinstance(library, UnfinishedLibrary)
        (found,) = kernel.overloads.values()
        assert library.get_pointer_to_function(found.fndesc.llvm_func_name) == 0
        assert not library.codegen._engine.is_symbol_defined(found.fndesc.llvm_func_name)


def test_what_a_kernel_raises_reaches_python() -> None:
    loop = fresh_loop()
    with pytest.raises(ValueError, match=r"^x must not be negative\.$"):
        loop(np.array([1.0, -2.0]))


def test_environments_that_waited_are_set() -> None:
    loop = fresh_loop()
    loop(np.array([1.0]))
    (library,) = libraries(loop)
    waited = [pair for kernel in KERNELS for pair in libraries(kernel)[0].waiting.environments]
    assert len(waited) == 3
    engine = library.codegen._engine
    defined = [(name, environment) for name, environment in waited if engine.is_symbol_defined(name)]
    for name, environment in defined:
        address = engine.get_global_value_address(name)
        assert ctypes.c_void_p.from_address(address).value == id(environment)


def test_functions_that_others_compile_may_call_kernels() -> None:
    options = {name: value for name, value in jit.OPTIONS.items() if name != "pipeline_class"}
    assert numba.njit(**options)(outer)(np.array([1.0, 2.0])) == 9.0

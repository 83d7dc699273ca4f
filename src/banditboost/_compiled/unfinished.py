"""Kernels that only other kernels call are optimised once: together with the loop that calls them, and not before.

Numba finishes every function by itself: it links in all that the function calls, optimises the whole, and makes machine code of it.
Where functions are nested ten deep, the innermost is optimised ten times, and machine code is made of functions that nobody can
call. Here such a function stays as it was written down, and the loop, which Python calls, links in everything that it needs from
the functions under it, however deep, and is optimised and made into machine code once.

This uses Numba's extension point for compilers (`pipeline_class`), and its libraries of code, which may change between versions:
`tests/_compiled/test_unfinished.py` holds that kernels are left unfinished, and that what they need reaches the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import codegen as numba_codegen
from numba.core import compiler as numba_compiler

# Numba types these in part, which is worse than not at all.
Library: Any = numba_codegen.JITCodeLibrary
Compiler: Any = numba_compiler.Compiler


class _Waiting:
    """A code generator that notes which environments functions need: they have no address before machine code is made."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen
        self.environments: list[tuple[str, Any]] = []

    def set_env(self, name: str, environment: Any) -> None:
        self.environments.append((name, environment))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class UnfinishedLibrary(Library):  # type: ignore[misc]
    """The code of a kernel, neither linked nor optimised as a whole, and no machine code."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.waiting = _Waiting(codegen)

    @property
    def codegen(self) -> Any:
        """The code generator, for which environments wait."""
        return self.waiting

    def finalize(self) -> None:
        """Close the library: nothing is added to it from here on."""
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, Numba's word for no address."""
        self._ensure_finalized()
        return 0

    def alone(self) -> Any:
        """Return the code of this kernel without that of others, for linking."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Return the code of this kernel and of all behind it: a function that somebody else compiled links what it calls only."""
        whole = self.alone().clone()
        for library in _all_behind(self._linking_libraries):
            _link(whole, library)
        return whole


class LoopLibrary(Library):  # type: ignore[misc]
    """The code of a loop with that of all kernels that it needs."""

    def finalize(self) -> None:
        """Link in all that is needed, each once; optimise it, make machine code, and hand over environments that waited."""
        needed = _all_behind(self._linking_libraries)
        kernels = [library for library in needed if isinstance(library, UnfinishedLibrary)]
        self._linking_libraries: list[Any] = [
            library for library in needed if not isinstance(library, UnfinishedLibrary)
        ]
        for kernel in kernels:
            self._reload_init.update(kernel._reload_init)
            _link(self._final_module, kernel)
        super().finalize()
        for kernel in kernels:
            for name, environment in kernel.waiting.environments:
                if self._codegen._engine.is_symbol_defined(name):
                    self._codegen.set_env(name, environment)


def _link(module: Any, library: Any) -> None:
    """Add the code of a library to a module."""
    single = library.alone() if isinstance(library, UnfinishedLibrary) else library._get_module_for_linking()
    module.link_in(single, preserve=True)


def _all_behind(libraries: list[Any]) -> list[Any]:
    """Return libraries, and those that unfinished ones among them call, each once."""
    waiting, found = list(libraries), dict[Any, None]()
    while waiting:
        library = waiting.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, UnfinishedLibrary):
                waiting += library._linking_libraries
    return list(found)


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler for functions that only kernels call."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function into an unfinished library."""
        if self.state.library is None:
            self.state.library = UnfinishedLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


class LoopCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler for functions that Python calls."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function together with the kernels behind it, and keep the machine code, so that it can go to disk."""
        if self.state.library is None:
            self.state.library = LoopLibrary(self.state.targetctx.codegen(), function.__qualname__)
            self.state.library.enable_object_caching()
        return super().compile_extra(function)

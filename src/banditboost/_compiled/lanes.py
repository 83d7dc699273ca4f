"""Several numbers side by side, *lanes*, which kernels add and multiply at once.

The compiler turns a loop over the copies of a bank into such arithmetic only after it has asked, every time, whether the arrays
of that loop overlap, and it ends the loop with copies one by one. Where a round has ten copies, that is most of its time. A kernel
that says `load` and `store` has decided itself: arrays are as long as a multiple of the number of lanes, and what is in their last
places counts nothing. How many lanes there are is known when a kernel is compiled, by the type of a form. Processors without
registers of that width take several steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache, reduce
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

from banditboost._core.checks import Array

LINE = 8
"""How many numbers a line of memory holds: loading numbers that lie in two lines takes twice as long."""


class One(NamedTuple):
    """One number at a time."""


class Two(NamedTuple):
    """Two numbers side by side."""


class Four(NamedTuple):
    """Four numbers side by side."""


class Eight(NamedTuple):
    """Eight numbers side by side."""


class Sixteen(NamedTuple):
    """Sixteen numbers side by side."""


WIDTHS: dict[type[Any], int] = {One: 1, Two: 2, Four: 4, Eight: 8, Sixteen: 16}
"""How many numbers each of these means."""
MOST = max(WIDTHS.values())
ABREAST = Sixteen()
"""How many copies a round plays at once where a decision is one number, whatever they learn with."""


def padded(columns: int, width: int) -> int:
    """Return the least multiple of a width that is not below a number of columns; the next one in place of a multiple of 256.

    Rows of such a length would all begin at the same few places of a cache, and drive each other out of it.
    """
    least = -(-columns // width) * width
    return least + width if least % 256 == 0 else least


@cache
def lanes_for(columns: int) -> Any:
    """Return as many lanes as there are columns, or a few more; where columns are many, eight or sixteen, with fewer left empty."""
    enough = (kind for kind, width in WIDTHS.items() if width >= min(columns, LINE))
    return min(enough, key=lambda kind: (padded(columns, WIDTHS[kind]), -WIDTHS[kind]))()


def room(lanes: Any, *shape: int) -> Array:
    """Return zeros that begin with a line of memory; places are added to the last axis until lanes divide it."""
    whole = (*shape[:-1], padded(shape[-1], WIDTHS[type(lanes)]))
    memory = np.zeros(math.prod(whole) + LINE)
    begin = -memory.ctypes.data // memory.itemsize % LINE
    return memory[begin : begin + math.prod(whole)].reshape(whole)


class _Lanes(types.Type):
    """The type of several numbers."""

    def __init__(self, width: int) -> None:
        super().__init__(name=f"Lanes({width})")
        self.width = width


@register_model(_Lanes)
class _Model(models.PrimitiveModel):
    """They are one value of the machine, as a number is."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _machine(kind))  # type: ignore[no-untyped-call]


def _machine(kind: Any) -> Any:
    return ir.VectorType(ir.DoubleType(), kind.width)


def _of(form: Any) -> Any:
    return _Lanes(WIDTHS[form.instance_class])


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    if kind.layout != "C" or kind.dtype != types.float64:
        raise TypeError(f"Lanes are of contiguous arrays of double precision, got {kind}.")
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _everywhere(builder: Any, kind: Any, number: Any) -> Any:
    undefined, number_32 = ir.Constant(_machine(kind), ir.Undefined), ir.IntType(32)
    first = builder.insert_element(undefined, number, number_32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(number_32, kind.width), [0] * kind.width))


def _numbers(typing: Any, form: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.intp, WIDTHS[form.instance_class])

    return types.intp(form), generate


def _load(typing: Any, form: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[1], *arguments[1:])
        return builder.load(builder.bitcast(address, _machine(_of(form)).as_pointer()), align=8)

    return _of(form)(form, array, types.intp), generate


def _store(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(address, _machine(lanes).as_pointer()), align=8)
        return context.get_dummy_value()

    return numba.void(array, types.intp, lanes), generate


def _spread(typing: Any, form: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _everywhere(builder, _of(form), arguments[1])

    return _of(form)(form, types.float64), generate


def _spread_at(typing: Any, form: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = builder.load(_address(context, builder, signature.args[1], *arguments[1:]))
        return _everywhere(builder, _of(form), number)

    return _of(form)(form, array, types.intp), generate


def _any_above(typing: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = ir.IntType(left.width)
        above = builder.bitcast(builder.fcmp_ordered(">", *arguments), bits)
        return builder.icmp_unsigned("!=", above, bits(0))

    return types.boolean(left, left), generate


def _where_above(typing: Any, left: Any, right: Any, then: Any, otherwise: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), *arguments[2:])

    return left(left, right, then, otherwise), generate


def _root(typing: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, name = _machine(lanes), f"llvm.sqrt.v{lanes.width}f64"
        find = cast(Any, get_or_insert_function)
        return builder.call(find(builder.module, ir.FunctionType(kind, [kind]), name), arguments)

    return lanes(lanes), generate


def _over(typing: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fdiv(*arguments)

    return left(left, right), generate


def _sums_before(typing: Any, lanes: Any) -> Any:
    width, zeros = lanes.width, ir.Constant(_machine(lanes), None)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def moved(value: Any, by: int) -> Any:
            places = ir.Constant(ir.VectorType(ir.IntType(32), width), [width + k - by for k in range(width)])
            return builder.shuffle_vector(zeros, value, places)

        def added(value: Any, moves: Iterable[int]) -> Any:
            return reduce(builder.fadd, [moved(value, by) for by in moves])

        four = added(arguments[0], range(1, min(4, width) + 1))
        return added(four, range(0, width, 4))

    return lanes(lanes), generate


def _last(typing: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), lanes.width - 1))

    return types.float64(lanes), generate


def _add(typing: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return left(left, left), generate


def _times(typing: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments)

    return left(left, left), generate


def _add_product(typing: Any, total: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(arguments[0], builder.fmul(*arguments[1:]))

    return total(total, total, total), generate


numbers: Callable[[Any], int] = cast(Any, intrinsic(_numbers))
"""Return how many numbers lie side by side in a form such as `Eight`, which the compiler then knows."""
load: Callable[[Any, Array, int], Any] = cast(Any, intrinsic(_load))
"""Return the numbers of a contiguous array from a flat index on, as many as the form says."""
store: Callable[[Array, int, Any], None] = cast(Any, intrinsic(_store))
"""Write lanes to a contiguous array, from a flat index on."""
spread: Callable[[Any, float], Any] = cast(Any, intrinsic(_spread))
"""Return a number in every lane."""
spread_at: Callable[[Any, NDArray[Any], int], Any] = cast(Any, intrinsic(_spread_at))
"""Return a number of a contiguous array, at a flat index that is not negative, in every lane."""
any_above: Callable[[Any, Any], bool] = cast(Any, intrinsic(_any_above))
"""Return whether any number of the left is greater than that of the right."""
where_above: Callable[[Any, Any, Any, Any], Any] = cast(Any, intrinsic(_where_above))
"""Return the third's numbers where the first's are greater than the second's, and the fourth's elsewhere."""
root: Callable[[Any], Any] = cast(Any, intrinsic(_root))
"""Return square roots, lane by lane."""
over: Callable[[Any, Any], Any] = cast(Any, intrinsic(_over))
"""Return left / right, lane by lane."""
sums_before: Callable[[Any], Any] = cast(Any, intrinsic(_sums_before))
"""Return in every lane the sum of all lanes before: first of the four before each, then of all such sums."""
last: Callable[[Any], float] = cast(Any, intrinsic(_last))
"""Return the number in the last lane."""
add: Callable[[Any, Any], Any] = cast(Any, intrinsic(_add))
"""Return left + right, lane by lane."""
times: Callable[[Any, Any], Any] = cast(Any, intrinsic(_times))
"""Return left · right, lane by lane."""
add_product: Callable[[Any, Any, Any], Any] = cast(Any, intrinsic(_add_product))
"""Return total + left · right, lane by lane."""

"""How features are cut into bins, from a sample of the contexts seen, compiled. All trees of a bank share the bins.

The sample is every s-th context; when it is full every second one is dropped and s is doubled, so that it is always spread evenly
over the past. Bins are cut after FIRST contexts, and anew whenever four times as many have come. A feature with few different
values (an indicator has two) has a bin for each; otherwise a value that fills more than a bin's share of the sample has a bin to
itself, and the others share the rest evenly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.jit import called, inlined
from banditboost._core.checks import Array

Numbers = NDArray[np.int64]

FIRST = 16
SAMPLE = 256
"""How many contexts the sample has room for."""
SEEN, KEPT, STRIDE, READY, UNUSUAL = range(5)


class Bins(NamedTuple):
    """Bins of every feature, and the bins of the present context."""

    clock: Numbers
    """Contexts seen, contexts in the sample, its stride, how often bins were cut, unusual bins of the present context."""
    sample: Array
    """Shape (SAMPLE, features)."""
    ends: Array
    """Least and largest value ever seen, shape (2, features)."""
    edges: Array
    """Bin b of a feature ends at edges[feature, b], which belongs to it. Shape (features, most bins - 1)."""
    offsets: Numbers
    """Where a feature's bins begin in a row of all bins, shape (features + 1,)."""
    usual: Numbers
    """The fullest bin of a feature, shape (features,)."""
    unusual: Numbers
    """Features whose bin is not the usual one in the present context, and that bin's place. Shape (features, 2)."""
    values: Array
    """Room to sort in: shape (SAMPLE + 2,)."""


@called
def observe(bins: Bins, x: Array) -> bool:
    """Take note of a context and find its bins; return whether bins were cut anew."""
    clock = bins.clock
    if clock[SEEN] == 0:
        for k in range(len(x)):
            bins.ends[0, k] = bins.ends[1, k] = x[k]
    widen(bins.ends[0], bins.ends[1], x)
    if clock[SEEN] % clock[STRIDE] == 0 and clock[KEPT] == bins.sample.shape[0]:
        thin(bins)
    if clock[SEEN] % clock[STRIDE] == 0:
        for k in range(len(x)):
            bins.sample[clock[KEPT], k] = x[k]
        clock[KEPT] += 1
    clock[SEEN] += 1
    anew = bool(clock[SEEN] == FIRST * 4 ** clock[READY])
    if anew:
        clock[READY] += 1
        for k in range(len(x)):
            cut(bins, k)
    locate(bins, x)
    return anew


@inlined
def widen(least: Array, largest: Array, x: Array) -> None:
    """Count a context in the least and the largest values; arrays of their own and no branches are for vector instructions."""
    for k in range(len(x)):
        least[k] = x[k] if x[k] < least[k] else least[k]
        largest[k] = x[k] if x[k] > largest[k] else largest[k]


@inlined
def thin(bins: Bins) -> None:
    """Drop every second context of the sample."""
    bins.clock[KEPT] = (bins.sample.shape[0] + 1) // 2
    bins.clock[STRIDE] *= 2
    for r in range(bins.clock[KEPT]):
        for k in range(bins.sample.shape[1]):
            bins.sample[r, k] = bins.sample[2 * r, k]


@called
def locate(bins: Bins, x: Array) -> None:
    """Write down the bins of a context that are not the usual ones."""
    found = 0
    for k in range(len(x)):
        b, last = 0, bins.offsets[k + 1] - bins.offsets[k] - 1
        if last == 1:  # an indicator: no branch has to be guessed
            b = int(x[k] > bins.edges[k, 0])
        else:
            while b < last and x[k] > bins.edges[k, b]:
                b += 1
        bins.unusual[found, 0], bins.unusual[found, 1] = k, bins.offsets[k] + b
        found += int(b != bins.usual[k])
    bins.clock[UNUSUAL] = found


@called
def cut(bins: Bins, k: int) -> None:
    """Cut feature k by its sample and its two ends, which make sure that a rare value is not overlooked."""
    values, n, most = bins.values, bins.clock[KEPT] + 2, bins.edges.shape[1] + 1
    least, largest = bins.ends[0, k], bins.ends[1, k]
    values[n - 2], values[n - 1] = least, largest
    for r in range(n - 2):
        value = bins.sample[r, k]
        values[r] = value
        least, largest = value if value < least else least, value if value > largest else largest
    begin, end = ends_apart(values, n, least, largest)
    sort(values, begin, end)
    different = 1
    for r in range(1, n):
        different += 1 if values[r] > values[r - 1] else 0
    made, begin, at, fullest = 0, 0, 0, 0
    while at < n:
        at = after(values, n, at)
        share = (n - begin) / (most - made)
        # A value that fills a bin alone begins a new one.
        crowd = at < n and after(values, n, at) - at > share
        if at == n or (made < most - 1 and (different <= most or crowd or at - begin >= share)):
            if at - begin > fullest:
                fullest, bins.usual[k] = at - begin, made
            if at < n:
                bins.edges[k, made] = 0.5 * values[at - 1] + 0.5 * values[at]
            made, begin = made + 1, at
    bins.offsets[k + 1] = bins.offsets[k] + made


@inlined
def after(values: Array, n: int, at: int) -> int:
    """Return where, in sorted values, the first one different from values[at] stands."""
    end = at + 1
    while end < n and values[end] == values[at]:
        end += 1
    return end


@inlined
def ends_apart(values: Array, n: int, least: float, largest: float) -> tuple[int, int]:
    """Put the least values first and the largest ones last, and return where those between them begin and end.

    What is left to be sorted of an indicator is nothing. Every value is swapped, so that no branch has to be guessed.
    """
    begin, end = 0, n
    for r in range(n):
        held = values[r]
        values[r], values[begin] = values[begin], held
        begin += int(held == least)
    for r in range(n - 1, begin - 1, -1):
        held = values[r]
        values[r], values[end - 1] = values[end - 1], held
        end -= int(held == largest)
    return begin, end


@called
def sort(values: Array, begin: int, end: int) -> None:
    """Sort a stretch of values by Shell's method, which makes no arrays; gaps as Gonnet and Baeza-Yates (1991) have them."""
    gap = max((5 * (end - begin) - 1) // 11, 1)
    while gap > 0:
        for r in range(begin + gap, end):
            held, at = values[r], r
            while at >= begin + gap and values[at - gap] > held:
                values[at] = values[at - gap]
                at -= gap
            values[at] = held
        gap = 0 if gap == 1 else max((5 * gap - 1) // 11, 1)

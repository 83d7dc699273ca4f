"""How far to follow a play, from what it has gained in earlier rounds, compiled: `chains.Mix` explains it.

With d the way to the play and g the gradient where it begins, of a loss with curvature 2, following it by a share ω changes the
loss by ω g·d + ω² |d|². G = -Σ g·d/2 and S = Σ |d|² make the best share G/S, and V is the variance of G, as rounds have shown it.
"""

from __future__ import annotations

from typing import NamedTuple

from banditboost._compiled.jit import strict
from banditboost._core.checks import Array


class Late(NamedTuple):
    """What late rounds have shown, for worlds that change."""

    sums: Array
    """Gained, squares and variances of every copy over each stretch; the first row has the later copies together. Shape (N, K, 3),
    or empty where late rounds overrule nothing."""
    stretches: Array
    """How many rounds each stretch has, longer ones first, shape (K,)."""
    sure: float


@strict
def shrunk(gained: float, squares: float, variance: float, doubt: float) -> float:
    """Return how far to follow plays whose sums of gains and of squares are these; zero where they have gained nothing."""
    return (gained - doubt * variance / gained) / squares if gained > 0.0 and squares > 0.0 else 0.0


@strict
def gather(late: Late, i: int, gain: float, square: float, surprise: float) -> None:
    """Add a round to what late rounds have shown of copy i."""
    for k in range(len(late.stretches)):
        faded, sums = 1.0 - 1.0 / late.stretches[k], late.sums[i, k]
        sums[0] = faded * sums[0] + gain
        sums[1] = faded * sums[1] + square
        sums[2] = faded * faded * sums[2] + surprise**2


@strict
def overruled(trust: float, late: Late, i: int, doubt: float, least: float, rounds: float) -> float:
    """Return the trust in copy i, or that of late rounds where they contradict it."""
    for k in range(len(late.stretches)):
        gained, squares, variance = late.sums[i, k, 0], late.sums[i, k, 1], late.sums[i, k, 2]
        if rounds > 2.0 * late.stretches[k] and (gained - trust * squares) ** 2 > late.sure * variance:
            trust = min(max(shrunk(gained, squares, variance, doubt), least), 1.0)
    return trust

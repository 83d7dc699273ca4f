"""The base of the chains: what a chain must do for the loop."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from banditboost._core.checks import Array, count, positive
from banditboost._core.forms import no_loop
from banditboost._core.spec import Memory, Spec
from banditboost.spaces import Space


@dataclass(frozen=True)
class Chain(Spec):
    """Base class of the ways to combine the plays of N copies."""

    gamma: float = field(default=1.0, kw_only=True)

    projects: ClassVar[bool] = False
    """True: every step of the path is projected on the space, so that plays may lie outside it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("gamma", self.gamma)

    @abstractmethod
    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Return y^0 ... y^N, shape (N+1, *shape), from plays that are already divided by γ.

        Parameters
        ----------
        plays
            a_1/γ ... a_N/γ.
        start
            y^0.
        memory
            The chain's memory, made by `start` and changed by `learn`; left out, it is that of the first round.
        ground
            The set on which chains that add up plays project every step; left out, nothing is projected.
        """

    @abstractmethod
    def lengths(self, copies: int) -> Array:
        """Return the step lengths η_1 ... η_N."""

    def start(self, copies: int) -> Memory:
        """Return what the chain remembers before the first round, as arrays whose first axis is the copy; most remember nothing."""
        return {}

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Learn from the gradients at y^0 ... y^{N-1}; t is the number of rounds learned from, including this one."""

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the typed tuple by which compiled loops know this chain (`banditboost.extending`); None where there is none.

        Parameters
        ----------
        start
            y^0, as one row of numbers.
        ground
            The form of the set in which chains that sum plays must stay.
        copies
            N.
        memory
            What the chain remembers, to be changed in place.
        first, rounds
            The number of the first round to be played, counted as for `learn`, and how many there are.
        """
        return None

    def why_not_compiled(self, space: Space) -> str | None:
        """Return why no compiled loop can play this chain on a space, as half a sentence; None where one can."""
        if type(self).compiled_form is Chain.compiled_form:
            return f"there is no compiled loop for the chain {type(self).__name__}"
        return no_loop("chain", self)

    def check(self, copies: int) -> None:
        """Raise an error where the chain cannot combine that many copies."""
        count("copies", copies)

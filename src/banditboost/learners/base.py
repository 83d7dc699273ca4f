"""What a learner owes the loop: a bank of N copies that play, and learn from linear losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from banditboost._compiled.shown import Prepared, Shown
from banditboost._core.checks import Array
from banditboost._core.forms import no_loop
from banditboost._core.spec import Spec
from banditboost.spaces import Space


class Bank(ABC):
    """The running state of N copies, as arrays whose first axis is the copy."""

    @abstractmethod
    def play(self, context: Array | None) -> Array:
        """Return the N proposals for a context, shape (N, *shape), and change nothing."""

    def play_many(self, contexts: Array) -> Array:
        """Return the proposals for every row of contexts, shape (N, rows, *shape): row by row, where a family knows no better."""
        return np.stack([self.play(context) for context in contexts], axis=1)

    @abstractmethod
    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Learn from the linear losses y ↦ gradients[i]·y, one per copy; t counts the rounds told, this one included."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return the state by name: the arrays themselves, which a caller may overwrite in place to restore them."""

    def check(self) -> None:  # noqa: B027 - most banks have nothing of the kind
        """Raise where arrays that were restored would lead out of others: what compiled loops do not look at."""

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the typed tuple by which compiled loops know this bank for a block of rounds (`banditboost.extending`).

        Parameters
        ----------
        shown
            The contexts of the block.
        rounds_done
            How many rounds were learned from before.
        """
        raise TypeError(f"The bank {type(self).__name__} has no compiled form.")

    def why_not_compiled(self) -> str | None:
        """Return why no compiled loop can play these copies, as half a sentence; None where one can."""
        if type(self).compiled_form is Bank.compiled_form:
            return f"there is no compiled loop for the learner {type(self).__name__.removesuffix('Bank')}"
        return no_loop("bank", self)

    def floats_per_round(self, sparse: bool) -> int:
        """Return how many numbers a round's contexts take once they are laid out for the compiled loop, for all copies together."""
        return 1


@dataclass(frozen=True)
class Learner(Spec):
    """Description of a family of copies."""

    contextual: ClassVar[bool] = True
    """Whether copies look at a context. Those that do not are started on the set where they must play and stay in it."""

    @property
    def bets(self) -> bool:
        """Whether copies raise their stakes as long as they win: then plays that were projected must be corrected for."""
        return False

    @property
    def branches(self) -> bool:
        """Whether copies compare features with thresholds, so that a last digit may decide."""
        return False

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return how many numbers a bank holds, before it is made: at least one for every coordinate of every play."""
        return copies * space.size

    @abstractmethod
    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> Bank:
        """Make a fresh bank of `copies` for decisions in `space` and contexts of `features` numbers (0: none)."""

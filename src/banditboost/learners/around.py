"""The base of learners that change what another learner sees or plays, and are otherwise as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.learners.background import Grows
from banditboost.learners.base import Bank, KeptRounds, Learner
from banditboost.learners.forgotten import Erased


@dataclass(frozen=True)
class Around(Learner):
    """A learner with another one within, whose nature it has."""

    learner: Learner

    @property
    def branches(self) -> bool:
        """Whether the learner within does."""
        return self.learner.branches

    @property
    def remembers(self) -> bool:
        """Whether the learner within does."""
        return self.learner.remembers

    @property
    def bets(self) -> bool:
        """Whether the learner within does."""
        return self.learner.bets

    @property
    def fits_residuals(self) -> bool:
        """Whether the learner within does."""
        return self.learner.fits_residuals


class AroundBank(Bank):
    """A bank with another one within, which copies belong to."""

    bank: Bank

    def meet(self, context: Array | None) -> None:
        """Let the bank within take note of the context."""
        self.bank.meet(context)

    def forget(self, erased: Erased) -> int:
        """Overwrite what is kept within."""
        return self.bank.forget(erased)

    def growers(self) -> Sequence[Grows]:
        """Return those within."""
        return self.bank.growers()

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Reset the inner copies; what is known about the features stays."""
        self.bank.reset(copies, rng)

    def remembered(self) -> KeptRounds | None:
        """Return what the bank within has kept."""
        return self.bank.remembered()

    def rounds_until_new_form(self) -> int | None:
        """Return that of the bank within."""
        return self.bank.rounds_until_new_form()

    def check(self) -> None:
        """Check the bank within."""
        self.bank.check()

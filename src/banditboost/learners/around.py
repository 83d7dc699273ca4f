"""The base of learners that change what another learner sees or plays, and are otherwise as it is."""

from __future__ import annotations

from dataclasses import dataclass

from banditboost.learners.base import Learner


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

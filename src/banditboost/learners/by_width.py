"""One learner where contexts are narrow, another where they are wide: decided when the number of features is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.around import Around, AroundBank
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.learners.categories import columns_needed
from banditboost.learners.linear import Linear
from banditboost.learners.wide import Wide
from banditboost.spaces import Space

WITH_CATEGORIES = 4
"""How many times as many features are narrow where trees know which columns are the indicators of one category."""


@dataclass(frozen=True)
class ByWidth(Around, kind="learners.ByWidth"):
    """One learner for contexts of up to so many features, and another for wider ones.

    Parameters
    ----------
    learner
        The learner for narrow contexts.
    wide
        The learner for wide ones.
    most
        Most features of a narrow context; four times as many where the learner knows categories (`Grown`), which the other one need
        not do.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> spec = ByWidth(Linear(), Wide(), most=100)
    >>> [spec.start(1, Interval(0, 1), features, np.random.default_rng(0)).kind for features in (100, 101)]
    ['Linear', 'Wide']
    """

    learner: Learner = field(default_factory=Linear)
    wide: Learner = field(default_factory=Wide)
    most: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("learner", "wide"):
            given = getattr(self, name)
            if not isinstance(given, Learner) or not given.contextual:
                raise ValueError(f"{name} must be a learner that takes contexts, got {given!r}.")
        count("most", self.most, least=0)

    @classmethod
    def examples(cls) -> tuple[ByWidth, ...]:
        """Give the default, and one for which all contexts are wide."""
        return (cls(), cls(most=0))

    def is_wide(self, features: int) -> bool:
        """Return whether contexts of so many features are wide."""
        return features > self._most_narrow

    @cached_property
    def _most_narrow(self) -> int:
        return self.most * (WITH_CATEGORIES if columns_needed(self.learner) else 1)

    @property
    def branches(self) -> bool:
        """Whether either does."""
        return self.learner.branches or self.wide.branches

    @property
    def bets(self) -> bool:
        """Whether either does."""
        return self.learner.bets or self.wide.bets

    @property
    def remembers(self) -> bool:
        """Whether either does."""
        return self.learner.remembers or self.wide.remembers

    @property
    def fits_residuals(self) -> bool:
        """Whether both do."""
        return self.learner.fits_residuals and self.wide.fits_residuals

    def thin(self, features: int) -> bool:
        """Whether the learner for so many features is."""
        return (self.wide if self.is_wide(features) else self.learner).thin(features)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats of the learner for so many features."""
        return (self.wide if self.is_wide(features) else self.learner).n_floats(copies, space, features)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> ByWidthBank:
        """Start the learner for so many features."""
        wide = self.is_wide(features)
        return ByWidthBank(self, wide, (self.wide if wide else self.learner).start(copies, space, features, rng))


class ByWidthBank(AroundBank):
    """A bank of either learner."""

    def __init__(self, spec: ByWidth, wide: bool, bank: Bank) -> None:
        self.spec, self.wide, self.bank = spec, wide, bank

    @property
    def kind(self) -> str:
        """The name of the learner that was chosen."""
        return self.bank.kind

    def play(self, context: Array | None) -> Array:
        """Return the inner plays."""
        return self.bank.play(context)

    def play_many(self, contexts: Array) -> Array:
        """Return the inner plays."""
        return self.bank.play_many(contexts)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Let the inner copies learn."""
        self.bank.update(context, gradients, t)

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let the inner copies take note."""
        self.bank.remember(context, anchors, gradients)

    def stretched(self, features: int, rng: np.random.Generator) -> ByWidthBank | None:
        """Return the inner bank stretched; None where contexts were narrow and are wide now, and copies must start again."""
        if self.spec.is_wide(features) != self.wide:
            return None
        larger = self.bank.stretched(features, rng)
        return None if larger is None else ByWidthBank(self.spec, self.wide, larger)

    def feature_weights(self) -> Sequence[Learned]:
        """Return what the inner copies have learned."""
        return self.bank.feature_weights()

    @property
    def shared(self) -> frozenset[str]:
        """What inner copies share."""
        return self.bank.shared

    @property
    def sound(self) -> frozenset[str]:
        """Those of the inner copies."""
        return self.bank.sound

    def arrays(self) -> dict[str, Array]:
        """Return the inner state."""
        return self.bank.arrays()

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the inner form."""
        return self.bank.compiled_form(shown, rounds_done)

    @property
    def skips_rounds(self) -> bool:
        """Whether the bank within does."""
        return self.bank.skips_rounds

    def why_not_compiled(self) -> str | None:
        """Return why the inner bank cannot be compiled."""
        return super().why_not_compiled() or self.bank.why_not_compiled()

    def floats_per_round(self, sparse: bool) -> int:
        """Return those of the inner bank."""
        return self.bank.floats_per_round(sparse)

"""Features in the units in which they first came: a learner that is not lost when a sensor changes from metres to millimetres.

Idea: trees compare features with thresholds, and linear copies multiply them by weights, so that all is lost when a feature comes
in another unit. Of every feature the mean size of its values is kept, zeros not counted. Where thirty values in a row have a mean
that is 2.5 times what it was, and above half of the largest value ever seen, the unit has changed: from then on values are divided
by how much larger they are, which becomes more accurate as more of them are seen, until they are as they were at first.

    z_k = x_k / unit_k                unit_k = mean size now / mean size at first, or exactly 1 while nothing has changed

A single value, which may be an error, is shown as no more than 1.25 times the largest before it, once thirty have been seen. Values
that are smaller than before look like those of any quiet time, and are left as they are. A feature that grows steadily, such as the
number of the day, never becomes 2.5 times its mean so far; one that grows faster than that is held at its first size, since a
change of units looks no different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.around import Around, AroundBank
from banditboost.learners.base import UNIT, Bank, Learned, Learner, LinearWeights
from banditboost.learners.linear import Linear
from banditboost.spaces import Space

ROWS, NOW = 15, 4
"""How many numbers the kernel keeps about every feature, and which of them is the unit in which the first one is now."""


@dataclass(frozen=True)
class Steady(Around, kind="learners.Steady"):
    """Another learner, which sees features in the units in which they first came.

    Parameters
    ----------
    learner
        The learner that is shown them.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Steady().start(1, Interval(-1, 1), 1, np.random.default_rng(0))
    >>> metres = np.random.default_rng(0).uniform(1, 2, (200, 1))
    >>> for t, x in enumerate(metres, start=1):
    ...     bank.update(x, np.array([-1.0]), t)
    >>> bank.shown(np.array([1.5])).tolist()
    [1.5]
    >>> for t, x in enumerate(1000 * metres, start=201):
    ...     bank.update(x, np.array([-1.0]), t)
    >>> bank.shown(np.array([1500.0])).round(1).tolist()
    [1.5]
    """

    learner: Learner = field(default_factory=Linear)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.learner, Learner) or not self.learner.contextual:
            raise ValueError(f"learner must be one that takes contexts, got {self.learner!r}.")

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: fifteen for every feature, and those of the learner within."""
        return ROWS * features + self.learner.n_floats(copies, space, features)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> SteadyBank:
        """Start the inner learner, before any value is counted."""
        return SteadyBank(features, self.learner.start(copies, space, features, rng))


class SteadyBank(AroundBank):
    """An inner bank, and what is known about every feature."""

    def __init__(self, features: int, bank: Bank) -> None:
        self.bank = bank
        self.known = np.zeros((ROWS, features))
        self.known[NOW] = 1.0

    def shown(self, contexts: Array | None, learns: bool = False) -> Array:
        """Return a context, or rows of them, in the first units; with `learns` they are counted."""
        assert contexts is not None  # the loop gives contextual learners a context
        from banditboost._compiled.steady import steady, steady_one

        rows = np.array(contexts, dtype=float, order="C", ndmin=2)
        (steady_one if len(rows) == 1 else steady)(rows, self.known, learns)
        return rows.reshape(contexts.shape)

    def play(self, context: Array | None) -> Array:
        """Return the inner plays on the context in the first units."""
        return self.bank.play(self.shown(context))

    def play_many(self, contexts: Array) -> Array:
        """Return the inner plays on the rows in the first units."""
        return self.bank.play_many(self.shown(contexts))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Count the context, and let the inner copies learn from it as they saw it."""
        self.bank.update(self.shown(context, learns=True), gradients, t)

    def meet(self, context: Array | None) -> None:
        """Count the context, which the inner bank meets in the first units."""
        self.bank.meet(self.shown(context, learns=True))

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let the inner copies take note of the context as they saw it."""
        self.bank.remember(self.shown(context), anchors, gradients)

    def stretched(self, features: int, rng: np.random.Generator) -> SteadyBank | None:
        """Return the inner bank stretched, where it can be, around new features that have been zero so far."""
        inner = self.bank.stretched(features, rng)
        if inner is None:
            return None
        larger = SteadyBank(features, inner)
        larger.known[:, : self.known.shape[1]] = self.known
        return larger

    def feature_weights(self) -> Sequence[Learned]:
        """Return what the inner copies have learned, about features in the units in which they come now."""
        return [self._as_they_come(part) for part in self.bank.feature_weights()]

    def _as_they_come(self, part: Learned) -> Learned:
        if not isinstance(part.shown, LinearWeights) or part.shown.unit != UNIT:
            return part
        weights = part.shown.weights.copy()
        weights[..., : self.known.shape[1]] /= self.known[NOW]
        return part._replace(shown=part.shown._replace(weights=weights))

    @property
    def shared(self) -> frozenset[str]:
        """What is known about the features, and what inner copies share."""
        return frozenset(("known", *(f"inner.{name}" for name in self.bank.shared)))

    def check(self) -> None:
        """Check that units can be divided by, and the bank within."""
        if not (np.isfinite(self.known).all() and (self.known[NOW] > 0).all()):
            raise ValueError("known must hold finite numbers, and units above zero.")
        self.bank.check()

    def arrays(self) -> dict[str, Array]:
        """Return what is known about the features, and the inner state."""
        return {"known": self.known} | {f"inner.{name}": array for name, array in self.bank.arrays().items()}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form of the inner bank, which is shown features in the first units; they are counted at the end."""
        from banditboost._compiled.steady import steady

        made, known = shown.dense(), self.known.copy()
        steady(made, known, True)
        inner = self.bank.compiled_form(Shown.features(made[:, np.newaxis]), rounds_done)

        def finish() -> None:
            inner.finish()
            self.known[...] = known

        return Prepared(inner.form, finish)

    @property
    def skips_rounds(self) -> bool:
        """Whether the bank within does."""
        return self.bank.skips_rounds

    def why_not_compiled(self) -> str | None:
        """Return why the inner bank cannot be compiled."""
        return super().why_not_compiled() or self.bank.why_not_compiled()

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a context, and those of the inner bank."""
        return self.known.shape[1] + self.bank.floats_per_round(False)

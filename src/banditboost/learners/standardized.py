"""A running scaler: any learner, shown contexts whose every feature has been brought to unit size.

Idea: keep count, mean and spread of every feature as contexts come, and scale by them, the present context included:

    z = (x - mean) / spread          spread: standard deviation (Welford's recursion), or the largest |x| (and no mean)

With `squash`, z becomes sign(z) log(1 + |z|), which keeps outliers small, and indicators that are nearly always zero, whose z is
large when they are not. Features that have not varied yet are shown as zero.

References
----------
Welford (1962), "Note on a Method for Calculating Corrected Sums of Squares and Products"; Knuth, *The Art of Computer Programming*,
volume 2, Section 4.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from banditboost._core.checks import Array, one_of
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.around import Around, AroundBank
from banditboost.learners.base import UNIT, Bank, Learned, Learner, LinearWeights
from banditboost.learners.linear import Linear
from banditboost.spaces import Space

FLAT = 1e-10
"""A standard deviation below this share of the mean is taken for rounding, and the feature is shown as zero."""


@dataclass(frozen=True)
class Standardized(Around, kind="learners.Standardized"):
    """Another learner, which sees contexts scaled by running statistics.

    Parameters
    ----------
    learner
        The learner that is shown the scaled contexts.
    spread
        ``"deviation"``: subtract the mean and divide by the standard deviation; ``"largest"``: divide by the largest absolute
        value, which keeps zeros zero.
    squash
        Whether scaled values are compressed to a logarithmic scale.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Standardized().start(1, Interval(-1, 1), 2, np.random.default_rng(0))
    >>> for t, x in enumerate(([1e6, 3.0], [3e6, 3.0]), start=1):
    ...     bank.update(np.array(x), np.array([-1.0]), t)
    >>> bank.scaled(np.array([5e6, 3.0])).round(4).tolist()
    [1.2247, 0.0]
    """

    learner: Learner = field(default_factory=Linear)
    spread: Literal["deviation", "largest"] = "deviation"
    squash: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("spread", self.spread, ("deviation", "largest"))
        if not isinstance(self.learner, Learner) or not self.learner.contextual:
            raise ValueError(f"learner must be one that takes contexts, got {self.learner!r}.")

    @classmethod
    def examples(cls) -> tuple[Standardized, ...]:
        """Give both spreads."""
        return (cls(), cls(spread="largest", squash=True))

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: three for every feature, and those of the learner within."""
        return 1 + 3 * features + self.learner.n_floats(copies, space, features)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> StandardizedBank:
        """Start the inner learner, before any context is counted."""
        return StandardizedBank(self, features, self.learner.start(copies, space, features, rng))


class StandardizedBank(AroundBank):
    """An inner bank, and what is known about every feature."""

    def __init__(self, spec: Standardized, features: int, bank: Bank) -> None:
        self.spec, self.bank = spec, bank
        self.count = np.zeros(1)
        self.means, self.variations, self.sizes = (np.zeros(features) for _ in range(3))

    def with_context(self, context: Array) -> tuple[Array, Array, Array, Array]:
        """Return count, means, sums of squared deviations and largest values with one more context."""
        count = self.count + 1
        away = context - self.means
        means = self.means + away / count
        return count, means, self.variations + away * (context - means), np.maximum(self.sizes, np.abs(context))

    def scaled(self, context: Array | None) -> Array:
        """Return z for a context that is about to be counted."""
        return self._scaled(context, learns=False)

    def _scaled(self, context: Array | None, learns: bool) -> Array:
        """Return z for a context, which is counted with `learns`."""
        assert context is not None  # the loop gives contextual learners a context
        if context.ndim == 1 and self.spec.spread == "deviation" and not self.spec.squash:
            from banditboost._compiled.features import deviations

            x, z = np.array(context, dtype=float), np.empty(len(context))
            deviations(x, self.count, self.means, self.variations, self.sizes, learns, FLAT, z)
            return z
        known = self.with_context(context)
        if learns:
            self.count[...], self.means[...], self.variations[...], self.sizes[...] = known
        return self.against(context, *known)

    def against(self, context: Array, count: Array, means: Array, variations: Array, sizes: Array) -> Array:
        """Return z from the numbers that describe the features."""
        if self.spec.spread == "largest":
            away, spread = context, sizes
        else:
            away, spread = context - means, np.sqrt(variations / count)
            spread = np.where(spread > FLAT * np.abs(means), spread, 0.0)
        z = np.divide(away, spread, out=np.zeros_like(context), where=spread > 0)
        return np.sign(z) * np.log1p(np.abs(z)) if self.spec.squash else z

    def play(self, context: Array | None) -> Array:
        """Return the inner plays on the scaled context."""
        return self.bank.play(self.scaled(context))

    def play_many(self, contexts: Array) -> Array:
        """Return the inner plays on the scaled rows, each counted as if it came next."""
        return self.bank.play_many(self.against(contexts, *self.with_context(contexts)))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Count the context, then let the inner copies learn from it scaled."""
        self.bank.update(self._scaled(context, learns=True), gradients, t)

    def meet(self, context: Array | None) -> None:
        """Count the context, which the inner bank meets scaled."""
        self.bank.meet(self._scaled(context, learns=True))

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let the inner copies take note of the context, scaled with itself counted."""
        if type(self.bank).remember is not Bank.remember:  # scaling costs as much as a round of small copies
            self.bank.remember(self.scaled(context), anchors, gradients)

    def stretched(self, features: int, rng: np.random.Generator) -> StandardizedBank | None:
        """Return the inner bank stretched, where it can be, around new features that have been zero so far."""
        inner = self.bank.stretched(features, rng)
        if inner is None:
            return None
        larger = StandardizedBank(self.spec, features, inner)
        larger.count[...] = self.count
        for name in ("means", "variations", "sizes"):
            old = getattr(self, name)
            getattr(larger, name)[: len(old)] = old
        return larger

    def feature_weights(self) -> Sequence[Learned]:
        """Return what the inner copies have learned, about features measured as they see them."""
        plain = self.spec.spread == "deviation" and not self.spec.squash
        return [
            _measured(part, "standard deviation" if plain else "scaled value") for part in self.bank.feature_weights()
        ]

    @property
    def shared(self) -> frozenset[str]:
        """What is known about the features, and what inner copies share."""
        own = ("count", "means", "variations", "sizes")
        return frozenset((*own, *(f"inner.{name}" for name in self.bank.shared)))

    def arrays(self) -> dict[str, Array]:
        """Return what is known about the features, and the inner state."""
        own = {"count": self.count, "means": self.means, "variations": self.variations, "sizes": self.sizes}
        return own | {f"inner.{name}": array for name, array in self.bank.arrays().items()}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form of the inner bank, which is shown scaled features; what is known of them is learned at the end."""
        from banditboost._compiled.features import standardize

        made, known = shown.dense(), (self.count, self.means, self.variations, self.sizes)
        now = (self.count.copy(), self.means.copy(), self.variations.copy(), self.sizes.copy())
        standardize(made, *now, self.spec.spread == "largest", self.spec.squash, FLAT)
        inner = self.bank.compiled_form(Shown.features(made[:, np.newaxis]), rounds_done)

        def finish() -> None:
            inner.finish()
            for array, learned in zip(known, now, strict=True):
                array[...] = learned

        return Prepared(inner.form, finish)

    @property
    def skips_rounds(self) -> bool:
        """Whether the bank within does."""
        return self.bank.skips_rounds

    def why_not_compiled(self) -> str | None:
        """Return why the inner bank cannot be compiled, or that a last digit may send a context down another branch of a tree."""
        if self.spec.learner.branches:
            return "there is no compiled loop for trees on features that are scaled"
        return super().why_not_compiled() or self.bank.why_not_compiled()

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a context, and those of the inner bank."""
        return len(self.means) + self.bank.floats_per_round(False)


def _measured(part: Learned, unit: str) -> Learned:
    """Return the same with another unit, where the inner copies take features as they come."""
    if not isinstance(part.shown, LinearWeights) or part.shown.unit != UNIT:
        return part
    return part._replace(shown=part.shown._replace(unit=unit))

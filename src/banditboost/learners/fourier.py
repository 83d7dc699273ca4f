"""Random Fourier features: a linear learner that is shown cosines of random projections, and so learns a smooth function.

Idea: with frequencies ω ~ N(0, 1/(b² k)) on k coordinates and phases φ uniform on [0, 2π],

    features √2 cos(ω_j·x + φ_j),  whose mean product over j is exp(-‖x - x'‖²/(2 b² k)), the Gaussian kernel of bandwidth b√k.

With `shared=False` every copy has random features of its own: N copies with p features each then hold N p of them at the cost of
N p² per round for a second-order learner, not (N p)². With few `coordinates` a feature looks at a random handful of the context,
and the kernel is that of an additive model with interactions of that order: better than all at once where features are many.

References
----------
Rahimi, Recht (2007), "Random Features for Large-Scale Kernel Machines", Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, count, positive
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.around import Around
from banditboost.learners.background import Grows
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.learners.family import LinearFamily
from banditboost.learners.forgotten import Erased
from banditboost.learners.linear import Linear
from banditboost.learners.second_order import SecondOrder
from banditboost.spaces import Space


@dataclass(frozen=True)
class Fourier(Around, kind="learners.Fourier"):
    """A linear learner on random Fourier features.

    Parameters
    ----------
    learner
        The learner that is shown the features: `Linear`, `SecondOrder`, `ScaleFree` or `Coin`.
    features
        How many cosines a copy is shown.
    bandwidth
        b: the distance per coordinate over which learned functions vary. Contexts should have unit scale (`Standardized`).
    coordinates
        How many coordinates of the context a cosine looks at (k); all when not given.
    shared
        Whether all copies are shown the same features.
    raw
        Whether copies are shown the context as well.

    Examples
    --------
    Learn a parabola:

    >>> from banditboost.spaces import Interval
    >>> bank = Fourier(SecondOrder(0.1), features=50).start(1, Interval(-1, 1), 1, np.random.default_rng(0))
    >>> for t, x in enumerate(np.random.default_rng(1).uniform(-1, 1, (500, 1)), start=1):
    ...     bank.update(x, 2 * (bank.play(x) - x**2), t)
    >>> bank.play(np.array([0.5])).round(2).tolist(), bank.play(np.array([-0.7])).round(2).tolist()
    ([0.25], [0.49])
    """

    learner: Learner = field(default_factory=SecondOrder)
    features: int = 100
    bandwidth: float = 1.0
    coordinates: int | None = None
    shared: bool = True
    raw: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        count("features", self.features)
        positive("bandwidth", self.bandwidth)
        if self.coordinates is not None:
            count("coordinates", self.coordinates)
        if not isinstance(self.learner, LinearFamily):
            raise ValueError(f"learner must be a linear one, such as SecondOrder(), got {self.learner!r}.")

    @classmethod
    def examples(cls) -> tuple[Fourier, ...]:
        """Give shared and separate features, with and without raw features and coordinates."""
        return (cls(features=7), cls(features=5, coordinates=2, shared=False, raw=False))

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: frequencies, their coordinates and phases, and those of the learner within."""
        assert isinstance(self.learner, LinearFamily)
        used = features if self.coordinates is None else min(self.coordinates, features)
        drawn = (1 if self.shared else copies) * self.features * (2 * used + 1)
        shown = self.features + (features if self.raw else 0)
        return drawn + self.learner.n_floats(copies, space, shown, separate=not self.shared)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> FourierBank:
        """Draw the frequencies and start the inner learner."""
        assert isinstance(self.learner, LinearFamily)
        drawn = self.draw(1 if self.shared else copies, features, rng)
        shown = self.features + (features if self.raw else 0)
        bank = self.learner.start(copies, space, shown, rng, separate=not self.shared)
        return FourierBank(self, features, *drawn, bank)

    def draw(self, kinds: int, features: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64], Array]:
        """Draw frequencies, the coordinates they apply to, and phases, for contexts of so many features."""
        used = features if self.coordinates is None else min(self.coordinates, features)
        frequencies = rng.standard_normal((kinds, self.features, used)) / (self.bandwidth * np.sqrt(max(1, used)))
        # The coordinates with the least of as many random numbers: a random subset of each size, without a loop.
        ranks = rng.random((kinds, self.features, features))
        picks = np.sort(np.argsort(ranks, axis=-1)[..., :used], axis=-1)
        return frequencies, picks, rng.uniform(0.0, 2 * np.pi, (kinds, self.features))


class FourierBank(Bank):
    """Frequencies and the coordinates they apply to, shape (1 or N, features, k), phases, and an inner bank."""

    def __init__(
        self, spec: Fourier, features: int, frequencies: Array, picks: NDArray[np.int64], phases: Array, bank: Bank
    ) -> None:
        self.spec, self.features, self.bank = spec, features, bank
        self.frequencies, self.picks, self.phases = frequencies, picks, phases
        self.unchecked = True

    def shown(self, context: Array | None) -> Array:
        """Return the features, shape (1 or N, p): the context, where asked for, then the cosines."""
        assert context is not None  # the loop gives contextual learners a context
        if self.unchecked:
            self.check(len(context))
        angles = (self.frequencies * context[self.picks]).sum(axis=-1) + self.phases
        cosines = np.sqrt(2.0) * np.cos(angles)
        if not self.spec.raw:
            return np.asarray(cosines)
        return np.concatenate([np.broadcast_to(context, (len(cosines), len(context))), cosines], axis=1)

    def check(self, features: int | None = None) -> None:
        """Raise where a cosine looks at a feature that does not exist; their number is known once a context has come."""
        self.bank.check()
        if self.picks.size and (self.picks.min() < 0 or (features is not None and self.picks.max() >= features)):
            raise ValueError("The random features are damaged: they look at features that are not there.")
        self.unchecked = features is None

    def play(self, context: Array | None) -> Array:
        """Return the inner plays on the features."""
        return self.bank.play(self.shown(context))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Let the inner copies learn from the features."""
        self.bank.update(self.shown(context), gradients, t)

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let the inner copies take note of the features."""
        self.bank.remember(self.shown(context), anchors, gradients)

    def forget(self, erased: Erased) -> int:
        """Overwrite what is kept within."""
        return self.bank.forget(erased)

    def growers(self) -> Sequence[Grows]:
        """Return those within."""
        return self.bank.growers()

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Reset the inner copies; where every copy has random features of its own, draw those anew."""
        if not self.spec.shared:
            drawn = self.spec.draw(len(copies), self.features, rng)
            self.frequencies[copies], self.picks[copies], self.phases[copies] = drawn
        self.bank.reset(copies, rng)

    def stretched(self, features: int, rng: np.random.Generator) -> None:
        """Return None: frequencies are drawn for a given number of features."""
        return

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: plays are not linear in the features of the context."""
        return [Learned(self.kind, sum(part.copies for part in self.bank.feature_weights()))]

    @property
    def shared(self) -> frozenset[str]:
        """What inner copies share; the random features, where all copies are shown the same."""
        own = ("frequencies", "picks", "phases") if self.spec.shared else ()
        return frozenset((*own, *(f"inner.{name}" for name in self.bank.shared)))

    def arrays(self) -> dict[str, Array]:
        """Return the random draws, which are part of what was learned, and the inner state."""
        self.unchecked = True  # who has the arrays may have written to them
        own = {"frequencies": self.frequencies, "picks": cast(Any, self.picks), "phases": self.phases}
        return own | {f"inner.{name}": array for name, array in self.bank.arrays().items()}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form of the inner bank, which is shown the features."""
        from banditboost._compiled.features import cosines

        X = shown.dense()
        self.check(X.shape[1])
        kinds, waves = self.phases.shape
        raw = X.shape[1] if self.spec.raw else 0
        made = np.empty((len(X), kinds, raw + waves))
        made[:, :, :raw] = X[:, np.newaxis, :raw]
        cosines(X, self.frequencies, self.picks, self.phases, raw, made)
        return self.bank.compiled_form(Shown.features(made), rounds_done)

    def why_not_compiled(self) -> str | None:
        """Return why the inner bank cannot be compiled; gradient descent knows no features of a copy's own."""
        if len(self.phases) > 1 and isinstance(self.spec.learner, Linear):
            return "there is no compiled loop for the learner Linear with features of each copy's own"
        return super().why_not_compiled() or self.bank.why_not_compiled()

    def floats_per_round(self, sparse: bool) -> int:
        """Return the number of cosines, and those of the inner bank."""
        return self.phases.size + self.bank.floats_per_round(False)

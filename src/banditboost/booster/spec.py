"""What a booster is made of, as data: the spec of one, and a plan for every horizon."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

from banditboost._core import checks
from banditboost._core.spec import Spec
from banditboost.bands import Conformal
from banditboost.chains import Chain, ConvexHull
from banditboost.drifts import Detector
from banditboost.encoder import Encoder
from banditboost.gradients import Gradient, OnePoint, Remembered
from banditboost.learners import Learner, Linear
from banditboost.spaces import Interval, Space

SQUARED = 2.0
"""The second derivative of the squared loss."""
FEWEST_ANSWERS = 3
"""Fewest answers that show where an outcome lies."""
FIRST_PHASE = 16
"""The first horizon of a plan; each phase is twice as long as the one before."""


@dataclass(frozen=True)
class BoosterSpec(Spec, kind="booster.BoosterSpec"):
    """All that makes a booster: two with equal specs, told the same, are the same to the last bit."""

    learner: Learner = field(default_factory=Linear)
    copies: int = 20
    chain: Chain = field(default_factory=ConvexHull)
    gradient: Gradient = field(default_factory=OnePoint)
    space: Space = field(default_factory=lambda: Interval(-1.0, 1.0))
    inside: bool = True
    seed: int = 0
    start: float | tuple[Any, ...] | None = None
    maximize: bool = False
    bands: Conformal | None = None
    drifts: Detector | None = None
    encoder: Encoder | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in (("learner", Learner), ("chain", Chain), ("gradient", Gradient), ("space", Space)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {getattr(self, name)!r}.")
        checks.count("copies", self.copies)
        checks.count("seed", self.seed, least=0)
        if not isinstance(self.maximize, bool):
            raise ValueError(f"maximize must be True or False, got {self.maximize!r}.")
        self._check_bands()
        self._check_drifts()
        self._check_encoder()
        if self.start is not None:
            self._check_start()
        self.chain.check(self.copies)
        self.gradient.check(self.copies, self.space)
        if self.chain.projects and self.learner.bets:
            raise ValueError(
                f"chain must not be {type(self.chain).__name__} with learners that bet, whose stakes nothing would bound; "
                "choose ConvexHull() or Single()."
            )
        if self.inside and self.gradient.reach >= self.space.inner_radius:
            raise ValueError(
                f"delta must be below the space's inner radius {self.space.inner_radius:g} for queries to stay inside, "
                f"got {self.gradient.reach:g}; choose a smaller delta, or inside=False."
            )

    def _check_bands(self) -> None:
        if self.bands is None:
            return
        if not isinstance(self.bands, Conformal):
            raise ValueError(f"bands must be bands.Conformal(), got {self.bands!r:.100}.")
        if self.gradient.asks != "values":
            raise ValueError(
                f"bands must be left out with {type(self.gradient).__name__}: it is told gradients, and so no loss that a band "
                "could be for."
            )
        if self.bands.outcomes:
            self._check_outcomes()

    def _check_drifts(self) -> None:
        if self.drifts is None:
            return
        if not isinstance(self.drifts, Detector):
            raise ValueError(f"drifts must be drifts.Detector(), got {self.drifts!r:.100}.")
        if self.gradient.asks != "values":
            raise ValueError(
                f"drifts must be left out with {type(self.gradient).__name__}: it is told gradients, and so no loss that could "
                "show a change."
            )

    def _check_encoder(self) -> None:
        if self.encoder is None:
            return
        if not isinstance(self.encoder, Encoder):
            raise ValueError(f"encoder must be encoder.Encoder(), got {self.encoder!r:.100}.")
        if not self.learner.contextual:
            raise ValueError(
                f"encoder must be left out with {type(self.learner).__name__}: this learner takes no contexts."
            )
        if self.gradient.n_floats_with(1):
            raise ValueError(
                f"encoder must be left out with {type(self.gradient).__name__}: its critic cannot take more features while it "
                "learns."
            )

    def _check_outcomes(self) -> None:
        gradient = self.gradient
        declared = isinstance(gradient, Remembered) and gradient.curvature == SQUARED
        if not declared or gradient.count(self.copies) < FEWEST_ANSWERS or not isinstance(self.space, Interval):
            raise ValueError(
                "outcomes must be False unless losses are declared to be squared distances to one, on an interval and with at "
                "least three answers a round, as by boosted(Interval(0, 1), answers=3, loss='squared'): nothing else shows where "
                "an outcome lies."
            )

    def _check_start(self) -> None:
        start = checks.finite("start", self.start, self.space.shape)  # type: ignore[arg-type]
        object.__setattr__(self, "start", _nested(start.tolist()))
        try:
            inside = bool(self.space.contains(start))
        except NotImplementedError:  # a set that is known only by its linear oracle cannot tell
            inside = True
        if not inside:
            raise ValueError(f"start must lie in the space {self.space!r:.200}, got {self.start!r:.200}.")

    def needs(self, features: int | None, phase: int = 0) -> int:
        """Return how many numbers a booster of this spec holds, before it is made; `features` is None where they are not known."""
        started = features is not None or not self.learner.contextual
        bank = self.learner.n_floats(self.copies, self.space, features or 0) if started else 0
        bank += self.gradient.n_floats_with(features or 0) if started else 0
        bank += self.bands.n_floats(features or 0) if started and self.bands is not None else 0
        bank += self.drifts.n_floats() if started and self.drifts is not None else 0
        return bank + self.copies + self.space.size + self.gradient.n_floats(self.copies)


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Plan(Spec):
    """A booster for every horizon: what to start, and start again with doubled horizons, where the horizon is not known."""

    def needs(self, features: int | None, phase: int = 0) -> int:
        """Return how many numbers the booster of a phase holds, before it is made."""
        return self.at(FIRST_PHASE << phase).needs(features)

    @abstractmethod
    def at(self, horizon: int) -> BoosterSpec:
        """Return the booster for a horizon."""

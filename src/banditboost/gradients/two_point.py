"""Two values on opposite sides of the anchor, whose common part cancels.

    g = (d/2δ) · (ℓ̃(y + δv) - ℓ̃(y - δv)) · w

On the sphere w = v, a unit vector, and E[g] is the gradient of ℓ averaged over the unit ball. With v uniform on the surface of the
l1 ball, w is the vector of the signs of v, and the average is over the l1 ball. As δ falls, only the part of the variance that is
due to noise grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from banditboost._core.checks import Array, one_of
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe
from banditboost.gradients.sphere import Control, Sphere
from banditboost.spaces import Space


@dataclass(frozen=True)
class TwoPoint(Sphere, kind="gradients.TwoPoint"):
    """The two-point estimator at every anchor, with twice the queries of the one-point estimator.

    Parameters
    ----------
    delta, queries
        As for `OnePoint`; each direction takes two queries.
    ball
        ``"l2"`` draws directions from the sphere, ``"l1"`` from the surface of the l1 ball, which suits losses that are
        Lipschitz in the coordinates. In one dimension both are the same.

    References
    ----------
    Agarwal, Dekel, Xiao (2010), Section 3; Shamir (2017), Algorithm 1; for l1, Akhavan, Chzhen, Pontil, Tsybakov (2022), "A
    gradient estimator via L1-randomization for online zero-order optimization with two point feedback", Section 2.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), TwoPoint(delta=0.5)
    >>> probe = gradient.probe(np.zeros(2), space, {"directions": np.random.default_rng(0)})
    >>> probe.queries.tolist()
    [0.5, -0.5, -0.5, 0.5]
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, memory={}).tolist()
    [-2.0, -2.0]
    """

    ball: Literal["l2", "l1"] = "l2"

    sides: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("ball", self.ball, ("l2", "l1"))

    @classmethod
    def examples(cls) -> tuple[TwoPoint, ...]:
        """Give both balls, and several directions per copy."""
        return (cls(0.2), cls(0.2, queries=3), cls(0.2, ball="l1"))

    def check(self, copies: int, space: Space) -> None:
        """Raise an error for the l1 ball on a space without interior, whose tangent space it would leave."""
        if self.ball == "l1" and space.rank < space.size:
            raise ValueError(f"ball must be 'l2' on {space!r}: directions of the l1 ball would leave its affine hull.")

    def directions(self, space: Space, rng: np.random.Generator, n: int) -> Array:
        """Draw from the sphere, or from the surface of the l1 ball by normalising independent Laplace numbers."""
        if self.ball == "l2":
            return super().directions(space, rng, n)
        vectors = rng.laplace(size=(n, space.size))
        return np.asarray(vectors / np.abs(vectors).sum(axis=1, keepdims=True)).reshape(n, *space.shape)

    def pull(self, directions: Array) -> Array:
        """Return the directions, or their signs for the l1 ball."""
        return directions if self.ball == "l2" else np.sign(directions)

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Return the value on the opposite side, which keeps the expectation by symmetry instead of independence."""
        return Control(answers[:, 1])

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import OtherSide

        return OtherSide()

    @property
    def draws_like(self) -> Any:
        """Those of every sphere, and the ball."""
        return (*super().draws_like, self.ball)

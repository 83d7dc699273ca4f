"""A learner that sees decisions in units of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, positive, vector
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.base import Bank, Learned, Learner, LinearWeights
from banditboost.learners.linear import Linear
from banditboost.learners.scaled import Scaled, ScaledBank
from banditboost.spaces import Box, Interval, Space


@dataclass(frozen=True)
class InUnits(Scaled, kind="learners.InUnits"):
    """Another learner, for which every coordinate of a decision is measured in a unit of its own.

    Plays are multiplied by the units, and gradients divided by them, as is right for gradients 2 (y - z) that point from a target
    to a point (`gradients.Remembered`): the learner within sees the same numbers whatever the units are. Trees, whose splits weigh
    all coordinates of a gradient together, then treat the sides of a box alike.

    Parameters
    ----------
    learner
        The learner within.
    units
        One positive number for each coordinate, such as the sides of a box.

    Examples
    --------
    >>> from banditboost.spaces import Box
    >>> bank = InUnits(Linear(), units=(10.0, 1.0)).start(1, Box((0, 0), (10, 1)), 1, np.random.default_rng(0))
    >>> bank.update(np.array([1.0]), np.array([[-10.0, -1.0]]), t=1)
    >>> bank.play(np.array([1.0])).tolist()
    [[2.0, 0.2]]
    """

    learner: Learner = Linear()  # noqa: RUF009 - specs are frozen
    gamma: float = 1.0
    units: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        for unit in vector("units", self.units):
            positive("units", unit)

    @classmethod
    def examples(cls) -> tuple[InUnits, ...]:
        """Give one unit, which suits every space."""
        return (cls(), cls(units=(2.0,)))

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> InUnitsBank:
        """Start the inner learner."""
        if len(self.units) not in (1, space.size):
            raise ValueError(f"units must be one number or {space.size} for this space, got {len(self.units)}.")
        units = self.gamma * np.broadcast_to(np.array(self.units), (space.size,))
        within = space
        if self.learner.remembers and space.bounds is not None:
            low, high = (end / units for end in space.bounds)
            within = Interval(float(low[0]), float(high[0])) if space.shape == () else Box(tuple(low), tuple(high))
        return InUnitsBank(units, copies, self.learner.start(copies, within, features, rng), space.shape)


class InUnitsBank(ScaledBank):
    """An inner bank and a unit for each coordinate."""

    def __init__(self, units: Array, copies: int, bank: Bank, shape: tuple[int, ...]) -> None:
        self.units, self.shape = units, shape
        super().__init__(units.reshape(shape), copies, bank)  # type: ignore[arg-type]

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Pass the linear losses on in the learner's units."""
        self.bank.update(context, np.asarray(gradients / self.gamma), t)

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let the inner copies take note in the learner's units."""
        self.bank.remember(context, np.asarray(anchors / self.gamma), np.asarray(gradients / self.gamma))

    def stretched(self, features: int, rng: np.random.Generator) -> InUnitsBank | None:
        """Return the inner bank stretched, where it can be."""
        inner = self.bank.stretched(features, rng)
        return None if inner is None else InUnitsBank(self.units, self.copies, inner, self.shape)

    def feature_weights(self) -> Sequence[Learned]:
        """Return what the inner copies have learned, weights multiplied by the units."""
        return [
            part._replace(shown=part.shown._replace(weights=self.units[:, np.newaxis] * part.shown.weights))
            if isinstance(part.shown, LinearWeights)
            else part
            for part in self.bank.feature_weights()
        ]

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the inner form, with units."""
        from banditboost._compiled.combined import InUnits as Form

        inner: Any = self.bank.compiled_form(shown, rounds_done)
        return Prepared(Form(inner.form, np.array(self.units), self.copies), inner.finish)

"""Whom to evaluate: a booster, a function, a constant, a law with a density, or whoever wrote the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.gradients import Remembered
from banditboost.spaces import Space

POINTS = 16
"""Actions a row at which the critic is averaged over a policy's law."""
CHECKED = 8
"""Rows whose law is looked at, on a grid of the space, to see whether it is a density."""
SIDE = {1: 4001, 2: 201}
"""Points on each side of that grid, by dimension."""
TOLERANCE = 0.03
"""How far from one the integral of a density may be on the grid."""


@runtime_checkable
class HasDensity(Protocol):
    """A policy that draws its actions: its density is known, so that rows are weighted exactly, without a kernel."""

    def density(self, contexts: Array, actions: Array) -> ArrayLike:
        """Return with what density each action, shape (n, d), is played in its context, shape (n, features)."""


class Exploring:
    """The law by which a booster would play its next round, exploration included; the booster does not change.

    For boosters whose gradient is `Remembered`, as the default's is for few answers. Where rounds with a wide and with a narrow
    law take turns, the law is that of the very next round. Others, such as those of `algorithms.pricing`, are evaluated without
    their exploration, by giving the booster itself.

    Examples
    --------
    >>> import banditboost as bb
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 20), answers=1, start=8.0)
    >>> ticket, law = booster.ask([0.3]), Exploring(booster)
    >>> _ = booster.forget(ticket)
    >>> bool(np.isclose(law.density(np.array([[0.3]]), np.array([[ticket.action]]))[0], ticket.density[0]))
    True
    """

    def __init__(self, booster: Booster) -> None:
        if not isinstance(booster, Booster):
            raise ValueError(f"booster must be a Booster, got {type(booster).__name__}.")
        if not isinstance(booster.spec.gradient, Remembered):
            raise ValueError(
                "booster must be one whose gradient is Remembered, such as algorithms.boosted(space, answers=1), got one with "
                f"{type(booster.spec.gradient).__name__}: evaluate the booster itself, which leaves its exploration out."
            )
        self.booster, self.gradient = booster, booster.spec.gradient

    def density(self, contexts: Array, actions: Array) -> Array:
        """Return with what density each action is played."""
        space, predictions, laws = self._laws(contexts)
        return self.gradient.density_of(actions.reshape(predictions.shape), predictions, laws, space)

    def draw(self, contexts: Array, rng: np.random.Generator) -> Array:
        """Draw one action in every context."""
        space, predictions, laws = self._laws(contexts)
        return self.gradient.draw_from(predictions, laws, space, rng).reshape(len(contexts), -1)

    def _laws(self, contexts: Array) -> tuple[Space, Array, Array]:
        space, predictions = self.booster.spec.space, played_by(self.booster, contexts)
        return space, predictions, self.gradient.laws(predictions, space, self.booster.gradient_memory)


class Deterministic:
    """A policy that plays one action in each context."""

    def __init__(self, play: Callable[[Array], Any], dimension: int) -> None:
        self._play, self.dimension = play, dimension

    def actions(self, contexts: Array, row: int) -> Array:
        """Return what is played, shape (n, d); raise where the policy gives something else."""
        n = len(contexts)
        try:
            found = np.asarray(self._play(contexts), dtype=np.float64)
        except TypeError:
            raise ValueError("policy must give numbers, one action for every row of contexts.") from None
        if found.shape not in ((n, self.dimension), (n,) if self.dimension == 1 else (n, self.dimension)):
            raise ValueError(
                f"policy must give {n} actions of {self.dimension} coordinate(s) for {n} contexts, got the shape {found.shape}."
            )
        good = np.isfinite(found).reshape(n, -1).all(axis=1)
        if not good.all():
            raise ValueError(f"policy must give finite actions, got another in row {row + int(np.argmin(good)) + 1}.")
        return found.reshape(n, self.dimension)


class Drawing:
    """A policy that draws its actions with a density."""

    def __init__(self, policy: Any, dimension: int, space: Space | None, rng: np.random.Generator) -> None:
        self.policy, self.dimension, self.space, self.rng = policy, dimension, space, rng
        self.checked = False

    def densities(self, contexts: Array, actions: Array, row: int) -> Array:
        """Return the densities of logged actions; raise where they are no densities."""
        if not self.checked and self.space is not None:
            self._check(contexts[:CHECKED], row)
            self.checked = True
        return self._densities(contexts, actions, row)

    def _densities(self, contexts: Array, actions: Array, row: int) -> Array:
        found = np.asarray(self.policy.density(contexts, actions), dtype=np.float64)
        if found.shape != (len(actions),):
            raise ValueError(f"policy must give one density a row, {len(actions)} in all, got the shape {found.shape}.")
        good = np.isfinite(found) & (found >= 0)
        if not good.all():
            i = int(np.argmin(good))
            raise ValueError(f"policy must have finite densities of at least 0, got {found[i]:g} in row {row + i + 1}.")
        return found

    def averaged(self, contexts: Array, row: int, model: Callable[[Array, Array], Array]) -> Array:
        """Return the mean of a model over the policy's law in every context, from a few draws a row: unbiased, and cheap."""
        total = np.zeros(len(contexts))
        if hasattr(self.policy, "draw"):
            for _ in range(POINTS):
                drawn = np.asarray(self.policy.draw(contexts, self.rng), dtype=np.float64)
                total += model(contexts, drawn.reshape(len(contexts), self.dimension))
            return total / POINTS
        if self.space is None or self.space.bounds is None:
            raise ValueError(
                "policy must have a method draw(contexts, rng) for a critic to be averaged over its law, or space must be given as "
                "an Interval or a Box."
            )
        low, high = self.space.bounds
        volume = float(np.prod(high - low))
        for k in range(POINTS):  # one point in each of as many slices of the first side, so that they are spread out
            unit = self.rng.random((len(contexts), self.dimension))
            unit[:, 0] = (k + unit[:, 0]) / POINTS
            at = low + unit * (high - low)
            total += volume * self._densities(contexts, at, row) * model(contexts, at)
        return total / POINTS

    def _check(self, contexts: Array, row: int) -> None:
        """Raise where a density does not integrate to one on a grid of the space."""
        if self.space is None or self.space.bounds is None or self.dimension not in SIDE:
            return
        low, high = self.space.bounds
        side = (np.arange(SIDE[self.dimension]) + 0.5) / SIDE[self.dimension]
        unit = np.stack(np.meshgrid(*[side] * self.dimension, indexing="ij"), axis=-1).reshape(-1, self.dimension)
        for i, context in enumerate(contexts):
            found = self._densities(np.tile(context, (len(unit), 1)), low + unit * (high - low), row)
            total = float(found.mean() * np.prod(high - low))
            if abs(total - 1.0) > TOLERANCE:
                raise ValueError(
                    f"policy must have densities that integrate to 1 over the space, got {total:.3g} in the context of row "
                    f"{row + i + 1}."
                )


def played_by(booster: Booster, contexts: Array) -> Array:
    """Return a booster's predictions in every context, shape (n, *shape)."""
    if booster.spec.learner.contextual:
        return booster.predict_many(contexts)
    return np.tile(np.asarray(booster.predict()), (len(contexts), *(1,) * len(booster.spec.space.shape)))


def resolved(
    policy: Any, dimension: int, space: Space | None, rng: np.random.Generator
) -> Deterministic | Drawing | None:
    """Return the policy in the form that estimators use; None for the logging policy itself."""
    if isinstance(policy, str):
        if policy != "logging":
            raise ValueError(f"policy must be a booster, a function, a constant, a law or 'logging', got {policy!r}.")
        return None
    if isinstance(policy, Booster):
        if policy.spec.space.size != dimension:
            raise ValueError(
                f"policy must decide about {dimension} coordinate(s) as the log does, got one of {policy.spec.space.size}."
            )
        return Deterministic(lambda contexts: played_by(policy, contexts).reshape(len(contexts), -1), dimension)
    if isinstance(policy, HasDensity):
        return Drawing(policy, dimension, space, rng)
    if callable(policy):
        return Deterministic(policy, dimension)
    try:
        constant = np.asarray(policy, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        constant = np.empty(0)
    if constant.shape != (dimension,) or not np.isfinite(constant).all():
        raise ValueError(
            f"policy must be a booster, a function, a law, 'logging', or a constant of {dimension} number(s), got {policy!r:.200}."
        )
    return Deterministic(lambda contexts: np.tile(constant, (len(contexts), 1)), dimension)

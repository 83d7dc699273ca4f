"""What a booster makes of a log as it reads it: how others chose their actions, and by which law each row is learned from.

A row teaches copies by its densities: it counts as often as a law of the reader's choice would draw its action in place of whoever
did, W = law(action) / density. Any law will do that gives no weight to actions which are never played there; the mean of W is then
one. Three come into question, in this order:

1. the law that the booster would draw from itself in that round, where weights of earlier rows have been near one on average, or
   where this row's weight is exactly one, as in a log of the booster's own;
2. the uniform law about the *aim* of whoever chose, with the variance of their actions about it: a policy that is far from the
   booster's has no action in common with 1, but explores about its own mean, so that the slope there is known, and the local model
   of the loss tells where the loss is least. Aims are found by a linear regression of actions on contexts,
   from earlier rows alone, so that the aim of a row has no part in its own action;
3. none: the critic alone learns.

What decides depends on earlier rows alone, as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from banditboost._core.checks import LARGEST, Array
from banditboost.gradients import CAP, Aim, Probe
from banditboost.spaces import Space

FIRST = 30
"""Rows before which nothing is said about weights, and above the number of features before which nothing is said about aims."""
REFIT = 1.2
"""Aims are found anew whenever there are so many times as many rows."""
MOST_FEATURES = 300
"""Contexts of at most so many features have aims: their regression takes the square of that."""
ROUNDING = 1e-10
"""Actions whose squared distances from their aims are less than this share of their squares are played without exploration."""
NEAR = 1.25
"""Weights whose mean is at most so many times as large as one, or as small, are those of a law that is covered."""
ENOUGH = 0.3
"""Least share of the effective sample in the number of rows with which a law is taken to be covered."""


class Block(Protocol):
    """Rows of a log that stand together, as `banditboost.logs.LogBlock`."""

    @property
    def contexts(self) -> Array:
        """Shape (n, features); (n, 0) without contexts."""

    @property
    def actions(self) -> Array:
        """Shape (n, d)."""

    @property
    def losses(self) -> Array:
        """Shape (n,)."""

    @property
    def densities(self) -> Array | None:
        """Shape (n,), NaN for rows where it is not known; None where none is."""

    @property
    def row(self) -> int:
        """The number of the first row in the log, from 0."""


class Blocks(Protocol):
    """Anything that gives the rows of a log in blocks, the same every time, as `banditboost.logs.Log`."""

    def blocks(self) -> Iterable[Block]:
        """Give all complete rows in order."""


class Learned(NamedTuple):
    """What `Booster.learn_from` has made of a log."""

    rows: int
    """How many rows were learned from."""
    critic_only: int
    """In how many of them only the critic learned: no density was known, or nothing covered them."""
    aimed: int
    """How many taught copies the slope at the aim of whoever chose their actions."""
    capped: int
    """How many would have counted more often than `cap`."""
    cap: float
    effective: float
    """The effective size of the sample that taught copies, (Σ W)² / Σ W²."""

    def __str__(self) -> str:
        """Return the report as sentences."""
        taught = self.rows - self.critic_only
        if not taught:
            return (
                f"{self.rows:,} rows were read, and none of them moved what is recommended: none has a density, which says how its "
                "action was drawn, or what is recommended lies beyond them. Only the model of the loss (the critic) has learned."
            )
        return (
            f"{self.rows:,} rows were read. {taught:,} of them taught the weak learners, {self.aimed:,} of these the slope at what "
            f"the log aims at, and count as {self.effective:,.0f} rows; {self.capped:,} were capped at a weight of {self.cap:g}. "
            f"From {self.critic_only:,} rows only the model of the loss (the critic) learned."
        )


class Weights:
    """Weights of rows so far, later ones counting more: whether their law is covered by what was played."""

    kept = 0.998

    def __init__(self) -> None:
        self.sums = np.zeros(3)
        """How many rows the weights count as, the sum of the weights, and of their squares."""

    def add(self, weight: float) -> None:
        """Count one more row."""
        self.sums *= self.kept
        self.sums += (1.0, weight, weight * weight)

    @property
    def covered(self) -> bool:
        """Whether weights are about one on average, and not those of a few rows."""
        rows, total, squares = self.sums.tolist()
        mean = total / max(rows, 1.0)
        return bool(rows >= FIRST and 1.0 / NEAR <= mean <= NEAR and mean * total >= ENOUGH * squares)


class Aims:
    """A linear regression of actions on contexts, from sums, which is solved again now and then.

    Examples
    --------
    >>> rng, aims = np.random.default_rng(0), Aims(features=2, size=1)
    >>> for x in rng.uniform(-1, 1, (500, 2)):
    ...     aims.add(x, np.array([3.0 + x[0]]) + rng.normal(0, 0.5, 1))
    >>> aim = aims.at(np.array([1.0, 0.0]))
    >>> print(f"{aim.mean[0]:.0f} {aim.spread[0]:.1f}")
    4 0.5
    """

    def __init__(self, features: int, size: int) -> None:
        self.terms = 1 + features
        self.squares = np.zeros((self.terms, self.terms))
        self.products = np.zeros((self.terms, size))
        self.totals = np.zeros(size)
        self.rows, self.due = 0, FIRST + 2 * self.terms
        self.weights: Array | None = None
        self.spread = np.zeros(size)

    def add(self, x: Array, action: Array) -> None:
        """Count one more row."""
        z = np.concatenate([(1.0,), x])
        column = z[:, np.newaxis]
        self.squares += column * z
        self.products += column * action
        self.totals += action * action
        self.count(1)

    def count(self, rows: int) -> None:
        """Count rows that were added to the sums, no more than are left until the regression is due."""
        self.rows += rows
        if self.rows >= self.due:
            self.due = math.ceil(REFIT * self.rows)
            self._fit()

    def _fit(self) -> None:
        ridge = 1e-12 * np.diag(self.squares) + 1e-300
        weights = np.linalg.lstsq(self.squares + np.diag(ridge), self.products, rcond=None)[0]
        left = self.totals - (self.products * weights).sum(axis=0)
        left[left <= ROUNDING * self.totals] = 0.0
        self.spread = np.sqrt(left / (self.rows - self.terms))
        self.weights = np.asarray(weights, dtype=np.float64)

    def at(self, x: Array) -> Aim | None:
        """Return the aim in a context; None while it is not known, and where there is no exploration about it."""
        if self.weights is None or not (self.spread > 0).all():
            return None
        return Aim(np.concatenate([(1.0,), x]) @ self.weights, self.spread)


class Reader:
    """Reads a log row by row: decides by which law each is learned from, and counts.

    Parameters
    ----------
    features
        Length of contexts.
    space
        Where actions lie.
    """

    def __init__(self, features: int, space: Space) -> None:
        boxed = space.bounds is not None and features <= MOST_FEATURES
        self.aims = Aims(features, space.size) if boxed else None
        self.own, self.aimed_at = Weights(), Weights()
        self.rows = self.critic_only = self.aimed = self.capped = 0
        self.total = self.squares = 0.0

    def aim(self, own: Probe, x: Array) -> Aim | None:
        """Return the aim about which a row is to be learned from; None where it is by the booster's own law, or not known."""
        if own.importance is None or self.own.covered or self.aims is None:
            return None
        return self.aims.at(x)

    def teaches(self, own: Probe, used: Probe, aim: Aim | None) -> bool:
        """Return whether copies are to learn from a row with a density, which is counted among the weights."""
        taken = self.own.covered if aim is None else self.aimed_at.covered
        if own.importance is not None:
            self.own.add(float(own.importance[0]))
        if aim is not None and used.importance is not None:
            self.aimed_at.add(float(used.importance[0]))
        return taken or used.importance is None

    def note(self, x: Array, action: Array, used: Probe, aim: Aim | None) -> None:
        """Count a row that was learned from."""
        self.rows += 1
        if self.aims is not None:
            self.aims.add(x, action)
        if not used.chosen.any():
            self.critic_only += 1
            return
        weight = 1.0 if used.importance is None else float(used.importance[0])
        self.aimed += aim is not None
        self.capped += weight >= CAP
        self.total += weight
        self.squares += weight * weight

    def count(self, tallies: Array) -> None:
        """Count rows that a compiled loop has learned from, as `banditboost._compiled.logged` counts them."""
        rows, critic_only, aimed, capped = (int(n) for n in tallies[:4])
        self.rows, self.critic_only = self.rows + rows, self.critic_only + critic_only
        self.aimed, self.capped = self.aimed + aimed, self.capped + capped
        self.total += tallies[4]
        self.squares += tallies[5]
        if self.aims is not None:
            self.aims.count(rows)

    def report(self) -> Learned:
        """Return what was made of the rows so far."""
        effective = self.total**2 / self.squares if self.squares > 0 else 0.0
        return Learned(self.rows, self.critic_only, self.aimed, self.capped, CAP, effective)


def check_block(block: Block, features: int | None, space: Space) -> None:
    """Raise a sentence with the number of the first row that cannot be learned from; rows are counted from 1.

    Parameters
    ----------
    block
        Some rows.
    features
        Length of contexts; None where any will do.
    space
        Where actions must lie.
    """
    n = len(block.losses)
    if block.contexts.ndim != 2 or block.actions.shape != (n, space.size) or len(block.contexts) != n:
        raise ValueError(
            f"log must have {space.size} numbers in every action, and as many contexts as actions, got the shapes "
            f"{block.contexts.shape} and {block.actions.shape} from row {block.row + 1} on."
        )
    if features is not None and block.contexts.shape[1] != features:
        raise ValueError(
            f"log must have contexts of {features} features, got {block.contexts.shape[1]} from row {block.row + 1} on."
        )
    columns = {"context": block.contexts, "action": block.actions, "loss": block.losses}
    for name, values in columns.items():
        _refuse(~(np.abs(values.reshape(n, -1)) <= LARGEST).all(axis=1), f"{name} must be finite", block, values)
    points = block.actions.reshape(n, *space.shape)
    _refuse(~space.contains(points), f"action must lie in the space {space!r:.200}", block, block.actions)
    if block.densities is not None:
        bad = ~((block.densities > 0) & (block.densities <= LARGEST) | np.isnan(block.densities))
        _refuse(bad, "density must be positive and finite, which a point mass has none of", block, block.densities)


def _refuse(bad: Any, why: str, block: Block, values: Array) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"{why}, got {np.asarray(values[i]).tolist()!r:.100} in row {block.row + i + 1}.")

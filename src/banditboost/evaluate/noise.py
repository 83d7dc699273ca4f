"""How noisy gradients are along a run: bias and variance of each way to ask, at the very anchors that a booster visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._core.spec import Memory
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.gradients import Budget, Gradient, Sphere
from banditboost.spaces import Space
from banditboost.worlds import World

REFERENCE = 2048
"""Directions that the gradient of the smoothed loss is averaged over; on the line two would do."""


class Row(NamedTuple):
    """How one gradient fared, averaged over copies and rounds."""

    gradient: Gradient
    queries: int
    """Asked in a round."""
    smoothing: float
    """Root mean square of ∇ℓ̂ - ∇ℓ: what smoothing costs, whoever estimates."""
    bias: float
    """Root mean square of E[g] - ∇ℓ̂, less what chance explains: near zero for an unbiased estimator."""
    variance: float
    """E‖g - E[g]‖²."""
    error: float
    """E‖g - ∇ℓ‖²: all of it together."""


@dataclass(frozen=True)
class GradientNoise:
    """A report: one row per gradient. Print it."""

    rows: tuple[Row, ...]
    rounds: tuple[int, ...]
    """Where it was measured."""

    def __str__(self) -> str:
        head = f"{'gradient':<64} {'queries':>7} {'smoothing':>10} {'bias':>10} {'variance':>10} {'error':>10}"
        lines = [
            f"{str(row.gradient)[:64]:<64} {row.queries:>7} " + " ".join(f"{number:>10.3g}" for number in row[2:])
            for row in self.rows
        ]
        return "\n".join([head, *lines])


def gradient_noise(
    booster: Booster,
    world: World,
    gradients: Sequence[Gradient] | None = None,
    *,
    measures: int = 10,
    repeats: int = 100,
) -> GradientNoise:
    """Train a booster on a world, and now and then ask as each of some gradients would, many times over.

    What a gradient remembers from round to round it remembers along this run. The booster learns from its own gradient alone.

    Parameters
    ----------
    booster
        Trained in place.
    world
        Who answers.
    gradients
        What to measure; the booster's own when not given.
    measures
        In how many rounds, evenly spread.
    repeats
        How many times in each of them, at least twice.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=400, features=3, noise=bb.noise.Uniform(0.1))
    >>> booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), copies=10)
    >>> ways = [bb.gradients.OnePoint(0.5), bb.gradients.Surrogate(0.5)]
    >>> one_point, surrogate = gradient_noise(booster, world, ways).rows
    >>> surrogate.variance < 0.1 * one_point.variance
    True
    """
    spec = booster.spec
    ways = (spec.gradient,) if gradients is None else tuple(gradients)
    for way in ways:
        way.check(spec.copies, spec.space)
    at = np.unique(np.linspace(0, len(world) - 1, count("measures", measures) + 1).astype(int)[1:])
    memories = [way.start(spec.copies, spec.space) for way in ways]
    streams = {role: stream(spec.seed + 1, role) for role in ("directions", "coins", "noise")}
    rng, sums = stream(world.seed, "noise"), np.zeros((len(ways), 4))
    world.begin()
    for t in range(len(world)):
        ticket = booster.ask(world.context(t))
        anchors = ticket.path[:-1]
        for k, way in enumerate(ways):
            if t in at:
                sums[k] += _measure(
                    way, world, t, anchors, spec.space, memories[k], streams, count("repeats", repeats, least=2)
                )
            if memories[k]:
                probe = way.probe(anchors, spec.space, streams)
                way.learn(_answers(way, world, t, probe.queries, streams), probe, spec.space, memories[k])
        booster.tell(ticket, world.answer(t, ticket, spec.gradient.noisy, rng))
        world.observe(t, ticket.prediction)
    rows = []
    for way, (smoothing, bias, variance, error) in zip(ways, sums / len(at), strict=True):
        roots = np.sqrt(max(smoothing, 0.0)), np.sqrt(max(bias, 0.0))
        rows.append(Row(way, way.count(spec.copies), float(roots[0]), float(roots[1]), float(variance), float(error)))
    return GradientNoise(tuple(rows), tuple(at.tolist()))


def _answers(way: Gradient, world: World, t: int, queries: Array, streams: dict[str, np.random.Generator]) -> Array:
    truth = world.values(t, queries) if way.asks == "values" else world.gradients(t, queries)
    return truth + world.noise.sample(streams["noise"], truth.shape) if way.noisy else truth


def _measure(
    way: Gradient,
    world: World,
    t: int,
    anchors: Array,
    space: Space,
    memory: Memory,
    streams: dict[str, np.random.Generator],
    repeats: int,
) -> Array:
    """Return squared smoothing, squared bias, variance and error, each averaged over the anchors."""
    copies, estimates = len(anchors), []
    for _ in range(repeats):
        probe = way.probe(anchors, space, streams)
        answers = _answers(way, world, t, probe.queries, streams)
        estimates.append(way.estimate(answers, probe, space, memory).reshape(copies, -1))
    found, truth = np.array(estimates), world.gradients(t, anchors).reshape(copies, -1)
    aim, doubt = _smoothed(way, world, t, anchors, space, truth, streams["directions"])
    mean = found.mean(axis=0)
    variance = float(np.square(found - mean).sum(axis=2).mean()) * repeats / (repeats - 1)
    # What the two means differ by anyway is taken off, so that this is near zero, on either side, without bias.
    bias = float(np.square(mean - aim).sum(axis=1).mean()) - variance / repeats - doubt
    smoothing = float(np.square(aim - truth).sum(axis=1).mean()) - doubt
    return np.array([smoothing, bias, variance, float(np.square(found - truth).sum(axis=2).mean())])


def _smoothed(
    way: Gradient, world: World, t: int, anchors: Array, space: Space, truth: Array, rng: np.random.Generator
) -> tuple[Array, float]:
    """Return ∇ℓ̂ at the anchors from many noiseless pairs of values, and the variance of that average."""
    sphere = way.gradient if isinstance(way, Budget) else way
    if not isinstance(sphere, Sphere) or not sphere.unbiased:  # what is biased aims at the gradient itself
        return truth, 0.0
    n = 2 if space.size == 1 else REFERENCE
    directions = sphere.directions(space, rng, n)
    pulls = sphere.pull(directions).reshape(n, -1)
    aims, doubts = [], []
    for anchor in anchors:
        ahead, behind = (world.values(t, anchor + sign * sphere.delta * directions) for sign in (1, -1))
        each = (space.rank / (2 * sphere.delta)) * (ahead - behind)[:, np.newaxis] * pulls
        aims.append(each.mean(axis=0))
        doubts.append(float(each.var(axis=0).sum()) / n)
    return np.array(aims), float(np.mean(doubts))

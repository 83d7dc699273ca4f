"""Many runs of one booster at once: the copies of all replicas are one bank, and a round of all runs is a few operations on arrays.

Copies know nothing of each other, so that N copies of S boosters are N·S copies of one learner, and a chain walks over the first
axis of whatever array it is given. The parts are the library's own; a single replica is `Booster` to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.booster import BoosterSpec
from banditboost.booster.geometry import Geometry, corrected
from banditboost.experiments.bounds_broken import BrokenName, broken_chain, fed, told
from banditboost.worlds import World


class Played(NamedTuple):
    """What S replicas suffered over T rounds."""

    regrets: Array
    """Total loss of the predictions less that of the comparator, shape (S,)."""
    ends: Array
    """The same for the ends y^N of the chains, before they are projected, shape (S,)."""
    gradients: Array | None
    """What every copy was told to learn from, shape (T, N, S, *shape), where that is kept."""
    plays: Array | None
    """What every copy played, not divided by γ, of the same shape."""


def play_replicas(
    spec: BoosterSpec,
    world: World,
    comparator: Array,
    replicas: int,
    *,
    broken: BrokenName | None = None,
    size: float = 1.0,
    keep: bool = False,
) -> Played:
    """Play a world with many replicas of a booster, which differ in their random numbers only.

    Parameters
    ----------
    spec
        The booster, with a gradient that treats copies alike and remembers nothing, such as `OnePoint` or `Stochastic`.
    world
        The world, which is the same for all replicas.
    comparator
        One point, or one point per round.
    replicas
        S, the number of replicas.
    broken
        What is wrong with the booster; nothing when left out.
    size
        The largest answer, for answers that are replaced by noise.
    keep
        Whether to keep what was told and played, which takes 2TNS numbers for each coordinate.
    """
    spec = broken_chain(spec, broken)
    geometry, copies, shape = Geometry.of(spec), spec.copies, spec.space.shape
    roles = ("directions", "perturbations", "noise", "coins")
    streams = {role: stream(spec.seed, role) for role in roles}
    bank = spec.learner.start(copies * replicas, geometry.ground, world.features or 0, streams["perturbations"])
    moving = comparator.ndim > len(shape)
    regrets, ends = np.zeros(replicas), np.zeros(replicas)
    kept = np.empty((2, len(world), copies, replicas, *shape)) if keep else None
    for t in range(len(world)):
        context = world.context(t)
        raw = bank.play(context)
        plays = raw if spec.chain.gamma == 1 else raw / spec.chain.gamma
        wished = plays
        if geometry.projects_plays:
            plays = geometry.ground.project(plays)
        path = spec.chain.path(plays.reshape(copies, replicas, *shape), geometry.chain_start)
        prediction = spec.space.project(path[-1]) if geometry.projects_prediction else path[-1]
        least = world.values(t, comparator[t] if moving else comparator)
        regrets += world.values(t, prediction) - least
        ends += world.values(t, path[-1]) - least

        anchors = path[:-1].reshape(copies * replicas, *shape)
        probe = spec.gradient.probe(anchors, spec.space, streams)
        answers = (world.values if spec.gradient.asks == "values" else world.gradients)(t, probe.queries)
        if spec.gradient.noisy:
            answers = answers + world.noise.sample(streams["noise"], answers.shape)
        answers = told(broken, answers, copies, size, streams["coins"])
        gradients = fed(broken, spec.gradient.estimate(answers, probe, spec.space, {}), copies)
        if kept is not None:
            kept[0, t], kept[1, t] = gradients.reshape(kept.shape[2:]), raw.reshape(kept.shape[2:])
        if geometry.projects_plays:
            gradients = corrected(gradients, wished, plays, len(shape))
        bank.update(context, gradients, t + 1)
    return Played(regrets, ends, *(kept if kept is not None else (None, None)))

"""Many boosters on the same rounds: what they have in common is done once.

Boosters that differ in their numbers only (steps, radius, δ, γ) ask about the same random directions and are answered with the same
noise: both are drawn once for all of them. Linear copies whose decisions are numbers advance together in one compiled loop
(`banditboost._compiled.sweep`); all others one after the other, block by block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from banditboost._core.checks import Array, OverflowingError, one_of
from banditboost._core.streams import restore, state, stream
from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Single
from banditboost.evaluate import compiled as compiled_loop
from banditboost.evaluate.progressive import PATIENT, Progress, blank, block_length, progressive
from banditboost.evaluate.questions import questions
from banditboost.evaluate.trace import Keep, Trace
from banditboost.gradients import Exact, OnePoint, Stochastic
from banditboost.gradients.base import Questions
from banditboost.learners import Bank
from banditboost.learners.linear import LinearBank
from banditboost.learners.scaled import ScaledBank
from banditboost.spaces import Interval
from banditboost.worlds import Supervised, World

if TYPE_CHECKING:
    from banditboost._compiled.sweep import Rules

NUMBERS = {True: 2**16, False: 3 * 2**17}
"""Most weights that advance together, sparse or dense: as many as stay close to the processor."""
PRECISIONS = {"double": np.float64, "single": np.float32}


def sweep(
    boosters: Sequence[Booster],
    world: World,
    *,
    progress: Progress | None = None,
    precision: str = "double",
    keep: Keep = "all",
) -> list[Trace]:
    """Train many boosters on the same rounds: as `progressive` on one after the other, in less time.

    Traces agree with those of `progressive` to about 1e-7. Where a booster's numbers run away, its losses are infinite and its
    predictions NaN from that block of rounds on, what it has learned means nothing, and the others go on.

    Parameters
    ----------
    boosters
        Trained in place. Those that differ in numbers only share most of the work. A sweep that is interrupted leaves them
        somewhere on the way, not all in the same round: begin again with new ones.
    world
        Who answers; every booster meets the same rounds with the same noise.
    progress
        Called as ``progress(rounds done, rounds in all)`` now and then, rounds counted over all boosters.
    precision
        "double", or "single" for boosters that advance together: about twice as fast, and good to about four digits of the
        largest number involved. That is enough to choose between settings where labels are about as large as they differ, not
        where they are millions that differ by ones; and numbers run away beyond 1e38 already.
    keep
        What traces keep, as for `progressive`. All of them are held until the sweep is over: "all" takes 24 bytes a round for
        every booster whose predictions are numbers, "losses" 16, "means" next to nothing.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=1000, features=3, noise=bb.noise.Uniform(0.1))
    >>> learners = [bb.learners.Linear(radius=3.0, rate=bb.rates.Power(scale, 0.5)) for scale in (0.001, 0.1, 10.0)]
    >>> boosters = [bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), learner=learner) for learner in learners]
    >>> traces = bb.evaluate.sweep(boosters, world)
    >>> min(range(3), key=lambda i: traces[i].mean)
    1
    """
    dtype = PRECISIONS[one_of("precision", precision, PRECISIONS)]
    one_of("keep", keep, ("all", "losses", "means"))
    if len(set(map(id, boosters))) < len(boosters):
        raise ValueError("boosters must be different objects: one of these comes twice.")
    done = 0

    def advance(rounds: int) -> None:
        nonlocal done
        done += rounds
        if progress is not None:
            progress(done, len(boosters) * len(world))

    traces: dict[int, Trace] = {}
    teams: dict[Any, Team] = {}
    for number, booster in enumerate(boosters):
        if len(world) == 0 or compiled_loop.why_not_compiled(booster, world):
            traces[number] = _alone(booster, world, keep)
            advance(len(world))
            continue
        trace = blank(booster, world, keep, block_length(booster, world), True)
        traces[number] = trace
        teams.setdefault(_common(booster, world), Team(world)).add(booster, trace)
    for team in teams.values():
        team.run(advance, dtype)
    return [traces[number] for number in range(len(boosters))]


def _alone(booster: Booster, world: World, keep: Keep) -> Trace:
    try:
        return progressive(booster, world, keep=keep)
    except OverflowingError:
        trace = blank(booster, world, keep, PATIENT, False)
        _ran_away(trace, 0)
        return trace


def _ran_away(trace: Trace, begin: int) -> None:
    """Say in a trace that from round `begin` on, where a block begins, there are no numbers."""
    entry = begin if trace.ends is None else int(np.searchsorted(trace.ends, begin, side="right"))
    trace.losses[entry:] = trace.paid[entry:] = np.inf
    trace.predictions[begin:] = np.nan
    if trace.answered is not None and trace.bands is not None:
        trace.answered[begin:] = trace.bands[begin:] = np.nan


def _common(booster: Booster, world: World) -> tuple[Any, ...]:
    """Return what boosters must have in common for the same questions."""
    spec = booster.spec
    streams = tuple(repr(state(booster.streams[role])) for role in ("directions", "coins"))
    directions = (type(spec.space), spec.space.shape)
    return (spec.copies, directions, spec.gradient.draws_like, streams, block_length(booster, world))


@dataclass(eq=False)
class Team:
    """Boosters that ask the same questions."""

    world: World
    boosters: list[Booster] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)

    def add(self, booster: Booster, trace: Trace) -> None:
        """Let one more booster in."""
        if booster.bank is None:
            booster._start_bank(self.world.features or 0)
        self.boosters.append(booster)
        self.traces.append(trace)

    def run(self, advance: Any, dtype: Any) -> None:
        """Play all rounds, a block at a time."""
        world, first = self.world, self.boosters[0]
        world.begin()
        try:
            self._blocks(first, advance, dtype)
        finally:  # all have asked what the first has asked, also where progress has raised something
            for booster in self.boosters[1:]:
                for role, drawn in first.streams.items():
                    if role != "perturbations":
                        restore(booster.streams[role], state(drawn))

    def _blocks(self, first: Booster, advance: Any, dtype: Any) -> None:
        world, rng = self.world, stream(self.world.seed, "noise")
        squads, others = self._squads()
        running = set(others)
        block = block_length(first, world)
        for begin in range(0, len(world), block):
            end = min(begin + block, len(world))
            asking = questions(first, world, end - begin, rng)
            for squad in squads:
                squad.run(world, begin, end, asking, dtype)
            for number in sorted(running):
                if not self._one(number, begin, end, asking):
                    running.remove(number)
            advance((end - begin) * len(self.boosters))

    def _one(self, number: int, begin: int, end: int, asking: Questions) -> bool:
        booster, trace = self.boosters[number], self.traces[number]
        try:
            compiled_loop.run(booster, self.world, begin, end, lambda *_: asking, trace)
        except OverflowingError:
            _ran_away(trace, begin)
            return False
        return True

    def _squads(self) -> tuple[list[Squad], list[int]]:
        """Return those that advance together, in groups that fit into fast memory, and the numbers of all others."""
        alike: dict[Any, list[int]] = {}
        others = []
        for number, booster in enumerate(self.boosters):
            key = _together(booster, self.world)
            if key is None:
                others.append(number)
            else:
                alike.setdefault(key, []).append(number)
        squads = []
        for numbers in alike.values():
            if len(numbers) == 1:
                others += numbers
                continue
            assert isinstance(self.world, Supervised)
            booster = self.boosters[numbers[0]]
            each = booster.spec.copies * (self.world.features + 1)
            size = max(8, NUMBERS[self.world.sparse] // each)
            for begin in range(0, len(numbers), size):
                part = numbers[begin : begin + size]
                squads.append(Squad([self.boosters[n] for n in part], [self.traces[n] for n in part]))
        return squads, others


def _together(booster: Booster, world: World) -> tuple[Any, ...] | None:
    """Return what boosters must have in common to advance in one loop; None for those that cannot."""
    spec = booster.spec
    if not isinstance(world, Supervised) or not isinstance(spec.space, Interval):
        return None
    if spec.bands is not None or spec.drifts is not None:
        return None
    if type(spec.chain) not in (ConvexHull, Single) or type(spec.gradient) not in (OnePoint, Exact, Stochastic):
        return None
    if isinstance(spec.gradient, Stochastic) and spec.gradient.scaled:
        return None
    bank, _ = _unwrapped(compiled_loop.bank_for(booster, world), 1.0)
    if not isinstance(bank, LinearBank):
        return None
    lengths = spec.chain.lengths(spec.copies).tobytes()
    return (type(spec.chain), lengths, type(spec.gradient), spec.inside, spec.space, bank.spec.intercept)


@dataclass(eq=False)
class Squad:
    """Boosters that advance together in one compiled loop."""

    boosters: list[Booster]
    traces: list[Trace]

    def run(self, world: World, begin: int, end: int, asking: Questions, dtype: Any) -> None:
        """Play rounds begin ... end-1; boosters whose numbers ran away stay where they are."""
        from banditboost._compiled import sweep as kernel

        if not self.boosters:
            return
        assert isinstance(world, Supervised)
        banks = [_linear(booster) for booster in self.boosters]
        # Column i·R + r is copy i of replica r.
        weights = np.stack([bank.weights for bank in banks], axis=1).reshape(-1, banks[0].weights.shape[-1])
        V = np.array(weights.T, dtype=dtype, order="C")
        rules = self._rules(world, begin, end, asking, dtype)
        contexts, rows = world.stored(begin, end)
        intercept = banks[0].spec.intercept
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(contexts, csr_array):
                kernel.sparse_rounds(V, contexts, rows, intercept, rules)
            else:
                kernel.dense_rounds(V, contexts[rows], intercept, rules)
        learned = V.T.reshape(-1, len(banks), V.shape[0])
        predictions, losses, paid = (np.ascontiguousarray(a.T) for a in (rules.predictions, rules.losses, rules.paid))
        kept = []
        for r, (booster, trace) in enumerate(zip(self.boosters, self.traces, strict=True)):
            if not (np.isfinite(learned[:, r]).all() and np.isfinite(losses[r]).all()):
                _ran_away(trace, begin)
                continue
            with trace.block(begin, end) as block:
                block.losses[...], block.paid[...], block.predictions[...] = losses[r], paid[r], predictions[r]
            banks[r].weights[...] = learned[:, r]
            booster.advance(end - begin)
            kept.append(r)
        self.boosters, self.traces = [self.boosters[r] for r in kept], [self.traces[r] for r in kept]

    def _rules(self, world: Supervised, begin: int, end: int, asking: Questions, dtype: Any) -> Rules:
        """Lay out what replicas do, as the kernel reads it."""
        from banditboost._compiled import sweep as kernel

        rounds, replicas, spec = end - begin, len(self.boosters), self.boosters[0].spec
        one_point, space = spec.gradient if isinstance(spec.gradient, OnePoint) else None, spec.space
        assert isinstance(space, Interval)
        rates, numbers = np.empty((replicas, rounds), dtype), np.empty((7, replicas), dtype)
        known: dict[Any, Array] = {}
        for r, booster in enumerate(self.boosters):
            bank, told = _linear(booster), booster.phase_rounds
            key = (bank.spec.rate, told)
            if key not in known:
                known[key] = bank.spec.rate.at(np.arange(told + 1.0, told + rounds + 1))
            rates[r] = known[key]
            gradient = booster.spec.gradient
            delta = gradient.delta if isinstance(gradient, OnePoint) else 1.0
            ground = booster.geometry.ground
            assert isinstance(ground, Interval)
            radius = math.inf if bank.spec.radius is None else bank.spec.radius
            numbers[:, r] = (
                float(booster.geometry.chain_start),
                _scale(booster),
                radius,
                ground.low,
                ground.high,
                delta,
                1 / delta,
            )
        traces = (np.empty((rounds, replicas), dtype) for _ in range(3))
        return kernel.Rules(
            world.labels(begin, end).reshape(rounds, 1).astype(dtype),
            asking.directions.reshape(rounds, -1).astype(dtype) if len(asking.directions) else np.empty((0, 0), dtype),
            asking.noise.reshape(rounds, -1).astype(dtype) if len(asking.noise) else np.empty((0, 0), dtype),
            1 if one_point is None else one_point.queries,
            np.ascontiguousarray(rates.T),
            spec.chain.lengths(spec.copies).astype(dtype),
            isinstance(spec.chain, Single),
            spec.inside,
            one_point is None,
            world.loss.compiled_form(),
            space.low,
            space.high,
            numbers,
            *traces,
        )


def _unwrapped(bank: Bank, scale: float) -> tuple[Bank, float]:
    """Return the bank within wrappers that scale, and what multiplies its plays."""
    while type(bank) is ScaledBank:
        scale *= bank.gamma
        bank = bank.bank
    return bank, scale


def _linear(booster: Booster) -> LinearBank:
    assert booster.bank is not None
    bank = _unwrapped(booster.bank, 1.0)[0]
    assert isinstance(bank, LinearBank)
    return bank


def _scale(booster: Booster) -> float:
    """Return what multiplies the copies' outputs to give plays."""
    assert booster.bank is not None
    return _unwrapped(booster.bank, 1 / booster.spec.chain.gamma)[1]

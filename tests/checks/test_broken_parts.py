"""Every installed check fails on a part that is broken in just the way it looks for, with a sentence that says so."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost import testing
from banditboost._core.checks import Array
from banditboost.gradients.base import Probe
from banditboost.learners.linear import LinearBank
from banditboost.testing import boosters

COUNTER = itertools.count()
"""What no seed decides."""


def fails(sentence: str, check: Any, *arguments: Any) -> None:
    with pytest.raises(AssertionError, match=sentence) as caught:
        check(*arguments)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


# Specs.


@dataclass(frozen=True)
class Dropped(bb.rates.Constant):
    """Its scale is not written."""

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}


@dataclass(frozen=True)
class Thawed(bb.rates.Constant):
    """Its fields can be set."""


Thawed.__setattr__ = object.__setattr__  # type: ignore[method-assign]


@dataclass(frozen=True)
class Unique(bb.rates.Constant):
    """Equal parts have different hashes."""

    def __hash__(self) -> int:
        return next(COUNTER)


def test_specs() -> None:
    fails("Dropped must equal what its JSON is read as", testing.check_spec, Dropped(0.5))
    fails("Thawed must be a frozen dataclass: its field scale can be set", testing.check_spec, Thawed(0.5))
    fails("Unique must have the same hash", testing.check_spec, Unique(0.5))
    fails("str must be a subclass of one of the library's parts", testing.check_part, "Linear")


# Learners: one play for each copy, moved against the gradient, as bad as its fault says.


@dataclass(frozen=True)
class Steps(bb.learners.Learner):
    fault: str = "none"

    def start(self, copies: int, space: bb.spaces.Space, features: int, rng: np.random.Generator) -> StepsBank:
        return StepsBank(self.fault, np.tile(space.inner_centre, (copies, *(1,) * len(space.shape))))

    def n_floats(self, copies: int, space: bb.spaces.Space, features: int) -> int:
        return 0 if self.fault == "promises nothing" else super().n_floats(copies, space, features)


class StepsBank(bb.learners.Bank):
    def __init__(self, fault: str, plays: Array) -> None:
        self.fault, self.plays, self.momentum, self.last = fault, plays, np.zeros_like(plays), np.zeros(1)

    def play(self, context: Array | None) -> Array:
        assert context is not None
        self.last = context
        if self.fault == "moves by playing":
            self.plays += 1e-6
        if self.fault == "random":
            return np.asarray(self.plays + 1e-9 * next(COUNTER))
        return self.plays[:, None] if self.fault == "shape" else self.plays.copy()

    def play_many(self, contexts: Array) -> Array:
        return super().play_many(contexts) + (0.1 if self.fault == "many" else 0.0)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        self.momentum *= 0.5 if self.fault == "part is not saved" else 0.0
        self.momentum += gradients
        step = 0.3 / t**0.5 * self.momentum
        if self.fault == "last asked":
            step = step * self.last[0]
        if self.fault == "unseeded":
            step = step + 1e-9 * next(COUNTER)
        if self.fault != "deaf":
            self.plays += step if self.fault == "climbs" else -step

    def arrays(self) -> dict[str, Array]:
        return {} if self.fault == "nothing is saved" else {"plays": self.plays}


def test_the_right_learner_passes() -> None:
    testing.check_learner(Steps())


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("shape", r"Steps must play one point for each copy: shape \(4,\), got \(4, 1\)"),
        ("moves by playing", "Steps must (not change by playing|play the same)"),
        ("random", "Steps must play the same when it is asked again"),
        ("promises nothing", "Steps must say that it holds at least one number for each copy, got 0"),
        ("nothing is saved", r"Steps must return the numbers that its copies hold from arrays\(\), got 0"),
        ("part is not saved", "A loaded booster must continue bit for bit"),
        ("many", "predict_many must predict for each row what predict does"),
        ("last asked", "A late answer must be learned from the ticket alone"),
        ("unseeded", "The same seed must give the same queries and predictions"),
        ("deaf", "It must learn a fixed target: the loss went from .* to"),
        ("climbs", "It must learn a fixed target: the loss went from .* to"),
    ],
)
def test_learners(fault: str, sentence: str) -> None:
    fails(sentence, testing.check_part, Steps(fault))


def test_predictions_that_change_something() -> None:
    booster = testing.booster_with(Steps("moves by playing"))
    fails("predict must change nothing|ask must", boosters.pure_predictions, booster)
    fails("ask must predict what predict says", boosters.pure_predictions, testing.booster_with(Steps("random")))


# Gradients.


@dataclass(frozen=True)
class Asks(bb.gradients.OnePoint):
    fault: str = "none"

    def start(self, copies: int, space: bb.spaces.Space) -> dict[str, Array]:
        return super().start(copies, space) | {"rounds": np.zeros(1)}

    def probe(self, anchors: Array, space: bb.spaces.Space, streams: Any) -> Probe:
        if self.fault == "own directions":
            streams = {role: np.random.default_rng(1) for role in streams}
        found = super().probe(anchors, space, streams)
        if self.fault == "far":
            found = found._replace(queries=found.queries + 3 * self.delta * found.directions)
        if self.fault == "a little far":
            found = found._replace(queries=found.queries + 0.1 * self.delta * found.directions)
        if self.fault == "draws":
            found = found._replace(draws=found.draws[:-1])
        return found._replace(chosen=found.chosen[:-1]) if self.fault == "chosen" else found

    def estimate(self, answers: Array, probe: Probe, space: bb.spaces.Space, memory: dict[str, Array]) -> Array:
        found = super().estimate(answers, probe, space, memory)
        if self.fault == "remembers early":
            memory["rounds"] += 1
        if self.fault == "shape":
            return found[:-1]
        return -found if self.fault == "climbs" else found

    def count(self, copies: int) -> int:
        return 0 if self.fault == "counts none" else super().count(copies)


def test_the_right_gradient_passes() -> None:
    testing.check_gradient(Asks(0.2))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("own directions", "Another seed must give other queries"),
        ("far", "Asks must ask within its reach 0.2 of an anchor"),
        ("a little far", "Asks must ask within its reach 0.2 of an anchor"),
        ("draws", "Asks must number the draws of all 3 queries, got 2"),
        ("chosen", "Asks must say of each direction whether it is asked about"),
        ("remembers early", "Gradient.estimate must leave the memory as it is"),
        ("shape", r"Asks must give gradients of shape \(3,\), got \(2,\)"),
        ("climbs", "It must learn a fixed target"),
        ("counts none", "Asks.count must be at least one query a round, got 0"),
    ],
)
def test_gradients(fault: str, sentence: str) -> None:
    fails(sentence, testing.check_part, Asks(0.2, fault=fault))


def test_queries_that_leave_the_space() -> None:
    fails("Queries must lie in the space", boosters.legal_points, testing.booster_with(Asks(0.2, fault="far")))


# Chains.


@dataclass(frozen=True)
class Path(bb.chains.ConvexHull):
    fault: str = "none"

    def start(self, copies: int) -> dict[str, Array]:
        return {"rounds": np.zeros(1)}

    def lengths(self, copies: int) -> Array:
        return super().lengths(copies + (self.fault == "lengths"))

    def path(self, plays: Array, start: Array, memory: Any = None, ground: Any = None) -> Array:
        if self.fault == "remembers early" and memory is not None:
            memory["rounds"] += 1
        if self.fault == "writes":
            plays *= 0.5
        found = bb.chains.ConvexHull().path(plays, start, memory, ground)
        if self.fault == "short":
            return found[1:]
        if self.fault == "infinite":
            return np.asarray(found / 0.0)
        if self.fault == "leaves":
            return found + 3.0
        return found


def test_the_right_chain_passes() -> None:
    testing.check_chain(Path())


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("lengths", "Path must have one step length for each of 3 copies"),
        ("remembers early", "Path must leave plays and memory as they are"),
        ("writes", "Path must leave plays and memory as they are"),
        ("short", r"Path must give a path of shape \(4,\), got \(3,\)"),
        ("infinite", "Path must give a path of finite numbers"),
        ("leaves", "(Queries|Predictions) must lie in the space"),
    ],
)
def test_chains(fault: str, sentence: str) -> None:
    with np.errstate(all="ignore"):
        fails(sentence, testing.check_part, Path(fault=fault))


# Spaces.


@dataclass(frozen=True)
class Square(bb.spaces.Space):
    """[-1, 1] x [-1, 1], as bad as its fault says."""

    fault: str = "none"

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,)

    @property
    def inner_centre(self) -> Array:
        return np.full(2, 3.0) if self.fault == "centre" else np.zeros(2)

    @property
    def inner_radius(self) -> float:
        return {"radius": 1.2, "no radius": 0.0}.get(self.fault, 1.0)

    @property
    def diameter(self) -> float:
        return 2.0 if self.fault == "diameter" else 8.0**0.5

    @property
    def farthest(self) -> float:
        return 1.0 if self.fault == "farthest" else super().farthest

    def project(self, points: Array) -> Array:
        if self.fault == "radial projection":
            return np.asarray(points / np.maximum(1.0, np.abs(points).max(axis=-1, keepdims=True)))
        if self.fault == "moves members":
            return np.asarray(0.99 * np.clip(points, -1, 1))
        if self.fault == "projection outside":
            return np.asarray(points)
        if self.fault == "one projection" and np.ndim(points) > 1:
            return np.zeros(np.shape(points))
        return np.clip(points, -1.0, 1.0)

    def minimize(self, gradients: Array) -> Array:
        found = np.where(np.asarray(gradients) > 0, -1.0, 1.0)
        if self.fault == "one oracle" and found.ndim == 3:
            found = found[::-1, ::-1] * 0.999
        if self.fault == "oracle shape":
            return found.reshape(-1, 2)
        return np.asarray({"oracle": -found, "oracle outside": 2 * found}.get(self.fault, found))

    def contains(self, points: Array, tolerance: float = 1e-9) -> Any:
        inside = (np.abs(points) <= 1 + tolerance).all(axis=-1)
        if self.fault == "one member" and np.ndim(points) > 2:
            return inside | True
        return inside

    def shrink(self, xi: float) -> bb.spaces.Space:
        return {"does not shrink": self, "shrinks too much": bb.spaces.Shrunk(self, 0.9)}.get(
            self.fault, bb.spaces.Shrunk(self, xi)
        )

    def tangent(self, vectors: Array) -> Array:
        return np.asarray(vectors * [1.0, 0.0]) if self.fault == "tangent" else vectors

    def directions(self, rng: np.random.Generator, n: int) -> Array:
        found = super().directions(rng, n)
        if self.fault == "blocks":
            rng.random()
        return 2 * found if self.fault == "long directions" else found


def test_the_right_space_passes() -> None:
    testing.check_part(Square())


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("oracle", "Square.minimize must find the member with the smallest product"),
        ("oracle outside", "Square must contain mixtures of its oracle's answers"),
        ("oracle shape", "Square.minimize must keep the shape of many gradients"),
        ("one oracle", "Square.minimize must"),
        ("radial projection", "Square.project must give the nearest member: another one is nearer"),
        ("moves members", "Square.project must"),
        ("projection outside", "Square.project must give members"),
        ("one projection", "Square.project must"),
        ("one member", "Square.contains must treat many points as it does each"),
        ("centre", "Square must contain its inner_centre"),
        ("radius", "Square must contain the ball of its inner_radius"),
        ("no radius", "Square.inner_radius must be positive"),
        ("diameter", "Square.diameter must be the largest distance of two members"),
        ("farthest", "Square.farthest must bound the norms of members"),
        ("does not shrink", r"Square.shrink\(0.5\) must leave room for queries"),
        ("shrinks too much", r"Square.shrink\(0.0\) must be the space shrunk"),
        ("tangent", "Square.tangent must leave differences of members as they are"),
        ("long directions", "Square must contain the ball|Square.directions must be unit vectors"),
        ("blocks", "Square.directions must give the same vectors in blocks as at once"),
    ],
)
def test_spaces(fault: str, sentence: str) -> None:
    fails(sentence, testing.check_space, Square(fault))


# Losses.


@dataclass(frozen=True)
class Costs(bb.losses.Squared):
    fault: str = "none"

    def value(self, points: Any, label: Any, ndim: int | None = None) -> Array:
        found = super().value(points, label, ndim)
        if self.fault == "value shape":
            return found[..., None]
        if self.fault == "one value" and np.ndim(found):
            return np.asarray(found + 0.1 * np.arange(len(found)))
        return np.sqrt(np.sqrt(found)) if self.fault == "not convex" else found

    def gradient(self, points: Any, label: Any, ndim: int | None = None) -> Array:
        found = super().gradient(points, label, ndim)
        if self.fault == "gradient shape":
            return found[..., None]
        return 2 * found if self.fault == "twice the gradient" else found

    def constants(self, space: bb.spaces.Space, gamma: float = 1.0, delta: float = 0.0) -> bb.losses.Constants:
        lipschitz, smoothness, bound = super().constants(space, gamma, delta)
        lipschitz, bound = lipschitz / (self.fault == "lipschitz" or 0.1), bound / (self.fault == "bound" or 0.1)
        return bb.losses.Constants(0.1 * lipschitz, smoothness, 0.1 * bound)


def test_the_right_loss_passes() -> None:
    testing.check_loss(Costs())


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("value shape", r"Costs.value must give one number for each point, got \(40, 1\)"),
        ("gradient shape", r"Costs.gradient must have the shape of the points, got \(40, 1\)"),
        ("one value", "Costs.value must treat many points as it does each"),
        ("not convex", "Costs must be convex, with gradient as its slope"),
        ("twice the gradient", "Costs must be convex, with gradient as its slope"),
        ("lipschitz", "Costs.constants must bound the gradient"),
        ("bound", "Costs.constants must bound the value"),
    ],
)
def test_losses(fault: str, sentence: str) -> None:
    fails(sentence, testing.check_part, Costs(fault))


@dataclass(frozen=True)
class Bumpy(bb.losses.Sale):
    """Its slope is promised to be steeper than it is, or it is promised to be convex."""

    fault: str = "none"

    @property
    def convex(self) -> bool:
        return self.fault == "convex"

    def gradient(self, points: Any, label: Any, ndim: int | None = None) -> Array:
        return super().gradient(points, label, ndim) * (1.1 if self.fault == "gradient" else 1.0)


def test_losses_that_are_not_convex() -> None:
    testing.check_loss(Bumpy())
    fails("Bumpy.gradient must be the slope of its value at almost every point", testing.check_loss, Bumpy("gradient"))
    fails("Bumpy must be convex, with gradient as its slope", testing.check_loss, Bumpy("convex"))


# Rates and noise.


@dataclass(frozen=True)
class Pace(bb.rates.Power):
    fault: str = "none"

    def at(self, t: Any) -> Array:
        found = super().at(t)
        if self.fault == "shape":
            return found[:-1]
        return np.asarray(-found) if self.fault == "backwards" else found

    def step(self, t: int) -> float:
        return super().step(t) * (2.0 if self.fault == "one step" else 1.0)


@dataclass(frozen=True)
class Blur(bb.noise.Uniform):
    fault: str = "none"

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        if self.fault == "blocks":
            rng.random()
        found = super().sample(rng, shape)
        if self.fault == "shape":
            return found[:-1]
        return {"bound": 2 * found, "mean": np.abs(found)}.get(self.fault, found)


def test_rates_and_noise() -> None:
    testing.check_rate(Pace(0.1))
    fails("Pace must give one step for each of 100 rounds", testing.check_part, Pace(fault="shape"))
    fails("Pace must give positive, finite steps", testing.check_part, Pace(fault="backwards"))
    fails("Pace must give one round the step that it gives to many", testing.check_part, Pace(fault="one step"))
    testing.check_noise(Blur())
    fails(r"Blur.sample must give the shape that is asked for", testing.check_part, Blur(fault="shape"))
    fails("Blur must stay within its bound 0.1", testing.check_part, Blur(fault="bound"))
    fails("Blur must be zero on average", testing.check_part, Blur(fault="mean"))
    fails("Blur must give the same numbers in blocks as at once", testing.check_part, Blur(fault="blocks"))


# The loop itself.


def test_bad_answers_that_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bb.Booster, "tell", lambda self, ticket, losses: None)
    fails("A bad answer must be refused with a ValueError", boosters.refusals, testing.booster_with(Steps()))


def test_refusals_that_do_not_say_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = bb.Booster.tell

    def vague(self: bb.Booster, ticket: bb.Ticket, losses: Any) -> None:
        try:
            tell(self, ticket, losses)
        except ValueError:
            raise ValueError("Something is wrong.") from None

    monkeypatch.setattr(bb.Booster, "tell", vague)
    fails("A bad answer must be refused with a sentence about losses", boosters.refusals, testing.booster_with(Steps()))


def test_refusals_that_change_something(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = bb.Booster.tell

    def hasty(self: bb.Booster, ticket: bb.Ticket, losses: Any) -> None:
        self.streams["directions"].random()
        tell(self, ticket, losses)

    monkeypatch.setattr(bb.Booster, "tell", hasty)
    fails("What is refused must change nothing", boosters.refusals, testing.booster_with(Steps()))


def test_compiled_loops_that_play_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    update = LinearBank.update
    monkeypatch.setattr(LinearBank, "update", lambda self, context, g, t: update(self, context, 1.001 * g, t))
    booster = testing.booster_with(bb.learners.Linear())
    fails("The compiled loop must play the plain loop's rounds", boosters.compiled_is_plain, booster)


def test_parts_that_fit_no_booster() -> None:
    with pytest.raises(ValueError, match="part must be a learner, chain, gradient, space or rate, got Uniform"):
        testing.booster_with(bb.noise.Uniform())


def test_whole_boosters_and_their_specs() -> None:
    booster = testing.booster_with(Steps("deaf"))
    for part in (booster, booster.spec):
        fails("It must learn a fixed target", testing.check_part, part)
    assert booster.rounds == 0
    testing.check_part(dataclasses.replace(testing.booster_with(bb.learners.Linear()).spec))

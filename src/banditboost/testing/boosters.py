"""Checks of a whole booster: the promises of the loop, whatever its parts are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from banditboost.booster import Booster
from banditboost.booster.geometry import corrected
from banditboost.chains import Single
from banditboost.evaluate.progressive import progressive
from banditboost.gradients import Budget, Sphere
from banditboost.losses import Loss
from banditboost.noise import Uniform
from banditboost.testing.rounds import Target, answers, play, require, state
from banditboost.testing.specs import Parts, check_spec
from banditboost.worlds import Supervised

ROUNDS, CUT = 40, 15
"""How many rounds are played, and after how many of them a booster is saved."""
LEARNING_ROUNDS = 400
"""How many rounds a booster has to come close to a fixed target."""
CLOSE = 1e-9
"""How far compiled and plain numbers may be apart, absolutely and relative to their size."""


def check_booster(booster: Booster, parts: Parts = None) -> None:
    """Check every promise of the loop on fresh boosters with the same parts; the booster itself is left as it is.

    Checked are: the same seed gives the same rounds and another seed others, predictions change nothing and are true, a saved and
    loaded booster continues bit for bit, late answers are learned from by the rule, bad input is refused and changes nothing,
    queries and predictions are legal, the compiled loop (where there is one) plays the plain loop's rounds, and it learns.

    Parameters
    ----------
    booster
        What to check. Its parts must be written as JSON.
    parts
        What is passed to `Booster.load`: the callables of parts that hold some, by name.
    """
    check_spec(booster.spec, parts)
    for check in (
        same_seed,
        another_seed,
        pure_predictions,
        late_answers,
        refusals,
        legal_points,
        compiled_is_plain,
        learns_a_constant,
    ):
        check(booster)
    saved_and_continued(booster, parts)


def fresh(booster: Booster, **changes: Any) -> Booster:
    """Return a booster with the same parts that has seen nothing."""
    return Booster.from_spec(dataclasses.replace(booster.spec, **changes))


def same_seed(booster: Booster) -> None:
    """Check that chance comes from the seed alone."""
    world = Target(booster)
    first, second = play(fresh(booster), world, 0, ROUNDS), play(fresh(booster), world, 0, ROUNDS)
    require(first == second, "The same seed must give the same queries and predictions: draw from the streams given.")


def another_seed(booster: Booster) -> None:
    """Check that questions about values depend on the seed."""
    spec, world = booster.spec, Target(booster)
    if spec.gradient.asks != "values" or not spec.learner.contextual:
        return
    other = fresh(booster, seed=spec.seed + 94)
    same = play(fresh(booster), world, 0, ROUNDS) == play(other, world, 0, ROUNDS)
    require(not same, "Another seed must give other queries: directions must be drawn from the streams given.")


def pure_predictions(booster: Booster) -> None:
    """Check that predicting changes nothing, and that a ticket has the prediction that was announced."""
    world, booster = Target(booster), fresh(booster)
    for t in range(5):
        context, before = world.context(t), state(booster)
        predicted = booster.predict(context)
        require(booster.bank is None or state(booster) == before, "predict must change nothing.")
        ticket = booster.ask(context)
        require(
            ticket.prediction.tobytes() == predicted.tobytes(), "ask must predict what predict says, to the last bit."
        )
        again = booster.predict(context)
        require(again.tobytes() == predicted.tobytes(), "ask must not change what predict says.")
        booster.tell(ticket, losses=answers(world, ticket, t))
    if world.contextual:
        table = world.contexts[:7]
        many, single = booster.predict_many(table), np.array([booster.predict(x) for x in table])
        require(np.allclose(many, single, CLOSE, CLOSE), "predict_many must predict for each row what predict does.")


def saved_and_continued(booster: Booster, parts: Parts = None) -> None:
    """Check that a booster that was saved and loaded continues as if nothing had happened."""
    world, booster = Target(booster), Booster.from_spec(booster.plan or booster.spec)
    play(booster, world, 0, CUT)
    with TemporaryDirectory() as folder:
        booster.save(Path(folder) / "model.bb")
        loaded = Booster.load(Path(folder) / "model.bb", parts)
    require(state(loaded) == state(booster), "A loaded booster must hold what was saved: arrays() must return all.")
    same = play(booster, world, CUT, ROUNDS) == play(loaded, world, CUT, ROUNDS)
    require(
        same and state(booster) == state(loaded), "A loaded booster must continue bit for bit: arrays() lacks some."
    )


def late_answers(booster: Booster) -> None:
    """Check the rule for late answers: a ticket's own answers, and the weights and the schedule of the day they come.

    Gradients that can be had at other anchors are taken along today's path, others at the ticket's own.
    """
    world, booster = Target(booster), fresh(booster)
    play(booster, world, 0, 5)
    late, first = booster.ask(world.context(5)), booster.ask(world.context(6))
    booster.tell(first, losses=answers(world, first, 6))
    expected, spec, given = booster._twin(), booster.spec, answers(world, late, 5)
    memory, walked = expected.gradient_memory, booster._twin().ask(late.context) if spec.gradient.moves else late
    before = {name: array.copy() for name, array in memory.items()}
    if spec.gradient.moves:
        gradients = spec.gradient.estimate_at(walked.path, given, late.probe, spec.space, memory)
    else:
        gradients = spec.gradient.estimate(given, late.probe, spec.space, memory)
    same = all(np.array_equal(before[name], memory[name], equal_nan=True) for name in before)
    require(
        same and before.keys() == memory.keys(), "Gradient.estimate must leave the memory as it is: learn changes it."
    )
    outcome = expected._outcome(late, given, late.probe)
    spec.gradient.learn(given, late.probe, spec.space, memory)
    spec.chain.learn(walked.path, gradients, expected.chain_memory, 7)
    if spec.bands is not None:
        expected._learn_bands(spec.bands, late, given, outcome)
    if spec.drifts is not None:
        expected._watch(spec.drifts, given)
    if booster.geometry.projects_plays:
        gradients = corrected(gradients, walked.raw / spec.chain.gamma, walked.plays, len(spec.space.shape))
    require(expected.bank is not None, "A booster that was asked must have a bank.")
    bank: Any = expected.bank
    bank.play(
        late.context
    )  # a bank that remembers what it played last remembers the late round here, and another one below
    bank.remember(late.context, walked.path[:-1], gradients)
    bank.update(late.context, gradients, 7)
    booster.tell(late, losses=given)
    same = state(booster)[0] == state(expected)[0] and booster.rounds == 7
    require(
        same, "A late answer must be learned from the ticket alone: a part remembers the last round that was asked."
    )


def _refused(act: Callable[[], object], beginning: str, what: str) -> None:
    try:
        act()
    except ValueError as error:
        require(beginning in str(error), f"{what} must be refused with a sentence about {beginning}: got {error}")
    else:
        raise AssertionError(f"{what} must be refused with a ValueError.")


def refusals(booster: Booster) -> None:
    """Check that bad contexts and answers are refused, and change nothing."""
    world, booster = Target(booster), fresh(booster)
    play(booster, world, 0, 3)
    ticket = booster.ask(world.context(3))
    good = answers(world, ticket, 3)
    before = state(booster)
    for bad in (good[:-1], np.full_like(good, np.nan), np.full_like(good, -np.inf), np.append(good, good)):
        _refused(lambda bad=bad: booster.tell(ticket, losses=bad), "losses must", "A bad answer")  # type: ignore[misc]
    contexts: tuple[Any, ...] = ([np.nan, 0.0, 0.0], [1.0, 2.0], [[0.0, 0.0, 0.0]], None if world.contextual else [0.0])
    for context in contexts:
        _refused(lambda x=context: booster.ask(x), "x must", "A bad context")  # type: ignore[misc]
        _refused(lambda x=context: booster.predict(x), "x must", "A bad context")  # type: ignore[misc]
    require(state(booster) == before, "What is refused must change nothing.")
    booster.tell(ticket, losses=good)


def legal_points(booster: Booster) -> None:
    """Check that queries and predictions are members of the space, also where answers are ten times too large."""
    world, booster = Target(booster), fresh(booster, inside=True)
    space = booster.spec.space
    for t in range(ROUNDS):
        ticket = booster.ask(world.context(t))
        require(space.contains(ticket.queries).all(), f"Queries must lie in the space: in round {t} one did not.")
        require(space.contains(ticket.prediction), f"Predictions must lie in the space: in round {t} it did not.")
        booster.tell(ticket, losses=10 * answers(world, ticket, t))


def compiled_is_plain(booster: Booster, loss: Loss | None = None) -> None:
    """Check that the compiled loop plays the rounds of the plain one, to nine digits; where there is none, nothing is checked."""
    if not booster.spec.learner.contextual:
        return  # compiled loops read tables of contexts
    space = booster.spec.space
    rng = np.random.default_rng(3)
    contexts, labels = rng.uniform(-1, 1, (300, 3)), space.minimize(rng.normal(size=(300, *space.shape)))
    world = Supervised(contexts, labels, loss, Uniform(0.1))
    fast = progressive(fresh(booster), world)
    if not fast.compiled:
        return
    plain = progressive(fresh(booster), world, compiled=False)
    for name in ("predictions", "paid"):
        same = np.allclose(getattr(fast, name), getattr(plain, name), CLOSE, CLOSE)
        require(same, f"The compiled loop must play the plain loop's rounds: other {name} came out.")


def learns_a_constant(booster: Booster, loss: Loss | None = None) -> None:
    """Check that the loss of a fixed target falls to half of what it is at the start of the chain.

    A chain of three players who jump from border to border cannot land on a point, and few noisy values cannot tell where it is:
    hence twenty-five copies and fifty queries for each.
    """
    spec = booster.spec
    copies = 1 if isinstance(spec.chain, Single) else 25
    gradient = spec.gradient
    if isinstance(gradient, Sphere):
        gradient = dataclasses.replace(gradient, queries=50)
    elif isinstance(gradient, Budget):
        gradient = dataclasses.replace(
            gradient, gradient=dataclasses.replace(gradient.gradient, queries=50), queries=500
        )
    plenty = fresh(booster, copies=copies, gradient=gradient)
    world = Target(booster, LEARNING_ROUNDS, loss)
    trace = progressive(plenty, world)
    least = float(world.values(0, world.target))
    begin = float(world.values(0, plenty.geometry.chain_start)) - least
    end = float(trace.losses[-LEARNING_ROUNDS // 4 :].mean()) - least
    require(end < max(0.5 * begin, 0.02), f"It must learn a fixed target: the loss went from {begin:.3g} to {end:.3g}.")

"""Generic checks: they run on every part that exists, found by discovery, and their number is asserted."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost._core import spec as specs_module
from banditboost.booster.geometry import corrected
from banditboost.evaluate import compiled as compiled_loop
from tests.checks.discovery import Target, answers, boosters, label, play, specs, state

SPECS = list(specs())
BOOSTERS = list(boosters())

each_spec = pytest.mark.parametrize("spec", SPECS, ids=label)
each_booster = pytest.mark.parametrize("booster", [b for _, b in BOOSTERS], ids=[name for name, _ in BOOSTERS])


def fresh(booster: bb.Booster) -> bb.Booster:
    return bb.Booster.from_spec(booster.spec)


def test_how_many_are_checked() -> None:
    # A check that finds nothing to check is green too: adding or losing a part must show here.
    assert (len(SPECS), len(BOOSTERS)) == (115, 126)


@each_spec
def test_json_round_trip(spec: specs_module.Spec) -> None:
    again = specs_module.from_json(spec.to_json(), spec.callables())
    assert again == spec
    assert hash(again) == hash(spec)
    assert again.to_json() == spec.to_json()
    assert again.digest() == spec.digest()


@each_spec
def test_frozen(spec: specs_module.Spec) -> None:
    for field in dataclasses.fields(spec):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(spec, field.name, None)


@each_booster
def test_spec_of_the_whole_round_trips(booster: bb.Booster) -> None:
    assert specs_module.from_json(booster.spec.to_json(), booster.spec.callables()) == booster.spec


@each_booster
def test_same_seed_same_trajectory(booster: bb.Booster) -> None:
    world = Target(booster)
    assert play(fresh(booster), world, 0, 40) == play(fresh(booster), world, 0, 40)


@each_booster
def test_another_seed_another_trajectory(booster: bb.Booster) -> None:
    world = Target(booster)
    other = bb.Booster.from_spec(dataclasses.replace(booster.spec, seed=99))
    random = booster.spec.gradient.asks == "values" or not booster.spec.learner.contextual
    same = play(fresh(booster), world, 0, 40) == play(other, world, 0, 40)
    assert same != random or not booster.spec.learner.contextual


@each_booster
def test_predict_is_pure_and_true(booster: bb.Booster) -> None:
    world, booster = Target(booster), fresh(booster)
    for t in range(5):
        before = copy.deepcopy(state(booster))
        predicted = booster.predict(world.context(t))
        if booster.bank is not None:
            assert state(booster) == before
        ticket = booster.ask(world.context(t))
        assert ticket.prediction.tobytes() == predicted.tobytes()
        assert booster.predict(world.context(t)).tobytes() == predicted.tobytes()
        booster.tell(ticket, answers(world, ticket, t))


@each_booster
def test_save_load_continue_is_continue(booster: bb.Booster, tmp_path: Path) -> None:
    world, booster = Target(booster), fresh(booster)
    play(booster, world, 0, 15)
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb", parts=booster.spec.callables())
    assert play(booster, world, 15, 40) == play(loaded, world, 15, 40)
    assert state(booster) == state(loaded)


@each_booster
def test_told_late_follows_the_rule(booster: bb.Booster) -> None:
    # The rule: the ticket's own plays and directions; the weights and the schedule as they are when it is told.
    world, booster = Target(booster), fresh(booster)
    play(booster, world, 0, 5)
    late, first = booster.ask(world.context(5)), booster.ask(world.context(6))
    booster.tell(first, answers(world, first, 6))
    expected = copy.deepcopy(booster)
    given = answers(world, late, 5)
    part, memory = booster.spec.gradient, expected.gradient_memory
    gradients = part.estimate(given, late.probe, booster.spec.space, memory)
    part.learn(given, late.probe, booster.spec.space, memory)
    booster.spec.chain.learn(late.path, gradients, expected.chain_memory, 7)
    if booster.geometry.projects_plays:
        wished = late.raw / booster.spec.chain.gamma
        gradients = corrected(gradients, wished, late.plays, len(booster.spec.space.shape))
    assert expected.bank is not None
    expected.bank.update(late.context, gradients, 7)
    booster.tell(late, given)
    assert state(booster)[0] == state(expected)[0]
    assert booster.rounds == 7


@each_booster
def test_bad_input_changes_nothing(booster: bb.Booster) -> None:
    world, booster = Target(booster), fresh(booster)
    play(booster, world, 0, 3)
    ticket = booster.ask(world.context(3))
    good = answers(world, ticket, 3)
    before = copy.deepcopy(state(booster))
    for bad in (good[:-1], np.full_like(good, np.nan), np.full_like(good, -np.inf), np.append(good, good)):
        with pytest.raises(ValueError, match="losses must"):
            booster.tell(ticket, bad)
    for context in ([np.nan, 0.0, 0.0], [1.0, 2.0], [[0.0, 0.0, 0.0]], None if world.contextual else [0.0]):
        with pytest.raises(ValueError, match="x must"):
            booster.ask(context)
        with pytest.raises(ValueError, match="x must"):
            booster.predict(context)
    assert state(booster) == before
    booster.tell(ticket, good)


@each_booster
def test_queries_and_predictions_stay_inside(booster: bb.Booster) -> None:
    assert booster.spec.inside, "inside is the default everywhere"
    world, booster = Target(booster), fresh(booster)
    for t in range(40):
        ticket = booster.ask(world.context(t))
        assert booster.spec.space.contains(ticket.queries).all()
        assert booster.spec.space.contains(ticket.prediction).all()
        booster.tell(ticket, 10 * answers(world, ticket, t))


@each_booster
def test_compiled_is_plain(booster: bb.Booster) -> None:
    space = booster.spec.space
    rng = np.random.default_rng(3)
    contexts, labels = rng.uniform(-1, 1, (300, 3)), space.minimize(rng.normal(size=(300, *space.shape)))
    world = bb.worlds.Supervised(contexts, labels, noise=bb.noise.Uniform(0.1))
    reason = compiled_loop.why_not_compiled(booster, world)
    if reason is not None:
        assert reason.startswith(("there is no compiled loop for the", "there is no compiled loop for boosters"))
        return
    traces = [bb.evaluate.progressive(fresh(booster), world, compiled=compiled) for compiled in (True, False)]
    np.testing.assert_allclose(traces[0].predictions, traces[1].predictions, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(traces[0].asked, traces[1].asked, rtol=1e-9, atol=1e-9)


@each_booster
def test_it_learns_a_constant(booster: bb.Booster) -> None:
    # Every part, put into the loop, must get closer to a fixed target than where it began. A chain of three bang-bang
    # players cannot land on a point and few noisy values cannot tell where it is, so both are given in plenty here.
    spec = booster.spec
    copies = 1 if isinstance(spec.chain, bb.chains.Single) else 25
    gradient = spec.gradient
    if isinstance(gradient, bb.gradients.Sphere):
        gradient = dataclasses.replace(gradient, queries=50)
    elif isinstance(gradient, bb.gradients.Budget):
        gradient = dataclasses.replace(
            gradient, gradient=dataclasses.replace(gradient.gradient, queries=50), queries=500
        )
    plenty = bb.Booster.from_spec(dataclasses.replace(spec, copies=copies, gradient=gradient))
    world = Target(booster, rounds=1000)
    trace = bb.evaluate.progressive(plenty, world)
    begin = float(world.values(0, plenty.geometry.chain_start))
    assert trace.losses[-250:].mean() < max(0.5 * begin, 0.02)

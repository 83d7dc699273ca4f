"""Plans: phases of doubled length, each a fresh booster, cut anywhere by saving and loading without a trace."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost import theory
from banditboost._core import spec as specs
from banditboost._core import streams
from banditboost._core.checks import Array
from banditboost.algorithms.projection_free import ProjectionFree
from banditboost.algorithms.projection_free_bandit import ProjectionFreeBandit
from banditboost.booster import BoosterSpec, Plan, spec
from banditboost.spaces import Ball, Birkhoff, Interval, Oracle, Simplex

STARTS = (0, 16, 48, 112, 240, 496)
"""The rounds before each phase: 16, 32, 64, ... of them."""


@dataclass(frozen=True)
class Contextual(Plan):
    """A user's own plan: linear copies whose rate and number follow the horizon."""

    seed: int = 3

    def at(self, horizon: int) -> BoosterSpec:
        return BoosterSpec(
            learner=bb.learners.Linear(radius=5.0, rate=bb.rates.Power(1 / math.sqrt(horizon), 0.5)),
            copies=1 + horizon // 16,
            gradient=bb.gradients.OnePoint(0.2),
            space=Interval(-1.0, 1.0),
            seed=self.seed,
        )


@dataclass(frozen=True)
class Anytime(Plan):
    """Optimizers whose schedules count rounds and know no horizon."""

    name: str = "fpl"

    def at(self, horizon: int) -> BoosterSpec:
        learners: dict[str, bb.learners.Learner] = {
            "fpl": bb.learners.FPL(2.0),
            "ogd": bb.learners.OGD(2.0),
            "ftrl": bb.learners.FTRL(2.0),
            "entropic": bb.learners.FTRL(2.0, None, "entropic"),
        }
        return BoosterSpec(learners[self.name], 3, gradient=bb.gradients.Stochastic(), space=Simplex(4), seed=1)


PLANS: dict[str, Plan] = {
    "fpl": ProjectionFree(Ball(3), sigma=1.5, seed=5),
    "ogd": ProjectionFree(Simplex(4), sigma=1.5, optimizer="ogd", seed=5),
    "ftrl": ProjectionFree(Simplex(3, 2.0, 0.25), sigma=1.5, optimizer="ftrl", seed=5),
    "matchings": ProjectionFree(Birkhoff(3), sigma=1.5, copies=4, seed=5),
    "bandit": ProjectionFreeBandit(Simplex(4), noise_bound=0.1, seed=5),
    "bandit on a line": ProjectionFreeBandit(Interval(-1.0, 2.0), optimizer="ogd", seed=5),
    "anytime": Anytime(),
    "contextual": Contextual(),
}

each_plan = pytest.mark.parametrize("name", PLANS)


def horizon_of(rounds: int) -> tuple[int, int]:
    """The phase and the rounds told in it, after so many rounds: by counting."""
    phase, left, length = 0, rounds, 16
    while left >= length:
        phase, left, length = phase + 1, left - length, 2 * length
    return phase, left


def context(booster: bb.Booster, t: int) -> Array | None:
    return np.random.default_rng(1000 + t).uniform(-1, 1, 2) if booster.spec.learner.contextual else None


def answers(ticket: bb.Ticket, t: int) -> Array:
    """Noisy answers of a quadratic whose target moves: a function of the round and the questions."""
    noise = np.random.default_rng(t).uniform(-0.1, 0.1, ticket.queries.shape)
    slope = ticket.queries - 0.3 * math.sin(t) + noise
    return slope if ticket.asks == "gradients" else np.square(slope).reshape(len(slope), -1).sum(axis=1)


def run(booster: bb.Booster, begin: int, end: int) -> list[bytes]:
    """Play rounds and return all that was asked and predicted, bit for bit."""
    seen = []
    for t in range(begin, end):
        predicted = booster.predict(context(booster, t)).tobytes()
        ticket = booster.ask(context(booster, t))
        assert ticket.prediction.tobytes() == predicted
        seen += [ticket.queries.tobytes(), ticket.path.tobytes(), predicted]
        booster.tell(ticket, answers(ticket, t))
    return seen


def state(booster: bb.Booster) -> tuple[Any, ...]:
    """All that a booster knows, bit for bit."""
    arrays = {} if booster.bank is None else {k: v.tobytes() for k, v in booster.bank.arrays().items()}
    stands = {role: json.dumps(streams.state(rng)) for role, rng in booster.streams.items()}
    counts = (booster.rounds, booster.phase, booster.phase_rounds, booster.features)
    return (
        arrays,
        stands,
        counts,
        booster.spec,
        booster.plan,
        booster.geometry.chain_start.tobytes(),
        booster.geometry.ground,
    )


# Phases.


@each_plan
def test_phases_double_and_each_is_the_plans_own(name: str) -> None:
    plan = PLANS[name]
    booster = bb.Booster.from_spec(plan)
    assert booster.plan == plan
    assert spec.FIRST_PHASE == 16
    for rounds in range(130):
        phase, told = horizon_of(rounds)
        assert (booster.rounds, booster.phase, booster.phase_rounds) == (rounds, phase, told)
        assert rounds == STARTS[phase] + told
        assert booster.spec == plan.at(16 * 2**phase)
        assert booster.spec.space.contains(booster.predict(context(booster, rounds))).all()
        run(booster, rounds, rounds + 1)


@pytest.mark.parametrize("name", ["ogd", "ftrl"])
def test_every_phase_is_a_fresh_booster(name: str) -> None:
    """Without randomness of their own, phases are what boosters started for their horizons are."""
    booster = bb.Booster.from_spec(PLANS[name])
    for phase in range(4):
        alone = bb.Booster.from_spec(PLANS[name].at(16 << phase))
        begin, end = STARTS[phase], STARTS[phase + 1]
        assert run(alone, begin, end) == run(booster, begin, end)
        assert (alone.phase, alone.plan, alone.rounds, alone.phase_rounds) == (0, None, end - begin, end - begin)


def test_perturbations_go_on_where_the_last_phase_left_them() -> None:
    """Algorithm 1 with restarts, line by line: one stream of perturbations, drawn at each start and after each round."""
    sigma, d, seed = 1.5, 3, 5
    booster = bb.Booster.from_spec(ProjectionFree(Simplex(d), sigma=sigma, seed=seed))
    rng, t = streams.stream(seed, "perturbations"), 0
    for phase in range(4):
        horizon = 16 * 2**phase
        N = math.ceil(math.sqrt(2) / sigma * math.sqrt(horizon))
        total, noise = np.zeros((N, d)), rng.standard_normal((N, d))
        for _ in range(horizon):
            x, path = np.full(d, 1 / d), []
            for i in range(N):
                path.append(x)
                corner = np.eye(d)[np.argmin(total[i] + theory.fpl_scale(horizon, sigma, d) * noise[i])]
                x = (1 - 2 / (i + 2)) * x + 2 / (i + 2) * corner
            ticket = booster.ask()
            np.testing.assert_allclose(ticket.queries, path, rtol=0, atol=1e-12)
            np.testing.assert_allclose(ticket.prediction, x, rtol=0, atol=1e-12)
            told = answers(ticket, t)
            booster.tell(ticket, told)
            total, noise, t = total + told, rng.standard_normal((N, d)), t + 1
    assert booster.rounds == t == 240


def test_schedules_restart_with_the_phase() -> None:
    for rounds in range(60):
        told = horizon_of(rounds)[1]
        banks = {}
        for name in ("fpl", "ftrl", "entropic"):
            booster = bb.Booster.from_spec(Anytime(name))
            run(booster, 0, rounds)
            assert booster.bank is not None
            banks[name] = booster.bank.arrays()
        # What the next play will use is the schedule's at 1, 2, ... from the phase's start.
        assert banks["fpl"]["scale"] == theory.fpl_scale(told + 1, 2.0, 4)
        assert banks["ftrl"]["eta"] == pytest.approx(theory.ftrl_rate(told + 1, 2.0, 1.0), rel=1e-14)
        assert banks["entropic"]["eta"] == pytest.approx(theory.ftrl_rate(told + 1, 2.0, math.log(4)), rel=1e-14)
    # Of gradient descent, the step itself shows: from the centre, D/(σ√1) · g.
    booster = bb.Booster.from_spec(Anytime("ogd"))
    run(booster, 0, 16)
    g = np.array([0.02, -0.01, -0.01, 0.0])
    for k in (1, 2, 3):
        ticket = booster.ask()
        booster.tell(ticket, np.broadcast_to(g, (3, 4)))
        moved = 0.25 - sum(math.sqrt(2) / (2.0 * math.sqrt(j)) for j in range(1, k + 1)) * g
        np.testing.assert_allclose(booster.predict(), moved, atol=1e-14)


def test_a_spec_that_is_no_plan_never_starts_again() -> None:
    booster = bb.algorithms.projection_free(Ball(2), horizon=16, copies=2)
    run(booster, 0, 100)
    assert (booster.plan, booster.phase, booster.phase_rounds, booster.rounds) == (None, 0, 100, 100)


def test_regret_with_restarts_stays_below_the_sum_of_the_phases_bounds() -> None:
    """Exact gradients and OGD: Proposition 5 holds on every run, phase by phase, and the sum is 3.42 × that of one."""
    space, rounds = Ball(3), STARTS[5]
    world = bb.worlds.Adaptive(space, rounds, seed=3)
    booster = bb.algorithms.projection_free(space, sigma=world.lipschitz, optimizer="ogd")
    trace = bb.evaluate.progressive(booster, world)
    bound = 0.0
    for phase in range(5):
        horizon = 16 << phase
        N = theory.projection_free_copies(horizon, 1.0, 2.0, world.lipschitz)
        learner = theory.ogd_regret(horizon, world.lipschitz, 2.0)
        bound += theory.projection_free_regret(horizon, N, 1.0, 2.0, learner)
    regret = float(trace.losses.sum() - world.best().losses.sum())
    assert 0.05 * bound < regret <= bound
    one = (2 + 1.5) * world.lipschitz * 2.0 * math.sqrt(rounds)  # where the first term is at most 2σD√T
    assert bound <= math.sqrt(2) / (math.sqrt(2) - 1) * one


def test_there_is_no_compiled_loop_for_plans_and_the_plain_one_counts() -> None:
    world = bb.worlds.SyntheticLinear(rounds=60, features=2, seed=1)
    booster = bb.Booster.from_spec(Contextual())
    with pytest.raises(ValueError, match=r"^compiled must be None or False here: .* start again\.$"):
        bb.evaluate.progressive(booster, world, compiled=True)
    trace = bb.evaluate.progressive(booster, world)
    assert not trace.compiled
    assert (booster.rounds, booster.phase, booster.phase_rounds) == (60, 2, 12)


# Contexts.


@pytest.mark.parametrize("features", [0, 1, 3])
def test_a_new_phase_knows_the_number_of_features(features: int) -> None:
    booster = bb.Booster.from_spec(Contextual())
    assert booster.bank is None
    x = np.linspace(0.1, 1.0, features)
    for _ in range(16):
        booster.step(x, lambda queries: np.square(queries - 0.5))
    assert booster.phase == 1
    assert booster.bank is not None
    assert booster.features == features
    assert booster.bank.arrays()["weights"].shape == (3, features + 1)
    with pytest.raises(ValueError, match=f"^x must have {features} features, got {features + 1}\\.$"):
        booster.ask(np.ones(features + 1))
    booster.ask(x)


def test_features_may_be_given_with_a_plan() -> None:
    booster = bb.Booster.from_spec(Contextual(), features=2)
    with pytest.raises(ValueError, match=r"^x must have 2 features, got 3\.$"):
        booster.ask(np.ones(3))
    with pytest.raises(ValueError, match=r"^features must not be given for a learner without contexts, got 2\.$"):
        bb.Booster.from_spec(PLANS["fpl"], features=2)


# Tickets.


def test_tickets_of_an_earlier_phase_are_told_in_vain() -> None:
    booster = bb.Booster.from_spec(PLANS["fpl"])
    old = [booster.ask() for _ in range(4)]
    run(booster, 0, 15)
    booster.tell(old[0], answers(old[0], 15))  # the last of the phase
    assert (booster.rounds, booster.phase, booster.phase_rounds) == (16, 1, 0)
    middle = [booster.ask() for _ in range(3)]
    before = copy.deepcopy(state(booster))
    # Their answers have the shape of the old phase's questions, which no longer fits.
    assert len(old[1].queries) != booster.spec.copies
    booster.tell(old[1], answers(old[1], 16))
    assert state(booster) == before
    booster.tell(middle[0], answers(middle[0], 16))
    assert (booster.rounds, booster.phase_rounds) == (17, 1)
    run(booster, 17, 48)
    assert (booster.phase, booster.phase_rounds) == (2, 0)
    before = copy.deepcopy(state(booster))
    for late in (middle[1], old[2]):  # from one phase ago and from two
        booster.tell(late, answers(late, 0))
        assert state(booster) == before
    for told in (old[0], old[1], old[2], middle[0], middle[1]):
        with pytest.raises(bb.NotInFlightError, match=r"^ticket must not be told twice, nor after it was forgotten: "):
            booster.tell(told, answers(told, 0))
    with pytest.raises(ValueError, match="issued by another"):
        bb.Booster.from_spec(PLANS["fpl"]).tell(old[3], answers(old[3], 0))
    # Nothing of all this left a mark: the run is that of a booster without late tickets.
    alone = bb.Booster.from_spec(PLANS["fpl"])
    run(alone, 0, 48)
    assert state(alone)[1:] == state(booster)[1:]
    assert run(alone, 48, 60) == run(booster, 48, 60)


@each_plan
def test_bad_answers_at_the_end_of_a_phase_change_nothing(name: str) -> None:
    booster = bb.Booster.from_spec(PLANS[name])
    run(booster, 0, 15)
    ticket = booster.ask(context(booster, 15))
    before, good = copy.deepcopy(state(booster)), answers(ticket, 15)
    for bad in (good[:-1], np.full_like(good, np.nan)):
        with pytest.raises(ValueError, match=r"^losses must"):
            booster.tell(ticket, bad)
        assert state(booster) == before
    booster.tell(ticket, good)
    assert (booster.phase, booster.phase_rounds) == (1, 0)


def test_a_failing_oracle_at_the_end_of_a_phase_does_not_start_the_next() -> None:
    booster = bb.Booster.from_spec(PLANS["fpl"])
    run(booster, 0, 15)

    def broken(queries: Array) -> Array:
        raise RuntimeError("the world is down")

    with pytest.raises(RuntimeError, match="the world is down"):
        booster.step(None, broken)
    assert (booster.rounds, booster.phase, booster.phase_rounds) == (15, 0, 15)
    run(booster, 15, 16)
    assert booster.phase == 1


# Saving.


@pytest.mark.parametrize("rounds", [0, 1, 15, 16, 17, 47, 48, 49, 90])
@each_plan
def test_saved_anywhere_a_plan_goes_on_bit_for_bit(name: str, rounds: int, tmp_path: Path) -> None:
    booster = bb.Booster.from_spec(PLANS[name])
    run(booster, 0, rounds)
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert state(loaded) == state(booster)
    assert run(booster, rounds, rounds + 35) == run(
        loaded, rounds, rounds + 35
    )  # across the next end of a phase, mostly
    assert state(loaded) == state(booster)
    # Saved again, at another place, from what was loaded.
    loaded.save(tmp_path / "again.bb")
    again = bb.Booster.load(tmp_path / "again.bb")
    assert run(booster, rounds + 35, rounds + 60) == run(again, rounds + 35, rounds + 60)
    assert state(again) == state(booster)


def test_saving_changes_nothing_and_saves_the_plan(tmp_path: Path) -> None:
    booster = bb.Booster.from_spec(PLANS["bandit"])
    run(booster, 0, 20)
    pending = booster.ask()
    before = copy.deepcopy(state(booster))
    booster.save(tmp_path / "model.bb")
    assert state(booster) == before
    with np.load(tmp_path / "model.bb") as file:
        header = json.loads(file["header"].tobytes())
    assert specs.from_dict(header["spec"]) == PLANS["bandit"]
    assert (header["phase"], header["phase_rounds"], header["rounds"]) == (1, 4, 20)
    # Tickets in flight can be told to what is loaded, which is the same booster; a fresh one with the same plan is not.
    loaded = bb.Booster.load(tmp_path / "model.bb")
    with pytest.raises(ValueError, match="issued by another"):
        bb.Booster.from_spec(PLANS["bandit"]).tell(pending, answers(pending, 20))
    loaded.tell(pending, answers(pending, 20))
    booster.tell(pending, answers(pending, 20))
    assert booster.rounds == loaded.rounds == 21
    assert state(booster) == state(loaded)


@pytest.mark.parametrize("features", [0, 2])
@pytest.mark.parametrize("rounds", [0, 5, 16, 20])
def test_contexts_are_known_again_after_loading(features: int, rounds: int, tmp_path: Path) -> None:
    booster, x = bb.Booster.from_spec(Contextual()), np.full(features, 0.5)
    for _ in range(rounds):
        booster.step(x, lambda queries: np.square(queries - 0.5))
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert (loaded.bank is None) == (rounds == 0)
    if rounds:
        with pytest.raises(ValueError, match=f"^x must have {features} features"):
            loaded.ask(np.ones(features + 1))
    assert loaded.ask(x).queries.tobytes() == booster.ask(x).queries.tobytes()


def test_plans_that_are_not_known_come_from_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = bb.Booster.from_spec(Contextual())
    run(booster, 0, 20)
    booster.save(tmp_path / "model.bb")
    monkeypatch.delitem(specs._KINDS, Contextual.kind)
    with pytest.raises(ValueError, match="is not known here"):
        bb.Booster.load(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb", parts={Contextual.kind: Contextual()})
    assert state(loaded) == state(booster)
    # Another plan does not fit what was saved.
    with pytest.raises(ValueError, match=r"^features must not be given"):
        bb.Booster.load(tmp_path / "model.bb", parts={Contextual.kind: PLANS["fpl"]})


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("phase"),
        lambda header: header.pop("phase_rounds"),
        lambda header: header.update(phase=-1),
        lambda header: header.update(phase=1.5),
        lambda header: header.update(phase=0),  # the arrays are those of phase 1, with more copies
        lambda header: header.update(phase_rounds="4"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    booster = bb.Booster.from_spec(PLANS["fpl"])
    run(booster, 0, 20)
    booster.save(tmp_path / "model.bb")
    with np.load(tmp_path / "model.bb") as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    change(header)
    with open(tmp_path / "model.bb", "wb") as out:
        np.savez(out, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    with pytest.raises(ValueError, match=r"damaged|must be a whole number"):
        bb.Booster.load(tmp_path / "model.bb")


@each_plan
def test_plans_travel_as_json(name: str) -> None:
    plan = PLANS[name]
    again = specs.from_json(plan.to_json())
    assert again == plan
    assert hash(again) == hash(plan)
    assert again.at(64) == plan.at(64)


# A set known by its linear oracle alone.


def cube(gradients: Array) -> Array:
    return np.where(gradients > 0, 0.0, 1.0)


@pytest.mark.parametrize("bandit", [False, True])
def test_projection_free_needs_no_more_than_an_oracle(bandit: bool, tmp_path: Path) -> None:
    """Neither a projection nor a way to tell members: where 0 may lie outside, chains begin at the centre."""
    space = Oracle(cube, centre=(0.5, 0.5), inner_radius=0.5, diameter=math.sqrt(2))
    recipe = bb.algorithms.projection_free_bandit if bandit else bb.algorithms.projection_free
    booster = recipe(space)
    seen = run(booster, 0, 60)
    assert booster.geometry.chain_start.tolist() == [0.5, 0.5]
    assert len(seen) == 180
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb", parts={f"{__name__}:cube": cube})
    assert run(loaded, 60, 90) == run(booster, 60, 90)

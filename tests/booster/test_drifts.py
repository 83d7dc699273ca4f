"""Alarms where the world has changed: what the detector computes, how rarely it errs, and that it changes nothing else."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._compiled import drifts as kernel
from banditboost._compiled.jit import loop
from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.booster import BoosterSpec, Plan
from banditboost.booster.answers import mean
from banditboost.drifts import Alarm, Detector, chosen
from banditboost.testing.boosters import late_answers, refusals, same_seed, saved_and_continued

SPACE = bb.spaces.Interval(-1.0, 1.0)
SMALL = Detector(every=1e4, window=120, burn_in=60)


@loop
def ends_of(memory: kernel.Memory, loss: float) -> tuple[float, float]:
    """Both ends of a loss's p-value."""
    return kernel.larger(memory, loss)


@loop
def integral(k: int, p: float) -> float:
    """The integral of the density of a bet."""
    return kernel.below(k, p)


def p_value(memory: Memory, loss: float) -> tuple[float, float]:
    return ends_of(kernel.Memory(*(memory[name] for name in kernel.Memory._fields)), float(loss))


def learn(losses: Array, detector: Detector = SMALL) -> Memory:
    """Learn from losses in order."""
    memory = detector.start()
    detector.learn_rounds(memory, losses)
    return memory


def alarms(losses: Array, detector: Detector = SMALL) -> tuple[Alarm, ...]:
    return detector.alarms(learn(losses, detector))


def density(k: int, p: Array) -> Array:
    """The density of a bet, up to its area."""
    return np.maximum(p, kernel.FLOOR) ** (kernel.POWERS[k] - 1)


def slow(losses: Array, detector: Detector) -> list[tuple[int, int]]:
    """The same alarms from the definition: every loss is compared with every other one of the window, and densities are summed."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    bets, kept = len(kernel.POWERS), []  # type: ignore[var-annotated]
    wealth, since = [0.0] * bets, [0] * bets
    found = []
    for t, loss in enumerate(losses):
        if math.isnan(loss) or t < detector.burn_in:
            continue
        total = 0.0
        old = max(len(kept) - detector.window // 2, min(len(kept), detector.burn_in))
        window = kept[:old][-detector.window :]
        if len(window) >= detector.burn_in:
            n = len(window)
            a = sum(other > loss for other in window) / (n + 1)
            b = (sum(other >= loss for other in window) + 1) / (n + 1)
            for k in range(bets):
                if wealth[k] <= 1:
                    wealth[k], since[k] = 1.0, t
                inside = grid[(grid > a) & (grid < b)]
                wealth[k] *= density(k, inside).mean() / density(k, grid).mean() / (1 + detector.slack)
                total += wealth[k] / bets
        kept.append(loss)
        if total >= detector.every:
            best = int(np.argmax(wealth))
            found.append((t + 1, since[best]))
            kept, wealth, since = [], [0.0] * bets, [0] * bets
    return found


def streams() -> dict[str, Array]:
    """Losses that rise now and then, some with ties, and some with rounds in which nothing is told."""
    rng = np.random.default_rng(2)
    steps = np.repeat([0.0, 1.0, 5.0, 6.0], 200)
    silent = rng.normal(size=800) + steps
    silent[rng.uniform(size=800) < 0.2] = np.nan
    return {
        "normal": rng.normal(size=800) + steps,
        "cauchy": rng.standard_cauchy(800) + 5 * steps,
        "zero or one": (rng.uniform(size=800) < (0.1 + 0.14 * steps)).astype(float),
        "silent": silent,
        "falling": rng.normal(size=800) - steps,
    }


@pytest.mark.parametrize("name", sorted(streams()))
def test_alarms_are_those_of_the_definition(name: str) -> None:
    losses = streams()[name]
    expected = slow(losses, SMALL)
    assert [(alarm.round, alarm.since) for alarm in alarms(losses)] == expected
    assert (len(expected) > 0) == (name != "falling")


def test_p_values_are_exact_also_where_losses_are_equal() -> None:
    rng = np.random.default_rng(0)
    losses = rng.choice([0.0, -0.0, 1.0, 2.5, 7.0], 500)
    for rounds in (61, 100, 179, 180, 181, 300, 500):
        made = learn(losses[:rounds])
        old = max(rounds - 120 // 2, min(rounds, 120))
        window = losses[60:old][-120:]
        for loss in (-1.0, 0.0, 1.0, 2.0, 7.0, 9.0):
            larger, not_smaller = (window > loss).sum(), (window >= loss).sum()
            n = len(window)
            assert p_value(made, loss) == (larger / (n + 1), (not_smaller + 1) / (n + 1))


@pytest.mark.parametrize("law", ["normal", "cauchy", "exponential"])
def test_p_values_of_losses_drawn_alike_are_uniform(law: str) -> None:
    rng = np.random.default_rng(4)
    losses = {
        "normal": rng.normal(size=6000),
        "cauchy": rng.standard_cauchy(6000),
        "exponential": rng.exponential(size=6000),
    }[law]
    detector = Detector()
    made, found = detector.start(), []
    for loss in losses:
        if made["facts"][kernel.KNOWN] >= detector.burn_in:
            found.append(np.mean(p_value(made, loss)))
        detector.learn(made, float(loss))
    distance = np.abs(np.sort(found) - np.arange(1, len(found) + 1) / len(found)).max()
    assert distance < 1.63 / math.sqrt(len(found))  # Kolmogorov and Smirnov, at one in a hundred


def test_bets_are_densities_that_fall() -> None:
    p = np.linspace(0.0, 1.0, 2001)
    for k in range(len(kernel.POWERS)):
        total = np.array([integral(k, q) for q in p])
        assert (total[0], total[-1]) == (0.0, pytest.approx(1.0, abs=1e-12))
        steps = np.diff(total)
        assert (np.diff(steps) <= 1e-12).all()
        assert steps[0] * 2000 < 8  # so that no single loss raises an alarm
        expected = density(k, (p[1:] + p[:-1]) / 2)
        assert np.allclose(steps, expected / expected.sum(), rtol=2e-2)


def run_lengths(detector: Detector, runs: int, longest: int) -> Array:
    """Rounds to the first alarm on losses drawn alike, or the longest."""
    rng, found = np.random.default_rng(7), []
    for _ in range(runs):
        memory, told = detector.start(), 0
        while told < longest and not detector.raised(memory):
            detector.learn_rounds(memory, rng.normal(size=500))
            told += 500
        first = detector.alarms(memory)
        found.append(first[0].round if first else longest)
    return np.array(found)


def test_false_alarms_are_rarer_than_they_may_be() -> None:
    # Rounds after the first 400, in which nothing is raised; without slack, which would make the mean larger still.
    found = run_lengths(Detector(every=300.0, slack=0.0), 60, 20_000) - 400
    assert found.mean() > 300 + 3 * found.std() / math.sqrt(len(found))
    more = run_lengths(Detector(every=300.0), 60, 20_000) - 400
    assert more.mean() > 1.5 * found.mean()


def test_a_limit_that_forgets_how_often_it_is_tried_alarms_too_often() -> None:
    """The limit for one test in a hundred, reached by chance within a few hundred rounds where it is tried in each."""
    found = run_lengths(Detector(every=100.0, slack=0.0), 30, 20_000) - 400
    assert found.mean() < 5000
    assert (run_lengths(Detector(), 10, 20_000) == 20_000).all()


def test_a_run_of_losses_drawn_alike_raises_no_alarm() -> None:
    rng = np.random.default_rng(1)
    for losses in (rng.normal(size=20_000), rng.standard_cauchy(20_000), rng.choice([0.0, 1.0], 20_000, p=[0.9, 0.1])):
        assert alarms(losses, Detector()) == ()


@pytest.mark.parametrize("losses", [np.zeros(5000), np.full(5000, 7.25), np.linspace(9, 1, 5000)])
def test_what_never_changes_or_falls_raises_no_alarm(losses: Array) -> None:
    assert alarms(losses, Detector(every=100.0, slack=0.0)) == ()


def test_losses_that_rise_are_noticed_and_the_round_is_known() -> None:
    rng = np.random.default_rng(0)
    for rise, within, about in ((0.7, 400, 150), (1.5, 40, 15), (30.0, 12, 10)):
        losses = rng.normal(size=4000)
        losses[3000:] += rise
        (alarm,) = alarms(losses, Detector())
        assert 3000 < alarm.round <= 3000 + within
        assert abs(alarm.since - 3000) <= about


def test_rare_mistakes_that_become_frequent_are_noticed() -> None:
    rng = np.random.default_rng(0)
    losses = (rng.uniform(size=3000) < np.where(np.arange(3000) < 2000, 0.1, 0.5)).astype(float)
    (alarm,) = alarms(losses, Detector())
    assert 2000 < alarm.round < 2080


def test_one_far_loss_and_a_few_raise_no_alarm() -> None:
    losses = np.random.default_rng(0).normal(size=3000)
    losses[2000:2005] = 1e300
    assert alarms(losses, Detector()) == ()


def test_losses_in_another_order_show_no_change() -> None:
    rng = np.random.default_rng(3)
    losses = rng.normal(size=4000) + np.repeat([0.0, 3.0], 2000)
    assert len(alarms(losses, Detector())) == 1
    assert alarms(rng.permutation(losses), Detector()) == ()


@pytest.mark.parametrize(("factor", "offset"), [(1024.0, 0.0), (2.0**-300, 0.0), (3e7, 5e8), (1e300, 0.0)])
def test_units_and_fixed_costs_do_not_matter(factor: float, offset: float) -> None:
    losses = np.random.default_rng(1).normal(size=2000) ** 2 + np.repeat([0.0, 3.0], 1000)
    assert alarms(factor * losses + offset) == alarms(losses) != ()


def test_changes_after_an_alarm_are_noticed_too_and_the_last_are_remembered() -> None:
    rng = np.random.default_rng(0)
    losses = rng.normal(size=200 * 90) + 5 * np.repeat(np.arange(90), 200)
    detector = replace(SMALL, every=1e6)
    memory = learn(losses, detector)
    found = detector.alarms(memory)
    assert detector.raised(memory) == 89
    assert len(found) == kernel.KEPT
    missed = np.abs([alarm.since for alarm in found] - 200 * np.arange(26, 90))
    assert (np.median(missed) <= 3, missed.max() < 60) == (True, True)
    assert detector.alarms(memory, after=87) == found[-2:]
    detector.check(memory)


def test_a_suspicion_begins_before_the_alarm_and_ends_where_it_was_for_nothing() -> None:
    rng = np.random.default_rng(0)
    detector, calm = Detector(), rng.normal(size=3000)
    memory, seen = detector.start(), {}
    assert detector.warned_since({}) == 0
    for t, loss in enumerate(np.append(calm, 2.0 + rng.normal(size=20))):
        detector.learn(memory, loss)
        seen[t] = detector.warned_since(memory)
        if detector.raised(memory):
            break
    assert seen[t] == 0  # the alarm has taken its place
    assert abs(seen[t - 1] - detector.alarms(memory)[0].since) <= 1
    memory = learn(np.concatenate([calm, 2.0 + rng.normal(size=8)]), detector)
    assert 2990 < detector.warned_since(memory) <= 3000
    detector.learn_rounds(memory, rng.normal(size=200) - 1.0)
    assert (detector.warned_since(memory), detector.raised(memory)) == (0, 0)


def test_one_round_at_a_time_and_all_at_once_are_the_same_to_the_last_bit() -> None:
    losses = streams()["silent"]
    whole, single = learn(losses), SMALL.start()
    for loss in losses:
        SMALL.learn(single, float(loss))
    assert all(np.array_equal(whole[name], single[name]) for name in whole)
    assert whole["facts"][kernel.ROUNDS] == len(losses)


@pytest.mark.parametrize(
    "losses",
    [
        np.exp(np.arange(700.0)),
        np.random.default_rng(0).choice([-1.7e308, 1.7e308, 1.0], 700),
        np.random.default_rng(0).choice([-5e-324, 1e-310, 0.0], 700),
    ],
    ids=["rising", "huge", "tiny"],
)
def test_no_stream_gives_numbers_that_are_none(losses: Array) -> None:
    memory = learn(losses)
    assert all(np.isfinite(array).all() for array in memory.values())
    SMALL.check(memory)


@pytest.mark.parametrize(
    "options",
    [
        {"every": 0.0},
        {"every": 99.0},
        {"every": math.inf},
        {"every": math.nan},
        {"window": 199},
        {"window": 10**6 + 1},
        {"burn_in": 49},
        {"burn_in": 5000},
        {"slack": -0.1},
        {"slack": math.nan},
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"(every|window|burn_in|slack) must"):
        Detector(**options)


def booster(**options: Any) -> bb.Booster:
    settings: dict[str, Any] = {"copies": 3, "answers": 2, "drifts": SMALL} | options
    return bb.algorithms.boosted(SPACE, **settings)


def play(booster: bb.Booster, rounds: int, seed: int = 0, sign: float = 1.0, best: float = 0.5) -> None:
    """Play rounds in which losses are least at `best`, which is told as rewards where the sign is negative."""
    rng = np.random.default_rng(seed)
    for x in rng.uniform(-1, 1, (rounds, 2)):
        ticket = booster.ask(x)
        booster.tell(ticket, sign * ((ticket.queries - best) ** 2 + rng.normal(0, 0.1, len(ticket.queries))))


def test_a_detector_changes_nothing_else_and_is_not_there_unless_asked_for() -> None:
    watched, without = booster(), booster(drifts=False)
    play(watched, 60)
    play(without, 60)
    arrays = watched.arrays()
    assert {name for name in arrays if name not in without.arrays()} == {f"drifts.{name}" for name in SMALL.start()}
    assert all(np.array_equal(array, arrays[name]) for name, array in without.arrays().items())
    assert "drifts" not in without.spec.to_dict()
    assert "drifts" not in repr(without)
    assert repr(booster(drifts=True)).endswith("\n  drifts    Detector()")


def test_bands_and_a_detector_do_not_meet() -> None:
    both, watched, banded = booster(bands=True), booster(), booster(bands=True, drifts=False)
    for made in (both, watched, banded):
        play(made, 150)
    assert both.arrays().keys() == watched.arrays().keys() | banded.arrays().keys()
    for alone in (watched, banded):
        assert all(np.array_equal(array, both.arrays()[name]) for name, array in alone.arrays().items())


def test_a_changed_world_raises_an_alarm_and_rewards_that_fall_do_too() -> None:
    losses, rewards = booster(), booster(maximize=True)
    for made, sign in ((losses, 1.0), (rewards, -1.0)):
        play(made, 300, sign=sign)
        assert (made.drifts, made.warned_since) == ((), 0)
        play(made, 40, seed=1, sign=sign, best=-0.5)
    (alarm,) = losses.drifts
    assert 300 < alarm.round < 330
    assert abs(alarm.since - 300) < 10
    assert rewards.drifts == losses.drifts


def test_without_a_detector_one_sentence_says_how_to_turn_it_on() -> None:
    made = booster(drifts=False)
    for what in ("drifts", "warned_since"):
        with pytest.raises(ValueError, match=f"drifts must be turned on for {what}: make the booster with drifts=True"):
            getattr(made, what)


@pytest.mark.parametrize("drifts", [1, "yes", 0.9])
def test_a_detector_is_asked_for_by_a_word_or_a_part(drifts: Any) -> None:
    with pytest.raises(ValueError, match="drifts must be"):
        chosen(drifts)
    with pytest.raises(ValueError, match="drifts must be"):
        BoosterSpec(drifts=drifts)
    assert chosen(True) == Detector()
    assert chosen(None) is chosen(False) is None


def test_no_alarm_for_losses_that_are_not_told() -> None:
    with pytest.raises(ValueError, match="drifts must be left out with Exact"):
        bb.algorithms.boosted(SPACE, gradient=bb.gradients.Exact(), drifts=True)


def test_before_anything_is_told_there_are_no_alarms() -> None:
    assert (booster().drifts, booster().warned_since) == ((), 0)


def test_without_contexts_there_are_alarms_too() -> None:
    made = bb.Booster(bb.learners.OGD(), 2, gradient=bb.gradients.OnePoint(0.1), space=SPACE, drifts=SMALL)
    rng = np.random.default_rng(0)
    for t in range(400):
        made.step(None, lambda queries, t=t: rng.normal(size=len(queries)) + 5.0 * (t >= 300))  # type: ignore[misc]
    assert [round(alarm.since, -1) for alarm in made.drifts] == [300]


def test_rounds_without_questions_are_counted_and_nothing_else() -> None:
    gradient = bb.gradients.Budget(bb.gradients.OnePoint(0.2), 1)
    made = bb.Booster(bb.learners.Linear(), 2, gradient=gradient, space=SPACE, drifts=SMALL)
    told = 0
    for t in range(200):
        ticket = made.ask([0.1])
        told += len(ticket.queries) > 0 and t >= SMALL.burn_in
        made.tell(ticket, ticket.queries**2)
    assert made.drifts_memory["facts"][kernel.ROUNDS] == made.rounds == 200
    facts = made.drifts_memory["facts"]
    assert facts[kernel.KNOWN] + facts[kernel.WAITING] == told < 140


def test_saved_copied_pickled_and_loaded_bit_for_bit(tmp_path: Path) -> None:
    made = booster()
    play(made, 200)
    play(made, 40, seed=1, best=-0.5)
    made.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert loaded.digest() == made.digest()
    again, twin = pickle.loads(pickle.dumps(made)), copy.deepcopy(made)
    assert loaded.drifts == again.drifts == twin.drifts == made.drifts != ()
    for other in (made, loaded, again):
        play(other, 100, seed=2)
        play(other, 40, seed=3, best=-0.9)
    assert loaded.digest() == again.digest() == made.digest()
    assert len(made.drifts) > len(twin.drifts)  # a copy learns for itself


def test_a_file_says_how_much_a_detector_needs() -> None:
    spec = booster().spec
    without = replace(spec, drifts=None)
    held = sum(array.size for array in SMALL.start().values())
    assert 0 <= spec.needs(9) - without.needs(9) - held < 10
    assert spec.needs(None) == without.needs(None)


@pytest.mark.parametrize(
    ("name", "entry", "value"),
    [
        ("facts", kernel.ROUNDS, -3.0),
        ("facts", kernel.KNOWN, 0.5),
        ("facts", kernel.KNOWN, 1e6),
        ("facts", kernel.NEXT, 181.0),
        ("facts", kernel.WAITING, 61.0),
        ("facts", kernel.ROUNDS, 1e300),
        ("facts", kernel.RAISED, 1e9),
        ("order", 3, 1e9),
        ("bets", (0, 1), -1.0),
        ("bets", (1, 1), 1e9),
        ("alarms", (0, 0), 0.5),
        ("alarms", (0, 1), 1e9),
    ],
)
def test_damaged_detectors_are_refused(name: str, entry: Any, value: float) -> None:
    made = booster()
    play(made, 150)
    made.drifts_memory[name][entry] = value
    header, arrays = made.header(), {name: array.copy() for name, array in made.arrays().items()}
    with pytest.raises(ValueError, match="What alarms are raised by is damaged"):
        bb.Booster.from_spec(made.spec).restore("model.bb", header, arrays)


def test_a_journal_gives_the_same_alarms(tmp_path: Path) -> None:
    made = booster()
    with bb.Journal(tmp_path / "log.journal", made):
        play(made, 200)
        play(made, 30, seed=1, best=-0.5)
    again = bb.Journal.replay(tmp_path / "log.journal").booster
    assert again.digest() == made.digest()
    assert again.drifts == made.drifts != ()


def test_late_answers_are_compared_in_the_order_of_telling() -> None:
    made = booster()
    play(made, 130)
    rng = np.random.default_rng(8)
    waiting = [made.ask(x) for x in rng.uniform(-1, 1, (6, 2))]
    expected = {name: array.copy() for name, array in made.drifts_memory.items()}
    for k in (4, 0, 5, 1):
        answers = rng.normal(size=2)
        SMALL.learn(expected, mean(answers))
        made.tell(waiting[k], answers)
    assert all(np.array_equal(array, made.drifts_memory[name]) for name, array in expected.items())


def test_answers_that_are_refused_and_copies_that_begin_again_leave_the_detector_alone() -> None:
    made = booster()
    play(made, 130)
    before = {name: array.copy() for name, array in made.drifts_memory.items()}
    ticket = made.ask([0.0, 0.0])
    with pytest.raises(ValueError, match="losses must"):
        made.tell(ticket, [math.nan, 0.0])
    made.reset([0, 1, 2])
    assert all(np.array_equal(array, made.drifts_memory[name]) for name, array in before.items())


@dataclass(frozen=True)
class Watched(Plan, kind="tests:Watched"):
    """A plan with a detector."""

    def at(self, horizon: int) -> BoosterSpec:
        return BoosterSpec(copies=2, gradient=bb.gradients.OnePoint(0.2), space=SPACE, drifts=SMALL)


def test_a_plan_goes_on_with_its_detector(tmp_path: Path) -> None:
    made = bb.Booster.from_spec(Watched())
    play(made, 50)
    assert (made.phase, made.drifts_memory["facts"][kernel.ROUNDS]) == (2, 50)
    made.save(tmp_path / "model.bb")
    assert bb.Booster.load(tmp_path / "model.bb").digest() == made.digest()


@pytest.mark.parametrize("check", [late_answers, refusals, same_seed, saved_and_continued])
def test_the_generic_checks_hold_with_a_detector(check: Any) -> None:
    check(booster(drifts=True, bands=True))

"""Bands for what will be paid: their guarantee for any sequence, what is kept of them, and that they change nothing else."""

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
from banditboost._compiled import bands as kernel
from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.bands import FEWEST, Conformal, LossBand, chosen
from banditboost.booster import BoosterSpec, Plan
from banditboost.booster.answers import mean

SPACE = bb.spaces.Interval(-1.0, 1.0)


def streams(rounds: int) -> dict[str, Array]:
    """Losses, some of which no band can follow."""
    rng = np.random.default_rng(3)
    t = np.arange(rounds, dtype=float)
    return {
        "normal": rng.normal(size=rounds),
        "cauchy": rng.standard_cauchy(rounds),
        "constant": np.full(rounds, 7.25),
        "zero": np.zeros(rounds),
        "rising": np.exp(t / 40),
        "falling": np.exp(-t / 40),
        "huge": rng.choice([-1.7e308, 1.7e308, 1.0], rounds),
        "tiny": rng.choice([-5e-324, 1e-310, 0.0], rounds),
        "late change": np.where(t < rounds / 2, 0.0, 1e9 * rng.normal(size=rounds)),
    }


def learn(losses: Array, contexts: Array | None = None, window: int = 50) -> tuple[Memory, Array]:
    """Learn from losses in order; return what is remembered and the bands made before each."""
    part = Conformal(window)
    contexts = np.zeros((len(losses), 0)) if contexts is None else contexts
    memory, bands = part.start(contexts.shape[1]), np.empty((len(losses), 2))
    part.learn_rounds(memory, contexts, losses, bands)
    return memory, bands


def band(memory: Memory, context: Array | None = None, level: float = 0.9, window: int = 1000) -> LossBand:
    """The band for a context."""
    low, high, rounds = Conformal(window).band(memory, context, level)
    return LossBand(low, high, level, rounds)


class Adversary:
    """Tells what lies just beyond one end of the band, above or below, or within it, as it likes."""

    def __init__(self, plan: str) -> None:
        self.plan = plan

    def loss(self, t: int, made: LossBand) -> float:
        side = self.plan[t % len(self.plan)]
        ends = {"+": made.high, "-": made.low, "0": 0.5 * made.low + 0.5 * made.high}
        beyond = {"+": 1.0, "-": -1.0, "0": 0.0}[side]
        end = ends[side]
        return float(np.clip(end + beyond * (1.0 + abs(end)), -1e12, 1e12)) if math.isfinite(end) else beyond


@pytest.mark.parametrize("plan", ["+", "-", "+-", "0", "++++0000", "000000000+"])
def test_an_adversary_who_sees_every_band_cannot_make_them_miss_more_or_less_than_the_bound(plan: str) -> None:
    part, rounds = Conformal(40), 4000
    memory = part.start(0)
    misses = np.zeros((2, len(kernel.TAILS)))
    for t in range(rounds):
        loss = Adversary(plan).loss(t, band(memory))
        before = memory["levels"].copy()
        part.learn(memory, None, loss)
        if t >= FEWEST:
            misses += memory["levels"] < before
    tails = np.array(kernel.TAILS)
    gamma, told = kernel.PACE * tails, rounds - FEWEST
    bound = (np.maximum(tails, 1 - tails) + gamma) / (gamma * told)
    assert (np.abs(misses / told - tails) <= bound).all()
    assert (memory["levels"] >= -gamma).all()
    assert (memory["levels"] <= 1 + gamma).all()  # their Lemma 4.1


def test_levels_that_do_not_adapt_break_the_bound() -> None:
    part, rounds, misses = Conformal(40), 4000, 0
    memory = part.start(0)
    for t in range(rounds):
        made = band(memory)
        misses += (loss := Adversary("+").loss(t, made)) > made.high
        part.learn(memory, None, loss)
        memory["levels"][:] = kernel.TAILS
    gamma = kernel.PACE * 0.05
    assert misses / rounds - 0.05 > (0.95 + gamma) / (gamma * (rounds - FEWEST))


@pytest.mark.parametrize("features", [0, 3])
@pytest.mark.parametrize("name", sorted(streams(1)))
def test_no_stream_gives_numbers_that_are_none(name: str, features: int) -> None:
    contexts = np.random.default_rng(1).standard_cauchy((600, features))
    memory, bands = learn(streams(600)[name], contexts)
    assert all(np.isfinite(array).all() for array in memory.values())
    assert not np.isnan(bands).any()
    assert (bands[:, 0] <= bands[:, 1]).all()
    assert np.isinf(bands[:FEWEST]).all()
    Conformal(50).check(memory)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_who_always_goes_beyond_the_same_end_leaves_the_other_one_finite(sign: float) -> None:
    part, memory, met, last = Conformal(), Conformal().start(0), 0, -math.inf
    rng = np.random.default_rng(0)
    while last < 1e50:
        low, high, rounds = part.band(memory, None, level=0.5)
        assert not math.isnan(high - low)
        levels = memory["levels"][:: int(sign), kernel.TAILS.index(0.25)]
        met += rounds >= FEWEST and levels[0] >= 1.0 and levels[1] <= 0.0
        end = high if sign > 0 else -low
        calm = 1.0 + 1e-6 * rng.uniform()
        last = calm if rounds < 400 else max(end + 1e-9 * abs(end), last) if math.isfinite(end) else last
        part.learn(memory, None, sign * last)
    assert met > 0  # one end nowhere, and the other beyond all


@pytest.mark.parametrize("name", ["constant", "zero"])
def test_what_never_changes_is_known_exactly(name: str) -> None:
    losses = streams(600)[name]
    bands = learn(losses)[1]
    assert (bands[FEWEST:] == losses[FEWEST:, np.newaxis]).all()


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("name", ["normal", "cauchy", "skewed"])
def test_losses_drawn_alike_lie_in_their_bands_as_often_as_they_should(level: float, name: str) -> None:
    rng, rounds = np.random.default_rng(5), 3000
    losses = {
        "normal": rng.normal(size=rounds),
        "cauchy": rng.standard_cauchy(rounds),
        "skewed": rng.normal(size=rounds) ** 2,
    }
    part = Conformal()
    memory, within = part.start(0), 0
    for t, loss in enumerate(losses[name]):
        within += t >= 100 and loss in band(memory, None, level)
        part.learn(memory, None, float(loss))
    assert abs(within / (rounds - 100) - level) < 0.015


def test_bands_are_narrow_where_losses_are_calm_and_follow_the_context() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 2))
    losses = 3 * X[:, 1] + X[:, 0] * rng.normal(size=4000)
    part = Conformal()
    memory = part.start(2)
    part.learn_rounds(memory, X, losses, np.empty((0, 2)))
    calm, wild, high = (band(memory, np.array(x)) for x in ([0.05, 0.5], [0.95, 0.5], [0.05, 1.0]))
    assert calm.width < 0.4 * wild.width
    assert high.low > calm.high - 0.2
    broken = {name: array.copy() for name, array in memory.items()}
    broken["features"][kernel.SLOPE] = broken["features"][kernel.STRETCH] = 0.0  # bands that are blind to the context
    calm, wild = (band(broken, np.array(x)) for x in ([0.05, 0.5], [0.95, 0.5]))
    assert calm == wild


@pytest.mark.parametrize(("factor", "offset"), [(1024.0, 0.0), (2.0**-300, 0.0), (3e7, 5e8), (-1.0, 0.0)])
def test_units_and_fixed_costs_do_not_matter(factor: float, offset: float) -> None:
    rng = np.random.default_rng(1)
    X, losses = rng.normal(size=(800, 3)), rng.normal(size=800) ** 2
    bands = learn(losses, X)[1][FEWEST:]
    other = (learn(factor * losses + offset, X)[1][FEWEST:] - offset) / factor
    assert np.allclose(np.sort(other, axis=1), bands, rtol=0, atol=1e-5)


def test_units_of_features_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    X, losses = rng.normal(size=(800, 3)), rng.normal(size=800)
    assert np.allclose(learn(losses, 2.0**20 * X)[1][FEWEST:], learn(losses, X)[1][FEWEST:], rtol=0, atol=1e-9)


def test_outlying_features_do_no_harm() -> None:
    rng = np.random.default_rng(1)
    X, losses = rng.normal(size=(800, 2)), rng.normal(size=800)
    X[::50] *= 1e300
    memory, bands = learn(losses, X)
    assert all(np.isfinite(array).all() for array in memory.values())
    assert 2 < np.median(bands[400:, 1] - bands[400:, 0]) < 5


def test_the_window_is_that_of_the_last_scores_in_ascending_order() -> None:
    rng = np.random.default_rng(2)
    for rounds in (1, 7, 49, 50, 51, 123, 200):
        memory, _ = learn(rng.choice([0.0, 1.0, 2.0, 2.5], rounds))
        known = min(rounds, 50)
        assert np.array_equal(np.sort(memory["ring"][:known]), memory["order"][:known])


def test_one_round_at_a_time_and_all_at_once_are_the_same_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    X, losses = rng.normal(size=(300, 4)), rng.exponential(size=300)
    losses[::17] = np.nan  # rounds in which nothing was told
    memory, bands = learn(losses, X)
    part = Conformal(50)
    single = part.start(4)
    for x, loss, made in zip(X, losses, bands, strict=True):
        assert part.band(single, x)[:2] == tuple(made)
        if not np.isnan(loss):
            part.learn(single, x, float(loss))
    assert all(np.array_equal(memory[name], single[name]) for name in memory)


def booster(**options: Any) -> bb.Booster:
    settings: dict[str, Any] = {"copies": 3, "answers": 2, "bands": True} | options
    return bb.algorithms.boosted(SPACE, **settings)


def play(booster: bb.Booster, rounds: int, seed: int = 0, sign: float = 1.0) -> None:
    rng = np.random.default_rng(seed)
    for x in rng.uniform(-1, 1, (rounds, 2)):
        ticket = booster.ask(x)
        booster.tell(ticket, sign * ((ticket.queries - x[0]) ** 2 + rng.normal(0, 0.1, len(ticket.queries))))


def test_bands_change_nothing_else_and_are_not_there_unless_asked_for() -> None:
    with_bands, without = booster(), booster(bands=False)
    play(with_bands, 60)
    play(without, 60)
    arrays = with_bands.arrays()
    assert {name for name in arrays if name not in without.arrays()} == {
        f"bands.{name}" for name in Conformal().start(2)
    }
    assert all(np.array_equal(array, arrays[name]) for name, array in without.arrays().items())
    assert "bands" not in without.spec.to_dict()
    assert "bands" not in repr(without)
    assert repr(with_bands).endswith("\n  bands     Conformal()")


def test_without_bands_one_sentence_says_how_to_turn_them_on() -> None:
    with pytest.raises(ValueError, match="make the booster with bands=True"):
        booster(bands=False).predict_loss([0.0, 0.0])


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 2, math.nan, "a"])
def test_levels_are_shares(level: Any) -> None:
    with pytest.raises(ValueError, match="level must"):
        booster().predict_loss([0.0, 0.0], level)


@pytest.mark.parametrize("bands", [1, "yes", 0.9])
def test_bands_are_asked_for_by_a_word_or_a_part(bands: Any) -> None:
    with pytest.raises(ValueError, match="bands must be"):
        chosen(bands)
    with pytest.raises(ValueError, match="bands must be"):
        BoosterSpec(bands=bands)


def test_a_window_holds_enough_and_not_too_much() -> None:
    for window in (FEWEST - 1, 10**6 + 1, 10**30):
        with pytest.raises(ValueError, match="window must be"):
            Conformal(window)


def test_no_band_for_losses_that_are_not_told() -> None:
    with pytest.raises(ValueError, match="bands must be left out with Exact"):
        bb.algorithms.boosted(SPACE, gradient=bb.gradients.Exact(), bands=True)


def test_a_band_is_infinite_before_enough_is_told_and_needs_a_context_that_fits() -> None:
    made = booster()
    assert made.predict_loss([0.0, 0.0]) == LossBand(-math.inf, math.inf, 0.9, 0)
    play(made, FEWEST - 1)
    assert made.predict_loss([0.0, 0.0], 0.5) == LossBand(-math.inf, math.inf, 0.5, FEWEST - 1)
    play(made, 1)
    assert math.isfinite(made.predict_loss([0.0, 0.0]).width)
    with pytest.raises(ValueError, match="x must have 2 features"):
        made.predict_loss([0.0])


def test_rewards_have_bands_of_rewards() -> None:
    losses, rewards = booster(), booster(maximize=True)
    play(losses, 100)
    play(rewards, 100, sign=-1.0)
    plain, flipped = losses.predict_loss([0.3, 0.0]), rewards.predict_loss([0.3, 0.0])
    assert (flipped.low, flipped.high) == (-plain.high, -plain.low)


def test_predicting_changes_nothing() -> None:
    made = booster()
    play(made, 50)
    before = made.digest()
    made.predict_loss([0.1, 0.2])
    assert made.digest() == before


def test_without_contexts_there_are_bands_too() -> None:
    made = bb.Booster(bb.learners.OGD(), 2, gradient=bb.gradients.OnePoint(0.1), space=SPACE, bands=True)
    rng = np.random.default_rng(0)
    for _ in range(100):
        made.step(None, lambda queries: queries**2 + rng.normal(size=len(queries)))
    assert 0.0 in made.predict_loss()


def test_saved_copied_pickled_and_loaded_bit_for_bit(tmp_path: Path) -> None:
    made = booster()
    play(made, 70)
    made.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert loaded.digest() == made.digest()
    again = pickle.loads(pickle.dumps(made))
    twin = copy.deepcopy(made)
    for other in (loaded, again, twin):
        assert other.predict_loss([0.1, 0.2]) == made.predict_loss([0.1, 0.2])
    play(made, 30, seed=1)
    play(loaded, 30, seed=1)
    play(again, 30, seed=1)
    assert loaded.digest() == again.digest() == made.digest()
    assert twin.predict_loss([0.1, 0.2]) != made.predict_loss([0.1, 0.2])  # a copy learns for itself


def test_a_file_says_how_much_bands_need(tmp_path: Path) -> None:
    spec = booster().spec
    without = replace(spec, bands=None)
    held = sum(array.size for array in Conformal().start(9).values())
    assert 0 <= spec.needs(9) - without.needs(9) - held < 10
    assert spec.needs(None) == without.needs(None)


@pytest.mark.parametrize(
    ("name", "entry", "value"),
    [
        ("facts", 0, -3.0),
        ("facts", 0, 0.5),
        ("facts", 0, 1e300),
        ("order", 3, 1e9),
        ("features", (1, 0), -1.0),
        ("levels", (1, 2), 9.0),
    ],
    ids=["negative", "half", "huge", "order", "variance", "level"],
)
def test_damaged_bands_are_refused(name: str, entry: Any, value: float) -> None:
    made = booster()
    play(made, 40)
    made.bands_memory[name][entry] = value
    header, arrays = made.header(), {name: array.copy() for name, array in made.arrays().items()}
    with pytest.raises(ValueError, match="The bands are damaged"):
        bb.Booster.from_spec(made.spec).restore("model.bb", header, arrays)


def test_a_journal_gives_the_same_bands(tmp_path: Path) -> None:
    made = booster()
    with bb.Journal(tmp_path / "log.journal", made):
        play(made, 60)
    again = bb.Journal.replay(tmp_path / "log.journal")
    assert again.booster.digest() == made.digest()


def test_late_answers_are_calibrated_in_the_order_of_telling() -> None:
    made = booster()
    play(made, 40)
    rng = np.random.default_rng(8)
    waiting = [(x, made.ask(x)) for x in rng.uniform(-1, 1, (6, 2))]
    expected = {name: array.copy() for name, array in made.bands_memory.items()}
    for k in (4, 0, 5, 1):
        x, ticket = waiting[k]
        answers = rng.normal(size=2)
        Conformal().learn(expected, x, mean(answers))
        made.tell(ticket, answers)
    assert all(np.array_equal(array, made.bands_memory[name]) for name, array in expected.items())


def test_copies_that_begin_again_leave_bands_alone() -> None:
    made = booster()
    play(made, 40)
    before = made.predict_loss([0.2, 0.3])
    made.reset([0, 1, 2])
    assert made.predict_loss([0.2, 0.3]) == before


def test_answers_that_are_refused_change_no_band() -> None:
    made = booster()
    play(made, 40)
    ticket, before = made.ask([0.0, 0.0]), made.digest()
    with pytest.raises(ValueError, match="losses must"):
        made.tell(ticket, [math.nan, 0.0])
    assert made.digest() == before


@dataclass(frozen=True)
class Phases(Plan, kind="tests:Phases"):
    """A plan with bands."""

    def at(self, horizon: int) -> BoosterSpec:
        return BoosterSpec(copies=2, gradient=bb.gradients.OnePoint(0.2), space=SPACE, bands=Conformal())


def test_a_plan_goes_on_with_its_bands(tmp_path: Path) -> None:
    made = bb.Booster.from_spec(Phases())
    play(made, 50)
    assert (made.phase, made.predict_loss([0.0, 0.0]).rounds) == (2, 50)
    made.save(tmp_path / "model.bb")
    assert bb.Booster.load(tmp_path / "model.bb").digest() == made.digest()


def test_means_of_the_largest_losses_are_finite() -> None:
    assert mean(np.array([1.79e308, 1.79e308, 1.79e308])) < math.inf

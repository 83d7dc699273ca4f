"""Memories of several lengths against explicit matrices; they follow a change, cost little without one, and never wind up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.interop.growing import stretched
from banditboost.learners import Forgetting, SecondOrder, forgetting
from banditboost.learners.base import LinearWeights
from banditboost.learners.forgetting import ForgettingBank
from banditboost.spaces import Ball, Interval, Space
from tests.checks.discovery import specs
from tests.learners.slow_forgetting import Matrices, SlowForgetting

LINE = Interval(-9.0, 9.0)


def start(spec: Forgetting, copies: int = 1, space: Space = LINE, features: int = 3) -> ForgettingBank:
    return spec.start(copies, space, features, np.random.default_rng(0))


def rounds(n: int, changes: dict[int, float], noise: float = 0.3, seed: int = 0) -> tuple[Array, Array]:
    """Contexts and targets, which are linear; from some rounds on the relation is multiplied by a number."""
    rng = np.random.default_rng(seed)
    X, scale, factor = rng.normal(size=(n, 3)), np.ones(n), 1.0
    for t in range(n):
        factor = changes.get(t, factor)
        scale[t] = factor
    return X, scale * (X @ [1.0, -0.5, 0.3]) + noise * rng.normal(size=n)


def tell(bank: ForgettingBank, X: Array, z: Array, first: int = 1) -> None:
    """Rounds whose losses are least at z, for all copies and coordinates."""
    shape = (len(bank.shares), *bank.space.shape)
    for t, (x, target) in enumerate(zip(X, z, strict=True), start=first):
        bank.update(x, np.full(shape, -bank.spec.curvature * target), t)


@pytest.mark.parametrize("kept", [0.999, 0.95, 0.9])
def test_a_single_memory_is_the_solution_with_explicit_matrices(kept: float) -> None:
    spec = Forgetting(0.7, 1.3, (1.0, kept))
    bank, slow = start(spec, 2), Matrices(spec, kept, 2, 1, 4)
    rng = np.random.default_rng(1)
    for t in range(1, 400):
        x, g = rng.normal(size=3), rng.normal(size=(2, 1))
        seen = np.append(x, 1.0)
        np.testing.assert_allclose(bank.banks[1].play(x), slow.play(seen)[:, 0], rtol=1e-8, atol=1e-8)
        bank.update(x, g[:, 0], t)
        slow.update(seen, g, t)
        np.testing.assert_allclose(bank.banks[1].weights, slow.weights()[:, 0], rtol=1e-8, atol=1e-8)
        inverse = bank.banks[1].roots[0].T @ bank.banks[1].roots[0]
        np.testing.assert_allclose(inverse @ slow.A, np.eye(4), atol=1e-8)


CHANGES: dict[str, tuple[dict[int, float], list[str]]] = {
    "flip": ({500: -1.0}, ["begun", "taken over"]),
    "to and fro": ({500: -1.0, 503: 1.0, 1000: -2.0}, ["begun", "taken over"]),
    "short": ({200: 0.5, 300: 1.0}, ["begun", "given up"]),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("space", [LINE, Ball(2, 9.0)], ids=["interval", "ball"])
def test_the_bank_is_a_slow_one_with_explicit_matrices(name: str, space: Space) -> None:
    changes, events = CHANGES[name]
    spec = Forgetting(0.5, 1.5, (1.0, 0.995, 0.97))
    bank, slow = start(spec, 2, space), SlowForgetting(spec, 2, space.size, 4)
    X, z = rounds(1400, changes)
    rng = np.random.default_rng(2)
    for t, (x, target) in enumerate(zip(X, z, strict=True), start=1):
        seen = np.append(x, 1.0)
        g = -1.5 * target * np.array([[1.0], [0.5]]) * np.ones(space.size) + 0.1 * rng.normal(size=(2, space.size))
        played = bank.play(x)
        np.testing.assert_allclose(played.reshape(2, -1), slow.play(seen), rtol=1e-8, atol=1e-8)
        bank.update(x, g.reshape(2, *space.shape), t)
        slow.update(seen, g, t)
        known = [1, 2, 3] if slow.fresh else [1, 2]
        np.testing.assert_allclose(bank.shares[:, known], slow.shares(), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(bank.shares[:, 0], [step.share for step in slow.bolder], rtol=1e-8, atol=1e-8)
        assert bank.fresh[0] == (slow.began if slow.fresh else 0.0)
    assert [event for event in events if event in slow.events] == events
    np.testing.assert_allclose(bank.play_many(X[:5])[:, 0], bank.play(X[0]), rtol=1e-12)


def test_a_slow_bank_without_the_ridge_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "EVERY", 1e18)
    with pytest.raises(AssertionError):
        test_a_single_memory_is_the_solution_with_explicit_matrices(0.9)


def booster(learner: Any, space: Space = LINE) -> bb.Booster:
    """Copies that are told where the loss would be least from zero."""
    return bb.Booster(learner, 1, bb.chains.Additive(step=1.0, first=1.0), bb.gradients.Exact(), space)


@pytest.mark.parametrize("copies", [1, 3])
def test_plain_and_compiled_rounds_agree(copies: int) -> None:
    X, z = rounds(1200, {400: -1.0, 900: 2.0})
    world, found = bb.worlds.Supervised(X, z, noise=bb.noise.Uniform(0.1)), []
    for compiled in (False, True):
        mine = bb.Booster(Forgetting(), copies, bb.chains.Additive(step=0.5, first=1.0), bb.gradients.Exact(), LINE)
        trace = bb.evaluate.progressive(mine, world, compiled=compiled)
        assert trace.compiled == compiled
        found.append((trace.predictions, mine.arrays()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-9)
    for name, array in found[0][1].items():
        np.testing.assert_allclose(found[1][1][name], array, rtol=1e-7, atol=1e-7)


def test_the_generic_checks_know_it() -> None:
    assert [spec for spec in specs() if isinstance(spec, Forgetting)] == list(Forgetting.examples())


@pytest.mark.parametrize("renews", [True, False])
def test_a_feature_that_is_always_zero_does_not_wind_up(renews: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without getting its ridge back it does."""
    if not renews:
        monkeypatch.setattr(forgetting, "EVERY", 1e18)
    X, z = rounds(20_000, {})
    X[:, 1] = 0.0
    mine = booster(Forgetting(memories=(1.0, 0.99)))
    bb.evaluate.progressive(mine, bb.worlds.Supervised(X, z))
    assert isinstance(mine.bank, ForgettingBank)
    largest = np.abs(mine.bank.banks[1].roots).max()
    assert largest < 3 if renews else largest > 1e20


def after_flip(learner: Any, seed: int) -> float:
    """The mean loss from 200 to 500 rounds after the sign has changed."""
    world = bb.worlds.Flip(rounds=2500, features=5, at=(2000,), seed=seed)
    return float(bb.evaluate.progressive(booster(learner), world).losses[2200:].mean())


@pytest.mark.parametrize("seed", range(3))
def test_a_flip_is_followed_within_200_rounds_and_by_all_rounds_together_it_is_not(seed: int) -> None:
    least = 0.3**2 / 3
    assert after_flip(Forgetting(), seed) < 1.3 * least
    assert after_flip(SecondOrder(centre="zero"), seed) > 10 * least


def test_one_memory_follows_a_flip_by_far_errors_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a shorter memory, nothing but large errors can ask for a fresh one."""
    least, spec = 0.3**2 / 3, Forgetting(memories=(1.0,))
    assert after_flip(spec, 0) < 1.3 * least
    monkeypatch.setattr(forgetting, "MANY", 1e18)
    assert after_flip(spec, 0) > 10 * least


def begin_afresh(bank: ForgettingBank, t: int) -> None:
    """Let the fresh memory begin in a round, whatever errors were."""
    last = bank.banks[-1]
    last.weights[...], last.roots[...] = 0.0, np.eye(last.roots.shape[-1]) / np.sqrt(bank.spec.ridge)
    for array in (bank.shares, bank.sums, bank.late):
        array[:, -1] = 0.0
    bank.fresh[:3] = t, 0.0, 0.0


@pytest.mark.parametrize("aged", [forgetting.AGED, 1e18])
def test_an_old_fresh_memory_is_begun_anew_when_errors_become_far(aged: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "AGED", aged)
    mine, (X, z) = start(Forgetting()), rounds(1030, {1000: -1.0}, noise=0.1)
    tell(mine, X[:1000], z[:1000])
    begin_afresh(mine, 700)
    tell(mine, X[1000:1015], z[1000:1015], 1001)
    assert (mine.fresh[0] > 1000) == (aged < 1e18)


def soon_after_flip(noise: float, seed: int) -> float:
    """The mean loss from 30 to 130 rounds after the sign has changed, above that of the truth."""
    world = bb.worlds.Flip(rounds=2130, features=5, at=(2000,), spread=noise, seed=seed)
    losses = bb.evaluate.progressive(booster(Forgetting()), world).losses - world.best_losses
    return float(losses[2030:].mean())


def test_where_there_is_hardly_any_noise_bold_plays_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    bold = np.mean([soon_after_flip(0.1, seed) for seed in range(3)])
    monkeypatch.setattr(forgetting, "BOLDEST", 1.0)
    cautious = np.mean([soon_after_flip(0.1, seed) for seed in range(3)])
    assert bold < 0.5 * cautious


def test_on_noise_bold_plays_are_hardly_followed() -> None:
    followed = []
    for seed in range(5):
        rng, mine = np.random.default_rng(seed), start(Forgetting(), features=10)
        for t in range(1, 301):
            mine.update(rng.normal(size=10), 2 * rng.normal(size=1), t)
            followed.append(float(mine.shares[0, 0]))
    assert np.mean(followed) < 0.1


def test_a_bold_play_is_at_most_twice_the_cautious_one() -> None:
    mine, (X, z) = start(Forgetting()), rounds(100, {}, noise=0.0)
    tell(mine, X, z)
    mine.shares[:, 0] = 1.0
    far = 1e6 * X[0]
    longest = mine.banks[0].play(far)
    mine.shares[:, 1:] = 0.0
    np.testing.assert_allclose(mine.play(far), 2 * longest)
    np.testing.assert_allclose(mine.play_many(np.stack([far, X[0]]))[:, 0], 2 * longest)


def test_where_nothing_changes_it_costs_next_to_nothing() -> None:
    paid = []
    for learner in (Forgetting(), SecondOrder(centre="zero")):
        worlds = [bb.worlds.Flip(rounds=3000, features=5, at=(2999,), seed=seed) for seed in range(5)]
        paid.append(np.mean([bb.evaluate.progressive(booster(learner), world).losses.mean() for world in worlds]))
    assert paid[0] < 1.01 * paid[1]


def with_fresh(features: int = 3) -> tuple[bb.Booster, int]:
    """A booster in the middle of a fresh memory's life, and the next round."""
    mine, (X, z) = booster(Forgetting()), rounds(900, {400: -1.0})
    for t in range(900):
        play(mine, X[t, :features], z[t])
        assert isinstance(mine.bank, ForgettingBank)
        if mine.bank.fresh[0] > 0:
            return mine, t + 1
    raise AssertionError("no fresh memory was begun")


def play(mine: bb.Booster, x: Array, z: float) -> Array:
    ticket = mine.ask(x)
    mine.tell(ticket, 2 * (ticket.queries - z))
    return ticket.prediction


def test_saved_in_the_middle_of_a_fresh_memory_it_goes_on(tmp_path: Path) -> None:
    mine, t = with_fresh()
    assert isinstance(mine.bank, ForgettingBank)
    began = float(mine.bank.fresh[0])
    mine.save(tmp_path / "model.bb")
    other, (X, z) = bb.Booster.load(tmp_path / "model.bb"), rounds(900, {400: -1.0})
    for later in range(t, t + 200):
        assert play(mine, X[later], z[later]).tobytes() == play(other, X[later], z[later]).tobytes()
    assert mine.digest() == other.digest()
    assert mine.bank.fresh[0] > began, "it has taken over meanwhile, and another one was begun"


def test_reset_copies_play_zero_and_others_as_before() -> None:
    bank, (X, z) = start(Forgetting(), copies=3), rounds(450, {400: -1.0})
    tell(bank, X, z)
    before = bank.play(X[0])
    assert (before != 0).all()
    bank.reset(np.array([1]), np.random.default_rng(0))
    np.testing.assert_array_equal(bank.play(X[0]), before * [1, 0, 1])
    assert (bank.shares[1] == 0).all()
    assert (bank.sums[1] == 0).all()
    assert (bank.late[1] == 0).all()


@pytest.mark.parametrize("features", [5, 60, 600])
def test_with_more_features_it_keeps_its_memories_and_plays_the_same(features: int, tmp_path: Path) -> None:
    """A memory of 100 rounds is too short for 60 features, and one of 1,000 for 600: a bank that starts with them has none."""
    mine, t = with_fresh()
    larger, (X, z) = stretched(mine, features), rounds(900, {400: -1.0})
    assert larger is not None
    assert isinstance(larger.bank, ForgettingBank)
    assert larger.bank.alive == [0, 1, 2, 3]
    assert start(Forgetting(), features=features).alive == {5: [0, 1, 2], 60: [0, 1], 600: [0]}[features]
    wide = np.zeros((len(X), features))
    wide[:, :3] = X
    for later in range(t, t + 20):
        ours, theirs = play(mine, X[later], z[later]), play(larger, wide[later], z[later])
        # The ridge of a feature comes back as often as it is its turn, which depends on the number of features.
        np.testing.assert_allclose(ours, theirs, rtol=0.05, atol=0.05)
    larger.save(tmp_path / "model.bb")
    again = bb.Booster.load(tmp_path / "model.bb")
    for later in range(t + 20, t + 40):
        assert play(again, wide[later], z[later]).tobytes() == play(larger, wide[later], z[later]).tobytes()
    assert again.digest() == larger.digest()


def test_a_river_model_does_not_start_again_when_features_come() -> None:
    """The whole default is stretched, as a model of River is when a new feature comes."""
    rng = np.random.default_rng(0)
    mine = bb.algorithms.boosted(Interval(-2, 2), answers=2, copies=4)
    for _ in range(30):
        ticket = mine.ask(rng.random(40))
        mine.tell(ticket, np.square(ticket.queries - 0.5))
    larger = stretched(mine, 70)
    assert larger is not None
    assert larger.rounds == 30


def test_its_weights_are_those_of_the_memories_as_far_as_they_are_followed() -> None:
    bank, (X, z) = start(Forgetting(), copies=2), rounds(410, {400: -1.0})
    tell(bank, X, z)
    assert (bank.shares[:, 2] > 0).all()
    (learned,) = bank.feature_weights()
    assert isinstance(learned.shown, LinearWeights)
    weights = bank.banks[0].weights
    for k in bank.alive[1:]:
        weights = weights + bank.shares[:, k, np.newaxis] * (bank.banks[k].weights - weights)
    np.testing.assert_allclose(learned.shown.weights[:, 0], weights, rtol=1e-12)


def test_without_any_feature_it_plays_zero() -> None:
    bank = start(Forgetting(intercept=False), features=0)
    for t in range(1, 20):
        bank.update(np.zeros(0), np.ones(1), t)
    assert bank.play(np.zeros(0)).tolist() == [0.0]


def test_it_says_how_many_floats_it_holds() -> None:
    for features in (3, 100):
        bank = start(Forgetting(), 2, Ball(2, 1.0), features)
        assert sum(array.size for array in bank.arrays().values()) == Forgetting().n_floats(2, Ball(2, 1.0), features)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"ridge": 0.0}, "ridge must be positive"),
        ({"curvature": -1.0}, "curvature must be positive"),
        ({"memories": ()}, "memories must be a sequence of numbers that begins with 1"),
        ({"memories": (0.9, 0.5)}, "memories must be a sequence of numbers that begins with 1"),
        ({"memories": 1.0}, "memories must be a sequence of numbers that begins with 1"),
        ({"memories": (1.0, 1.0)}, "memories must fall from 1 to at least 0.5"),
        ({"memories": (1.0, 0.9, 0.95)}, "memories must fall from 1 to at least 0.5"),
        ({"memories": (1.0, 0.4)}, "memories must fall from 1 to at least 0.5"),
        ({"memories": (1.0, float("nan"))}, "memories must be"),
        ({"memories": ("a",)}, "memories must be"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Forgetting(**wrong)

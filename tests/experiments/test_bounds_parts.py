"""The parts of the bounds experiment: replicas are boosters, broken ones are broken, weak learners are weak, worlds are convex."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from banditboost import theory
from banditboost._core.streams import stream
from banditboost.booster import Booster, BoosterSpec
from banditboost.chains import ConvexHull
from banditboost.experiments.bounds_boosting import BoostingGame
from banditboost.experiments.bounds_broken import BROKEN, STILL_LEARNING, broken_chain, fed, told
from banditboost.experiments.bounds_games import BanditGame, Game, ProjectionFreeGame, Setting
from banditboost.experiments.bounds_replicas import play_replicas
from banditboost.experiments.bounds_weak import Stumbling
from banditboost.experiments.bounds_worlds import Distances, one_sided, one_sided_lines
from banditboost.experiments.statistics import rate_limits, runs_to_reject
from banditboost.learners import Linear, Scaled
from banditboost.rates import Theory
from banditboost.spaces import Ball, Interval
from banditboost.worlds import World

GAMES = [
    ProjectionFreeGame(60, 1, copies=5),
    ProjectionFreeGame(60, 1, optimizer="ogd", copies=5, exact=True),
    BanditGame(60, 1, copies=5, delta=0.3),
    BanditGame(60, 1, copies=5, delta=0.3, dimension=2, loss="quadratic"),
    BoostingGame(60, 1, copies=5),
    BoostingGame(60, 1, copies=5, gamma=0.5, loss="squared"),
]


def by_hand(spec: BoosterSpec, world: World, comparator: np.ndarray) -> float:
    """Play a booster through `ask` and `tell`; return its regret."""
    booster, rng, total = Booster.from_spec(spec), stream(spec.seed, "noise"), 0.0
    for t in range(len(world)):
        ticket = booster.ask(world.context(t))
        point = comparator[t] if comparator.ndim > len(spec.space.shape) else comparator
        total += float(world.values(t, ticket.prediction)) - float(world.values(t, point))
        booster.tell(ticket, losses=world.answer(t, ticket, spec.gradient.noisy, rng))
    return total


@pytest.mark.parametrize("game", GAMES, ids=lambda game: type(game).__name__ + game.digest()[:4])
@pytest.mark.parametrize("seed", [0, 3])
def test_one_replica_is_the_booster_to_the_last_bit(game: Game, seed: int) -> None:
    made = game.setting()
    spec = replace(made.spec, seed=seed)
    played = play_replicas(spec, made.world, made.comparator, 1)
    assert played.regrets[0] == by_hand(spec, made.world, made.comparator)


def test_one_replica_is_the_booster_where_plays_are_projected() -> None:
    made = BoostingGame(80, 1, copies=5, delta=0.3).setting()
    learner = Linear(5.0, intercept=False)
    spec = replace(made.spec, learner=learner, space=Interval(-1.0, 1.0), inside=True, chain=ConvexHull(0.5))
    played = play_replicas(spec, made.world, made.comparator, 1)
    assert played.regrets[0] == by_hand(spec, made.world, made.comparator)


def test_replicas_are_independent_and_do_not_depend_on_their_number() -> None:
    made = BanditGame(100, 1, copies=5, delta=0.3).setting()
    played = play_replicas(made.spec, made.world, made.comparator, 40)
    assert len(set(played.regrets.tolist())) == 40
    alone = [
        play_replicas(replace(made.spec, seed=seed), made.world, made.comparator, 1).regrets[0] for seed in range(40)
    ]
    spread = np.std(alone) / np.sqrt(40)
    assert abs(played.regrets.mean() - np.mean(alone)) < 4 * spread
    assert 0.6 < played.regrets.std() / np.std(alone) < 1.6


def identity(game: Game, made: Setting, gradients: np.ndarray, plays: np.ndarray) -> float:
    lower, linear, upper = theory.unrolled_bracket(
        gradients[:, :, 0],
        plays[:, :, 0],
        made.comparator,
        smoothness=made.smoothness,
        start=np.zeros(2),
        gamma=game.advantage,
    )
    return lower + upper - linear


def test_true_gradients_that_are_logged_beside_the_plays_notice_no_swapped_answers() -> None:
    game = ProjectionFreeGame(200, 1, copies=6, exact=True)
    made = game.setting()
    for broken, notices in ((None, False), ("neighbour's gradients", True)):
        played = play_replicas(made.spec, made.world, made.comparator, 1, broken=broken, keep=True)  # type: ignore[arg-type]
        assert played.gradients is not None
        assert played.plays is not None
        paths = [ConvexHull().path(plays[:, 0], np.zeros(2))[:-1] for plays in played.plays]
        logged = np.array([made.world.gradients(t, path) for t, path in enumerate(paths)])[:, :, np.newaxis]
        assert identity(game, made, logged, played.plays) == pytest.approx(played.ends[0], abs=1e-9)
        away = float(abs(identity(game, made, played.gradients, played.plays) - played.ends[0]))
        assert away > 1.0 if notices else away < 1e-9


def test_every_variant_is_broken_in_its_own_way() -> None:
    spec, rng = BoosterSpec(copies=3, chain=ConvexHull(2.0)), np.random.default_rng(0)
    answers, gradients = np.arange(1.0, 7.0), np.arange(6.0)  # three copies of two replicas
    assert told("flipped sign", answers, 3, 1.0, rng).tolist() == [-1, -2, -3, -4, -5, -6]
    assert told("zeros", answers, 3, 1.0, rng).tolist() == [0] * 6
    assert told("neighbour's values", answers, 3, 1.0, rng).tolist() == [3, 4, 5, 6, 1, 2]
    assert fed("neighbour's values", gradients, 3) is gradients
    assert fed("neighbour's gradients", gradients, 3).tolist() == [2, 3, 4, 5, 0, 1]
    noise = told("noise", np.zeros((1000, 2)), 10, 3.0, rng)
    assert 2.0 < np.linalg.norm(noise, axis=1).max() <= 3.0
    chains = {name: broken_chain(spec, name).chain for name in BROKEN}
    assert {name for name, chain in chains.items() if chain != spec.chain} == {"wrong step", "wrong γ"}
    assert broken_chain(spec, "wrong γ").chain.gamma == 2.5
    for name in (None, *STILL_LEARNING):
        assert told(name, answers, 3, 1.0, rng) is answers
    assert fed(None, gradients, 3) is gradients


def test_a_stumbling_learner_has_the_advantage_that_it_says_and_no_more() -> None:
    rounds, copies, gamma = 4000, 50, 0.5
    rng = np.random.default_rng(1)
    contexts = rng.uniform(-1, 1, (rounds, 2)) / np.sqrt(2)
    slopes = contexts[:, 0] + rng.uniform(-0.5, 0.5, rounds)
    largest = float(np.linalg.norm(slopes[:, np.newaxis] * contexts, axis=1).max())
    inner, space = Linear(1.0, Theory(2.0, largest), intercept=False), Interval(-1.0, 1.0)
    bank, alone, paid, own = (
        Stumbling(inner, gamma).start(copies, space, 2, rng),
        inner.start(1, space, 2, rng),
        0.0,
        0.0,
    )
    for t, (x, g) in enumerate(zip(contexts, slopes, strict=True)):
        paid, own = paid + g * bank.play(x), own + g * float(alone.play(x)[0])
        bank.update(x, np.full(copies, g), t + 1)
        alone.update(x, np.array([g]), t + 1)
    assert own < -100
    mean, error = float(np.mean(paid)), float(np.std(paid)) / np.sqrt(copies)
    assert mean == pytest.approx(gamma * own, abs=4 * error)
    assert 1 < error < 10  # a scaled learner plays γa without any noise
    best = float(inner.best_in_hindsight(contexts, slopes)[-1])
    assert mean - gamma * best <= gamma * theory.ogd_regret(rounds, largest, 2.0)
    assert mean > 0.6 * best  # both are negative: an advantage of 0.6 would be more than there is


def test_a_scaled_learner_cancels_in_the_chain_and_a_stumbling_one_does_not() -> None:
    made = BoostingGame(200, 1, copies=6, delta=0.3).setting()
    plain = play_replicas(made.spec, made.world, made.comparator, 1).regrets[0]
    learner, gamma = made.spec.learner, 0.5
    scaled = replace(made.spec, learner=Scaled(learner, gamma), chain=ConvexHull(gamma))
    stumbling = replace(made.spec, learner=Stumbling(learner, gamma), chain=ConvexHull(gamma))
    assert play_replicas(scaled, made.world, made.comparator, 1).regrets[0] == pytest.approx(plain, abs=1e-9)
    assert abs(play_replicas(stumbling, made.world, made.comparator, 1).regrets[0] - plain) > 1.0


def test_gamma_must_be_a_probability() -> None:
    for gamma in (0.0, 1.0, 2.0):
        with pytest.raises(ValueError, match=r"^gamma must lie strictly between 0 and 1, got"):
            Stumbling(gamma=gamma)


@pytest.mark.parametrize("dimension", [1, 2])
def test_distances_are_convex_with_the_gradients_they_say(dimension: int) -> None:
    rng = np.random.default_rng(0)
    shape = () if dimension == 1 else (dimension,)
    world = Distances(rng.uniform(-1, 1, (3, *shape)))
    points, steps = rng.uniform(-2, 2, (50, *shape)), 1e-6 * rng.standard_normal((50, *shape))
    ahead = world.values(1, points + steps) - world.values(1, points - steps)
    along = (world.gradients(1, points) * steps).reshape(50, -1).sum(axis=1)
    assert ahead / 2 == pytest.approx(along, rel=1e-3, abs=1e-10)
    others = rng.uniform(-2, 2, (50, *shape))
    middle = world.values(1, (points + others) / 2)
    assert (middle <= (world.values(1, points) + world.values(1, others)) / 2 + 1e-12).all()


def test_worlds_are_inside_the_constants_of_their_bounds() -> None:
    targets, point = one_sided(Ball(2), 500)
    assert np.linalg.norm(targets, axis=1).max() <= 1 + 1e-12
    assert np.linalg.norm(point) == pytest.approx(1)
    contexts, labels, predicted = one_sided_lines(500)
    assert np.abs(labels).max() <= 1
    weights = np.linalg.lstsq(contexts, predicted)[0]
    assert np.linalg.norm(weights) == pytest.approx(1)
    assert contexts @ weights == pytest.approx(predicted)


def test_limits_of_rates_are_those_of_clopper_and_pearson() -> None:
    for failures, runs in ((0, 29), (1, 30), (5, 40), (29, 30), (30, 30)):
        low, high = rate_limits(failures, runs)
        if failures:
            assert binom.sf(failures - 1, runs, low) == pytest.approx(0.05)
        if failures < runs:
            assert binom.cdf(failures, runs, high) == pytest.approx(0.05)
    for rate in (0.02, 0.1, 0.3):
        runs = runs_to_reject(rate)
        assert (1 - rate) ** runs <= 0.05 < (1 - rate) ** (runs - 1)

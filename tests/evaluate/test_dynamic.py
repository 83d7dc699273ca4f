"""The best sequence of comparators in hindsight, against all sequences there are, tried one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from banditboost._core.checks import Array
from banditboost.algorithms import ogd, projection_free
from banditboost.evaluate import Trace, best_linear, best_piecewise, dynamic, dynamic_regret, progressive
from banditboost.losses import Absolute
from banditboost.spaces import Ball, Interval, Simplex, Space
from banditboost.worlds import FiniteSum, Flip, Quadratic, Supervised, drifting, market

Cut = Callable[[Array, int], list[int]]
cheapest: Cut = dynamic._cheapest


def table(rounds: int, features: int, shape: tuple[int, ...] = (), seed: int = 0) -> Supervised:
    """Labels of which nothing is known."""
    rng = np.random.default_rng(seed)
    return Supervised(rng.uniform(-1.0, 1.0, (rounds, features)), rng.normal(size=(rounds, *shape)))


def fixed(world: Supervised | Quadratic, begin: int, end: int, intercept: bool) -> Array:
    """The losses of the best fixed comparator of some rounds, from its definition."""
    if isinstance(world, Quadratic):
        point = np.asarray(world.space.project(world.targets[begin:end].mean(axis=0)))
        return np.array([world.values(t, point) for t in range(begin, end)])
    x, y = world.contexts()[begin:end], world.labels()[begin:end].reshape(end - begin, -1)
    x = np.column_stack([x, np.ones(len(x))]) if intercept else x
    return np.asarray(np.square(x @ np.linalg.lstsq(x, y)[0] - y).sum(axis=1))


def slowly(world: Supervised | Quadratic, changes: int, block: int, intercept: bool = True) -> Array:
    """Try all ways to cut the rounds."""
    borders, best = range(block, len(world), block), None
    for k in range(changes + 1):
        for cuts in combinations(borders, k):
            ends = [0, *cuts, len(world)]
            found = np.concatenate([fixed(world, a, b, intercept) for a, b in pairwise(ends)])
            best = found if best is None or found.sum() < best.sum() - 1e-12 else best
    assert best is not None
    return best


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
@pytest.mark.parametrize("changes", [0, 1, 2, 3, 50])
def test_the_best_of_all_sequences_of_linear_predictors(changes: int, shape: tuple[int, ...], intercept: bool) -> None:
    for seed in range(3):
        world = table(47, 2, shape, seed)  # the last block is shorter
        found = best_piecewise(world, changes, block=6, intercept=intercept)
        np.testing.assert_allclose(found, slowly(world, min(changes, 7), 6, intercept), rtol=1e-8, atol=1e-10)


SPACES: dict[str, Space] = {"ball": Ball(2, 0.5), "interval": Interval(-0.3, 0.6), "simplex": Simplex(3)}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("changes", [0, 1, 2, 3])
def test_the_best_of_all_sequences_of_points(changes: int, name: str) -> None:
    # Targets outside the space: the projection of a mean is another point than the mean.
    space = SPACES[name]
    targets = np.random.default_rng(7).normal(size=(33, *space.shape))
    world = Quadratic(space, targets, curvature=2.5)
    found = best_piecewise(world, changes, block=4)
    np.testing.assert_allclose(found, slowly(world, changes, 4), rtol=1e-9, atol=1e-12)


def test_means_of_quadratics_keep_what_no_point_avoids() -> None:
    world = FiniteSum(Interval(-1.0, 1.0), np.random.default_rng(3).uniform(-1.0, 1.0, (20, 4)))
    np.testing.assert_allclose(best_piecewise(world, 2, block=4), slowly(world, 2, 4), rtol=1e-9)


def greedy(costs: Array, changes: int) -> list[int]:
    """A broken variant: the best cut, then the best cut of what is left, never to be taken back."""
    cuts: list[int] = []
    for _ in range(min(changes, len(costs) - 1)):
        rest = [cut for cut in range(1, len(costs)) if cut not in cuts]
        cuts = min((sorted([*cuts, cut]) for cut in rest), key=lambda ends: total(costs, ends))
    return cuts


def total(costs: Array, cuts: list[int]) -> float:
    ends = [0, *cuts, len(costs)]
    return float(sum(costs[a, b] for a, b in pairwise(ends)))


def one_too_few(costs: Array, changes: int) -> list[int]:
    """A broken variant: a change less than there may be."""
    return cheapest(costs, max(changes - 1, 0))


def one_too_late(costs: Array, changes: int) -> list[int]:
    """A broken variant: every change a block late."""
    return [cut + 1 for cut in cheapest(costs, changes) if cut + 1 < len(costs)]


@pytest.mark.parametrize("broken", [greedy, one_too_few, one_too_late], ids=lambda broken: broken.__name__)
def test_broken_variants_are_worse_than_the_best(broken: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    # The best single cut is at round 36 and the best two are at 12 and 24: the last two levels stay together, 16·(3/4)·(1/4) = 3.
    world = Supervised(np.zeros((40, 1)), np.repeat([1.0, 2.0, 1.0, 0.0], [12, 12, 12, 4]))
    assert slowly(world, 2, 2).sum() == pytest.approx(3.0)
    assert best_piecewise(world, 2, block=2).sum() == pytest.approx(3.0)
    monkeypatch.setattr(dynamic, "_cheapest", broken)
    assert best_piecewise(world, 2, block=2).sum() > 5.9


def test_closed_forms() -> None:
    # Two levels: one constant pays the variance, one change pays nothing, wherever blocks end at the change.
    world = Supervised(np.zeros((100, 1)), np.repeat([1.0, 4.0], [30, 70]))
    assert best_piecewise(world, 0).sum() == pytest.approx(100 * 9 * 0.3 * 0.7)
    assert best_piecewise(world, 1).sum() == pytest.approx(0.0, abs=1e-12)
    # Blocks of 20 end at 20 and 40: ten rounds are on the wrong side, the share 10/80 or 10/40 of a stretch.
    assert best_piecewise(world, 1, block=20).sum() == pytest.approx(
        min(80 * 9 * 1 / 8 * 7 / 8, 40 * 9 * 1 / 4 * 3 / 4)
    )
    # A line that flips: with one change the truth, which a line through the origin fits without a loss.
    flip = Flip(rounds=1000, spread=0.0)
    assert best_piecewise(flip, 1).max() < 1e-18
    assert best_piecewise(flip, 0).mean() > 1.0


def test_no_change_is_the_best_line_and_more_never_cost_more() -> None:
    world = table(300, 3)
    np.testing.assert_allclose(best_piecewise(world, 0), best_linear(world), rtol=1e-9)
    sums = [best_piecewise(world, changes, block=30).sum() for changes in range(12)]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(sums))
    assert sums[9] == pytest.approx(sums[11])  # ten blocks change nine times at most


def test_units_dependent_columns_and_sparse_contexts_make_no_difference() -> None:
    world = table(120, 3, seed=2)
    x, y = world.contexts(), world.labels()
    expected = best_piecewise(world, 2, block=20)
    for same in (x * [1.0, 1e-7, 1e6], np.column_stack([x, x[:, 0] - x[:, 1], np.zeros(120)]), csr_array(x)):
        np.testing.assert_allclose(best_piecewise(Supervised(same, y), 2, block=20), expected, rtol=1e-6, atol=1e-9)


def test_columns_that_nearly_depend_on_each_other_count() -> None:
    # The label is the small difference of two columns, whose sign flips.
    rng = np.random.default_rng(4)
    x = rng.uniform(-1.0, 1.0, (120, 2))
    twins = np.column_stack([x[:, 0], x[:, 0] + 1e-4 * x[:, 1]])
    world = Supervised(twins, x[:, 1] * np.repeat([1.0, -1.0], [40, 80]))
    assert best_piecewise(world, 0, block=20).mean() > 0.2
    assert best_piecewise(world, 1, block=20).max() < 1e-8


def test_regret_is_the_sum_of_differences() -> None:
    world = Flip(rounds=600, seed=1)
    trace = progressive(ogd(Interval(-7.0, 7.0)), world)
    trace.paid = trace.losses + np.random.default_rng(1).uniform(size=600)
    for paid in (False, True):
        found = dynamic_regret(trace, world, 1, block=50, paid=paid)
        expected = np.cumsum((trace.paid if paid else trace.losses) - best_piecewise(world, 1, block=50))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert trace.comparators == {}
    in_means = progressive(ogd(Interval(-7.0, 7.0)), world, keep="means")
    assert dynamic_regret(in_means, world, 1, block=50)[-1] == pytest.approx(
        dynamic_regret(trace, world, 1, block=50)[-1]
    )


def test_against_a_moving_target_few_changes_are_no_match_and_many_are() -> None:
    ball = Ball(2)
    world = drifting(ball, rounds=400, turns=2.0)
    trace = progressive(projection_free(ball, horizon=400, smoothness=1.0, sigma=world.sigma), world)
    regrets = [dynamic_regret(trace, world, changes)[-1] for changes in (0, 1, 8, 99)]
    assert regrets == sorted(regrets)
    assert regrets[0] == pytest.approx(float((trace.losses - world.best().losses).sum()))
    assert trace.losses.sum() - 1.0 < regrets[-1] <= trace.losses.sum()  # blocks of four rounds follow the target


def test_what_makes_no_sense_is_named() -> None:
    world = table(20, 2)
    with pytest.raises(ValueError, match=r"^changes must be a whole number of at least 0, got -1"):
        best_piecewise(world, -1)
    with pytest.raises(ValueError, match=r"^block must be a whole number of at least 1, got 0"):
        best_piecewise(world, 1, block=0)
    with pytest.raises(
        ValueError, match=r"^world must be Quadratic or have labels and the squared loss, got Supervised"
    ):
        best_piecewise(Supervised(np.ones((3, 1)), np.ones(3), Absolute()), 1)
    with pytest.raises(ValueError, match=r"^world must have at least one round, got none"):
        best_piecewise(world.head(0), 1)
    trace = Trace(losses=np.zeros(19), paid=np.zeros(19), predictions=np.zeros(19))
    with pytest.raises(ValueError, match=r"^trace must have all 20 rounds of the world, got 19"):
        dynamic_regret(trace, world, 1)
    with pytest.raises(
        ValueError, match=r"^world must be Quadratic or have labels and the squared loss, got Portfolio"
    ):
        best_piecewise(market(assets=3, rounds=20), 1)  # type: ignore[arg-type]

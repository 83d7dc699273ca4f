"""Categories in forests: the sets are the best there are, slow programs find the same, and indicators are beaten by far."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._core.checks import Array
from banditboost._core.spec import from_json
from banditboost.algorithms import boosted
from banditboost.learners import Grown, Mixed, Steady
from banditboost.learners.base import TreeTests
from banditboost.learners.categories import knowing
from banditboost.spaces import Box, Interval, Simplex, Space
from tests.learners import slow_grown
from tests.learners.test_grown import LINE, remembered

ONE_TREE = Grown(trees=1, leaves=2, rate=1.0, ridge=1.0, least=1.0)


def indicators(levels: Any, columns: int) -> Array:
    """Rows with one indicator for each level from 1 on, and none for level 0."""
    rows: Array = np.eye(columns + 1)[np.asarray(levels)][:, 1:]
    return rows


def left_set(bank: Any, columns: int, node: int = 0) -> set[int]:
    """The levels that the first tree sends to the left."""
    bits = np.unpackbits(bank.memory.forest.sets[0, 0, node], bitorder="little")[1:]
    return set(np.flatnonzero(bits[: columns + 1]).tolist())


def best_gain(grower: slow_grown.Grower, levels: Array, r: Array, present: list[int]) -> float:
    """The most that any set of levels gains."""
    rows = np.arange(len(r))
    return max(
        grower.gain(r, rows[np.isin(levels, chosen)], rows)
        for k in range(1, len(present))
        for chosen in combinations(present, k)
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_set_chosen_is_the_best_of_all_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = rng.permutation(np.repeat(np.arange(8), rng.integers(4, 30, 8)))
    targets = rng.permutation(np.linspace(-2, 2, 8))[levels] + 0.1 * rng.normal(size=len(levels))
    n, rows = len(levels), np.arange(len(levels))
    bank = remembered(replace(ONE_TREE, first=n, categories=((0, 7),), smooth=0.0), indicators(levels, 7), targets)
    chosen = np.isin(levels, list(left_set(bank, 7)))
    r = (targets - targets.mean())[:, np.newaxis]
    grower = slow_grown.Grower(1.0, 1.0)
    best = best_gain(grower, levels, r, list(range(8)))
    assert grower.gain(r, rows[chosen], rows) == pytest.approx(best, rel=1e-9)
    unsorted = max(grower.gain(r, rows[levels <= k], rows) for k in range(7))
    assert unsorted < 0.95 * best, "levels in the order of their columns are no match"


def table(d: int, n: int = 100) -> tuple[Array, Array]:
    """Two numbers and two categories, of which one has rows without a level."""
    rng = np.random.default_rng(d)
    a, b = rng.integers(1, 7, n), rng.integers(0, 4, n)
    X = np.column_stack([rng.integers(0, 5, n), indicators(a, 6), rng.integers(0, 5, n), indicators(b, 3)])
    worth = rng.normal(size=(7, d)) * 2
    targets = worth[a] * (X[:, :1] > 2) + np.sin(b)[:, np.newaxis] * X[:, 7:8] * 0.3
    return X, targets + 0.1 * rng.normal(size=(n, d))


CATEGORIES = ((1, 7), (8, 11))


@pytest.mark.parametrize("d", [1, 3])
def test_it_grows_what_a_slow_program_grows(d: int) -> None:
    X, targets = table(d)
    spec = Grown(trees=8, leaves=6, rate=0.3, ridge=2.0, least=4.0, first=100, categories=CATEGORIES, smooth=3.0)
    bank = remembered(spec, X, targets, LINE if d == 1 else Box((-9.0,) * d, (9.0,) * d))
    bank.memory.errors[:] = 0.0  # all trees are used
    assert (bank.memory.forest.feature >= 11).sum() > 5
    mean, grower = targets.mean(axis=0), slow_grown.Grower(2.0, 4.0, CATEGORIES, 3.0)
    slowly = grower.forest(X, targets.copy(), 8, 6, 0.3)
    broken = replace(grower, sorts=False).forest(X, targets.copy(), 8, 6, 0.3)
    away = 0.0
    for x in np.concatenate([X[:50], table(d + 7, 30)[0]]):
        played = np.ravel(bank.play(x))
        np.testing.assert_allclose(played, slow_grown.predict(slowly, mean, 0.3, x), rtol=1e-9, atol=1e-12)
        away = max(away, float(np.abs(played - slow_grown.predict(broken, mean, 0.3, x)).max()))
    assert away > 0.1, "a program that does not sort levels would have been noticed"


def test_levels_without_rows_go_where_most_rows_go() -> None:
    levels = np.repeat([1, 2, 3], [30, 30, 20])
    targets = np.where(levels == 3, 1.0, -1.0)
    bank = remembered(replace(ONE_TREE, first=80, categories=((0, 5),)), indicators(levels, 5), targets)
    bank.memory.errors[:] = 0.0  # all trees are used
    for row in ([1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]):
        assert float(bank.play(np.array(row, dtype=float))[0]) < -0.9
    assert float(bank.play(np.array([0, 0, 0.5, 0, 1.0]))[0]) > 0.9, "the first that is not zero counts"


def test_columns_beyond_the_most_levels_count_as_one() -> None:
    rng = np.random.default_rng(0)
    levels = rng.integers(1, 301, 900)
    X, targets = indicators(levels, 300), np.where(levels >= 254, 1.0, -1.0)
    bank = remembered(replace(ONE_TREE, first=900, categories=((0, 300),)), X, targets)
    bank.memory.errors[:] = 0.0  # all trees are used
    np.testing.assert_allclose(
        np.ravel(bank.play_many(np.eye(300))), np.where(np.arange(1, 301) >= 254, 1, -1), atol=0.1
    )


def test_a_category_that_says_nothing_is_left_alone() -> None:
    rng = np.random.default_rng(1)
    X, targets = indicators(rng.integers(1, 41, 1500), 40), rng.normal(size=1500)
    bank = remembered(Grown(trees=20, first=1500, categories=((0, 40),)), X, targets)
    alone = [len(left_set(bank, 40, int(node))) == 1 for node in np.flatnonzero(bank.memory.forest.feature[0, 0] >= 0)]
    assert all(alone), "sets of sorted levels gain by chance"


SPACES: list[Space] = [Interval(0.0, 4.0), Box((0.0, 10.0), (1.0, 40.0)), Simplex(3)]


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_compiled_and_plain_sparse_and_dense_agree_and_saved_half_way_it_goes_on(space: Space, tmp_path: Path) -> None:
    X = table(1, 160)[0]
    sign = np.sign(X[:, :1] - 2) * np.sign(X[:, 1:7] @ np.array([[1], [-1], [1], [1], [-1], [-1]]))
    direction = 0.3 * space.extents * (np.arange(space.size) - 0.6)
    labels = space.project(np.asarray(space.inner_centre) + sign * direction).reshape(-1, *space.shape)
    memory = Grown(first=30, least=3.0, memory=2**16, categories=CATEGORIES)
    runs = []
    for compiled, contexts in ((False, X), (True, X), (True, csr_array(X))):
        world = bb.worlds.Supervised(contexts, labels, noise=bb.noise.Uniform(0.01))
        booster = boosted(space, answers=6, copies=6, memory=memory, seed=3)
        runs.append(bb.evaluate.progressive(booster, world, compiled=compiled).predictions)
        assert next(array for name, array in booster.arrays().items() if name.endswith("forest.sets")).any()
    for run in runs[1:]:
        np.testing.assert_allclose(run, runs[0], rtol=1e-6, atol=1e-9)
    both = [boosted(space, answers=6, copies=6, memory=memory, seed=3)]
    for t, x in enumerate(X):
        if t == 90:
            both[0].save(tmp_path / "b")
            both.append(bb.Booster.load(tmp_path / "b"))
        for booster in both:
            ticket = booster.ask(x)
            away = (ticket.queries - labels[t]).reshape(len(ticket.queries), -1)
            booster.tell(ticket, np.square(away).sum(axis=1))
    assert both[0].digest() == both[1].digest()


def test_a_forest_that_a_thread_grows_is_the_same() -> None:
    X, targets = table(1)
    spec = Grown(trees=10, least=3.0, first=40, lag=0.3, categories=CATEGORIES)
    banks = [remembered(replace(spec, background=background), X, targets) for background in (False, True)]
    for name, array in banks[0].arrays().items():
        np.testing.assert_array_equal(array, banks[1].arrays()[name], err_msg=name)


def test_more_features_may_follow_and_copies_may_begin_again() -> None:
    X, targets = table(1)
    bank = remembered(Grown(trees=10, leaves=6, least=3.0, first=50, categories=CATEGORIES), X, targets)
    bank.memory.errors[:] = 0.0
    larger = bank.stretched(20, np.random.default_rng(0))
    wider = np.column_stack([X, np.zeros((len(X), 9))])
    np.testing.assert_array_equal(larger.play_many(wider), bank.play_many(X))
    assert (larger.memory.forest.feature >= 20).any()
    bank.reset(np.array([0]), np.random.default_rng(0))
    assert not bank.memory.forest.sets.any()
    assert (bank.play_many(X) == 0.0).all()


def test_who_tests_a_category_tests_all_of_its_columns() -> None:
    X, targets = table(1)
    bank = remembered(Grown(trees=10, leaves=6, least=3.0, first=100, categories=CATEGORIES), X, targets)
    (learned,) = bank.feature_weights()
    assert isinstance(learned.shown, TreeTests)
    tests, feature = learned.shown.tests[0], bank.memory.forest.feature[0]
    assert (tests[1:7] == (feature == 11).sum()).all()
    assert (tests[8:11] == (feature == 12).sum()).all()
    assert tests[0] == (feature == 0).sum()
    assert learned.shown.leaves[0] == (feature >= 0).sum() + 1


@pytest.mark.parametrize(
    ("name", "place", "number"),
    [
        ("forest.feature", (0, 0, 0), 13),
        ("forest.feature", (0, 0, 0), 0),
        ("forest.feature", (0, 0, 0), 12),
        ("forest.child", (0, 0, 0), 10**6),
        ("forest.sets", (0, 0, 0, 0), 0),
        ("forest.sets", (0, 0, 0, 1), 255),
    ],
)
def test_a_damaged_forest_is_refused_before_it_leads_anywhere(name: str, place: tuple[int, ...], number: int) -> None:
    levels = np.repeat(np.arange(1, 7), 15)
    X = np.column_stack([np.zeros(90), indicators(levels, 7), np.zeros((90, 3))])
    spec = Grown(trees=10, leaves=4, least=2.0, first=90, categories=((1, 8), (8, 11)))
    bank = remembered(spec, X, np.where(levels % 2, 2.0, -2.0))
    assert bank.memory.forest.feature[0, 0, 0] == 11
    bank.memory.forest.sets[0, 0, 0, 0] |= 0b11110000  # four levels are more than the second category has
    bank.play(X[0])
    bank.arrays()[name][place] = number
    for act in (lambda: bank.play(X[0]), lambda: bank.remember(X[0], np.zeros(1), np.zeros(1))):
        with pytest.raises(ValueError, match="The forest is damaged"):
            act()


def generated(seed: int, n: int = 3000) -> tuple[bb.worlds.Supervised, tuple[tuple[int, int], ...]]:
    """A column of forty words whose effect is random, and opposite where a number is small."""
    rng = np.random.default_rng(seed)
    levels, effect = rng.integers(1, 41, n), rng.normal(size=41)
    X = np.column_stack([rng.random((n, 3)), indicators(levels, 40)])
    y = np.sign(X[:, 0] - 0.5) * np.sign(effect[levels]) + 0.3 * rng.normal(size=n)
    return bb.worlds.Supervised(X, y, noise=bb.noise.Uniform(0.1)), ((3, 43),)


@pytest.mark.long
@pytest.mark.parametrize("answers", [2, 30])
def test_forty_words_are_learned_as_one_category(answers: int) -> None:
    world, categories = generated(0)
    plain, known = (
        bb.evaluate.progressive(boosted(LINE, answers=answers, memory=2**24, categories=pairs), world).losses.mean()
        for pairs in ((), categories)
    )
    assert known < 0.6 * plain


def test_units_in_which_features_first_came_leave_levels_alone() -> None:
    world, categories = generated(1, 600)
    spec = Grown(first=100, categories=categories)
    plain, steady = (
        bb.evaluate.progressive(bb.Booster(learner, copies=1, space=LINE, seed=1), world).predictions
        for learner in (spec, Steady(spec))
    )
    np.testing.assert_allclose(plain, steady, rtol=1e-9)


def test_without_categories_nothing_is_written_about_them() -> None:
    assert "forest.sets" not in Grown().start(1, LINE, 2, np.random.default_rng(0)).arrays()
    assert "categories" not in Grown().to_json()
    spec = Grown(categories=[(1, 7), np.array([8, 11])])  # type: ignore[arg-type]  # lists and arrays become tuples
    assert from_json(spec.to_json()) == spec
    assert spec.categories == CATEGORIES


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"categories": ((3, 3),)}, "categories must be pairs of whole numbers"),
        ({"categories": ((-1, 3),)}, "categories must be pairs of whole numbers"),
        ({"categories": ((0, 1.5),)}, "categories must be pairs of whole numbers"),
        ({"categories": (3, 5)}, "categories must be pairs of whole numbers"),
        ({"categories": "ab"}, "categories must be pairs of whole numbers"),
        ({"categories": ((4, 7), (0, 5))}, "categories must share no column"),
        ({"smooth": -1.0}, "smooth must not be negative"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Grown(**wrong)


def test_categories_need_a_forest_and_columns() -> None:
    with pytest.raises(ValueError, match="categories must end at the last of 3 features, got \\(2, 5\\)"):
        Grown(categories=((2, 5),)).start(1, LINE, 3, np.random.default_rng(0))
    for memory in (None, Grown()):
        with pytest.raises(ValueError, match="categories must be left out where memory is not a number of bytes"):
            boosted(LINE, memory=memory, categories=((0, 3),))


def test_every_forest_within_a_booster_comes_to_know_categories() -> None:
    spec = knowing(boosted(LINE, memory=2**20).spec, ((0, 3),))
    assert spec == boosted(LINE, memory=2**20, categories=((0, 3),)).spec
    own = Mixed((Grown(categories=((1, 2),)), Grown()))
    assert [part.categories for part in knowing(own, ((0, 3),)).parts] == [((1, 2),), ((0, 3),)]
    assert knowing(boosted(LINE, memory=None).spec, ((0, 3),)) == boosted(LINE, memory=None).spec

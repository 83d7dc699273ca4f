"""Few places for many features: who takes them, what the learner within sees, and that nothing else changes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import banditboost as bb
from banditboost.learners import (
    FPL,
    ByWidth,
    Forgetting,
    Grown,
    Level,
    Linear,
    Mixed,
    Screened,
    SecondOrder,
    Tree,
    Wide,
)
from banditboost.learners.categories import knowing
from banditboost.spaces import Interval

LINE = Interval(-1.0, 1.0)


@given(seed=st.integers(0, 10**6), places=st.integers(1, 6), proven=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_places_are_taken_in_the_order_in_which_features_have_proven_themselves(
    seed: int, places: int, proven: int
) -> None:
    rng = np.random.default_rng(seed)
    bank = Screened(Linear(), places, proven).start(1, LINE, 9, rng)
    counts: Counter[int] = Counter()
    taken: list[int] = []
    for t in range(1, 40):
        x = rng.normal(size=9) * (rng.random(9) < 0.2)
        seen = np.zeros(places)
        seen[: len(taken)] = x[taken]
        assert np.array_equal(bank.shown(x), seen)
        bank.update(x, np.array([1.0]), t)
        for k in np.flatnonzero(x).tolist():
            counts[k] += 1
            if k not in taken and len(taken) < places and counts[k] >= proven:
                taken.append(k)
    assert bank.chosen[: int(bank.taken[0])].tolist() == taken


def test_with_a_place_for_each_it_is_the_learner_within() -> None:
    rng = np.random.default_rng(0)
    X, gradients = rng.normal(size=(200, 4)), rng.normal(size=200)
    screened = Screened(Tree(subset=1.0, grace=5, evidence=1.0), 4, 1).start(1, LINE, 4, rng)
    tree = Tree(subset=1.0, grace=5, evidence=1.0).start(1, LINE, 4, rng)
    tree.update(np.zeros(4), gradients[:1], 1)  # in the first round no feature has a place
    screened.update(X[0], gradients[:1], 1)
    for t, (x, g) in enumerate(zip(X[1:], gradients[1:], strict=True), start=2):
        assert screened.play(x) == tree.play(x)
        screened.update(x, np.array([g]), t)
        tree.update(x, np.array([g]), t)
    assert np.array_equal(screened.play_many(X), tree.play_many(X))
    shown = screened.feature_weights()[0].shown
    assert isinstance(shown, bb.learners.base.TreeTests)
    assert np.array_equal(shown.tests, tree.feature_weights()[0].shown.tests)  # type: ignore[union-attr]


def test_weights_are_shown_where_their_features_are() -> None:
    rng = np.random.default_rng(1)
    bank = Screened(SecondOrder(centre="zero"), 2, 1).start(1, LINE, 6, rng)
    for t in range(1, 50):
        x = np.zeros(6)
        x[4 if t % 2 else 1] = 1.0
        bank.update(x, np.array([-2.0 * x[4]]), t)
    shown: Any = bank.feature_weights()[0].shown
    assert shown.weights.shape == (1, 1, 7)
    assert np.flatnonzero(shown.weights[0, 0]).tolist() == [1, 4, 6]
    assert shown.weights[0, 0, 4] > 0.5


def test_absence_is_a_test_like_any_other() -> None:
    rng = np.random.default_rng(2)
    X = (rng.random((500, 300)) < 0.01).astype(float)
    X[:, 77] = rng.random(500) < 0.5
    bank = Screened(Tree(subset=1.0, ridge=1.0), 16, 5).start(1, LINE, 300, rng)
    for t, x in enumerate(X, start=1):
        bank.update(x, np.array([-2.0 * (x[77] == 0.0)]), t)
    there = np.eye(300)[77]
    assert bank.play(there)[0] < 0.05
    assert bank.play(np.zeros(300))[0] > 0.95


def test_damage_is_found() -> None:
    bank = Screened(Linear(), 2, 1).start(1, LINE, 5, np.random.default_rng(0))
    bank.update(np.array([0.0, 1.0, 0.0, 1.0, 0.0]), np.array([1.0]), 1)
    for name, where, value in (("taken", 0, 9), ("chosen", 1, 77), ("seen", 4, -3)):
        broken = bank.arrays()[name]
        kept, broken[where] = broken[where], value
        with pytest.raises(ValueError, match="The places are damaged"):
            bank.play(np.ones(5))
        broken[where] = kept
    bank.play(np.ones(5))


def test_arguments_that_make_no_sense_are_refused() -> None:
    for wrong, name in (({"places": 0}, "places"), ({"proven": 0}, "proven"), ({"learner": FPL()}, "learner")):
        with pytest.raises(ValueError, match=f"{name} must"):
            Screened(**wrong)
    for wrong in ({"learner": FPL()}, {"wide": FPL()}, {"most": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            ByWidth(**wrong)


def test_categories_are_told_to_those_who_see_all_columns() -> None:
    forest = Mixed((Level(), Grown()), (1, 1))
    spec = ByWidth(forest, Mixed((Wide(), Screened(forest))), most=10)
    assert [spec.is_wide(n) for n in (10, 11)] == [False, True]
    knows = knowing(spec, ((0, 3),))
    assert knows.learner.parts[1].categories == ((0, 3),)
    assert knows.wide == spec.wide
    assert [knows.is_wide(n) for n in (40, 41)] == [False, True]


def test_either_learner_is_asked() -> None:
    spec = ByWidth(SecondOrder(centre="zero"), Wide(), most=3)
    assert spec.fits_residuals
    assert not spec.branches
    assert not spec.remembers
    assert not spec.bets
    assert ByWidth(Linear(), Tree(), 3).branches
    assert not ByWidth(Linear(), Wide(), 3).fits_residuals
    assert spec.n_floats(1, LINE, 3) == SecondOrder(centre="zero").n_floats(1, LINE, 3)
    assert spec.n_floats(1, LINE, 4) == Wide().n_floats(1, LINE, 4)


def test_a_narrow_bank_that_becomes_wide_starts_again() -> None:
    rng = np.random.default_rng(0)
    bank = ByWidth(Forgetting(), Wide(), most=3).start(1, LINE, 2, rng)
    assert bank.kind == "Forgetting"
    assert bank.stretched(3, rng) is not None
    assert bank.stretched(4, rng) is None
    wide = ByWidth(Forgetting(), Wide(), most=3).start(1, LINE, 4, rng)
    larger = wide.stretched(9, rng)
    assert larger is not None
    assert larger.kind == "Wide"

"""The default on wide, sparse contexts: narrow ones are as they were, files and journals go on, and losses are low."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import banditboost as bb
from banditboost.algorithms import boosted
from banditboost.algorithms.default_parts import MOST
from banditboost.learners import ByWidth, Grown
from banditboost.spaces import Interval

SPACE = Interval(-3.0, 3.0)


def world(rounds: int, features: int, seed: int = 0) -> bb.worlds.Supervised:
    """Ten features a round, some of them common; labels are linear in them, and one pair of them matters together."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((features ** rng.random((rounds, 10))).astype(int), features - 1)
    X = sparse.coo_array((np.ones(columns.size), (np.repeat(np.arange(rounds), 10), columns.ravel()))).tocsr()
    X = sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=(rounds, features))
    y = X @ rng.normal(size=features)
    return bb.worlds.Supervised(X, (y - y.mean()) / y.std(), noise=bb.noise.Uniform(0.1), seed=seed)


def test_narrow_contexts_are_played_as_they_were() -> None:
    rows, booster = world(60, MOST), boosted(SPACE, answers=4)
    chosen: Any = booster.spec.learner
    assert isinstance(chosen, ByWidth)
    before = bb.Booster.from_spec(replace(booster.spec, learner=chosen.learner))
    one, two = (bb.evaluate.progressive(who, rows) for who in (booster, before))
    assert np.array_equal(one.predictions, two.predictions)


def test_wide_contexts_are_learned_from() -> None:
    rows = world(2000, 100_000)
    for answers in (30, 2):
        trace = bb.evaluate.progressive(boosted(SPACE, answers=answers), rows, compiled=True)
        assert trace.losses[1000:].mean() < 0.75


def test_plain_and_compiled_rounds_and_files_are_one_trajectory(tmp_path: Path) -> None:
    rows = world(150, 400)
    plain, compiled = (
        bb.evaluate.progressive(boosted(SPACE, answers=4), rows, compiled=way).predictions for way in (False, True)
    )
    np.testing.assert_allclose(plain, compiled, atol=1e-9)
    first, rest = boosted(SPACE, answers=4), []
    bb.evaluate.progressive(first, rows.head(100))
    first.save(tmp_path / "wide.npz")
    for booster in (first, bb.Booster.load(tmp_path / "wide.npz")):
        found = [booster.step(x, lambda points: points**2).prediction for x in rows.contexts(100, 150).toarray()]
        rest.append(np.array(found))
    assert np.array_equal(rest[0], rest[1])


def test_a_journal_of_wide_rounds_is_read_again(tmp_path: Path) -> None:
    rows = world(40, 300)
    booster, again = boosted(SPACE, answers=2), boosted(SPACE, answers=2)
    with bb.Journal(tmp_path / "wide.journal", booster, snapshot_every=9):
        for t in range(40):
            booster.step(rows.context(t), lambda points: points**2)
        before = booster.digest()
    with bb.Journal(tmp_path / "wide.journal", again):
        assert again.digest() == before


@pytest.mark.long
@pytest.mark.parametrize("copies", [1, 2, 5])
def test_every_number_of_copies_has_a_wide_form(copies: int) -> None:
    memory = None if copies < 4 else "auto"
    booster = boosted(SPACE, copies=copies, answers=2, memory=memory)  # type: ignore[arg-type]
    trace = bb.evaluate.progressive(booster, world(60, 300), compiled=True)
    assert np.isfinite(trace.losses).all()


def test_a_forest_of_one_s_own_stays_as_it_is() -> None:
    chosen: Any = boosted(SPACE, memory=Grown(trees=7, growth=1.5)).spec.learner
    forest = chosen.wide.parts[-1].learner.learner.parts[-1]
    assert (forest.trees, forest.growth, forest.leaves) == (7, 1.5, 31)


def test_a_block_of_first_rounds_that_fails_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from banditboost.evaluate import compiled

    booster, rows = boosted(SPACE, answers=2), world(60, 300)
    fresh = bb.Booster.from_spec(booster.spec, 300)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "check_block", fail)
        with pytest.raises(KeyboardInterrupt):
            bb.evaluate.progressive(booster, rows, compiled=True)
    for name, array in fresh.arrays().items():
        assert np.array_equal(array, booster.arrays()[name]), name
    one, two = (bb.evaluate.progressive(who, rows).predictions for who in (booster, fresh))
    assert np.array_equal(one, two)

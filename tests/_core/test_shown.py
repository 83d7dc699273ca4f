"""What copies are shown: who may write to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._core.shown import Shown
from banditboost.learners import Mixed, Screened, Steady, Tree


def test_what_may_be_written_to_is_a_copy_unless_it_is_spare() -> None:
    made = np.arange(6.0).reshape(3, 1, 2)
    shown, spare = Shown.features(made), Shown.features(made, spare=True)
    assert not np.shares_memory(shown.dense(), made)
    assert np.shares_memory(shown.dense(written=False), made)
    assert np.shares_memory(spare.dense(), made)
    for table in (np.arange(6.0).reshape(3, 2), csr_array(np.arange(6.0).reshape(3, 2))):
        contexts = Shown(table, np.array([2, 0]))
        assert np.array_equal(contexts.dense(), contexts.dense(written=False))
        assert np.array_equal(contexts.dense(), [[4.0, 5.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="the same for all copies"):
        Shown.features(np.zeros((3, 2, 2))).dense()


def test_copies_side_by_side_do_not_write_over_what_others_see() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[150:] *= 1000.0  # units change, so that what `Steady` shows is not what came
    trees = Tree(subset=1.0, grace=5, evidence=1.0)
    spec = bb.Booster(Screened(Mixed((Steady(trees), trees), (1, 1)), 3, 1), 2, space=bb.spaces.Interval(-3, 3)).spec
    found = []
    for compiled in (True, False):
        world = bb.worlds.Supervised(X, X[:, 0] > 0, noise=bb.noise.Uniform(0.1))
        found.append(bb.evaluate.progressive(bb.Booster.from_spec(spec), world, compiled=compiled).predictions)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10)

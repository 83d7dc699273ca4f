"""Streams in their own order: rows as River makes them, changes where they are said to be, a missing wheel named."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.experiments import drift_streams, further
from banditboost.experiments.drift_streams import FRIEDMAN, TABLES, changes, in_order, names
from banditboost.noise import Uniform
from tests.experiments.test_further import SHAPES, installed


def one(x: Array) -> Array:
    """Friedman's function."""
    return np.asarray(10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4])


def off(name: str, rounds: int, seed: int = 0) -> Array:
    """By how much labels are off Friedman's function, in River's units, where the noise has a standard deviation of one."""
    contexts, labels = drift_streams._friedman(name, rounds, seed)
    return np.abs(labels - one(contexts))


@pytest.mark.parametrize("name", FRIEDMAN)
def test_labels_follow_the_old_function_up_to_the_first_change_and_no_longer(name: str) -> None:
    at = (*changes(name, 6000), 6000)
    far = off(name, 6000)
    assert len(at) - 1 == FRIEDMAN[name]
    assert far[: at[0]].max() < 5.0
    assert far[: at[0]].std() > 0.4
    if name != "friedman":
        after = far[at[0] : at[1]]
        assert (after > 5.0).mean() > (0.001 if name == "lea" else 0.2)
    if name == "gra":
        assert far[at[1] :].max() < 5.0, "the old function comes back"
    if name == "gsg":
        mixed, pure = far[at[0] : at[0] + 300], far[at[0] + 300 : at[1]]
        assert 0.3 < (mixed > 5.0).mean() / (pure > 5.0).mean() < 0.7, "half of the rounds are old ones for a while"
    if name == "lea":
        shares = [(far[begin:end] > 5.0).mean() for begin, end in pairwise(at)]
        assert shares == sorted(shares)
        assert shares[0] < shares[2] / 3, "the regions grow"


def test_rows_are_those_of_river() -> None:
    synth = pytest.importorskip("river.datasets.synth")
    world = in_order("lea", rounds=40, seed=5)
    made = synth.FriedmanDrift(drift_type="lea", position=(10, 20, 30), transition_window=2, seed=5)
    rows = list(made.take(40))
    labels = np.array([y for _, y in rows])
    np.testing.assert_array_equal(world.contexts(), [list(x.values()) for x, _ in rows])
    np.testing.assert_allclose(world.labels(), labels / labels.std())


@pytest.mark.parametrize("name", FRIEDMAN)
def test_seeds_make_streams(name: str) -> None:
    first, same, other = (in_order(name, 200, Uniform(0.1), seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.labels(), same.labels())
    assert not np.array_equal(first.labels(), other.labels())
    assert (first.noise, first.seed, other.seed) == (Uniform(0.1), 1, 2)
    assert first.labels().std() == pytest.approx(1.0)
    assert first.contexts().shape == (200, 10)
    assert (first.contexts().min() >= 0, first.contexts().max() <= 1) == (True, True)


@pytest.mark.parametrize("name", TABLES)
def test_tables_come_in_the_order_of_their_files(name: str) -> None:
    if not installed(further.tables()[name].distribution):
        with pytest.raises(ImportError, match=rf"{name} lies in .*: pip install"):
            in_order(name)
        return
    world, contexts, labels = in_order(name, seed=3), *further.read(name)
    assert (len(world), world.features, world.seed) == (*SHAPES[name], 3)
    np.testing.assert_array_equal(world.contexts(), contexts)
    np.testing.assert_array_equal(world.labels(), labels)
    np.testing.assert_array_equal(in_order(name, 50).labels(), labels[:50])
    assert changes(name) == ()
    # In order: labels are more like those of the round before than those of a round far away.
    jumps = np.square(np.diff(labels)).mean()
    assert jumps < 0.8 * 2.0
    assert np.square(np.diff(world.shuffled(1).labels())).mean() == pytest.approx(2.0, rel=0.25)


def test_the_order_is_that_of_time() -> None:
    days = in_order("approval").contexts()[:, 0]
    assert np.all(np.diff(days) >= 0)


def test_what_makes_no_sense_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(names()) == {*FRIEDMAN, *TABLES}
    with pytest.raises(ValueError, match=r"^name must be one of"):
        in_order("nowhere")
    with pytest.raises(ValueError, match=r"^rounds must be a whole number of at least 1, got 0"):
        in_order("gra", 0)
    with pytest.raises(ValueError, match=r"^rounds must be a whole number of at least 1, got 0"):
        in_order("chicks", 0)
    with pytest.raises(ValueError, match=r"^seed must be a whole number of at least 0, got -1"):
        in_order("gra", seed=-1)
    monkeypatch.setitem(sys.modules, "river.datasets", None)
    with pytest.raises(ImportError, match=r"^gra is made by river: pip install 'banditboost\[bench\]'"):
        in_order("gra", rounds=123)

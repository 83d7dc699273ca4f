"""Traces that keep less: the same run, the same sums at the ends of blocks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.evaluate import Trace, progressive

WORLD = bb.worlds.SyntheticLinear(rounds=230, features=3, noise=bb.noise.Uniform(0.1))
ENDS = [50, 100, 150, 200, 230]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[progressive.__module__], "BLOCK", 50)


def run(keep: Any, way: str) -> tuple[Trace, bb.Booster]:
    """The same run, keeping more or less of it."""
    world: bb.worlds.World = WORLD
    booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-2.0, 2.0), copies=3, seed=2)
    if way == "weights":
        world = bb.worlds.WeightSpace(WORLD)
        gradient, space = bb.gradients.OnePoint(0.5), bb.spaces.Ball(4, 2.0)
        booster = bb.Booster(learner=bb.learners.OGD(), copies=3, gradient=gradient, space=space, inside=False, seed=2)
    return progressive(booster, world, keep=keep, compiled=way != "plain"), booster


@pytest.mark.parametrize("way", ["plain", "compiled", "weights"])
def test_less_is_kept_of_the_same_run(way: str) -> None:
    (full, one), (losses, two), (means, three) = (run(keep, way) for keep in ("all", "losses", "means"))
    np.testing.assert_array_equal(losses.losses, full.losses)
    np.testing.assert_array_equal(losses.paid, full.paid)
    assert losses.predictions.shape == (0, *full.predictions.shape[1:])
    assert means.predictions.shape == (0, *full.predictions.shape[1:])
    assert means.compiled == full.compiled == (way != "plain")
    x = None if way == "weights" else np.ones(3)
    np.testing.assert_array_equal(one.predict(x), two.predict(x))
    np.testing.assert_array_equal(one.predict(x), three.predict(x))

    assert means.ends is not None
    assert (means.ends.tolist(), means.rounds.tolist(), len(means.losses)) == (ENDS, ENDS, 5)
    assert len(means) == len(full) == full.rounds[-1] == 230
    at = np.array(ENDS) - 1
    np.testing.assert_allclose(means.running, full.running[at], rtol=1e-12)
    np.testing.assert_allclose(means.cumulative, full.cumulative[at], rtol=1e-12)
    np.testing.assert_allclose(means.total(means.paid), np.cumsum(full.paid)[at], rtol=1e-12)
    assert means.mean == pytest.approx(full.mean, rel=1e-12)
    for trace in (full, means):
        trace.compare("best", WORLD.best_losses)
    np.testing.assert_allclose(means.regret("best"), full.regret("best")[at], rtol=1e-9)


def test_tables_and_pictures_have_a_row_for_each_block() -> None:
    pytest.importorskip("polars")
    plt = pytest.importorskip("matplotlib.pyplot")
    (full, _), (means, _) = run("all", "compiled"), run("means", "compiled")
    for trace in (full, means):
        trace.compare("best", WORLD.best_losses)
    frame = means.to_frame()
    assert frame["round"].to_list() == ENDS
    rows = full.to_frame()[[end - 1 for end in ENDS]]
    for name in ("running", "running_paid", "cumulative_paid", "regret against best", "paid regret against best"):
        np.testing.assert_allclose(frame[name].to_numpy(), rows[name].to_numpy(), rtol=1e-9)
    ax = means.plot()
    paid = np.cumsum(full.paid)[np.array(ENDS) - 1] / ENDS
    best = np.cumsum(WORLD.best_losses)[np.array(ENDS) - 1] / ENDS
    for line, expected in zip(ax.lines, (paid, means.running, best), strict=True):
        assert np.asarray(line.get_xdata()).tolist() == ENDS
        np.testing.assert_allclose(np.asarray(line.get_ydata()), expected, rtol=1e-9)
    plt.close("all")


def test_one_short_block_is_enough() -> None:
    trace = progressive(bb.algorithms.ogd(bb.spaces.Interval(-2.0, 2.0)), WORLD.head(7), keep="means")
    assert trace.ends is not None
    assert trace.ends.tolist() == [7]
    assert trace.running.shape == (1,)


def test_other_words_are_refused_before_anything_happens() -> None:
    booster = bb.algorithms.ogd(bb.spaces.Interval(-2.0, 2.0))
    with pytest.raises(ValueError, match=r"^keep must be one of all, losses, means; got 'some'\.$"):
        progressive(booster, WORLD, keep="some")  # type: ignore[arg-type]
    assert booster.bank is None
    with pytest.raises(ValueError, match=r"losses must have shape \(230,\), got \(5,\)"):
        run("means", "compiled")[0].compare("short", np.zeros(5))


def test_a_failed_block_leaves_no_mean() -> None:
    """What a block would have kept is kept only when it ends well."""
    trace = Trace.blank(4, (), "means", 2, False)
    trace.losses[:] = -1.0
    with pytest.raises(ZeroDivisionError), trace.block(0, 2) as kept:
        kept.losses[:] = 1 / 0
    assert trace.losses.tolist() == [-1.0, -1.0]

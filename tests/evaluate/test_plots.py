"""Pictures: what is drawn is what the trace holds, number by number."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import banditboost as bb
from banditboost.evaluate import GradientNoise, Snapshots, Trace


@pytest.fixture(autouse=True)
def no_figures() -> Any:
    matplotlib.use("Agg")
    plt.close("all")
    yield
    plt.close("all")


def made(seed: int, rounds: int = 30) -> Trace:
    rng = np.random.default_rng(seed)
    trace = Trace(rng.random(rounds), 1 + rng.random(rounds), rng.random(rounds))
    trace.compare("half", np.full(rounds, 0.5))
    return trace


def lines(ax: Axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    ax.figure.canvas.draw()
    return {
        str(line.get_label()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in ax.get_lines()
    }


def test_regret_beside_a_bound_that_is_a_function() -> None:
    trace = made(1, 1000)
    ax = trace.plot.regret("half", bound=lambda t: bb.theory.ogd_regret(t, sigma=2.0, diameter=1.0))
    drawn = lines(ax)
    np.testing.assert_array_equal(drawn["regret, predicted"][0], np.arange(1, 1001))
    np.testing.assert_allclose(drawn["regret, predicted"][1], trace.regret("half"))
    np.testing.assert_allclose(drawn["regret, paid"][1], trace.regret("half", paid=True))
    horizons, promised = drawn["bound"]
    assert (horizons[0], horizons[-1]) == (1, 1000)
    assert len(horizons) <= 200
    np.testing.assert_allclose(promised, 3.0 * np.sqrt(horizons))
    assert ax.get_ylabel() == "regret against half"


def test_regret_beside_numbers() -> None:
    trace = made(2)
    per_round = lines(trace.plot.regret("half", bound=np.arange(30.0)))["bound"]
    np.testing.assert_array_equal(per_round[0], np.arange(1, 31))
    np.testing.assert_array_equal(per_round[1], np.arange(30.0))
    level = lines(trace.plot.regret("half", bound=7.0))["bound"]
    assert (level[0].tolist(), level[1].tolist()) == ([1, 30], [7, 7])
    assert set(lines(trace.plot.regret("half", label="ours"))) == {"ours, paid", "ours, predicted"}
    assert set(lines(trace.plot.regret("half", label="ours", paid=False))) == {"ours"}


def test_what_was_paid_is_thick_and_of_the_same_colour() -> None:
    trace = made(1)
    for ax in (trace.plot(), trace.plot.regret("half"), trace.plot.running([made(2)]), trace.plot.copies(3, {})):
        paid, predicted = ax.get_lines()[:2] if not ax.containers else (bars[0] for bars in ax.containers)
        assert paid.get_linestyle() == predicted.get_linestyle() == "-"
        assert paid.get_linewidth() > 2 * predicted.get_linewidth()
        assert paid.get_color() == predicted.get_color()
        legend = ax.get_legend()
        assert legend is not None
        said = [text.get_text() for text in legend.get_texts()][:3]
        assert sum("paid" in name for name in said) == 1


def test_a_run_that_was_told_gradients_has_one_curve() -> None:
    trace = made(1)
    trace.told = True
    assert set(lines(trace.plot())) == {"at the prediction", "half"}
    assert set(lines(trace.plot.regret("half"))) == {"regret"}
    assert set(lines(made(2).plot.running([trace], label="two"))) == {"two", "half"}
    assert len(made(2).plot.copies(1, {3: trace}).containers) == 1


def test_running_has_the_mean_and_a_band_over_runs() -> None:
    runs = [made(seed) for seed in range(4)]
    ax = runs[0].plot.running(runs[1:], label="four seeds")
    curves = np.array([run.running for run in runs])
    np.testing.assert_allclose(lines(ax)["four seeds, predicted"][1], curves.mean(axis=0))
    paid = np.array([run.running_paid for run in runs])
    np.testing.assert_allclose(lines(ax)["four seeds, paid"][1], paid.mean(axis=0))
    np.testing.assert_allclose(lines(ax)["half"][1], 0.5)
    _, band = ax.collections
    corners = band.get_paths()[0].vertices
    assert isinstance(corners, np.ndarray)
    for t in range(30):
        at = corners[corners[:, 0] == t + 1, 1]
        assert (at.min(), at.max()) == pytest.approx((curves[:, t].min(), curves[:, t].max()))


def test_running_alone_has_no_band_and_comparators_come_once() -> None:
    ax = Figure().subplots()
    made(1).plot.running(ax=ax, label="one", paid=False)
    assert made(2).plot.running(ax=ax, label="two", paid=False) is ax
    assert not ax.collections
    assert [line.get_label() for line in ax.get_lines()] == ["one", "half", "two"]


def test_loss_against_copies() -> None:
    mine, one, many = made(1), made(2), [made(3), made(4)]
    ax = mine.plot.copies(10, {1: one, 30: many}, since=10)
    paid = np.asarray(ax.get_lines()[0].get_ydata())
    np.testing.assert_allclose(paid[:2], [one.paid[10:].mean(), mine.paid[10:].mean()])
    ax = mine.plot.copies(10, {1: one, 30: many}, since=10, paid=False)
    curve, level = ax.get_lines()[0], lines(ax)["half"]
    means = [run.losses[10:].mean() for run in (one, mine, *many)]
    np.testing.assert_array_equal(np.asarray(curve.get_xdata()), [1, 10, 30])
    np.testing.assert_allclose(np.asarray(curve.get_ydata()), [means[0], means[1], (means[2] + means[3]) / 2])
    np.testing.assert_allclose(level[1], 0.5)
    bars: Any = ax.collections[0]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(np.sort(ends[2]), sorted(means[2:]))
    np.testing.assert_allclose(ends[0], means[0])
    assert ax.get_ylabel() == "mean loss from round 11 on"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "10", "30"]


def noise_report() -> tuple[Trace, GradientNoise]:
    world = bb.worlds.SyntheticLinear(rounds=60, features=2, noise=bb.noise.Uniform(0.1))
    booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), copies=5)
    ways = [bb.gradients.OnePoint(0.4), bb.gradients.Surrogate(0.5)]
    report = bb.evaluate.gradient_noise(booster, world, ways, measures=2, repeats=5)
    return made(1, 60), report


def test_noise_draws_the_report() -> None:
    trace, report = noise_report()
    ax = trace.plot.noise(report)
    ax.figure.canvas.draw()
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    np.testing.assert_allclose(widths[0], [row.variance for row in report.rows])
    np.testing.assert_allclose(widths[1], [row.bias**2 for row in report.rows])
    np.testing.assert_allclose(widths[2], [row.smoothing**2 for row in report.rows])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["OnePoint(delta=0.4)", "Surrogate"]
    assert ax.get_xlim()[1] == pytest.approx(2 * max(row.variance for row in report.rows))
    assert widths[0][0] > 10 * widths[0][1]


def watched() -> tuple[Trace, Snapshots, bb.Booster]:
    world = bb.worlds.SyntheticLinear(rounds=9000, features=2, noise=bb.noise.Uniform(0.1))
    booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), copies=4)
    snapshots = Snapshots(booster)
    return bb.evaluate.progressive(booster, world, progress=snapshots), snapshots, booster


def test_weights_of_the_copies_over_time() -> None:
    trace, snapshots, booster = watched()
    assert snapshots.rounds == [4096, 8192, 9000]
    assert isinstance(booster.bank, bb.learners.linear.LinearBank)
    np.testing.assert_array_equal(snapshots.weights[-1], booster.bank.weights)
    assert not np.array_equal(snapshots.weights[0], snapshots.weights[1])
    ax = trace.plot.weights(snapshots)
    norms = np.linalg.norm(booster.bank.weights.reshape(4, -1), axis=1)
    for i, line in enumerate(ax.get_lines()):
        assert np.asarray(line.get_xdata()).tolist() == snapshots.rounds
        assert np.asarray(line.get_ydata())[-1] == pytest.approx(norms[i])
    assert {"copy 1", "copy 4"} <= set(lines(ax))
    single = trace.plot.weights(snapshots, of=1).get_lines()
    assert [float(np.asarray(line.get_ydata())[0]) for line in single] == snapshots.weights[0, :, 1].tolist()


def test_snapshots_keep_one_a_round_and_copies_of_it() -> None:
    booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-1, 1), copies=2)
    snapshots = Snapshots(booster)
    with pytest.raises(ValueError, match=r"name must be one of this booster's arrays \(none before the first round\)"):
        snapshots.take()
    with pytest.raises(ValueError, match="Snapshots must hold at least one snapshot"):
        _ = snapshots.weights
    for _ in range(2):
        booster.step([1.0], lambda queries: queries**2)
        snapshots.take()
    assert snapshots.rounds == [1, 2]
    before = snapshots.weights.copy()
    booster.step([1.0], lambda queries: queries**2)
    np.testing.assert_array_equal(snapshots.weights, before)
    with pytest.raises(ValueError, match=r"\(weights\), got 'roots'"):
        Snapshots(booster, "roots").take()


def test_snapshots_want_one_row_per_copy() -> None:
    booster = bb.algorithms.boosted(bb.spaces.Interval(-1, 1), copies=3)
    booster.step([1.0], lambda queries: queries**2)
    with pytest.raises(ValueError, match=r"one row per copy \(3\), got one of shape"):
        Snapshots(booster, next(iter(booster.arrays()))).take()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda plot: plot.regret("none such"), "comparator must be one that was added"),
        (lambda plot: plot.regret("half", bound=[1.0, 2.0]), r"bound must have shape \(30,\), got \(2,\)"),
        (lambda plot: plot.regret("half", bound=lambda t: np.nan), "bound must be finite"),
        (
            lambda plot: plot.running([made(1, 31)]),
            r"others must be as long as this trace \(30 rounds\), got \[30, 31\]",
        ),
        (lambda plot: plot.copies(0, {}), "mine must be a whole number of at least 1"),
        (lambda plot: plot.copies(1, {}, since=30), r"since must be below the number of rounds \(30\), got 30"),
        (lambda plot: plot.weights(watched()[1], of=3), r"of must be below the number of a copy's weights \(3\)"),
    ],
)
def test_what_is_wrong_is_said_before_a_figure_is_opened(draw: Callable[[Any], Axes], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(made(1).plot)
    assert plt.get_fignums() == []


def test_without_matplotlib_a_sentence_says_what_to_install() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
import numpy as np, banditboost as bb
try:
    bb.evaluate.Trace(np.ones(2), np.ones(2), np.ones(2)).plot.running()
except ImportError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout == "plot needs matplotlib: pip install 'banditboost[cli]'.\n", shown.stderr

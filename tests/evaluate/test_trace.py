"""Traces: sums, means and regrets by hand, tables and pictures of the same numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from banditboost.evaluate import Trace


@pytest.fixture
def trace() -> Trace:
    rng = np.random.default_rng(51)
    made = Trace(rng.random(40), 1 + rng.random(40), rng.random((40, 2)))
    made.compare("best fixed", rng.random(40))
    made.compare("mean", np.full(40, 0.5))
    return made


def test_sums_against_loops(trace: Trace) -> None:
    assert len(trace) == 40
    total, regret, paid = 0.0, 0.0, 0.0
    for t in range(40):
        total += trace.losses[t]
        regret += trace.losses[t] - trace.comparators["best fixed"][t]
        assert trace.cumulative[t] == pytest.approx(total)
        assert trace.running[t] == pytest.approx(total / (t + 1))
        assert trace.regret("best fixed")[t] == pytest.approx(regret)
        paid += trace.paid[t]
        assert trace.cumulative_paid[t] == pytest.approx(paid)
        assert trace.running_paid[t] == pytest.approx(paid / (t + 1))
        assert trace.regret("mean", paid=True)[t] == pytest.approx(paid - 0.5 * (t + 1))
        assert trace.regret("mean")[t] == pytest.approx(total - 0.5 * (t + 1))
    assert trace.mean == pytest.approx(total / 40)
    assert trace.mean_paid == pytest.approx(paid / 40)
    assert trace.mean == pytest.approx(trace.running[-1])


def test_a_comparator_may_lose(trace: Trace) -> None:
    trace.compare("poor", np.full(40, 9.0))
    assert (np.diff(trace.regret("poor")) < 0).all()


def test_comparators_are_copies_and_checked(trace: Trace) -> None:
    losses = np.zeros(40)
    trace.compare("zero", losses)
    losses[:] = 5.0
    np.testing.assert_allclose(trace.regret("zero"), trace.cumulative)
    with pytest.raises(ValueError, match=r"losses must have shape \(40,\), got \(39,\)"):
        trace.compare("short", np.zeros(39))
    with pytest.raises(ValueError, match="losses must be finite"):
        trace.compare("broken", np.full(40, np.nan))
    assert set(trace.comparators) == {"best fixed", "mean", "zero"}


def test_a_wrong_name_says_which_there_are(trace: Trace) -> None:
    with pytest.raises(ValueError, match=r"\(best fixed, mean\), got 'worst'"):
        trace.regret("worst")
    with pytest.raises(ValueError, match=r"\(none was added\), got 'worst'"):
        Trace(np.ones(2), np.ones(2), np.ones(2)).regret("worst")


def test_traces_do_not_share_comparators() -> None:
    one, other = (Trace(np.ones(2), np.ones(2), np.ones(2)) for _ in range(2))
    one.compare("x", np.ones(2))
    assert not other.comparators


def test_frame_has_one_row_per_round(trace: Trace) -> None:
    pytest.importorskip("polars")
    frame = trace.to_frame()
    assert frame.columns == [
        "round",
        "loss",
        "paid",
        "running",
        "running_paid",
        "cumulative",
        "cumulative_paid",
        "regret against best fixed",
        "paid regret against best fixed",
        "regret against mean",
        "paid regret against mean",
    ]
    assert frame.height == 40
    assert frame["round"].to_list() == list(range(1, 41))
    for column, values in (
        ("loss", trace.losses),
        ("paid", trace.paid),
        ("running", trace.running),
        ("running_paid", trace.running_paid),
        ("cumulative", trace.cumulative),
        ("cumulative_paid", trace.cumulative_paid),
        ("paid regret against best fixed", trace.regret("best fixed", paid=True)),
        ("paid regret against mean", trace.regret("mean", paid=True)),
        ("regret against best fixed", trace.regret("best fixed")),
        ("regret against mean", trace.regret("mean")),
    ):
        np.testing.assert_array_equal(frame[column].to_numpy(), values)


@pytest.fixture
def pyplot() -> Iterator[None]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.close("all")
    yield
    plt.close("all")


@pytest.mark.usefixtures("pyplot")
def test_plot_draws_the_running_means(trace: Trace) -> None:
    ax = trace.plot()
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in ax.get_lines()}
    assert set(lines) == {"at the prediction", "paid, at the points asked", "best fixed", "mean"}
    np.testing.assert_allclose(lines["at the prediction"], trace.running)
    np.testing.assert_allclose(lines["paid, at the points asked"], np.cumsum(trace.paid) / np.arange(1, 41))
    np.testing.assert_allclose(lines["mean"], 0.5)
    np.testing.assert_array_equal(np.asarray(ax.get_lines()[0].get_xdata()), np.arange(1, 41))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "mean loss so far")
    assert ax.get_legend() is not None
    ax.figure.canvas.draw()


@pytest.mark.usefixtures("pyplot")
def test_plot_draws_regret_on_axes_given(trace: Trace) -> None:
    ax = trace.plot("mean")
    again = trace.plot("best fixed", ax=ax, label="ours")
    assert again is ax
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in ax.get_lines()}
    assert len(lines) == 4
    np.testing.assert_allclose(lines["regret against mean, predicted"], trace.regret("mean"))
    np.testing.assert_allclose(lines["regret against mean, paid"], trace.regret("mean", paid=True))
    np.testing.assert_allclose(lines["ours, predicted"], trace.regret("best fixed"))
    np.testing.assert_allclose(lines["ours, paid"], trace.regret("best fixed", paid=True))
    ax.figure.canvas.draw()


@pytest.mark.usefixtures("pyplot")
def test_a_wrong_name_opens_no_figure(trace: Trace) -> None:
    from matplotlib import pyplot as plt

    with pytest.raises(ValueError, match="comparator must be one that was added with compare"):
        trace.plot("worst")
    assert plt.get_fignums() == []

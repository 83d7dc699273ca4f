"""Bands in traces: made before each round is told, by the compiled loop and the plain one, and scored so that cheating shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.evaluate import EarlyStopping, Trace, progressive, sweep

SPACE = bb.spaces.Interval(-1.0, 1.0)
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 1, (700, 3)), RNG.uniform(-1, 1, 700)
WORLD = bb.worlds.Supervised(X, Y * X[:, 0], noise=bb.noise.Uniform(0.1))
GRADIENTS: dict[str, dict[str, Any]] = {
    "one": {"answers": 1},
    "three": {"answers": 3},
    "fitted": {"gradient": bb.gradients.Fitted(0.4, scaled=True)},
    "budget": {"gradient": bb.gradients.Budget(bb.gradients.OnePoint(0.2), 1)},
    "two sides": {"gradient": bb.gradients.TwoPoint(0.2)},
}


def made(name: str = "one", **options: Any) -> bb.Booster:
    return bb.algorithms.boosted(SPACE, copies=4, **({"bands": True} | GRADIENTS[name] | options))


def columns(trace: Trace) -> tuple[Array, Array]:
    assert trace.answered is not None
    assert trace.bands is not None
    return trace.answered, trace.bands


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_compiled_and_plain_runs_have_the_same_bands(name: str) -> None:
    fast, plain = made(name), made(name)
    quick, slow = progressive(fast, WORLD, compiled=True), progressive(plain, WORLD, compiled=False)
    for found, expected in zip(columns(quick), columns(slow), strict=True):
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-8, equal_nan=True)
    # What the compiled run was told, told again one round after the other, leaves the same bits.
    answered, bands = columns(quick)
    part = bb.bands.Conformal()
    memory = part.start(3)
    for x, told, band in zip(X, answered, bands, strict=True):
        assert part.band(memory, x)[:2] == tuple(band)
        if not np.isnan(told):
            part.learn(memory, x, told)
    assert all(np.array_equal(array, fast.bands_memory[entry]) for entry, array in memory.items())


def test_rounds_without_questions_are_no_misses() -> None:
    trace = progressive(made("budget"), WORLD)
    silent = np.isnan(columns(trace)[0])
    assert 0.1 < silent.mean() < 0.9
    assert 0.8 < trace.coverage(100) < 1.0


def test_a_run_in_blocks_and_a_sparse_world_have_the_same_bands() -> None:
    whole = columns(progressive(made(), WORLD))[1]
    blocks = columns(progressive(made(), WORLD, callbacks=[EarlyStopping(1000, window=37)]))[1]
    assert np.array_equal(whole, blocks)
    sparse = bb.worlds.Supervised(csr_array(X), Y * X[:, 0], noise=bb.noise.Uniform(0.1))
    assert np.allclose(columns(progressive(made(), sparse))[1], whole, rtol=1e-6, atol=1e-8)


def test_a_sweep_has_bands_too() -> None:
    one = columns(progressive(made(), WORLD))[1]
    both = sweep([made(), made(bands=False)], WORLD)
    assert np.allclose(columns(both[0])[1], one, rtol=1e-6, atol=1e-8)
    assert both[1].bands is None
    linear = [bb.algorithms.bandit_boosting(SPACE, copies=2, learner=bb.learners.Linear(radius=r)) for r in (1.0, 2.0)]
    spec = [
        bb.Booster.from_spec(bb.BoosterSpec(**(vars(booster.spec) | {"bands": bb.bands.Conformal()})))
        for booster in linear
    ]
    assert all(np.isfinite(columns(trace)[1][50:]).all() for trace in sweep(spec, WORLD))


@pytest.mark.parametrize("compiled", [True, False])
def test_a_trace_of_means_keeps_no_bands_and_they_learn_all_the_same(compiled: bool) -> None:
    first, second = made(), made()
    trace = progressive(first, WORLD, keep="means", compiled=compiled)
    progressive(second, WORLD, compiled=compiled)
    assert trace.bands is None
    assert first.digest() == second.digest()
    with pytest.raises(ValueError, match="bands must be kept"):
        trace.coverage()


def test_a_run_that_stops_early_has_the_bands_of_its_rounds() -> None:
    trace = progressive(made(), WORLD, callbacks=[EarlyStopping(patience=1, window=50)])
    assert len(trace) < len(WORLD)
    assert columns(trace)[1].shape == (len(trace), 2)


def hand_made(low: float, high: float) -> Trace:
    told = np.array([0.0, 1.0, 2.0, 3.0, np.nan])
    bands = np.tile([low, high], (5, 1))
    return Trace(told, told, np.zeros(5), answered=told, bands=bands)


def test_coverage_width_and_score_by_hand() -> None:
    trace = hand_made(0.5, 2.0)
    assert (trace.coverage(0), trace.band_width(0)) == (0.5, 1.5)
    assert trace.band_score(0) == pytest.approx(1.5 + 20 * (0.5 + 1.0) / 4)  # Gneiting and Raftery 2007, eq. 43
    assert trace.coverage(2) == 0.5
    for since in (5, 9):
        with pytest.raises(ValueError, match="since must be below"):
            trace.coverage(since)


def test_empty_and_infinite_bands_score_worse_than_honest_ones() -> None:
    trace = progressive(made("three"), WORLD)
    told, _ = columns(trace)
    honest = trace.band_score(100)
    assert 0.86 < trace.coverage(100) < 0.94
    for low, high in ((-np.inf, np.inf), (told.mean(), told.mean()), (-9.0, 9.0)):
        cheat = Trace(
            trace.losses, trace.paid, trace.predictions, answered=told, bands=np.tile([low, high], (len(told), 1))
        )
        assert cheat.band_score(100) > 1.2 * honest


def test_frames_have_the_bands() -> None:
    frame = progressive(made(), WORLD).to_frame()
    assert frame.columns[-3:] == ["answered", "low", "high"]
    assert "low" not in progressive(made(bands=False), WORLD).to_frame().columns


def test_the_plot_shades_the_bands() -> None:
    from matplotlib.figure import Figure

    trace = progressive(made(), WORLD)
    ax = trace.plot.bands(pieces=10, ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["told", "bands, 90 %"]  # type: ignore[union-attr]
    told = ax.get_lines()[0].get_ydata()
    assert np.allclose(told, [part.mean() for part in np.array_split(columns(trace)[0], 10)])

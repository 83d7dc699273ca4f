"""Alarms in traces: raised by the compiled loop and the plain one alike, told to callbacks, and marked in plots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import banditboost as bb
from banditboost.drifts import Alarm, Detector
from banditboost.evaluate import EarlyStopping, Event, OnDrift, Trace, progressive, sweep
from banditboost.evaluate.plots import CHANGED

SPACE = bb.spaces.Interval(-4.0, 4.0)
WORLD = bb.worlds.Flip(1500, 3, at=(1000,), noise=bb.noise.Uniform(0.1))
GRADIENTS: dict[str, dict[str, Any]] = {
    "one": {"answers": 1},
    "two": {"answers": 2},
    "thirty": {"answers": 30},
    "fitted": {"gradient": bb.gradients.Fitted(0.4, scaled=True)},
    "budget": {"gradient": bb.gradients.Budget(bb.gradients.OnePoint(0.2), 2)},
}


def made(name: str = "two", **options: Any) -> bb.Booster:
    return bb.algorithms.boosted(SPACE, copies=4, **({"drifts": True} | GRADIENTS[name] | options))


def drifts(trace: Trace) -> tuple[Alarm, ...]:
    assert trace.drifts is not None
    return trace.drifts


@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_compiled_and_plain_runs_raise_the_same_alarms(name: str) -> None:
    fast, plain = made(name, bands=True), made(name, bands=True)
    quick, slow = progressive(fast, WORLD, compiled=True), progressive(plain, WORLD, compiled=False)
    assert drifts(quick) == drifts(slow) == fast.drifts == plain.drifts
    # What the compiled run was told, told again one round after the other, leaves the same bits.
    detector = Detector()
    memory = detector.start()
    assert quick.answered is not None
    for told in quick.answered:
        detector.learn(memory, float(told))
    assert all(np.array_equal(array, fast.drifts_memory[entry]) for entry, array in memory.items())


@pytest.mark.parametrize("name", ["one", "two", "thirty"])
def test_a_flip_is_found_soon_and_its_round_is_known(name: str) -> None:
    first = drifts(progressive(made(name), WORLD))[0]
    assert 1000 < first.round < 1040
    assert abs(first.since - 1000) < 20


@pytest.mark.parametrize("answers", [1, 2, 30])
@pytest.mark.parametrize("seed", [0, 1])
def test_where_nothing_changes_nothing_is_raised(answers: int, seed: int) -> None:
    world = bb.worlds.Flip(6000, at=(), noise=bb.noise.Uniform(0.1), seed=seed)
    booster = bb.algorithms.boosted(bb.spaces.Interval(-7, 7), answers=answers, seed=seed, drifts=True)
    assert drifts(progressive(booster, world)) == ()


def test_a_run_in_blocks_and_a_run_that_goes_on_have_the_same_alarms() -> None:
    whole = progressive(made(), WORLD)
    blocks = progressive(made(), WORLD, callbacks=[EarlyStopping(1000, window=37)])
    assert drifts(blocks) == drifts(whole)
    for compiled in (True, False):
        booster = made()
        progressive(booster, WORLD.head(600))
        late = progressive(booster, bb.worlds.Flip(900, 3, at=(), norm=9.0, seed=5), compiled=compiled)
        assert drifts(late)  # rounds are those of the run, and not of the booster
        assert [alarm.round + 600 for alarm in drifts(late)] == [alarm.round for alarm in booster.drifts]
        assert all(0 <= alarm.since < alarm.round <= 900 for alarm in drifts(late))


def test_a_sweep_and_a_trace_of_means_have_alarms_too() -> None:
    one = drifts(progressive(made(), WORLD))
    both = sweep([made(), made(drifts=False)], WORLD)
    assert drifts(both[0]) == one
    assert both[1].drifts is None
    assert drifts(progressive(made(), WORLD, keep="means")) == one
    linear = bb.algorithms.bandit_boosting(SPACE, copies=2).spec
    watched = [
        bb.Booster.from_spec(bb.BoosterSpec(**(vars(linear) | {"drifts": Detector(), "seed": seed}))) for seed in (0, 0)
    ]
    for booster, trace in zip(watched, sweep(watched, WORLD), strict=True):
        assert drifts(trace) == booster.drifts
        assert booster.drifts_memory["facts"][0] == len(WORLD)


def test_a_callback_is_told_and_may_end_the_run() -> None:
    told: list[tuple[Alarm, int]] = []

    def act(alarm: Alarm, event: Event) -> bool:
        told.append((alarm, event.end))
        return True

    trace = progressive(made(), WORLD, callbacks=[OnDrift(act, every=50)])
    assert told == [(drifts(trace)[0], len(trace))]
    assert len(trace) == 1050
    kept = OnDrift(lambda alarm, event: told.append((alarm, event.end)))
    whole = progressive(made(), WORLD, callbacks=[kept])
    assert [alarm for alarm, _ in told[1:]] == list(drifts(whole))
    told.clear()
    progressive(made(), WORLD, callbacks=[kept])  # begins anew
    assert [alarm for alarm, _ in told] == list(drifts(whole))


def test_a_callback_needs_a_detector_and_a_function() -> None:
    nothing: Any = None
    with pytest.raises(ValueError, match="make the booster with drifts=True"):
        progressive(made(drifts=False), WORLD, callbacks=[OnDrift(lambda alarm, event: None)])
    with pytest.raises(ValueError, match="act must be a function"):
        OnDrift(nothing)


def test_plots_mark_where_the_world_changed() -> None:
    trace = progressive(made(bands=True), WORLD)
    trace.compare("nobody", np.zeros(len(trace)))
    trace.drifts = (Alarm(1010, 1000), Alarm(1300, 1200))
    for draw in (trace.plot.running, trace.plot.bands, lambda ax: trace.plot.regret("nobody", ax=ax)):
        ax = draw(ax=Figure().subplots())
        marks = [line for line in ax.get_lines() if line.get_linestyle() == ":"]
        assert [float(np.asarray(line.get_xdata())[0]) for line in marks] == [1001.0, 1201.0]
        names = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
        assert names.count(CHANGED) == 1
    plain = progressive(made(drifts=False), WORLD)
    assert CHANGED not in [line.get_label() for line in plain.plot(ax=Figure().subplots()).get_lines()]

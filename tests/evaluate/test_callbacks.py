"""Callbacks: blocks end where they must, the run's numbers do not change, and nothing is left half written."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.evaluate import Callback, Checkpoint, EarlyStopping, Event, Log, ProgressBar, progressive


def world(rounds: int = 2500) -> bb.worlds.SyntheticLinear:
    return bb.worlds.SyntheticLinear(rounds=rounds, features=3, noise=bb.noise.Uniform(0.1), seed=3)


def booster() -> bb.Booster:
    return bb.algorithms.boosted(bb.spaces.Interval(-2, 2), copies=5, seed=1)


class Listener(Callback):
    def __init__(self, every: int | None = None, stop: int | None = None) -> None:
        self.every, self.stop = every, stop
        self.seen: list[tuple[int, int]] = []
        self.ends: list[tuple[str, int]] = []

    def block(self, event: Event) -> bool:
        assert np.isfinite(event.losses).all()
        assert len(event.losses) == event.end - event.begin
        self.seen.append((event.begin, event.end))
        return self.stop is not None and event.end >= self.stop

    def end(self, event: Event) -> None:
        self.ends.append((event.why, event.end))


@pytest.mark.parametrize("compiled", [True, False])
def test_blocks_end_at_every_multiple_and_change_nothing(compiled: bool) -> None:
    rounds = 2500 if compiled else 600
    first, second = Listener(200), Listener(300)
    heard = booster()
    trace = progressive(heard, world(rounds), compiled=compiled, callbacks=[first, second])
    ends = {end for _, end in first.seen}
    assert {t for t in range(1, rounds) if t % 200 == 0 or t % 300 == 0} <= ends
    assert [begin for begin, _ in first.seen] == [0, *[end for _, end in first.seen][:-1]]
    assert first.seen == second.seen
    assert first.ends == [("finished", rounds)]
    alone = booster()
    plain = progressive(alone, world(rounds), compiled=compiled)
    np.testing.assert_array_equal(trace.losses, plain.losses)
    for name, array in alone.arrays().items():
        np.testing.assert_array_equal(heard.arrays()[name], array, err_msg=name)


def test_a_callback_ends_the_run_and_the_trace_is_cut() -> None:
    listener, heard = Listener(400, stop=800), booster()
    trace = progressive(heard, world(), callbacks=[listener])
    assert listener.ends == [("stopped", 800)]
    assert len(trace) == len(trace.paid) == len(trace.predictions) == heard.rounds == 800
    np.testing.assert_array_equal(trace.losses, progressive(booster(), world()).losses[:800])


def test_early_stopping_waits_for_its_patience() -> None:
    losses = np.array([5.0, 4.0, 3.0, 3.5, 2.9, 3.0, 2.95, 4.0, 1.0])
    trace = bb.evaluate.Trace(np.repeat(losses, 10), np.zeros(90), np.zeros(90))
    stopping = EarlyStopping(patience=3, window=10)
    stopping.start(Event(booster(), world(), trace, 0, 0, 90))
    stops = [stopping.block(Event(booster(), world(), trace, t - 5, t, 90)) for t in range(5, 91, 5)]
    # The best window is the fifth (2.9); the sixth, seventh and eighth are not better, and the ninth is never waited for.
    assert stops.index(True) == 15
    gentle = EarlyStopping(patience=2, window=10, least=0.5)
    gentle.start(Event(booster(), world(), trace, 0, 0, 90))
    ends = [gentle.block(Event(booster(), world(), trace, t - 10, t, 90)) for t in range(10, 91, 10)]
    assert ends.index(True) == 4  # 3.5 and 2.9 are not half a unit below 3.0


def test_early_stopping_watches_the_loss_that_is_chosen() -> None:
    falls, rises = np.repeat([5.0, 4.0, 3.0, 2.0, 1.0], 10), np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 10)
    for paid, losses, asked in ((True, falls, rises), (False, rises, falls)):
        trace = bb.evaluate.Trace(losses, asked, np.zeros(50))
        for watched, stops in ((paid, True), (not paid, False)):
            stopping = EarlyStopping(patience=2, window=10, paid=watched)
            stopping.start(Event(booster(), world(), trace, 0, 0, 50))
            found = [stopping.block(Event(booster(), world(), trace, t - 10, t, 50)) for t in range(10, 51, 10)]
            assert any(found) == stops, (paid, watched)


def test_checkpoint_continues_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    file = tmp_path / "model.bb"
    stopped, whole, order = booster(), booster(), world()
    stopped.extra["note"] = {"origin": "müller", "numbers": [1, 2.5]}
    progressive(stopped, order, callbacks=[Checkpoint(file, every=700), Listener(100, stop=1500)])
    loaded = bb.Booster.load(file)
    assert loaded.rounds == 1500
    assert loaded.extra == {"note": {"origin": "müller", "numbers": [1, 2.5]}}
    progressive(whole, order.head(1500))
    assert float(loaded.predict([0.1, 0.2, 0.3])) == float(whole.predict([0.1, 0.2, 0.3]))
    assert [path.name for path in tmp_path.iterdir()] == ["model.bb"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_log_holds_what_the_trace_holds(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / "deep" / f"log.{suffix}"
    trace = progressive(booster(), world(), callbacks=[Log(file, every=300)])
    frame = pl.read_csv(file) if suffix == "csv" else pl.read_parquet(file)
    assert frame.columns == ["round", "loss", "paid", "running", "running_paid"]
    assert frame["round"].to_list() == list(range(1, 2501))
    columns = {"loss": trace.losses, "paid": trace.paid, "running": trace.running, "running_paid": trace.running_paid}
    for name, values in columns.items():
        np.testing.assert_array_equal(frame[name].to_numpy(), values)
    with pytest.raises(ValueError, match=r"path must end in \.csv or \.parquet"):
        Log(tmp_path / "log.txt")


class Interrupts(Listener):
    """Presses Ctrl-C when a round is reached, in the middle of a run."""

    def __init__(self, at: int) -> None:
        super().__init__(100)
        self.at = at

    def block(self, event: Event) -> bool:
        if event.end == self.at:
            os.kill(os.getpid(), signal.SIGINT)
        return super().block(event)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ctrl_c_leaves_log_and_checkpoint_that_agree(tmp_path: Path, suffix: str) -> None:
    log, model, heard, presses = tmp_path / f"log.{suffix}", tmp_path / "model.bb", booster(), Interrupts(900)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        progressive(heard, world(), callbacks=[presses, Log(log), Checkpoint(model, every=600)])
    assert signal.getsignal(signal.SIGINT) is before
    assert presses.ends == [("interrupted", 900)]
    frame = pl.read_csv(log) if suffix == "csv" else pl.read_parquet(log)
    assert frame.height == bb.Booster.load(model).rounds == heard.rounds == 900


class Breaks(bb.worlds.SyntheticLinear):
    def values(self, t: int, points: Array) -> Array:
        if t == 1000:
            raise RuntimeError("the world broke")
        return super().values(t, points)


def test_a_failure_keeps_whole_blocks_only(tmp_path: Path) -> None:
    log, model, listener = tmp_path / "log.csv", tmp_path / "model.bb", Listener(300)
    broken = Breaks(rounds=2500, features=3, seed=3)
    with pytest.raises(RuntimeError, match="the world broke"):
        progressive(booster(), broken, callbacks=[listener, Log(log, every=300), Checkpoint(model, every=300)])
    assert listener.ends == [("failed", 900)]
    assert pl.read_csv(log).height == bb.Booster.load(model).rounds == 900


def test_a_callback_that_cannot_start_ends_those_that_have(tmp_path: Path) -> None:
    listener, heard = Listener(), booster()
    (tmp_path / "log.csv").mkdir()
    with pytest.raises(OSError, match=r"log\.csv"):
        progressive(heard, world(), callbacks=[listener, Log(tmp_path / "log.csv")])
    assert listener.ends == [("failed", 0)]
    assert heard.rounds == 0


@pytest.mark.parametrize("rich", [True, False])
def test_progress_says_rounds_and_loss(
    rich: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not rich:
        monkeypatch.setitem(__import__("sys").modules, "rich", None)
    trace = progressive(booster(), world(), callbacks=[ProgressBar("Rounds")])
    said = capsys.readouterr().err
    assert f"loss {trace.mean:.4g}, paid {trace.mean_paid:.4g}" in said
    assert ("2500/2500" if rich else "2,500 of 2,500") in said


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: EarlyStopping(patience=0), "patience must be"),
        (lambda: EarlyStopping(window=0), "window must be"),
        (lambda: Checkpoint("x", every=0), "every must be"),
        (lambda: progressive(booster(), world(), callbacks=[print]), "callbacks must be Callback objects"),  # type: ignore[list-item]
    ],
)
def test_bad_arguments_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


class Presses(bb.noise.Noise):
    """Presses Ctrl-C when noise is drawn for the so-manieth time: in the middle of a block."""

    def __init__(self, times: int) -> None:
        self.left = times

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return rng.uniform(-0.1, 0.1, size=shape)


# The compiled loop draws once a block of 4096 rounds, the plain one once a round.
@pytest.mark.parametrize(("compiled", "rounds", "times", "after"), [(True, 9000, 2, 8192), (False, 600, 300, 512)])
def test_ctrl_c_without_callbacks_leaves_a_whole_booster(compiled: bool, rounds: int, times: int, after: int) -> None:
    before, interrupted, whole = signal.getsignal(signal.SIGINT), booster(), booster()
    pressing, calm = (bb.worlds.SyntheticLinear(rounds, 3, noise=Presses(n), seed=3) for n in (times, -1))
    with pytest.raises(KeyboardInterrupt):
        progressive(interrupted, pressing, compiled=compiled)
    assert signal.getsignal(signal.SIGINT) is before
    assert interrupted.rounds == after
    progressive(whole, calm.head(after), compiled=compiled)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(interrupted.arrays()[name], array, err_msg=name)
    for role, rng in whole.streams.items():
        assert interrupted.streams[role].bit_generator.state == rng.bit_generator.state


class PressesAtTheEnd(Listener):
    def end(self, event: Event) -> None:
        super().end(event)
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_at_the_very_end_closes_all(tmp_path: Path) -> None:
    log, last = Log(tmp_path / "log.csv"), Listener()
    with pytest.raises(KeyboardInterrupt):
        progressive(booster(), world(), callbacks=[PressesAtTheEnd(), log, last])
    assert log.file is None
    assert last.ends == [("finished", 2500)]


@pytest.mark.parametrize("every", [0, -5, 2.5])
def test_blocks_must_have_a_length(every: Any) -> None:
    with pytest.raises(ValueError, match=r"every of Listener must be .*got"):
        progressive(booster(), world(), callbacks=[Listener(every)])


def test_snapshots_take_what_is_due_whoever_else_cuts_the_blocks() -> None:
    heard, other = (bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), copies=5) for _ in range(2))
    progressive(heard, world(10))
    name = "weights"
    snapshots = bb.evaluate.Snapshots(heard, name, every=1000)
    progressive(heard, world(), callbacks=[snapshots, Listener(70)])
    assert snapshots.rounds == [1010, 2010, 2510]
    with pytest.raises(ValueError, match="booster of Snapshots must be the booster of the run"):
        progressive(other, world(), callbacks=[snapshots])
    assert other.rounds == 0

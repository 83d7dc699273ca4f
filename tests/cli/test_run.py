"""`banditboost run`: what it prints and writes, and that it is the library's own run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost.cli.run import ready
from banditboost.cli.sanity import warnings_of
from banditboost.cli.setting import Setting, booster_of, space_of, world_of
from banditboost.datasets.sources import read_embedded
from tests.cli.shell import Shell, lines, numbers, write


@pytest.fixture(scope="module")
def abalone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns = {}
    for column in read_embedded(bb.datasets.describe("abalone")).columns:
        if isinstance(column, bb.datasets.Numeric):
            columns[column.name] = column.values
        else:
            columns[column.name] = np.array(column.levels)[column.codes]
    file = tmp_path_factory.mktemp("abalone") / "abalone.csv"
    pl.DataFrame(columns).write_csv(file)
    return file


@pytest.fixture
def small(tmp_path: Path) -> Path:
    a, y = numbers(600)
    words = np.random.default_rng(5).choice(["north", "south"], 600)
    return write(tmp_path / "small.csv", lines("a,side,y", zip(a, words, y + (words == "north"), strict=True)))


def test_abalone_from_a_csv_file_does_as_well_as_the_embedded_copy(shell: Shell, abalone: Path) -> None:
    arguments = ("--target", "Rings", "--noise", "0.1", "--shuffle", "--quiet", "--json", "-")
    results = shell("run", abalone, *arguments).results
    data = bb.datasets.load("abalone")
    world = bb.worlds.Supervised(data.X, data.y, noise=bb.noise.Uniform(0.1)).shuffled(0)
    booster = bb.algorithms.boosted(bb.spaces.Interval(-0.4, 30.4))
    own = bb.evaluate.progressive(booster, world)
    assert results["features"] == 10
    assert results["mean_loss"] == pytest.approx(own.mean, rel=0.02)
    # docs/beyond.md has 5.25 on second halves, where the running mean has 10.6 and online ridge 5.7.
    assert 4.5 < results["mean_loss"] < 6
    assert results["mean_loss"] < results["comparators"]["online ridge, told labels"]["mean_loss"] + 0.1
    assert results["comparators"]["running mean of labels"]["mean_loss"] == pytest.approx(10.4, abs=0.5)
    ridge = bb.evaluate.online_ridge(bb.worlds.Supervised(data.scaled().X, data.y).shuffled(0))
    assert results["comparators"]["online ridge, told labels"]["mean_loss"] == pytest.approx(ridge.mean(), rel=0.02)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "quantile"])
@pytest.mark.parametrize("feedback", ["bandit", "full"])
def test_every_loss_and_feedback_learns(shell: Shell, small: Path, loss: str, feedback: str) -> None:
    arguments = ("--target", "y", "--loss", loss, "--feedback", feedback, "--level", "0.8", "--quiet", "--json", "-")
    results = shell("run", small, *arguments).results
    mean = results["comparators"]["running mean of labels"]["last_half_loss"]
    assert results["last_half_loss"] < 0.6 * mean


@pytest.mark.parametrize("learner", ["boosted", "coin", "gradient-descent", "second-order", "trees"])
def test_every_learner_learns(shell: Shell, small: Path, learner: str) -> None:
    results = shell("run", small, "--target", "y", "--learner", learner, "--quiet", "--json", "-").results
    mean = results["comparators"]["running mean of labels"]["last_half_loss"]
    assert results["last_half_loss"] < 0.5 * mean


def test_all_settings_make_a_booster(small: Path) -> None:
    numbers_of = {
        "boosted": {"step": 0.5, "ridge": 3.0, "evidence": 9.0, "leaves": 5},
        "trees": {"step": 0.5, "evidence": 9.0, "leaves": 5},
        "second-order": {"step": 0.5, "ridge": 3.0},
        "gradient-descent": {"rate": 0.3, "radius": 7.0},
        "scale-free": {"rate": 0.3},
    }
    table = bb.datasets.prepare_own(small, "y")
    for learner, chosen in numbers_of.items():
        setting = Setting(learner=learner, copies=4, seed=3, **chosen)  # type: ignore[arg-type]
        spec = booster_of(setting, bb.spaces.Interval(0, 2)).spec
        text = spec.to_json()
        assert spec.copies == 4
        assert spec.seed == 3
        for name, value in chosen.items():
            key = {"leaves": "max_leaves", "rate": "scale" if learner == "gradient-descent" else "rate"}.get(name, name)
            assert f'"{key}":{json.dumps(value)}' in text, (learner, name, text)
    world = world_of(Setting(), table)
    default = booster_of(Setting(), space_of(Setting(), world, table.encoding)).spec
    assert default == bb.algorithms.boosted(bb.spaces.Interval(*table.encoding.interval)).spec


def test_a_saved_model_goes_on_in_python_as_if_it_had_never_stopped(shell: Shell, small: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.bb"
    assert shell("run", small, "--target", "y", "--noise", "0.1", "--save", model, "--seed", "4").code == 0
    loaded = bb.Booster.load(model)
    table, world, fresh = ready(small, "y", "auto", Setting(noise=0.1, seed=4), False)
    bb.evaluate.progressive(fresh, world)
    assert loaded.rounds == fresh.rounds == 600
    for booster in (loaded, fresh):
        for t in range(50):
            booster.step(table.X[t], lambda points, label=table.y[t]: (points - label) ** 2)  # type: ignore[misc]
    np.testing.assert_array_equal(loaded.predict(table.X[7]), fresh.predict(table.X[7]))
    loaded.save(tmp_path / "again.bb")
    assert bb.Booster.load(tmp_path / "again.bb").extra == fresh.extra


def test_what_is_printed_and_written(shell: Shell, small: Path, tmp_path: Path) -> None:
    log, model, folder, file = tmp_path / "log.csv", tmp_path / "m.bb", tmp_path / "report", tmp_path / "out" / "r.json"
    wanted = ("--log", log, "--save", model, "--checkpoint", "250", "--report", folder, "--json", file)
    shown = shell("run", small, "--target", "y", *wanted)
    assert shown.code == 0, shown.err
    for text in (
        "2 words, an indicator each",
        "Squared loss of 'y'",
        "running mean of labels",
        "600 rounds, 3 features",
        "microseconds a round",
    ):
        assert text in shown.out
    assert "600/600" in shown.err
    results = json.loads(file.read_text())
    frame = pl.read_csv(log)
    assert frame["running"][-1] == pytest.approx(results["mean_loss"], rel=1e-12)
    assert frame["loss"][300:].mean() == pytest.approx(results["last_half_loss"])
    assert frame["running_paid"][-1] == pytest.approx(results["mean_paid"], rel=1e-12)
    assert frame["paid"][300:].mean() == pytest.approx(results["last_half_paid"])
    page = (folder / "run.html").read_text()
    for text in (
        "<h1>y in small.csv</h1>",
        "online ridge, told labels",
        "best line in hindsight",
        "an indicator each",
        "<td>weak learners (copies)</td><td>30</td>",
    ):
        assert text in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "m.bb", "out", "report", "small.csv"]


def test_seeds_decide_everything(shell: Shell, small: Path) -> None:
    def losses(*more: str) -> float:
        arguments = ("run", small, "--target", "y", "--noise", "0.2", "--quiet", "--json", "-", *more)
        return float(shell(*arguments).results["mean_loss"])

    assert losses("--seed", "1", "--shuffle") == losses("--seed", "1", "--shuffle")
    assert losses("--seed", "1", "--shuffle") != losses("--seed", "2", "--shuffle")
    assert losses("--seed", "1") != losses("--seed", "1", "--shuffle")


def test_patience_stops_early(shell: Shell, small: Path) -> None:
    arguments = ("--target", "y", "--patience", "2", "--window", "50", "--json", "-")
    shown = shell("run", small, *arguments)
    results = shown.results
    assert results["rounds"] < results["rows"] == 600
    assert results["rounds"] % 50 == 0
    assert f"{results['rounds']} rounds of 600 (stopped early)" in shown.err


def test_quiet_says_nothing(shell: Shell, small: Path) -> None:
    assert shell("run", small, "--target", "y", "--quiet") == (0, "", "")


def test_what_is_read_is_never_written_over(shell: Shell, small: Path, tmp_path: Path) -> None:
    before = small.read_bytes()
    for option in ("--save", "--log", "--json"):
        shown = shell("run", small, "--target", "y", option, tmp_path / "." / "small.csv")
        assert "must be another file than the one that is read" in shown.sentence
        shown = shell("run", small, "--target", "y", option, small / "deeper.csv")
        assert f"{option[2:]} must be a file that can be written" in shown.sentence
    assert small.read_bytes() == before
    assert shell("run", small, "--target", "y", "--save", tmp_path).code == 2


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "banditboost.cli.app", *arguments]


def test_exit_codes_of_a_process(small: Path) -> None:
    good = subprocess.run(command("run", str(small), "--target", "y", "--quiet", "--json", "-"), capture_output=True)
    assert good.returncode == 0
    assert json.loads(good.stdout)["rounds"] == 600
    bad = subprocess.run(command("run", str(small), "--target", "z"), capture_output=True, text=True)
    assert bad.returncode == 1
    assert bad.stderr.startswith("Error: target must be a column of")
    assert "Traceback" not in bad.stderr
    debug = subprocess.run(command("--debug", "run", str(small), "--target", "z"), capture_output=True, text=True)
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr


def test_ctrl_c_keeps_log_and_checkpoint(tmp_path: Path) -> None:
    a, y = numbers(200_000)
    file, log, model = (
        write(tmp_path / "a.csv", lines("a,y", zip(a, y, strict=True))),
        tmp_path / "l.csv",
        tmp_path / "m.bb",
    )
    arguments = ("--target", "y", "--log", str(log), "--save", str(model), "--checkpoint", "1000000", "--copies", "60")
    process = subprocess.Popen(
        command("run", str(file), *arguments),
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "120"},
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not (log.exists() and log.stat().st_size > 1000) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted." in said
    assert "Traceback" not in said
    rounds = bb.Booster.load(model).rounds
    assert 0 < rounds < 200_000
    assert pl.read_csv(log).height == rounds


def test_one_file_cannot_be_two_things_nor_take_the_place_of_a_device(
    shell: Shell, small: Path, tmp_path: Path
) -> None:
    both = tmp_path / "both.csv"
    said = shell("run", small, "--target", "y", "--save", both, "--log", both).sentence
    assert "log must be another file than save, got" in said
    assert not both.exists()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "json must be a plain file, got" in shell("run", small, "--target", "y", "--json", pipe).sentence
    assert pipe.is_fifo()


def test_a_terminal_without_the_letters(tmp_path: Path) -> None:
    """And the package is a command of its own."""
    file = write(tmp_path / "a.csv", lines("größe,y", [(t % 7, "ä" if t % 7 < 3 else "漢") for t in range(50)]))
    done = subprocess.run(
        [sys.executable, "-m", "banditboost", "run", str(file), "--target", "y", "--copies", "2"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"gr\\xf6\\xdfe" in done.stdout
    assert b"50 rounds" in done.stdout


def test_as_many_words_as_a_user_says_have_an_indicator(shell: Shell, tmp_path: Path) -> None:
    """Every product has a price of its own: 32 of 400 words say little, and all of them nearly everything."""
    rng = np.random.default_rng(7)
    prices, products = rng.normal(size=400), rng.integers(400, size=4000)
    rows = zip((f"p{k}" for k in products), rng.uniform(size=4000).round(3), prices[products].round(3), strict=True)
    file, model, new = (
        write(tmp_path / "shop.csv", lines("product,size,price", rows)),
        tmp_path / "model.bb",
        tmp_path / "new.csv",
    )
    short = ("--target", "price", "--copies", 5, "--answers", 3, "--json", "-")
    few = shell("run", file, *short).results
    options = ("--category", "product=5000", "--save", model, "--report", tmp_path)
    many = shell("run", file, *short, *options).results
    assert (few["features"], many["features"]) == (34, 401)
    assert many["columns"][0]["what"] == "400 words, an indicator each"
    assert many["last_half_loss"] < 0.3 * few["last_half_loss"]
    assert "product" in (tmp_path / "run.html").read_text()
    write(new, lines("product,size,price", [("p1", 0.5, prices[1].round(3)), ("never seen", 0.5, 0.0), ("", 0.5, 0.0)]))
    found = shell("predict", model, new, "--json", "-")
    assert abs(found.results["predictions"][0] - prices[1]) < 0.5
    assert "has words that were not there before, such as 'never seen', in 1 row" in found.err
    for wrong in ("product=many", "product=0"):
        assert "how many words have an indicator each" in shell("run", file, *short, "--category", wrong).sentence


def test_a_column_of_many_words_says_how_each_gets_an_indicator(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    rows = zip((f"p{k}" for k in rng.integers(60, size=600)), rng.uniform(size=600).round(3), strict=True)
    file = write(tmp_path / "a.csv", lines("product,y", rows))
    shown = " ".join(shell("run", file, "--target", "y", "--explain-columns").out.split())
    assert "of the values (--category 'product=60' gives each one)" in shown
    few = shell("run", file, "--target", "y", "--explain-columns", "--category", "product=60").out
    assert "60 words, an indicator each" in " ".join(few.split())


def test_more_words_than_a_learner_or_a_log_takes_are_refused(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    rows = zip((f"u{k}" for k in rng.integers(1500, size=4000)), rng.uniform(size=4000).round(3), strict=True)
    file = write(tmp_path / "a.csv", lines("user,y", rows))
    many = ("run", file, "--target", "y", "--category", "user=1500", "--quiet")
    for learner in ("trees", "second-order", "coin"):
        assert f"indicator each with --learner {learner}" in shell(*many, "--learner", learner).sentence
    assert "a log has a column for each" in shell(*many, "--decisions", tmp_path / "d.csv").sentence
    rows = zip((f"u{k}" for k in rng.integers(1500, size=4000)), *rng.uniform(size=(2, 4000)).round(3), strict=True)
    log = write(tmp_path / "log.csv", lines("user,price,cost", rows))
    shown = shell(
        "warm",
        log,
        "--action",
        "price",
        "--loss",
        "cost",
        "--category",
        "user=1500",
        "--space",
        "0,1",
        "--save",
        tmp_path / "m.bb",
    )
    assert "whose contexts have at most 300 features" in shown.sentence
    assert not (tmp_path / "m.bb").exists()


def test_a_run_that_was_worse_than_the_mean_over_all_rounds_is_warned_of(tmp_path: Path) -> None:
    rows = zip(*np.random.default_rng(1).uniform(size=(2, 60)).round(3), strict=True)
    table = bb.datasets.prepare_own(write(tmp_path / "a.csv", lines("a,y", rows)), "y")
    mean = {"running mean of labels": {"mean_loss": 1.0, "last_half_loss": 1.0}}
    results = {"comparators": mean, "target": "y", "last_half_loss": 0.9}
    (said,) = warnings_of(results | {"mean_loss": 1.5}, table)
    assert said.startswith("Over all rounds this run did no better than the running mean of labels (1.5 against 1)")
    assert warnings_of(results | {"mean_loss": 0.95}, table) == []
    (late,) = warnings_of(results | {"mean_loss": 0.95, "last_half_loss": 1.1}, table)
    assert late.startswith("In the last half")

"""The report of `banditboost run`: what it shows is what the run did, names are inert, and its commands work as they stand."""

from __future__ import annotations

import html
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from banditboost.cli import run_report
from banditboost.cli.run import ready, summary
from banditboost.cli.run_insight import insight
from banditboost.cli.setting import Setting
from banditboost.evaluate import progressive
from tests.cli.shell import Shell, lines, write

HOSTILE = "<script>alert('x')</script>\"&<b>"


class Page(HTMLParser):
    """Tags and their attributes, and all text that is shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    a, b, noise = rng.uniform(size=(3, 800)).round(3)
    side = rng.choice(["north", "south"], 800)
    y = (5 * a + 2 * (side == "north") + 0.1 * rng.standard_normal(800)).round(3)
    rows = zip(a, b, side, noise, y, strict=True)
    file = tmp_path_factory.mktemp("report") / "table.csv"
    quoted = HOSTILE.replace('"', '""')
    return write(file, lines(f'a,b,side,"{quoted}",y', rows))


def report(shell: Shell, table: Path, folder: Path, *more: object) -> str:
    assert shell("run", table, "--target", "y", "--quiet", "--report", folder, *more).code == 0
    return (folder / "run.html").read_text()


def test_everything_that_was_promised_is_there(shell: Shell, table: Path, tmp_path: Path) -> None:
    text = report(shell, table, tmp_path)
    shown = " ".join(Page(text).text)
    for said in (
        "loss paid while learning", "R²", "RMSE", "running mean of labels", "online ridge, told labels", "best line in hindsight",
        "Predicted and actual", "Calibration", "What mattered", "How predictions move with a column", "Did the world change?",
        "Settings that were used", "How to use the model", "two standard errors",
    ):  # fmt: skip
        assert said in shown, said
    assert "None" not in shown
    assert "Look at this first" not in shown


def test_the_page_needs_nothing_else_and_says_what_pictures_show(shell: Shell, table: Path, tmp_path: Path) -> None:
    page = Page(report(shell, table, tmp_path))
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "img", "iframe", "object")]
    for tag, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}, (tag, attributes)
    charts = [attributes for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]
    assert len(charts) >= 6
    assert all(len(attributes["aria-label"] or "") > 20 for attributes in charts)
    assert "@media print" in "".join(page.text)
    assert "prefers-color-scheme: dark" in "".join(page.text)


def test_names_are_inert(shell: Shell, table: Path, tmp_path: Path) -> None:
    text = report(shell, table, tmp_path)
    assert HOSTILE not in text
    assert html.escape(HOSTILE) in text
    assert "<script" not in text


def test_what_mattered_comes_first_and_noise_last(table: Path) -> None:
    prepared, world, booster = ready(table, "y", "auto", Setting(), False)
    trace = progressive(booster, world)
    found = insight(booster, world, prepared, trace, Setting())
    assert found.mattered is not None
    assert found.mattered.names[:2] == ("a", "side")
    assert found.mattered.increases[0] == pytest.approx(2 * 25 / 12, rel=0.25)
    moves = {one.name: one for one in found.mattered.moves}
    assert moves["a"].mean[-1] - moves["a"].mean[0] == pytest.approx(
        5 * (moves["a"].at[-1] - moves["a"].at[0]), rel=0.15
    )
    words = dict(zip(moves["side"].words, moves["side"].mean, strict=True))
    assert words["north"] - words["south"] == pytest.approx(2.0, abs=0.3)
    calibration = found.calibration
    assert calibration is not None
    assert np.abs(calibration.actual - calibration.predicted).max() < 0.3
    results = summary(trace, world, booster, prepared, Setting())
    assert results["rmse"] == pytest.approx(np.sqrt(trace.mean))
    assert results["r2"] == pytest.approx(1 - trace.mean / world.labels().var())
    wrong = insight(booster, world.shuffled(3), prepared, trace, Setting())
    assert wrong.calibration is not None
    assert np.abs(wrong.calibration.actual - wrong.calibration.predicted).max() > 1, "labels of other rounds would show"


def test_warnings_stand_first_and_are_inert(table: Path, tmp_path: Path) -> None:
    prepared, world, booster = ready(table, "y", "auto", Setting(), False)
    trace = progressive(booster, world)
    results = {"file": "t.csv", "target": "y"} | summary(trace, world, booster, prepared, Setting())
    file = run_report.report(results, trace, tmp_path, warnings=["It does worse than the running mean.", HOSTILE])
    text = file.read_text()
    assert text.index("Look at this first") < text.index("What it cost")
    assert "<li>It does worse than the running mean.</li>" in text
    assert HOSTILE not in text


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_classes_have_hits_and_not_under_losses(shell: Shell, table: Path, tmp_path: Path, loss: str) -> None:
    frame = pl.read_csv(table).with_columns(
        side=pl.when(pl.col("a") > 0.6).then(pl.lit("up")).otherwise(pl.lit("down"))
    )
    frame.write_csv(tmp_path / "classes.csv")
    arguments = ("run", tmp_path / "classes.csv", "--target", "side", "--loss", loss, "--report", tmp_path)
    shown = shell(*arguments)
    assert "share of classes hit" not in shown.out
    assert "always naming the commonest class hits" in " ".join(shown.out.split())
    text = (tmp_path / "run.html").read_text()
    losses = text[text.index("What it cost") : text.index("How good predictions are")]
    assert "hit" not in losses
    assert "Classes, actual and predicted" in text
    assert "share of classes hit" in text[text.index("Calibration") :]
    assert "probability of up, by a" in text


@pytest.mark.long
@pytest.mark.parametrize(
    "more", [("--loss", "quantile", "--level", "0.8"), ("--loss", "huber"), ("--feedback", "full")]
)
def test_other_losses_and_feedback_have_reports(
    shell: Shell, table: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    text = report(shell, table, tmp_path, *more)
    assert ("R²" in text) == (more == ("--feedback", "full"))
    if "quantile" in more:
        assert "quantile 0.8 of labels" in text
    if "huber" in more:
        assert "threshold of the Huber loss" in text


def test_a_short_run_and_a_constant_target_have_reports(shell: Shell, tmp_path: Path) -> None:
    for name, y in (("short", [1.0, 2.0, 3.0]), ("constant", [4.0] * 60)):
        file = write(tmp_path / f"{name}.csv", lines("a,y", [(k % 7, value) for k, value in enumerate(y)]))
        report(shell, file, tmp_path / name)


def follow(shell: Shell, folder: Path, report: str) -> dict[str, object]:
    """Do what a report says about using the model, in the shell and in Python; return the names that Python has then."""
    in_shell, in_python = (
        html.unescape(block) for block in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", report, re.DOTALL)
    )
    for command in in_shell.splitlines():
        words = shlex.split(command)
        assert words[0] == "banditboost"
        shown = shell(*words[1:])
        assert shown.code == 0, shown.err
    names: dict[str, object] = {}
    exec(in_python, names)
    written = pl.read_csv(folder / "predictions.csv")["prediction"].to_numpy()
    np.testing.assert_allclose(np.asarray(names["predictions"]), written, rtol=1e-12)
    return names


def test_the_lines_on_how_to_use_the_model_work(
    shell: Shell, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = report(shell, table, tmp_path, "--save", "model.bb")
    (tmp_path / "new.csv").write_bytes(table.read_bytes())
    follow(shell, tmp_path, text)


@pytest.mark.parametrize("words", [20, 800])
def test_the_lines_for_files_of_examples_work(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    rows = [f"{k % 2} | " + " ".join(f"w{word}" for word in rng.integers(words, size=6)) for k in range(400)]
    file = write(tmp_path / "mine.vw", "\n".join(rows) + "\n")
    write(tmp_path / "new.vw", "\n".join(rows[:50]) + "\n")
    options = ("--copies", 4, "--quiet", "--save", "model.bb", "--report", tmp_path)
    assert shell("run", file, *options).code == 0
    names = follow(shell, tmp_path, (tmp_path / "run.html").read_text())
    assert names["ticket"] is not None


def test_unsaved_models_are_said_to_be_unsaved(shell: Shell, table: Path, tmp_path: Path) -> None:
    text = report(shell, table, tmp_path)
    assert "The model was not saved" in text
    assert "--save model.bb" in html.unescape(text)


def test_a_report_on_very_many_words_says_what_was_left_out(shell: Shell, tmp_path: Path) -> None:
    rng, text = np.random.default_rng(3), []
    for _ in range(1500):
        words = rng.integers(3000, size=20)
        text.append(f"{(words % 2).mean():.2f} | " + " ".join(f"w{k}" for k in words))
    file = write(tmp_path / "words.vw", "\n".join(text) + "\n")
    options = ("--copies", 4, "--answers", 2, "--quiet", "--report", tmp_path)
    assert shell("run", file, *options).code == 0
    shown = " ".join(" ".join(Page((tmp_path / "run.html").read_text()).text).split())
    assert "features, the 600 that are there most often were tried." in shown
    assert "Ridge regression and the best line are not compared: with " in shown
    assert "has seen all labels" not in shown


def test_predictions_are_shown_along_the_hour_the_year_and_yes_and_no(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    hours, days, yes = rng.integers(24, size=900), rng.integers(700, size=900), rng.random(900) < 0.5
    y = 5 * np.sin(2 * np.pi * hours / 24) + 3 * np.cos(2 * np.pi * days / 365.2425) + 2 * yes
    when = [f"{np.datetime64('2024-01-01') + day} {hour:02d}:00" for day, hour in zip(days, hours, strict=True)]
    born = [str(np.datetime64("2024-01-01") + day) for day in days]
    file = write(
        tmp_path / "t.csv",
        lines("when,born,member,y", zip(when, born, np.where(yes, "ja", "nein"), y.round(3), strict=True)),
    )
    table, world, booster = ready(file, "y", "numbers", Setting(copies=4, answers=3), False)
    found = insight(booster, world, table, progressive(booster, world), Setting(copies=4, answers=3))
    assert found.mattered is not None
    moves = {one.name: one for one in found.mattered.moves}
    assert set(moves) == {"when: hour of the day", "born: month of the year", "member"}
    hour, month, member = moves["when: hour of the day"], moves["born: month of the year"], moves["member"]
    assert hour.at[hour.mean.argmax()] == pytest.approx(6, abs=1)
    assert hour.at[hour.mean.argmin()] == pytest.approx(18, abs=1)
    assert month.mean[0] > month.mean[6]
    assert member.words == ("no", "yes")
    assert member.mean[1] - member.mean[0] == pytest.approx(2, abs=0.5)

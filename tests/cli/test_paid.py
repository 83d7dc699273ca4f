"""The command line shows what was paid beside what was predicted, never one for the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.cli import run_charts, run_report
from banditboost.cli.run import ready, summary
from banditboost.cli.scoring import score
from banditboost.cli.setting import Setting
from banditboost.evaluate import Trace, progressive
from tests.cli.shell import Shell, Shown, lines, numbers, write


@pytest.fixture
def small(tmp_path: Path) -> Path:
    a, y = numbers(600)
    return write(tmp_path / "small.csv", lines("a,y", zip(a, y, strict=True)))


def row(shown: Shown, name: str, which: int = 0) -> list[float]:
    """Return the numbers of a printed row; the names of comparators are in two tables."""
    found = [line for line in shown.out.splitlines() if line.strip().startswith(name)]
    return [float(text) for text in found[which].replace(name, "").split()]


@pytest.mark.parametrize("answers", [1, 5, 30])
def test_losses_and_regrets_of_both_are_printed(shell: Shell, small: Path, answers: int) -> None:
    arguments = ("run", small, "--target", "y", "--answers", answers, "--noise", "0.1")
    shown, results = shell(*arguments), shell(*arguments, "--quiet", "--json", "-").results
    assert shown.code == 0, shown.err
    _, world, booster = ready(small, "y", "auto", Setting(answers=answers, noise=0.1), False)
    trace = progressive(booster, world)
    expected = [trace.losses.mean(), trace.paid.mean(), trace.losses[300:].mean(), trace.paid[300:].mean()]
    assert expected[1] != pytest.approx(expected[0], rel=1e-3), "so that a number in the wrong place would show"
    assert row(shown, "this run") == pytest.approx(expected, rel=1e-4)
    keys = ("mean_loss", "mean_paid", "last_half_loss", "last_half_paid")
    assert [results[key] for key in keys] == pytest.approx(expected, rel=1e-12)
    name = "running mean of labels"
    mean = bb.evaluate.running_mean(world, first=booster.spec.space.inner_centre)
    regrets = [trace.losses.sum() - mean.sum(), trace.paid.sum() - mean.sum()]
    assert row(shown, name) == pytest.approx([*[mean.mean()] * 2, *[mean[300:].mean()] * 2], rel=1e-4)
    assert row(shown, name, 1) == pytest.approx([*regrets, *(regret / 600 for regret in regrets)], rel=1e-4)
    found = results["comparators"][name]
    assert [found["regret"], found["paid_regret"]] == pytest.approx(regrets, rel=1e-9)
    assert results["answers"] == answers


def test_one_answer_is_one_decision_a_round(shell: Shell, small: Path) -> None:
    shown = shell("run", small, "--target", "y", "--answers", "1")
    assert "Paid is the loss of the one decision that was played in a round" in shown.out
    table, world, booster = ready(small, "y", "auto", Setting(answers=1), False)
    losses = []
    for t in range(len(world)):
        ticket = booster.ask(table.X[t])
        assert len(ticket.queries) == 1
        losses.append(float((ticket.queries[0] - table.y[t]) ** 2))
        booster.tell(ticket, losses[-1:])
    assert row(shown, "this run")[1] == pytest.approx(np.mean(losses), rel=1e-4)
    said = " ".join(shell("run", "--help").out.replace("│", " ").split())
    assert "How many points are played a round" in said
    assert "such as a price" in said


@pytest.mark.long
def test_where_gradients_are_told_predictions_are_paid(shell: Shell, small: Path) -> None:
    shown = shell("run", small, "--target", "y", "--feedback", "full")
    predicted, paid, late, late_paid = row(shown, "this run")
    assert (predicted, late) == (paid, late_paid)
    assert "Gradients were told, so that predictions were played" in shown.out


def made(swapped: bool = False) -> tuple[dict[str, Any], Trace]:
    """Return the results of a run that predicts well and pays much."""
    trace = Trace(np.full(100, 1.0), np.full(100, 4.0), np.zeros(100))
    if swapped:
        trace = Trace(trace.paid, trace.losses, trace.predictions)
    world = bb.worlds.Supervised(np.zeros((100, 1)), np.full(100, 3.0))
    trace.compare("two", np.full(100, 2.0))
    found = score(trace, world, Setting())
    return found | {"rounds": 100, "answers": 1}, trace


def test_swapped_losses_would_show() -> None:
    (right, trace), (wrong, _) = made(), made(swapped=True)
    assert run_report.loss_rows(right)[0] == ["this run", "1", "4", "1", "4"]
    assert run_report.regret_rows(right) == [["two", "-100", "+200", "-1", "+2"]]
    assert run_report.loss_rows(wrong)[0] != run_report.loss_rows(right)[0]
    assert run_report.regret_rows(wrong) != run_report.regret_rows(right)
    drawn = {line.name: line for line in run_charts.loss_lines(trace)}
    assert set(drawn["this run, paid"].y) == {4.0}
    assert set(drawn["this run, predicted"].y) == {1.0}


def test_the_report_has_both(shell: Shell, small: Path, tmp_path: Path) -> None:
    assert shell("run", small, "--target", "y", "--answers", "1", "--quiet", "--report", tmp_path).code == 0
    page = (tmp_path / "run.html").read_text()
    for text in ("paid, last half", "regret against", "the one decision that was played"):
        assert text in page


def test_patience_watches_the_loss_that_is_chosen(shell: Shell, small: Path) -> None:
    arguments = ("run", small, "--target", "y", "--patience", "2", "--window", "50", "--quiet", "--json", "-")
    for by in ("predicted", "paid"):
        _, world, booster = ready(small, "y", "auto", Setting(), False)
        stopping = bb.evaluate.EarlyStopping(2, 50, paid=by == "paid")
        assert shell(*arguments, "--by", by).results["rounds"] == len(progressive(booster, world, callbacks=[stopping]))
    assert "by must be one of" in shell(*arguments, "--by", "chance").sentence


def test_tune_chooses_by_the_loss_that_is_chosen(shell: Shell, small: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    arguments = ("tune", small, "--target", "y", "--trials", "3", "--storage", tmp_path / "t.db", "--quiet")
    found = {by: shell(*arguments, "--by", by, "--json", "-").results for by in ("predicted", "paid")}
    _, world, booster = ready(small, "y", "auto", Setting(), False)
    trace = progressive(booster, world.halves()[0])
    # The first trial is the default; searches by the two losses share no trials, though they share a file.
    assert found["predicted"]["trials"][0]["loss"] == trace.mean
    assert found["paid"]["trials"][0]["loss"] == trace.mean_paid
    for by, results in found.items():
        assert results["by"] == by
        assert len(results["trials"]) == 3
        assert results["best"]["loss"] == min(trial["loss"] for trial in results["trials"])
    halves = shell(*arguments, "--report-second-half", "--json", "-").results["second_half"]
    again = progressive(ready(small, "y", "auto", Setting(), False)[2], world)
    assert halves["default"] == again.losses[300:].mean()
    assert halves["default_paid"] == again.paid[300:].mean()
    assert "by must be one of" in shell(*arguments, "--by", "chance").sentence


def test_the_summary_counts_answers(small: Path) -> None:
    for setting, answers in ((Setting(), 30), (Setting(answers=2), 2), (Setting(feedback="full"), None)):
        table, world, booster = ready(small, "y", "auto", setting, False)
        assert summary(progressive(booster, world), world, booster, table, setting)["answers"] == answers

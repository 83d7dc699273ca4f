"""`banditboost evaluate` and `banditboost warm`: from a log to a value, and to a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from tests.cli.shell import Shell, lines

OPTIONS = ("--action", "price", "--loss", "cost", "--density", "p")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng, n = np.random.default_rng(0), 600
    x, price = rng.uniform(0, 1, n), rng.uniform(0, 10, n)
    cost = (price - 4 - 2 * x) ** 2 + rng.normal(size=n)
    path = tmp_path / "log.csv"
    path.write_text(lines("x,price,p,cost", zip(x, price, np.full(n, 0.1), cost, strict=True)))
    return path


def test_a_constant_and_the_log_itself(log: Path, shell: Shell, tmp_path: Path) -> None:
    found = shell(
        "evaluate", log, *OPTIONS, "--policy", "5", "--space", "0,10", "--report", tmp_path / "report", "--json", "-"
    ).results
    low, high = found["interval"]
    assert low < 1 / 3 < high  # the mean of (1 - 2x)²
    assert found["trust"] is None
    assert (tmp_path / "report" / "evaluate.html").read_text().count("data:image/png") == 3
    own = shell("evaluate", log, *OPTIONS, "--policy", "logging", "--json", "-").results
    assert own["value"] == pytest.approx(own["logged"])
    assert "trust" in shell("evaluate", log, *OPTIONS, "--policy", "5", "--estimator", "ips", "--bandwidth", "0.5").out


def test_a_refused_estimate_does_not_look_like_a_result(tmp_path: Path, shell: Shell) -> None:
    """The first line says that it is not to be trusted, in the text and in the report, and so does `trusted`."""
    rng, n = np.random.default_rng(0), 600
    x, price = rng.uniform(0, 1, n), rng.uniform(0, 4, n)
    log, report = tmp_path / "narrow.csv", tmp_path / "report"
    log.write_text(lines("x,price,p,cost", zip(x, price, np.full(n, 0.25), (price - 4) ** 2, strict=True)))
    found = shell("evaluate", log, *OPTIONS, "--policy", "9", "--space", "0,10", "--report", report)
    assert found.code == 0
    said = found.out.splitlines()
    begin = next(i for i, line in enumerate(said) if line.startswith("OffPolicy"))
    assert said[begin].startswith("OffPolicy: not to be trusted. The effective sample")
    assert said[begin + 1].startswith("  not to be trusted    ")
    assert "95% interval" in said[begin + 1]
    page = (report / "evaluate.html").read_text()
    assert "<b>Not to be trusted. The effective sample" in page
    assert "mean loss of the policy, not to be trusted" in page
    asked = ("evaluate", log, *OPTIONS, "--space", "0,10", "--policy")
    assert shell(*asked, "9", "--json", "-").results["trusted"] is False
    assert shell(*asked, "2", "--json", "-").results["trusted"] is True
    assert "nothing speaks against this answer" in shell(*asked, "2").out


def test_a_warm_model_is_a_policy(log: Path, shell: Shell, tmp_path: Path) -> None:
    model = tmp_path / "model.bb"
    said = shell("warm", log, *OPTIONS, "--space", "0,10", "--save", model)
    assert said.code == 0, said.err
    assert bb.Booster.load(model).rounds == 600
    for more in ((), ("--exploring",)):
        found = shell("evaluate", log, *OPTIONS, "--policy", model, *more, "--json", "-").results
        assert found["value"] < found["logged"]
        assert (found["bandwidth"] is None) == bool(more)


def test_rewards_are_losses_with_another_sign_and_reported_as_rewards(log: Path, shell: Shell, tmp_path: Path) -> None:
    rows = log.read_text().splitlines()
    turned = [",".join([*row.split(",")[:3], str(-float(row.split(",")[3]))]) for row in rows[1:]]
    rewards = tmp_path / "rewards.csv"
    rewards.write_text("\n".join(["x,price,p,earned", *turned]) + "\n")
    columns = ("--action", "price", "--reward", "earned", "--density", "p")
    policy = ("--policy", "5", "--space", "0,10", "--json", "-")
    lost, earned = (
        shell("evaluate", log, *OPTIONS, *policy).results,
        shell("evaluate", rewards, *columns, *policy).results,
    )
    assert earned["unit"] == "reward"
    assert earned["value"] == pytest.approx(-lost["value"], rel=1e-9)
    assert earned["interval"] == pytest.approx([-lost["interval"][1], -lost["interval"][0]], rel=1e-9)
    assert earned["logged"] == pytest.approx(-lost["logged"], rel=1e-12)
    report = shell("evaluate", rewards, *columns, "--policy", "5", "--report", tmp_path / "report").out
    assert "reward" in report
    assert "mean reward of the policy" in (tmp_path / "report" / "evaluate.html").read_text()
    for file, options, name in ((log, OPTIONS, "one.bb"), (rewards, columns, "other.bb")):
        shell("warm", file, *options, "--space", "0,10", "--save", tmp_path / name)
    one, other = (bb.Booster.load(tmp_path / name) for name in ("one.bb", "other.bb"))
    assert (one.spec.maximize, other.spec.maximize) == (False, True)
    assert one.predict([0.5]) == other.predict([0.5])
    turned_round = shell("evaluate", log, *OPTIONS, "--policy", tmp_path / "other.bb").out
    assert "is told rewards, and the log's column was given as --loss: is --reward meant?" in " ".join(
        turned_round.split()
    )
    assert "meant?" not in shell("evaluate", log, *OPTIONS, "--policy", tmp_path / "one.bb").out
    both = shell("evaluate", rewards, *columns, "--loss", "earned", "--policy", "5")
    assert "loss must be left out where reward is given" in both.sentence


def test_late_rewards_find_their_rows(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("x,price,ticket,earned\n0.1,5,1,2.0\n0.2,6,2,\n")
    (tmp_path / "late.csv").write_text("ticket,earned\n2,3.5\n")
    log = bb.Log.read(
        tmp_path / "log.csv", action="price", reward="earned", ticket="ticket", losses=tmp_path / "late.csv"
    )
    assert [block.losses.tolist() for block in log.blocks()] == [[-2.0, -3.5]]
    assert log.in_rewards


def test_what_cannot_be_used_is_one_sentence(log: Path, shell: Shell, tmp_path: Path) -> None:
    assert (
        "must have densities" in shell("evaluate", log, "--action", "price", "--loss", "cost", "--policy", "5").sentence
    )
    nobody = shell("evaluate", log, *OPTIONS, "--policy", "nobody.bb").sentence
    assert "a model file, numbers, or logging, got 'nobody.bb': there is no such file." in nobody
    assert "in row 1" in shell("warm", log, *OPTIONS, "--space", "20,30", "--save", tmp_path / "m.bb").sentence
    assert not (tmp_path / "m.bb").exists()
    assert "low,high" in shell("evaluate", log, *OPTIONS, "--policy", "5", "--space", "1").sentence


def test_without_a_loss_or_a_reward_both_are_named(log: Path, shell: Shell, tmp_path: Path) -> None:
    wanted = (
        "loss or reward (in the shell --loss or --reward) must name the column of what came of a decision, "
        f"one of {log} (x, price, p, cost), got neither."
    )
    assert wanted in shell("evaluate", log, "--action", "price", "--policy", "5").sentence
    rest = ("--action", "price", "--space", "0,10", "--save", tmp_path / "m.bb")
    assert wanted in shell("warm", log, *rest).sentence
    assert "loss must be a column of" in shell("warm", log, *rest, "--loss", "loss").sentence
    late = tmp_path / "late.csv"
    late.write_text("ticket,cost\n1,2\n")
    given = shell("warm", log, *rest, "--ticket", "p", "--losses", late).sentence
    assert f"one of {late} (ticket, cost), got neither." in given


def test_the_columns_of_the_context_are_named(log: Path, shell: Shell, tmp_path: Path) -> None:
    """Otherwise nobody notices a column that gives the loss away, nor how it is read."""
    rows = [line.split(",") for line in log.read_text().splitlines()]
    wide, model = tmp_path / "wide.csv", tmp_path / "model.bb"
    more = [["revenue", "town"], *([str(-float(row[3])), "Rome"] for row in rows[1:])]
    wide.write_text("".join(",".join(row + rest) + "\n" for row, rest in zip(rows, more, strict=True)))
    said = shell("warm", wide, *OPTIONS, "--context", "x", "--space", "0,10", "--save", model).out
    assert "Context: x.\n" in said
    said = shell("evaluate", wide, *OPTIONS, "--policy", "logging").out
    assert "Context: x, revenue (" in said
    assert "town     constant (Rome): left out" in said
    assert "Context: x (" in shell("evaluate", wide, *OPTIONS, "--time", "revenue", "--policy", "logging").out
    refused = shell("evaluate", wide, *OPTIONS, "--policy", model, "--context", "x,revenue").sentence
    assert "as many columns" in refused
    assert "got 2 (x, revenue)" in refused


def test_run_writes_decisions_that_evaluate_reads(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(200, 2))
    table, out = tmp_path / "table.csv", tmp_path / "decisions.csv"
    table.write_text(lines("a,b,y", np.column_stack([x, x.sum(axis=1)])))
    said = shell(
        "run", table, "--target", "y", "--answers", "1", "--decisions", out, "--save", tmp_path / "m.bb", "--quiet"
    )
    assert said.code == 0, said.err
    log = bb.Log.read(out, action="action", density="density", ticket="ticket")
    assert log.rows == 200
    found = shell(
        "evaluate",
        out,
        "--action",
        "action",
        "--density",
        "density",
        "--ticket",
        "ticket",
        "--policy",
        tmp_path / "m.bb",
        "--json",
        "-",
    ).results
    assert found["rows"] == 200

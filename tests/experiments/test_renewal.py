"""Running some learners again: their rows are replaced, all others stay, and what cannot be renewed is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import drift, fair
from banditboost.experiments.renewal import Renewal, renewal_of


def earlier(experiment: str, place: str, name: str, *who: str) -> dict[str, Any]:
    """Results that no run has made, so that what is kept of them is seen."""
    common = {"by_loss": "squared", "setting": {}, "untuned": True, "tuned": True, "seeds": 1, "diverged": 0}
    rows = [
        common | {place: name, "who": one, "loss": -1.0, "loss_runs": [-1.0], "back": 7, "back_runs": [7]}
        for one in who
    ]
    return {"experiment": experiment, "protocol": {"runs": 1, "rounds": {}}, "rows": rows, "trials": []}


def test_rows_of_others_stay_and_fresh_rows_take_the_places_of_old_ones() -> None:
    before = earlier("fair", "dataset", "abalone", "vw", "mean", "lightgbm")
    found = fair.reproduce(["abalone"], runs=2, renewal=Renewal(("mean", "line"), before))
    assert [row["who"] for row in found["rows"]] == ["vw", "mean", "lightgbm", "line"]
    kept = [row for row in found["rows"] if row["loss"] == -1.0]
    assert kept == [row for row in before["rows"] if row["who"] != "mean"]
    mean = found["rows"][1]
    assert len(mean["loss_runs"]) == 2
    assert found["protocol"] == before["protocol"]
    assert found["renewed"][0]["who"] == ["mean", "line"]
    assert found["renewed"][0]["where"] == ["abalone"]


def test_streams_are_renewed_with_their_shows() -> None:
    before = earlier("drift", "stream", "flip", "mean", "forgetting_ridge")
    renewal = Renewal(("forgetting_ridge",), before)
    found = drift.reproduce(["flip"], seeds=1, rows=400, tuned=(), renewal=renewal)
    losses = {row["who"]: row["loss"] for row in found["rows"]}
    assert losses["mean"] == -1.0
    assert losses["forgetting_ridge"] > 0.0
    assert {show["who"]: show["ratio"] < 0 for show in found["shows"]} == {"mean": True, "forgetting_ridge": False}
    assert found["protocol"] == {"runs": 1, "rounds": {"flip": 400}}


@pytest.mark.parametrize(
    ("text", "why"), [("", "--json"), ("{", "not"), ('{"experiment": "drift", "rows": []}', "not"), ("[]", "not")]
)
def test_files_that_cannot_be_renewed_are_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "fair.json"
    if text:
        file.write_text(text)
    with pytest.raises(ValueError, match=f"--renew needs.*{why}"):
        renewal_of("mean", file, "fair")
    shown = CliRunner().invoke(app, ["reproduce", "fair", "--renew", "mean", "--json", str(file), "--quiet"])
    assert shown.exit_code != 0
    assert not text or file.read_text() == text


def test_unknown_learners_are_named() -> None:
    with pytest.raises(ValueError, match="renew must be one of"):
        fair.reproduce(["abalone"], runs=1, renewal=Renewal(("nobody",), {"rows": [], "trials": [], "protocol": {}}))


def test_the_command_renews_a_file(tmp_path: Path) -> None:
    file, before = tmp_path / "fair.json", earlier("fair", "dataset", "abalone", "mean", "vw")
    file.write_text(json.dumps(before))
    command = ["reproduce", "fair", "--datasets", "abalone", "--runs", "1", "--quiet", "--json", str(file)]
    shown = CliRunner().invoke(app, [*command, "--renew", "mean"])
    assert shown.exit_code == 0, shown.output
    after = json.loads(file.read_text())
    assert after["rows"][1] == before["rows"][1]
    assert after["rows"][0]["loss"] > 0.0
    assert after["renewed"][0]["who"] == ["mean"]

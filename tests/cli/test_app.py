"""The command line as a user meets it: in a process of its own, with exit codes a script can trust."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import banditboost as bb


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "BANDITBOOST_DATA"} | {"COLUMNS": "120"} | environment
    return subprocess.run(
        [sys.executable, "-m", "banditboost.cli.app", *arguments], capture_output=True, text=True, env=env
    )


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == f"banditboost {bb.__version__}"
    for command in ((), ("reproduce",), ("reproduce", "table2"), ("reproduce", "bounds"), ("datasets",)):
        shown = run(*command, "--help")
        assert shown.returncode == 0
        assert "Usage" in shown.stdout


def test_datasets_lists_all_five() -> None:
    shown = run("datasets")
    assert shown.returncode == 0
    for text in ("abalone", "4,177", "census", "299,285", "401", "slice", "[-1, 1]"):
        assert text in shown.stdout


def test_table2_writes_table_results_and_report(tmp_path: Path) -> None:
    file, folder = tmp_path / "out" / "table2.json", tmp_path / "report"
    arguments = ("--datasets", "abalone", "--runs", "1", "--quick", "--json", str(file), "--report", str(folder))
    shown = run("reproduce", "table2", *arguments)
    assert shown.returncode == 0, shown.stderr
    assert "abalone" in shown.stdout
    assert "Report:" in shown.stdout
    results = json.loads(file.read_text())
    assert results["rows"]["abalone"]["readings"]["C"]["columns"]["ogd"]["mean"] == pytest.approx(7.09, rel=0.07)
    assert list(results["rows"]["abalone"]["readings"]) == ["D", "A", "C"]
    assert (
        shown.stdout.index("Under D (plays in Y")
        < shown.stdout.index("What makes D easy")
        < shown.stdout.index("Report:")
    )
    assert {"python", "numpy", "numba", "cores"} <= set(results["machine"])
    assert (folder / "table2.html").stat().st_size > 20_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce", "table2", "--datasets", "iris"), "datasets must be one of abalone"),
        (("reproduce", "table2", "--datasets", "slice"), "slice_localization_data.csv"),
        (("reproduce", "table2", "--datasets", ","), "at least one data set"),
        (("reproduce", "table2", "--reading", "G"), "reading must be one of A, A-free, B, C, C-free, D"),
    ],
)
def test_errors_are_one_sentence_without_a_traceback(arguments: tuple[str, ...], message: str) -> None:
    shown = run(*arguments)
    assert shown.returncode == 1
    assert message in shown.stderr
    assert "Traceback" not in shown.stderr
    assert "Traceback" in run("--debug", *arguments).stderr


def test_ctrl_c_says_what_is_kept(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "banditboost.cli.app",
        "reproduce",
        "table2",
        "--datasets",
        "letter",
        "--runs",
        "9",
    ]
    command += ["--quiet", "--resume", str(tmp_path)]
    # A runner in the background may have told its children to ignore Ctrl-C: here it must be heard.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("*.json")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted. Finished work is kept" in said
    assert "Traceback" not in said
    assert list(tmp_path.glob("*.json"))


def test_wrong_options_exit_with_two() -> None:
    assert run("reproduce", "table2", "--runs", "0").returncode == 2
    assert run("reproduce", "nothing").returncode == 2


def test_the_core_alone_loads_data_and_learns() -> None:
    # Nothing of the extra "cli" may be needed: their imports are made to fail.
    code = """
import sys
for name in ("typer", "rich", "polars", "matplotlib", "pooch", "joblib"):
    sys.modules[name] = None
import banditboost as bb
data = bb.datasets.load("abalone").scaled("minmax")
world = bb.worlds.Supervised(data.X, data.y, noise=bb.noise.Uniform(0.1)).shuffled(0)
booster = bb.algorithms.n_point_fkm(bb.spaces.Interval(1, 29))
print(round(bb.evaluate.progressive(booster, world).mean))
try:
    bb.evaluate.progressive(booster, world.head(5)).to_frame()
except ImportError as error:
    print(error)
try:
    import banditboost.cli.app
except SystemExit as error:
    print(error)
"""
    env = {k: v for k, v in os.environ.items() if k != "BANDITBOOST_DATA"}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert int(lines[0]) < 10
    assert lines[1] == "to_frame needs polars: pip install 'banditboost[cli]'."
    assert lines[2] == "The command line needs the extra 'cli': pip install 'banditboost[cli]'."


def test_replay_rebuilds_and_compares(tmp_path: Path) -> None:
    journal, model = tmp_path / "run.journal", tmp_path / "model.bb"
    booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(0, 1), copies=3)
    with bb.Journal(journal, booster):
        for _ in range(4):
            booster.step([0.5], lambda queries: (queries - 0.5) ** 2)
    booster.save(model)
    shown = run("replay", str(journal), "--model", str(model), "--save", str(tmp_path / "again.bb"))
    assert shown.returncode == 0, shown.stderr
    for text in (
        "Calls:      8",
        "4 told, 0 tickets in flight",
        "0 asks and 1 digests of the whole state",
        "Bits:       all equal",
        booster.digest(),
        "is in this state",
    ):
        assert text in shown.stdout
    assert bb.Booster.load(tmp_path / "again.bb").digest() == booster.digest()
    booster.ask([0.1])
    booster.save(model)
    shown = run("replay", str(journal), "--model", str(model))
    assert shown.returncode == 1
    assert "Error: model must be in the state that the journal ends in" in shown.stderr
    data = bytearray(journal.read_bytes())
    data[200] ^= 1
    journal.write_bytes(data)
    shown = run("replay", str(journal))
    assert shown.returncode == 1
    assert "is damaged at byte" in shown.stderr
    assert "no file" in run("replay", str(tmp_path / "nothing")).stderr

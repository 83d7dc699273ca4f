"""Cells: results are kept under what was run, interrupted work goes on, damaged results are run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from banditboost.experiments.cells import Cell, run_cells

RUNS: list[int] = []


@dataclass(frozen=True)
class Square(Cell):
    """Squares a number and remembers that it did."""

    number: int = 0

    def run(self) -> dict[str, Any]:
        RUNS.append(self.number)
        if self.number < 0:
            raise ValueError("numbers must not be negative")
        return {"square": self.number**2}


def test_results_come_in_order_and_are_kept(tmp_path: Path) -> None:
    RUNS.clear()
    cells = [Square(n) for n in range(6)]
    seen: list[tuple[int, int]] = []
    first = run_cells(cells, jobs=2, folder=tmp_path, progress=lambda *a: seen.append(a))
    assert [r["square"] for r in first] == [0, 1, 4, 9, 16, 25]
    assert seen[0] == (0, 6)
    assert seen[-1] == (6, 6)
    assert run_cells([*cells, Square(6)], folder=tmp_path)[-1] == {"square": 36}
    assert sorted(RUNS) == [0, 1, 2, 3, 4, 5, 6], "kept results are not computed again"


def test_a_damaged_result_is_run_again(tmp_path: Path) -> None:
    RUNS.clear()
    run_cells([Square(3)], folder=tmp_path)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["cell"] == Square(3).to_dict()
    file.write_text("{ truncated")
    assert run_cells([Square(3)], folder=tmp_path) == [{"square": 9}]
    assert RUNS == [3, 3]


def test_a_failing_cell_keeps_what_was_finished(tmp_path: Path) -> None:
    RUNS.clear()
    with pytest.raises(ValueError, match="must not be negative"):
        run_cells([Square(1), Square(2), Square(-1)], folder=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2


@pytest.mark.torture
def test_killed_and_resumed_is_the_same_as_uninterrupted(tmp_path: Path) -> None:
    whole, pieces, kept = tmp_path / "whole.json", tmp_path / "pieces.json", tmp_path / "cells"
    command = [
        sys.executable,
        "-m",
        "banditboost.cli.app",
        "reproduce",
        "table2",
        "--datasets",
        "abalone",
        "--runs",
        "3",
    ]
    command += ["--quick", "--quiet"]
    subprocess.run([*command, "--json", str(whole)], check=True, stdout=subprocess.DEVNULL)

    process = subprocess.Popen([*command, "--json", str(pieces), "--resume", str(kept)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list(kept.glob("*.json"))) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = len(list(kept.glob("*.json")))
    assert 3 <= finished < 15, "it must have been killed in the middle"
    assert not pieces.exists()

    subprocess.run([*command, "--json", str(pieces), "--resume", str(kept)], check=True, stdout=subprocess.DEVNULL)
    one, two = json.loads(whole.read_text()), json.loads(pieces.read_text())
    assert one["rows"] == two["rows"]

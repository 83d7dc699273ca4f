"""Whoever waits for the compiler is told, once, on standard error, on a terminal or not; with --quiet nobody is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from banditboost._compiled.waiting import compiling, when_compiling
from banditboost.cli.common import COMPILING
from tests.cli.shell import lines, numbers, write


def run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a small booster with machine code in a folder, as a script would: standard error is no terminal."""
    file = write(folder / "a.csv", lines("a,y", zip(*numbers(40), strict=True)))
    command = [sys.executable, "-m", "banditboost", "run", str(file), "--target", "y"]
    command += ["--learner", "gradient-descent", "--gradient", "one-point", "--copies", "2", *more]
    home = {"NUMBA_CACHE_DIR": str(folder / "code"), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | home, check=True)


def test_a_first_run_says_once_that_it_compiles_and_a_later_one_nothing(tmp_path: Path) -> None:
    assert run(tmp_path).stderr.count(COMPILING) == 1
    assert COMPILING not in run(tmp_path).stderr


def test_a_quiet_first_run_says_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "--quiet").stderr == ""


def test_one_loop_of_many_is_said() -> None:
    heard = list[int]()
    when_compiling(lambda: heard.append(1))
    compiling()
    compiling()
    assert heard == [1]
    when_compiling(None)
    compiling()
    assert heard == [1]

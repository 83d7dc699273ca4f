"""Saved here, loaded and continued in another process, is continued here: bit for bit, for everything that can be saved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import banditboost as bb
from tests.checks.continued import BEGIN, digest
from tests.checks.discovery import Target, boosters, play

ROOT = Path(__file__).parent.parent.parent


def test_continued_in_another_process(tmp_path: Path) -> None:
    expected = {}
    for number, (_, found) in enumerate(boosters()):
        booster = bb.Booster.from_spec(found.plan or found.spec)
        play(booster, Target(booster), 0, BEGIN)
        booster.save(tmp_path / f"{number:03}.bb")
        expected[f"{number:03}"] = digest(booster)
    command = [sys.executable, "-m", "tests.checks.continued", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert dict(line.split() for line in done.stdout.splitlines()) == expected
    assert len(expected) > 100

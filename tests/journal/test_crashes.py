"""Runs that are killed, cut, signalled and reopened elsewhere, in small numbers; `make crash` does it five hundred times."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.journal.common import ROOT

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child"),
]


def crashes(*options: str) -> tuple[int, dict[str, list[int]], str]:
    """Run the tool; return its exit code, its figures by row, and what it said."""
    command = [sys.executable, str(ROOT / "tools" / "crash.py"), "--quick", *options]
    shown = subprocess.run(command, capture_output=True, text=True)
    rows = re.findall(r"^([a-z ]+?)((?: +\d+){6})$", shown.stdout, re.MULTILINE)
    return shown.returncode, {name: list(map(int, row.split())) for name, row in rows}, shown.stdout + shown.stderr


def test_nothing_is_lost_when_killed() -> None:
    code, figures, said = crashes("--kills", "60", "--cuts", "150", "--seed", "3")
    assert code == 0, said
    assert [(row[0], *row[2:5]) for row in figures.values()] == [(12, 0, 0, 0)] * 5 + [(150, 0, 0, 0)] * 2, said
    # Not the same moment again and again; when a timer strikes is up to the machine.
    assert all(
        row[1] > 5 for name, row in figures.items() if name in ("killed in a system call", "cut at a random byte")
    )


def test_a_broken_journal_would_be_found_out() -> None:
    code, figures, said = crashes("--kills", "30", "--cuts", "1", "--broken")
    assert code == 1, said
    assert figures["killed in a system call"][2] > 0, said

"""The pages show what the committed results say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_tables_in_readme_and_docs_are_those_of_the_results() -> None:
    command = [sys.executable, str(ROOT / "tools" / "write_results.py"), "--check"]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout + shown.stderr


def test_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text

"""The pages show what the committed results say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from banditboost.experiments import beyond_report

ROOT = Path(__file__).parent.parent


def test_tables_in_readme_and_docs_are_those_of_the_results() -> None:
    command = [sys.executable, str(ROOT / "tools" / "write_results.py"), "--check"]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout + shown.stderr


def test_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text


def test_the_picture_in_the_readme_draws_the_committed_results() -> None:
    results = json.loads((ROOT / "results" / "beyond.json").read_text())
    figure = beyond_report.against_peers(results)
    figure.canvas.draw()
    for ax, name in zip(figure.axes, ("abalone", "adult", "census", "letter"), strict=True):
        ours = [row for row in results["tables"]["ours"] if row["dataset"] == name and row["by_loss"] == "squared"]
        mine = next(row["loss"] for row in ours if row["feedback"] == "bandit")
        losses = [mine] + [row["loss"] for row in results["tables"]["peers"] if row["dataset"] == name]
        widths = [bars[0].get_width() for bars in ax.containers]
        assert ax.get_title() == name
        assert widths == [min(loss, 2.5 * mine) for loss in losses]
        assert [text.get_text() for text in ax.texts] == [f"{loss:.3g}" for loss in losses]
    assert "docs/figures/beyond_peers.png" in (ROOT / "README.md").read_text()

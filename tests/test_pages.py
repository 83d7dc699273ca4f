"""The pages show what the committed results say."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from banditboost.experiments import fair_report

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
    results = json.loads((ROOT / "results" / "fair.json").read_text())
    figure = fair_report.against_peers(results)
    figure.canvas.draw()
    for ax, name in zip(figure.axes, fair_report.headings_of(results)[1:-1], strict=True):
        mine = [
            row for row in results["rows"] if row["dataset"] == name and row["by_loss"] == "squared" and "loss" in row
        ]
        expected = []
        for who in fair_report.TITLES:
            losses = [
                row["loss"] for row in mine if row["who"] == who and (who not in fair_report.OURS or not row["setting"])
            ]
            expected += [min(losses)] if losses and who != "mean" else []
        assert ax.get_title() == name
        assert [text.get_text() for text in ax.texts] == [f"{loss:.3g}" for loss in expected]
        widths = [bars[0].get_width() for bars in ax.containers]
        assert widths == [min(loss, 2.5 * min(expected)) for loss in expected]
    assert "docs/figures/fair_peers.png" in (ROOT / "README.md").read_text()


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the tool that writes pages, which finds the tools beside it."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("write_results")


def test_a_table_takes_its_place_once_its_results_are_there(
    writer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROOT", tmp_path)
    page = "Before.\n\n<!-- once held_out_refitted -->\nNot done yet.\n<!-- /once -->\n\nAfter.\n"
    assert writer.filled(page) == page, "without results nothing changes"
    (tmp_path / "results").mkdir()
    shutil.copy(ROOT / "results" / "fair.json", tmp_path / "results" / "held_out.json")
    written = writer.filled(page)
    assert written.startswith("Before.\n\n<!-- held_out_refitted -->\n\n| ratio of losses | diamonds |")
    assert written.endswith("|\n\n<!-- /held_out_refitted -->\n\nAfter.\n")
    assert "Not done yet" not in written
    assert writer.filled(written) == written


def test_every_table_that_waits_on_a_page_is_known(writer: ModuleType) -> None:
    waiting = [name for page in writer.pages() for name in writer.ONCE.findall(page.read_text())]
    assert set(waiting) <= set(writer.TABLES)
    assert not [name for name in waiting if (ROOT / writer.TABLES[name][0]).is_file()], "run tools/write_results.py"

"""SECURITY.md names the tests that hold its lines: they exist, and every promise has one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows(page: str) -> list[list[str]]:
    """The cells of the table that says who may hand us what."""
    table = page[page.index("| who hands us |") :].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def missing(page: str) -> list[str]:
    """What is named and does not exist."""
    named = set(TEST.findall(page))
    gone = []
    for file, name in sorted(named):
        tree = ast.parse((ROOT / file).read_text()) if (ROOT / file).is_file() else ast.Module([], [])
        if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
            gone.append(f"{file}::{name}")
    return gone


def unheld(page: str) -> list[str]:
    """Lines without a test."""
    return [cells[-1] for cells in rows(page) if not TEST.search(cells[-1])]


def test_every_line_of_the_threat_model_is_held_by_tests_that_exist() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    assert missing(page) == []
    assert unheld(page) == []
    assert len(rows(page)) >= 15
    who = " ".join(cells[0] for cells in rows(page))
    for word in ("model file", "journal", "table", "request"):
        assert word in who


def test_a_test_that_is_gone_would_be_noticed() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    file, name = TEST.findall(page)[0]
    assert missing(page.replace(f"{file}::{name}", f"{file}::{name}_no_more")) == [f"{file}::{name}_no_more"]
    assert missing(page.replace(file, "tests/gone.py", 1)) == [f"tests/gone.py::{name}"]
    assert len(unheld(page.replace(f"`{file}::{name}`", "trust us").replace("::", ":"))) == len(rows(page))

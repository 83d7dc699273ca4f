"""No block of code on README or the site stands there unread: Python is run, and commands name what exists.

Python in fences is run by `tests/test_docs.py` (pages) and as doctests (README); commands in ``bash`` and their answers in ``json``
on docs/serve.md by `tests/serve/test_page.py`, those of docs/shell.md by `tests/cli/test_page.py`, and other blocks by
`tests/site/test_commands.py`. `NOT_RUN` lists the few that are not run, each with its reason; their options are checked.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from banditboost.cli.app import app
from tests.site.test_commands import RUN

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\S*).*?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KINDS = {"python", "bash", "text", "json", "", "{toctree}", "{image}", "{figure}", "{eval-rst}"}
NOT_RUN = {
    "pip install '.[cli]'": "make package installs the wheel instead",
    "pip install '.[cli,serve,ray]'": "it needs a cluster of several machines; make cluster-test runs it on one",
    "make run": "it is a target of its own, and the one that runs these tests the next",
    "dask scheduler": "it needs several machines; make cluster runs one on this one",
    "round t:": "it is a drawing",
}
"""How a block begins that no test runs, and why."""
DRAWN = "─►◄▲│←"
"""Signs of a drawing, which is no code."""


def indented(text: str) -> list[str]:
    """Blocks of code that are only indented: nothing runs them."""
    outside, found, before = FENCE.sub("", text), list[str](), ""
    for line in outside.splitlines():
        if re.match(r"^ {4}\S", line) and not before.strip() and not any(sign in line for sign in DRAWN):
            found.append(line.strip())
        before = line
    return found


def commands(text: str) -> list[str]:
    """Lines of shell blocks that call this library."""
    blocks = [block.replace("\\\n", " ") for kind, block in FENCE.findall(text) if kind in ("bash", "text")]
    lines = [line.removeprefix("$ ").split("    #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("banditboost ")]


def unknown(line: str) -> str | None:
    """Say what of a command there is not; None where all of it is known."""
    words = [word for word in shlex.split(re.sub(r" 2?>.*| &$", "", line)) if word][1:]
    known = typer.main.get_command(app)
    while hasattr(known, "commands"):
        if not words or words[0] not in known.commands:
            return f"no command {words[:1]}"
        known = known.commands[words.pop(0)]
    options = {name for parameter in known.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return next((f"no option {word}" for word in words if word.startswith("--") and word not in options), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_read_by_a_test(page: Path) -> None:
    text = page.read_text()
    assert indented(text) == []
    assert {kind for kind, _ in FENCE.findall(text)} <= KINDS
    assert [found for line in commands(text) if (found := unknown(line))] == []


def not_run(page: str, text: str) -> list[str]:
    """Return how those blocks of a page begin that no test runs, and that are not listed with a reason."""
    by_page = {"serve.md": {"bash", "json"}, "shell.md": {"text"}}.get(page, set())
    run = {block.strip() for _, block in RUN}
    left = [block for kind, block in FENCE.findall(text) if kind not in {"python", *by_page} and kind[:1] != "{"]
    said = [block for block in left if block.strip() not in run and not block.startswith(tuple(NOT_RUN))]
    return [block.strip().splitlines()[0] for block in said]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_it_is_said_why_not(page: Path) -> None:
    assert not_run(page.name, page.read_text()) == []
    assert re.findall(r"^ +```|^```python \S", page.read_text(), re.MULTILINE) == [], "what runs pages would not see it"


def test_a_block_that_nobody_runs_is_named() -> None:
    text = "```bash\nbanditboost run other.csv\n```\n"
    assert not_run("page.md", text) == ["banditboost run other.csv"]
    assert not_run("serve.md", text) == []


def test_commands_are_found() -> None:
    lines = [line for page in PAGES for line in commands(page.read_text())]
    assert len(lines) > 12


def test_what_is_wrong_is_named() -> None:
    assert unknown("banditboost run table.csv --target y --report r") is None
    assert unknown("banditboost walk table.csv") == "no command ['walk']"
    assert unknown("banditboost run table.csv --tarjet y") == "no option --tarjet"
    assert indented("Text:\n\n    x = 1\n") == ["x = 1"]
    assert indented("Text:\n\n    a ──► b\n") == []


def test_make_targets_on_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    flat = {name for pair in named for name in pair if name}
    assert {"run", "test", "docs"} <= flat
    assert flat <= targets

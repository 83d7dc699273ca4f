"""The commands of docs/serve.md are run in an empty folder, and print what the page says."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from banditboost.serve.app import Settings, make_app
from tests.serve.common import ROOT

PAGE = ROOT / "docs" / "serve.md"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The tool that runs pages, with the command of these sources."""
    command = tmp_path / "bin" / "banditboost"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m banditboost "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("five_minutes")


def test_the_page_gets_from_nothing_to_a_decision(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(PAGE) == 0, capsys.readouterr().out
    assert capsys.readouterr().out == "serve.md: 6 blocks compared, 0 differ.\n"


def test_a_page_that_says_something_false_is_noticed(tool: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for said, status in (("1.0000001", 0), ("1.01", 1), ('"1"', 1), ("[1.0]", 1)):
        page.write_text(f'```bash\necho \'{{"a": 1.0}}\'\n```\n\n```json\n{{"a": {said}}}\n```\n')
        assert tool.main(page) == status
    page.write_text("```bash\ntrue\n```\n")
    assert tool.main(page) == 1
    page.write_text("```bash\nfalse\n```\n")
    with pytest.raises(RuntimeError):
        tool.main(page)


def test_every_address_is_on_the_page(tmp_path: Path) -> None:
    app: Any = make_app(Settings(tmp_path))
    text = PAGE.read_text().replace("...", "/v1/boosters/{name}")
    text = text.replace("`GET`, `POST ", "`GET /v1/boosters/{name}/snapshots`, `POST ")
    for path, calls in app.app.openapi()["paths"].items():
        for method in calls:
            assert f"{method.upper()} {path}" in text, f"{method} {path}"

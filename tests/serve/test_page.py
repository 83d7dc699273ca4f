"""The commands of docs/serve.md are run in an empty folder, and print what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.serve.common import ROOT, free_port

PAGE = ROOT / "docs" / "serve.md"


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of commands, each with what the page says it prints."""
    found = re.findall(r"^```(bash|json)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    pairs: list[tuple[str, str]] = []
    for kind, block in found:
        if kind == "bash":
            pairs.append((block, ""))
        else:
            pairs[-1] = (pairs[-1][0], block)
    return pairs


def like(found: Any, wanted: Any) -> bool:
    """Whether two texts of JSON are the same up to the digits that the page leaves out."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and found.keys() == wanted.keys() and all(like(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(like, found, wanted))
    return found == pytest.approx(wanted, abs=1e-5) if isinstance(wanted, float) else bool(found == wanted)


def objects(text: str) -> list[Any]:
    """The JSON objects of a text, one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        one, at = decoder.raw_decode(text, at)
        found.append(one)
    return found


def run(text: str, folder: Path) -> list[tuple[list[Any], list[Any]]]:
    """Run all commands in one shell; return what each block printed and what it should have."""
    pairs = blocks(text.replace("8000", str(free_port())))
    (folder / "bin").mkdir()
    command = folder / "bin" / "banditboost"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m banditboost "$@"\n')
    command.chmod(0o755)
    (folder / "empty").mkdir()
    script = "set -e\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
    script += "".join(f"{block}\necho\necho '=== {k} ==='\n" for k, (block, _) in enumerate(pairs))
    shown = subprocess.run(
        ["bash", "-c", script],
        cwd=folder / "empty",
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    printed = re.split(r"=== \d+ ===\n", shown.stdout)
    return [(objects(text), objects(wanted)) for text, (_, wanted) in zip(printed, pairs, strict=False)]


def test_the_page_gets_from_nothing_to_a_decision(tmp_path: Path) -> None:
    text = PAGE.read_text()
    done = run(text.partition("## From Python")[0], tmp_path)
    assert len(done) == 8
    compared = 0
    for found, wanted in done:
        if wanted:
            assert len(found) == len(wanted)
            assert all(map(like, found, wanted)), (found, wanted)
            compared += len(wanted)
    assert compared == 6
    assert not like(done[2][0], [{"ticket": "0-2"}])


def test_every_address_is_on_the_page(tmp_path: Path) -> None:
    from banditboost.serve.app import Settings, make_app

    app: Any = make_app(Settings(tmp_path))
    text = PAGE.read_text().replace("...", "/v1/boosters/{name}").replace("`GET`, `POST ", "`GET /v1/boosters/{name}/snapshots`, `POST ")
    for path, calls in app.app.openapi()["paths"].items():
        for method in calls:
            assert f"{method.upper()} {path}" in text, f"{method} {path}"

"""Runs the commands of a page in an empty folder, and compares what they print: `python tools/five_minutes.py docs/serve.md`.

Blocks of `bash` are run in one shell; a block of `json` after one is what it prints, up to digits that the page leaves out. It
needs nothing but the commands that the page names, so that it can be run where only the wheel is installed.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of commands, each with what the page says it prints."""
    pairs: list[tuple[str, str]] = []
    for kind, block in re.findall(r"^```(bash|json)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        pairs = [*pairs, (block, "")] if kind == "bash" else [*pairs[:-1], (pairs[-1][0], block)]
    return pairs


def like(found: Any, wanted: Any) -> bool:
    """Whether plain data is the same up to the digits that the page leaves out."""
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict) and found.keys() == wanted.keys() and all(like(found[k], wanted[k]) for k in wanted)
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(like, found, wanted))
    return math.isclose(found, wanted, abs_tol=1e-5) if isinstance(wanted, float) else bool(found == wanted)


def objects(text: str) -> list[Any]:
    """The JSON objects of a text, one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        one, at = decoder.raw_decode(text, at)
        found.append(one)
    return found


def run(text: str, folder: Path) -> list[tuple[list[Any], list[Any]]]:
    """Run all commands; return the objects that each block has printed, and those that it should have."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
    pairs = blocks(text.replace("8000", port))
    script = "set -e\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
    script += "".join(f"{block}\necho\necho '=== {k} ==='\n" for k, (block, _) in enumerate(pairs))
    shown = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=300, env=os.environ
    )
    if shown.returncode:
        raise RuntimeError(shown.stdout + shown.stderr)
    printed = re.split(r"=== \d+ ===\n", shown.stdout)
    return [(objects(text), objects(wanted)) for text, (_, wanted) in zip(printed, pairs, strict=False)]


def main(page: Path) -> int:
    """Run the page; return 1 where a block prints something else than the page says."""
    with tempfile.TemporaryDirectory() as folder:
        done = [pair for pair in run(page.read_text(encoding="utf-8"), Path(folder)) if pair[1]]
    wrong = [pair for pair in done if not like(*pair)]
    for found, wanted in wrong:
        print(f"Expected {wanted}, got {found}.")
    print(f"{page.name}: {len(done)} blocks compared, {len(wrong)} differ.")
    return int(bool(wrong) or not done)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

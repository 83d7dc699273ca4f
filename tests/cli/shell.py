"""The shell within the test's own process: arguments in, exit code and what was printed out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from banditboost.cli import app


class Shown(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def results(self) -> dict[str, Any]:
        """What `--json -` printed."""
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def sentence(self) -> str:
        """The one line that says what is wrong."""
        assert self.code == 1, (self.code, self.out, self.err)
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        assert lines[0].startswith("Error: ")
        assert lines[0].endswith((".", "?"))
        return lines[0]


class Shell:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: Any) -> Shown:
        self.monkeypatch.setattr(
            app, "say_when_compiling", lambda arguments: None
        )  # a test may be the first to compile
        self.monkeypatch.setattr(sys, "argv", ["banditboost", *map(str, arguments)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            app.main()
        said = self.capsys.readouterr()
        code = stop.value.code
        assert isinstance(code, int | None)
        return Shown(code or 0, said.out, said.err)


def lines(header: str, rows: Any, separator: str = ",") -> str:
    """A table as text."""
    return "\n".join([header, *(separator.join(map(str, row)) for row in rows)]) + "\n"


def numbers(n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """A feature in [0, 1] and a label that is three times it, nearly."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(size=n).round(4)
    return a, (3 * a + 0.1 * rng.standard_normal(n)).round(4)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path

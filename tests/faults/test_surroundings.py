"""Faults of what is around: servers that hang up, caches that rot, missing libraries, workers that die, clocks that lie."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost import datasets
from banditboost.datasets import catalog, download
from banditboost.experiments.cells import Cell, run_cells

SOURCE = Path(bb.__file__).parent


class HangsUp(BaseHTTPRequestHandler):
    """Promises a thousand bytes, sends ten, and closes the connection."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"0123456789")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and a server that hangs up behind the catalogue."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), HangsUp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    info = replace(datasets.describe("slice"), url=f"http://127.0.0.1:{server.server_port}/slice.zip", sha256="0" * 64)
    monkeypatch.setitem(catalog._BY_NAME, "slice", info)
    monkeypatch.setenv(download.CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv("BANDITBOOST_DATA", raising=False)
    yield tmp_path / "cache"
    server.shutdown()
    server.server_close()


def test_a_download_that_breaks_off_leaves_nothing(cache: Path) -> None:
    with pytest.raises(
        (OSError, ValueError), match=r"slice could not be downloaded from|The file from .* is not slice"
    ) as caught:
        datasets.fetch("slice", quiet=True)
    assert "\n" not in str(caught.value)
    assert not any(path.is_file() for path in cache.rglob("*"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 500,
        b"patientId,value0\n1,2\n",
        b"patientId,value0,reference\n1,2\n1,2,3,4\n",
        b"reference\nred\n",
        b"reference\n1e9\n",
    ],
    ids=["empty", "zeros", "no label", "ragged", "words", "out of range"],
)
def test_a_cached_file_that_is_damaged_is_named(cache: Path, content: bytes) -> None:
    cache.mkdir()
    (cache / "slice_localization_data.csv").write_bytes(content)
    with pytest.raises(ValueError, match="slice") as caught:
        datasets.load("slice")
    assert "\n" not in str(caught.value)


def trace() -> bb.evaluate.Trace:
    return bb.evaluate.progressive(
        bb.Booster(copies=2, space=bb.spaces.Interval(-1, 1), gradient=bb.gradients.OnePoint(0.1)),
        bb.worlds.Supervised(np.zeros((4, 1)), np.zeros(4)),
    )


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("pooch", lambda folder: datasets.fetch("slice", quiet=True)),
        ("polars", lambda folder: datasets.load("slice", folder=folder)),
        ("polars", lambda folder: trace().to_frame()),
        ("matplotlib", lambda folder: trace().plot()),
        ("matplotlib.pyplot", lambda folder: trace().plot()),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    library: str, use: Callable[[Path], object], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slice.parquet").write_bytes(b"")
    for name in [name for name in sys.modules if name == library or name.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)  # what the interpreter itself does where a module cannot be found
    with pytest.raises(ImportError, match=r"banditboost\[cli\]"):
        use(tmp_path)


CORE = """
import sys
for name in ("typer", "rich", "polars", "matplotlib", "pooch", "joblib", "sklearn", "river", "optuna", "dask", "pandas"):
    sys.modules[name] = None
import numpy as np, banditboost as bb
booster = bb.algorithms.boosted(bb.spaces.Interval(-1, 1))
for x in np.random.default_rng(0).normal(size=(30, 2)):
    booster.step(x, lambda queries: (queries - 0.5) ** 2)
bb.datasets.load("abalone")
try:
    import banditboost.cli.app
except (ImportError, SystemExit) as error:
    print(error)
"""


def test_the_core_needs_no_extra() -> None:
    bare = {name: value for name, value in os.environ.items() if name != "BANDITBOOST_DATA"}  # whose files need polars
    done = subprocess.run([sys.executable, "-c", CORE], env=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "banditboost[cli]" in done.stdout + done.stderr


@dataclass(frozen=True)
class Mortal(Cell):
    """Squares a number; one number kills the process, unless told otherwise by a file."""

    number: int = 0
    cure: str = ""

    def run(self) -> dict[str, Any]:
        if self.number == 3 and not Path(self.cure).exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return {"square": self.number**2}


def test_a_killed_worker_costs_its_own_cell_alone(tmp_path: Path) -> None:
    cells = [Mortal(n, str(tmp_path / "cure")) for n in range(4)]
    folder = tmp_path / "kept"
    run_cells(cells[:3], jobs=2, folder=folder, threads=False)
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(Exception, match="terminated"):
        run_cells(cells, jobs=2, folder=folder, threads=False)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
    (tmp_path / "cure").touch()
    assert run_cells(cells, jobs=2, folder=folder, threads=False)[3] == {"square": 9}


def test_nothing_depends_on_the_time_of_day() -> None:
    # A clock that is set back cannot matter where none is read: durations are taken from a counter that only grows.
    shown = {"cli/experiment.py"}  # the date of a report, for readers
    shown |= {"encoder/moments.py", "encoder/pairs.py"}  # dates that callers give; the clock is not read
    shown |= {"serve/catalog.py", "serve/server.py"}  # when a key was made, and the times of log lines
    shown |= {"serve/live.py", "serve/client.py"}  # the time that a page shows, and dates that callers give
    clocks = {"time", "time_ns", "localtime", "gmtime", "ctime", "now", "utcnow", "today", "clock_settime"}
    read = []
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in clocks:
                read.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
            if isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime"):
                read.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert {place.partition(":")[0] for place in read} <= shown

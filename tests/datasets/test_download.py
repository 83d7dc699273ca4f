"""Downloads are checked, kept, and never left half done: tried against a real server on this machine."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from banditboost import datasets
from banditboost.datasets import catalog, download

ROWS = "patientId," + ",".join(f"value{i}" for i in range(384)) + ",reference\n"
ROWS += "\n".join(f"{i}," + ",".join(["0.5"] * 384) + f",{20 + i}.5" for i in range(3)) + "\n"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server for a small slice, the catalogue pointing at it, an empty cache."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("slice_localization_data.csv", ROWS)
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "slice.zip").write_bytes(buffer.getvalue())
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *args: None  # type: ignore[attr-defined]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/slice.zip"
    info = replace(datasets.describe("slice"), url=url, sha256=hashlib.sha256(buffer.getvalue()).hexdigest())
    monkeypatch.setitem(catalog._BY_NAME, "slice", info)
    monkeypatch.setenv(download.CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv("BANDITBOOST_DATA", raising=False)
    yield folder
    server.shutdown()
    server.server_close()


def test_fetched_once_then_loaded(served: Path) -> None:
    with pytest.raises(FileNotFoundError, match="banditboost datasets --fetch slice"):
        datasets.load("slice")
    path = datasets.fetch("slice", quiet=True)
    assert path.read_text() == ROWS
    (served / "slice.zip").unlink()
    assert datasets.fetch("slice") == path, "what is there is not fetched again"
    data = datasets.load("slice")
    assert data.X.shape == (3, 385)
    assert data.source == str(path)


def test_a_wrong_file_is_refused_and_not_kept(served: Path) -> None:
    (served / "slice.zip").write_bytes(b"something else")
    with pytest.raises(ValueError, match="its SHA-256 differs"):
        datasets.fetch("slice", quiet=True)
    assert not any(path.is_file() for path in download.cache_folder().rglob("*"))


def test_a_server_that_does_not_answer_is_one_sentence(served: Path) -> None:
    (served / "slice.zip").unlink()
    with pytest.raises(OSError, match="slice could not be downloaded from"):
        datasets.fetch("slice", quiet=True)


def test_embedded_data_needs_no_download() -> None:
    with pytest.raises(ValueError, match="it needs no download"):
        datasets.fetch("abalone")

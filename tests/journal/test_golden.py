"""Journals that earlier versions wrote: each is read, goes on with the numbers of its own version, and is then one of today."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import array_table, model_file
from banditboost.journal import framing
from banditboost.journal.kinds import Kind
from banditboost.journal.repair import contents
from banditboost.journal.snapshot import FORMAT, READABLE
from tests.journal.common import crash, records
from tests.journal.write_golden import NAMES, fresh, play

HERE = Path(__file__).parent
FOLDERS = sorted(HERE.glob("format*"))
STORAGE = HERE.parent / "_storage"


def test_there_is_a_golden_file_of_every_format_that_is_read(tmp_path: Path) -> None:
    formats = set()
    for held in STORAGE.glob("format*/files.zip"):
        with zipfile.ZipFile(held) as files:
            formats.add(contents("journal", files.read("boosted.journal")).header["journal"])
    formats |= {contents(folder / "run.journal").header["journal"] for folder in FOLDERS}
    assert formats == set(READABLE)
    assert {int(path.name.removeprefix("format")) for path in FOLDERS} == set(range(3, FORMAT + 1))
    # Model files of every format that is read are in the same place; the present one is there, too.
    assert {int(path.parent.name.removeprefix("format")) for path in STORAGE.glob("format*/files.zip")} == set(
        model_file.READABLE
    )


def test_a_golden_journal_holds_every_kind_of_record() -> None:
    held = {record.kind for folder in FOLDERS for path in folder.glob("*.journal") for record in records(path)}
    assert held == set(Kind) - {Kind.SUPERSEDED}


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::banditboost.JournalWarning")  # on another kind of processor than theirs
def test_a_golden_journal_goes_on(folder: Path, name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    shutil.copyfile(folder / f"{name}.journal", path)
    wanted: dict[str, Any] = json.loads((folder / "expected.json").read_text())[name]
    found = bb.Journal.replay(path)
    assert (found.calls, found.booster.rounds, sorted(found.tickets)) == (
        wanted["calls"],
        wanted["rounds"],
        wanted["in_flight"],
    )
    assert found.left_out == 0
    booster = fresh(name)
    journal = bb.Journal(path, booster)
    np.testing.assert_allclose(play(booster, 16, 20), wanted["next"], rtol=1e-8, atol=1e-10)
    digest = booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == digest


def test_records_are_byte_for_byte_what_they_were(tmp_path: Path) -> None:
    # The format is written down here once more: a change must be a new format, with a golden file of its own.
    assert framing.frame(3, b"payload", 7, 5, 9, b"8 bytes.", 2) == (
        b"bbJ2"
        + (7).to_bytes(8, "little")
        + bytes([3, 2, 1])
        + (7).to_bytes(8, "little")
        + (5).to_bytes(8, "little")
        + (9).to_bytes(4, "little")
        + b"8 bytes."
        + b"payload"
        + b"\xce\x83=v"
    )
    assert framing.HEAD.size == 35
    booster = fresh("run")
    journal = bb.Journal(tmp_path / "run.journal", booster)
    crash(journal)
    header, _ = array_table.unpack(records(tmp_path / "run.journal")[0].payload)
    assert list(header) == ["journal", "version", "arithmetic", "calls", "seen", "booster", "tickets", "arrays"]

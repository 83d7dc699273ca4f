"""Files that earlier versions wrote: every one of them loads, and goes on with the numbers that its own version went on with."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core import old_names
from banditboost._core.spec import _KINDS, Spec, from_dict
from banditboost._storage import model_file
from banditboost.cli.model import load_model
from banditboost.learners import wrapped
from banditboost.spaces import oracle
from tests._storage.write_fixtures import ROUNDS, answers, journalled, play

HERE = Path(__file__).parent
VERSIONS = sorted(folder.name for folder in HERE.glob("format*") if folder.is_dir())
PARTS = {
    "banditboost.learners.wrapped:least_squares": wrapped.least_squares,
    "banditboost.spaces.oracle:_disc_oracle": oracle._disc_oracle,
    "banditboost.spaces.oracle:_disc_projection": oracle._disc_projection,
    "banditboost.spaces.oracle:_disc_membership": oracle._disc_membership,
    "banditboost.spaces.oracle:_triangle_oracle": oracle._triangle_oracle,
    "banditboost.spaces.oracle:_triangle_projection": oracle._triangle_projection,
}
"""The functions that the files name, under the names that they had when the files were written."""
NAMES = [
    (version, name)
    for version in VERSIONS
    for name in zipfile.ZipFile(HERE / version / "files.zip").namelist()
    if name.endswith(".bb")
]


def expected(version: str) -> dict[str, Any]:
    return dict(json.loads((HERE / version / "expected.json").read_text()))


def file(version: str, name: str, folder: Path) -> Path:
    with zipfile.ZipFile(HERE / version / "files.zip") as held:
        (folder / name).write_bytes(held.read(name))
    return folder / name


def header(path: Path) -> dict[str, Any]:
    with np.load(path) as held:
        return dict(json.loads(held["header"].tobytes()))


def kinds(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        if "kind" in data:
            yield data["kind"]
        data = list(data.values())
    if isinstance(data, list):
        for part in data:
            yield from kinds(part)


def close(found: list[list[float]], wanted: list[list[float]]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_there_are_files_of_every_format_that_is_read() -> None:
    numbers = {header_format(version) for version in VERSIONS}
    assert numbers >= set(model_file.READABLE) - {model_file.FORMAT}


def header_format(version: str) -> int:
    return int(version.removeprefix("format"))


@pytest.mark.parametrize(("version", "name"), NAMES)
def test_a_booster_goes_on_as_its_own_version_did(version: str, name: str, tmp_path: Path) -> None:
    path = file(version, name, tmp_path)
    assert header(path)["format"] == header_format(version)
    booster = bb.Booster.load(path, parts=PARTS)
    assert booster.rounds == ROUNDS
    booster.save(tmp_path / "again.bb")
    wanted = expected(version)["boosters"][name]
    close(play(booster, ROUNDS, ROUNDS + 2), wanted)
    # What is saved now has the present format and names, and is the same booster.
    assert header(tmp_path / "again.bb")["format"] == model_file.FORMAT
    assert set(kinds(header(tmp_path / "again.bb")["spec"])) <= set(_KINDS)
    close(play(bb.Booster.load(tmp_path / "again.bb", parts=PARTS), ROUNDS, ROUNDS + 2), wanted)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_ticket_is_told_to_its_booster(version: str, tmp_path: Path) -> None:
    booster = bb.Booster.load(file(version, "ticket-booster.model", tmp_path))
    ticket = bb.Ticket.load(file(version, "ticket.ticket", tmp_path))
    booster.tell(ticket, answers(ticket))
    close(play(booster, ROUNDS + 1, ROUNDS + 3), expected(version)["ticket"])


def opened(path: Path, booster: bb.Booster) -> bb.Journal:
    """Open a journal: where another processor rounds otherwise, a warning may say that bits differ, and nothing else."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        journal = bb.Journal(path, booster)
    assert all("the bits differ from those recorded" in str(one.message) for one in said)
    return journal


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["boosted", "plan", "wrapped"])
def test_a_journal_is_replayed_and_goes_on(version: str, name: str, tmp_path: Path) -> None:
    path, wanted = file(version, f"{name}.journal", tmp_path), expected(version)["journals"][f"{name}.journal"]
    before = path.read_bytes()
    found = bb.Journal.replay(path, PARTS)
    assert (found.booster.rounds, found.calls, len(found.tickets)) == (wanted["rounds"], wanted["calls"], 1)
    assert found.marks_compared == 1  # a digest that the version which wrote the journal computed
    assert path.read_bytes() == before
    close(play(found.booster, 21, 23), wanted["next"])
    for start in (21, 23):  # the second time, the journal is one of the present version
        booster = journalled(name)
        journal = opened(path, booster)
        if start == 21:
            close(play(booster, 21, 23), wanted["next"])
        digest = booster.digest()
        journal.close()
        assert bb.Journal.replay(path, PARTS).booster.digest() == digest


@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_of_the_command_line_predicts_the_same(version: str, tmp_path: Path) -> None:
    known, wanted = load_model(file(version, "table.model", tmp_path)), expected(version)["table"]
    contexts = np.linspace(0.0, 1.0, 4 * known.booster.features).reshape(4, -1)
    np.testing.assert_allclose(known.predict(contexts), wanted["predicted"], rtol=1e-8)
    assert [column.name for column in known.encoding.columns] == wanted["columns"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_json_of_every_spec_is_read(version: str) -> None:
    for data in expected(version)["specs"]:
        made = from_dict(data, PARTS)
        assert isinstance(made, Spec)
        again = made.to_dict()
        # Only names differ: the values are those that were written.
        now = {old_names.FIELDS.get(made.kind, {}).get(name, name) for name in data}
        assert now <= set(again)
        assert from_dict(json.loads(made.to_json()), PARTS) == made


@pytest.mark.parametrize("version", VERSIONS)
def test_the_files_hold_one_of_every_kind_that_their_version_had(version: str, tmp_path: Path) -> None:
    held = {data["kind"] for data in expected(version)["specs"]}
    for other, name in (*NAMES, (version, "table.model")):
        if other == version:
            held |= set(kinds(header(file(version, name, tmp_path))))
    assert set(expected(version)["kinds"]) == held
    # No kind is ever lost: what a file could hold then is known today.
    assert {old_names.KINDS.get(kind, kind) for kind in held} <= set(_KINDS)


def test_old_names_have_no_second_meaning() -> None:
    assert not set(old_names.KINDS) & set(_KINDS)
    assert set(old_names.KINDS.values()) <= set(_KINDS)
    for kind, names in old_names.FIELDS.items():
        present = {field.name for field in fields(_KINDS[kind])}
        assert not set(names) & present, kind
        assert set(names.values()) <= present, kind


def test_a_field_under_both_names_is_refused() -> None:
    with pytest.raises(ValueError, match="has no field named about"):
        from_dict({"kind": "spaces.Ball", "dimension": 1, "radius": 1.0, "about": [0.0], "centre": [0.0]})


def test_a_table_without_its_entries_fails_this_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The broken variant: without the table, files of format 2 are not read.
    monkeypatch.setattr(old_names, "renamed", lambda data: data)
    with pytest.raises(ValueError, match="is not known here"):
        bb.Booster.load(file("format2", NAMES[0][1], tmp_path), parts=PARTS)

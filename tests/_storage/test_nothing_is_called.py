"""Nothing in a file is ever called: traps are planted in every field of every spec, in JSON, model files and journals."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import banditboost as bb
from banditboost._core import callables
from banditboost._core.spec import Spec, from_dict, from_json
from banditboost._storage import array_table, model_file
from banditboost.cli import model as shell_model
from banditboost.cli.setting import Setting
from banditboost.datasets.own_columns import Numbers, Words
from banditboost.datasets.own_encoding import Encoding
from banditboost.journal import framing
from tests._storage import traps
from tests.checks.discovery import boosters, specs

NAMES = [f"{traps.__name__}:{name}" for name in ("trap", "Trap", "caller", "Harmless")]
SHAPES: tuple[Any, ...] = (
    *({"function": name} for name in NAMES),
    {"function": "builtins:print"},
    {"function": "banditboost.learners.wrapped:LeastSquares"},
    {"function": [NAMES[0]]},
    {"function": {"function": NAMES[0]}},
    {"function": NAMES[0], "arguments": []},
    {"kind": "function", "function": NAMES[0]},
    {"kind": "learners.Wrapped", "model": {"function": NAMES[0]}},
    {"kind": "learners.Wrapped", "model": {"function": NAMES[1]}},
    {"kind": "learners.Wrapped", "model": {"kind": NAMES[1]}},
    {"kind": "learners.Wrapped", "model": NAMES[0]},
    *({"kind": name} for name in NAMES[:3]),
    {"kind": {"function": NAMES[0]}},
    [{"function": NAMES[0]}],
    {"callable": NAMES[0]},
    {"py/function": NAMES[0]},
    {"py/reduce": [{"py/function": NAMES[0]}, []]},
)
"""Ways to name something callable; all of them must be refused wherever they stand."""


def every_spec() -> Iterator[Spec]:
    """All that a file may hold: parts, whole boosters, plans, and what the command line adds."""
    yield from specs()
    for _, booster in boosters():
        yield booster.plan or booster.spec
    yield from (*Numbers.examples(), *Words.examples(), Setting())
    yield Encoding((*Numbers.examples(), *Words.examples()), "y")


def places(data: Any, seen: set[tuple[str, str]]) -> Iterator[tuple[Any, ...]]:
    """The way to every field of every spec within plain data that is not among those seen before."""
    steps: list[Any] = (
        list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    )
    for step in steps:
        if isinstance(data, dict) and "kind" in data and step != "kind" and (data["kind"], step) not in seen:
            seen.add((data["kind"], step))
            yield (step,)
        for rest in places(data[step], seen):
            yield (step, *rest)


def planted(data: Any, way: tuple[Any, ...], shape: Any) -> Any:
    """Return plain data with something else in one place."""
    made = copy.deepcopy(data)
    inner = made
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = shape
    return made


def refused(read: Callable[[], object], what: Any) -> None:
    """Reading raises one sentence, and no trap is called before or on the way."""
    error = None
    try:
        read()
    except ValueError as caught:
        error = str(caught)
    assert traps.sprung == [], f"{what}: called {traps.sprung}"
    assert error is not None, f"{what}: read"
    assert "\n" not in error
    assert len(error) < 1000


def check_json() -> int:
    """Plant every shape in every field of every spec, and read the JSON."""
    seen: set[tuple[str, str]] = set()
    for spec in every_spec():
        data, parts = spec.to_dict(), spec.callables()
        for way in places(data, seen):
            for shape in SHAPES:
                spoiled = planted(data, way, shape)
                refused(lambda spoiled=spoiled, parts=parts: from_dict(spoiled, parts), (spec.kind, way, shape))  # type: ignore[misc]
    return len(seen)


def check_model_files(folder: Path) -> int:
    """Plant traps in every field of every spec that a model file can hold, and load the file."""
    seen: set[tuple[str, str]] = set()
    path = folder / "model.bb"
    for name, booster in boosters():
        header, arrays = booster.header(), booster.arrays()
        for way in places(header["spec"], seen):
            for shape in SHAPES[:4]:
                model_file.write(path, header | {"spec": planted(header["spec"], way, shape)}, arrays)
                refused(lambda booster=booster: bb.Booster.load(path, booster.spec.callables()), (name, way, shape))  # type: ignore[misc]
    return len(seen)


def check_journals(folder: Path) -> int:
    """Plant traps in every field of every spec that a journal can hold; replay it, and resume it with a fresh booster."""
    seen: set[tuple[str, str]] = set()
    for number, (name, found) in enumerate(boosters()):
        path, fresh = folder / f"{number}.journal", bb.Booster.from_spec(found.plan or found.spec)
        ways = list(places((found.plan or found.spec).to_dict(), seen))
        if not ways:
            continue
        bb.Journal(path, fresh).close()
        (first, *rest), _ = framing.scan(str(path), path.read_bytes())
        header, arrays = array_table.unpack(first.payload)
        for way in ways:
            for shape in SHAPES[:2]:
                held = header["booster"] | {"spec": planted(header["booster"]["spec"], way, shape)}
                payload = array_table.pack(header | {"booster": held}, arrays)
                path.write_bytes(framing.frame(first.kind, payload, 0, 0, first.last_ask_checksum))
                refused(lambda: bb.Journal.replay(path, fresh.spec.callables()), (name, way, shape))  # noqa: B023
                refused(lambda: bb.Journal(path, fresh), (name, way, shape))  # noqa: B023
        assert not rest  # nothing was called, so the snapshot is all
    return len(seen)


@pytest.fixture(autouse=True)
def armed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(
        os, "fsync", lambda handle: None
    )  # thousands of files are written here, and need not be durable
    traps.sprung.clear()
    yield
    traps.sprung.clear()


def test_no_json_of_a_spec_calls_anything() -> None:
    assert check_json() > 200


def test_no_model_file_calls_anything(tmp_path: Path) -> None:
    assert check_model_files(tmp_path) > 150


def test_no_journal_calls_anything(tmp_path: Path) -> None:
    assert check_journals(tmp_path) > 150


def test_no_other_entry_of_a_model_file_calls_anything(tmp_path: Path) -> None:
    booster, path = bb.Booster(copies=3, space=bb.spaces.Interval(-1, 1)), tmp_path / "model.bb"
    booster.ask([1.0, 2.0])
    for entry in booster.header():
        for shape in SHAPES:
            if entry != "extra":  # plain data, which the booster keeps and does not read
                model_file.write(path, booster.header() | {entry: shape}, booster.arrays())
                refused(lambda: bb.Booster.load(path), (entry, shape))
    table = {
        "encoding": Encoding((*Numbers.examples(), *Words.examples()), "y"),
        "setting": Setting(),
        "loss": bb.losses.Huber(),
    }
    plain = {name: spec.to_dict() for name, spec in table.items()}
    for way in places(plain, set()):
        for shape in SHAPES:
            booster.extra = {"table": planted(plain, way, shape)}
            booster.save(path)
            refused(lambda: shell_model.load(path), (way, shape))


def test_a_string_that_names_a_function_is_text() -> None:
    seen: set[tuple[str, str]] = set()
    for spec in every_spec():
        data, parts = spec.to_dict(), spec.callables()
        for way in places(data, seen):
            try:
                made = from_dict(planted(data, way, NAMES[0]), parts)
            except ValueError:
                pass
            else:
                assert NAMES[0] in made.to_json()
            assert traps.sprung == []


def test_reading_a_spec_does_not_call_what_the_caller_passes_either() -> None:
    for spec in specs():
        if spec.callables():
            again = from_json(spec.to_json(), dict.fromkeys(spec.callables(), traps.trap))
            assert set(again.callables()) == set(spec.callables())
    assert traps.sprung == []


def old_lookup(name: Any, parts: Any) -> Any:
    """What files of earlier versions could do: name any function of an imported module."""
    module, _, attribute = str(name).partition(":")
    found = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
    if found is None:
        raise ValueError("The function is not known here.")
    return found


@pytest.mark.parametrize("check", [check_model_files, check_journals])
def test_the_checks_notice_a_reader_that_looks_functions_up(
    check: Callable[[Path], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callables, "given", old_lookup)
    with pytest.raises(AssertionError, match=r"tests\._storage\.traps:trap"):
        check(tmp_path)


@pytest.mark.parametrize("field", ["model", "membership"])
def test_a_reader_that_looks_functions_up_would_call_them(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = bb.spaces.Oracle.examples()[0]
    booster = bb.Booster(bb.learners.Wrapped.examples()[0], 2, gradient=bb.gradients.Exact(), space=oracle, features=1)
    part = {"model": "learner", "membership": "space"}[field]
    spoiled = planted(booster.header(), ("spec", part, field), SHAPES[0])
    model_file.write(tmp_path / "model.bb", spoiled, booster.arrays())
    refused(lambda: bb.Booster.load(tmp_path / "model.bb", booster.spec.callables()), field)
    monkeypatch.setattr(callables, "given", old_lookup)
    with pytest.raises(RuntimeError, match="a trap was called"):
        bb.Booster.load(tmp_path / "model.bb")


def test_the_check_of_json_notices_a_reader_that_looks_functions_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables, "given", old_lookup)
    with pytest.raises(AssertionError, match="read"):
        check_json()

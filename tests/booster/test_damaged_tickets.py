"""Tickets whose files were changed: what kernels rely on without looking is checked before they see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import model_file
from banditboost._storage.array_table import ArrayTable
from banditboost.gradients import Probe

LINE, BOX = bb.spaces.Interval(0.0, 20.0), bb.spaces.Box((0.0, 0.0, 0.0), (1.0, 2.0, 3.0))
FIELDS = ("prediction", "law", "density", "weight", "directions", "anchors", "queries", "draws", "chosen")
ANSWERS = 3


def make(space: bb.spaces.Space) -> bb.Booster:
    return bb.algorithms.boosted(space, answers=ANSWERS, copies=4)


def saved(booster: bb.Booster, path: Path, limited: bool = True) -> Path:
    space = booster.spec.space
    ends = (space.inner_centre, space.minimize(-np.ones(space.shape)))
    booster.ask([0.1, 0.2], space=ends if limited else None).save(path)
    return path


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Change the header's ticket and the arrays by name of field, and write the file anew, with a checksum that fits."""
    header, arrays = model_file.read(path)
    ticket, named = header["ticket"], dict(arrays)
    held = Probe._fields[: len(ticket["probe"])]  # a ticket's probe has no importance, and a file none either
    parts = dict(zip(held, ticket["probe"], strict=True))
    fields = {name: np.array(named[str(place)]) for name, place in parts.items() if place is not None}
    change(ticket, fields)
    for name, array in fields.items():  # every field gets an array of its own, as arrays may be shared
        named[str(len(named))] = array
        parts[name] = len(named) - 1
    ticket["probe"] = [parts[name] for name in held]
    model_file.write(path, header, named)


def shapes(array: np.ndarray) -> dict[str, np.ndarray]:
    """An array with other shapes, other types and other numbers."""
    flat = array.reshape(-1)
    found = {
        "empty": flat[:0],
        "longer": np.concatenate([flat, flat, flat]),
        "shorter": flat[:-1],
        "another axis": array[np.newaxis],
        "a column": flat.reshape(-1, 1, 1),
        "many rows": np.zeros((1000, 3)),
        "small numbers": array.astype(np.float32),
        "whole numbers": array.astype(np.int32),
    }
    if array.dtype == np.float64:
        found |= {"numbers beyond all squares": np.full_like(array, 1e300)}
    return found


def refused(booster: bb.Booster, path: Path) -> None:
    """The ticket cannot be loaded, or cannot be told, by one sentence that changes nothing; nothing reads beyond an array."""
    before = booster.digest()
    with pytest.raises(ValueError, match=r"is damaged|ticket must be what ask returned|losses must") as error:
        booster.tell(bb.Ticket.load(path), losses=np.ones(ANSWERS))
    assert "\n" not in str(error.value)
    assert booster.digest() == before


@pytest.mark.parametrize("space", [LINE, BOX])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", list(shapes(np.zeros(2))))
def test_arrays_that_do_not_fit_are_refused(space: bb.spaces.Space, field: str, kind: str, tmp_path: Path) -> None:
    booster = make(space)
    path = saved(booster, tmp_path / "ticket.bb")
    original = {}

    def change(ticket: dict[str, Any], fields: dict[str, np.ndarray]) -> None:
        original[field] = fields[field]
        if kind in shapes(fields[field]):
            fields[field] = shapes(fields[field])[kind]

    rewritten(path, change)
    same = kind not in shapes(original[field])
    harmless = field in ("queries", "draws", "chosen") and kind in ("small numbers", "whole numbers")
    if same or harmless:  # of the right shape, and read by no kernel
        booster.tell(bb.Ticket.load(path), losses=np.ones(ANSWERS))
    else:
        refused(booster, path)


@pytest.mark.parametrize("name", ["law", "prediction"])
def test_a_probe_without_its_law_is_refused(name: str, tmp_path: Path) -> None:
    booster = make(LINE)
    path = saved(booster, tmp_path / "ticket.bb")
    header, arrays = model_file.read(path)
    header["ticket"]["probe"][Probe._fields.index(name)] = None
    model_file.write(path, header, arrays)
    refused(booster, path)


@pytest.mark.parametrize("space", [LINE, BOX])
@pytest.mark.parametrize(("queries", "directions"), [(1, 1), (2, 2), (3, 1)])
def test_fewer_queries_or_directions_than_the_gradient_asks_are_refused(
    space: bb.spaces.Space, queries: int, directions: int, tmp_path: Path
) -> None:
    # All arrays fit each other, so that only the gradient can know: its kernel would read answers that are not there.
    booster = make(space)
    path = saved(booster, tmp_path / "ticket.bb")

    def change(ticket: dict[str, Any], fields: dict[str, np.ndarray]) -> None:
        for name in ("queries", "draws", "density"):
            fields[name] = fields[name][:queries]
        for name in ("directions", "chosen"):
            fields[name] = fields[name][:directions]

    rewritten(path, change)
    ticket = bb.Ticket.load(path)
    before = booster.digest()
    with pytest.raises(
        ValueError, match=r"ticket must be what ask returned: its (law does|queries do) not fit this booster"
    ):
        booster.tell(ticket, losses=np.ones(queries))
    assert booster.digest() == before


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("space", [LINE, BOX])
def test_numbers_that_are_not_finite_are_refused(space: bb.spaces.Space, bad: float) -> None:
    # Model files hold none, and journals do not look.
    ends = (space.inner_centre, space.minimize(-np.ones(space.shape)))
    table = ArrayTable()
    plain = make(space).ask([0.1, 0.2], space=ends).to_plain(table)
    for place, array in enumerate(table.arrays):
        bb.Ticket.from_plain(plain, list(map(np.array, table.arrays)))
        if array.dtype == np.float64:
            arrays = list(map(np.array, table.arrays))
            arrays[place].reshape(-1)[-1] = bad
            with pytest.raises(ValueError, match="the arrays do not fit each other"):
                bb.Ticket.from_plain(plain, arrays)


LIMITS: dict[str, Callable[[list[int], dict[str, np.ndarray]], Any]] = {
    "one end": lambda places, arrays: places[:1],
    "three ends": lambda places, arrays: [*places, places[0]],
    "the wrong way round": lambda places, arrays: places[::-1],
    "a place that is not there": lambda places, arrays: [places[0], 1000],
    "a text": lambda places, arrays: "none",
    "no list": lambda places, arrays: None,
    "another array": lambda places, arrays: [0, 1],
}


@pytest.mark.parametrize("space", [LINE, BOX])
@pytest.mark.parametrize("name", LIMITS)
def test_limits_that_do_not_fit_are_refused(space: bb.spaces.Space, name: str, tmp_path: Path) -> None:
    booster = make(space)
    path = saved(booster, tmp_path / "ticket.bb")
    header, arrays = model_file.read(path)
    header["ticket"]["limits"] = LIMITS[name](header["ticket"]["limits"], dict(arrays))
    model_file.write(path, header, arrays)
    refused(booster, path)


def test_tickets_without_limits_say_nothing_of_them(tmp_path: Path) -> None:
    header, _ = model_file.read(saved(make(LINE), tmp_path / "ticket.bb", limited=False))
    assert "limits" not in header["ticket"]


def test_random_damage_never_gets_through(tmp_path: Path) -> None:
    # Bytes of arrays at random: a ticket that is told anyway has finite numbers in all the right shapes.
    rng, told = np.random.default_rng(0), 0
    for _ in range(60):
        booster = make(BOX)
        path = saved(booster, tmp_path / "ticket.bb")

        def change(ticket: dict[str, Any], fields: dict[str, np.ndarray]) -> None:
            name = str(rng.choice(FIELDS))
            raw = bytearray(fields[name].tobytes())
            for _ in range(int(rng.integers(1, 8))):
                raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
            if fields[name].dtype != np.bool_:
                fields[name] = np.frombuffer(bytes(raw), fields[name].dtype).reshape(fields[name].shape).copy()

        rewritten(path, change)
        try:
            booster.tell(bb.Ticket.load(path), losses=np.linspace(0.0, 1.0, ANSWERS))
            told += 1
        except ValueError:
            pass
        for array in booster.arrays().values():
            assert np.isfinite(array).all()
    assert 5 < told < 60

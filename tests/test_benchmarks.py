"""The benchmarks run, at sizes that say nothing about speed, and keep what they measured."""

from __future__ import annotations

import builtins
import io
import json
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import background, drift, growth, latency, peers, speed
from benchmarks.table import drawn
from benchmarks.timing import Contestant, interleaved
from rich.console import Console

TINY = (speed.Setting(5), speed.Setting(8, 3))
BUDGETS = {"Vowpal Wabbit": 5, "River": 5, "CapyMOA": 5}


def printed(shown: Any) -> str:
    page = io.StringIO()
    Console(width=200, file=page).print(shown)
    return page.getvalue()


def test_speed_gives_a_ratio_for_everyone_who_is_there(tmp_path: Path) -> None:
    results = speed.measure(rounds=50, repetitions=1, settings=TINY, shrink=500)
    json.dumps(results)
    for row in results["settings"]:
        for name in ("numpy", "plain", "river, one model", "river, bag"):
            ratio = row["times"][name]["microseconds"] / row["times"]["ours"]["microseconds"]
            assert row["ratios"][name]["ratio"] == pytest.approx(ratio)
        assert row["ratios"]["numpy"]["met"] == (row["ratios"]["numpy"]["ratio"] >= 100)
    text = printed(speed.table(results))
    assert ("Vowpal Wabbit is left out" in text) == (find_spec("vowpalwabbit") is None)
    assert str(TINY[1]) in text
    speed.figure(results, tmp_path / "speed.png")
    assert (tmp_path / "speed.png").stat().st_size > 0


def test_libraries_that_cannot_be_imported_are_left_out_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def refusing(name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".")[0] in ("vowpalwabbit", "river", "capymoa"):
            raise ImportError(f"No module named {name!r}")
        return imported(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refusing)
    contestants, left_out = peers.found(drawn(5, 3), 2, BUDGETS)
    assert not contestants
    assert [sentence.split(" is left out: ")[0] for sentence in left_out] == list(peers.LIBRARIES)
    assert all(sentence.endswith(".") for sentence in left_out)


def test_capymoa_is_left_out_where_there_is_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    assert any("Java" in sentence for sentence in peers.found(drawn(5, 3), 2, BUDGETS)[1])


def test_growth_fits_the_power_of_a_size(tmp_path: Path) -> None:
    assert growth.slope_of([{"size": s, "milliseconds": 3 * s**0.8} for s in (1, 7, 50, 100)]) == pytest.approx(0.8)
    curves = (
        growth.CURVES[0]._replace(sizes=(2, 4, 6)),
        growth.Curve("non-zeros", "9 features", (2, 4, 8), lambda k: growth.sparse(20, 9, 2, k, 7), True),
        growth.Curve("label dimensions", "3 features", (1, 2, 3), lambda d: growth.dense(20, 3, 2, d), False),
    )
    results = growth.measure(curves, repetitions=1)
    json.dumps(results)
    assert [row["met"] for row in results] == [bool(r["target"]) and 0.9 <= r["slope"] <= 1.1 for r in results]
    assert "9 features" in printed(growth.table(results))
    growth.figure(results, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 0


def test_latency_times_a_round_and_a_process() -> None:
    results = latency.measure(rounds=5, repetitions=1)
    a_round = results["round"]
    assert a_round["ask + tell"] == a_round["ask"] + a_round["tell"] > 0
    assert all(row["seconds"] > 0 for row in results["process"].values())
    assert set(results["process"]) == set(latency.PROGRAMS)
    assert "ask + tell" in printed(latency.table(results))


def test_a_tell_is_timed_with_forests_grown_within_it_and_in_the_background() -> None:
    results = background.measure(rounds=60, sizes=(5,))
    json.dumps(results)
    rows = {row["way"]: row for row in results["rows"]}
    assert set(rows) == set(background.WAYS)
    assert all(0 < row["mean"] <= row["longest"] and row["round"] > row["mean"] for row in rows.values())
    assert rows["within a round, with a lag"]["forests"] == 1
    assert not rows["within a round, with a lag"]["late"]
    assert "in the background" in printed(background.table(results))


def test_contestants_take_turns_and_the_first_repetition_does_not_count() -> None:
    order: list[str] = []
    contestants = {name: Contestant(10, lambda name=name: lambda: order.append(name)) for name in "ab"}  # type: ignore[misc]
    times = interleaved(contestants, repetitions=3)
    assert "".join(order) == "ab" * 4
    assert all(time["noise"] >= 1 and time["rounds"] == 10 for time in times.values())


def test_a_sparse_table_has_as_many_non_zeros_as_it_says() -> None:
    table = drawn(20, 9, 4)
    assert (np.count_nonzero(table.contexts, axis=1) == 4).all()
    assert table.world().contexts().nnz == 80
    assert table.dictionaries(3)[2] == {str(j): table.contexts[2, j] for j in np.flatnonzero(table.contexts[2])}


def test_running_one_part_keeps_the_others(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    command.keep("loop", [1], file)
    command.keep("speed", {"a": 2}, file)
    command.keep("loop", [3], file)
    kept = json.loads(file.read_text())
    assert kept["loop"] == [3]
    assert kept["speed"] == {"a": 2}
    assert set(kept["about"]) == {"loop", "speed"}
    assert kept["about"]["speed"]["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize("name", command.PARTS)
def test_every_part_has_what_the_command_calls(name: str) -> None:
    part = import_module(f"benchmarks.{name}")
    assert callable(part.measure)
    assert callable(part.table)


def test_an_unknown_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "sped"])
    with pytest.raises(SystemExit, match="no benchmark named sped"):
        command.arguments()


def test_a_round_is_timed_with_and_without_memory_and_drift_handling() -> None:
    results = drift.measure(rounds=60, sizes=(5,))
    assert [row["way"] for row in results["rows"]] == list(drift.WAYS)
    assert all(row["microseconds"] > 0 for row in results["rows"])
    assert "the default" in printed(drift.table(results))

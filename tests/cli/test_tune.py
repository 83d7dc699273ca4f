"""`banditboost tune`: resumed is the same as uninterrupted, and only first halves are looked at."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from banditboost.cli import tune as command
from banditboost.cli.setting import Setting
from banditboost.learners.categories import Pairs
from banditboost.spaces import Space
from banditboost.worlds import Supervised
from tests.cli.shell import Shell, lines, numbers, write

pytest.importorskip("optuna")


def table(path: Path, rows: int = 120, last: float = 0.0) -> Path:
    a, y = numbers(rows)
    y[rows // 2 + 1 :] += last
    return write(path, lines("a,y", zip(a, y, strict=True)))


def tuned(shell: Shell, file: Path, trials: int, storage: Path, *more: str) -> dict[str, Any]:
    arguments = ("--target", "y", "--trials", trials, "--storage", storage, "--quiet", "--json", "-", *more)
    return shell("tune", file, *arguments).results


def test_resumed_is_uninterrupted(shell: Shell, tmp_path: Path) -> None:
    file = table(tmp_path / "a.csv")
    tuned(shell, file, 4, tmp_path / "parts.db")
    parts = tuned(shell, file, 13, tmp_path / "parts.db")
    whole = tuned(shell, file, 13, tmp_path / "whole.db")
    assert len(parts["trials"]) == 13
    assert parts["trials"] == whole["trials"]
    assert parts["best"]["loss"] == min(trial["loss"] for trial in parts["trials"]) <= parts["first_loss"]
    again = tuned(shell, file, 5, tmp_path / "parts.db")
    assert again["trials"] == whole["trials"]
    other = tuned(shell, file, 2, tmp_path / "parts.db", "--seed", "1")
    assert len(other["trials"]) == 2


def test_the_command_line_it_prints_gives_what_it_promised(shell: Shell, tmp_path: Path) -> None:
    file = table(tmp_path / "a.csv")
    results = tuned(shell, file, 6, tmp_path / "t.db", "--learner", "trees", "--report-second-half")
    said = shlex.split(results["best"]["run"])
    assert said[:5] == ["banditboost", "run", str(file), "--target", "y"]
    found = shell(*said[1:], "--quiet", "--json", "-").results
    assert found["setting"] == results["best"]["setting"]
    assert found["last_half_loss"] == results["second_half"]["best"]


def test_second_halves_do_not_count(shell: Shell, tmp_path: Path) -> None:
    # The labels of the second half are moved, but within the range that the first half has: the first pass finds the same.
    plain, moved = table(tmp_path / "a.csv"), table(tmp_path / "b.csv", last=0.05)
    text, other = plain.read_text().splitlines(), moved.read_text().splitlines()
    ends = ["0.5,-2", "0.5,8"]
    plain, moved = (
        write(tmp_path / name, "\n".join([rows[0], *ends, *rows[1:]]))
        for name, rows in (("c.csv", text), ("d.csv", other))
    )
    assert plain.read_text() != moved.read_text()
    first, second = (tuned(shell, file, 3, tmp_path / "t.db") for file in (plain, moved))
    assert [trial["loss"] for trial in first["trials"]] == [trial["loss"] for trial in second["trials"]]


def test_ctrl_c_keeps_finished_trials(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, played = table(tmp_path / "a.csv"), []
    from banditboost.cli.search import fare

    def presses(setting: Setting, world: Supervised, space: Space, paid: bool, categories: Pairs) -> float:
        played.append(setting)
        if len(played) == 3:
            raise KeyboardInterrupt
        return fare(setting, world, space, paid, categories)

    monkeypatch.setattr(command, "fare", presses)
    shown = shell("tune", file, "--target", "y", "--trials", 5, "--storage", tmp_path / "t.db")
    assert shown.code == 130
    assert "Finished trials are kept" in shown.err
    resumed = tuned(shell, file, 5, tmp_path / "t.db")
    assert len(played) == 3 + 3
    assert played[2] == played[3]
    assert len(resumed["trials"]) == 5


def test_what_cannot_be_tuned_is_said(shell: Shell, tmp_path: Path) -> None:
    file = table(tmp_path / "a.csv")
    arguments = ("tune", file, "--target", "y", "--trials", "1")
    assert "storage must be" in shell(*arguments, "--storage", file).sentence
    assert "storage must be" in shell(*arguments, "--storage", "nosuch://database").sentence
    assert "answers must be at most 10" in shell(*arguments, "--answers", "20").sentence

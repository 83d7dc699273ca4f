"""Functions in saved boosters: files hold their names, and the caller passes the functions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.cli import app
from banditboost.learners.wrapped import LeastSquares
from tests._storage.write_fixtures import play


def make() -> LeastSquares:
    return LeastSquares()


def seeded(seed: int) -> LeastSquares:
    return LeastSquares(step=0.5 + seed % 2 / 4)


def wrapped(model: Any) -> bb.Booster:
    return bb.Booster(bb.learners.Wrapped(model), 2, space=bb.spaces.Interval(-1, 1), seed=4)


@pytest.fixture(params=["function", "class", "lambda", "with a seed"])
def model(request: pytest.FixtureRequest) -> Any:
    named = bb.Named("model", lambda: LeastSquares())
    return {"function": make, "class": LeastSquares, "lambda": named, "with a seed": bb.Named("model", seeded)}[
        request.param
    ]


def test_a_booster_with_functions_is_saved_and_goes_on(model: Any, tmp_path: Path) -> None:
    booster = wrapped(model)
    play(booster, 0, 5)
    booster.save(tmp_path / "model.bb")
    with pytest.raises(ValueError, match=r"in Python, pass the function itself, as parts=\{'.*': \.\.\.\}\."):
        bb.Booster.load(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb", parts=booster.spec.callables())
    assert loaded.spec == booster.spec
    assert loaded.digest() == booster.digest()
    assert play(loaded, 5, 9) == play(booster, 5, 9)


def test_a_journal_uses_the_functions_of_the_booster_given(model: Any, tmp_path: Path) -> None:
    path, booster = tmp_path / "run.journal", wrapped(model)
    with bb.Journal(path, booster, snapshot_every=4):
        play(booster, 0, 5)
    again = wrapped(model)
    with bb.Journal(path, again):
        assert again.digest() == booster.digest()
        assert play(again, 5, 7) == play(booster, 5, 7)
    with pytest.raises(ValueError, match="pass the function itself"):
        bb.Journal.replay(path)
    assert bb.Journal.replay(path, again.spec.callables()).booster.digest() == again.digest()
    with pytest.raises(ValueError, match="holds a booster with other parts"):
        bb.Journal(path, wrapped(bb.Named("another", make)))


def test_what_is_passed_is_checked(tmp_path: Path) -> None:
    path, name = tmp_path / "model.bb", f"{__name__}:make"
    booster = wrapped(make)
    play(booster, 0, 2)
    booster.save(path)
    with pytest.raises(ValueError, match="parts must have something callable under"):
        bb.Booster.load(path, parts={name: LeastSquares()})
    with pytest.raises(ValueError, match="model must make something with predict_one"):
        bb.Booster.load(path, parts={name: dict})
    with pytest.raises(ValueError, match="holds a booster that cannot be made here"):
        bb.Booster.load(path, parts={name: lambda: [][0]})


@pytest.mark.parametrize(
    "command", [["replay", "run.journal"], ["predict", "model.bb", "t.csv"], ["explain", "model.bb"]]
)
def test_commands_say_that_python_is_needed(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    booster = wrapped(make)
    with bb.Journal(tmp_path / "run.journal", booster):
        play(booster, 0, 2)
    booster.save(tmp_path / "model.bb")
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["banditboost", *command])
    with pytest.raises(SystemExit) as stop:
        app.main()
    assert stop.value.code == 1
    said = capsys.readouterr().err.strip()
    assert said.splitlines() == [said]
    assert f"in Python, pass the function itself, as parts={{'{__name__}:make': ...}}" in said


def test_an_oracle_is_passed_by_the_caller(tmp_path: Path) -> None:
    calls: list[int] = []

    def corner(gradients: Any) -> Any:
        calls.append(len(gradients))
        return np.where(gradients > 0, 0.0, 1.0)

    space = bb.spaces.Oracle(bb.Named("corner", corner), (0.5, 0.5), 0.5, 2**0.5)
    booster = bb.algorithms.projection_free(space, horizon=20)
    play(booster, 0, 3)
    booster.save(tmp_path / "model.bb")
    calls.clear()
    with pytest.raises(ValueError, match=r"parts=\{'corner': \.\.\.\}"):
        bb.Booster.load(tmp_path / "model.bb")
    assert calls == []
    loaded = bb.Booster.load(tmp_path / "model.bb", parts={"corner": corner})
    assert play(loaded, 3, 6) == play(booster, 3, 6)

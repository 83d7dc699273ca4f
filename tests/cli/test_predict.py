"""`banditboost predict`: the saved encoding on other tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost.algorithms.names import LEARNERS
from banditboost.cli.model import load_model
from banditboost.datasets.own_columns import Words
from tests.cli.shell import Shell, lines, numbers, write


@pytest.fixture
def trained(shell: Shell, tmp_path: Path) -> tuple[Path, Path]:
    a, y = numbers(600)
    side = np.random.default_rng(5).choice(["north", "south"], 600)
    file = write(tmp_path / "a.csv", lines("a,side,y", zip(a, side, y + (side == "north"), strict=True)))
    model = tmp_path / "m.bb"
    assert shell("run", file, "--target", "y", "--quiet", "--save", model).code == 0
    return file, model


def test_round_trip(shell: Shell, trained: tuple[Path, Path], tmp_path: Path) -> None:
    file, model = trained
    shown = shell("predict", model, file)
    assert shown.code == 0
    rows = shown.out.split()
    assert rows[0] == "prediction"
    table, booster = bb.datasets.prepare_own(file, "y"), bb.Booster.load(model)
    one_by_one = [float(booster.predict(x)) for x in table.X]
    np.testing.assert_allclose(np.array(rows[1:], dtype=float), one_by_one, rtol=1e-12, atol=1e-12)
    loss = np.square(np.array(rows[1:], dtype=float) - table.y).mean()
    assert f"'y' is in the table: mean squared loss {loss:.5g} on 600 rows." in shown.err
    assert loss < 0.1
    assert bb.Booster.load(model).rounds == 600
    for output in (tmp_path / "p.csv", tmp_path / "p.parquet"):
        assert shell("predict", model, file, "--output", output).code == 0
        frame = pl.read_csv(output) if output.suffix == ".csv" else pl.read_parquet(output)
        assert frame["prediction"].to_list() == [float(row) for row in rows[1:]]


def test_columns_are_found_by_name_and_what_is_strange_is_said(
    shell: Shell, trained: tuple[Path, Path], tmp_path: Path
) -> None:
    _, model = trained
    plain = shell("predict", model, write(tmp_path / "b.csv", "side,other,a\nnorth,1,0.5\nsouth,2,0.5\n"))
    assert plain.err == ""
    north, south = (float(text) for text in plain.out.split()[1:])
    assert north - south == pytest.approx(1.0, abs=0.3)
    strange = shell("predict", model, write(tmp_path / "c.csv", "side;a\nwest;0,5\nnorth;?\n"))
    said = strange.err.replace("\n", " ")
    assert (
        "Column 'side' has words that were not there before, such as 'west', in 1 row: they have no indicator." in said
    )
    assert "Column 'a' had no missing values before: the mean" in said
    assert all(np.isfinite(float(text)) for text in strange.out.split()[1:])
    gone = shell("predict", model, write(tmp_path / "d.csv", "a\n0.1\n0.9\n"))
    assert "There is no column 'side': all of its values count as missing." in gone.err
    low, high = (float(text) for text in gone.out.split()[1:])
    assert low < high
    assert (
        "must have columns that the model was trained on"
        in shell("predict", model, write(tmp_path / "e.csv", "q\n1\n")).sentence
    )


@pytest.mark.parametrize("loss", ["squared", "log", "logistic"])
def test_classes_come_back_by_name(shell: Shell, tmp_path: Path, loss: str) -> None:
    a, _ = numbers(600)
    file = write(tmp_path / "a.csv", lines("a,y", [(v, "große" if v > 0.5 else "kleine") for v in a]))
    model = tmp_path / "m.bb"
    assert shell("run", file, "--target", "y", "--loss", loss, "--quiet", "--save", model).code == 0
    output = tmp_path / "p.csv"
    shown = shell("predict", model, file, "--probabilities", "--output", output, "--json", "-")
    frame = pl.read_csv(output)
    assert shown.results["predictions"] == frame["prediction"].to_list()
    truth = ["große" if v > 0.5 else "kleine" for v in a]
    hits = np.mean([guess == word for guess, word in zip(frame["prediction"], truth, strict=True)])
    assert shown.results["accuracy"] == pytest.approx(hits)
    assert hits > 0.95
    chances = frame.select("probability of große", "probability of kleine").to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    likelier = np.array(["große", "kleine"])[chances.argmax(axis=1)]
    assert likelier.tolist() == frame["prediction"].to_list()


def test_what_cannot_be_predicted_is_said(shell: Shell, trained: tuple[Path, Path], tmp_path: Path) -> None:
    file, model = trained
    assert "There is no file" in shell("predict", tmp_path / "none.bb", file).sentence
    assert "is not a banditboost file" in shell("predict", file, file).sentence
    assert "must end in .csv or .parquet" in shell("predict", model, file, "--output", tmp_path / "x.txt").sentence
    assert "probabilities must be left out" in shell("predict", model, file, "--probabilities").sentence
    bare = tmp_path / "bare.bb"
    bb.algorithms.boosted(bb.spaces.Interval(0, 1)).save(bare)
    assert "got a booster that does not know the names of columns" in shell("predict", bare, file).sentence


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table.clear(),
        lambda table: table.update(encoding=3),
        lambda table: table.update(setting=table["loss"]),
        lambda table: table["encoding"]["columns"].pop(),
        lambda table: table["encoding"].update(columns=[1, 2]),
        lambda table: table["encoding"].update(target=4, classes=[1, 2]),
        lambda table: table["encoding"]["columns"][0].update(fill="x"),
        lambda table: table["encoding"]["columns"][0].update(date="%q"),
        lambda table: table["encoding"]["columns"][1].update(levels=[1, 1]),
        lambda table: table["setting"].update(loss="hinge"),
    ],
)
def test_a_damaged_table_is_refused(
    shell: Shell, trained: tuple[Path, Path], tmp_path: Path, damage: Callable[[dict[str, Any]], object]
) -> None:
    file, model = trained
    booster = bb.Booster.load(model)
    damage(booster.extra["table"])
    booster.save(tmp_path / "damaged.bb")
    assert shell("predict", tmp_path / "damaged.bb", file).sentence
    assert bb.Booster.load(tmp_path / "damaged.bb").rounds == 600
    booster.extra = [1]  # type: ignore[assignment]
    booster.save(tmp_path / "damaged.bb")
    assert "is damaged" in shell("explain", tmp_path / "damaged.bb").sentence


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_blocks_of_rows_are_predicted_as_single_rows_are(
    shell: Shell, tmp_path: Path, learner: str, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, y = numbers(150)
    label = y if task == "numbers" else np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    file = write(tmp_path / "a.csv", lines("a,b,y", zip(a, a[::-1], label, strict=True)))
    shell("run", file, "--target", "y", "--learner", learner, "--quiet", "--save", tmp_path / "m.bb")
    model = load_model(tmp_path / "m.bb")
    X = model.encoding.encode(bb.datasets.read_own(file)).X
    monkeypatch.setattr(bb.booster.booster, "NUMBERS_AT_A_TIME", 31 * 64)  # a few blocks, the last one shorter
    single = np.array([model.booster.predict(x) for x in X])
    np.testing.assert_allclose(model.predict(X), single, rtol=1e-12, atol=1e-12)
    assert model.predict(X[:0]).shape == (0, *single.shape[1:])


def test_models_of_learners_under_their_old_names_are_read(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers(60)
    file = write(tmp_path / "a.csv", lines("a,y", zip(a, y, strict=True)))
    for old, new in (("linear", "gradient-descent"), ("tree", "trees")):
        shell("run", file, "--target", "y", "--learner", new, "--quiet", "--save", tmp_path / "m.bb")
        booster = bb.Booster.load(tmp_path / "m.bb")
        booster.extra["table"]["setting"]["learner"] = old
        booster.save(tmp_path / "old.bb")
        assert load_model(tmp_path / "old.bb").setting.learner == new


def calls_of_python(work: Callable[[], object]) -> int:
    """Return how many functions of Python are called."""
    counted = [0]

    def count(_: Any, event: str, __: Any) -> None:
        counted[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted[0]


MESSY = "01.05.2026 13:00;1.132,43 €;10%;Köln;ja\n-;n/a;20%;Bonn;nein\n02.06.2026 07:30;980,00 €;-;Aachen;ja\n"


def test_no_work_is_done_row_by_row(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Predicting a table takes as many calls for thousands of rows as for dozens: columns are read as wholes."""
    names = "when;price;off;town;new"
    labelled = [f"{row};{place % 7}" for place, row in enumerate(MESSY.splitlines() * 40)]
    file, model = write(tmp_path / "a.csv", "\n".join([f"{names};y", *labelled])), tmp_path / "m.bb"
    assert shell("run", file, "--target", "y", "--quiet", "--copies", 5, "--save", model).code == 0
    few, many = (write(tmp_path / f"{times}.csv", f"{names}\n" + MESSY * times) for times in (30, 1500))
    shell("predict", model, few)  # imports and compiles
    few_calls, many_calls = (calls_of_python(partial(shell, "predict", model, file)) for file in (few, many))
    assert many_calls < 1.2 * few_calls
    encode = Words.encode
    monkeypatch.setattr(Words, "encode", lambda *given: [str(x) for x in map(_same, given[1])] and encode(*given))
    assert calls_of_python(partial(shell, "predict", model, many)) > many_calls + 4000


def _same(x: Any) -> Any:
    return x

"""Logs as people have them: words, dates, missing values and numbers in other styles, from the file to the decision."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import banditboost as bb
from banditboost.datasets.own_columns import Words
from banditboost.datasets.own_fields import ENCODING, Fields, fields_in
from banditboost.logs import own
from tests.cli.shell import Shell, lines

TOWNS = ("Bonn", "Köln", "Rom")
WANTED = {"Bonn": 4.0, "Köln": 7.0, "Rom": 9.0}
OPTIONS = ("--action", "price", "--loss", "cost", "--density", "p")
SPACE = ("--space", "0,14")
FIELDS = {"town": "Rom", "age": 41, "since": "05.02.2024"}


def rows_of(rounds: int, seed: int) -> list[dict[str, Any]]:
    """Prices drawn at random, and costs that depend on the town and, half as much, on the age."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(rounds):
        town, age, price = TOWNS[int(rng.integers(3))], int(rng.integers(18, 80)), float(rng.uniform(0, 14))
        cost = abs(price - best(town, age)) + float(rng.normal(0, 0.2))
        day = date(2024, 1 + i % 12, 1 + i % 28)
        made.append(
            {"town": town, "age": None if i % 9 == 4 else age, "since": day, "price": price, "p": 1 / 14, "cost": cost}
        )
    return made


def best(town: str, age: int | None) -> float:
    return WANTED[town] + (49 if age is None else age) / 40


def german(value: Any) -> str:
    if value is None:
        return ""
    return value.strftime("%d.%m.%Y") if isinstance(value, date) else str(value).replace(".", ",")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return rows_of(900, 0)


@pytest.fixture(scope="module")
def log(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "log.csv"
    path.write_text(lines(";".join(rows[0]), ([german(value) for value in row.values()] for row in rows), ";"))
    return path


@pytest.fixture(scope="module")
def model(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "model.bb"
    read = bb.Log.read_own(log, action="price", loss="cost", density="p")
    booster = bb.algorithms.boosted(
        bb.spaces.Interval(0, 14), answers=1, explore=bb.explore.Explore(most=read.explored())
    )
    booster.learn_from(read)
    booster.extra |= read.naming()
    booster.save(path)
    return path


def test_every_value_is_read_as_it_was_meant(rows: list[dict[str, Any]], log: Path) -> None:
    """Against a table of numbers that is made here, by hand."""
    read = bb.Log.read_own(log, action="price", loss="cost", density="p")
    (block,) = read.blocks()
    known = [row["age"] for row in rows if row["age"] is not None]
    for name, wanted in {
        "town=Köln": [row["town"] == "Köln" for row in rows],
        "age": [np.mean(known) if row["age"] is None else row["age"] for row in rows],
        "age is missing": [row["age"] is None for row in rows],
        "since": [(row["since"] - date(1970, 1, 1)).days for row in rows],
    }.items():
        np.testing.assert_allclose(block.contexts[:, read.context_names.index(name)], np.array(wanted, float))
    np.testing.assert_array_equal(block.actions[:, 0], [row["price"] for row in rows])
    np.testing.assert_array_equal(block.losses, [row["cost"] for row in rows])
    assert block.densities is not None
    np.testing.assert_array_equal(block.densities, 1 / 14)
    assert dict(read.columns) == {
        "town": "3 words, an indicator each",
        "age": f"numbers; 100 missing are the mean {np.mean(known):g} and marked",
        "since": "dates: days since 1970-01-01, and where in the week and the year",
        "price": "action",
        "p": "density",
        "cost": "loss or reward",
    }


def test_a_model_of_such_a_log_has_learned(log: Path, shell: Shell, tmp_path: Path) -> None:
    """From the shell, and well beyond the best constant, whose mean distance is that of the towns."""
    path = tmp_path / "model.bb"
    said = shell("warm", log, *OPTIONS, *SPACE, "--save", path)
    assert "Context: town, age, since (all columns that have no other part" in said.out
    new = rows_of(300, 1)
    wanted = np.array([best(row["town"], row["age"]) for row in new])
    (tmp_path / "new.csv").write_text(
        lines("since,age,town", ([row["since"], row["age"] or "", row["town"]] for row in new))
    )
    found = np.array(shell("predict", path, tmp_path / "new.csv", "--json", "-").results["predictions"])
    constant = np.abs(wanted - np.median(wanted)).mean()
    assert np.abs(found - wanted).mean() < constant / 2
    scrambled = (
        (tmp_path / "new.csv").read_text().replace("Rom", "Roma")
    )  # a broken variant: words that it does not know
    (tmp_path / "new.csv").write_text(scrambled)
    shown = shell("predict", path, tmp_path / "new.csv", "--json", "-").results
    assert np.abs(np.array(shown["predictions"]) - wanted).mean() > np.abs(found - wanted).mean() * 1.5
    assert any("words that were not there before, such as 'Roma'" in note for note in shown["notes"])


def test_contexts_come_by_the_names_of_columns(model: Path) -> None:
    booster = bb.Booster.load(model)
    wanted = booster.predict(FIELDS)
    assert wanted != booster.predict(FIELDS | {"town": "Bonn"})
    typed = FIELDS | {"age": np.int64(41), "since": date(2024, 2, 5)}
    for x in (
        FIELDS | {"id": 7},
        FIELDS | {"age": "41"},
        typed,
        pd.Series(FIELDS),
        pd.DataFrame([FIELDS]),
        pl.DataFrame([FIELDS]),
    ):
        assert booster.predict(x) == wanted
    for table in (pd.DataFrame([FIELDS] * 2), pl.DataFrame([FIELDS] * 2), pd.DataFrame([typed] * 2)):
        assert booster.predict_many(table).tolist() == [wanted] * 2
    gone = booster.predict(FIELDS | {"age": None})
    for missing in (np.nan, pd.NA, "n/a", ""):
        assert booster.predict(FIELDS | {"age": missing}) == gone
    ticket = booster.ask(FIELDS)
    booster.tell(ticket, [1.0])
    assert ticket.context is not None
    assert ticket.context[booster.extra["context"].index("age")] == 41


def test_the_same_value_twice_is_the_same_features(model: Path) -> None:
    """Values are kept with what became of them: 1, True and 1.0 are equal, and not the same."""
    fields = fields_of(model)
    first = [fields.row(FIELDS | {"town": town}) for town in ("Bonn", "Rom", "Paris", "Bonn")]
    assert first[0] == first[3] != first[1]
    assert [fields.row(FIELDS | {"town": town}) for town in ("Bonn", "Rom", "Paris", "Bonn")] == first
    frame = fields.frame(pl.DataFrame([FIELDS | {"town": town} for town in ("Bonn", "Rom", "Paris", "Bonn")]))
    assert frame.tolist() == first
    column = bb.datasets.Encoding((Words("on", levels=("1", "true")),))
    assert [Fields(column).row({"on": value}) for value in (1, True, 1.0)] == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def test_what_cannot_be_read_is_refused_and_leaves_the_booster_as_it_was(model: Path, tmp_path: Path) -> None:
    booster = bb.Booster.load(model)
    booster.save(tmp_path / "before.bb")
    for change, sentence in {
        (
            "age",
            "old",
        ): r"x must have values that can be read, got 'old' for 'age', which holds numbers; None stands for a missing one",
        ("since", "soon"): "got 'soon' for 'since', which holds dates",
        ("age", float("inf")): "got 'inf' for 'age'",
    }.items():
        for call in (booster.ask, booster.predict):
            with pytest.raises(ValueError, match=sentence):
                call(FIELDS | dict([change]))
    with pytest.raises(ValueError, match="got 'old' in row 2 for 'age'"):
        booster.predict_many(pl.DataFrame([FIELDS | {"age": "40"}, FIELDS | {"age": "old"}]))
    with pytest.raises(
        ValueError, match="under each of the names town, age, since, got none under 'since'; None stands"
    ):
        booster.ask({"town": "Rom", "age": 30})
    booster.save(tmp_path / "after.bb")
    assert (tmp_path / "after.bb").read_bytes() == (tmp_path / "before.bb").read_bytes()


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        3,
        [],
        {},
        {"kind": "datasets.Encoding"},
        {"kind": "os.system"},
        {"kind": "datasets.Encoding", "columns": [1]},
    ],
)
def test_an_encoding_in_a_file_that_does_not_fit_is_not_used(model: Path, garbage: Any) -> None:
    booster = bb.Booster.load(model)
    booster.extra[ENCODING] = garbage
    assert fields_in(booster.extra, booster.extra["context"]) is None
    with pytest.raises(ValueError, match="x must have a number under each of the names town=Bonn"):
        booster.predict(FIELDS)
    plain = dict.fromkeys(booster.extra["context"], 1.0)
    assert booster.predict(plain) == booster.predict([1.0] * len(plain))


def test_predict_says_what_it_could_not_read_and_strict_refuses(model: Path, shell: Shell, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("town,age,since\nRom,41,2024-02-05\nRom,old,2024-02-05\n")
    wanted = bb.Booster.load(model).predict(FIELDS)
    shown = shell("predict", model, new, "--json", "-").results
    assert shown["predictions"][0] == wanted
    assert shown["unread"][0]["column"] == "age"
    said = shell("predict", model, new)
    assert "Column 'age' has 1 value that cannot be read like its other numbers, such as 'old' in line 3" in said.err
    assert "with --strict, got 1 in column 'age'" in shell("predict", model, new, "--strict", "--quiet").sentence
    new.write_text("town,since\nRom,2024-02-05\n")
    assert "There is no column 'age'" in shell("predict", model, new).err
    assert "'age'" in shell("predict", model, new, "--strict", "--quiet").sentence


def test_evaluate_reads_a_log_as_the_model_does(model: Path, shell: Shell, tmp_path: Path) -> None:
    """Another log has other towns in another order; features are those of the model, and so is what it would have cost."""
    later = tmp_path / "later.csv"
    new = [row for row in rows_of(600, 2) if row["town"] != "Bonn"]
    later.write_text(
        lines(",".join(new[0]), (["" if value is None else value for value in row.values()] for row in new))
    )
    found = shell("evaluate", later, *OPTIONS, "--policy", model, "--json", "-").results
    booster, read = bb.Booster.load(model), bb.Log.read_own(later, action="price", loss="cost", density="p")
    assert read.context_names != tuple(booster.extra["context"])
    played = booster.predict_many(pl.DataFrame(new).select("town", "age", "since"))
    truth = np.abs(played - [best(row["town"], row["age"]) for row in new]).mean()
    assert abs(found["value"] - truth) < 0.5
    assert found["logged"] > truth + 1


def test_what_a_user_says_of_columns_counts(log: Path, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    said = shell(
        "warm", log, *OPTIONS, *SPACE, "--save", path, "--category", "age", "--drop", "since", "--explain-columns"
    ).out
    assert "left out, as asked" in said
    assert "words" in said.split("age")[1].splitlines()[0]
    assert not path.exists()
    shown = shell(
        "warm", log, *OPTIONS, *SPACE, "--save", path, "--context", "age", "--explain-columns", "--json", "-"
    ).results
    assert dict(map(tuple, shown["columns"]))["town"] == "left out, not asked for"
    refused = shell("warm", log, *OPTIONS, *SPACE, "--save", path, "--drop", "size").sentence
    assert "drop must be a column of" in refused
    assert "got 'size'" in refused


def test_how_far_a_model_may_play_from_its_predictions(log: Path, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    assert shell("warm", log, *OPTIONS, *SPACE, "--save", path, "--most", "0.25", "--quiet").code == 0
    booster = bb.Booster.load(path)
    for _ in range(50):
        assert abs(booster.ask(FIELDS).action - booster.predict(FIELDS)) <= 0.25 + 1e-12


def test_what_a_log_must_be_is_said(log: Path, shell: Shell, tmp_path: Path) -> None:
    late, rest = tmp_path / "late.csv", (*SPACE, "--save", tmp_path / "m.bb")
    late.write_text("ticket,cost\n1,2\n")
    joined = shell("warm", log, *OPTIONS, *rest, "--drop", "since", "--losses", late).sentence
    assert "losses must be left out where columns of the log are more than plain numbers" in joined
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "one.csv").write_text(log.read_text())
    assert "must be one file" in shell("warm", folder, *OPTIONS, *rest, "--drop", "since").sentence
    assert (
        "loss or reward must be another column than action"
        in shell("warm", log, "--action", "price", "--loss", "price", *rest).sentence
    )
    words = shell("warm", log, "--action", "town", "--loss", "cost", *rest).sentence
    assert "town" in words
    text = log.read_text().splitlines()
    text[5] = text[5].rsplit(";", 1)[0] + ";dear"
    (tmp_path / "dear.csv").write_text("\n".join(text))
    found = shell("warm", tmp_path / "dear.csv", *OPTIONS, *rest).sentence
    assert "column 'cost' must hold numbers that can be read, got 'dear' in row 5" in found


def test_rows_without_a_loss_are_left_out_and_counted(log: Path, shell: Shell, tmp_path: Path) -> None:
    text = log.read_text().splitlines()
    text[7] = text[7].rsplit(";", 1)[0] + ";"
    (tmp_path / "gone.csv").write_text("\n".join(text))
    read = bb.Log.read_own(tmp_path / "gone.csv", action="price", loss="cost", density="p")
    assert read.counts() == (900, 1, 0)


def test_a_log_of_plain_numbers_stays_one_that_is_read_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("age,price,cost\n30,5,1\n40,6,2\n")
    assert own.is_plain(path, None, ["price", "cost"])
    path.write_text("age,price,cost\n30,5,1\n,6,2\n")
    assert not own.is_plain(path, None, ["price", "cost"])
    assert own.is_plain(path, "price", ["cost"])
    monkeypatch.setattr(own, "LARGEST", 10)
    assert own.is_plain(path, None, ["price", "cost"])


def fields_of(model: Path) -> Fields:
    booster = bb.Booster.load(model)
    found = fields_in(booster.extra, booster.extra["context"])
    assert found is not None
    return found

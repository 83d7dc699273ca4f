"""Files that people brought in their first hour: each is read right, or refused in a sentence that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from banditboost.datasets import Prepared, prepare_own, read_own
from banditboost.encoder.moments import numbers_of
from tests.cli.shell import Shell, lines, write

RNG = np.random.default_rng(0)
AMOUNTS = np.round(RNG.uniform(0.5, 40_000, 200), 2)


def english(value: float) -> str:
    return f"{value:,.2f}"


def swapped(value: float, thousands: str, decimal: str) -> str:
    return english(value).translate({ord(","): thousands, ord("."): decimal})


STYLES: dict[str, Callable[[float], str]] = {
    "dollars": lambda v: f"${english(v)}",
    "negative dollars in brackets": lambda v: f"({english(-v)})" if v < 0 else english(v),
    "euros behind": lambda v: f"{v:.2f} €",
    "a code before": lambda v: f"EUR {v:.2f}",
    "german": lambda v: swapped(v, ".", ","),
    "german euros": lambda v: swapped(v, ".", ",") + " €",
    "french": lambda v: swapped(v, "\u202f", ",") + "\u00a0€",
    "spaces": lambda v: swapped(v, " ", ","),
    "swiss": lambda v: "CHF " + swapped(v, "'", "."),
    "curly swiss": lambda v: swapped(v, "’", "."),
    "kilograms": lambda v: f"{v:.2f} kg",
    "percent": lambda v: f"{v:.2f}%",
    "german percent": lambda v: swapped(v, ".", ",") + " %",
    "a minus of its own": lambda v: f"{v:.2f}".replace("-", "−"),
    "powers of ten": lambda v: f"{v:.8e}",
}


def clock(minutes: int, year: int = 2024) -> datetime:
    return datetime(year, 1, 1) + timedelta(minutes=minutes)


def table(folder: Path, header: str, rows: Any, separator: str = ",") -> Path:
    quoted = [[f'"{value}"' for value in row] for row in rows]
    return write(folder / "table.csv", lines(header.replace(",", separator), quoted, separator))


def what(made: Prepared) -> dict[str, str]:
    return dict(made.columns)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("style", STYLES)
def test_numbers_in_every_style_are_the_same_numbers(tmp_path: Path, style: str, separator: str) -> None:
    values = (
        np.where(np.arange(200) % 3 == 0, -AMOUNTS, AMOUNTS) if "minus" in style or "negative" in style else AMOUNTS
    )
    file = table(tmp_path, "price,label", [(STYLES[style](v), STYLES[style](2 * v)) for v in values], separator)
    made = prepare_own(file, "label")
    assert made.X[:, 0].tolist() == values.tolist()
    assert made.y.tolist() == [float(f"{2 * v:.2f}") for v in values]
    assert made.unread == ()
    again = made.encoding.encode(read_own(file))
    assert again.X.tolist() == made.X.tolist()
    assert not again.notes
    assert not again.unread


def test_a_broken_style_is_noticed(tmp_path: Path) -> None:
    """The test above is not empty: German numbers read with a decimal point are others, or none."""
    file = table(tmp_path, "price,label", [(STYLES["german"](v), v) for v in AMOUNTS])
    with pytest.raises(
        ValueError, match=r"column 'price' must hold numbers, got none that can be read in the style of 1\.5: '"
    ):
        prepare_own(file, "label", number=["price=1.5"])


def test_a_style_that_fits_no_value_is_named_beside_one(tmp_path: Path) -> None:
    file = table(tmp_path, "weight,word,label", [(f"{k},25", "ab"[k % 2], k) for k in range(1, 40)])
    wanted = (
        "got none that can be read in the style of 1,234.5: '1,25' is one of its values, so write an example like them"
    )
    with pytest.raises(ValueError, match=f"column 'weight' must hold numbers, {wanted}"):
        prepare_own(file, "label", number=["weight=1,234.5"])
    with pytest.raises(
        ValueError, match=r"column 'word' must hold numbers, got none that can be read: 'b' is one of its values\.$"
    ):
        prepare_own(file, "label", number=["word"])


def test_money_and_percent_learn_as_plain_numbers_do(shell: Shell, tmp_path: Path) -> None:
    size, off = RNG.uniform(10, 300, 400).round(2), RNG.integers(0, 40, 400)
    price = (12 * size * (1 - off / 100) + RNG.normal(0, 5, 400)).round(2)
    plain = write(tmp_path / "plain.csv", lines("size,off,price", zip(size, off, price, strict=True)))
    rows = zip((f"${v:,.2f}" for v in size), (f"{v}%" for v in off), (f"{v:.2f} €" for v in price), strict=True)
    messy = table(tmp_path, "size,off,price", rows)
    found = [shell("run", file, "--target", "price", "--quiet", "--json", "-").results for file in (plain, messy)]
    assert found[0]["mean_loss"] == found[1]["mean_loss"]
    assert found[1]["features"] == 2
    assert found[1]["last_half_loss"] < 0.2 * found[1]["comparators"]["running mean of labels"]["last_half_loss"]


def test_a_column_like_1_234_is_said_to_be_ambiguous_and_can_be_decided(shell: Shell, tmp_path: Path) -> None:
    rows: Any = [(f"{1000 + 7 * k:,}", k % 11) for k in range(200)]
    file = table(tmp_path, "sold,label", rows)
    made = prepare_own(file, "label")
    assert made.X[1, 0] == 1007
    assert (
        "'1,000' is read as 1000, but could be 1.000 (--number 'sold=1.5' or 'sold=1,5' decides)" in what(made)["sold"]
    )
    assert prepare_own(file, "label", number=["sold=1,5"]).X[1, 0] == 1.007
    said = shell("run", file, "--target", "label", "--explain-columns")
    assert said.code == 0
    assert "could be 1.000" in said.out
    assert "Squared loss" not in said.out
    rows = [(f"{1000 + 7 * k:,}", f"{k % 11},5") for k in range(200)]
    assert prepare_own(table(tmp_path, "sold,label", rows), "label").X[1, 0] == 1.007, (
        "the other column has decimal commas"
    )
    rows = [(f"{1000 + 7 * k:,}".replace(",", "."), f"{k % 11},5") for k in range(200)]
    made = prepare_own(table(tmp_path, "sold,label", rows, ";"), "label")
    assert made.X[1, 0] == 1007
    assert "'1.000' is read as 1000, as other columns show" in what(made)["sold"]


def test_a_later_contradiction_is_counted_and_never_read_otherwise(tmp_path: Path) -> None:
    encoding = prepare_own(table(tmp_path, "n,label", [(f"{1000 + 7 * k:,}", k) for k in range(100)]), "label").encoding
    later = read_own(table(tmp_path, "n", [("1,007",), ("3,5",), ("1.5.2",), ("2,000",)]))
    made = encoding.encode(later)
    assert made.X[[0, 3], 0].tolist() == [1007, 2000]
    assert [row[:3] for row in made.unread] == [("n", 2, "3,5")]
    plain = prepare_own(table(tmp_path, "n,label", [(k, k) for k in range(100)]), "label").encoding
    made = plain.encode(read_own(table(tmp_path, "n", [("1,234",), ("$5",), ("7",)])))
    assert made.unread[0][:3] == ("n", 2, "1,234")
    percent = prepare_own(table(tmp_path, "n,label", [(f"{k}%", k) for k in range(100)]), "label").encoding
    made = percent.encode(read_own(table(tmp_path, "n", [("0.5",), ("50%",), ("0",)])))
    assert made.X[1:, 0].tolist() == [50, 0]
    assert made.unread[0][:3] == ("n", 1, "0.5")


def test_both_decimal_signs_in_one_column(tmp_path: Path) -> None:
    values = ["1.5", "2.25", "3.75", "12.5"] * 50 + ["1,5"] * 10 + ["1,234"] * 5
    made = prepare_own(table(tmp_path, "n,label", [(v, k % 7) for k, v in enumerate(values)]), "label")
    assert "10 have another decimal sign than the rest" in what(made)["n"]
    assert made.unread[0].rows == 15, "1,234 may be either here"


def test_two_currencies(tmp_path: Path) -> None:
    rows: Any = [(f"{'$' if k % 20 else '€'}{k}.50", k) for k in range(200)]
    made = prepare_own(table(tmp_path, "price,label", rows), "label")
    assert made.unread[0][:3] == ("price", 10, "€0.50")
    rows = [(k, f"{'$' if k % 2 else '€'}{k}.50") for k in range(200)]
    with pytest.raises(ValueError, match=r"with '\$' and '€': write one unit"):
        prepare_own(table(tmp_path, "a,price", rows), "price")
    half = prepare_own(table(tmp_path, "a,price", rows), "price", number=["price"])
    assert len(half.y) == 100
    assert "100 of 200 rows have a target that is no number, such as '€0.50', and were left out." in half.notes


@pytest.mark.parametrize("gone", ["-", "--", "—", "n/a", "N.A.", "#N/A", "NULL", ""])
def test_dashes_in_the_target(shell: Shell, tmp_path: Path, gone: str) -> None:
    rows: Any = [(k, gone if k % 4 == 0 else f"{k} €") for k in range(200)]
    made = prepare_own(table(tmp_path, "a,price", rows), "price")
    assert len(made.y) == 150
    assert made.notes == ("50 of 200 rows have no target and were left out.",)
    assert made.dropped == 50
    if gone == "-":
        said = shell("run", tmp_path / "table.csv", "--target", "price").out
        assert "Warning: 50 of 200 rows have no target that can be read, and were left out." in said


def test_plus_and_minus_are_classes(tmp_path: Path) -> None:
    made = prepare_own(table(tmp_path, "a,y", [(k, "+-"[k % 2]) for k in range(60)]), "y")
    assert made.encoding.classes == ("+", "-")
    assert len(made.y) == 60


FORMS = ("%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y %H:%M", "%d %B %Y", "%Y-%m-%dT%H:%M:%S", "%b %d, %Y")


def test_mixed_dates_are_all_read(tmp_path: Path) -> None:
    moments = [clock(int(m), 2023) for m in RNG.integers(0, 800_000, 240)]
    cut = [m if "%H" in FORMS[k % 6] else m.replace(hour=0, minute=0) for k, m in enumerate(moments)]
    made = prepare_own(table(tmp_path, "when,y", [(m.strftime(FORMS[k % 6]), k) for k, m in enumerate(moments)]), "y")
    wanted = [[number for _, number in numbers_of(m)] for m in cut]
    np.testing.assert_allclose(made.X, wanted, atol=1e-9)
    assert made.unread == ()


@pytest.mark.parametrize(
    ("form", "first"), [("%d/%m/%Y", True), ("%m/%d/%Y", False), ("%d-%m-%Y", True), ("%m-%d-%y", False)]
)
def test_the_order_of_day_and_month_is_found(tmp_path: Path, form: str, first: bool) -> None:
    days = [clock(24 * 60 * k) for k in range(100)]
    made = prepare_own(table(tmp_path, "when,y", [(day.strftime(form), k % 9) for k, day in enumerate(days)]), "y")
    assert np.diff(made.X[:, 0]).tolist() == [1.0] * 99
    assert made.encoding.columns[0].to_dict()["day_first"] is first


def test_dates_of_either_order_are_said_and_decided(tmp_path: Path) -> None:
    rows: Any = [(f"0{1 + k % 9}/0{1 + k % 5}/2024", k) for k in range(100)]
    file = table(tmp_path, "when,y", rows)
    made = prepare_own(file, "y")
    assert "the day is taken to come first (--date 'when=mm/dd/yyyy' swaps them)" in what(made)["when"]
    assert prepare_own(file, "y", date=["when=mm/dd/yyyy"]).X[1, 0] - made.X[1, 0] == 0
    assert prepare_own(file, "y", date=["when=mm/dd/yyyy"]).X[5, 0] != made.X[5, 0]
    rows = [("25/12/2024" if k % 2 else "12/25/2024" if k % 3 else "05/06/2024", k) for k in range(100)]
    made = prepare_own(table(tmp_path, "when,y", rows), "y", date=["when"])
    assert "which may be either are not read" in what(made)["when"]
    assert made.unread[0].rows == sum(row[0] != "25/12/2024" for row in rows)


def clocked(folder: Path, form: str) -> Path:
    """Sales by the hour: busy in the evening, on every day alike."""
    rng = np.random.default_rng(1)
    minutes = np.sort(rng.integers(0, 60 * 24 * 60, 1500))
    moments = [clock(int(m)) for m in minutes]
    sold = [30 + 20 * np.sin(2 * np.pi * (m.hour + m.minute / 60 - 12) / 24) + rng.normal(0, 2) for m in moments]
    return write(
        folder / "sales.csv",
        lines("when,sold", [(m.strftime(form), f"{s:.2f}") for m, s in zip(moments, sold, strict=True)]),
    )


def test_an_effect_of_the_hour_is_learned_and_is_not_without_hours(shell: Shell, tmp_path: Path) -> None:
    def share(form: str) -> float:
        found = shell("run", clocked(tmp_path, form), "--target", "sold", "--quiet", "--json", "-").results
        mean = found["comparators"]["running mean of labels"]["last_half_loss"]
        return float(found["last_half_loss"] / mean)

    assert share("%d.%m.%Y %H:%M") < 0.2
    assert share("%d.%m.%Y") > 0.8, "the broken variant: days alone do not show the hour"


def test_eight_thousand_and_one_columns(shell: Shell, tmp_path: Path) -> None:
    X = RNG.normal(size=(30, 8000)).round(3)
    y = (5 * X[:, 0] + RNG.normal(size=30)).round(3)
    rows: Any = [(*x, label) for x, label in zip(X, y, strict=True)]
    file = write(tmp_path / "wide.csv", lines(",".join(f"c{k}" for k in range(8000)) + ",y", rows))
    made = prepare_own(file, "y")
    assert np.array_equal(made.X, X)
    assert np.array_equal(made.y, y)
    said = shell("run", file, "--target", "y", "--explain-columns")
    assert "8001 columns, of which 0 were left out" in said.out


def test_durations_and_words_for_yes_and_no(tmp_path: Path) -> None:
    rows: Any = [
        (f"{k // 4}:{k % 60:02}:30", f"{k % 7}h {k % 60}m", f"P{k % 3}DT{k % 24}H", ["Ja", "nein", "JA"][k % 3], k % 10)
        for k in range(120)
    ]
    made = prepare_own(table(tmp_path, "took,late,iso,member,y", rows), "y")
    row = 47
    wanted = [(11 * 3600 + 47 * 60 + 30) / 86400, (47 % 7 * 60 + 47) / 1440, 47 % 3 + 23 / 24, 1.0]
    np.testing.assert_allclose(made.X[row], wanted, rtol=1e-12)
    assert made.encoding.features == ("took", "late", "iso", "member")
    opened = prepare_own(table(tmp_path, "opens,y", [(f"0{k % 9}:15", k) for k in range(50)]), "y")
    assert opened.encoding.features == ("opens", "opens: hour, sine", "opens: hour, cosine")


def test_yes_and_no_as_a_target_in_any_letters(tmp_path: Path) -> None:
    made = prepare_own(table(tmp_path, "a,y", [(k, ["Yes", "NO", "yes"][k % 3]) for k in range(60)]), "y")
    assert made.encoding.classes == ("no", "yes")
    assert len(made.y) == 60
    assert dict(made.columns)["y"] == "target: no and yes, spelled NO, Yes, yes"


def test_yes_and_no_as_a_target_in_several_words(tmp_path: Path, shell: Shell) -> None:
    """A target is read as such a feature is: Y and yes are one class, in this table and in others."""
    spelled = ["Yes", "yes", "Y", "no", "N"]
    file = table(tmp_path, "a,y", [(k, spelled[k % 5]) for k in range(60)])
    made = prepare_own(file, "y")
    assert made.encoding.classes == ("no", "yes")
    assert made.y.tolist() == ["yes", "yes", "yes", "no", "no"] * 12
    assert (
        dict(made.columns)["y"] == "target: yes and no, spelled N, Y, Yes, no, yes (--category 'y' keeps words apart)"
    )
    assert "target: yes and no, spelled N, Y, Yes, no, yes" in " ".join(shell("run", file, "--target", "y").out.split())
    assert prepare_own(file, "y", category=["y"]).encoding.classes == ("n", "no", "y", "yes")
    plain = prepare_own(table(tmp_path, "a,y", [(k, ["No", "Yes"][k % 2]) for k in range(60)]), "y")
    assert (plain.encoding.classes, dict(plain.columns)["y"]) == (("No", "Yes"), "target")
    later, known = plain.encoding.labels(read_own(table(tmp_path, "a,y", [(1, "Y"), (2, "no"), (3, "perhaps")])))
    assert (later.tolist(), known.tolist()) == (["Yes", "No"], [True, True, False])
    three = prepare_own(table(tmp_path, "a,y", [(k, ["Yes", "no", "perhaps"][k % 3]) for k in range(60)]), "y")
    assert three.encoding.classes == ("Yes", "no", "perhaps")


@pytest.fixture
def dated(shell: Shell, tmp_path: Path) -> Path:
    """A model that was trained on dates with the day first, some of them missing."""
    days = [clock(24 * 60 * k, 2022) for k in range(400)]
    rows: Any = [("" if k % 9 == 0 else day.strftime("%d/%m/%Y"), f"{10 + k / 10:.1f}") for k, day in enumerate(days)]
    file = write(tmp_path / "train.csv", lines("when,y", rows))
    assert shell("run", file, "--target", "y", "--quiet", "--save", tmp_path / "m.bb").code == 0
    return tmp_path / "m.bb"


def test_predict_reads_other_dates_and_names_what_it_cannot_read(shell: Shell, dated: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", "when\n01/09/2022\n2022-09-01\ngarbage\n\nrubbish\n")
    shown = shell("predict", dated, new)
    same, iso, garbage, *_ = (float(text) for text in shown.out.split()[1:])
    assert same == iso
    assert garbage != iso
    said = "Column 'when' has 2 values that cannot be read like its other dates, such as 'garbage' in line 4, and in line 6: "
    said += "counted as missing."
    assert said in shown.err.replace("\n", " ")
    assert (
        "that are not dates, such as 'garbage' in line 4, and in line 6."
        in shell("predict", dated, new, "--strict").sentence
    )
    fine = write(tmp_path / "fine.csv", "when\n01/09/2022\n\n")
    assert shell("predict", dated, fine, "--strict").code == 0
    results = shell("predict", dated, new, "--json", "-").results
    found = {"column": "when", "rows": 2, "example": "garbage", "wanted": "dates", "places": [4, 6], "unit": "line"}
    assert results["unread"] == [found]


def test_lines_are_named_where_values_go_over_several_lines_and_rows_have_no_target(tmp_path: Path) -> None:
    rows = [(str(k), f'"a{chr(10)}b"' if k < 2 else "a", "" if k == 3 else str(k)) for k in range(100)]
    for k in (5, 50, 60, 70, 80, 90, 99):
        rows[k] = ("far", *rows[k][1:])
    made = prepare_own(write(tmp_path / "a.csv", lines("n,town,y", rows)), "y")
    assert made.unread[0].places == (9, 54, 64, 74, 84)
    assert str(made.unread[0]).endswith(
        "such as 'far' in line 9, and in lines 54, 64, 74, 84, ...: counted as missing."
    )


def test_one_row_is_said_in_the_singular(tmp_path: Path) -> None:
    rows = [("many" if k == 2 else k, "" if k == 5 else "none at all" if k == 7 else k) for k in range(90)]
    made = prepare_own(write(tmp_path / "a.csv", lines("n,y", rows)), "y")
    assert made.notes == (
        "1 of 90 rows has no target and was left out.",
        "1 of 90 rows has a target that is no number, such as 'none at all', and was left out.",
    )
    assert "1 value that is none, such as 'many', counts as missing; 1 missing is the mean" in dict(made.columns)["n"]


def test_rows_are_named_in_a_file_without_lines(tmp_path: Path) -> None:
    n = ["far" if k == 5 else str(k) for k in range(100)]
    frame = pl.DataFrame({"n": n, "y": [None if k == 3 else float(k) for k in range(100)]})
    frame.write_parquet(tmp_path / "a.parquet")
    assert prepare_own(tmp_path / "a.parquet", "y").unread[0].where == "'far' in row 6"


def test_every_guess_can_be_overridden(shell: Shell, tmp_path: Path) -> None:
    rows: Any = [
        (f"{10_000 + k % 30}", f"id{k}", f"{k} pieces" if k % 3 else "many", f"2023010{1 + k % 9}", k)
        for k in range(120)
    ]
    file = table(tmp_path, "zip,id,size,day,y", rows)
    options = ["--category", "zip", "--drop", "id", "--number", "size"]
    found = shell("run", file, "--target", "y", "--explain-columns", "--json", "-", *options).results
    said = {row["name"]: row["what"] for row in found["columns"]}
    assert said["zip"] == "30 words, an indicator each"
    assert said["id"] == "left out, as asked"
    assert said["size"].startswith("numbers in pieces; 40 values that are none, such as 'many'")
    assert "number must be a column of" in shell("run", file, "--target", "y", "--number", "sise").sentence
    assert "did you mean 'size'?" in shell("run", file, "--target", "y", "--number", "sise").sentence
    assert "category must not name 'zip', which number names" in (
        shell("run", file, "--target", "y", "--number", "zip", "--category", "zip").sentence
    )
    assert "drop must not name the target" in shell("run", file, "--target", "y", "--drop", "y").sentence
    assert "must hold dates" in shell("run", file, "--target", "y", "--date", "id").sentence
    assert "date must say the order" in shell("run", file, "--target", "y", "--date", "day=x").sentence


def test_what_seems_wrong_is_said(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    noise = write(tmp_path / "noise.csv", lines("a,y", rng.normal(size=(300, 2)).round(3)))
    assert any(
        "did no better than the running mean" in text
        for text in warned(shell, noise, "--answers", "1", "--noise", "50")
    )
    same = write(tmp_path / "same.csv", lines("a,y", [(k, 5) for k in range(60)]))
    assert warned(shell, same) == ["The target is 5 in every row: there is nothing to learn."]
    away = write(tmp_path / "away.csv", lines("a,cents,y", [(k % 7, 100 * (k % 13), k % 13) for k in range(120)]))
    assert any(text.startswith("Column 'cents' gives the target away") for text in warned(shell, away))
    assert not warned(shell, away, "--drop", "cents") or "cents" not in str(warned(shell, away, "--drop", "cents"))
    named = write(
        tmp_path / "named.csv", lines("a,code,y", [(k % 7, "AB"[k % 2], ["good", "bad"][k % 2]) for k in range(200)])
    )
    assert any(text.startswith("Column 'code' gives the target away") for text in warned(shell, named))
    a = rng.uniform(size=300).round(3)
    fine = write(tmp_path / "fine.csv", lines("a,y", zip(a, (a + rng.normal(0, 0.1, 300)).round(3), strict=True)))
    assert warned(shell, fine) == []


def warned(shell: Shell, file: Path, *more: str) -> list[str]:
    found: list[str] = shell("run", file, "--target", "y", "--quiet", "--json", "-", *more).results["warnings"]
    return found


def test_a_german_spreadsheet_with_everything(tmp_path: Path) -> None:
    """Semicolons, a byte order mark, a name twice, an empty column, quoted line breaks, and German everything."""
    rows: Any = [
        f'{k % 28 + 1:02}.03.2024 {k % 24:02}:30;"{swapped(1000 + 3.5 * k, ".", ",")} €";{k % 12},5 %;;"a\nb";'
        f"{'ja' if k % 2 else 'nein'};"
        f"{swapped(2000 + k, '.', ',')}"
        for k in range(100)
    ]
    text = "Datum;Preis;Rabatt;leer;Wort;Wort;Umsatz\r\n" + "\r\n".join(rows) + "\r\n"
    file = write(tmp_path / "de.csv", text.encode("utf-8-sig"))
    made = prepare_own(file, "Umsatz")
    said = what(made)
    assert said["Preis"] == "numbers in €, with decimal commas"
    assert said["Rabatt"] == "numbers in percent, as written: 10% is 10, with decimal commas"
    assert said["leer"] == "all missing: left out"
    assert said["Wort"].startswith("constant")
    assert said["Wort (2)"].startswith("yes (1) and no (0)")
    assert made.X[47, 7] == 1000 + 3.5 * 47
    assert made.y[47] == 2047
    assert made.encoding.features[5:7] == ("Datum: hour, sine", "Datum: hour, cosine")


def test_parquet_with_texts_is_read_the_same_way(tmp_path: Path) -> None:
    pl.DataFrame({"p": [f"${v:,.2f}" for v in AMOUNTS], "y": AMOUNTS[::-1]}).write_parquet(tmp_path / "a.parquet")
    assert prepare_own(tmp_path / "a.parquet", "y").X[:, 0].tolist() == AMOUNTS.tolist()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line", [1, 2, 10, 40])
def test_a_short_line_does_not_spoil_the_separator_and_is_named(tmp_path: Path, separator: str, line: int) -> None:
    rows = [["1.5", "2", "3"] for _ in range(50)]
    rows[line] = ["4"]
    found = read_own(write(tmp_path / "short.csv", lines(separator.join("aby"), rows, separator)))
    assert found.separator == separator
    assert found.frame.columns == ["a", "b", "y"]
    assert found.frame["y"].null_count() == 1
    assert found.notes[-1] == (
        f"Line {line + 2} has 1 value, and the first line 3 names: what is not there counts as missing, as in all such lines."
    )


def test_the_line_that_is_too_long_or_has_an_open_quotation_is_blamed(tmp_path: Path) -> None:
    long = write(tmp_path / "long.csv", "a;b;y\n1;2;3\n1,5;2;3\n1;2;3;4\n1;2;3\n")
    with pytest.raises(ValueError, match="line 4 has 4 values, and the first has 3 names"):
        read_own(long)
    every = write(tmp_path / "every.csv", "a;b\n1;2;3\n1;2;3\n1;2;3\n")
    with pytest.raises(ValueError, match="line 2 has 3 values, and the first has 2 names"):
        read_own(every)
    quoted = write(tmp_path / "quoted.csv", 'a;b\n1;2\n3;"4\n5;6\n7;8\n')
    with pytest.raises(ValueError, match="a quotation mark in line 3 is out of place or never closed"):
        read_own(quoted)

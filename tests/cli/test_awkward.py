"""Files as users have them: each is learned from, and what was done is said; or one sentence says what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.shell import Shell, Shown, lines, numbers, write


def learn(shell: Shell, file: Path, target: str = "y", *more: Any) -> dict[str, Any]:
    return shell("run", file, "--target", target, "--quiet", "--json", "-", *more).results


def what(results: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["what"] for row in results["columns"]}


def assert_learned(results: dict[str, Any], share: float = 0.5) -> None:
    """The last half's loss is well below that of the running mean of labels."""
    mean = results["comparators"]["running mean of labels"]["last_half_loss"]
    assert results["last_half_loss"] < share * mean


def test_strings_get_indicators(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    worth = {"red": 0.0, "green": 5.0, "blue, light": 10.0}
    colours = rng.choice(list(worth), 400)
    rows = [(f'"{c}"', f"{worth[c] + rng.normal():.3f}") for c in colours]
    results = learn(shell, write(tmp_path / "a.csv", lines("colour,y", rows)))
    assert what(results)["colour"] == "3 words, an indicator each"
    assert results["features"] == 3
    assert_learned(results, 0.2)


def test_many_strings_are_grouped_and_names_that_all_differ_are_left_out(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers(400)
    rng = np.random.default_rng(1)
    rows = zip(a, [f"town {k}" for k in rng.integers(0, 90, 400)], [f"id{k}" for k in range(400)], y, strict=True)
    results = learn(shell, write(tmp_path / "a.csv", lines("a,town,id,y", rows)))
    assert "an indicator each for the 32 most frequent, one for all others" in what(results)["town"]
    assert what(results)["id"] == "400 words that all differ: left out"
    assert results["features"] == 1 + 33
    assert_learned(results)


def test_missing_values_are_filled_marked_and_said(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    holes = ["" if k % 10 == 0 else "NA" if k % 10 == 1 else f"{v}" for k, v in enumerate(a)]
    words = ["" if k % 7 == 0 else "ab"[k % 2] for k in range(300)]
    results = learn(shell, write(tmp_path / "a.csv", lines("a,w,y", zip(holes, words, y, strict=True))))
    mean = np.mean([v for k, v in enumerate(a) if k % 10 > 1])
    assert what(results)["a"] == f"numbers; 60 missing are the mean {mean:.6g} and marked"
    assert what(results)["w"] == "2 words, an indicator each; 43 missing, marked"
    assert results["features"] == 2 + 3
    assert_learned(results)


def test_constant_duplicate_and_empty_columns_are_noticed(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    rows = [(v, 7, v, "", "x", label) for v, label in zip(a, y, strict=True)]
    results = learn(shell, write(tmp_path / "a.csv", lines("a,c,again,none,word,y", rows)))
    assert what(results) == {
        "a": "numbers",
        "c": "constant (7): left out",
        "again": "the same as 'a': left out",
        "none": "all missing: left out",
        "word": "constant (x): left out",
        "y": "target",
    }
    assert results["features"] == 1
    assert_learned(results)


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M", "%d %B %Y", "%b %d, %Y"],
)
def test_dates_become_days_and_places_in_week_and_year(shell: Shell, tmp_path: Path, form: str) -> None:
    days = np.datetime64("2020-01-01") + np.random.default_rng(2).permutation(300)
    rows = [(f'"{day.item().strftime(form)}"', (day - np.datetime64("2020-01-01")).astype(int) / 10) for day in days]
    results = learn(shell, write(tmp_path / "a.csv", lines("when,y", rows)))
    assert what(results)["when"] == "dates: days since 1970-01-01, and where in the week and the year"
    assert results["features"] == 5
    assert_learned(results, 0.2)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
@pytest.mark.parametrize("learner", ["boosted", "second-order", "trees", "gradient-descent"])
def test_labels_of_any_scale_give_the_same_relative_loss(
    shell: Shell, tmp_path: Path, learner: str, scale: float
) -> None:
    a, y = numbers()
    plain = learn(shell, write(tmp_path / "a.csv", lines("a,y", zip(a, y, strict=True))), "y", "--learner", learner)
    rows = [(v, repr(float(scale * label))) for v, label in zip(a, y, strict=True)]
    large = learn(shell, write(tmp_path / "b.csv", lines("a,y", rows)), "y", "--learner", learner)
    assert large["mean_loss"] == pytest.approx(scale**2 * plain["mean_loss"], rel=0.02)


def test_far_from_zero(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    results = learn(shell, write(tmp_path / "a.csv", lines("a,y", zip(1e9 + a, 1e6 + 1000 * y, strict=True))))
    assert_learned(results)


def test_one_row_and_no_rows(shell: Shell, tmp_path: Path) -> None:
    one = shell("run", write(tmp_path / "a.csv", "a,y\n1,2\n"), "--target", "y")
    assert "must have two rows or more with a target, got 1." in one.sentence
    none = shell("run", write(tmp_path / "b.csv", "a,y\n"), "--target", "y")
    assert "must have rows, got names only." in none.sentence
    two = learn(shell, write(tmp_path / "c.csv", "a,y\n1,2\n2,3\n"))
    assert two["rounds"] == 2


def test_unicode_and_duplicate_headers(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    rows = [(v, -v * v, k % 5, label) for k, (v, label) in enumerate(zip(a, y, strict=True))]
    file = write(tmp_path / "größe.csv", lines("größe,größe,,цена [€]", rows))
    results = learn(shell, file, "цена [€]")
    assert list(what(results)) == ["größe", "größe (2)", "column 3", "цена [€]"]
    assert "The name 'größe' comes twice: the later one is called 'größe (2)'." in results["notes"]
    assert "Column 3 has no name: it is called 'column 3'." in results["notes"]
    assert_learned(results)
    printed = shell("run", file, "--target", "цена [€]")
    assert "цена [€]" in printed.out


def test_a_wrong_target_suggests_the_closest(shell: Shell, tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "size,Price\n1,2\n3,4\n")
    assert "got 'prise'; did you mean 'Price'?" in shell("run", file, "--target", "prise").sentence
    assert "got 'qqq'; the columns are size, Price." in shell("run", file, "--target", "qqq").sentence


def test_two_hundred_columns(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 199)).round(3)
    rows = [(*x, f"{10 * x[0] + x[1]:.3f}") for x in X]
    file = write(tmp_path / "a.csv", lines(",".join(f"c{k}" for k in range(199)) + ",y", rows))
    results = learn(shell, file)
    assert results["features"] == 199
    assert len(results["columns"]) == 200
    assert_learned(results)
    assert "200 columns, of which 0 were left out" in shell("run", file, "--target", "y").out


def test_rows_without_a_target_are_left_out(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    labels = ["?" if k % 3 == 0 else label for k, label in enumerate(y)]
    results = learn(shell, write(tmp_path / "a.csv", lines("a,y", zip(a, labels, strict=True))))
    assert results["rows"] == 200
    assert "100 of 300 rows have no target and were left out." in results["notes"]
    gone = shell("run", write(tmp_path / "b.csv", "a,y\n1,\n2,NA\n"), "--target", "y")
    assert "in which all are missing" in gone.sentence


def test_numbers_with_a_few_words_stay_numbers(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    mixed = ["unknown" if k % 10 == 0 else v for k, v in enumerate(a)]
    results = learn(shell, write(tmp_path / "a.csv", lines("a,y", zip(mixed, y, strict=True))))
    assert what(results)["a"].startswith("numbers; 30 values that are none, such as 'unknown', count as missing;")
    assert_learned(results)
    half = ["low" if k % 2 else k % 6 for k in range(300)]
    results = learn(shell, write(tmp_path / "b.csv", lines("h,a,y", zip(half, a, y, strict=True))))
    assert what(results)["h"] == "4 words, an indicator each"


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_separators_and_decimal_commas(shell: Shell, tmp_path: Path, separator: str, name: str) -> None:
    a, y = numbers()
    rows = [(str(v).replace(".", ","), str(label).replace(".", ",")) for v, label in zip(a, y, strict=True)]
    results = learn(shell, write(tmp_path / "a.csv", lines(separator.join("ay"), rows, separator)))
    assert results["notes"] == [f"Values are separated by {name}."]
    plain = learn(shell, write(tmp_path / "b.csv", lines("a,y", zip(a, y, strict=True))))
    assert results["mean_loss"] == plain["mean_loss"]


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8-sig", None),
        ("utf-16", "The file is written in UTF-16."),
        ("latin-1", "The file is not UTF-8: it was read as Latin-1."),
    ],
)
def test_marks_and_encodings(shell: Shell, tmp_path: Path, encoding: str, note: str | None) -> None:
    a, y = numbers()
    text = lines("a,straße,y", [(v, "äö"[k % 2], label) for k, (v, label) in enumerate(zip(a, y, strict=True))])
    results = learn(shell, write(tmp_path / "a.csv", text.encode(encoding)))
    assert list(what(results)) == ["a", "straße", "y"]
    assert results["notes"] == ([] if note is None else [note])
    assert_learned(results)


def test_money_in_a_file_of_an_older_spreadsheet(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    rows = [
        (f"{v:.2f}".replace(".", ",") + " €", "\u2013" if k % 50 == 7 else label)
        for k, (v, label) in enumerate(zip(a, y, strict=True))
    ]
    results = learn(shell, write(tmp_path / "a.csv", lines("a;y", rows, ";").encode("cp1252")))
    assert "The file is not UTF-8: it was read as Windows-1252." in results["notes"]
    assert what(results)["a"].startswith("numbers")
    assert results["rows"] == 294
    assert_learned(results)


def test_windows_line_ends_quoted_line_breaks_and_blank_lines(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    rows = [f'{v},"two\r\nlines {k % 2}",{label}' for k, (v, label) in enumerate(zip(a, y, strict=True))]
    file = write(tmp_path / "a.csv", "a,w,y\r\n" + "\r\n".join(rows) + "\r\n\r\n")
    results = learn(shell, file)
    assert results["rows"] == 300
    assert what(results)["w"] == "2 words, an indicator each"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty."),
        (b"  \n\n", "is empty."),
        (bytes(range(256)) * 20, "must be a CSV or Parquet file, got something that is not text."),
        (b"PAR1 and then nothing", "begins like a Parquet file but cannot be read"),
        (b"a,y\n1,2\n1,2,3\n", "cannot be read as a table: line 3 has 3 values, and the first has 2 names."),
        (b'a,y\n1,2\n1,"2\n', "a quotation mark in line 3 is out of place or never closed."),
        (b'a,y\n1,2\n1,"x"y\n', "a quotation mark in line 3 is out of place or never closed."),
        (b"a,y\n1,2\n2,1e300\n", "target must be numbers of at most 1e+100 in size, got '1e300' in column 'y'."),
        (b"y\n1\n2\n3\n", "must have a column to learn from beside the target, got none that varies."),
        (b"a,y\n1,x\n2,x\n", "target must have two classes or more, got 'x' only in column 'y'."),
    ],
)
def test_files_that_are_none(shell: Shell, tmp_path: Path, content: bytes, sentence: str) -> None:
    assert sentence in shell("run", write(tmp_path / "a.csv", content), "--target", "y").sentence


def test_folders_and_files_that_are_not_there(shell: Shell, tmp_path: Path) -> None:
    assert "must be a file, got the folder" in shell("run", tmp_path, "--target", "y").sentence
    assert "There is no file" in shell("run", tmp_path / "none.csv", "--target", "y").sentence


def test_a_target_of_too_many_words(shell: Shell, tmp_path: Path) -> None:
    rows = [(k, f"name {k % 60}") for k in range(120)]
    said = shell("run", write(tmp_path / "a.csv", lines("a,y", rows)), "--target", "y").sentence
    assert "words of at most 50 kinds, got 60 kinds in column 'y', such as 'name 0'." in said


@pytest.mark.long
def test_classes_from_words_numbers_and_booleans(shell: Shell, tmp_path: Path) -> None:
    a, _ = numbers()
    words = [(v, "high" if v > 0.6 else "low" if v < 0.3 else "middle") for v in a]
    results = learn(shell, write(tmp_path / "a.csv", lines("a,y", words)))
    assert results["classes"] == ["high", "low", "middle"]
    assert results["last_half_accuracy"] > 0.8
    codes = [(v, 10 if v > 0.5 else 2) for v in a]
    file = write(tmp_path / "b.csv", lines("a,y", codes))
    assert learn(shell, file)["classes"] is None
    for loss in ("squared", "log", "logistic"):
        results = learn(shell, file, "y", "--task", "classes", "--loss", loss)
        assert results["classes"] == ["2", "10"]
        assert results["last_half_accuracy"] > 0.9
    frame = pl.DataFrame({"a": a, "y": a > 0.5})
    frame.write_parquet(tmp_path / "c.parquet")
    assert learn(shell, tmp_path / "c.parquet")["classes"] == ["false", "true"]


def test_parquet_with_every_kind_of_column(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers()
    start = np.datetime64("2021-01-01T00:00")
    frame = pl.DataFrame(
        {
            "float": [None if k % 9 == 0 else float("nan") if k % 9 == 1 else float(v) for k, v in enumerate(a)],
            "int": list(range(300)),
            "flag": [k % 2 == 0 for k in range(300)],
            "day": (start + np.arange(300) * np.timedelta64(1, "D")).astype("datetime64[ms]"),
            "word": ["ab"[k % 2] * 2 for k in range(300)],
            "list": [[k] for k in range(300)],
            "infinite": [float("inf") if k % 50 == 0 else float(k % 7) for k in range(300)],
            "y": y,
        }
    ).with_columns(
        pl.col("word").cast(pl.Categorical), time=pl.col("day").dt.time(), span=pl.col("int") * pl.duration(hours=1)
    )
    frame.write_parquet(tmp_path / "a.parquet")
    results = learn(shell, tmp_path / "a.parquet")
    said = what(results)
    assert said["float"].startswith("numbers; 68 missing are the mean")
    assert said["int"] == said["flag"] == "numbers"
    assert said["day"] == "dates: days since 1970-01-01, and where in the week and the year"
    assert said["list"] == "List(Int64) values, which are neither numbers nor words: left out"
    assert said["infinite"].startswith("numbers; 6 ")
    assert said["time"].startswith("constant")
    assert said["span"] == "numbers"
    assert "Column 'span' holds times: they are taken as numbers, in days." in results["notes"]
    assert results["rows"] == 300


def one_sentence(shown: Shown, part: str) -> None:
    assert part in shown.sentence


def test_options_that_do_not_fit_are_refused(shell: Shell, tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "a,y,w\n1,2,a\n2,3,b\n3,5,c\n")
    one_sentence(shell("run", file, "--target", "y", "--loss", "hinge"), "loss must be one of")
    one_sentence(shell("run", file, "--target", "y", "--learner", "forest"), "learner must be one of")
    one_sentence(shell("run", file, "--target", "y", "--feedback", "none"), "feedback must be one of")
    one_sentence(shell("run", file, "--target", "y", "--task", "x"), "task must be one of")
    one_sentence(shell("run", file, "--target", "y", "--loss", "log"), "loss must not be 'log' for a target of numbers")
    one_sentence(shell("run", file, "--target", "w", "--loss", "logistic"), "for 3 classes, got 'logistic'")
    one_sentence(shell("run", file, "--target", "w", "--loss", "absolute"), "for classes, got 'absolute'")
    one_sentence(shell("run", file, "--target", "w", "--task", "numbers"), "got 'a' in column 'w'")
    one_sentence(shell("run", file, "--target", "y", "--rate", "1"), "rate must be left out for the learner 'boosted'")
    one_sentence(shell("run", file, "--target", "y", "--answers", "31"), "answers must be at most as many as copies")
    one_sentence(shell("run", file, "--target", "y", "--checkpoint", "5"), "save must be given with --checkpoint")
    one_sentence(shell("run", file, "--target", "y", "--log", tmp_path / "x.txt"), "path must end in .csv or .parquet")
    one_sentence(shell("run", file, "--target", "y", "--loss", "quantile", "--level", "2"), "level must lie strictly")
    one_sentence(shell("run", file), "target must be given: the column to predict")
    assert shell("run", file, "--target", "y", "--copies", "0").code == 2

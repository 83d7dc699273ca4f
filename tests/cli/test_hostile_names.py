"""Names in a user's table, and names of files: whatever they hold, the terminal is not made to obey, and the work is done."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost import datasets
from banditboost.cli import common
from tests.cli.shell import Shell, lines, numbers, write

OBEYED = "\x1b]0;owned\x07\x1b[2J\x9b31m"
"""Sets the window's title, clears the screen, and writes in red."""


def harmless(text: str) -> bool:
    return not any(char in text for char in "\x1b\x07\x9b\x08\u202e")


def test_escape_sequences_do_not_reach_the_terminal(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers(200)
    # Text with such bytes at its beginning is refused; other alphabets and Parquet have no such limit.
    frame = pl.DataFrame({f"a{OBEYED}": a, "b": [f"{k % 3}{OBEYED}" for k in range(200)], f"y{OBEYED}": y})
    frame.write_parquet(tmp_path / "t.parquet")
    written = tmp_path / "t16.csv"
    written.write_bytes(frame.write_csv().encode("utf-16"))
    for file in (tmp_path / "t.parquet", written):
        model = tmp_path / "model.bb"
        told = shell("run", file, "--target", f"y{OBEYED}", "--save", model, "--report", tmp_path / "report")
        assert told.code == 0, told.err
        assert "\\x1b[2J" in told.out
        for shown in (told, shell("explain", model), shell("run", file, "--target", "missing")):
            assert harmless(shown.out), shown.out
            assert harmless(shown.err), shown.err
        guessed = shell("predict", model, file)
        assert guessed.code == 0
        assert harmless(guessed.err)


def test_classes_are_printed_as_they_are_to_a_program_and_harmlessly_to_a_terminal(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{'ab'[k % 2]}{OBEYED}" for k in range(100)]
    pl.DataFrame({"x": np.arange(100) % 2.0, "y": names}).write_parquet(tmp_path / "t.parquet")
    model = tmp_path / "model.bb"
    assert shell("run", tmp_path / "t.parquet", "--target", "y", "--save", model, "--quiet").code == 0
    assert not harmless(shell("predict", model, tmp_path / "t.parquet", "--quiet").out)
    from banditboost.cli import predict

    class Terminal:
        def __init__(self, stream: object) -> None:
            self.stream = stream

        def __getattr__(self, name: str) -> object:
            return getattr(self.stream, name)

        def isatty(self) -> bool:
            return True

    class Streams:
        @property
        def stdout(self) -> object:
            return Terminal(sys.stdout)

    monkeypatch.setattr(predict, "sys", Streams())
    assert harmless(shell("predict", model, tmp_path / "t.parquet", "--quiet").out)


def test_what_is_printable_stays_as_it_is() -> None:
    kept = "Größe in m², 価格, a\u3000b\u00a0c\nnext"
    assert common.printable(kept) == kept
    assert common.printable("\x1b[2J\t\r\x7f\u202e\udcff") == "\\x1b[2J\\t\\r\\x7f\\u202e\\udcff"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are text there")
def test_a_file_whose_name_is_no_text_is_reported_on(shell: Shell, tmp_path: Path) -> None:
    a, y = numbers(200)
    folder = os.fsencode(tmp_path)
    name = os.fsdecode(folder + b"/caf\xe9.csv")
    write(Path(name), lines("a,y", zip(a, y, strict=True)))
    told = shell(
        *("run", name, "--target", "y", "--save", os.fsdecode(folder + b"/m\xff.bb")),
        *(
            "--report",
            tmp_path / "report",
            "--json",
            tmp_path / "found.json",
            "--log",
            os.fsdecode(folder + b"/l\xff.csv"),
        ),
    )
    assert told.code == 0, told.err
    assert "caf\\udce9.csv" in (tmp_path / "report" / "run.html").read_text("utf-8")
    assert json.loads((tmp_path / "found.json").read_text())["file"] == name
    assert bb.Booster.load(os.fsdecode(folder + b"/m\xff.bb")).rounds == 200
    wrong = shell("run", name, "--target", "z")
    assert "\\udce9" in wrong.sentence or "z" in wrong.sentence


def wide(path: Path, columns: int, separator: str = ",", quoted: bool = False) -> Path:
    names = [f"a column with the number {k} and a rather long name" for k in range(columns)]
    if quoted:
        names = [f'"{name}, or{separator}""so"""' for name in names]
    rows = [separator.join(str((k + row) % 7) for k in range(columns + 1)) for row in range(4)]
    path.write_text(separator.join([*names, "y"]) + "\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_long_first_line_is_read(tmp_path: Path, separator: str, quoted: bool) -> None:
    path = wide(tmp_path / "wide.csv", 1500, separator, quoted)
    assert len(path.read_bytes().partition(b"\n")[0]) > 65_536
    table = datasets.read_own(path)
    assert table.frame.shape == (4, 1501)
    assert table.frame.columns[-1] == "y"
    assert table.frame.columns[1499].startswith("a column with the number 1499 and")


def test_a_long_first_line_alone_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "line.csv"
    path.write_text(",".join(f"a column with a rather long name {k}" for k in range(3000)))
    assert datasets.read_own(path).frame.shape == (0, 3000)


@pytest.mark.parametrize("text", ['"' + "a" * 200_000 + "\n1\n", "a" * 200_000 + ",b\n1,2\n"])
def test_a_name_that_never_ends_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "name.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"must have names of at most 131,072 characters in its first line"):
        datasets.read_own(path)


def test_names_that_come_many_times_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text(",".join(["a", "a (2)", *["a"] * 3000, "a (2)"]) + "\n" + ",".join(["1"] * 3003) + "\n")
    names = datasets.read_own(path).frame.columns
    assert names[:4] == ["a", "a (2)", "a (3)", "a (4)"]
    assert names[-1] == "a (2) (2)"
    assert len(set(names)) == 3003


@pytest.mark.parametrize("word", ["x" * 50_000, "two\nlines", OBEYED])
def test_words_of_any_length_make_errors_of_one_line(tmp_path: Path, word: str) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1.0, 2.0, 3.0], "y": [word] * 3, word: [1.0, 2.0, 4.0]}).write_parquet(path)
    for target, task in (("y", "auto"), ("y", "numbers"), ("missing", "auto"), (word + "?", "auto")):
        with pytest.raises(ValueError, match="target must") as caught:
            datasets.prepare_own(path, target, task=task)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1500
        assert harmless(str(caught.value))

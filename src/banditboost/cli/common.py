"""What the commands share: options, where they print, and how they write files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any
from unicodedata import category

import typer
from rich.console import Console
from rich.markup import escape

from banditboost._compiled.waiting import when_compiling
from banditboost._core.version import __version__
from banditboost._storage.atomic_file import atomic
from banditboost.experiments.terminal import terminal_table

err = Console(stderr=True)
COMPILING = (
    "Compiling what this needs for the first time, which can take minutes: later runs of this kind begin at once."
)

JsonOut = Annotated[
    Path | None,
    typer.Option(
        "--json",
        help="Write the results as JSON to this file; '-' prints them instead of tables.",
        allow_dash=True,
        dir_okay=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress bar and no tables.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A CSV or Parquet file; the first line of a CSV file holds the column names. Or a file of examples in the format of "
        "Vowpal Wabbit (.vw) or svmlight (.svm, .svmlight, .libsvm).",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file that `run --save` or `Booster.save` wrote.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", help="The column to predict; left out for a file of examples, which has a label in every line."
    ),
]
NumberColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--number",
        metavar="NAME[=1.234,5]",
        help="This column holds numbers, which the example shows how to read; may be given several times, as the next three.",
    ),
]
CategoryColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="NAME[=500]",
        help="This column holds words, even if they look like numbers; the number says how many have an indicator each.",
    ),
]
DateColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        metavar="NAME[=mm/dd/yyyy]",
        help="This column holds dates; the form says whether the day comes first.",
    ),
]
DropColumns = Annotated[list[str] | None, typer.Option("--drop", metavar="NAME", help="This column is not used.")]


def said_of(
    number: list[str] | None, category: list[str] | None, date: list[str] | None, drop: list[str] | None
) -> dict[str, list[str]]:
    """Return what a user says of columns, as arguments of `prepare_own` and `Log.read_own`."""
    said = {"number": number, "category": category, "date": date, "drop": drop}
    return {kind: names for kind, names in said.items() if names}


def check_outputs(outputs: dict[str, Path | None], inputs: Sequence[Path]) -> None:
    """Raise, before any work is done, where an output cannot be written, is an input, or is the same file as another output."""
    seen: dict[Path, str] = {}
    for name, path in outputs.items():
        if path is None or str(path) == "-":
            continue
        if any(path.resolve() == other.resolve() for other in inputs):
            raise ValueError(f"{name} must be another file than the one that is read, got {path}.")
        if (other := seen.setdefault(path.resolve(), name)) != name:
            raise ValueError(f"{name} must be another file than {other}, got {path} for both.")
        # Files are written under another name and renamed, which would put a plain file in the place of a device.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ValueError(f"{name} must be a plain file, got {path}.")
        # Folders that are not there yet are made: the nearest one that is must allow it.
        near = next((folder for folder in path.absolute().parents if folder.exists()), path)
        if not near.is_dir() or not os.access(near, os.W_OK):
            raise ValueError(f"{name} must be a file that can be written, got {path}.")


def printable(text: str) -> str:
    r"""Return a text whose control characters are written out, since a terminal would obey them: names in a file may hold any.

    Examples
    --------
    >>> print(printable("a name that clears the screen \x1b[2J and a second\nline"))
    a name that clears the screen \x1b[2J and a second
    line
    """
    return "".join(
        char if char.isprintable() or char == "\n" or category(char) == "Zs" else char.encode("unicode_escape").decode()
        for char in text
    )


def tell(text: str, style: str | None = None) -> None:
    """Print a sentence to standard error, without markup."""
    err.print(printable(text), style=style, highlight=False, markup=False, soft_wrap=True)


def say_when_compiling(arguments: Sequence[str]) -> None:
    """Say once, to whoever waits for a command, terminal or not, that it compiles; nothing with --quiet."""
    when_compiling(None if "--quiet" in arguments else lambda: tell(COMPILING))


class Screen:
    """Where a command prints: standard output, or standard error where the results go to standard output; nowhere when quiet."""

    def __init__(self, quiet: bool, json_file: Path | None) -> None:
        self.quiet, self.json_file = quiet, json_file
        self.aside = json_file is not None and str(json_file) == "-"
        # A pipe or a file has no width of its own: tables get room there.
        stream = sys.stderr if self.aside else sys.stdout
        self.console = Console(stderr=self.aside, width=None if stream.isatty() else 132)

    def say(self, text: str) -> None:
        """Print a sentence without markup."""
        if not self.quiet:
            self.console.print(printable(text), highlight=False, markup=False, soft_wrap=True)

    def table(self, title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str]) -> None:
        """Print a table, unless it is empty."""
        lines = [(False, [escape(printable(text)) for text in row]) for row in rows]
        if lines and not self.quiet:
            # The title has a line of its own: within the table it would be broken at the table's width.
            self.say(title)
            self.console.print(terminal_table("", headings, lines, left))

    def results(self, results: dict[str, Any]) -> None:
        """Write the results to the file of --json, or to standard output for '-'."""
        if self.json_file is None:
            return
        text = json.dumps({"banditboost": __version__} | results, allow_nan=False)
        if self.aside:
            sys.stdout.write(text + "\n")
            return
        with atomic(self.json_file) as file:
            file.write(text.encode())
        self.say(f"Results: {self.json_file}")

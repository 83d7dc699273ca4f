"""Where a data set's table comes from: the copy inside the package, or a file in a folder."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from banditboost.datasets.blocks import few
from banditboost.datasets.catalog import Info
from banditboost.datasets.download import cached
from banditboost.datasets.table import Categorical, Numeric, Table, from_codes

if TYPE_CHECKING:
    import polars as pl

VARIABLE = "BANDITBOOST_DATA"
"""The environment variable that names a folder of data sets."""


def find(info: Info, folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the file to read a data set from, or None for the copy inside the package.

    Parameters
    ----------
    info
        The data set.
    folder
        The folder to look in first; the one that ``BANDITBOOST_DATA`` names comes second.

    Examples
    --------
    >>> from banditboost.datasets import describe
    >>> find(describe("abalone"), "nowhere")
    Traceback (most recent call last):
        ...
    NotADirectoryError: folder must be an existing folder, got 'nowhere'.
    """
    variable = os.environ.get(VARIABLE)
    places = {"folder": folder, VARIABLE: variable or None}
    for argument, place in places.items():
        if place is None:
            continue
        # A mistyped folder must raise an error, not silently lead to another copy of the data.
        if not Path(place).is_dir():
            raise NotADirectoryError(f"{argument} must be an existing folder, got {os.fspath(place)!r}.")
        for name in info.files:
            if (Path(place) / name).is_file():
                return Path(place) / name
    if info.distribution is not None:
        return None
    fetched = cached(info)
    if fetched is None:
        raise FileNotFoundError(
            f"{info.name} is not part of the package: run `banditboost datasets --fetch {info.name}`, or put "
            f"{' or '.join(info.files)} (from {info.url}) into the folder given as `folder` or named by {VARIABLE}, "
            f"got folder={folder!r} and {VARIABLE}={variable!r}."
        )
    return fetched


def read_embedded(info: Info) -> Table:
    """Read the copy inside the package.

    Parameters
    ----------
    info
        The data set.

    Examples
    --------
    >>> from banditboost.datasets import describe
    >>> read_embedded(describe("abalone")).columns[0]
    Categorical(name='Sex', levels=('F', 'I', 'M'))
    """
    resource = resources.files("banditboost.datasets").joinpath("embedded", f"{info.name}.npz")
    columns: list[Numeric | Categorical] = []
    with resource.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        for index, name in enumerate(arrays["columns"].tolist()):
            values = arrays[f"{index:02d}"]
            if f"{index:02d}_levels" in arrays:
                columns.append(Categorical(name, values, tuple(arrays[f"{index:02d}_levels"].tolist())))
                continue
            if f"{index:02d}_decimals" in arrays:
                # Division by an exact power of ten gives the float nearest to the decimal, as parsing does.
                values = values / 10.0 ** int(arrays[f"{index:02d}_decimals"])
            columns.append(Numeric(name, values))
        return Table(tuple(columns), str(arrays["label"]))


def read_file(info: Info, path: Path) -> Table:
    r"""Read a parquet or comma-separated file with polars.

    Parameters
    ----------
    info
        The data set, for the name of its label.
    path
        The file; one that ends in ``.csv`` is text with a header, any other is parquet.

    Examples
    --------
    >>> import tempfile
    >>> from banditboost.datasets import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "slice_localization_data.csv"
    ...     _ = path.write_text("patientId,value0,reference\n0,0.5,21.8\n1,-0.25,30.1\n")
    ...     table = read_file(describe("slice"), path)
    >>> table.target.values
    array([21.8, 30.1])
    """
    try:
        import polars as pl
    except ImportError:
        raise ImportError(
            f"Reading {path} needs polars, which the extra `cli` brings: pip install 'banditboost[cli]'."
        ) from None
    try:
        # Types are inferred from the whole file, because a column that starts with whole numbers may continue with decimals.
        frame = pl.read_csv(path, infer_schema_length=None) if path.suffix == ".csv" else pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} cannot be read as a table: {str(error).partition(chr(10))[0]}.") from None
    if info.label not in frame.columns:
        raise ValueError(f"{path} must have the label's column {info.label!r}, got {few(frame.columns)}.")
    return Table(tuple(_column(series) for series in frame.get_columns()), info.label)


def _column(series: pl.Series) -> Numeric | Categorical:
    import polars as pl

    if series.null_count():
        raise ValueError(f"column {series.name!r} must have no missing values, got {series.null_count()}.")
    if series.dtype.is_numeric():
        return Numeric(series.name, series.to_numpy())
    text = series.cast(pl.String)
    levels = text.unique().sort()
    codes = text.cast(pl.Enum(levels)).to_physical().to_numpy()
    return from_codes(series.name, codes, levels.to_list())

"""A context that is given as a frame of one row, as slices of pandas and polars are."""

from __future__ import annotations

from typing import Any


def one_row(x: Any, named: bool) -> Any:
    """Return the one row of a frame, by names or as a list of numbers; anything else is returned as it is.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [3.0], "garden": [1.0]})
    >>> one_row(frame, named=True), one_row(frame, named=False), one_row([1.0], named=False)
    ({'size': 3.0, 'garden': 1.0}, [3.0, 1.0], [1.0])
    """
    if not hasattr(x, "columns") or not hasattr(x, "shape"):
        return x
    if x.shape[0] != 1:
        raise ValueError(f"x must be one context, got a frame of {x.shape[0]:,} rows.")
    values = x.row(0) if hasattr(x, "row") else next(x.itertuples(index=False, name=None))
    if not named:
        return list(values)
    if len(set(x.columns)) < len(x.columns):
        raise ValueError("x must have every name once, got one twice.")
    return dict(zip(x.columns, values, strict=True))

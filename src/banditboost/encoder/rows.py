"""The many forms in which a context with names comes: dictionaries, rows and Series; and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def named(x: Any) -> Mapping[Any, Any]:
    """Return a context as a mapping from names to values, or raise where it has no names.

    Examples
    --------
    >>> from collections import namedtuple
    >>> import polars as pl
    >>> Row = namedtuple("Row", ["city", "age"])
    >>> named(Row("Rom", 41)), named({"city": "Rom"})
    ({'city': 'Rom', 'age': 41}, {'city': 'Rom'})
    """
    if isinstance(x, Mapping):
        return x
    if isinstance(x, tuple) and hasattr(x, "_asdict"):
        return dict(x._asdict())
    if is_dataclass(x) and not isinstance(x, type):
        return {field.name: getattr(x, field.name) for field in fields(x)}
    if hasattr(x, "index") and hasattr(x, "items") and not hasattr(x, "columns"):  # a Series of pandas
        return _once(x.items())
    if callable(getattr(x, "keys", None)) and not hasattr(x, "columns"):  # such as a row of sqlite3
        return _once((key, x[key]) for key in x.keys())  # noqa: SIM118 - it need not be a mapping
    raise ValueError(
        "x must name its features where there is an encoder, as a dictionary, a named tuple, a data class or a Series does; got "
        f"{type(x).__name__}."
    )


def _once(items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    pairs = list(items)
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("x must have every name once, got one twice.")
    return found


def _in_words(frame: Any) -> Any:
    """Return a frame of pandas whose categories are words, whatever they are called; missing ones stay missing."""
    columns = [name for name, kind in frame.dtypes.items() if str(kind) == "category"]
    words = {name: frame[name].cat.rename_categories(lambda level: str(level)).astype(object) for name in columns}
    return frame.assign(**words) if columns and all(isinstance(name, str) for name in columns) else frame


def contexts_of(table: Any) -> Iterator[Any]:
    """Give the rows of a table with names: a frame of polars or pandas, an Arrow table, or any sequence of contexts.

    Examples
    --------
    >>> import polars as pl
    >>> list(contexts_of(pl.DataFrame({"city": ["Rom", None], "age": [41, 42]})))
    [{'city': 'Rom', 'age': 41}, {'city': None, 'age': 42}]
    >>> list(contexts_of([{"city": "Rom"}]))
    [{'city': 'Rom'}]
    """
    if hasattr(table, "iter_rows"):
        yield from table.iter_rows(named=True)
    elif hasattr(table, "to_pylist"):
        yield from table.to_pylist()
    elif hasattr(table, "itertuples"):
        if not table.columns.is_unique:
            raise ValueError("contexts must have every name once, got a column twice.")
        names = list(table.columns)
        for values in _in_words(table).itertuples(index=False, name=None):
            yield dict(zip(names, values, strict=True))
    elif isinstance(table, Mapping | str | bytes) or not isinstance(table, Iterable):
        raise ValueError(f"contexts must be a frame, or a list of contexts with names, got {type(table).__name__}.")
    else:
        yield from table

"""Which fields of a result file the numbers of a table come from, found by changing the fields and making the table anew.

A report's function is asked nothing and told nothing: every field is changed in turn, and the numbers of the table that change with
it come from it. So the answer stays right when a report is rewritten. Whole branches of the results are changed first, and looked
into only where the table notices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Cells = dict[str, list[str]]
"""The numbers in every cell of a table, by the cell's name."""
Path = tuple[str | int, ...]


def is_number(value: Any) -> bool:
    """Say whether a value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_field(value: Any) -> bool:
    """Say whether a value is one field: a number, a list of numbers, or a text with digits."""
    if isinstance(value, list):
        return bool(value) and all(map(is_number, value))
    return is_number(value) or (isinstance(value, str) and any(letter.isdigit() for letter in value))


DIGITS = str.maketrans("0123456789", "1234567890")


def changed(value: Any, much: float = 0.37) -> Any:
    """Return a value with all its numbers changed by shares that differ, so that ratios change too, and with other digits in texts.

    Examples
    --------
    >>> changed({"runs": 3, "name": "letter", "written": "2026"})
    {'runs': 10, 'name': 'letter', 'written': '3137'}
    """
    if isinstance(value, dict):
        return {key: changed(entry, much * (1 + 0.2 * k)) for k, (key, entry) in enumerate(value.items())}
    if isinstance(value, list):
        entries = [changed(entry, much) for entry in value]
        return [entry * (1 + much * (k % 2)) if is_number(entry) else entry for k, entry in enumerate(entries)]
    if isinstance(value, str):
        return value.translate(DIGITS)
    if isinstance(value, int) and not isinstance(value, bool):
        return value + 7
    return value * (1 + much) + 0.3 * max(much, 0.0) if isinstance(value, float) else value


def children(value: Any) -> Iterator[str | int]:
    """Yield the keys of a branch."""
    if not is_field(value) and isinstance(value, dict | list):
        yield from value if isinstance(value, dict) else range(len(value))


def differences(before: Cells, after: Cells | None) -> set[tuple[str, int]] | None:
    """Return which numbers of which cells differ, and None where cells are lost, so that this was no mere change of a number."""
    if after is None or any(len(after.get(cell, [])) < len(numbers) for cell, numbers in before.items()):
        return None
    return {(cell, k) for cell, numbers in before.items() for k, text in enumerate(numbers) if after[cell][k] != text}


def fields_of(results: Any, make: Callable[[Any], Cells]) -> dict[tuple[str, int], list[Path]]:
    """Return, for every number of a table by its cell and its place there, the paths of the fields that it comes from.

    Examples
    --------
    >>> results = {"rows": [{"name": "a", "loss": 2.0, "time": 1.0}, {"name": "b", "loss": 3.0, "time": 1.0}]}
    >>> fields_of(results, lambda found: {row["name"]: [f"{row['loss']:.1f}"] for row in found["rows"]})
    {('a', 0): [('rows', 0, 'loss')], ('b', 0): [('rows', 1, 'loss')]}
    """
    before = make(results)
    found: dict[tuple[str, int], list[Path]] = {}

    def without_errors() -> Cells | None:
        try:
            return make(results)
        except Exception:  # a report may do anything with numbers that cannot be
            return None

    def noticed(parent: Any, key: str | int, much: float) -> set[tuple[str, int]] | None:
        value = parent[key]
        parent[key] = changed(value, much)
        seen = differences(before, without_errors())
        parent[key] = value
        return seen

    every = {(cell, k) for cell, numbers in before.items() for k in range(len(numbers))}

    def look(parent: Any, key: str | int, path: Path, much: float, among: set[tuple[str, int]]) -> None:
        seen, field = noticed(parent, key, much), is_field(parent[key])
        if seen is None and field:  # rows may be sorted, or left out, by their numbers
            seen = noticed(parent, key, much / 185)
        if field:
            for place in (seen or set()) & among:
                found.setdefault(place, []).append(path)
        elif seen is None or seen:
            for child in children(parent[key]):
                look(parent[key], child, (*path, child), much, among)

    # Upwards first; downwards for the least of several numbers that look alike.
    for much in (0.37, -0.37):
        missing = every - set(found)
        for key in children(results) if missing else ():
            look(results, key, (key,), much, missing)
    missing = every - set(found)
    for path in lists_in(results) if missing else ():
        for place in counted(results, path, before, without_errors) & missing:
            found.setdefault(place, []).append(path)
    return {place: found[place] for place in sorted(found)}


def lists_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all lists of entries."""
    for key in children(value):
        if isinstance(value[key], list) and not is_field(value[key]):
            yield (*path, key)
        yield from lists_in(value[key], (*path, key))


def counted(results: Any, path: Path, before: Cells, make: Callable[[], Cells | None]) -> set[tuple[str, int]]:
    """Return the numbers that change when one entry or another of a list is left out, as those do that count entries."""
    entries, places = results, set()
    for key in path:
        entries = entries[key]
    for k in range(len(entries)):
        entry = entries.pop(k)
        after = make() or {}
        entries.insert(k, entry)
        for cell, numbers in before.items():
            now = after.get(cell, [])
            places |= {(cell, place) for place, text in enumerate(numbers) if place < len(now) and now[place] != text}
    return places


def written_path(results: Any, path: Path) -> str:
    """Return a path as text, in which entries of lists are named by what they are, not by their number, where that is possible.

    Examples
    --------
    >>> results = {"rows": [{"name": "a", "loss": 2.0}, {"name": "b", "loss": 3.0}]}
    >>> written_path(results, ("rows", 1, "loss"))
    'rows[name=b].loss'
    """
    text, value = "", results
    for key in path:
        text += f"[{named(value, key)}]" if isinstance(key, int) else f".{key}"
        value = value[key]
    return text.removeprefix(".")


def named(entries: list[Any], index: int) -> str:
    """Return the fewest fields that tell an entry of a list from all others, words before numbers, or its index."""
    entry = entries[index]
    chosen: list[str] = []
    if not isinstance(entry, dict):
        return str(index)
    rest = [other for other in entries if other is not entry and isinstance(other, dict)]
    for kind in (str, int, float):
        for key, value in entry.items():
            if isinstance(value, kind) and not any(letter in str(value) for letter in ",=[]:`|") and rest:
                left = [other for other in rest if other.get(key) == value]
                if len(left) < len(rest):
                    rest, chosen = left, [*chosen, f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"]
    return str(index) if rest or not chosen else ",".join(chosen)

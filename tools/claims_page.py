"""Writes the tables of `docs/claims.md`: every number in README, the command behind it, and the field that it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import claims
import provenance

from banditboost.experiments.cells import OLD_NAMES, present_names

Tables = Mapping[str, tuple[str, Callable[[dict[str, Any]], str]]]
"""The tables of pages: the file of results and what makes a table of it."""


def cells_of(text: str) -> provenance.Cells:
    """Return the numbers in every cell of a table."""
    return {name: claims.numbers_of(cell) for name, cell in claims.cells_of(text).items()}


def as_in_the_file(raw: Any, path: provenance.Path) -> provenance.Path:
    """Return a path under the names that a file has, which may be those of an earlier version."""
    earlier, found = {new: old for old, new in OLD_NAMES.items()}, []
    for key in path:
        found.append(key if isinstance(key, int) or key in raw else earlier[key])
        raw = raw[found[-1]]
    return tuple(found)


def how_of(text: str, values: list[Any]) -> str:
    """Return how a number comes from fields."""
    for how, make in claims.HOW.items():
        whole = how == "as it is"
        single = len(values) == 1 and not isinstance(values[0], str) and whole != isinstance(values[0], list)
        if single and provenance.is_field(values[0]) and claims.agrees(text, make(values[0])):
            return how
    return claims.COMPUTED


def of_table(name: str, shown: str, tables: Tables) -> Iterator[claims.Listed]:
    """Yield the numbers of a table of README with the fields that they come from."""
    file, make = tables[name]
    raw = claims.read(file)
    found = provenance.fields_of(present_names(raw), lambda results: cells_of(make(results)))
    for cell, numbers in cells_of(shown).items():
        for k, text in enumerate(numbers):
            paths = found.get((cell, k), [])
            fields = [provenance.written_path(raw, as_in_the_file(raw, path)) for path in paths]
            values = [claims.looked_up(raw, field)[0] for field in fields]
            yield claims.Listed(f"{name}: {cell}", text, file, tuple(fields), how_of(text, values))


def listed(readme: str, tables: Tables) -> Iterator[claims.Listed]:
    """Yield every number that stands in a table or is bound in a sentence."""
    for name, shown in claims.BLOCK.findall(readme):
        yield from of_table(name, shown, tables)
    for number in claims.numbers_in(readme):
        if number.kind == "bound":
            file, path, form = number.field
            yield claims.Listed(number.where, number.text, file, (path,), form)


def page(readme: str, tables: Tables) -> str:
    """Return the tables of the page."""
    rows, numbers = list(listed(readme, tables)), claims.numbers_in(readme)
    makefile, parts = (claims.ROOT / "Makefile").read_text(), []
    for file in dict.fromkeys(row.file for row in rows):
        parts.append(f"## `{file}`\n\nThe command is `{claims.command_of(file, makefile)}`.")
        lines = [
            (
                row.where,
                row.text,
                ", ".join(f"`{field}`" for field in row.fields),
                row.how if row.how in (*claims.HOW, claims.COMPUTED) else f"`{row.how}`",
            )
            for row in rows
            if row.file == file
        ]
        parts.append(claims.table_of(("where", "number", "field", "how"), lines))
    printed = [(number.where, number.text) for number in numbers if number.kind == "printed"]
    parts.append(
        "## Printed by the code in README\n\nThe command is `python -m pytest README.md`, which runs the code and compares."
    )
    parts.append(claims.table_of(("line", "number"), printed))
    names = Counter((number.text, number.reason) for number in numbers if number.kind == "name")
    parts.append("## Names, which measure nothing")
    parts.append(claims.table_of(("words", "why"), list(names)))
    return "\n\n".join(parts)

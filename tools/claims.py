"""Every number in README, and the field of a result file that it comes from: what `docs/claims.md` lists.

A number in a sentence is bound to a field by a comment before and after it::

    over <!--= fair: protocol.runs: words -->ten<!--/--> shuffles

The comment names the file (`results/fair.json`), the path of keys to the field, and how the field is written. In a path
``rows[kind=expected].seeds`` takes the entries of a list whose keys have these values, and ``rows[].seeds`` takes all of them;
where several are found, the form says what is made of them: ``min``, ``max``, ``sum``, ``count`` (of different ones), followed by
a format such as ``,d`` or ``.1%``, or by ``words``.

`python tools/write_results.py` fills these numbers in and writes the page; `problems` checks README, the page and the results
against each other, and knows nothing of the reports that made the tables.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from banditboost.experiments.cells import OLD_NAMES

ROOT = Path(__file__).parent.parent
BOUND = re.compile(r"<!--= (?P<file>\w+): (?P<path>[^:>]+): (?P<form>[^>]+?) -->(?P<text>.*?)<!--/-->", re.DOTALL)
BLOCK = re.compile(r"<!-- (\w+) -->\n(.*?)<!-- /\1 -->", re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
WORDS = {word: value for value, word in enumerate(SMALL.split())} | {"nineteen": 19, "twenty": 20}
WORDS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "thousand": 1000, "million": 1_000_000}
SPELLED = [word for word in WORDS if word not in ("zero", "one")]
DIGITS = r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?%?"
NUMBER = re.compile(rf"{DIGITS}|\b(?:{'|'.join(SPELLED)})\b", re.IGNORECASE)

NAMES = {
    r"\b(?:Tables?|Algorithms?|Theorems?|Lemmas?|Definitions?|Sections?) \d+(?: and \d+)?": "the number of a thing in a paper",
    r"\b[A-Z]\w+(?: et al\.|, [A-Z]\w+)? (?:19|20)\d\d\b": "the year of a paper",
    r"\bPython \d+\.\d+": "a version",
    r"\bBSD-3-Clause\b": "the name of a licence",
    r"\bfour parts\b": "the parts are named where they are counted",
    r"\bTwo losses\b": "the losses are named where they are counted",
}
"""Numbers in sentences that are no measurements, and why."""


@dataclass(frozen=True)
class Number:
    """A number in README: where it stands, its text, and what it is bound to, if it is in a sentence."""

    where: str
    text: str
    kind: str
    field: tuple[str, str, str] = ("", "", "")
    reason: str = ""


@dataclass(frozen=True)
class Listed:
    """A row of the page: a number, and the fields from which it comes."""

    where: str
    text: str
    file: str
    fields: tuple[str, ...]
    how: str


def file_of(name: str) -> str:
    """Return the file of results under a name."""
    return "benchmarks/results.json" if name == "benchmarks" else f"results/{name}.json"


@cache
def read(file: str) -> Any:
    """Return what a file of results holds, as it is written there."""
    return json.loads((ROOT / file).read_text())


def steps_of(path: str) -> list[str]:
    """Split a path at the dots that stand outside brackets.

    Examples
    --------
    >>> steps_of("tables.ours[noise=0.1,dataset=letter].paid")
    ['tables', 'ours', '[noise=0.1,dataset=letter]', 'paid']
    """
    return re.findall(r"\[[^\]]*\]|[^.\[\]]+", path)


def looked_up(results: Any, path: str) -> list[Any]:
    """Return all values at a path, and raise KeyError where there are none.

    Examples
    --------
    >>> looked_up({"rows": [{"kind": "a", "seeds": 3}, {"kind": "b", "seeds": 5}]}, "rows[kind=b].seeds")
    [5]
    >>> looked_up({"rows": [3, 4]}, "rows[1]")
    [4]
    """
    found = [results]
    for step in steps_of(path):
        if not step.startswith("["):
            found = [
                value[name] for value in found for name in names_of(step) if isinstance(value, dict) and name in value
            ]
            continue
        inside = step[1:-1]
        entries = [entry for value in found if isinstance(value, list) for entry in value]
        if inside.isdigit():
            entries = entries[int(inside) : int(inside) + 1]
        elif inside:
            wanted = [part.split("=", 1) for part in inside.split(",")]
            entries = [entry for entry in entries if isinstance(entry, dict)]
            entries = [entry for entry in entries if all(written(entry.get(key)) == value for key, value in wanted)]
        found = entries
    if not found:
        raise KeyError(path)
    return found


def names_of(step: str) -> list[str]:
    """Return the names that a key may have in a file: its own, and that of an earlier version."""
    return [step, *(old for old, new in OLD_NAMES.items() if new == step)]


def written(value: Any) -> str:
    """Return how a value is written in brackets of a path."""
    return f"{value:g}" if isinstance(value, float) else str(value)


REDUCED: dict[str, Callable[[list[Any]], Any]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "count": lambda values: len(set(map(str, values))),
}


def spoken(value: int) -> str:
    """Return a whole number in words where it has one, and in digits otherwise."""
    return next((word for word, known in WORDS.items() if known == value), f"{value:,}")


def formatted(results: Any, path: str, form: str) -> str:
    """Return a field as a sentence has it.

    Examples
    --------
    >>> formatted({"rows": [{"seeds": 1000}, {"seeds": 3}]}, "rows[].seeds", "max ,d")
    '1,000'
    >>> formatted({"runs": 3}, "runs", "words")
    'three'
    """
    found = looked_up(results, path)
    first, _, rest = form.partition(" ")
    if first in REDUCED:
        value, form = REDUCED[first](found), rest
    elif len(found) > 1:
        raise KeyError(f"{path} names {len(found)} fields, so that the form must say what is made of them")
    else:
        value = found[0]
    return spoken(value) if form == "words" else format(value, form)


def bound_in(text: str, results: Callable[[str], Any] = read) -> str:
    """Return a page in which every bound number is what its field holds."""

    def fill(match: re.Match[str]) -> str:
        opening, file = match[0][: match.start("text") - match.start()], file_of(match["file"])
        try:
            return f"{opening}{formatted(results(file), match['path'], match['form'])}<!--/-->"
        except KeyError as error:
            raise ValueError(
                f"{match['path']} must be a field of {file}, but a page wants it and it is not: {error}"
            ) from None

    return BOUND.sub(fill, text)


def sentence_around(text: str, start: int, end: int) -> str:
    """Return a few words on either side of a place, as one line."""
    before = plain(text[:start]).split("\n")[-1].split(" ")[-6:]
    after = plain(text[end:]).split("\n")[0].split(" ")[:6]
    return f"{' '.join(before)} … {' '.join(after)}".replace("  ", " ").replace("|", "/").strip()


def plain(text: str) -> str:
    """Return text without comments, emphasis, marks of code, and targets of links."""
    return re.sub(r"<!--.*?-->|\*|`|\]\([^)]*\)|!?\[(?=[A-Za-z])", "", text, flags=re.DOTALL)


def in_sentences(text: str) -> Iterator[Number]:
    """Yield the numbers outside of tables with markers and of code: bound ones, names, and others."""
    for found in BOUND.finditer(text):
        file, path, form = file_of(found["file"]), found["path"], found["form"]
        yield Number(sentence_around(text, found.start(), found.end()), found["text"], "bound", (file, path, form))
    rest = BOUND.sub(lambda match: " " * len(match[0]), text)
    for pattern in (r"`[^`]*`", r"\]\([^)]*\)", r"<!--.*?-->", r"^#.*$"):  # code, links, comments, headings
        rest = re.sub(
            pattern, lambda match: " " * len(match[0]), rest, flags=re.DOTALL if "<" in pattern else re.MULTILINE
        )
    for pattern, reason in NAMES.items():
        for found in re.finditer(pattern, rest):
            yield Number("", found[0], "name", reason=reason)
        rest = re.sub(pattern, lambda match: " " * len(match[0]), rest)
    for found in NUMBER.finditer(rest):
        yield Number(sentence_around(text, found.start(), found.end()), found[0], "loose")


def cells_of(text: str) -> dict[str, str]:
    r"""Return the cells of a table by row and column; the first of a row is its name, and what is no table has a name of its own.

    Examples
    --------
    >>> cells_of("| who | abalone |\n|---|---|\n| *ours* | 5.2 ±0.1 |\n")
    {'ours, abalone': '5.2 ±0.1'}
    """
    cells: dict[str, str] = {}
    headings: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            headings = []
            if line.strip():
                cells[f"line {len(cells)}"] = line
            continue
        row = [plain(cell).strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("|---"):
            continue
        if not headings:
            headings = row
            continue
        for heading, cell in zip(headings[1:], row[1:], strict=True):
            name, again = f"{row[0].strip()}, {heading}", 2
            while name in cells:
                name, again = f"{row[0].strip()} ({again}), {heading}", again + 1
            cells[name] = cell
    return cells


def numbers_of(cell: str) -> list[str]:
    """Return the numbers in a cell, but for those in names."""
    for name in NAMES:
        cell = re.sub(name, "", cell)
    return [found[0] for found in NUMBER.finditer(cell)]


def printed_in(code: str) -> Iterator[Number]:
    """Yield the numbers that a block of code prints, which running README as a test compares."""
    for line in code.splitlines():
        if not line.startswith((">>>", "...")):
            for text in numbers_of(line):
                yield Number(line.strip(), text, "printed")


def numbers_in(readme: str) -> list[Number]:
    """Return every number in README, from top to bottom by kind: in tables, printed by code, and in sentences."""
    found: list[Number] = []
    for name, table in BLOCK.findall(readme):
        for cell, text in cells_of(table).items():
            found += [Number(f"{name}: {cell}", number, "table") for number in numbers_of(text)]
    sentences = BLOCK.sub("\n", readme)
    for language, code in FENCE.findall(sentences):
        if language == "python" and ">>>" in code:
            found += printed_in(code)
    return found + list(in_sentences(FENCE.sub("\n", sentences)))


def value_of(text: str) -> float:
    """Return the value of a number as it is written."""
    return float(WORDS.get(text.lower(), text.rstrip("%").replace(",", "")))


def agrees(text: str, value: float) -> bool:
    """Say whether a number as it is written is a value, to the digits that it shows.

    Examples
    --------
    >>> agrees("5.249", 5.2494), agrees("5.249", 5.2496), agrees("95%", 0.951), agrees("3.0e-05", 2.96e-5)
    (True, False, True, True)
    """
    value = value * 100 if text.endswith("%") else value
    digits, _, power = text.rstrip("%").partition("e")
    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return math.isfinite(value) and abs(value_of(text) - value) <= 0.5 * last * (1 + 1e-9)


HOW: dict[str, Callable[[Any], float]] = {
    "as it is": float,
    "its deviation": lambda values: statistics.stdev(values),
    "its mean": lambda values: statistics.fmean(values),
}
"""How a number in a table comes from one field."""
COMPUTED = "computed from these"


def rows_of(page: str) -> list[Listed]:
    """Return the rows of the page."""
    rows, file = [], ""
    for line in page.splitlines():
        if heading := re.match(r"## `(\S+)`", line):
            file = heading[1]
        elif line.startswith("## "):
            file = ""
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] not in ("where", "---") and file:
            fields = tuple(re.findall(r"`([^`]+)`", cells[2]))
            rows.append(Listed(cells[0], cells[1], file, fields, cells[3].strip("`")))
    return rows


def wrong(row: Listed, results: Callable[[str], Any] = read) -> str:
    """Say what is wrong with a row of the page, in a sentence, or nothing."""
    try:
        found = [looked_up(results(row.file), field) for field in row.fields]
        if not found:
            return f"{row.text} ({row.where}) comes from no field of {row.file} that could be found"
        if row.how == COMPUTED:
            return ""
        if row.how in HOW:
            right = len(found) == 1 == len(found[0]) and agrees(row.text, HOW[row.how](found[0][0]))
            holds = str(found[0][0])
        else:
            holds = formatted(results(row.file), row.fields[0], row.how)
            right = holds == row.text
    except (KeyError, ValueError, TypeError, OSError) as error:
        return f"{row.text} ({row.where}) comes from {row.fields} of {row.file}, which cannot be read: {error!r}"
    return "" if right else f"{row.text} ({row.where}) is not what {row.fields[0]} of {row.file} holds: {holds}"


def problems(readme: str, page: str, results: Callable[[str], Any] = read) -> list[str]:
    """Return a sentence for every number in README that is bound to nothing, not listed, or not what its field holds."""
    numbers, rows = numbers_in(readme), rows_of(page)
    found = [
        f"{number.text} ({number.where}) is bound to no field of a result file: see tools/claims.py"
        for number in numbers
        if number.kind == "loose"
    ]
    shown = Counter((n.where, n.text) for n in numbers if n.kind in ("table", "bound"))
    listed = Counter((row.where, row.text) for row in rows)
    again = "run python tools/write_results.py"
    found += [f"{text} ({where}) is not listed in docs/claims.md: {again}" for where, text in shown - listed]
    found += [
        f"{text} ({where}) is listed in docs/claims.md and not in README: {again}" for where, text in listed - shown
    ]
    return found + [sentence for row in rows if (sentence := wrong(row, results))]


def command_of(file: str, makefile: str) -> str:
    """Return the command of the Makefile that writes a file of results, as a user calls it."""
    if file.startswith("benchmarks/"):
        return "python -m benchmarks"
    found = next(line for line in makefile.splitlines() if line.startswith("\t") and f"--json {file}" in line)
    command = found.strip().replace("$(BIN)/", "").replace("OPENBLAS_NUM_THREADS=1 ", "")
    return re.sub(r" --(?:jobs 2|report reports)", "", command)


def table_of(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

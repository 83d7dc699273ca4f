"""One line of a file of examples: text as Vowpal Wabbit reads it, or as svmlight does.

- Vowpal Wabbit: ``[label] [importance [base]] ['tag]|namespace[:factor] feature[:value] ... |namespace ...``
- svmlight and LIBSVM: ``label [qid:number] index:value ... # comment``
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

from banditboost._core.checks import LARGEST

Format = Literal["vw", "svmlight"]
SUFFIXES: dict[str, Format] = {".vw": "vw", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight"}
"""The formats, by how the name of a file ends."""
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
LARGEST_INDEX = 2**31 - 1
"""Largest index of a feature in a file of svmlight."""


class Line(NamedTuple):
    """What a line says."""

    label: float | None
    """None where the line has no label."""
    features: list[tuple[str, float]]
    """Names and values; of svmlight, the names are whole numbers."""
    weight: float = 1.0
    """The importance of the example."""


def read_vw(text: str) -> Line:
    """Read a line of Vowpal Wabbit; raise a ValueError that says what is wrong, without the line's number.

    Examples
    --------
    >>> read_vw("1.5 2 'first|user:0.5 age:42 rome |basket a17 b03")
    Line(label=1.5, features=[('user^age', 21.0), ('user^rome', 0.5), ('basket^a17', 1.0), ('basket^b03', 1.0)], weight=2.0)
    """
    head, *parts = text.split("|")
    words = head.split()
    if words and (words[-1].startswith("'") or (parts and not head[-1:].isspace())):
        words.pop()  # the tag, which stands at the bar
    if len(words) > 3:
        raise ValueError(
            f"must have at most a label, an importance, a base and a tag before the first |, got {words[3]!r:.40}"
        )
    label = number("a label", words[0]) if words else None
    weight, *_ = [number("an importance or a base", word) for word in words[1:]] or [1.0]
    features: list[tuple[str, float]] = []
    for part in parts:
        names = part.split()
        space, factor = "", 1.0
        if names and not part[0].isspace():
            space, factor = _valued(names.pop(0), "a namespace")
        for name in names:
            feature, value = _valued(name, "a feature")
            features.append((f"{space}^{feature}" if space else feature, _small(value * factor)))
    if weight < 0:
        raise ValueError(f"must have an importance that is not negative, got {weight:g}")
    return Line(label, features, weight)


def read_svmlight(text: str) -> Line:
    """Read a line of svmlight; raise a ValueError that says what is wrong, without the line's number.

    Examples
    --------
    >>> read_svmlight("-1 qid:4 1:0.5 7:2 # a comment")
    Line(label=-1.0, features=[('1', 0.5), ('7', 2.0)], weight=1.0)
    """
    label, *words = text.partition("#")[0].split()
    features: list[tuple[str, float]] = []
    for word in words:
        index, colon, value = word.partition(":")
        if index == "qid" and not features and colon:
            continue
        if not colon or not index.isascii() or not index.isdigit() or len(index) > 10 or int(index) > LARGEST_INDEX:
            raise ValueError(
                f"must have features that are an index up to {LARGEST_INDEX}, a colon and a number, got {word!r:.40}"
            )
        features.append((str(int(index)), number("a value", value)))
    return Line(number("a label", label), features)


READERS = {"vw": read_vw, "svmlight": read_svmlight}


def number(what: str, word: str) -> float:
    """Return a number, or raise."""
    value = float(word) if len(word) <= 100 and NUMBER.fullmatch(word) else math.nan
    if not abs(value) <= LARGEST:
        raise ValueError(f"must have {what} that is a number between -{LARGEST:g} and {LARGEST:g}, got {word!r:.40}")
    return value


def _valued(word: str, what: str) -> tuple[str, float]:
    name, colon, value = word.partition(":")
    if not name:
        raise ValueError(f"must have a name for {what}, got {word!r:.40}")
    return name, number(f"a value of {what}", value) if colon else 1.0


def _small(value: float) -> float:
    return number("a value", repr(value)) if abs(value) > LARGEST else value

"""JSON from files that anyone may have written: what would take far more memory than its text is refused before it is parsed."""

from __future__ import annotations

import json
from typing import Any, NoReturn

LONGEST = 2**26
"""Most bytes of a text."""
MOST_LISTS = 2**19
"""Most lists and dictionaries: each takes two bytes in a text, and a hundred times as many in memory."""
MOST_VALUES = 2**22
"""Most values."""


def why_not(text: bytes) -> str | None:
    """Return what a text has too much of, as far as counting letters can tell; None where it is short enough."""
    if len(text) > LONGEST:
        return f"{len(text)} bytes, and {LONGEST} are the most"
    if text.count(b"[") + text.count(b"{") > MOST_LISTS:
        return f"more than {MOST_LISTS} lists"
    return f"more than {MOST_VALUES} values" if text.count(b",") > MOST_VALUES else None


def loads(text: bytes) -> Any:
    """Return the plain data in a text; raise ValueError where it is no JSON, too long, too deep, or has NaN or infinity.

    Examples
    --------
    >>> loads(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> loads(b"[NaN]")
    Traceback (most recent call last):
        ...
    ValueError: the text must have finite numbers only, got NaN.
    """
    if (reason := why_not(text)) is not None:
        raise ValueError(f"the text must be shorter, got {reason}.")
    try:
        return json.loads(text.decode(), parse_constant=_refused)
    except RecursionError:
        raise ValueError("the text must not be nested so deep.") from None


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"the text must have finite numbers only, got {constant}.")

"""Running some learners of an experiment again, and keeping the rows of all others from an earlier result file.

Peers take hours and do not change when ours do. A result file that is renewed says who was run again and with which version.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from banditboost._core.checks import one_of
from banditboost._core.version import __version__

Rows = list[dict[str, Any]]


class Renewal(NamedTuple):
    """Who runs again, and the results that others are kept from."""

    who: tuple[str, ...]
    earlier: dict[str, Any]

    def wanted(self, everyone: Sequence[str]) -> tuple[str, ...]:
        """Return who runs again, after a check that all of them are known."""
        for name in self.who:
            one_of("renew", name, tuple(everyone))
        return self.who

    def rows(self, name: str, fresh: Rows, place: str) -> Rows:
        """Return the earlier rows under a name, with those of learners that ran again replaced by fresh ones.

        Parameters
        ----------
        name
            The name of a list of rows in the results.
        fresh
            The rows of learners that ran again.
        place
            The name of the field that says on what a row was run, such as ``"dataset"``.

        Examples
        --------
        >>> earlier = {"rows": [{"dataset": "a", "who": "ours", "loss": 2}, {"dataset": "a", "who": "vw", "loss": 3}]}
        >>> fresh = [{"dataset": "a", "who": "ours", "loss": 1}, {"dataset": "b", "who": "ours", "loss": 4}]
        >>> for row in Renewal(("ours",), earlier).rows("rows", fresh, "dataset"):
        ...     print(*row.values())
        a ours 1
        a vw 3
        b ours 4
        """
        waiting: dict[tuple[str, str], Rows] = {}
        for row in fresh:
            waiting.setdefault((row[place], row["who"]), []).append(row)
        again = set(waiting)
        found: Rows = []
        for row in self.earlier[name]:
            key = (row[place], row["who"])
            found += waiting.pop(key, []) if key in again else [row]
        return found + [row for rows in waiting.values() for row in rows]

    def noted(self, where: Sequence[str]) -> list[dict[str, Any]]:
        """Return what was renewed so far, this time included."""
        now = {"who": list(self.who), "where": list(where), "banditboost": __version__}
        return [*self.earlier.get("renewed", []), now]


def renewal_of(text: str, file: Path | None, experiment: str) -> Renewal | None:
    """Return the renewal that a command line asks for; None where all are run."""
    who = tuple(name.strip() for name in text.split(",") if name.strip())
    if not who:
        return None
    if file is None or not file.is_file():
        raise ValueError("--renew needs the result file of an earlier run: name it with --json.")
    try:
        earlier = json.loads(file.read_text())
        known = earlier["experiment"] == experiment and isinstance(earlier["rows"], list)
    except (ValueError, LookupError, TypeError):
        known = False
    if not known:
        raise ValueError(f"--renew needs a result file of {experiment!r}, which {file} is not.")
    return Renewal(who, earlier)

"""How much worse than ridge and the running mean a learner may be on small tables and on noise, and who is.

Over all rounds: on a table, the loss over that of the best of online ridge, as it is and from the middle of the labels' range, and
the running mean; on noise, over that of the running mean. Online ridge as it is is drawn to zero, which may be far from all labels:
the ratio without the other one is kept beside, as `plain`. From round 200 on: the loss over that of the running mean, everywhere.
Losses are means over all runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from banditboost.experiments.statistics import rounded

LATE = 200
"""From which round on a learner must not be worse than the running mean."""
TABLE_LIMIT, NOISE_LIMIT, LATE_LIMIT = 1.03, 1.01, 1.01
"""Largest ratios: over all rounds on a table and on noise, and from round 200 on."""
PLAIN = ("ridge", "mean")
"""Online ridge as it is, and the running mean, which are told labels."""
REFERENCES = ("ridge", "ridge_middle", "mean")
"""Those, and online ridge from the middle of the labels' range."""
MUST_MISS = {"other_rows": False, "no_prior": True}
"""Boosters that are broken on purpose, and whether they must be above the limit on noise, or on tables."""


def is_noise(table: str) -> bool:
    """Return whether a table is pure noise."""
    return table.startswith("noise_")


def shows_of(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return both ratios of everyone but the references on every table, with limits, and whether they are kept.

    Examples
    --------
    >>> losses = {"ours_30": (0.81, 0.7), "ridge": (0.9, 0.8), "mean": (1.0, 1.0), "other_rows": (1.01, 1.0)}
    >>> losses["ridge_middle"] = (0.80, 0.7)
    >>> rows = [{"table": "wages", "who": who, "loss": loss, "late": late} for who, (loss, late) in losses.items()]
    >>> for show in shows_of(rows):
    ...     print(show["who"], show["ratio"], show["met"], show["plain"], show["late"], show["late_met"])
    ours_30 1.0125 True 0.9 0.7 True
    other_rows 1.2625 False 1.12222 1.0 True
    """
    by = {(row["table"], row["who"]): row for row in rows}
    found = []
    for (table, who), row in by.items():
        if who in REFERENCES:
            continue
        mean, limit = by[table, "mean"], NOISE_LIMIT if is_noise(table) else TABLE_LIMIT
        ratio, plain = (
            row["loss"] / min(by[table, other]["loss"] for other in (("mean",) if is_noise(table) else others))
            for others in (REFERENCES, PLAIN)
        )
        late = row["late"] / mean["late"]
        show = {"table": table, "who": who, "ratio": rounded(ratio), "limit": limit, "met": ratio <= limit}
        show |= {"plain": rounded(plain), "plain_met": plain <= limit}
        found.append(show | {"late": rounded(late), "late_limit": LATE_LIMIT, "late_met": late <= LATE_LIMIT})
    return found


def broken_that_pass(shows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for every booster that was broken on purpose and keeps all the limits that it must miss."""
    sentences = []
    for who, noise in MUST_MISS.items():
        judged = [show for show in shows if show["who"] == who and is_noise(show["table"]) == noise]
        if judged and all(show["met"] for show in judged):
            where = "noise" if noise else "tables"
            sentences.append(f"The booster {who!r}, which is broken on purpose, keeps every limit on {where}.")
    return sentences

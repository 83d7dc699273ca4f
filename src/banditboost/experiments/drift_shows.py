"""What the world that flips shows: losses over those of a ridge that forgets, and how soon learners are back, with limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.experiments.statistics import rounded

RATIO_LIMIT, BACK_LIMIT = 1.3, 300
"""Most that ours may lose, over the loss of a tuned ridge that forgets, and most rounds until they are back."""
BEFORE, SLIDING, NEAR = 1000, 100, 1.2
"""Rounds before a flip whose mean loss counts, rounds of the window after it, and how near the window's loss must come."""
LIMITS = {"ratio": RATIO_LIMIT, "back": BACK_LIMIT, "before": BEFORE, "sliding": SLIDING, "near": NEAR - 1}
"""The same numbers by name, for pages."""
MEASURE, MUST_MISS = "forgetting_ridge", ("mean", "ridge")
"""By whom losses are measured, and who must miss a limit: the limits would say nothing otherwise."""


def back_after(losses: Array, flip: int) -> int:
    """Return the number of rounds from a flip until a window is nearly as good as the rounds before; all that are left if none is.

    Examples
    --------
    >>> back_after(np.r_[np.full(1000, 1.0), np.full(150, 9.0), np.full(850, 1.0)], 1000)
    248
    >>> back_after(np.r_[np.full(1000, 1.0), np.full(300, 9.0)], 1000)
    300
    """
    goal = NEAR * float(losses[max(0, flip - BEFORE) : flip].mean())
    sums = np.cumsum(np.r_[0.0, losses[flip:]])
    windows = (sums[SLIDING:] - sums[:-SLIDING]) / SLIDING
    near = np.flatnonzero(windows <= goal)
    return int(near[0]) + SLIDING if len(near) else len(losses) - flip


def shows_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for everyone who played the flip, the ratio to the tuned ridge that forgets, the rounds until back, and verdicts."""
    flips = [row for row in rows if row["stream"] == "flip" and "loss" in row]
    measures = [row for row in flips if row["who"] == MEASURE]
    if not measures:
        return []
    measure = min(measures, key=lambda row: float(row["loss"]))
    return [_show(row, float(measure["loss"])) for row in flips]


def _show(row: dict[str, Any], measure: float) -> dict[str, Any]:
    ratio, back = row["loss"] / measure, row["back"]
    show = {"who": row["who"], "tuned": row["tuned"], "untuned": row["untuned"], "seeds": row["seeds"]}
    show |= {"ratio": rounded(ratio), "back": rounded(back), "back_worst": max(row["back_runs"])}
    return show | {"ratio_met": ratio <= RATIO_LIMIT, "back_met": back <= BACK_LIMIT}


def wrong_shows(shows: list[dict[str, Any]]) -> list[str]:
    """Return sentences about learners that do not forget and keep both limits all the same."""
    return [
        f"The learner {show['who']!r}, which cannot follow a flip, keeps both limits."
        for show in shows
        if show["who"] in MUST_MISS and show["ratio_met"] and show["back_met"]
    ]

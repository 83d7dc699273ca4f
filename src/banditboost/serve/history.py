"""What was paid over time, in a bounded number of points: the more rounds there are, the more of them share one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from banditboost._core import checks

MOST = 240
"""Most points; when there are so many, each two become one."""
SUMS = ("booster_rounds", "booster_loss", "baseline_rounds", "baseline_loss", "width")
"""What is added up within a point: rounds and losses of either side, and how far the booster's actions lay from its predictions."""
LAST = ("round", "time", "low", "high", "difference")
"""What holds at the end of a point; None where nothing was compared."""


class History:
    """Points of equal length, from the first round on."""

    def __init__(self) -> None:
        self.step = 1
        """Rounds of a point."""
        self.points: list[dict[str, Any]] = []
        self.open = _empty()

    def add(self, baseline: bool, loss: float, width: float) -> bool:
        """Add a round; return whether its point is full, and is to be closed."""
        side, now = "baseline" if baseline else "booster", self.open
        now[f"{side}_rounds"] += 1
        now[f"{side}_loss"] += loss
        now["width"] += 0.0 if baseline else width
        return bool(now["booster_rounds"] + now["baseline_rounds"] >= self.step)

    def close(self, **last: float | None) -> None:
        """End a point with what holds now."""
        self.points.append(self.open | last)
        self.open = _empty()
        if len(self.points) >= MOST:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [two | {name: one[name] + two[name] for name in SUMS} for one, two in pairs]
            self.step *= 2

    def columns(self) -> dict[str, list[Any]]:
        """Return the curves: means of every point, None where a side had no round."""
        found: dict[str, list[Any]] = {name: [point[name] for point in self.points] for name in LAST}
        for side in ("booster", "baseline"):
            found[side] = [_mean(point[f"{side}_loss"], point[f"{side}_rounds"]) for point in self.points]
        return found | {"width": [_mean(point["width"], point["booster_rounds"]) for point in self.points]}

    def to_plain(self) -> dict[str, Any]:
        """Return the content as plain data."""
        points = [[point[name] for name in (*SUMS, *LAST)] for point in self.points]
        return {"step": self.step, "points": points, "open": [self.open[name] for name in SUMS]}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Take over what `to_plain` returned."""
        self.step = checks.count("step", plain["step"])
        self.points = [dict(zip((*SUMS, *LAST), point, strict=True)) for point in plain["points"]]
        self.open = dict(zip(SUMS, plain["open"], strict=True))


def _empty() -> dict[str, Any]:
    return dict.fromkeys(SUMS, 0.0)


def _mean(total: float, count: float) -> float | None:
    return total / count if count else None

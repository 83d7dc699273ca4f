"""Microseconds a round beside other libraries: linear boosting with 10 copies, ratios first."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Group
from rich.table import Table

from benchmarks import ours, peers
from benchmarks.numpy_loop import algorithm_2
from benchmarks.table import drawn
from benchmarks.timing import Contestant, interleaved

COPIES = 10


class Setting(NamedTuple):
    """What rows look like."""

    features: int
    nonzeros: int | None = None

    def __str__(self) -> str:
        kind = "dense" if self.nonzeros is None else f"sparse ({self.nonzeros} non-zeros)"
        return f"{self.features} features, {kind}"


SETTINGS = (Setting(16), Setting(105), Setting(105, 12))
ROUNDS = 20_000
BUDGETS = {"Vowpal Wabbit": 2000, "River": 1000, "CapyMOA": 500, "NumPy": 150, "plain": 100}
"""Rounds of one repetition of those that take longer: where it can be, about as long a time as ours takes for its rounds, ten
milliseconds, since on a machine with other work a longer repetition is interrupted more often than a shorter one."""

LABELS = {
    "vw, boosting": f"Vowpal Wabbit --boosting {COPIES}, in memory",
    "vw, boosting, alone": "... less what a call from Python costs",
    "vw file, boosting": f"Vowpal Wabbit --boosting {COPIES}, from its cache file",
    "vw file, boosting, alone": "... less what reading costs",
    "vw, one model": "Vowpal Wabbit, one linear model, in memory",
    "vw, one model, alone": "... less what a call from Python costs",
    "river, one model": "River LinearRegression, one model",
    "river, bag": f"River BaggingRegressor, {COPIES} linear models",
    "capymoa, tree": "CapyMOA FIMTDD, one tree",
    "capymoa, SGBR": f"CapyMOA SGBR, {COPIES} boosting rounds",
    "numpy": "NumPy loop, Algorithm 2 as printed",
    "plain": "ours, plain (ask and tell)",
}
"""Rivals by name: what they are called in tables, in the order of tables."""
TARGETS = {"vw, boosting": 15.0, "river, one model": 20.0, "numpy": 100.0}
"""Times that a rival should take of ours; never asserted anywhere."""
WITHOUT_TARGET = {("numpy", str(SETTINGS[2]))}
"""The NumPy loop knows dense rows only."""


def measure(
    rounds: int = ROUNDS, repetitions: int = 21, settings: tuple[Setting, ...] = SETTINGS, shrink: int = 1
) -> dict[str, Any]:
    """Time all contestants of each setting in turn; `shrink` divides everybody's rounds."""
    budgets = {name: max(2, number // shrink) for name, number in BUDGETS.items()}
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for setting in settings:
        contestants, left_out = _contestants(setting, rounds, budgets)
        times = interleaved(contestants, repetitions)
        for kind in ("vw", "vw file"):
            for what in ("boosting", "one model"):
                if f"{kind}, {what}" in times:
                    alone = times[f"{kind}, {what}"]["microseconds"] - times[f"{kind}, noop"]["microseconds"]
                    times[f"{kind}, {what}, alone"] = times[f"{kind}, {what}"] | {"microseconds": alone}
        rows.append({"setting": str(setting), "times": times, "ratios": _ratios(str(setting), times)})
    return {
        "copies": COPIES,
        "labels": LABELS,
        "targets": TARGETS,
        "left_out": left_out,
        "settings": rows,
    }


def _contestants(setting: Setting, rounds: int, budgets: dict[str, int]) -> tuple[dict[str, Contestant], list[str]]:
    table = drawn(max(rounds, *budgets.values()), setting.features, setting.nonzeros)
    world, spec = table.world(), ours.linear_boosting(COPIES)
    few = budgets["NumPy"]

    def loop() -> None:
        algorithm_2(table.contexts[:few], table.labels[:few], COPIES, 0.5, 10.0, 0.01, 0.5, 0.0, 1.0)

    others, left_out = peers.found(table, COPIES, budgets)
    own = {
        "ours": ours.contestant(spec, world.head(rounds)),
        "plain": ours.contestant(spec, world.head(budgets["plain"]), compiled=False),
        "numpy": Contestant(few, lambda: loop),
    }
    return own | others, left_out


def _ratios(setting: str, times: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rivals' times over ours, each with its target and whether that is met."""
    ratios: dict[str, dict[str, Any]] = {}
    for name in LABELS:
        if name in times:
            ratio = times[name]["microseconds"] / times["ours"]["microseconds"]
            target = None if (name, setting) in WITHOUT_TARGET else TARGETS.get(name)
            ratios[name] = {"ratio": ratio, "target": target, "met": target is not None and ratio >= target}
    return ratios


def table(results: dict[str, Any]) -> Group:
    copies, rows = results["copies"], results["settings"]
    ratios = Table(title=f"Times of ours, compiled, N = {copies}: what a rival takes for a round", title_justify="left")
    ratios.add_column("rival")
    times = Table(
        title="Microseconds a round, and how many times that the median repetition took", title_justify="left"
    )
    times.add_column("contestant")
    for row in rows:
        ratios.add_column(row["setting"], justify="right")
        times.add_column(row["setting"], justify="right")
    ratios.add_column("target", justify="right")
    for name, label in results["labels"].items():
        if name in rows[0]["ratios"]:
            cells = [_cell(row["ratios"][name]) for row in rows]
            ratios.add_row(label, *cells, f">= {results['targets'][name]:.0f}x" if name in results["targets"] else "")
    for name, label in ({"ours": f"ours, compiled, N = {copies}"} | results["labels"]).items():
        if name in rows[0]["times"]:
            shown = (row["times"][name] for row in rows)
            times.add_row(label, *(f"{time['microseconds']:.2f} ({time['noise']:.2f})" for time in shown))
    return Group(ratios, times, *results["left_out"])


def _cell(ratio: dict[str, Any]) -> str:
    verdict = "" if ratio["target"] is None else ", met" if ratio["met"] else ", missed"
    return f"{ratio['ratio']:.1f}x{verdict}"


def figure(results: dict[str, Any], path: Path) -> None:
    """Draw bars of microseconds a round, contestants by setting."""
    import matplotlib.pyplot as plt

    rows = results["settings"]
    labels = {"ours": f"ours, compiled, N = {results['copies']}"} | results["labels"]
    shown = [name for name in labels if name in rows[0]["times"] and not name.endswith("alone")]
    drawing, ax = plt.subplots(figsize=(9, 0.5 * len(shown) + 1.5), layout="constrained")
    height = 0.8 / len(rows)
    for k, row in enumerate(rows):
        places = [i + (k - (len(rows) - 1) / 2) * height for i in range(len(shown))]
        microseconds = [row["times"][name]["microseconds"] for name in shown]
        bars = ax.barh(places, microseconds, height, label=row["setting"])
        ax.bar_label(
            bars, [f"{value:,.0f}" if value >= 100 else f"{value:.2g}" for value in microseconds], padding=2, fontsize=7
        )
    ax.set_yticks(range(len(shown)), [labels[name] for name in shown])
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="microseconds a round, one thread")
    ax.margins(x=0.12)
    ax.legend(fontsize=8)
    drawing.savefig(path, dpi=110)
    plt.close(drawing)

"""The presentation of worlds that change: losses by stream, what the flip shows, and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments import drift_ours
from banditboost.experiments.drift import KNOWN, PEERS
from banditboost.experiments.drift_pictures import by_window
from banditboost.experiments.drift_shows import BACK_LIMIT, BEFORE, NEAR, RATIO_LIMIT, SLIDING
from banditboost.experiments.drift_streams import FRIEDMAN, TABLES
from banditboost.experiments.drift_worlds import LINEAR, LONGER
from banditboost.experiments.html import picture, sections, write
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]
Row = dict[str, Any]

GROUPS: dict[str, tuple[str, Sequence[str]]] = {
    "drift_worlds": ("Worlds that know when they change", tuple(LINEAR)),
    "drift_friedman": ("Friedman's function", tuple(FRIEDMAN)),
    "drift_long": ("Friedman's function, ten times as long", tuple(LONGER)),
    "drift_tables": ("Tables in their own order, the last four fifths", TABLES),
}
"""Tables of losses by name: title and streams."""
FLIP_HEADINGS = ("learner", "loss over forgetting ridge, tuned", "rounds until back, mean", "worst", "seeds", "limits")


def titles() -> dict[str, str]:
    """Return the titles of everyone, ours first."""
    return drift_ours.everyone() | PEERS | KNOWN


def measure() -> str:
    """Return whose loss is one in the last column: ours with most answers, with everything that there is."""
    return f"{list(drift_ours.VARIANTS)[-1]}_{max(drift_ours.ANSWERS)}"


def _streams(results: Results, group: str) -> list[str]:
    there = {row["stream"] for row in results["rows"]}
    return [name for name in GROUPS[group][1] if name in there]


def headings_of(results: Results, group: str) -> tuple[str, ...]:
    """Return the headings of a table of losses."""
    rounds = results["protocol"]["rounds"]
    columns = [f"{LONGER.get(name, name)}, {rounds[name]:,}" for name in _streams(results, group)]
    return ("learner", *columns, f"over {titles()[measure()]}")


def losses_of(results: Results, group: str) -> Rows:
    """Return the losses of everyone on the streams of a group, untuned and tuned, and what ours paid."""
    by = {(row["stream"], row["who"], key): row for row in results["rows"] for key in ("untuned", "tuned") if row[key]}
    names, seeds = _streams(results, group), results["protocol"]["seeds"]
    mine = [by.get((name, measure(), "untuned")) for name in names]
    rows: Rows = []
    for who, title in titles().items():
        for key in ("untuned", "tuned"):
            found = [by.get((name, who, key)) for name in names]
            if any(found):
                text = title if key == "untuned" else f"{title}, tuned"
                ratio = "" if who == measure() else _ratio(found, mine)
                rows.append((who in KNOWN, [text, *(_entry(row, "loss", seeds) for row in found), ratio]))
            if any(row and "paid" in row for row in found):
                rows.append((True, [f"{title}: paid", *(_entry(row, "paid", seeds) for row in found), ""]))
    return rows


def _entry(row: Row | None, name: str, seeds: int) -> str:
    """Return mean and deviation, the number of seeds where it is not the usual one, and how many runs diverged."""
    if row is None:
        return "-"
    if name not in row:
        return "diverged" if row["diverged"] else "-"
    few = f" ({row['seeds']})" if row["seeds"] < seeds else ""
    spread = f" ±{deviation(row[f'{name}_runs']):.2g}" if len(row[f"{name}_runs"]) > 1 else ""
    return f"{row[name]:.4g}{spread}{few}" + (f" ({row['diverged']} diverged)" if row["diverged"] else "")


def _ratio(theirs: list[Row | None], mine: list[Row | None]) -> str:
    """Return the geometric mean, over streams, of a loss over that of ours; nothing where a stream is missing."""
    pairs = [
        (a["loss"], b["loss"]) for a, b in zip(theirs, mine, strict=True) if a and b and "loss" in a and "loss" in b
    ]
    return f"{np.exp(np.mean([np.log(a / b) for a, b in pairs])):.2f}" if len(pairs) == len(theirs) else "-"


def flip_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of the flip."""
    return FLIP_HEADINGS


def flip_of(results: Results) -> Rows:
    """Return, for everyone, the loss over that of the ridge that forgets, and how soon the loss is what it was before the flip."""
    rows: Rows = []
    left = results["protocol"]["rounds"].get("flip", 0) // 2
    order = list(titles())
    for show in sorted(results["shows"], key=lambda show: (order.index(show["who"]), not show["untuned"])):
        title = titles()[show["who"]] + ("" if show["untuned"] else ", tuned")
        back = ["never" if show[key] >= left else f"{show[key]:,.0f}" for key in ("back", "back_worst")]
        rows.append((show["who"] in KNOWN, [title, f"{show['ratio']:.2f}", *back, str(show["seeds"]), _verdict(show)]))
    return rows


def _verdict(show: dict[str, Any]) -> str:
    """Say which limit is missed."""
    missed = [] if show["ratio_met"] else [f"over {RATIO_LIMIT}"]
    missed += [] if show["back_met"] else [f"later than {BACK_LIMIT}"]
    return " and ".join(missed) or "kept"


def chosen_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of settings."""
    return ("learner", "stream", "setting")


def chosen_of(results: Results) -> Rows:
    """Return the settings that were chosen, as far as they differ from defaults; long streams take those of their kind."""
    return [
        (
            False,
            [
                titles()[row["who"]],
                row["stream"],
                ", ".join(f"{k} {v}" for k, v in row["setting"].items()) or "default",
            ],
        )
        for who in titles()
        for row in results["rows"]
        if row["who"] == who and row["tuned"] and row["stream"] not in LONGER
    ]


TABLES_OF: dict[str, tuple[str, Callable[[Results], tuple[str, ...]], Callable[[Results], Rows]]] = {
    **{
        name: (f"Mean squared loss: {title}", partial(headings_of, group=name), partial(losses_of, group=name))
        for name, (title, _) in GROUPS.items()
    },
    "drift_flip": (
        f"The flip: loss over that of a tuned ridge that forgets (at most {RATIO_LIMIT}), and rounds until {SLIDING} of them are "
        f"within {NEAR - 1:.0%} of the {BEFORE:,} before the flip (at most {BACK_LIMIT})",
        flip_headings,
        flip_of,
    ),
}
"""All tables by the name that they have on pages: title, headings and rows."""


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table that has rows."""
    return [(title, headings(results), rows) for title, headings, make in TABLES_OF.values() if (rows := make(results))]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    return [terminal_table(*table, left=("learner",)) for table in tables_of(results)]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    it = results["protocol"]
    body = [
        "<h1>A world that changes</h1>",
        f"<p>Mean ± standard deviation over {it['seeds']} seeds, or over the number in brackets. Ours learn from noisy loss values "
        f"(uniform on ±{it['noise']:g}), with nothing tuned; all others are told labels, and tuned ones have the best of "
        f"{it['trials']} settings on {it['tuning_rounds']:,} rounds of another stream of the same kind.</p>",
        *(f"<p>{sentence}</p>" for sentence in results["complaints"]),
        picture(by_window(results), "Squared losses by window of rounds"),
        *sections([*tables_of(results), ("Settings chosen", chosen_headings(results), chosen_of(results))]),
    ]
    return write(folder / "drift.html", "banditboost: a world that changes", body)

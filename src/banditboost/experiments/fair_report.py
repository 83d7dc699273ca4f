"""The presentation of the comparison with peers: tables for the terminal and for pages, a picture, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.fair_ratios import JUDGED, NOTHING, ONLINE_LIMIT, REFITTED_LIMIT, ratios_of
from banditboost.experiments.further import untuned
from banditboost.experiments.html import picture, sections, write
from banditboost.experiments.peers import ONLINE, REFIT
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

Results = dict[str, Any]
Row = dict[str, Any]

OURS = {
    "ours_30": "ours, 30 answers",
    "ours_2": "ours, 2 answers",
    "ours_1": "ours, 1 answer",
    "ours_told": "ours, gradients told",
    "memory_30": "ours with memory, 30 answers",
    "memory_2": "ours with memory, 2 answers",
    "memory_1": "ours with memory, 1 answer",
}
KNOWN = {"ridge": "online ridge", "line": "best line in hindsight", "mean": "running mean"}
TITLES = OURS | ONLINE | REFIT | KNOWN
MEASURE = "ours_30"
"""Whose loss is one in the last column."""


def _names(results: Results, further: bool) -> list[str]:
    found = dict.fromkeys(row["dataset"] for row in results["rows"])
    return [name for name in found if untuned(name) == further]


def _find(results: Results, dataset: str, who: str, by_loss: str, tuned: bool) -> Row | None:
    """Return the row of a learner with its default setting, or with the one that was chosen, which may be the same."""
    rows = (row for row in results["rows"] if (row["dataset"], row["who"], row["by_loss"]) == (dataset, who, by_loss))
    return next((row for row in rows if row["tuned" if tuned else "untuned"]), None)


def _entry(row: Row | None, name: str = "loss") -> str:
    """Return mean and deviation over the runs that did not diverge, or that they did."""
    if row is None:
        return "-"
    if name not in row:
        return "diverged" if row["diverged"] else "-"
    some = f" ({row['diverged']} diverged)" if row["diverged"] else ""
    return f"{row[name]:.4g} ±{deviation(row[f'{name}_runs']):.2g}{some}"


def _ratio(theirs: list[Row | None], mine: list[Row | None]) -> str:
    """Return the geometric mean, over data sets, of a loss over that of ours."""
    pairs = [
        (a["loss"], b["loss"]) for a, b in zip(theirs, mine, strict=True) if a and b and "loss" in a and "loss" in b
    ]
    return f"{np.exp(np.mean([np.log(a / b) for a, b in pairs])):.2f}" if len(pairs) == len(theirs) else "-"


def _rows(results: Results, further: bool, by_loss: str, tuned: tuple[bool, ...]) -> Rows:
    names = _names(results, further)
    rows: Rows = []
    for who, title in TITLES.items():
        for is_tuned in tuned:
            found = [_find(results, name, who, by_loss, is_tuned) for name in names]
            if any(found):
                told = f"{title}, tuned" if is_tuned else title
                mine = [_find(results, name, MEASURE, by_loss, is_tuned) for name in names]
                ratio = "" if who == MEASURE else _ratio(found, mine)
                rows.append((who in KNOWN, [told, *map(_entry, found), ratio]))
        paid = [_find(results, name, who, by_loss, False) for name in names]
        if any(row and "paid" in row for row in paid):
            rows.append((True, [f"{title}: paid", *(_entry(row, "paid") for row in paid), ""]))
    return rows


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the tables of the paper's data sets."""
    return ("learner", *_names(results, further=False), f"over {OURS[MEASURE]}")


def further_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of further data sets."""
    return ("learner", *_names(results, further=True), f"over {OURS[MEASURE]}")


def squared_of(results: Results) -> Rows:
    """Return squared losses of everyone, untuned and tuned."""
    return _rows(results, False, "squared", (False, True))


def short_of(results: Results) -> Rows:
    """Return squared losses of ours untuned, with what was paid, and of everyone else untuned or tuned, whichever is lower."""
    names = _names(results, further=False)
    mine = [_find(results, name, MEASURE, "squared", False) for name in names]
    rows = [row for row in _rows(results, False, "squared", (False,)) if row[1][0].startswith("ours")]
    for who in (who for who in TITLES if who not in OURS):
        found = [better(results, name, who) for name in names]
        if any(found):
            rows.append((who in KNOWN, [TITLES[who], *map(_entry, found), _ratio(found, mine)]))
    return rows


def absolute_of(results: Results) -> Rows:
    """Return absolute losses of everyone who can learn from them, untuned."""
    return _rows(results, False, "absolute", (False,))


def further_of(results: Results) -> Rows:
    """Return squared losses on data sets that had no part in any choice, where nobody was tuned."""
    return _rows(results, True, "squared", (False,))


def ratio_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the tables of ratios."""
    return ("ratio of losses", *_names(results, further=True), "mean", "geometric mean", "")


def refitted_of(results: Results) -> Rows:
    """Return the ratios of ours with memory, and of the running mean, to the better refitted model."""
    return [_ratios(row) for row in ratios_of(results) if row["against"] == "refitted"]


def online_of(results: Results) -> Rows:
    """Return the ratios of ours with memory to every online peer; of the running mean, to those to whom it is closest."""
    found = [row for row in ratios_of(results) if row["against"] != "refitted"]
    nothing = [row for row in found if row["who"] == NOTHING and row["mean"] is not None]
    kept = [row for row in found if row["who"] != NOTHING] + sorted(nothing, key=lambda row: float(row["mean"]))[:1]
    return [_ratios(row) for row in kept]


def _ratios(row: dict[str, Any]) -> tuple[bool, list[str]]:
    """Return the line of one ratio; secondary where it has no limit, or is the running mean's."""
    refitted = row["against"] == "refitted"
    limit = f"at most {REFITTED_LIMIT:.2f}" if refitted else f"below {ONLINE_LIMIT:.2f}"
    verdict = "" if row["met"] is None else f"{limit}: {'met' if row['met'] else 'missed'}"
    numbers = [*row["ratios"].values(), row["mean"], row["geometric"]]
    title = f"{TITLES[row['who']]} / {'the better refitted model' if refitted else TITLES[row['against']]}"
    return row["who"] != JUDGED, [title, *("-" if x is None else f"{x:.3f}" for x in numbers), verdict]


def chosen_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of settings."""
    return ("learner", *_names(results, further=False))


def chosen_of(results: Results) -> Rows:
    """Return the settings that were chosen, as far as they differ from defaults."""
    rows: Rows = []
    for who, title in TITLES.items():
        found = [_find(results, name, who, "squared", True) for name in _names(results, False)]
        if any(found):
            rows.append((False, [title, *(_setting(row["setting"]) if row else "-" for row in found)]))
    return rows


def _setting(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items()) or "default"


TABLES = (
    ("Squared loss at predictions, second halves", headings_of, squared_of),
    ("Data sets that had no part in any choice, nobody tuned", further_headings, further_of),
    ("Ours with memory over refitted models, on data sets that had no part in any choice", ratio_headings, refitted_of),
    ("Ours with memory over online peers, on data sets that had no part in any choice", ratio_headings, online_of),
    ("Absolute loss at predictions, second halves, nobody tuned", headings_of, absolute_of),
)


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table that has rows."""
    return [(title, headings(results), rows) for title, headings, make in TABLES if (rows := make(results))]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    return [terminal_table(*table, left=("learner", "ratio of losses")) for table in tables_of(results)]


def better(results: Results, dataset: str, who: str) -> Row | None:
    """Return the row with the lower squared loss, untuned or tuned; None where all runs diverged."""
    found = (_find(results, dataset, who, "squared", tuned) for tuned in (False, True))
    return min((row for row in found if row and "loss" in row), key=lambda row: float(row["loss"]), default=None)


def against_peers(results: Results) -> Figure:
    """Draw squared losses as bars: ours untuned, the others at their better, one panel per data set; long bars are cut."""
    from matplotlib.figure import Figure

    names = _names(results, further=False) or _names(results, further=True)
    shown = [who for who in TITLES if who != "mean"]
    figure = Figure(figsize=(2.3 * len(names) + 2.2, 4.2), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for ax, name in zip(axes, names, strict=True):
        rows = [
            _find(results, name, who, "squared", False) if who in OURS else better(results, name, who) for who in shown
        ]
        losses = [row["loss"] for row in rows if row is not None and "loss" in row]
        most = 2.5 * min(losses)
        for k, (who, row) in enumerate(zip(shown, rows, strict=True)):
            if row is not None and "loss" in row:
                ax.barh(k, min(row["loss"], most), color="#c44e52" if who in OURS else "#9db3cc")
                ax.text(0.03 * most, k, f"{row['loss']:.3g}", va="center", fontsize="small")
        ax.set(title=name, xlim=(0, most), xlabel="squared loss")
        ax.spines[["top", "right"]].set_visible(False)
        ax.locator_params(axis="x", nbins=4)
    axes[0].set_yticks(range(len(shown)), labels=[TITLES[who] for who in shown])
    axes[0].invert_yaxis()
    return figure


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    it, tuned = results["protocol"], bool(_names(results, further=False))
    settings = f"Everyone had {it['trials']} settings on the first {it['tuning_rows']:,} rows of the first half. "
    chosen = [("Settings chosen", chosen_headings(results), chosen_of(results))]
    body = [
        "<h1>Fair peers</h1>",
        f"<p>Mean ± standard deviation over {it['runs']} shuffled run(s) of at most {it['rows']:,} rows. Ours learn from noisy "
        f"loss values (uniform on ±0.1); peers see every label, and play what they predict. {settings if tuned else ''}Predictions "
        "are clipped to the range of the labels; a run whose unclipped loss is ten times the running mean's has diverged.</p>",
        picture(against_peers(results), "Squared losses of ours and of peers"),
        *sections([*tables_of(results), *(chosen if tuned else [])]),
    ]
    return write(folder / "fair.html", "banditboost: fair peers", body)

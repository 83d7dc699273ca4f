"""The presentation of the games whose answers do not give the label away: tables for the terminal and for pages, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.hidden import WAYS
from banditboost.experiments.hidden_games import GAMES
from banditboost.experiments.html import sections, write
from banditboost.experiments.paid_cells import TOLD
from banditboost.experiments.paid_report import both, spread
from banditboost.experiments.paid_shows import find
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]

ENOUGH = 11
"""Number of answers from which on the targets of the games in ten dimensions could be computed."""
COVERED = {
    "told": "gradients told",
    "one": "one answer",
    "thirty": "30 answers",
    "fitted": "30 answers, `Fitted`",
}
"""Ways to make gradients, with their titles in tables."""


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of games."""
    return ("paid (at predictions)", *(GAMES[name] for name in _games(results)))


def games_of(results: Results) -> Rows:
    """Return what was paid in the second half of the rounds; those who know more are secondary."""
    rows: Rows = []
    asked = results["protocol"]["answers"]
    for answers in (*asked, TOLD):
        title = "ours, gradients told" if answers == TOLD else f"ours, {answers} answer{'s' if answers > 1 else ''}"
        rows.append((not 0 < answers < ENOUGH, [title, *_cells(results, "ours", answers)]))
    rows.append((True, ["best constant of earlier rounds, told labels", *_cells(results, "constant", TOLD)]))
    return rows


def _cells(results: Results, who: str, answers: int) -> list[str]:
    found = (find(results["tables"]["games"], game=name, who=who, answers=answers) for name in _games(results))
    return [both(row) for row in found]


def _games(results: Results) -> list[str]:
    return list(dict.fromkeys(row["game"] for row in results["tables"]["games"]))


def coverage_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of coverage."""
    levels = [f"{level:g}" for level in _levels(results)]
    return (
        "default with",
        *(f"share for {level}" for level in levels),
        *(f"paid (at predictions), {level}" for level in levels),
    )


def coverage_of(results: Results) -> Rows:
    """Return the shares of labels at or below predictions for every level, beside the losses."""
    rows: Rows = []
    for way in (way for way in WAYS if find(results["tables"]["coverage"], way=way)):
        found = [find(results["tables"]["coverage"], level=level, way=way) for level in _levels(results)]
        shares = [spread(row, "coverage") for row in found]
        rows.append((way == "told", [COVERED[way], *shares, *map(both, found)]))
    return rows


def _levels(results: Results) -> list[float]:
    return list(dict.fromkeys(row["level"] for row in results["tables"]["coverage"]))


def decoded_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of labels that were computed from answers."""
    return ("answers of one round", "error of the label computed from them", "deviation of the labels")


def decoded_of(results: Results) -> Rows:
    """Return how well labels can be computed."""
    rows = results["tables"]["decoded"]
    return [(False, [str(row["answers"]), spread(row, "error"), f"{row['deviation']:.4g}"]) for row in rows]


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table."""
    return [
        ("Losses in the second half of the rounds", headings_of(results), games_of(results)),
        ("Share of labels at or below a predicted quantile", coverage_headings(results), coverage_of(results)),
        ("Labels computed from squared losses", decoded_headings(results), decoded_of(results)),
    ]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    return [
        terminal_table(*table, left=("paid (at predictions)", "default with", "answers of one round"))
        for table in tables_of(results)
    ]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Where answers do not give the label away</h1>",
        f"<p>Mean ± standard deviation over {protocol['runs']} run(s) of at most {protocol['rounds']:,} rounds. Numbers are losses "
        "at the points asked, and in brackets at predictions. Ours have nothing tuned. In the shop the loss is what was missed, "
        "against the best price for every customer. A sale has no gradient to tell. Thirty answers show the targets in ten "
        "dimensions; the other numbers of answers are too few.</p>",
        *sections(tables_of(results)),
    ]
    return write(folder / "hidden.html", "banditboost: hidden labels", body)

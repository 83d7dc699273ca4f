"""The presentation of alarms: tables for the terminal and for pages, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.alarms import QUIET, WAYS
from banditboost.experiments.html import sections, write
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]

HEADINGS = (
    "world, answers",
    "changes found",
    "delay, median",
    "9 in 10",
    "most",
    "round missed by, median",
    "9 in 10",
    "other alarms",
    "found in shuffled losses",
)


def quiet_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of false alarms."""
    return ("nothing changes, answers", *(f"alarms: {title}" for title in WAYS.values()), "runs with one")


def quiet_of(results: Results) -> Rows:
    """Return the mean number of alarms in a run in which nothing changes, of every detector."""
    runs = results["protocol"]["runs"]  # files from before there was memory have as many of every kind
    return [
        (
            False,
            [
                f"{QUIET[row['world']]}, {_told(row)}",
                *(f"{row[way]:.2f}" for way in WAYS),
                f"{row['runs_with']} of {row.get('runs', runs)}",
            ],
        )
        for row in results["tables"]["quiet"]
    ]


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of delays."""
    return HEADINGS


def rows_of(results: Results) -> Rows:
    """Return how many changes were found and how soon, for every world that changes."""
    return [(False, _cells(row)) for row in results["tables"]["changing"]]


def _cells(row: dict[str, Any]) -> list[str]:
    found = [f"{row['world']}, {_told(row)}", f"{row['found']} of {row['changes']}"]
    missed = [abs(error) for error in row["errors"]]
    shown = [_quantile(row["delays"], 0.5), _quantile(row["delays"], 0.9), _quantile(row["delays"], 1.0)]
    return [*found, *shown, _quantile(missed, 0.5), _quantile(missed, 0.9), str(row["others"]), str(row["shuffled"])]


def _told(row: Results) -> str:
    """Return the number of answers, and whether the default remembers."""
    return f"{row['answers']}, with memory" if row.get("memory", False) else str(row["answers"])


def _quantile(values: list[int], share: float) -> str:
    return f"{np.quantile(values, share):,.0f}" if values else ""


def rising_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of small changes."""
    return ("squared errors multiplied by", "found", "delay, median")


def rising_of(results: Results) -> Rows:
    """Return how often and how soon it is noticed that squared errors were multiplied by a factor."""
    return [
        (False, [f"{row['factor']:g}", f"{row['found']:.0%}", "" if row["delay"] is None else f"{row['delay']:,.0f}"])
        for row in results["tables"]["rising"]
    ]


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table."""
    rounds = results["protocol"]["rounds"]
    return [
        (f"False alarms in {rounds:,} rounds in which nothing changes", quiet_headings(results), quiet_of(results)),
        ("Where the world changes: rounds to the alarm", headings_of(results), rows_of(results)),
        ("How small a change is found", rising_headings(results), rising_of(results)),
    ]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    left = ("nothing changes, answers", "world, answers")
    return [terminal_table(*table, left=left) for table in tables_of(results)]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Alarms where the world has changed</h1>",
        f"<p>Means over {protocol['runs']} streams of {protocol['rounds']:,} rounds in which nothing changes, and "
        f"{protocol['changing']} draws of worlds that do. The default, with nothing tuned, without memory unless it is said.</p>",
        *(f"<p>{sentence}</p>" for sentence in results["complaints"]),
        *sections(tables_of(results)),
    ]
    return write(folder / "alarms.html", "banditboost: alarms", body)

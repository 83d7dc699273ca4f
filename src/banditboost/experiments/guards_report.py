"""The presentation of guards: tables for the terminal and for pages, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.guards import LATER, NULL, WAYS
from banditboost.experiments.html import sections, write
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]


def null_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of false fall-backs."""
    return ("losses", "baseline's share", "interval", "false fall-backs", "a single look's interval, watched")


def null_of(results: Results) -> Rows:
    """Return in which share of the streams guards fall back although it makes no difference who plays."""
    return [
        (
            False,
            [
                NULL[row["stream"]][0],
                f"{NULL[row['stream']][1]:g}",
                "asymptotic" if row["asymptotic"] else "for bounded losses",
                f"{row['ours']:.1%}",
                f"{row['one_look']:.1%}",
            ],
        )
        for row in results["tables"]["null"]
    ]


def worse_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of learners that are worse."""
    return ("worse by, of the range", "baseline's share", "interval", "noticed", "rounds, median", "9 in 10")


def worse_of(results: Results) -> Rows:
    """Return how soon guards fall back from a learner that is worse."""
    return [(False, _cells(row)) for row in results["tables"]["worse"]]


def _cells(row: Results) -> list[str]:
    share, told = WAYS[row["way"]]
    gap = f"{row['gap']:.0%}"
    if row["later"]:
        gap += f", after {LATER:,} rounds better by 10%" + ("" if row["window"] < 10**6 else ", without a window")
    delays = [f"{row[name]:,.0f}" if name in row else "" for name in ("median", "most")]
    return [
        gap,
        f"{share:g}",
        "for bounded losses" if told else "asymptotic",
        f"{row['found']} of {row['streams']}",
        *delays,
    ]


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table."""
    protocol = results["protocol"]
    title = f"Guards with {protocol['confidence']:.0%} confidence, watched in each of {protocol['rounds']:,} rounds"
    return [
        (f"{title}: it makes no difference who plays", null_headings(results), null_of(results)),
        ("The learner is worse: rounds to the fall-back", worse_headings(results), worse_of(results)),
    ]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    return [
        terminal_table(*table, left=("losses", "worse by, of the range", "interval")) for table in tables_of(results)
    ]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Guards</h1>",
        f"<p>{protocol['streams']:,} streams of every kind; {protocol['worse']} in which the learner is worse.</p>",
        *(f"<p>{sentence}</p>" for sentence in results["complaints"]),
        *sections(tables_of(results)),
    ]
    return write(folder / "guards.html", "banditboost: guards", body)

"""The presentation of bands for what will be paid: tables for the terminal and for pages, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.bands import WAYS
from banditboost.experiments.html import sections, write
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]

HEADINGS = ("data, answers", "coverage", "least and most", "width", "interval score", "times hindsight's")


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of bands."""
    return HEADINGS


def rows_of(results: Results) -> Rows:
    """Return coverage, width and score of every data set and number of answers."""
    return [(False, [f"{row['dataset']}, {row['answers']}", *_cells(row)]) for row in results["tables"]["bands"]]


def _cells(row: dict[str, Any]) -> list[str]:
    runs = row["coverage_runs"]
    return [
        f"{row['coverage']:.1%}",
        f"{min(runs):.1%} to {max(runs):.1%}",
        f"{row['width']:.4g}",
        f"{row['score']:.4g}",
        f"{row['ratio']:.3f} ± {deviation(row['ratio_runs']):.1g}",
    ]


def doubled_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of broken bands: coverage and score of each data set."""
    return ("bands", *(f"{name}: coverage, score" for name in _datasets(results)))


def doubled_of(results: Results) -> Rows:
    """Return coverage and score of every kind of bands where losses double, scores as multiples of those of bands as they are."""
    rows: Rows = []
    for way, title in WAYS.items():
        cells = []
        for name in _datasets(results):
            row, ours = (_row(results, name, kind) for kind in (way, "adaptive"))
            cells.append(f"{row['coverage']:.1%}, {row['score'] / ours['score']:.2f}")
        rows.append((way != "adaptive", [title, *cells]))
    return rows


def _row(results: Results, dataset: str, way: str) -> dict[str, Any]:
    return next(row for row in results["tables"]["doubled"] if (row["dataset"], row["way"]) == (dataset, way))


def _datasets(results: Results) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in results["tables"]["doubled"]))


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table."""
    return [
        ("Bands at the level 0.9 on second halves", headings_of(results), rows_of(results)),
        ("Where losses double: scores as multiples of the first row's", doubled_headings(results), doubled_of(results)),
    ]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    return [terminal_table(*table, left=("data, answers", "bands")) for table in tables_of(results)]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Bands for what will be paid</h1>",
        f"<p>Means over {protocol['runs']} shuffle(s) of second halves, of at most {protocol['rows']:,} rows, from round "
        f"{protocol['since']} on. A band should hold what is told in {protocol['level']:.0%} of the rounds. Hindsight has the same "
        "models and the two constant quantiles that are right for the whole run.</p>",
        *sections(tables_of(results)),
    ]
    return write(folder / "bands.html", "banditboost: bands for what will be paid", body)

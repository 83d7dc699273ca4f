"""The presentation of the story: one table, three sentences made from its numbers, and a report with pictures."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.html import framed, sections, side_by_side, write
from banditboost.experiments.statistics import deviation
from banditboost.experiments.story import NOBODY, PAYS, WAYS
from banditboost.experiments.svg import Bar, Line, chart_of_lines
from banditboost.experiments.svg import bars as draw_bars
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]
Row = dict[str, Any]
STYLES = {
    "mean": "s0 dashed",
    "ridge": "s2 dashed",
    "told": "s3",
    "thirty": "s1",
    "two": "s4",
    "one": "s5",
    "paper": "s6",
}
"""The colours of a report's style sheet."""


def _find(results: Results, dataset: str, way: str) -> Row:
    return next(row for row in results["rows"] if row["dataset"] == dataset and row["way"] == way)


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings: for every data set, the loss of predictions and what was paid."""
    names = results["protocol"]["datasets"]
    return ("who learns", "is told", *(f"{name}: {what}" for name in names for what in ("predicts", "pays")))


def losses_of(results: Results) -> Rows:
    """Return the losses, each with how much less it is than the running mean's."""
    rows: Rows = []
    for way, (who, told) in WAYS.items():
        texts = [who, told]
        for name in results["protocol"]["datasets"]:
            row = _find(results, name, way)
            texts += [_entry(row, "loss", "explained"), _entry(row, "paid", "kept") if way in PAYS else "the same"]
        rows.append((way in (NOBODY, "ridge"), texts))
    return rows


def _entry(row: Row, name: str, share: str) -> str:
    text = f"{row[name]:.3g} ±{deviation(row[f'{name}_runs']):.1g}"
    return text if row["way"] == NOBODY else f"{text} ({-row[share]:+.0%})"


def says(results: Results) -> list[str]:
    """Return three sentences: what the paper's algorithm does, what the default does with 30 losses, and what with one.

    Examples
    --------
    >>> numbers = {"mean": 1.0, "ridge": 0.6, "told": 0.4, "thirty": 0.45, "two": 0.5, "one": 0.7, "paper": 0.9}
    >>> rows = [{"dataset": "letter", "way": way, "loss": x, "paid": 1.1 * x} for way, x in numbers.items()]
    >>> results = {"protocol": {"datasets": ["letter"]}, "rows": rows}
    >>> for sentence in says(results):
    ...     print(sentence)
    From noisy losses alone, the paper's Algorithm 2 with linear weak learners predicts with a loss of 90% of the running mean's on
    letter, with settings that were tuned beforehand.
    This library's default, with nothing tuned, comes to 45% on letter with thirty noisy losses a round; told gradients it comes to
    40% on letter, and online ridge regression, told every label, to 60% on letter.
    With a single loss a round, that of the one decision that is played, it comes to 70% on letter, and pays 77% on letter while it
    learns: exploring is what it costs not to be told.
    """
    return [
        "From noisy losses alone, the paper's Algorithm 2 with linear weak learners predicts with a loss of "
        f"{_shares(results, 'paper', ' of the running mean' + chr(39) + 's')}, with settings that were tuned "
        "beforehand.",
        "This library's default, with nothing tuned, comes to "
        f"{_shares(results, 'thirty')} with thirty noisy losses a round; told gradients it comes to {_shares(results, 'told')}, "
        f"and online ridge regression, told every label, to {_shares(results, 'ridge')}.",
        "With a single loss a round, that of the one decision that is played, it comes to "
        f"{_shares(results, 'one')}, and pays {_shares(results, 'one', of='paid')} while it learns: exploring is what it costs not "
        "to be told.",
    ]


def _shares(results: Results, way: str, first: str = "", of: str = "loss") -> str:
    """Return losses over the running mean's, data set by data set."""
    texts: list[str] = []
    for name in results["protocol"]["datasets"]:
        share = _find(results, name, way)[of] / _find(results, name, NOBODY)["loss"]
        texts.append(f"{share:.0%}{first if not texts else ''} on {name}")
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of the only table."""
    title = "Mean squared loss ± its deviation over runs, and how far it is from the running mean's: low is good"
    return [(title, headings_of(results), losses_of(results))]


LEGEND = (
    "'Predicts' is the loss of the decisions that are recommended; 'pays' is the loss of those that were tried in order to learn, "
    "which whoever is told labels or gradients need not do."
)


def terminal_tables(results: Results) -> list[Table | str]:
    """Return the table for the terminal, and the sentences."""
    left = ("who learns", "is told")
    return [
        *(terminal_table(*table, left=left) for table in tables_of(results)),
        f"{LEGEND}\n",
        *(f"{line}\n" for line in says(results)),
    ]


def curves(results: Results, name: str) -> str:
    """Return how the mean loss on a data set falls as rounds go by."""
    nothing, lines = _find(results, name, NOBODY)["loss"], []
    for way in WAYS:
        row = _find(results, name, way)
        rounds, running = (np.array(row[of], dtype=np.float64) for of in ("rounds", "running"))
        lines.append(Line(_named(way), rounds, running / nothing, STYLES[way]))
    ends = "; ".join(f"{line.name} ends at {line.y[-1]:.0%}" for line in lines)
    about = f"Mean squared loss of predictions on {name} as rounds go by, over the running mean's: {ends}."
    return framed(name, chart_of_lines(about, lines, "rounds", "mean loss so far", logarithmic=True, y=(0.0, 1.6)))


def bars(results: Results, name: str) -> str:
    """Return what everyone predicts and pays on a data set, as shares of the running mean's loss."""
    nothing, rows = _find(results, name, NOBODY)["loss"], []
    for way in WAYS:
        if way != NOBODY:
            loss, paid = (_find(results, name, way)[of] / nothing for of in ("loss", "paid"))
            said = f"{loss:.0%}, pays {paid:.0%}" if way in PAYS else f"{loss:.0%}"
            rows.append(Bar(_named(way), loss, STYLES[way].split()[0], said, paid if way in PAYS else None))
    about = f"Loss on {name} over the running mean's: {'; '.join(f'{row.name}: {row.said}' for row in rows)}."
    return framed(name, draw_bars(about, rows, mark=1.0))


def _named(way: str) -> str:
    return ": ".join(WAYS[way])


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    it = results["protocol"]
    names = it["datasets"]
    body = [
        "<h1>Learning from loss values alone</h1>",
        "<p>Somebody has to decide again and again, and sees what each decision cost, but never which would have been right. "
        "Here the decision is a prediction, so that the cost of learning this way can be compared with being told the label.</p>",
        *(f"<p>{html.escape(sentence)}</p>" for sentence in says(results)),
        "<h2>What everyone predicts and pays</h2>",
        "<p>Loss over that of the running mean, which is the dotted line: short is good. The pale end is what was paid for the "
        "decisions that were tried in order to learn; those who are told labels or gradients try none.</p>",
        side_by_side([bars(results, name) for name in names]),
        "<h2>As rounds go by</h2>",
        side_by_side([curves(results, name) for name in names]),
        *sections(tables_of(results), two=True),
        "<h2>How it was measured</h2>",
        f"<p>Mean ± standard deviation over {it['runs']} shuffle(s) of at most {it['rows']:,} rows of the second half of a data "
        "set. Every row is predicted before it is learned from. The paper's algorithm is tuned on the first half; nobody else is "
        f"tuned. Losses are told with noise uniform on ±0.1. {LEGEND} Thirty squared losses give the label away to "
        "whoever computes it; the default does not, and uses no more than the values.</p>",
        "<h2>Next</h2>",
        "<p>With a table of your own: <code>banditboost run your.csv --target column --report reports</code>. "
        "In Python: <code>docs/start.md</code>.</p>",
    ]
    return write(folder / "story.html", "banditboost: learning from loss values alone", body)

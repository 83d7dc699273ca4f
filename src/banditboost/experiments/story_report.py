"""The presentation of the story: one table, three sentences made from its numbers, and a report with pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.html import picture, sections, write
from banditboost.experiments.statistics import deviation
from banditboost.experiments.story import NOBODY, PAYS, WAYS
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

Results = dict[str, Any]
Row = dict[str, Any]
COLORS = {
    "mean": "#777777",
    "ridge": "#4c72b0",
    "told": "#2a7a3f",
    "thirty": "#c44e52",
    "two": "#dd8452",
    "one": "#8c3b9e",
    "paper": "#222222",
}


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
    letter, though it never sees a label and was tuned beforehand.
    This library's default, with nothing tuned, comes to 45% on letter with thirty noisy losses a round; told gradients it comes to
    40% on letter, and online ridge regression, told every label, to 60% on letter.
    With a single loss a round, that of the one decision that is played, it comes to 70% on letter, and pays 77% on letter while it
    learns: exploring is what it costs not to be told.
    """
    return [
        "From noisy losses alone, the paper's Algorithm 2 with linear weak learners predicts with a loss of "
        f"{_shares(results, 'paper', ' of the running mean' + chr(39) + 's')}, though it never sees a label and was tuned "
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
    title = "Mean squared loss, and how much more or less than the running mean's it is: low is good"
    return [(title, headings_of(results), losses_of(results))]


def terminal_tables(results: Results) -> list[Table | str]:
    """Return the table for the terminal, and the sentences."""
    left = ("who learns", "is told")
    return [
        *(terminal_table(*table, left=left) for table in tables_of(results)),
        *(f"{line}\n" for line in says(results)),
    ]


def curves(results: Results) -> Figure:
    """Draw how the mean loss falls as rounds go by, a panel for every data set."""
    from matplotlib.figure import Figure

    names = results["protocol"]["datasets"]
    figure = Figure(figsize=(5.2 * len(names), 4.6), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for way, (who, told) in WAYS.items():
            row = _find(results, name, way)
            style = "--" if way in (NOBODY, "ridge") else "-"
            ax.plot(row["rounds"], row["running"], style, color=COLORS[way], label=f"{who}: {told}")
        most = 1.6 * _find(results, name, NOBODY)["loss"]
        ax.set(title=name, xscale="log", xlabel="rounds", ylabel="mean squared loss of predictions", ylim=(0, most))
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return figure


def bars(results: Results) -> Figure:
    """Draw what everyone predicts and pays as shares of the running mean's loss."""
    from matplotlib.figure import Figure

    names, ways = results["protocol"]["datasets"], [way for way in WAYS if way != NOBODY]
    figure = Figure(figsize=(5.2 * len(names), 3.6), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for ax, name in zip(panels, names, strict=True):
        nothing = _find(results, name, NOBODY)["loss"]
        for k, way in enumerate(ways):
            row = _find(results, name, way)
            ax.barh(k, row["paid"] / nothing, color=COLORS[way], alpha=0.35)
            ax.barh(k, row["loss"] / nothing, color=COLORS[way])
            ax.text(0.02, k, f"{row['loss'] / nothing:.0%}", va="center", color="white", fontsize="small")
        ax.axvline(1.0, color=COLORS[NOBODY], linestyle="--")
        ax.set(title=name, xlabel="loss over that of the running mean; pale: paid")
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(ways)), labels=[": ".join(WAYS[way]) for way in ways])
    panels[0].invert_yaxis()
    return figure


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    it = results["protocol"]
    drawn: list[tuple[Callable[[Results], Figure], str]] = [
        (bars, "What everyone predicts and pays, as a share of the running mean's loss"),
        (curves, "Mean squared loss of predictions as rounds go by"),
    ]
    body = [
        "<h1>Learning from loss values alone</h1>",
        *(f"<p>{sentence}</p>" for sentence in says(results)),
        *sections(tables_of(results)),
        *(f"<h2>{title}</h2>{picture(draw(results), title)}" for draw, title in drawn),
        f"<p>Mean ± standard deviation over {it['runs']} shuffle(s) of at most {it['rows']:,} rows of the second half of a data "
        "set. Every row is predicted before it is learned from. The paper's algorithm is tuned on the first half; nobody else is "
        "tuned. Losses are told with noise uniform on ±0.1. <em>Predicts</em> is the loss of the recommended decisions, "
        "<em>pays</em> that of the decisions that were tried in order to learn.</p>",
        "<p>Next: <code>docs/start.md</code>, and <code>banditboost run your.csv --target column</code>.</p>",
    ]
    return write(folder / "story.html", "banditboost: learning from loss values alone", body)

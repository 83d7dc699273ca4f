"""The presentation of small tables and noise: losses, both ratios with their limits, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.fair_report import OURS
from banditboost.experiments.html import sections, write
from banditboost.experiments.small_shows import LATE_LIMIT, MUST_MISS, NOISE_LIMIT, REFERENCES, TABLE_LIMIT, is_noise
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]

KNOWN = {"ridge": "online ridge", "ridge_middle": "online ridge, from the middle", "mean": "running mean"}
BROKEN = {"other_rows": "broken: told losses of other rows", "no_prior": "broken: a line without a prior"}
TITLES = OURS | KNOWN | BROKEN


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of losses."""
    return ("learner", *map(_title, results["tables"]))


def ratio_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the tables of ratios."""
    return (*headings_of(results), "kept")


def _title(table: dict[str, Any]) -> str:
    name = "noise" if is_noise(table["table"]) else table["table"]
    return f"{name}, {table['rows']:,} × {table['features']}"


def losses_of(results: Results) -> Rows:
    """Return mean losses over all rounds, and what was paid."""
    by = {(row["table"], row["who"]): row for row in results["rows"]}
    rows: Rows = []
    for who in _run(results):
        found = [by[table["table"], who] for table in results["tables"]]
        rows.append((who in (*REFERENCES, *MUST_MISS), [TITLES[who], *(_entry(row, "loss") for row in found)]))
        if all("paid" in row for row in found):
            rows.append((True, [f"{TITLES[who]}: paid", *(_entry(row, "paid") for row in found)]))
    return rows


def all_rounds_of(results: Results) -> Rows:
    """Return losses over the best of ridge and the running mean (on noise, over the latter), and how many keep their limit."""
    return _ratios(results, "ratio", "limit", "met")


def plain_of(results: Results) -> Rows:
    """Return the same over the better of ridge as it is and the running mean."""
    return _ratios(results, "plain", "limit", "plain_met")


def late_of(results: Results) -> Rows:
    """Return losses over the running mean's from round 200 on, and how many keep their limit."""
    return _ratios(results, "late", "late_limit", "late_met")


def _ratios(results: Results, ratio: str, limit: str, met: str) -> Rows:
    by = {(show["table"], show["who"]): show for show in results["shows"]}
    rows: Rows = []
    for who in (who for who in _run(results) if who not in REFERENCES):
        found = [by[table["table"], who] for table in results["tables"]]
        texts = [f"{show[ratio]:.3f}" + ("" if show[met] else f" > {show[limit]:.2f}") for show in found]
        kept = f"{sum(show[met] for show in found)} of {len(found)}"
        rows.append((who in MUST_MISS, [TITLES[who], *texts, kept]))
    return rows


def _run(results: Results) -> list[str]:
    """Return who was run, in the order of titles."""
    there = {row["who"] for row in results["rows"]}
    return [who for who in TITLES if who in there]


def _entry(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:.4g} ±{deviation(row[f'{name}_runs']):.2g}"


TABLES = (
    ("Mean squared loss over all rounds", headings_of, losses_of),
    (
        f"Over the best of online ridge, either way, and the running mean (at most {TABLE_LIMIT:.2f}), on noise over the running "
        f"mean (at most {NOISE_LIMIT:.2f}), all rounds",
        ratio_headings,
        all_rounds_of,
    ),
    ("The same with online ridge as it is", ratio_headings, plain_of),
    (f"Over the running mean from round 200 on (at most {LATE_LIMIT:.2f})", ratio_headings, late_of),
)


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of all tables."""
    return [(title, headings(results), rows(results)) for title, headings, rows in TABLES]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    return [terminal_table(*table, left=("learner",)) for table in tables_of(results)]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    it = results["protocol"]
    body = [
        "<h1>Small tables and noise</h1>",
        f"<p>Mean ± standard deviation over {it['runs']} shuffle(s) of whole tables. Ours learn from noisy loss values (uniform on "
        f"±{it['noise']:g}), with nothing tuned; online ridge and the running mean are told labels. Labels have a standard "
        "deviation of one. A ratio above its limit has the limit beside it. Boosters that are broken on purpose must be above: the "
        "one that is told losses of other rows on tables, the one without a prior on noise.</p>",
        *(f"<p>{sentence}</p>" for sentence in results["complaints"]),
        *sections(tables_of(results)),
    ]
    return write(folder / "small.html", "banditboost: small tables and noise", body)

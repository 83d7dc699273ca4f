"""The presentation of the bounds: what is evidence, what is not, which broken boosters are noticed, and how regret grows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.bounds import IDENTITY, PROVED
from banditboost.experiments.bounds_broken import BROKEN, MEANINGS
from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.terminal import primary, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

Line = list[str]
Rows = list[dict[str, Any]]

HEADINGS = ("statement", "bound", "rows", "informative", "largest regret / bound", "held")
EVIDENCE_HEADINGS = ("statement", "bound", "setting", "T", "regret", "bound", "learns nothing", "failures", "held")
REST_HEADINGS = ("statement", "bound", "setting", "T", "regret", "bound", "learns nothing", "informative from T =")
IDENTITY_HEADINGS = ("statement", "setting", "T", "right", *BROKEN)
BROKEN_HEADINGS = ("variant", "told or done", "Definition 1", *PROVED)
EXPONENT_HEADINGS = ("algorithm", "world", "space", "exponent", "95 % interval", "target")


def bounds_of(results: dict[str, Any], informative: bool | None = None) -> Rows:
    """Return the rows with a bound, or only those that are informative, or only those that are not."""
    rows = [row for row in results["rows"] if row["kind"] != IDENTITY]
    return rows if informative is None else [row for row in rows if row["informative"] is informative]


def identities_of(results: dict[str, Any]) -> Rows:
    """Return the rows of the identity."""
    return [row for row in results["rows"] if row["kind"] == IDENTITY]


def summary(results: dict[str, Any]) -> list[Line]:
    """Return one line per statement and kind of bound; only informative rows count as held."""
    groups: dict[tuple[str, str], Rows] = defaultdict(list)
    for row in bounds_of(results):
        groups[row["theorems"][0], row["kind"]].append(row)
    lines = []
    for (theorem, kind), rows in groups.items():
        evidence = [row for row in rows if row["informative"]]
        largest = f"{max(row['ratio'] for row in evidence):.3f}" if evidence else "-"
        held = f"{sum(row['held'] for row in evidence)}/{len(evidence)}" if evidence else "-"
        lines.append([theorem, kind, str(len(rows)), str(len(evidence)), largest, held])
    return lines


def _described(row: dict[str, Any]) -> Line:
    numbers = [f"{row[key]:,.4g}" if row[key] < 1e4 else f"{row[key]:,.0f}" for key in ("measured", "bound", "nothing")]
    return [row["theorems"][0], row["kind"], row["setting"], f"{row['horizon']:,}", *numbers]


def evidence(results: dict[str, Any]) -> list[Line]:
    """Return the rows that could have failed."""
    lines = []
    for row in bounds_of(results, True):
        limit = row["rate_at_most"]
        failures = "-" if limit is None else f"{row['exceeding']} of {row['seeds']}: at most {limit:.3f}"
        lines.append([*_described(row), failures, "yes" if row["held"] else "VIOLATED"])
    return lines


def not_informative(results: dict[str, Any]) -> list[Line]:
    """Return the rows that cannot fail, with the horizon from which they could."""
    lines = []
    for row in bounds_of(results, False):
        first = row["informative_from"]
        lines.append([*_described(row), "none, with this N and δ" if first is None else f"{first:,}"])
    return lines


def _errors(deviations: float) -> str:
    return f"{deviations:,.1f}" if deviations < 1e6 else "> 1,000,000"


def identity(results: dict[str, Any]) -> list[Line]:
    """Return by how many standard errors the identity is missed, by the right booster and by broken ones."""
    return [
        [
            " and ".join(row["theorems"]),
            row["setting"],
            f"{row['horizon']:,}",
            _errors(row["deviations"]),
            *(_errors(row["broken"][name]["deviations"]) if name in row["broken"] else "-" for name in BROKEN),
        ]
        for row in identities_of(results)
    ]


def broken(results: dict[str, Any]) -> list[Line]:
    """Return which statement notices which broken booster, by how many of its informative rows and of its identities."""
    return [
        [name, MEANINGS[name], *(_noticed(results, name, theorem) for theorem in ("Definition 1", *PROVED))]
        for name in BROKEN
    ]


def _noticed(results: dict[str, Any], name: str, theorem: str) -> str:
    parts = []
    for title, rows in (("bound", bounds_of(results, True)), ("identity", identities_of(results))):
        told = [row["broken"][name]["caught"] for row in rows if theorem in row["theorems"] and name in row["broken"]]
        if told:
            parts.append(f"{title} {sum(told)}/{len(told)}")
    return ", ".join(parts) or "-"


def exponents(results: dict[str, Any]) -> list[Line]:
    """Return one line per fitted exponent."""
    return [
        [
            e["algorithm"],
            e["world"],
            e["space"],
            f"{e['exponent']:.3f}",
            f"{e['interval'][0]:.3f} .. {e['interval'][1]:.3f}",
            "-" if e["target"] is None else f"<= {e['target']:g}",
        ]
        for e in results["exponents"]
    ]


def protocol(results: dict[str, Any]) -> str:
    """Return how rows are judged, in sentences."""
    p = results["protocol"]
    return (
        f"Every row has {p['seeds']} seeds (one where nothing is random), and every broken variant of it {p['broken_seeds']}; "
        "the identity has 100 seeds for all. "
        "A bound in expectation holds where the upper 95 % limit of the mean regret is below it. "
        f"A bound with probability {1 - p['failure']:g} holds where a failure rate of {2 * p['failure']:g}, twice what it allows, "
        f"is rejected at 95 % (Clopper-Pearson), which takes {p['seeds_that_reject_twice_the_rate']} seeds without a failure. "
        f"The identity holds where it is missed by no more than {p['deviations']:g} standard errors."
    )


def tables(results: dict[str, Any]) -> list[tuple[str, Sequence[str], list[Line]]]:
    """Return all tables, each with its title and headings."""
    return [
        ("Bounds against what was measured", HEADINGS, summary(results)),
        ("Broken boosters: what notices them", BROKEN_HEADINGS, broken(results)),
        (
            "Informative rows: the bound is below what a booster suffers that learns nothing",
            EVIDENCE_HEADINGS,
            evidence(results),
        ),
        (
            "Not informative: a booster that learns nothing does not violate the bound either",
            REST_HEADINGS,
            not_informative(results),
        ),
        ("The identity, missed by so many standard errors", IDENTITY_HEADINGS, identity(results)),
        ("Growth of regret with the horizon", EXPONENT_HEADINGS, exponents(results)),
    ]


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return all tables for the terminal."""
    return [terminal_table(title, headings, primary(lines), headings) for title, headings, lines in tables(results)]


def growth(results: dict[str, Any]) -> Figure:
    """Draw regret against the horizon, and regret per round against the adaptive adversary."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for e in results["exponents"]:
        label = f"{e['algorithm']}, {e['space']}"
        if e["world"] == "stationary":
            left.loglog(e["horizons"], e["mean_regret"], "o-", label=f"{label}: T^{e['exponent']:.2f}")
        else:
            right.loglog(e["horizons"], e["regret_per_round"], "o-", label=label)
    horizons = np.array(results["exponents"][0]["horizons"], dtype=float)
    top = max(e["mean_regret"][0] for e in results["exponents"])
    left.loglog(horizons, top * np.sqrt(horizons / horizons[0]), "k:", label="T^0.5")
    left.loglog(horizons, top * (horizons / horizons[0]) ** 0.75, "k--", label="T^0.75")
    left.set(xlabel="horizon T", ylabel="regret", title="stationary quadratics, one run per horizon")
    right.set(xlabel="horizon T", ylabel="regret per round", title="an adversary that reads the last point")
    for ax in (left, right):
        ax.legend(fontsize="x-small")
    return figure


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report of the bounds and return its file."""
    body = ["<h1>Every bound of the paper, against what is measured</h1>", f"<p>{protocol(results)}</p>"]
    for title, headings, lines in tables(results):
        body += [f"<h2>{title}</h2>", html_table(headings, [("VIOLATED" in line, line) for line in lines])]
    body.append(picture(growth(results), "Regret against horizon, log-log"))
    return write(folder / "bounds.html", "banditboost: bounds", body)

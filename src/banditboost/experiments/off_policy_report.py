"""The presentation of off-policy evaluation beside obp: errors, intervals, ratios, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.html import sections, write
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]

NAMES = {
    "obp, ridge": "obp, ridge on products",
    "obp, forest": "obp, random forest",
    "ridge": "ours, ridge on products",
    "forest": "ours, random forest",
    "critic": "ours, our critic",
    "slope": "ours, our critic, SLOPE",
    "ips": "ours, ips",
    "snips": "ours, snips",
    "direct": "the direct method, our critic",
    "widest": "ours, a bandwidth of 10",
}
SECONDARY = ("slope", "ips", "snips", "direct", "widest")
SHOW_HEADINGS = ("estimator", "over obp with", "mean ratio of errors", "largest", "limit", "coverage", "least")
HEADINGS = (
    "setting",
    "estimator",
    "mean squared error",
    "over obp, ridge",
    "over obp, forest",
    "coverage",
    "mean width",
    "Bernstein",
    "its width",
)


def shown(results: Results) -> Rows:
    """Return the ratios over all settings, with their limits."""
    rows: Rows = []
    for show in results["shows"]:
        limit = f"{show['limit']:.2f}" + ("" if show["met"] else ", not kept")
        texts = [
            NAMES[show["who"]],
            show["over"],
            f"{show['ratio']:.2f}",
            f"{show['largest']:.2f}",
            limit,
            f"{show['coverage']:.1%}",
            f"{show['least']:.1%}",
        ]
        rows.append((show["who"] in SECONDARY, texts))
    return rows


def settings_of(results: Results) -> Rows:
    """Return errors and intervals in every setting."""
    rows: Rows = []
    for row in results["rows"]:
        who = NAMES[row["who"]]
        if "coverage" not in row:
            rows.append(
                (
                    False,
                    [
                        row["setting"],
                        f"{who}, bandwidth {row['bandwidth']:g}",
                        f"{row['mse']:.4g}",
                        "",
                        "",
                        "",
                        "",
                        "",
                        "",
                    ],
                )
            )
            continue
        over = [f"{row[key]:.2f}" if key in row else "" for key in ("over ridge", "over forest")]
        rest = [
            f"{row['coverage']:.1%}",
            f"{row['width']:.3g}",
            f"{row['bernstein']:.1%}",
            f"{row['bernstein_width']:.3g}",
        ]
        rows.append((row["who"] in SECONDARY, [row["setting"], who, f"{row['mse']:.4g}", *over, *rest]))
    return rows


def tables_of(results: Results) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of all tables."""
    return [
        (
            "Mean squared errors over those of obp at its best bandwidth in hindsight, geometric mean over settings",
            SHOW_HEADINGS,
            shown(results),
        ),
        ("Every setting", HEADINGS, settings_of(results)),
    ]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    return [terminal_table(*table, left=("setting", "estimator", "over obp with")) for table in tables_of(results)]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    it = results["protocol"]
    body = [
        "<h1>Off-policy evaluation beside obp</h1>",
        f"<p>{it['logs']} logs of {it['rows']:,} rows in each setting, each drawn anew. The bandwidth of obp is the best of "
        f"{len(it['bandwidths'])} in hindsight; ours are balanced from each log alone. Intervals are those of "
        f"{it['level']:.0%}, and include a bound on the bias.</p>",
        *sections(tables_of(results)),
    ]
    return write(folder / "off_policy.html", "banditboost: off-policy evaluation", body)

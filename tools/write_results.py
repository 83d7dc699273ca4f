"""Write the committed results into README.md and the docs, between their markers: `python tools/write_results.py`.

Every table in a page stands between ``<!-- name -->`` and ``<!-- /name -->`` and is made here from ``results/*.json`` or
``benchmarks/results.json``, so that no number in a page is typed by hand. With ``--check`` nothing is written, and the exit code
says whether pages are up to date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from banditboost.experiments import bounds_report, table1_report, table2_report

ROOT = Path(__file__).parent.parent


def markdown(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(headings) + " |"]
    lines.append("|---" * len(list(headings)) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def table2(results: dict[str, Any]) -> str:
    """Table 2, the deviations beside the means."""
    rows = []
    lines = [row for _, row in table2_report.cells_of(results)]
    missing = [line for line in lines if line[1].startswith("not run")]
    lines = [line for line in lines if line not in missing]
    for means, spreads, paper in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        rows.append([means[0], *(f"{m} {s}".strip() for m, s in zip(means[1:], spreads[1:], strict=True))])
        rows.append([f"*{paper[0].strip()}*", *(f"*{text}*" if text else "" for text in paper[1:])])
    rows += missing
    runs = results["protocol"]["runs"]
    note = (
        f"Mean squared loss on second halves, {runs} shuffled runs, tuned on first halves; *italics* quote the paper."
    )
    return f"{note}\n\n{markdown(table2_report.HEADINGS, rows)}"


def readings(results: dict[str, Any]) -> str:
    """Every reading of the paper's text."""
    rows = [
        [f"*{text}*" if text and quoted else text for text in row] for quoted, row in table2_report.readings_of(results)
    ]
    return markdown(table2_report.READING_HEADINGS, rows)


def table1(results: dict[str, Any]) -> str:
    """Table 1: exponents, calls, times, and regret at equal cost."""
    return markdown(table1_report.HEADINGS, table1_report.lines(results))


def bounds(results: dict[str, Any]) -> str:
    """The bounds' summary and the exponents."""
    return "\n\n".join(
        [
            markdown(bounds_report.HEADINGS, bounds_report.summary(results)),
            markdown(bounds_report.EXPONENT_HEADINGS, bounds_report.exponents(results)),
        ]
    )


def matrices(key: str, columns: dict[str, tuple[str, str]]) -> Callable[[dict[str, Any]], str]:
    """One of the matrix benchmarks, by columns: heading, key and format."""

    def make(results: dict[str, Any]) -> str:
        rows = results["matrices"][key]
        return markdown(columns, [[format(row[name], form) for name, form in columns.values()] for row in rows])

    return make


def loop(results: dict[str, Any]) -> str:
    """Microseconds per round of the compiled loop."""
    headings = ("features", "copies", "NumPy loop, µs", "ours, plain", "ours, compiled", "NumPy / compiled")
    rows = [
        [
            str(row["features"]),
            str(row["copies"]),
            *(f"{row[key]:.2f}" for key in ("numpy", "plain", "compiled")),
            f"{row['ratio']:.0f}x",
        ]
        for row in results["loop"]
    ]
    return markdown(headings, rows)


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "table1": ("results/table1.json", table1),
    "table2": ("results/table2.json", table2),
    "readings": ("results/table2.json", readings),
    "bounds": ("results/bounds.json", bounds),
    "loop": ("benchmarks/results.json", loop),
    "oracle": (
        "benchmarks/results.json",
        matrices(
            "oracle",
            {
                "size": ("size", "d"),
                "full SVD, ms": ("svd, noise", ".1f"),
                "ours, noise, ms": ("ours, noise", ".2f"),
                "ratio, noise": ("ratio, noise", ".0f"),
                "ratio, signal": ("ratio, signal", ".0f"),
                "relative shortfall": ("missing, noise", ".0e"),
            },
        ),
    ),
    "race": (
        "benchmarks/results.json",
        matrices(
            "race",
            {
                "size": ("size", "d"),
                "projected gradient descent": ("loss, projected", ".3f"),
                "online Frank-Wolfe": ("loss, one call", ".3f"),
                "Algorithm 1, N = 10": ("loss, algorithm 1", ".3f"),
            },
        ),
    ),
    "covariance": (
        "benchmarks/results.json",
        matrices(
            "covariance",
            {
                "size": ("size", "d"),
                "rounds": ("rounds", "d"),
                "copies": ("copies", "d"),
                "perturbations": ("perturbations", "s"),
                "seconds": ("seconds", ".0f"),
                "peak GB": ("gigabytes", ".2f"),
            },
        ),
    ),
}


def filled(text: str) -> str:
    """Return a page with all its tables made anew."""
    for name, (file, make) in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if pattern.search(text):
            table = make(json.loads((ROOT / file).read_text()))
            text = pattern.sub(lambda match, table=table: f"{match[1]}\n{table}\n\n{match[2]}", text)  # type: ignore[misc]
    return text


def pages() -> list[Path]:
    """Return the pages that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main() -> int:
    """Write, or only check."""
    stale = [page for page in pages() if filled(page.read_text()) != page.read_text()]
    if "--check" in sys.argv:
        for page in stale:
            print(f"{page.name} is not up to date: run python tools/write_results.py")
        return 1 if stale else 0
    for page in stale:
        page.write_text(filled(page.read_text()))
        print(f"wrote {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

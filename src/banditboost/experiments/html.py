"""Pages, tables and figures of reports, each report one self-contained HTML file."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from banditboost._core.version import __version__
from banditboost._storage.atomic_file import atomic
from banditboost.experiments.terminal import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
.wide { overflow-x: auto; } table { border-collapse: collapse; white-space: nowrap; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
tr.secondary td { color: #888; font-style: italic; } img { max-width: 100%; height: auto; }
@media (max-width: 600px) { .wide img { width: 720px; max-width: none; } }
footer { color: #888; margin-top: 2rem; }
"""


def picture(figure: Figure, alt: str) -> str:
    """Return a figure as an HTML image with its data inside."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<div class=wide><img alt="{html.escape(alt)}" src="data:image/png;base64,{data}"></div>'


def page(title: str, body: Sequence[str]) -> str:
    """Return a whole HTML page."""
    head = (
        f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{html.escape(title)}</title>"
    )
    footer = f"<footer>Written by banditboost {__version__}.</footer>"
    return f"<!doctype html><html lang='en'><head>{head}<style>{_STYLE}</style></head><body>{''.join(body)}{footer}</body></html>"


def html_table(headings: Sequence[str], rows: Rows) -> str:
    """Return rows of text as an HTML table, in which secondary rows are grey and in italics."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in headings)
    lines = []
    for secondary, row in rows:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in row)
        lines.append(f"<tr{' class=secondary' if secondary else ''}>{cells}</tr>")
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def sections(tables: Sequence[tuple[str, Sequence[str], Rows]]) -> list[str]:
    """Return tables of (title, headings, rows), each under its title."""
    return [part for title, headings, rows in tables for part in (f"<h2>{title}</h2>", html_table(headings, rows))]


def write(file: Path, title: str, body: Sequence[str]) -> Path:
    """Write a page, completely or not at all, and return its file."""
    with atomic(file) as out:
        out.write(page(title, body).encode(errors="backslashreplace"))  # the name of a file may be no text at all
    return file

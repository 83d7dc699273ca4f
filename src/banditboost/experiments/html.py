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

_STYLE = Path(__file__).with_name("report.css")
"""Part of every page, since a report is one file."""


def picture(figure: Figure, alt: str) -> str:
    """Return a figure as an HTML image with its data inside; a narrow one shrinks with the page, a wide one is scrolled."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    data = base64.b64encode(buffer.getvalue()).decode()
    narrow = ' class="narrow"' if figure.get_figwidth() <= 5 else ""
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="a picture"><img{narrow} alt="{html.escape(alt)}" '
        f'src="data:image/png;base64,{data}"></div>'
    )


def framed(title: str, chart: str, note: str = "") -> str:
    """Return a chart with its title, and a sentence below it that says how to read it."""
    said = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<figure><figcaption>{html.escape(title)}</figcaption>{chart}{said}</figure>"


def side_by_side(figures: Sequence[str]) -> str:
    """Return charts beside each other where there is room, and below each other where there is none."""
    return f'<div class="charts">{"".join(figures)}</div>'


def page(title: str, body: Sequence[str]) -> str:
    """Return a whole HTML page."""
    head = (
        "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title>"
    )
    footer = f"<footer>Written by banditboost {__version__}.</footer>"
    return (
        f"<!doctype html><html lang='en'><head>{head}<style>{_STYLE.read_text()}</style></head>"
        f"<body><main>{''.join(body)}</main>{footer}</body></html>"
    )


def html_table(
    headings: Sequence[str], rows: Rows, words: bool = False, about: str = "a table", two: bool = False
) -> str:
    """Return rows of text as an HTML table, in which secondary rows are grey and in italics; with `words` cells may wrap.

    `about` is what its box is called where it can be scrolled; with `two` the first two columns hold words, and begin at the left.
    """
    head = "".join(f"<th scope='col'>{html.escape(text)}</th>" for text in headings)
    lines = []
    for secondary, row in rows:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in row)
        lines.append(f"<tr{' class=secondary' if secondary else ''}>{cells}</tr>")
    kind = " class='words'" if words else " class='two'" if two else ""
    return (
        f"<div class='wide' tabindex='0' role='group' aria-label=\"{html.escape(about)}\"><table{kind}>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def sections(tables: Sequence[tuple[str, Sequence[str], Rows]], two: bool = False) -> list[str]:
    """Return tables of (title, headings, rows), each under its title; with `two` their first two columns hold words."""
    made = ((f"<h2>{title}</h2>", html_table(headings, rows, two=two)) for title, headings, rows in tables)
    return [part for parts in made for part in parts]


def write(file: Path, title: str, body: Sequence[str]) -> Path:
    """Write a page, completely or not at all, and return its file."""
    with atomic(file) as out:
        out.write(page(title, body).encode(errors="backslashreplace"))  # the name of a file may be no text at all
    return file

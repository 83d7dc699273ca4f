"""Formulas as MathML, which browsers draw themselves: a page read without a network shows no raw TeX."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

# What TeX allows and the converter does not: a command as an argument without braces, sizes without a side.
SAME = (
    (r"\\dots\b", r"\\ldots"),
    (r"\\texttt\b", r"\\mathtt"),
    (r"\\([bB]igg?)(?=[\[(])", r"\\\1l"),
    (r"\\([bB]igg?)(?=[\])])", r"\\\1r"),
    (
        r"\\(tilde|hat|bar)\s*(\\?[A-Za-z]+|\{[^{}]*\})",
        r"{\\\1{\2}{}}",
    ),  # a group of two: what follows is no limit of the accent
    (r"\\([dt]?frac)\s*(\d|[A-Za-z]|\\[a-z]+)\s*(\d|\\[a-z]+)", r"\\\1{\2}{\3}"),
    (r"\\sqrt\s*(\d|[A-Za-z])", r"\\sqrt{\1}"),
)


def converted(tex: str, block: bool) -> str:
    """Return a formula as MathML."""
    for pattern, replacement in SAME:
        tex = re.sub(pattern, replacement, tex)
    return tex2mathml(tex, as_block=block)


def draw(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula into the page."""
    try:
        writer.body.append(converted(node.astext(), isinstance(node, nodes.math_block)))
    except MathError as error:
        logging.getLogger(__name__).warning(f"no MathML for {node.astext()!r}: {error}", location=node)
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer; conf.py chooses it."""
    app.add_html_math_renderer("mathml", (draw, None), (draw, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

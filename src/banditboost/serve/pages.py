"""The files of the live page, which are in the wheel: nothing is fetched from elsewhere, and no other file is served."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""What a browser may do with the page: run and load what comes from this service, and nothing that stands in its text."""
_KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "txt": "text/plain"}
_FILES = ("live.css", "live.js", "plots.js", "uPlot.css", "uPlot.js", "icon.svg", "LICENSE-uPlot.txt")
PATHS = {"/": "index.html", **{f"/static/{name}": name for name in _FILES}}
"""The addresses of the page; they hold no data, and need no key."""


class Page(NamedTuple):
    """A file as it is sent."""

    body: bytes
    headers: dict[str, str]


def read(path: str, keys: bool) -> Page:
    """Return what is at one of the addresses.

    Parameters
    ----------
    path
        One of `PATHS`.
    keys
        Whether callers need a key, for which the page then asks.
    """
    name = PATHS[path]
    body = resources.files("banditboost.serve").joinpath("static", name).read_bytes()
    if keys:
        body = body.replace(b'data-keys="no"', b'data-keys="yes"')
    kind = f"{_KINDS[name.rpartition('.')[2]]}; charset=utf-8"
    headers = {"content-type": kind, "content-security-policy": POLICY, "referrer-policy": "no-referrer"}
    return Page(body, headers | {"cache-control": "no-cache", "cross-origin-opener-policy": "same-origin"})

"""Checks every link of a built site that stays within it: `python tools/check_links.py docs/_build/html`.

A link must lead to a file that is there, and its anchor to an element of that file. Nothing outside is asked.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a tag leads, and what leads to it."""
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        if found := values.get(LINKS.get(tag, "")):
            self.links.append(found)


@cache
def parsed(file: Path) -> Page:
    """Return a page, which is read once."""
    return Page(file.read_text(encoding="utf-8"))


def _pages(site: Path) -> list[Path]:
    """Return the pages of a site; what the theme keeps beside its style sheets is none."""
    return [file for file in sorted(site.rglob("*.html")) if "_static" not in file.relative_to(site).parts]


def problems(site: Path) -> list[str]:
    """Return a sentence for every link that leads nowhere."""
    found = []
    for file in _pages(site):
        for link in parsed(file).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{file.relative_to(site)}: {link} leads to no file.")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in parsed(target).anchors:
                found.append(f"{file.relative_to(site)}: {link} leads to no place of its page.")
    return found


def main(site: Path) -> int:
    """Print what is wrong; return 1 where anything is, or where there is no page."""
    pages = len(_pages(site))
    wrong = problems(site)
    print("\n".join(wrong) + "\n" if wrong else "", end="")
    print(f"{pages:,} pages, {len(wrong)} links that lead nowhere.")
    return int(bool(wrong) or pages == 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

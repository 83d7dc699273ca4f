"""The site and the reports in a browser: no error on the console, nothing beyond the page's width, no serious finding of axe.

The site is that of `make docs`; Chromium is the system's, or the one that `CHROMIUM` names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parent.parent.parent
SITE = ROOT / "docs" / "_build" / "html"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PAGES = ("index", "price", "reference/index", "reference/banditboost.Booster")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "Chromium must be installed, or CHROMIUM name it"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a run report, and that of `make run` on one data set."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, 600)).round(3)
    side = rng.choice(["north", "south <b>"], 600)
    y = (5 * a + (side == "north") + 0.1 * rng.standard_normal(600)).round(3)
    rows = "".join(f"{x},{z},{word},{label}\n" for x, z, word, label in zip(a, b, side, y, strict=True))
    (folder / "table.csv").write_text(f"a,a column with quite a long name,side,y\n{rows}")
    command = [sys.executable, "-m", "banditboost"]
    run = ["run", "table.csv", "--target", "y", "--bands", "--drifts", "--quiet", "--report", "."]
    story = ["reproduce", "story", "--datasets", "abalone", "--runs", "1", "--quiet", "--report", "."]
    for arguments in (run, story):
        subprocess.run([*command, *arguments], cwd=folder, check=True, capture_output=True)
    return {"run": folder / "run.html", "story": folder / "story.html"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the site to this machine alone; pages that are opened as files may not read their own style sheets."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def look(chromium: Any, page_at: str, width: int, scheme: str) -> tuple[list[str], int, list[str]]:
    """Return errors on the console, how many pixels stick out, and axe's findings that are serious or worse."""
    from axe_playwright_python.sync_playwright import Axe

    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, errors = context.new_page(), list[str]()
    page.on(
        "console",
        lambda message: errors.append(f"{message.text} {message.location['url']}") if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(page_at)
    page.wait_for_load_state()
    out = int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
    seen = list(errors)  # axe asks for style sheets by wrong addresses, which is no fault of the page
    found = Axe().run(page).response["violations"]
    serious = [
        f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found if one["impact"] in ("serious", "critical")
    ]
    context.close()
    return seen, out, serious


SEEN = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]


@pytest.mark.parametrize(("width", "scheme"), SEEN)
@pytest.mark.parametrize("report", ["run", "story"])
def test_reports(chromium: Any, reports: dict[str, Path], report: str, width: int, scheme: str) -> None:
    assert look(chromium, reports[report].as_uri(), width, scheme) == ([], 0, [])


@pytest.mark.parametrize(("width", "scheme"), SEEN)
@pytest.mark.parametrize("page", PAGES)
def test_site(chromium: Any, address: str, page: str, width: int, scheme: str) -> None:
    assert (SITE / f"{page}.html").is_file(), "make docs builds the site"
    assert look(chromium, f"{address}/{page}.html", width, scheme) == ([], 0, [])


def test_every_class_and_function_shows_its_source() -> None:
    """The repository has no public address, so that links to the source lead to pages of the site."""
    pages = [page.read_text() for page in sorted((SITE / "reference").glob("banditboost.*.html"))]
    defined = [text for text in pages if '<dl class="py class">' in text or '<dl class="py function">' in text]
    assert len(defined) > 100
    assert [text[:200] for text in defined if "_modules/banditboost/" not in text] == []


def test_what_is_wrong_is_noticed(chromium: Any, tmp_path: Path) -> None:
    """A page with an error, something too wide, and a picture without a text."""
    (tmp_path / "bad.html").write_text(
        "<!doctype html><html lang='en'><title>Bad</title><main><h1>Bad</h1><div style='width:2000px'>wide</div>"
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='></main><script>throw Error('x')</script></html>"
    )
    errors, out, serious = look(chromium, (tmp_path / "bad.html").as_uri(), 400, "light")
    assert errors
    assert out > 1000
    assert any(found.startswith("image-alt") for found in serious)

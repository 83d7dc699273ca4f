"""The live page in a real browser: what it shows and how soon, with a keyboard, without a mouse, on small screens, in the dark."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from banditboost.serve.catalog import Catalog
from banditboost.serve.server import DRAIN_SECONDS
from tests.serve.common import RECIPE, SHOP, Process

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
GUARD = {"baseline": 9.5, "share": 0.3, "bounds": [-100, 100], "after": 20, "window": 200}
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra dev).")
    if CHROMIUM is None:
        pytest.skip("There is no chromium on this machine: install it, or name it in the variable CHROMIUM.")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A service with a guarded booster that was told a few hundred rounds, has fallen back and plays again."""
    one = Process(tmp_path_factory.mktemp("browser") / "data")
    recipe = RECIPE | {"algorithm": "boosted", "memory": None, "drifts": True, "maximize": True}
    assert one.http.put(SHOP, json={"recipe": recipe, "guard": GUARD}).status_code == 201
    assert one.http.put("/v1/boosters/plain", json={"recipe": RECIPE}).status_code == 201
    rounds(one, 400, worse=0.0)
    rounds(one, 400, worse=90.0)
    assert one.http.get(f"{SHOP}/guard").json()["state"] == "fallen back"
    one.http.post(f"{SHOP}/guard", json={"state": "on"})
    rounds(one, 120, worse=0.0)
    yield one
    one.end()


def rounds(one: Process, number: int, worse: float) -> None:
    """Rounds in which the booster earns less than the baseline by so much."""
    rng = np.random.default_rng(number)
    for _ in range(number // 20):
        tickets = one.http.post(f"{SHOP}/ask", json={"contexts": rng.uniform(0, 1, (20, 2)).tolist()}).json()["tickets"]
        tells = [
            {
                "ticket": t["ticket"],
                "rewards": 50 - (t["action"] - 9) ** 2 / 9 - worse * (t["policy"] == "booster") + rng.normal(),
            }
            for t in tickets
        ]
        assert one.http.post(f"{SHOP}/tell", json={"tells": tells}).status_code == 200


def wait(page: Any, true: str, arg: Any = None, seconds: float = 15.0) -> None:
    """Wait until an expression is true: the page's own policy lets no text be run in it, as Playwright's waiting would."""
    until = time.monotonic() + seconds
    while not page.evaluate(true, arg):
        assert time.monotonic() < until, true
        time.sleep(0.05)


class Opened:
    """A page, and what went wrong on it."""

    def __init__(self, browser: Any, url: str, **settings: Any) -> None:
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on(
            "console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)

    def live(self) -> Any:
        wait(self.page, "document.getElementById('status').textContent === 'Live'")
        return self.page


@pytest.fixture
def opened(browser: Any, service: Process) -> Iterator[Any]:
    pages: list[Opened] = []

    def make(url: str = service.url, **settings: Any) -> Opened:
        pages.append(Opened(browser, url, **settings))
        return pages[-1]

    yield make
    for one in pages:
        one.context.close()


def test_a_decision_is_shown_within_two_seconds_of_its_tell(opened: Any, service: Process) -> None:
    one = opened()
    page = one.live()
    page.get_by_role("button", name="shop").click()
    wait(page, "document.getElementById('detail-title').textContent === 'shop'")
    ticket = service.http.post(f"{SHOP}/ask", json={"context": [0.1, 0.2]}).json()["ticket"]
    assert service.http.post(f"{SHOP}/tell", json={"ticket": ticket, "rewards": 31.4159}).status_code == 200
    wait(
        page,
        "([ticket, value]) => [...document.querySelectorAll('#latest tr')].some((row) => row.cells[0].textContent === ticket "
        "&& row.cells[4].textContent === value)",
        [ticket, "31.416"],
        seconds=2.0,
    )
    assert one.wrong == []
    assert {url.partition("//")[2].partition("/")[0] for url in one.asked} == {service.url.removeprefix("http://")}


def test_all_of_it_is_there(opened: Any) -> None:
    page = opened().live()
    page.get_by_role("button", name="shop").click()
    page.wait_for_selector("#events li")
    assert page.locator("#boosters tr").count() == 2
    text = page.inner_text("main")
    for words in ("Mean reward a round", "Lost more than the baseline", "How far decisions lie from predictions",
                  "Decisions a second", "Latest decisions", "Answers too late", "Drift alarms", "% at all times"):  # fmt: skip
        assert words in text
    assert "fall-back" in page.inner_text("#events")
    assert page.locator("canvas").count() == 4
    drawn = page.evaluate(
        "[...document.querySelectorAll('canvas')].map((c) => "
        "new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size)"
    )
    assert all(colours > 5 for colours in drawn)
    page.get_by_role("button", name="plain").click()
    wait(page, "document.getElementById('detail-title').textContent === 'plain'")
    wait(page, "document.querySelectorAll('#events li').length === 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_fits_and_anybody_can_read_it(opened: Any, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra dev).")
    one = opened(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = one.live()
    page.get_by_role("button", name="shop").click()
    page.wait_for_selector("#events li")
    page.locator("summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.Axe().run(page).response["violations"]
    assert [
        (fault["id"], fault["nodes"][0]["html"]) for fault in found if fault["impact"] in ("serious", "critical")
    ] == []
    assert one.wrong == []
    if folder := os.environ.get("SCREENSHOTS"):
        time.sleep(2.0)
        page.screenshot(path=str(Path(folder) / f"live-{width}-{scheme}.png"), full_page=True)


def test_axe_notices_what_nobody_can_read(opened: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra dev).")
    page = opened().live()
    page.evaluate("document.getElementById('status').style.color = '#f2f2f2'")
    found = axe.Axe().run(page).response["violations"]
    assert "color-contrast" in {fault["id"] for fault in found}


def test_a_keyboard_is_enough(opened: Any) -> None:
    page = opened().live()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "shop":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#events li")
    assert (
        page.evaluate("document.activeElement.textContent") == "shop"
    )  # what is shown anew does not take the focus away
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("figure table tbody tr")
    assert page.locator("figure").first.locator("tbody tr").count() == 20


def test_it_survives_a_restart(opened: Any, tmp_path: Path) -> None:
    service = Process(tmp_path / "data")
    try:
        service.http.put(SHOP, json={"recipe": RECIPE})
        one = opened(service.url)
        page = one.live()
        began = time.monotonic()
        service.end()
        assert time.monotonic() - began < DRAIN_SECONDS - 5  # although a stream is open
        wait(page, "document.getElementById('status').className === 'bad'")
        service = Process(tmp_path / "data", port=service.port)
        ticket = service.http.post(f"{SHOP}/ask", json={"context": [0.1, 0.2]}).json()["ticket"]
        wait(page, "(ticket) => document.getElementById('latest').textContent.includes(ticket)", ticket)
        assert page.inner_text("#status") == "Live"
        assert [text for text in one.wrong if "ERR_CONNECTION" not in text and "ERR_INCOMPLETE" not in text] == []
    finally:
        service.end()


def test_a_key_is_asked_for_and_stays_out_of_addresses(opened: Any, tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "data")
    key, stranger = catalog.add_key("acme", "read"), catalog.add_key("other", "read")
    admin = catalog.add_key("acme", "admin")
    catalog.close()
    service = Process(tmp_path / "data", "--log-requests")
    try:
        given = {"authorization": f"Bearer {admin}"}
        assert httpx.put(service.url + SHOP, json={"recipe": RECIPE}, headers=given).status_code == 201
        one = opened(service.url)
        page = one.page
        page.wait_for_selector("#key-form:not([hidden])")
        assert one.wrong == []
        page.fill("#key", "nonsense")
        page.keyboard.press("Enter")
        wait(page, "document.getElementById('status').textContent.includes('not taken')")
        page.fill("#key", stranger)
        page.keyboard.press("Enter")
        one.live()
        assert page.locator("#boosters tr").count() == 0
        two = opened(service.url)
        two.page.fill("#key", key)
        two.page.keyboard.press("Enter")
        two.live()
        assert two.page.inner_text("#boosters button") == "shop"
        assert two.wrong == []
        assert not any(secret in url for secret in (key, stranger) for url in one.asked + two.asked)
        assert two.page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])") == '[{},{},""]'
    finally:
        service.end()
    assert key not in service.log.read_text()


def test_markup_is_inert(opened: Any, service: Process) -> None:
    """Names cannot hold markup; whatever else is a text is set as one, also where the service should let it through."""
    one = opened()
    page = one.live()
    page.route("**/v1/live*", lambda route: route.fulfill(
        content_type="text/event-stream",
        body="data: " + json.dumps(spoiled(service)) + "\n\n",
    ))  # fmt: skip
    page.get_by_role("button", name="plain").click()
    wait(page, "document.getElementById('detail-title').textContent.includes('onerror')")
    assert page.locator("img").count() == 0
    assert MARKUP in page.inner_text("#events")
    assert MARKUP in page.inner_text("#latest tr:last-child")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p onclick=\"document.title = 1\" id=\"p\">x</p>')")
    page.click("#p")
    assert page.title() == "banditboost"  # nothing that stands in the text of the page is ever run
    assert any("Content Security Policy" in text for text in one.wrong)


def spoiled(service: Process) -> dict[str, Any]:
    with service.http.stream("GET", "/v1/live?booster=shop") as answer:
        first = next(line for line in answer.iter_lines() if line.startswith("data: "))
    shown: dict[str, Any] = json.loads(first.removeprefix("data: "))
    shown["chosen"] = shown["boosters"][0]["name"] = MARKUP
    shown["booster"]["events"][0]["text"] = shown["booster"]["latest"][0]["ticket"] = MARKUP
    shown["booster"]["decision"] = [MARKUP]
    return shown


def test_the_page_says_what_a_browser_may_do(service: Process) -> None:
    answer = service.http.get("/")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert service.http.get("/static/../catalog.sqlite").status_code == 404

"""Links that lead nowhere are found, on the site and in README as the package index renders it."""

from __future__ import annotations

import importlib
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from readme_renderer import markdown

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("check_links")


def site(folder: Path, link: str) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "page.html").write_text('<h1 id="here">A page</h1><a href="../index.html#top">back</a>')
    (folder / "index.html").write_text(
        f'<p id="first"><a href="{link}">a link</a><a href="https://example.org/x">out</a></p>'
    )
    return folder


@pytest.mark.parametrize("link", ["sub/page.html", "sub/page.html#here", "#first", "#", "mailto:a@b.c"])
def test_good_links_pass(tool: ModuleType, tmp_path: Path, link: str) -> None:
    assert tool.problems(site(tmp_path / "site", link)) == []


@pytest.mark.parametrize("link", ["sub/gone.html", "sub/page.html#gone", "#gone", "../../elsewhere.html"])
def test_links_that_lead_nowhere_are_named(tool: ModuleType, tmp_path: Path, link: str) -> None:
    (problem,) = tool.problems(site(tmp_path / "site", link))
    assert problem.startswith(f"index.html: {link} leads to no")
    assert tool.main(tmp_path / "site") == 1


class Targets(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found += [str(values[name]) for name in ("href", "src") if values.get(name)]


def broken_on_the_index(text: str) -> list[str]:
    """Links and pictures of a description that the package index would show and that lead nowhere there."""
    rendered = markdown.render(text)
    assert rendered is not None
    return [found for found in Targets(rendered).found if not found.startswith(("https://", "mailto:", "#"))]


def shown_on_the_index() -> str:
    core = ProjectMetadata(str(ROOT), PluginManager()).core
    assert core.readme_content_type == "text/markdown"
    return core.readme


def test_readme_has_no_broken_link_on_the_package_index() -> None:
    text = shown_on_the_index()
    assert broken_on_the_index(text) == []
    assert "`docs/start.md`" in text
    assert "source distribution" in text.split("##")[0]
    assert broken_on_the_index((ROOT / "README.md").read_text()), "without the substitutions links would lead nowhere"


def test_readme_leads_to_files_that_are_there() -> None:
    rendered = markdown.render((ROOT / "README.md").read_text())
    assert rendered is not None
    targets = [found for found in Targets(rendered).found if "://" not in found and not found.startswith("#")]
    assert len(targets) > 30
    assert [found for found in targets if not (ROOT / found).exists()] == []


def test_metadata_is_complete_and_names_no_address_that_is_not_there() -> None:
    core = ProjectMetadata(str(ROOT), PluginManager()).core
    assert core.description
    assert core.keywords
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.11"} <= set(core.classifiers)
    assert not core.urls, "no public address of the project is known"

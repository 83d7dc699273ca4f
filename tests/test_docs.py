"""The pages of the site: their code runs and prints what they say, and they name everything there is."""

from __future__ import annotations

import importlib.util
import inspect
import re
import signal
import sys
from pathlib import Path
from types import ModuleType

import matplotlib
import numpy as np
import pytest

import banditboost as bb
from banditboost.interop import river, sklearn
from tests.pages import DOCS, blocks, run

PAGES = [page for page in sorted(DOCS.glob("*.md")) if blocks(page)]
TASKS = ("price", "controller", "bid", "from_log", "service")
PRINTING = {
    *TASKS,
    "coming_from",
    "index",
    "start",
    "which",
    "continuous",
    "walkthrough",
    "theory",
    "extending",
    "interop",
    "drift",
}
PACKAGES = [part for name in bb.__all__ if inspect.ismodule(part := getattr(bb, name)) and hasattr(part, "__all__")]


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in TASKS], ids=lambda page: page.stem)
def test_code_runs_and_prints_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)  # where a page saves a model
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        _, checked = run(page)
    finally:  # a page may set its own
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert checked or page.stem not in PRINTING, "a page whose code prints nothing checks nothing"


MARGINS = {"price": 1.05, "bid": 1.2, "controller": 1 / 1.2, "from_log": 1 / 1.2, "service": 1 / 1.2}
"""How far each task beats the best constant of hindsight: gains are above it so many times, costs below it."""


def beaten(task: str, ours: float, constant: float) -> bool:
    """Whether a result beats a constant by the margin of its task."""
    return ours > MARGINS[task] * constant if MARGINS[task] > 1 else ours < MARGINS[task] * constant


@pytest.mark.parametrize("task", TASKS)
def test_every_task_does_better_than_the_best_constant_decision(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page, checked = run(DOCS / f"{task}.md")
    assert checked > 5
    assert beaten(task, page.ours, page.constant), (page.ours, page.constant)
    assert not beaten(task, page.constant, page.constant), "the constant does not beat itself"


def test_the_pages_with_code_are_found() -> None:
    assert {page.stem for page in PAGES} >= PRINTING


def test_a_page_that_says_something_false_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\n>>> x + 1\n2\n\n```\n\n```python\n>>> x\n3\n\n```\n")
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+1"):
        run(page)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The program that writes the pages of the reference."""
    spec = importlib.util.spec_from_file_location("reference_pages", DOCS / "reference_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference_pages"] = module
    spec.loader.exec_module(module)
    return module


def missing(reference: ModuleType) -> set[str]:
    """What is public and has no page."""
    public = {f"{package.__name__}.{name}" for package in PACKAGES for name in package.__all__}
    public |= {f"banditboost.{name}" for name in bb.__all__ if inspect.isclass(getattr(bb, name))}
    for library, kinds in (("sklearn", sklearn), ("river", river)):
        public |= {f"banditboost.interop.{library}.{name}" for name in vars(kinds) if name.startswith("Boosted")}
    own = {name for name in public if not inspect.ismodule(getattr(bb, name.rpartition(".")[2], None))}
    elsewhere = {
        "banditboost.Client",
        "banditboost.AsyncClient",
    }  # under banditboost.serve.client, where they are defined
    return own - elsewhere - {name for name, _ in reference.pages()}


def test_everything_public_has_a_page_of_its_own(reference: ModuleType) -> None:
    assert missing(reference) == set()
    assert len(list(reference.pages())) > 200


def test_a_name_without_a_page_is_noticed(reference: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "SECTIONS", tuple(one for one in reference.SECTIONS if one.title != "River"))
    assert missing(reference) == {f"banditboost.interop.river.Boosted{kind}" for kind in ("Regressor", "Classifier")}


def test_pages_are_written_and_old_ones_removed(reference: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "banditboost.Gone.rst").write_text("of an earlier version")
    files = reference.write(tmp_path)
    assert sorted(tmp_path.glob("*.rst")) == files
    text = (tmp_path / "banditboost.Booster.rst").read_text()
    assert ".. autoclass:: banditboost.Booster\n   :members:\n" in text
    assert (
        "autofunction:: banditboost.algorithms.boosted" in (tmp_path / "banditboost.algorithms.boosted.rst").read_text()
    )
    assert "~banditboost.interop.sklearn.BoostedRegressor" in (tmp_path / "index.rst").read_text()


def test_every_bound_is_on_the_page_of_theory_with_a_call() -> None:
    text = (DOCS / "theory.md").read_text()
    for name in bb.theory.__all__:
        assert f"`{name}`" in text
        if inspect.isfunction(getattr(bb.theory, name)):
            assert f"theory.{name}(" in text


def test_the_glossary_names_what_exists() -> None:
    """Every dotted name in the last column of a table is an attribute of a class, an instance, or a module of the library."""
    rows = [line.split("|") for line in (DOCS / "glossary.md").read_text().splitlines() if line.startswith("| **")]
    names = {name for row in rows for name in re.findall(r"`([A-Za-z_]+(?:\.[A-Za-z_]+)+)", row[-2])}
    booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), copies=3, answers=1)
    ticket = booster.ask([0.5])
    trace = bb.evaluate.Trace(losses=np.zeros(1), paid=np.zeros(1), predictions=np.zeros(1))
    known = {**vars(bb), "banditboost": bb, "World": bb.worlds.World, "Bank": bb.learners.Bank}
    known |= {"Booster": booster, "Ticket": ticket, "Probe": ticket.probe, "Trace": trace}
    assert len(names) > 20
    for name in sorted(names):
        head, *rest = name.split(".")
        part = known[head]
        for attribute in rest:
            assert hasattr(part, attribute), f"the glossary names {name}, which does not exist"
            part = getattr(part, attribute)


@pytest.mark.parametrize("page", ["docs/index.md", "docs/start.md", "docs/guide.md", "README.md"])
def test_the_glossary_is_linked(page: str) -> None:
    assert "glossary" in (DOCS.parent / page).read_text()


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        return run(DOCS / "extending.md")[0]


@pytest.mark.parametrize("kind", ["Binned", "Others", "Quarter", "Tolerant"])
def test_parts_made_on_the_page_pass_the_generic_checks(kind: str, extended: ModuleType) -> None:
    for part in getattr(extended, kind).examples():
        bb.testing.check_part(part)


FORGOTTEN = {
    "the kernel's file": (
        "# parts/binned_kernel.py\n",
        "# parts/elsewhere.py\n",
        "No module named 'parts.binned_kernel'",
    ),
    "an operation": ("@implements(learn, Bins)\n", "", "The compiled form Bins of the learner must implement learn"),
    "the hook": (
        "def compiled_form(self, shown",
        "def another_form(self, shown",
        "no compiled loop for the learner Binned",
    ),
    "the export": ("from parts.binned import Binned\n", "", "cannot import name 'Binned' from 'parts'"),
    "a control variate's hook": ("def compiled_control(", "def another(", "no compiled loop for the gradient Others"),
    "a control variate's operation": ("@implements(usual, OtherAnswers)\n", "", "must implement usual"),
    "a space's hook": (
        "def compiled_form(self):\n        from parts.quarter",
        "def x(self):\n        from parts.quarter",
        "the space Quarter",
    ),
    "a space's operation": ("@implements(tangent, QuarterBall)\n", "", "must implement tangent"),
    "a loss's operation": ("@implements(slope, BeyondTolerance)\n", "", "must implement slope"),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_what_is_forgotten_on_the_page_is_said(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, instead, said = FORGOTTEN[what]
    text = (DOCS / "extending.md").read_text()
    assert written in text
    page = tmp_path / "extending.md"
    page.write_text(text[: text.index("## The checks")].replace(written, instead, 1))
    monkeypatch.chdir(tmp_path)
    with pytest.raises((AssertionError, ImportError), match=re.escape(said)):
        run(page)

"""Writes the pages of the reference before the site is built: one for every public class, function and constant.

`docs/reference/` is generated and not kept; `SECTIONS` is the one list of what the reference has, and a test holds it against what
is public.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOREIGN = "RegressorMixin, ClassifierMixin, BaseEstimator, Regressor, Classifier, Estimator, Base"
ROUTING = "get_metadata_routing, set_fit_request, set_partial_fit_request, set_score_request"
FOLDER = Path(__file__).parent / "reference"


class Section(NamedTuple):
    """A module whose names have pages, and what it is for."""

    title: str
    module: str
    about: str
    names: tuple[str, ...] = ()
    """Which names; all that the module calls public where there are none."""


TOP = (
    "Booster", "Ticket", "NotInFlightError", "BoosterSpec", "Named", "Log", "LogBlock", "LogWriter", "Journal", "JournalWarning",
)  # fmt: skip

SECTIONS = (
    Section("Boosters, tickets, logs", "banditboost", "What a program holds in its hands: ask, tell, predict, save.", TOP),
    Section("Algorithms", "banditboost.algorithms", "Functions that build a booster; start with `boosted`."),
    Section("scikit-learn", "banditboost.interop.sklearn", "Estimators for pipelines and searches.",
            ("BoostedRegressor", "BoostedClassifier")),
    Section("River", "banditboost.interop.river", "Estimators that learn one row at a time.",
            ("BoostedRegressor", "BoostedClassifier")),
    Section("The client of a service", "banditboost.serve.client", "`banditboost serve` from Python.",
            ("Client", "RemoteBooster", "RemoteTicket", "AsyncClient", "AsyncRemoteBooster", "ServiceError")),
    Section("Spaces", "banditboost.spaces", "Where decisions lie."),
    Section("Exploration", "banditboost.explore", "How far from the recommended decision others are tried.", ("Explore",)),
    Section("Bands", "banditboost.bands", "Between which values a loss will lie.", ("Conformal", "LossBand", "OutcomeBand")),
    Section("Drifts", "banditboost.drifts", "Alarms where the world has changed.", ("Detector", "Alarm")),
    Section("Named features", "banditboost.encoder", "Words, dates and missing values as features."),
    Section("Evaluation", "banditboost.evaluate", "Runs, traces, comparators, what mattered, and policies on record."),
    Section("Worlds", "banditboost.worlds", "Environments in which the true loss is known."),
    Section("Losses", "banditboost.losses", "What a prediction costs."),
    Section("Noise", "banditboost.noise", "What is added to loss values."),
    Section("Learning rates", "banditboost.rates", "Step sizes, round by round."),
    Section("Data sets", "banditboost.datasets", "The embedded tables, and tables of your own."),
    Section("Weak learners", "banditboost.learners", "Who proposes decisions: the copies of a booster."),
    Section("Chains", "banditboost.chains", "How the proposals of all copies become one prediction."),
    Section("Gradients", "banditboost.gradients", "Which points are asked about, and how loss values become gradients."),
    Section("Critics", "banditboost.critics", "What is remembered about the loss, as a part of its own."),
    Section("Theory", "banditboost.theory", "Every bound as a function."),
    Section("Recipes by name", "banditboost.algorithms.names",
            "The table that the command line, scikit-learn and River read.",
            ("LEARNERS", "GRADIENTS", "LOSSES", "named", "learner_numbers")),
    Section("Checks for parts of your own", "banditboost.testing", "What a part has to keep."),
    Section("Extending", "banditboost.extending", "What a compiled part of your own needs."),
)  # fmt: skip


def names_of(section: Section) -> tuple[str, ...]:
    """Return the names of a section, in the order of their module."""
    module = importlib.import_module(section.module)
    return section.names or tuple(module.__all__)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every page."""
    for section in SECTIONS:
        module = importlib.import_module(section.module)
        for name in names_of(section):
            full = f"{section.module}.{name}"
            yield full, _page(full, getattr(module, name))
    yield "index", _index()


def _page(full: str, part: object) -> str:
    title = f"{full}\n{'=' * len(full)}\n\n"
    if inspect.ismodule(part):
        return f"{title}.. automodule:: {part.__name__}\n   :members:\n"
    if inspect.isclass(part):
        kind = "autoexception" if issubclass(part, Exception) else "autoclass"
        inherited = "   :show-inheritance:\n"
        if full == "banditboost.Booster":  # its bases are files in which its methods stand, and nobody's concern
            inherited = "   :inherited-members:\n"
        if ".interop." in full:  # methods of their own, and not those that every estimator of the other library has
            inherited += f"   :inherited-members: {FOREIGN}\n   :exclude-members: {ROUTING}\n"
        return f"{title}.. {kind}:: {full}\n   :members:\n{inherited}"
    return f"{title}.. {'autofunction' if callable(part) and hasattr(part, '__name__') else 'autodata'}:: {full}\n"


def _index() -> str:
    """Return the page that lists all others, each with its first sentence."""
    parts = [
        "Reference\n=========\n",
        "A page for every class and function. The :doc:`glossary </glossary>` explains the words that this library uses in a sense "
        "of its own. The search box above finds names, and *[source]* beside a name shows its code, which is part of this site.\n",
    ]
    for section in SECTIONS:
        module = importlib.import_module(section.module)
        shown = [name for name in names_of(section) if not inspect.ismodule(getattr(module, name))]
        names = "".join(f"   ~{section.module}.{name}\n" for name in shown)
        listed = "".join(f"   {section.module}.{name}\n" for name in names_of(section))
        parts.append(
            f"{section.title}\n{'-' * len(section.title)}\n\n{section.about.replace('`', '``')}\n\n"
            f".. autosummary::\n   :nosignatures:\n\n{names}\n.. toctree::\n   :hidden:\n\n{listed}"
        )
    return "\n".join(parts)


def write(folder: Path = FOLDER) -> list[Path]:
    """Write all pages whose text has changed, remove those that are no longer wanted, and return the files."""
    folder.mkdir(exist_ok=True)
    wanted = {folder / f"{name}.rst": text for name, text in pages()}
    for old in set(folder.glob("*.rst")) - set(wanted):
        old.unlink()
    for file, text in wanted.items():
        if not file.is_file() or file.read_text() != text:
            file.write_text(text)
    return sorted(wanted)

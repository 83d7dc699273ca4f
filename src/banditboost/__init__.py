"""Online learning from loss values alone: boosting with bandit feedback, projection-free online convex optimisation.

Everything is one loop, `Booster`, with four parts: a learner, a chain, a gradient and a space. Named algorithms are
recipes in `algorithms`. The idea is explained in ``docs/design.md``, and the library's own words (copies, chain, ticket,
answers, told, ...) in ``docs/glossary.md``.
"""

from banditboost import (
    algorithms,
    bands,
    chains,
    critics,
    datasets,
    drifts,
    encoder,
    evaluate,
    explore,
    extending,
    gradients,
    learners,
    losses,
    noise,
    rates,
    spaces,
    testing,
    theory,
    worlds,
)
from banditboost._core.callables import Named
from banditboost._core.version import __version__
from banditboost.booster import Booster, BoosterSpec, NotInFlightError, Ticket
from banditboost.journal import Journal, JournalWarning
from banditboost.logs import Log, LogBlock, LogWriter

__all__ = [
    "Booster",
    "BoosterSpec",
    "Journal",
    "JournalWarning",
    "Log",
    "LogBlock",
    "LogWriter",
    "Named",
    "NotInFlightError",
    "Ticket",
    "__version__",
    "algorithms",
    "bands",
    "chains",
    "critics",
    "datasets",
    "drifts",
    "encoder",
    "evaluate",
    "explore",
    "extending",
    "gradients",
    "learners",
    "losses",
    "noise",
    "rates",
    "spaces",
    "testing",
    "theory",
    "worlds",
]


def __dir__() -> list[str]:
    """List what a user needs; modules that are imported on the way are left out."""
    return __all__

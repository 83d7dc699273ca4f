"""Online learning from loss values alone: boosting with bandit feedback, projection-free online convex optimisation.

Everything is one loop, `Booster`, with four parts: a learner, a chain, a gradient and a space. Named algorithms are
recipes in `algorithms`. The idea is explained in ``docs/design.md``, and the library's own words (copies, chain, ticket,
answers, told, ...) in ``docs/glossary.md``.
"""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from banditboost.serve.client import AsyncClient as AsyncClient
    from banditboost.serve.client import Client as Client

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


def __getattr__(name: str) -> Any:
    """Import the clients of a service when they are first used: they need the extra ``serve``."""
    if name not in ("AsyncClient", "Client"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from banditboost.serve import client
    except ImportError as error:
        raise ImportError(f"{name} needs the extra 'serve': pip install 'banditboost[serve]' ({error}).") from None
    return getattr(client, name)

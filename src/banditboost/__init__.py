"""Online learning from loss values alone: boosting with bandit feedback, projection-free online convex optimisation.

Everything is one loop, `Booster`, with four parts: a learner, a chain, a gradient and a space. Named algorithms
are recipes in `algorithms`. See ``docs/design.md``.
"""

from banditboost import (
    algorithms,
    chains,
    datasets,
    evaluate,
    gradients,
    learners,
    losses,
    noise,
    rates,
    spaces,
    theory,
    worlds,
)
from banditboost._core.version import __version__
from banditboost.booster import Booster, BoosterSpec, NotInFlightError, Ticket
from banditboost.journal import Journal

__all__ = [
    "Booster",
    "BoosterSpec",
    "Journal",
    "NotInFlightError",
    "Ticket",
    "__version__",
    "algorithms",
    "chains",
    "datasets",
    "evaluate",
    "gradients",
    "learners",
    "losses",
    "noise",
    "rates",
    "spaces",
    "theory",
    "worlds",
]


def __dir__() -> list[str]:
    """List what a user needs; modules that are imported on the way are left out."""
    return __all__

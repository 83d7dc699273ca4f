"""Who plays: banks of N copies that propose points and learn from linear losses. One family per file.

Contextual learners (`Linear`, `Tree`, `Stump`, `Network`; `Scaled` and `Mixed` around others; `Wrapped` around foreign models)
look at a context; online linear optimizers (`FPL`, `OGD`, `FTRL`, `FrankWolfe`) play in the set itself.
"""

from banditboost.learners.base import Bank, Learner
from banditboost.learners.fpl import FPL
from banditboost.learners.frank_wolfe import FrankWolfe
from banditboost.learners.ftrl import FTRL
from banditboost.learners.linear import Linear
from banditboost.learners.mixed import Mixed
from banditboost.learners.network import Network
from banditboost.learners.ogd import OGD
from banditboost.learners.scaled import Scaled
from banditboost.learners.tree import Stump, Tree
from banditboost.learners.wrapped import Wrapped

__all__ = [
    "FPL",
    "FTRL",
    "OGD",
    "Bank",
    "FrankWolfe",
    "Learner",
    "Linear",
    "Mixed",
    "Network",
    "Scaled",
    "Stump",
    "Tree",
    "Wrapped",
]

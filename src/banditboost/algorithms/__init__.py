"""Named algorithms: recipes that build a `Booster`. One per file, each citing paper and algorithm number.

`banditboost.algorithms.names` is the one table of names that the command line, scikit-learn and River read.
"""

from banditboost.algorithms.bandit_boosting import bandit_boosting
from banditboost.algorithms.boosted import boosted
from banditboost.algorithms.gradient_boosting import gradient_boosting
from banditboost.algorithms.meta_frank_wolfe import meta_frank_wolfe
from banditboost.algorithms.morgfw import morgfw
from banditboost.algorithms.n_point_fkm import n_point_fkm
from banditboost.algorithms.ogd import ogd
from banditboost.algorithms.online_frank_wolfe import online_frank_wolfe
from banditboost.algorithms.pricing import pricing
from banditboost.algorithms.projection_free import projection_free
from banditboost.algorithms.projection_free_bandit import projection_free_bandit
from banditboost.algorithms.span_boosting import span_boosting

__all__ = [
    "bandit_boosting",
    "boosted",
    "gradient_boosting",
    "meta_frank_wolfe",
    "morgfw",
    "n_point_fkm",
    "ogd",
    "online_frank_wolfe",
    "pricing",
    "projection_free",
    "projection_free_bandit",
    "span_boosting",
]

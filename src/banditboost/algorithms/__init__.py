"""Named algorithms: recipes that build a `Booster`. One per file, each citing paper and algorithm number."""

from banditboost.algorithms.bandit_boosting import bandit_boosting
from banditboost.algorithms.gradient_boosting import gradient_boosting
from banditboost.algorithms.n_point_fkm import n_point_fkm
from banditboost.algorithms.ogd import ogd
from banditboost.algorithms.projection_free import projection_free
from banditboost.algorithms.projection_free_bandit import projection_free_bandit

__all__ = [
    "bandit_boosting",
    "gradient_boosting",
    "n_point_fkm",
    "ogd",
    "projection_free",
    "projection_free_bandit",
]

"""Checks for parts of your own: what every learner, chain, gradient, space, loss, rate and noise of this library is held to.

`check_part` finds out what a part is and runs every check for it. A check returns nothing, or raises an `AssertionError` whose
message is one sentence about what is wrong. No test framework is needed: call the checks from any test, or from a prompt.

Examples
--------
>>> import banditboost as bb
>>> check_part(bb.spaces.Ball(2, 1.5))
>>> check_learner(bb.learners.Linear(radius=2.0))
>>> check_booster(bb.algorithms.bandit_boosting(bb.spaces.Interval(-1, 1), copies=5))
"""

from banditboost._core.streams import stream
from banditboost.testing.boosters import check_booster
from banditboost.testing.parts import check_chain, check_gradient, check_learner, check_part, check_rate
from banditboost.testing.rounds import booster_with
from banditboost.testing.spaces import check_space
from banditboost.testing.specs import check_spec
from banditboost.testing.worlds import check_loss, check_noise

__all__ = [
    "booster_with",
    "check_booster",
    "check_chain",
    "check_gradient",
    "check_learner",
    "check_loss",
    "check_noise",
    "check_part",
    "check_rate",
    "check_space",
    "check_spec",
    "stream",
]

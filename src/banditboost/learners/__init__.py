"""Who plays: banks of N copies that propose points and learn from linear losses. One family per file."""

from banditboost.learners.base import Bank, Learner
from banditboost.learners.linear import Linear
from banditboost.learners.scaled import Scaled

__all__ = ["Bank", "Learner", "Linear", "Scaled"]

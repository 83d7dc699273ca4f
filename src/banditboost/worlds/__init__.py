"""Who answers: labelled data as bandit feedback, and synthetic worlds with known constants and comparators."""

from banditboost.worlds.base import World
from banditboost.worlds.classification import Classification
from banditboost.worlds.convex import Best, Convex
from banditboost.worlds.counted import Counted
from banditboost.worlds.in_weights import InWeights
from banditboost.worlds.linear import SyntheticLinear
from banditboost.worlds.matrices import Covariance, MatrixCompletion, drifting_covariance, ratings
from banditboost.worlds.portfolio import Portfolio, market
from banditboost.worlds.quadratic import Adaptive, FiniteSum, Quadratic, drifting, finite_sum, oblivious, stationary
from banditboost.worlds.scanned import Scanned
from banditboost.worlds.supervised import Supervised

__all__ = [
    "Adaptive",
    "Best",
    "Classification",
    "Convex",
    "Counted",
    "Covariance",
    "FiniteSum",
    "InWeights",
    "MatrixCompletion",
    "Portfolio",
    "Quadratic",
    "Scanned",
    "Supervised",
    "SyntheticLinear",
    "World",
    "drifting",
    "drifting_covariance",
    "finite_sum",
    "market",
    "oblivious",
    "ratings",
    "stationary",
]

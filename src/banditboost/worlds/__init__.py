"""Who answers: labelled data as bandit feedback, and synthetic worlds with known constants and comparators."""

from banditboost.worlds.base import World
from banditboost.worlds.convex import Best, Convex
from banditboost.worlds.linear import SyntheticLinear
from banditboost.worlds.portfolio import Portfolio, market
from banditboost.worlds.quadratic import Adaptive, FiniteSum, Quadratic, drifting, finite_sum, oblivious, stationary
from banditboost.worlds.supervised import Supervised

__all__ = [
    "Adaptive",
    "Best",
    "Convex",
    "FiniteSum",
    "Portfolio",
    "Quadratic",
    "Supervised",
    "SyntheticLinear",
    "World",
    "drifting",
    "finite_sum",
    "market",
    "oblivious",
    "stationary",
]

"""Who answers: labelled data as bandit feedback, and synthetic worlds with known comparators."""

from banditboost.worlds.base import World
from banditboost.worlds.linear import SyntheticLinear
from banditboost.worlds.supervised import Supervised

__all__ = ["Supervised", "SyntheticLinear", "World"]

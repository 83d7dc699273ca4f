"""Worlds answer the queries of a run: labelled data as bandit feedback, and synthetic worlds with known comparators."""

from banditboost.worlds.base import World
from banditboost.worlds.classification import Classification
from banditboost.worlds.convex import Best, Convex
from banditboost.worlds.counting import CountingWorld
from banditboost.worlds.covariance import Covariance, drifting_covariance
from banditboost.worlds.drift import Drift, Flip, Gradual, Incremental, Recurring, Virtual, Wandering
from banditboost.worlds.from_file import FromFile
from banditboost.worlds.linear import SyntheticLinear
from banditboost.worlds.matrix_completion import MatrixCompletion, ratings
from banditboost.worlds.portfolio import Portfolio, market
from banditboost.worlds.quadratic import Adaptive, FiniteSum, Quadratic, drifting, finite_sum, oblivious, stationary
from banditboost.worlds.shop import Shop
from banditboost.worlds.supervised import Supervised
from banditboost.worlds.weight_space import WeightSpace

__all__ = [
    "Adaptive",
    "Best",
    "Classification",
    "Convex",
    "CountingWorld",
    "Covariance",
    "Drift",
    "FiniteSum",
    "Flip",
    "FromFile",
    "Gradual",
    "Incremental",
    "MatrixCompletion",
    "Portfolio",
    "Quadratic",
    "Recurring",
    "Shop",
    "Supervised",
    "SyntheticLinear",
    "Virtual",
    "Wandering",
    "WeightSpace",
    "World",
    "drifting",
    "drifting_covariance",
    "finite_sum",
    "market",
    "oblivious",
    "ratings",
    "stationary",
]

"""How answers become gradients: which points to ask about, and what to make of what is told. One way per file."""

from banditboost.gradients.base import Gradient, Probe
from banditboost.gradients.exact import Exact, Stochastic
from banditboost.gradients.one_point import OnePoint

__all__ = ["Exact", "Gradient", "OnePoint", "Probe", "Stochastic"]

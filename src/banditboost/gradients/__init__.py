"""How answers become gradients: which points to ask about, and what to make of what is told. One way per file."""

from banditboost.gradients.averaged import Averaged
from banditboost.gradients.base import Gradient, Probe
from banditboost.gradients.exact import Exact, Stochastic
from banditboost.gradients.one_point import OnePoint
from banditboost.gradients.recursive import Recursive
from banditboost.gradients.surrogate import Surrogate

__all__ = ["Averaged", "Exact", "Gradient", "OnePoint", "Probe", "Recursive", "Stochastic", "Surrogate"]

"""Gradients: which points to ask about, and how the answers become gradients. Each file has one method."""

from banditboost.gradients.averaged import Averaged
from banditboost.gradients.base import CAP, Aim, Gradient, Limits, Moment, Probe
from banditboost.gradients.baseline import Baseline
from banditboost.gradients.budget import Budget
from banditboost.gradients.exact import Exact, Stochastic
from banditboost.gradients.fitted import Fitted
from banditboost.gradients.from_critic import FromCritic
from banditboost.gradients.one_point import OnePoint
from banditboost.gradients.recursive import Recursive
from banditboost.gradients.remembered import Remembered
from banditboost.gradients.residual import Residual
from banditboost.gradients.sphere import Sphere
from banditboost.gradients.surrogate import Surrogate
from banditboost.gradients.two_point import TwoPoint

__all__ = [
    "CAP",
    "Aim",
    "Averaged",
    "Baseline",
    "Budget",
    "Exact",
    "Fitted",
    "FromCritic",
    "Gradient",
    "Limits",
    "Moment",
    "OnePoint",
    "Probe",
    "Recursive",
    "Remembered",
    "Residual",
    "Sphere",
    "Stochastic",
    "Surrogate",
    "TwoPoint",
]

"""Off-policy evaluation: what a policy would have cost, from a log that another policy wrote."""

from banditboost.evaluate.ope.critic import LossModel, Regressor
from banditboost.evaluate.ope.off_policy import off_policy
from banditboost.evaluate.ope.policies import Exploring, HasDensity
from banditboost.evaluate.ope.result import AtBandwidth, Calibrated, OffPolicy

__all__ = ["AtBandwidth", "Calibrated", "Exploring", "HasDensity", "LossModel", "OffPolicy", "Regressor", "off_policy"]

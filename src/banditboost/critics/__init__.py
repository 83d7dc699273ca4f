"""Critics remember what decisions cost: models of the loss as a function of context and decision, learned from earlier rounds."""

from banditboost.critics.base import Critic
from banditboost.critics.sales import Sales

__all__ = ["Critic", "Sales"]

"""Critics remember what decisions cost: models of the loss as a function of context and decision, learned from earlier rounds."""

from banditboost.critics.sales import Sales

__all__ = ["Sales"]

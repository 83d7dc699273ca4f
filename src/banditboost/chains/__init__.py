"""Chains: how the plays of N copies become one prediction.

A chain turns the plays a_1 ... a_N into a path y^0 ... y^N. Feedback for copy i is asked at y^{i-1}, the point that the copies
before it have reached, and the prediction is y^N.
"""

from banditboost.chains.additive import Additive
from banditboost.chains.base import Chain
from banditboost.chains.convex_hull import ConvexHull, Harmonic
from banditboost.chains.mix import Mix
from banditboost.chains.single import Single
from banditboost.chains.span import Span
from banditboost.chains.trusted import Trusted

__all__ = ["Additive", "Chain", "ConvexHull", "Harmonic", "Mix", "Single", "Span", "Trusted"]

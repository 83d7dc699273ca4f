"""Evaluation: progressive validation, traces, regret, and comparators in hindsight."""

from banditboost.evaluate.callbacks import Callback, Checkpoint, EarlyStopping, Event, OnDrift, ProgressBar
from banditboost.evaluate.comparators import best_linear, running_mean
from banditboost.evaluate.dynamic import best_piecewise, dynamic_regret
from banditboost.evaluate.guard import Coins, Guard, Side
from banditboost.evaluate.importance import Importance, partial_dependence, permutation_importance
from banditboost.evaluate.noise import GradientNoise, gradient_noise
from banditboost.evaluate.ope import Exploring, HasDensity, LossModel, OffPolicy, off_policy
from banditboost.evaluate.plots import Plots
from banditboost.evaluate.progressive import progressive
from banditboost.evaluate.ridge import online_ridge
from banditboost.evaluate.run_log import Log
from banditboost.evaluate.sequences import ConfidenceSequence
from banditboost.evaluate.snapshots import Snapshots
from banditboost.evaluate.sweep import sweep
from banditboost.evaluate.trace import Trace
from banditboost.evaluate.weak import WeakLearning, weak_learning

__all__ = [
    "Callback",
    "Checkpoint",
    "Coins",
    "ConfidenceSequence",
    "EarlyStopping",
    "Event",
    "Exploring",
    "GradientNoise",
    "Guard",
    "HasDensity",
    "Importance",
    "Log",
    "LossModel",
    "OffPolicy",
    "OnDrift",
    "Plots",
    "ProgressBar",
    "Side",
    "Snapshots",
    "Trace",
    "WeakLearning",
    "best_linear",
    "best_piecewise",
    "dynamic_regret",
    "gradient_noise",
    "off_policy",
    "online_ridge",
    "partial_dependence",
    "permutation_importance",
    "progressive",
    "running_mean",
    "sweep",
    "weak_learning",
]

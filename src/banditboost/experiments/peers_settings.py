"""The settings that are tried for ours and for every peer: twenty each, the default among them, fixed before the run.

A range is a tuple of choices, or `Log(low, high)` for a number whose logarithm is uniform. Nineteen settings are drawn from the
ranges with a fixed seed. Ours have the same number, from the parts that were once chosen by hand.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any, NamedTuple

from banditboost.algorithms.boosted import boosted
from banditboost.algorithms.default_parts import linear_part, steady, tree_part
from banditboost.booster import Booster
from banditboost.chains import Trusted
from banditboost.experiments.peers import Setting
from banditboost.gradients import Exact
from banditboost.spaces import Interval

TRIALS = 20
"""Settings tried, with the default."""


class Log(NamedTuple):
    """A number between two others whose logarithm is uniform."""

    low: float
    high: float


BAG = "meta.OzaBag -s {} -l (trees.FIMTDD -s VarianceReductionSplitCriterion -g {} -c {} -e)"
OURS: dict[str, Any] = {
    "copies": (10, 30, 60),
    "step": (0.05, 0.1, 0.2, 0.4),
    "evidence": (2.0, 4.0, 8.0),
    "max_leaves": (16, 64, 256),
    "ridge": (0.1, 1.0, 10.0),
}
RANGES: dict[str, dict[str, Any]] = {
    "ours": OURS,
    "ridge": {"ridge": Log(1e-3, 1e3)},
    "forgetting_ridge": {"window": Log(5.0, 10_000.0), "ridge": (0.1, 1.0, 10.0)},
    "forgetting_mean": {"window": Log(2.0, 10_000.0)},
    "vw": {
        "-l": Log(0.02, 5.0),
        "--power_t": (0.0, 0.25, 0.5, 1.0),
        "--l2": (0.0, 1e-8, 1e-6, 1e-4),
        "-q": (None, "::"),
    },
    "vw_nn": {"--nn": (5, 10, 20, 40), "-l": Log(0.02, 5.0), "--power_t": (0.0, 0.25, 0.5), "--inpass": (None, True)},
    "river_linear": {
        "optimizer": ("SGD", "AdaGrad", "Adam"),
        "rate": Log(1e-4, 0.3),
        "l2": (0.0, 1e-4, 1e-2),
        "intercept_lr": Log(1e-3, 0.3),
    },
    "river_forest": {
        "n_models": (5, 10, 20),
        "grace_period": (20, 50, 200),
        "max_features": ("sqrt", 0.5, None),
        "leaf_prediction": ("mean", "adaptive"),
        "aggregation_method": ("mean", "median"),
        "delta": (0.01, 0.1),
        "lambda_value": (1, 6),
    },
    "river_tree": {
        "grace_period": (20, 50, 200),
        "leaf_prediction": ("mean", "model", "adaptive"),
        "model_selector_decay": (0.9, 0.95, 0.99),
        "delta": (1e-7, 1e-3, 0.1),
        "bootstrap_sampling": (True, False),
        "drift_window_threshold": (100, 300, 1000),
    },
    "sgbr": {
        "boosting_iterations": (5, 10, 20),
        "learning_rate": (0.1, 0.3, 1.0),
        "percentage_of_features": (50, 75, 100),
        "base_learner": tuple(BAG.format(n, g, c) for n in (5, 10) for g in (25, 50, 200) for c in (0.01, 0.1)),
    },
    "soknl": {
        "ensemble_size": (10, 30, 100),
        "max_features": (0.3, 0.6, 0.9),
        "lambda_param": (1.0, 6.0),
        "k_value": (5, 10, 20),
        "disable_drift_detection": (None, True),
    },
    "lightgbm": {
        "learning_rate": Log(0.02, 0.3),
        "n_estimators": (50, 100, 200, 400),
        "num_leaves": (7, 15, 31, 63),
        "min_child_samples": (5, 20, 50),
        "colsample_bytree": (0.5, 0.8, 1.0),
        "reg_lambda": (0.0, 1.0, 10.0),
    },
    "histogram": {
        "learning_rate": Log(0.02, 0.3),
        "max_iter": (50, 100, 200, 400),
        "max_leaf_nodes": (7, 15, 31, 63),
        "min_samples_leaf": (5, 20, 50),
        "max_features": (0.5, 0.8, 1.0),
        "l2_regularization": (0.0, 1.0, 10.0),
    },
}
"""The ranges, by who is tuned; where a choice is None, the library's default is left as it is."""


def settings(who: str) -> list[Setting]:
    """Return the twenty settings, the default first.

    Examples
    --------
    >>> settings("ridge")[0], len(settings("ridge")), settings("ours")[1]
    ({}, 20, {'copies': 60, 'step': 0.1, 'evidence': 4.0, 'max_leaves': 64, 'ridge': 1.0})
    """
    chance = random.Random(f"settings of {who}")
    found: list[Setting] = [{}]
    while len(found) < TRIALS:
        drawn = {name: _drawn(choices, chance) for name, choices in RANGES[who].items()}
        drawn = {name: value for name, value in drawn.items() if value is not None}
        if drawn not in found:
            found.append(drawn)
    return found


def _drawn(choices: Any, chance: random.Random) -> Any:
    if isinstance(choices, Log):
        return float(f"{math.exp(chance.uniform(math.log(choices.low), math.log(choices.high))):.3g}")
    return chance.choice(choices)


def ours(space: Interval, answers: int, setting: Setting, seed: int, memory: int | None = None) -> Booster:
    """Return the default with a number of answers a round (0: gradients are told), where a setting does not change it."""
    copies = setting.get("copies", 30)
    asked: dict[str, Any] = {"answers": answers} if answers else {"gradient": Exact()}
    plain = boosted(space, copies=copies, seed=seed, memory=memory, **asked)
    if not setting:
        return plain
    trees = tree_part(space, evidence=setting["evidence"], max_leaves=setting["max_leaves"])
    learner = steady(linear_part(ridge=setting["ridge"]), trees, copies)
    return Booster.from_spec(replace(plain.spec, learner=learner, chain=Trusted(step=setting["step"], first=1.0)))

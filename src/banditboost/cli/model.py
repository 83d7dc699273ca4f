"""Model files of the command line: a booster, and how the table it was trained on was encoded."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from banditboost._core import spec
from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.cli.setting import Setting
from banditboost.datasets import Encoding
from banditboost.losses import Loss

RENAMED = {"linear": "gradient-descent", "tree": "trees"}
"""Learners that had another name when files of format 2 were first written."""


class Model(NamedTuple):
    """A model that `run --save` wrote."""

    booster: Booster
    encoding: Encoding
    setting: Setting
    loss: Loss

    def predict(self, X: Array) -> Array:
        """Return the booster's predictions, one for every row, computed in blocks of rows."""
        return self.booster.predict_many(X)

    def probabilities(self, predictions: Array) -> Array | None:
        """Return the probabilities of the classes, shape (rows, classes); None where the target is a number."""
        if self.encoding.classes is None:
            return None
        if self.setting.loss == "logistic":
            second = expit(predictions)
            return np.column_stack([1 - second, second])
        return predictions


def load(path: Path) -> tuple[Booster, Model | None]:
    """Read a model file; the model is None where the booster was saved without a table."""
    booster = Booster.load(path)
    table = booster.extra.get("table")
    if table is None:
        return booster, None
    try:
        learner = table["setting"]["learner"]
        table["setting"]["learner"] = RENAMED.get(learner, learner)
        parts = [spec.from_dict(table[name]) for name in ("encoding", "setting", "loss")]
    except (KeyError, TypeError):
        parts = []
    kinds = (Encoding, Setting, Loss)
    if len(parts) != 3 or not all(isinstance(part, kind) for part, kind in zip(parts, kinds, strict=True)):
        raise ValueError(f"{path} is damaged: its description of the table cannot be read.")
    if len(parts[0].features) != booster.features and booster.bank is not None:
        raise ValueError(f"{path} is damaged: its table and its booster have different numbers of features.")
    return booster, Model(booster, *parts)


def load_model(path: Path) -> Model:
    """Read a model file, or raise where it does not describe a table."""
    return of_a_table(path, load(path)[1])


def of_a_table(path: Path, model: Model | None) -> Model:
    """Return a model that was read from a file, or raise where the file does not describe a table."""
    if model is None:
        raise ValueError(
            f"{path} must be a model of `banditboost run --save` or `banditboost warm`, got a booster that does not know the names "
            "of columns: in Python, Booster.load reads it and predict_many takes rows of numbers."
        )
    return model

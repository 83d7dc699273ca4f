"""River's own checks, all of them, with none left out."""

from __future__ import annotations

import random
from typing import Any

import pytest
from river import checks

from banditboost.interop.river import BoostedClassifier, BoostedRegressor

# Fewer copies than usual: every check plays hundreds of rounds, and none is about how well they end.
MODELS = [BoostedRegressor(), BoostedClassifier(copies=4)]
CASES = [(model, check) for model in MODELS for check in checks.yield_checks(model)]


@pytest.mark.parametrize(("model", "check"), CASES, ids=lambda part: getattr(part, "__name__", type(part).__name__))
def test_river_is_content(model: Any, check: Any) -> None:
    random.seed(0)  # the checks shuffle and drop features
    check(model.clone())


def test_no_check_is_left_out() -> None:
    """River yields more or fewer checks from version to version; a model that it takes for something else would get very few."""
    for model in MODELS:
        assert not model._unit_test_skips()
        assert sum(found is model for found, _ in CASES) >= 15

"""River's own checks, all of them, with none left out."""

from __future__ import annotations

import random
from importlib.metadata import version
from typing import Any

import pytest
from river import checks

from banditboost.interop.river import BoostedClassifier, BoostedRegressor

# Fewer copies than usual: every check plays hundreds of rounds, and none is about how well they end.
MODELS = [BoostedRegressor(), BoostedClassifier(copies=8)]
CASES = [(model, check) for model in MODELS for check in checks.yield_checks(model)]


@pytest.mark.parametrize(("model", "check"), CASES, ids=lambda part: getattr(part, "__name__", type(part).__name__))
def test_river_is_content(model: Any, check: Any) -> None:
    random.seed(0)  # the checks shuffle and drop features
    assert check.__name__ not in model._unit_test_skips()
    check(model.clone())


def test_how_many_checks_there_are() -> None:
    collected = [sum(found is model for found, _ in CASES) for model in MODELS]
    if version("river").startswith("0.26."):  # every version has its own
        assert collected == [25, 53]
    assert min(collected) >= 15

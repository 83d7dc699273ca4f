"""scikit-learn's own checks, all of them, with none expected to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from banditboost.interop.sklearn import BoostedClassifier, BoostedRegressor

ESTIMATORS = [BoostedRegressor(), BoostedClassifier()]


@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_scikit_learn_is_content(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_how_many_checks_there_are() -> None:
    """None is expected to fail. One of each, on the array API, is skipped unless the environment sets SCIPY_ARRAY_API=1."""
    collected = {type(estimator).__name__: len(list(estimator_checks_generator(estimator))) for estimator in ESTIMATORS}
    if sklearn.__version__.startswith("1.9."):  # every version has its own
        assert collected == {"BoostedRegressor": 52, "BoostedClassifier": 55}
    assert min(collected.values()) >= 40

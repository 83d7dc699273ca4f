"""`ask` takes a dictionary, a Series, a row: whatever one context comes as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import banditboost as bb

FRAME, POLARS = pd.DataFrame({"a": [1.0], "b": [2.0]}), pl.DataFrame({"a": [1.0], "b": [2.0]})
NUMBERS: list[Any] = [
    np.array([1.0, 2.0]),
    FRAME.iloc[0],
    FRAME,
    POLARS,
    POLARS.row(0),
    next(FRAME.itertuples(index=False)),
]
NAMED: list[Any] = [{"a": 1.0, "b": 2.0}, FRAME.iloc[0], FRAME, POLARS, POLARS.row(0, named=True), *NUMBERS[-1:]]


def booster(encoder: bool) -> bb.Booster:
    return bb.algorithms.boosted(bb.spaces.Interval(0, 1), copies=4, answers=2, encoder=encoder)


@pytest.mark.parametrize(("forms", "encoder"), [(NUMBERS, False), (NAMED, True)])
def test_all_forms_of_a_context_are_the_same(forms: list[Any], encoder: bool) -> None:
    contexts: list[Any] = [booster(encoder).ask(x).context for x in forms]
    assert all(np.array_equal(context, contexts[0]) for context in contexts)


def test_what_is_not_one_context() -> None:
    with pytest.raises(ValueError, match=r"x must be numbers here, got names: .*encoder=True"):
        booster(False).ask({"a": 1.0})
    for encoder in (False, True):
        with pytest.raises(ValueError, match="x must be one context, got a frame of 2 rows"):
            booster(encoder).ask(pd.concat([FRAME, FRAME]))
    with pytest.raises(ValueError, match="every name once"):
        booster(True).ask(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))

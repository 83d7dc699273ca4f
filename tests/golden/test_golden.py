"""Every recipe plays as it did."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import banditboost as bb
from tests.golden import kept, spaces, trajectory


def test_every_recipe_is_on_file() -> None:
    exported = {name for name, value in vars(bb.algorithms).items() if inspect.isfunction(value)}
    assert exported == set(bb.algorithms.__all__)
    assert {recipe: set(found) for recipe, found in kept().items()} == {
        recipe: set(spaces(recipe)) for recipe in exported
    }


@pytest.mark.parametrize(
    ("recipe", "space"), [(name, space) for name in bb.algorithms.__all__ for space in spaces(name)]
)
def test_it_plays_as_it_did(recipe: str, space: str) -> None:
    now, before = trajectory(recipe, spaces(recipe)[space]), kept()[recipe][space]
    for name, numbers in before.items():
        # Another processor or library may round otherwise, in the last digits.
        expected, found = ([float.fromhex(number) for number in each] for each in (numbers, now[name]))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)
    predictions = np.array([float.fromhex(number) for number in before["predictions"]])
    assert np.unique(predictions).size > 3, "a trajectory that stands still would notice nothing"

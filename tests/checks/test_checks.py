"""The installed checks, on every part and every recipe that exists, found by discovery."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator

import pytest

import banditboost as bb
from banditboost import testing
from banditboost._core.spec import Spec
from tests.checks.discovery import ROOMS, Target, label, play, recipe_boosters, recipes, specs

SPECS = list(specs())
BOOSTERS = list(recipe_boosters())

each_recipe = pytest.mark.parametrize("booster", [b for _, b in BOOSTERS], ids=[name for name, _ in BOOSTERS])


@pytest.mark.parametrize("spec", SPECS, ids=label)
def test_every_part(spec: Spec) -> None:
    testing.check_part(spec, spec.callables())


@each_recipe
def test_every_recipe(booster: bb.Booster) -> None:
    assert booster.spec.inside, "inside is the default everywhere"
    testing.check_part(booster, booster.spec.callables())


@each_recipe
def test_only_chance_depends_on_the_seed(booster: bb.Booster) -> None:
    """Contexts and exact gradients leave nothing to chance."""
    if booster.spec.gradient.asks == "values" or not booster.spec.learner.contextual:
        return
    first, second = (bb.Booster.from_spec(dataclasses.replace(booster.spec, seed=seed)) for seed in (5, 99))
    world = Target(booster)
    assert play(first, world, 0, 40) == play(second, world, 0, 40)


def below(kind: type[Spec]) -> Iterator[type[Spec]]:
    """A class and all that are made from it."""
    yield kind
    for child in kind.__subclasses__():
        yield from below(child)


def test_no_part_is_left_out() -> None:
    """A check that finds nothing to check is green too: whatever is defined in a room, by a name without underscore, is checked."""
    rooms = tuple(room.__name__ for room in ROOMS)
    defined = {
        kind
        for kind in below(Spec)
        if (kind.__module__ in rooms or kind.__module__.startswith(tuple(f"{room}." for room in rooms)))
        and not inspect.isabstract(kind)
        and not kind.__name__.startswith("_")
    }
    assert defined <= {type(spec) for spec in SPECS}, "not exported, or without examples"
    for room in ROOMS:
        assert any(kind.__module__.startswith(room.__name__) for kind in defined)


def test_no_recipe_is_left_out() -> None:
    functions = {name for name, value in vars(bb.algorithms).items() if inspect.isfunction(value)}
    assert functions == {name for name, _ in recipes()}
    assert len(BOOSTERS) == 2 * len(functions)

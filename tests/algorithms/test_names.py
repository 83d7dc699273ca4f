"""One table of names: the command line, scikit-learn and River know the same ones and mean the same by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import banditboost as bb
from banditboost.algorithms.names import (
    FEEDBACK,
    GRADIENTS,
    LEARNERS,
    LOSSES,
    LOSSES_OF_CLASSES,
    LOSSES_OF_NUMBERS,
    chain_for,
    learner_numbers,
    named,
)
from banditboost.cli.setting import NUMBERS, Setting, booster_of
from banditboost.interop import river, sklearn
from banditboost.interop.recipes import Recipe
from banditboost.spaces import Interval, Simplex

DOCS = Path(__file__).parents[2] / "docs"
X, Y = [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], [0.0, 1.0, 0.5]


def from_shell(learner: str) -> bb.BoosterSpec:
    return booster_of(Setting(learner=learner, copies=4), Interval(-1.0, 1.0)).spec


def from_sklearn(learner: str) -> bb.BoosterSpec:
    return (
        sklearn.BoostedRegressor(learner=learner, copies=4, target_range=(-1.0, 1.0), random_state=0)
        .fit(X, Y)
        .booster_.spec
    )


def from_river(learner: str) -> bb.BoosterSpec:
    model = river.BoostedRegressor(learner=learner, copies=4, target_range=(-1.0, 1.0))
    model.learn_one({"a": 0.0, "b": 1.0}, 0.5)
    assert model._booster is not None
    return model._booster.spec


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_name_means_the_same_everywhere(learner: str) -> None:
    shell = from_shell(learner)
    assert from_sklearn(learner) == shell == from_river(learner)
    assert shell == named(learner, Interval(-1.0, 1.0), copies=4).spec
    if not LEARNERS[learner].remembers:
        assert shell.chain == chain_for(shell.learner, first=LEARNERS[learner].first, copies=4)


@pytest.mark.parametrize("make", [from_shell, from_sklearn, from_river], ids=["shell", "sklearn", "river"])
def test_other_names_are_refused_everywhere_with_the_same_names_to_choose_from(make: Any) -> None:
    for other in ("linear", "tree", "forest", "Boosted", ""):
        with pytest.raises(ValueError, match=f"learner must be one of {', '.join(sorted(LEARNERS))}; got '{other}'"):
            make(other)


def test_losses_are_the_same_everywhere() -> None:
    assert set(LOSSES) == {*LOSSES_OF_NUMBERS, *LOSSES_OF_CLASSES, "logistic"}
    for name in LOSSES_OF_NUMBERS:
        assert river.BoostedRegressor(loss=name)._recipe.loss == LOSSES[name].part
        assert sklearn.BoostedRegressor(loss=name)._recipe(LOSSES_OF_NUMBERS).loss == LOSSES[name].part
    for name in LOSSES_OF_CLASSES:
        assert river.BoostedClassifier(loss=name)._recipe.loss == LOSSES[name].part
        assert sklearn.BoostedClassifier(loss=name)._recipe(LOSSES_OF_CLASSES).loss == LOSSES[name].part
    for name in LOSSES:
        Setting(loss=name)
    for feedback in FEEDBACK:
        assert Setting(feedback=feedback).feedback == Recipe(feedback=feedback).feedback


@pytest.mark.parametrize("space", [Interval(-3.0, 4.0), Simplex(5)], ids=str)
@pytest.mark.parametrize("copies", [1, 6])
def test_the_first_name_is_the_default(space: Any, copies: int) -> None:
    assert named("boosted", space, copies=copies).spec == bb.algorithms.boosted(space, copies=copies).spec
    assert next(iter(LEARNERS)) == "boosted"


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_number_of_a_learner_is_an_option_and_counts(learner: str) -> None:
    space = Interval(-1.0, 1.0)
    usual, known = named(learner, space, copies=4).spec, learner_numbers(learner, space, copies=4)
    assert set(known) <= set(NUMBERS)
    for name, value in known.items():
        assert named(learner, space, copies=4, numbers={name: value}).spec == usual
        changed = named(learner, space, copies=4, numbers={name: value / 2}).spec
        assert changed != usual
        setting = Setting(learner=learner, copies=4, **{name: value / 2})  # type: ignore[arg-type]
        assert booster_of(setting, space).spec == changed
    for name in set(NUMBERS) - set(known):
        with pytest.raises(ValueError, match=f"{name} must be left out for the learner '{learner}'"):
            named(learner, space, numbers={name: 1.0})


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_every_gradient_by_name(gradient: str) -> None:
    spec = named("trees", Interval(-1.0, 1.0), copies=4, gradient=gradient, answers=2).spec
    assert spec.gradient == GRADIENTS[gradient].part(Interval(-1.0, 1.0), 4, 2)
    assert spec.gradient.count(4) == 2


def test_bad_answers_are_named() -> None:
    space = Interval(-1.0, 1.0)
    with pytest.raises(ValueError, match=r"answers must be at most as many as copies \(4\), got 5"):
        named("boosted", space, copies=4, answers=5, gradient="fitted")
    with pytest.raises(ValueError, match="answers must be left out where gradient is given"):
        named("boosted", space, copies=4, answers=2, gradient=bb.gradients.Exact())


def test_the_pages_name_every_learner() -> None:
    for page in ("shell.md", "interop.md"):
        text = (DOCS / page).read_text()
        assert [name for name in LEARNERS if f"`{name}`" not in text and f'`"{name}"`' not in text] == []

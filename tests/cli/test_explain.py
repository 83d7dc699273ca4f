"""`banditboost explain`: weights are those of the prediction, tests those of the trees, bounds those of the theory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost import theory
from banditboost.cli.anatomy import chain_weights, describe
from banditboost.cli.promises import promises
from tests.cli.shell import Shell, lines, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(800, 3)).round(4)
    rows = [(*x, f"{4 * x[0] - 2 * x[1] + 0.1 * rng.normal():.4f}") for x in X]
    return write(tmp_path / "a.csv", lines("plus,minus,nothing,y", rows))


def explained(shell: Shell, file: Path, *more: str) -> tuple[dict[str, Any], bb.Booster]:
    model = file.parent / "m.bb"
    assert shell("run", file, "--target", "y", "--quiet", "--save", model, *more).code == 0
    return shell("explain", model, "--json", "-").results, bb.Booster.load(model)


def test_weights_are_those_of_the_prediction(shell: Shell, file: Path) -> None:
    results, _ = explained(shell, file, "--learner", "gradient-descent", "--feedback", "full")
    (family,) = results["learned"]
    assert next(iter(family["weights"])) == "plus"
    weights = np.array([family["weights"][name]["prediction"] for name in ("plus", "minus", "nothing")])
    assert weights[0] > 0 > weights[1]
    assert family["per"] == "range"


@pytest.mark.parametrize(
    "learner", [bb.learners.Linear(), bb.learners.SecondOrder(forward=False), bb.learners.ScaleFree()]
)
@pytest.mark.parametrize("chain", [bb.chains.ConvexHull(), bb.chains.Span(), bb.chains.Additive(first=1.0)])
def test_weights_give_the_prediction_where_nothing_is_projected(
    learner: bb.learners.Learner, chain: bb.chains.Chain
) -> None:
    mixed = bb.learners.Mixed((learner, bb.learners.Scaled(bb.learners.Linear(), 0.3)), (2.0, 3.0))
    booster = bb.Booster(mixed, 5, chain, bb.gradients.Exact(), bb.spaces.Interval(-100, 100), features=3)
    rng = np.random.default_rng(0)
    for name, array in booster.arrays().items():
        if name.endswith(("weights", "shrinkage")):
            array[...] = rng.uniform(size=array.shape)
        if name.endswith("scales"):
            array[...] = 1.0  # contexts below are no larger: features are what copies see
    parts = describe(booster, ("a", "b", "c"), ("y",))
    assert [part["copies"] for part in parts] == [2, 3]
    slopes = [sum(part["weights"][name]["y"] for part in parts) for name in ("a", "b", "c")]
    intercept = sum(part["intercept"]["y"] for part in parts)
    for x in rng.uniform(-1, 1, (5, 3)):
        assert float(booster.predict(x)) == pytest.approx(float(x @ slopes + intercept), rel=1e-9)


def test_the_default_shows_its_line_its_trees_and_its_forest(shell: Shell, file: Path) -> None:
    results, _ = explained(shell, file)
    kinds = [(part["kind"], part["copies"]) for part in results["learned"]]
    assert kinds == [("Level", 1), ("Forgetting", 1), ("Tree", 27), ("Grown", 1)]
    weights = {name: row["prediction"] for name, row in results["learned"][1]["weights"].items()}
    assert weights["plus"] == pytest.approx(4 / np.sqrt(12), rel=0.1)


def test_second_order_and_trees_are_told_apart(shell: Shell, file: Path) -> None:
    results, booster = explained(shell, file, "--learner", "streaming")
    linear, trees = results["learned"]
    assert (linear["kind"], linear["copies"], trees["kind"], trees["copies"]) == ("SecondOrder", 1, "Tree", 29)
    assert linear["per"] == "standard deviation"
    weights = {name: row["prediction"] for name, row in linear["weights"].items()}
    spread = 1 / np.sqrt(12)
    assert weights["plus"] == pytest.approx(4 * spread, rel=0.1)
    assert weights["minus"] == pytest.approx(-2 * spread, rel=0.1)
    assert abs(weights["nothing"]) < 0.1
    tested = sum(int((row[:n] >= 0).sum()) for row, n in _nodes(booster))
    assert sum(trees["tests"].values()) == tested > 0
    assert trees["leaves a tree"] == pytest.approx(1 + tested / 29)
    assert results["memories"]["mean curvature of the losses"] == pytest.approx(2.0, rel=0.05)
    assert results["chain_weights"][:2] == [1.0, 0.2]
    assert results["parts"]["rounds told"] == 800
    assert results["promise"]["bound"] is None


def _nodes(booster: bb.Booster) -> Any:
    arrays = booster.arrays()
    return zip(arrays["inner.1.feature"], arrays["inner.1.nodes"].astype(int), strict=True)


def test_what_is_printed(shell: Shell, file: Path) -> None:
    explained(shell, file, "--learner", "streaming")
    shown = shell("explain", file.parent / "m.bb", "--top", "2")
    for text in (
        "copies: 30",
        "rounds told: 800",
        "weight of each copy in the prediction: 1, 0.2",
        "plus",
        "number of tests of each feature",
        "bound: No bound",
    ):
        assert text in shown.out
    assert "nothing" not in shown.out.split("how often")[0]
    out = file.parent / "x.json"
    assert shell("explain", file.parent / "m.bb", "--quiet", "--json", out) == (0, "", "")
    assert json.loads(out.read_text())["command"] == "explain"
    assert "is not a banditboost file" in shell("explain", file).sentence


def test_a_bare_booster_is_explained_too(shell: Shell, tmp_path: Path) -> None:
    booster = bb.algorithms.span_boosting(bb.spaces.Ball(2), copies=4)
    world = bb.worlds.Supervised(np.random.default_rng(0).normal(size=(50, 3)), np.zeros((50, 2)))
    bb.evaluate.progressive(booster, world)
    booster.save(tmp_path / "m.bb")
    results = shell("explain", tmp_path / "m.bb", "--json", "-").results
    assert len(results["memories"]["shrinkage of each copy"]) == 4
    assert set(results["learned"][0]["weights"]) == {"x0", "x1", "x2"}
    assert set(results["learned"][0]["weights"]["x0"]) == {"y0", "y1"}
    assert "Span" in results["promise"]["says"]
    fresh = bb.algorithms.boosted(bb.spaces.Interval(0, 1))
    fresh.save(tmp_path / "fresh.bb")
    assert shell("explain", tmp_path / "fresh.bb", "--json", "-").results["learned"] == []


def test_bounds_are_those_of_the_theory(shell: Shell, file: Path) -> None:
    results, booster = explained(
        shell, file, "--learner", "gradient-descent", "--gradient", "one-point", "--noise", "0.1"
    )
    promise, spec, T = results["promise"], booster.spec, 800
    gradient, learner = spec.gradient, spec.learner
    assert isinstance(gradient, bb.gradients.OnePoint)
    assert isinstance(learner, bb.learners.Linear)
    assert learner.radius is not None
    L, _, M = bb.losses.Squared().constants(spec.space)
    sigma = theory.sphere_gradient_bound(1, M, gradient.delta, 0.1)
    # Three numbers in [0, 1] and a constant: no context is longer than 2. Steps are 0.1/√t.
    own = (2 * learner.radius) ** 2 * np.sqrt(T) / 0.2 + (2 * sigma) ** 2 / 2 * (
        0.1 / np.sqrt(np.arange(1, T + 1))
    ).sum()
    expected = theory.boosting_regret(T, 30, 1, L, spec.space.diameter, gradient.delta, own)
    assert promise["value"] == pytest.approx(expected)
    assert promise["bound"] == "theory.boosting_regret"
    assert promise["vacuous"] == (expected >= M * T)
    told, _ = explained(shell, file, "--learner", "gradient-descent", "--feedback", "full")
    assert told["promise"]["bound"] == "theory.gradient_boosting_regret"
    assert told["promise"]["value"] < promise["value"]
    kinked, _ = explained(shell, file, "--learner", "gradient-descent", "--feedback", "full", "--loss", "absolute")
    assert "a loss with a kink" in kinked["promise"]["says"]
    surrogate, _ = explained(shell, file, "--learner", "gradient-descent")
    assert "the gradient Surrogate" in surrogate["promise"]["says"]


def test_the_descent_regret_agrees_with_the_theory_where_both_speak() -> None:
    from banditboost.cli.promises import _descent_regret

    radius, bound, rounds = 3.0, 5.0, 400
    learner = bb.learners.Linear(radius, bb.rates.Theory(2 * radius, bound))
    assert _descent_regret(learner, rounds, bound) <= theory.ogd_regret(rounds, bound, 2 * radius)
    assert _descent_regret(learner, rounds, bound) > 0.9 * theory.ogd_regret(rounds, bound, 2 * radius)


@pytest.mark.parametrize(
    ("booster", "part"),
    [
        (bb.algorithms.projection_free(bb.spaces.Simplex(3), horizon=100), "theory.projection_free_regret"),
        (
            bb.algorithms.projection_free_bandit(bb.spaces.Simplex(3), horizon=100),
            "theory.projection_free_bandit_regret",
        ),
        (bb.algorithms.meta_frank_wolfe(bb.spaces.Simplex(3), horizon=100), "No bound of the paper covers"),
        (bb.algorithms.bandit_boosting(bb.spaces.Interval(0, 1)), "needs the loss"),
        (bb.algorithms.ogd(bb.spaces.Interval(0, 1)), "No bound of the paper covers the chain Single"),
    ],
)
def test_what_is_promised_about_recipes(booster: bb.Booster, part: str) -> None:
    found = promises(booster, None)
    assert part in found["says"]
    assert found["value"] is None


def test_chain_weights_of_every_chain() -> None:
    space = bb.spaces.Interval(-1, 1)
    hull = bb.Booster(copies=4, chain=bb.chains.ConvexHull(gamma=0.5), space=space)
    np.testing.assert_allclose(chain_weights(hull), theory.chain_weights(4) / 0.5)
    single = bb.algorithms.ogd(space)
    assert chain_weights(single).tolist() == [1.0]

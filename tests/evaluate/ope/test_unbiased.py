"""Estimators are unbiased, or have the bias that the pages state, by enumeration of all rows and all short logs of a small world.

Actions lie in the middle of the cells of a grid; a law has one density in each cell. Expectations are then finite sums, and nothing
is left to chance. Every check is made of broken estimators too, and must notice them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.evaluate.ope.kernels import KERNELS, smoothed
from banditboost.evaluate.ope.policies import Deterministic, Drawing
from banditboost.evaluate.ope.sums import Sums
from banditboost.evaluate.ope.survey import Numbered
from banditboost.logs import LogBlock

SIDE = 8
MODULE: Any = import_module("banditboost.evaluate.ope.off_policy")  # the function of that name hides it


class World(NamedTuple):
    d: int
    cells: Array
    """Middles of cells, shape (cells, d)."""
    volume: float
    contexts: Array
    chances: Array
    logging: Array
    """Probabilities of cells by context."""
    target: Array
    losses: Array
    """Expected losses by context and cell, which are what is told: noise adds nothing to expectations."""

    def rows(self) -> Iterator[tuple[float, int, int]]:
        for x, a in product(range(len(self.contexts)), range(len(self.cells))):
            yield float(self.chances[x] * self.logging[x, a]), x, a

    def value(self, law: Array) -> float:
        return float(self.chances @ (law * self.losses).sum(axis=1))

    def block(self, which: list[tuple[int, int]]) -> Numbered:
        x, a = np.array(which).T
        block = LogBlock(
            self.contexts[x],
            self.cells[a],
            self.losses[x, a],
            self.logging[x, a] / self.volume,
            None,
            None,
            0,
        )
        return Numbered(block, np.arange(len(which)))


def world(d: int) -> World:
    rng = np.random.default_rng(d)
    side = (np.arange(SIDE) + 0.5) / SIDE
    cells = np.stack(np.meshgrid(*[side] * d, indexing="ij"), axis=-1).reshape(-1, d)
    contexts = np.array([[0.0], [1.0]])
    laws = [rng.dirichlet(np.full(len(cells), 2.0), size=2) for _ in range(2)]
    losses = rng.normal(size=(2, len(cells)))
    return World(d, cells, SIDE**-d, contexts, np.array([0.3, 0.7]), laws[0], laws[1], losses)


class Table:
    """A law that knows the densities of cells, and gives means over them exactly."""

    def __init__(self, of: World) -> None:
        self.of = of

    def density(self, contexts: Array, actions: Array) -> Array:
        cell = np.array([int(np.abs(self.of.cells - action).sum(axis=1).argmin()) for action in actions])
        return np.asarray(self.of.target[contexts[:, 0].astype(int), cell] / self.of.volume)


class Exact(Drawing):
    def averaged(self, contexts: Array, row: int, model: Callable[[Array, Array], Array]) -> Array:
        of = self.policy.of
        told = np.stack([model(contexts, np.tile(cell, (len(contexts), 1))) for cell in of.cells], axis=1)
        return np.asarray((of.target[contexts[:, 0].astype(int)] * told).sum(axis=1))


class Wrong:
    """A critic that is far from the truth."""

    def __init__(self, sign: float) -> None:
        self.sign = sign

    def predict(self, table: Array) -> Array:
        return np.asarray(self.sign * (3.0 + table @ np.arange(1.0, table.shape[1] + 1.0)))


def setting(of: World, policy: Any, estimator: str, width: float = 1.0, bounded: bool = True) -> Any:
    models = (Wrong(1.0), Wrong(-2.0)) if estimator in ("dr", "direct") else None
    bounds = (np.zeros(of.d), np.ones(of.d)) if bounded else None
    return MODULE.Setting(policy, estimator, "uniform", np.full((1, of.d), width), bounds, models)


def drawing(of: World) -> Exact:
    return Exact(Table(of), of.d, None, np.random.default_rng(0))


def expected(of: World, how: Any) -> float:
    """Return the mean of one row's term over all contexts and actions, for rows of either fold."""
    total = 0.0
    for chance, x, a in of.rows():
        terms, _ = MODULE._terms(how, of.block([(x, a), (x, a)]), MODULE._Calibration())
        total += chance * float(terms.mean())
    return total


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_laws_are_weighted_without_bias(d: int, estimator: str) -> None:
    of = world(d)
    assert expected(of, setting(of, drawing(of), estimator)) == pytest.approx(of.value(of.target), abs=1e-12)


@pytest.mark.parametrize("d", [1, 2])
def test_the_direct_method_is_the_mean_of_its_critic(d: int) -> None:
    of = world(d)
    table = [
        of.target[int(x[0])] @ Wrong(1.0).predict(np.column_stack([np.tile(x, (len(of.cells), 1)), of.cells]))
        for x in of.contexts
    ]
    both = float(of.chances @ np.array(table)) * (1.0 - 2.0) / 2  # one half of the rows with either critic
    assert expected(of, setting(of, drawing(of), "direct")) == pytest.approx(both, abs=1e-12)


def kernel_law(of: World, plays: Array, width: float) -> Array:
    """Return the probabilities of cells under the policy that plays uniformly within `width` of its action, cut off at the
    border."""
    laws = []
    for play in plays:
        near = (np.abs(of.cells - play) <= width).all(axis=1)
        laws.append(near / near.sum())
    return np.array(laws)


def playing(of: World, plays: Array) -> Deterministic:
    return Deterministic(lambda contexts: plays[contexts[:, 0].astype(int)], of.d)


PLAYS = np.array([3.5, 1.0]) / SIDE
"""One action in the open, and one so near the border that a kernel of width 1.5 cells is cut off: both make whole cells."""


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("estimator", ["ips", "dr"])
def test_smoothed_policies_have_the_value_of_what_the_kernel_plays(d: int, estimator: str) -> None:
    """The stated bias of a bandwidth is the difference between the value of the kernel's law and that of its centre."""
    of = world(d)
    plays = np.repeat(PLAYS[:, np.newaxis], d, axis=1)
    width = 1.5 / SIDE
    plays[1] = 0.5 / SIDE  # cells 0 and 1 are whole, and what lies below 0 is cut off
    law = kernel_law(of, plays, width + 1e-9)
    found = expected(of, setting(of, playing(of, plays), estimator, width))
    if estimator == "ips":
        assert found == pytest.approx(of.value(law), abs=1e-12)
    else:  # the critic stands for the policy's own action, so that smoothing biases what it leaves over alone
        assert found == pytest.approx(dr_value(of, plays, law), abs=1e-12)


def dr_value(of: World, plays: Array, law: Array) -> float:
    """Return Σ P(x) [q(x, π) + Σ k(a) (l - q(x, a))], over both folds."""
    total = 0.0
    for sign in (1.0, -2.0):
        model = Wrong(sign)
        at = model.predict(np.column_stack([of.contexts, plays]))
        q = np.array([model.predict(np.column_stack([np.tile(x, (len(of.cells), 1)), of.cells])) for x in of.contexts])
        total += 0.5 * float(of.chances @ (at + (law * (of.losses - q)).sum(axis=1)))
    return total


def test_smoothing_does_not_bias_what_a_right_critic_says() -> None:
    """With the critic that is right, dr has no bias at any bandwidth, and ips has one."""
    of = world(1)
    plays = np.array([[3.5], [0.5]]) / SIDE
    line = np.array([1.0, 2.0, -3.0])

    class Right:
        def predict(self, table: Array) -> Array:
            return np.asarray(line[0] + table @ line[1:])

    of = of._replace(
        losses=np.array([Right().predict(np.column_stack([np.tile(x, (SIDE, 1)), of.cells])) for x in of.contexts])
    )
    truth = float(of.chances @ Right().predict(np.column_stack([of.contexts, plays])))
    how = setting(of, playing(of, plays), "dr", 2.5 / SIDE)._replace(models=(Right(), Right()))
    assert expected(of, how) == pytest.approx(truth, abs=1e-12)
    assert abs(expected(of, setting(of, playing(of, plays), "ips", 2.5 / SIDE)) - truth) > 0.05


@pytest.mark.parametrize("d", [1, 2])
def test_the_bias_of_snips_falls_like_one_over_the_rows(d: int) -> None:
    of = world(1)
    if d == 2:  # as few cells in two dimensions: 2 by 2
        side = np.array([0.25, 0.75])
        cells = np.array(list(product(side, side)))
        rng = np.random.default_rng(7)
        of = World(  # type: ignore[call-arg]
            2,
            cells,
            0.25,
            of.contexts,
            of.chances,
            *(rng.dirichlet(np.full(4, 3.0), size=2) for _ in range(2)),
            rng.normal(size=(2, 4)),
        )
    else:
        of = of._replace(cells=np.array([[0.25], [0.75]]), volume=0.5, logging=np.array([[0.4, 0.6], [0.7, 0.3]]))
        of = of._replace(target=np.array([[0.8, 0.2], [0.5, 0.5]]), losses=of.losses[:, :2])
    how, truth = setting(of, drawing(of), "snips"), of.value(of.target)
    bias = (
        {n: snips(of, how, n) - truth for n in (2, 4)} if d == 2 else {n: snips(of, how, n) - truth for n in (2, 4, 8)}
    )
    # Cov(w, w (V - l)): the first term of the expansion of a ratio of means
    rows = list(of.rows())
    first = sum(p * weight(of, x, a) ** 2 * (truth - of.losses[x, a]) for p, x, a in rows)
    for n, found in bias.items():
        assert abs(n * found - first) < 4 * abs(first) / n
    assert abs(max(bias.items())[1]) < abs(bias[2])


def weight(of: World, x: int, a: int) -> float:
    return float(of.target[x, a] / of.logging[x, a])


def snips(of: World, how: Any, n: int) -> float:
    """Return the expectation of the estimate over all logs of n rows: multisets, each with its number of orders."""
    from itertools import combinations_with_replacement
    from math import factorial, prod

    rows = list(of.rows())
    terms, weights = MODULE._terms(how, of.block([(x, a) for _, x, a in rows]), MODULE._Calibration())
    total = 0.0
    for chosen in combinations_with_replacement(range(len(rows)), n):
        counts = np.bincount(chosen, minlength=len(rows))
        chance = (
            factorial(n)
            / prod(map(factorial, counts.tolist()))
            * np.prod([rows[i][0] ** c for i, c in enumerate(counts)])
        )
        sums = Sums(1, normalized=True)
        sums.add(np.arange(n), terms[list(chosen)], weights[list(chosen)])
        total += float(chance) * float(sums.values[0])
    return total


def no_border(kernel: Any, actions: Array, targets: Array, widths: Array, bounds: Any = None) -> Array:
    return smoothed(kernel, actions, targets, widths, None)


def not_scaled(kernel: Any, actions: Array, targets: Array, widths: Array, bounds: Any = None) -> Array:
    return smoothed(kernel, actions, targets, widths, bounds) * float(np.prod(widths))


@pytest.mark.parametrize("broken", [no_border, not_scaled])
def test_broken_kernels_are_noticed(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "smoothed", broken)
    with pytest.raises(AssertionError):
        test_smoothed_policies_have_the_value_of_what_the_kernel_plays(1, "ips")


class NoSubtraction(MODULE._Cross):  # type: ignore[misc]
    """A critic that says nothing about what was played, which it is asked about first."""

    asked = 0

    def __call__(self, contexts: Array, actions: Array) -> Array:
        self.asked += 1
        said = super().__call__(contexts, actions)
        return np.zeros(len(said)) if self.asked == 1 else said


def test_a_doubly_robust_estimate_that_forgets_to_subtract_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_Cross", NoSubtraction)
    with pytest.raises(AssertionError):
        test_laws_are_weighted_without_bias(1, "dr")


def test_weights_upside_down_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Table.density

    def density(self: Table, contexts: Array, actions: Array) -> Array:
        return 1.0 / right(self, contexts, actions)

    monkeypatch.setattr(Table, "density", density)
    with pytest.raises(AssertionError):
        test_laws_are_weighted_without_bias(2, "ips")


def test_weights_that_are_not_divided_by_their_mean_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sums, "values", property(lambda self: self.tops.sum(axis=0) / self.counts.sum()))
    with pytest.raises(AssertionError):
        test_the_bias_of_snips_falls_like_one_over_the_rows(1)


def test_kernels_are_densities_and_their_distribution_functions_fit() -> None:
    at = np.linspace(-6, 6, 120_001)
    for kernel in KERNELS.values():
        density = kernel.density(at)
        below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1])) * (at[1] - at[0])])
        np.testing.assert_allclose(below, kernel.below(at), atol=1e-4)

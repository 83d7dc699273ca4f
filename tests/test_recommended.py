"""Every setting that the pages recommend is run on a small world, and must beat a constant by a margin.

`docs/which.md` and `docs/continuous.md` are read for calls of recipes: a call that is on a page and not in the table below fails a
test, so that nothing is recommended that was not run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost import algorithms
from banditboost.explore import Explore
from banditboost.gradients import Exact, Remembered, Stochastic, Surrogate
from banditboost.spaces import Box, Interval, Paths, Simplex

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("which.md", "continuous.md")
ROUNDS = 3000
LINE = Interval(0.0, 1.0)
NETWORK = Paths(((0, 1), (0, 2), (1, 3), (2, 3)), source=0, sink=3)
PREDICTED = 0.35
"""Predictions must have at most this share of the best constant's loss, in the second half of the rounds."""
PAID = 0.5
"""The same for what is paid, where one answer a round is played."""

Make = Callable[[], bb.Booster]


@lru_cache(maxsize=1)
def contexts() -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (ROUNDS, 2))


def on_the_line() -> bb.worlds.World:
    """A target with a slope and a jump, whose losses are noisy."""
    x = contexts()
    labels = 0.5 + 0.25 * x[:, 0] + np.where(x[:, 1] > 0.3, 0.2, -0.05)
    return bb.worlds.Supervised(x, labels, noise=bb.noise.Uniform(0.02))


def in_a_box() -> bb.worlds.World:
    """A target in a box with unequal sides."""
    x = contexts()
    labels = np.column_stack([0.5 + 0.4 * x[:, 0], 1 + 0.8 * x[:, 1], 0.5 - 0.4 * x[:, 0]])
    return bb.worlds.Supervised(x, labels, noise=bb.noise.Uniform(0.02))


def among_classes() -> bb.worlds.World:
    """Five classes, by two features."""
    x = contexts()
    return bb.worlds.Classification(
        x, (x[:, 0] > 0) * 2 + (x[:, 1] > 0) + (x[:, 1] > 0.6), noise=bb.noise.Uniform(0.02)
    )


def on_the_network() -> bb.worlds.World:
    """Flows near the lower of two paths: there are no contexts, so that the best constant is all that there is to find."""
    wanted = NETWORK.minimize(np.array([1.0, 0.0, 1.0, 0.0]))
    return bb.worlds.Quadratic(NETWORK, np.tile(wanted, (ROUNDS, 1)))


def selling() -> bb.worlds.World:
    """One price for every customer."""
    return bb.worlds.Shop(customers=ROUNDS, seed=1)


def asking(answers: int) -> Make:
    """The default with a number of answers."""
    return lambda: algorithms.boosted(LINE, answers=answers)


CALLS: dict[str, list[tuple[Callable[[], bb.worlds.World], Make]]] = {
    "boosted()": [
        (on_the_line, lambda: algorithms.boosted(LINE)),
        (among_classes, lambda: algorithms.boosted(Simplex(5))),
    ],
    "boosted(answers=1)": [
        (on_the_line, lambda: algorithms.boosted(LINE, answers=1)),
        (in_a_box, lambda: algorithms.boosted(Box((0.0, 0.0, 0.0), (1.0, 2.0, 1.0)), answers=1)),
    ],
    "pricing()": [(selling, lambda: algorithms.pricing(Interval(0.0, 10.0)))],
    "boosted(answers=1, loss='squared')": [(on_the_line, lambda: algorithms.boosted(LINE, answers=1, loss="squared"))],
    "boosted(answers=1, explore=Explore(most=0.1))": [
        (on_the_line, lambda: algorithms.boosted(LINE, answers=1, explore=Explore(most=0.1)))
    ],
    "boosted(answers=1, explore=explore)": [
        (on_the_line, lambda: algorithms.boosted(LINE, answers=1, explore=Explore(most=0.2))),
        (on_the_line, lambda: algorithms.boosted(LINE, answers=1, explore=Explore(budget=0.3))),
    ],
    "boosted(answers=2)": [(on_the_line, lambda: algorithms.boosted(LINE, answers=2))],
    "boosted(answers=5)": [(on_the_line, lambda: algorithms.boosted(LINE, answers=5))],
    "boosted(answers=k)": [(on_the_line, asking(k)) for k in (3, 10, 30)],
    "boosted(answers=answers)": [(on_the_line, asking(k)) for k in (1, 2, 5, 30)],
    "boosted(copies=60)": [(on_the_line, lambda: algorithms.boosted(LINE, copies=60))],
    "boosted(gradient=Exact())": [(on_the_line, lambda: algorithms.boosted(LINE, gradient=Exact()))],
    "ogd()": [(on_the_line, lambda: algorithms.ogd(LINE))],
    "n_point_fkm(queries=20)": [(on_the_line, lambda: algorithms.n_point_fkm(LINE, queries=20))],
    "bandit_boosting()": [(on_the_line, lambda: algorithms.bandit_boosting(LINE))],
    "bandit_boosting(gradient=Surrogate(delta))": [
        (on_the_line, lambda: algorithms.bandit_boosting(LINE, gradient=Surrogate(0.1)))
    ],
    "projection_free(horizon=1000)": [(on_the_network, lambda: algorithms.projection_free(NETWORK, horizon=1000))],
    "projection_free_bandit()": [(on_the_network, lambda: algorithms.projection_free_bandit(NETWORK))],
    "online_frank_wolfe()": [(on_the_network, lambda: algorithms.online_frank_wolfe(NETWORK, horizon=ROUNDS))],
    "Booster(copies=1, chain=Single(), gradient=Stochastic())": [
        (
            on_the_network,
            lambda: bb.Booster(bb.learners.OGD(NETWORK.diameter), 1, bb.chains.Single(), Stochastic(), NETWORK),
        )
    ],
}
"""For every call on the pages, without its space: worlds, and boosters as the call makes them."""
RUNS = [(call, number) for call, made in CALLS.items() for number in range(len(made))]


@dataclass(frozen=True)
class Ratio:
    """Losses in the second half of the rounds, as shares of what a constant loses."""

    predicted: float
    paid: float
    one_answer: bool

    @property
    def good(self) -> bool:
        """Whether a constant is beaten by the margins, at predictions and, with one answer, at what is paid."""
        return self.predicted <= PREDICTED and (not self.one_answer or self.paid <= PAID)


def sold(shop: bb.worlds.Shop, booster: bb.Booster) -> Ratio:
    """Sell, and return how much of the best expected revenue is missed, as a share of what the best single price misses."""
    advised, shown = np.empty(ROUNDS), np.empty(ROUNDS)
    for t in range(ROUNDS):
        ticket = booster.ask(shop.context(t))
        advised[t], shown[t] = ticket.prediction, ticket.action
        booster.tell(ticket, rewards=[-float(shop.values(t, shown[t]))])
    constant, half = shop.share(shop.best_constant, ROUNDS // 2), ROUNDS // 2
    missed = [(1 - shop.share(prices, half)) / (1 - constant) for prices in (advised, shown)]
    return Ratio(missed[0], missed[1], True)


def measured(world: bb.worlds.World, booster: bb.Booster) -> Ratio:
    """Play a world. Where there are no contexts nobody beats the best constant, and the middle of the space takes its place."""
    if isinstance(world, bb.worlds.Shop):
        return sold(world, booster)
    rounds = range(ROUNDS // 2, ROUNDS)
    if isinstance(world, bb.worlds.Supervised):
        labels = world.labels()
        constant = np.mean([world.values(t, labels.mean(axis=0)) for t in rounds])
    else:
        constant = np.mean([world.values(t, booster.spec.space.inner_centre) for t in rounds])
    trace = bb.evaluate.progressive(booster, world)
    gradient = booster.spec.gradient
    one = gradient.asks == "values" and gradient.count(booster.spec.copies) == 1
    return Ratio(trace.losses[rounds].mean() / constant, trace.paid[rounds].mean() / constant, one)


@pytest.mark.parametrize(("call", "number"), RUNS, ids=lambda value: str(value))
def test_what_is_recommended_beats_a_constant(call: str, number: int) -> None:
    world, make = CALLS[call][number]
    ratio = measured(world(), make())
    assert ratio.good, f"{call}: {ratio}"


@dataclass(frozen=True)
class Deaf(Remembered):
    """Broken: hears nothing, so that every copy's gradient is zero."""

    def estimate(self, answers: np.ndarray, probe: Any, space: Any, memory: Any) -> np.ndarray:
        return np.zeros_like(super().estimate(answers, probe, space, memory))


@pytest.mark.parametrize("answers", [1, 5])
def test_a_booster_whose_gradients_are_zero_is_caught(answers: int) -> None:
    ratio = measured(on_the_line(), algorithms.boosted(LINE, copies=3, gradient=Deaf(answers)))
    assert ratio.predicted > 0.9
    assert not ratio.good


def test_a_booster_that_pays_too_much_for_its_predictions_is_caught() -> None:
    everywhere = Explore(least=0.5)  # for ever
    ratio = measured(on_the_line(), algorithms.boosted(LINE, answers=1, explore=everywhere))
    assert ratio.predicted <= PREDICTED
    assert not ratio.good


NAMES = "|".join((*algorithms.__all__, "Booster"))


def calls_in(text: str) -> Iterator[str]:
    """Yield every call of a recipe in a page, without its space, its seed and positional arguments.

    A call is recommended where it has arguments; a bare name, such as `projection_free`, is found in a call elsewhere.
    """
    for found in re.finditer(rf"(?<![\w.])(?:bb\.)?(?:algorithms\.)?({NAMES})\(", text):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inside = text[found.end() : end - 1].replace(", ...", "")
        call = ast.parse(f"{found[1]}({inside})", mode="eval").body
        assert isinstance(call, ast.Call)
        kept = [f"{keyword.arg}={_brief(keyword.value)}" for keyword in call.keywords if keyword.arg != "seed"]
        yield f"{found[1]}({', '.join(kept)})"


def _brief(value: ast.expr) -> str:
    """Return an argument without the modules that its names stand in."""
    return re.sub(r"\bbb\.\w+\.", "", ast.unparse(value))


@pytest.mark.parametrize("page", PAGES)
def test_every_call_on_the_page_is_run(page: str) -> None:
    found = set(calls_in((DOCS / page).read_text()))
    assert len(found) >= 3
    assert found <= set(CALLS), f"{page} recommends what no test runs: {sorted(found - set(CALLS))}"


def test_every_call_that_is_run_is_on_a_page() -> None:
    found = {call for page in PAGES for call in calls_in((DOCS / page).read_text())}
    assert set(CALLS) <= found, f"no page recommends {sorted(set(CALLS) - found)}"


def test_a_call_that_no_test_runs_is_found() -> None:
    text = "Use `boosted(space, answers=7)`, or\n>>> bb.algorithms.ogd(\n...     space, rate=bb.rates.Constant(0.1), seed=3)\n"
    assert list(calls_in(text.replace("...     ", ""))) == ["boosted(answers=7)", "ogd(rate=Constant(0.1))"]

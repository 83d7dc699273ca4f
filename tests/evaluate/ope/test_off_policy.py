"""Off-policy evaluation of whole logs: values, intervals, what is said about trust, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.evaluate import Exploring, off_policy
from banditboost.evaluate.ope import intervals
from banditboost.evaluate.ope.critic import LossModel
from banditboost.evaluate.ope.slope import slope
from banditboost.evaluate.ope.sums import GROUPS, Sums

SPACE = bb.spaces.Interval(0, 10)
N = 2000


def made(n: int = N, seed: int = 0, d: int = 1, **changed: Any) -> bb.Log:
    rng = np.random.default_rng(seed)
    x, a = rng.normal(size=(n, 2)), rng.uniform(0, 10, (n, d))
    losses = 0.1 * np.square(a - 5.0 - x[:, :1]).sum(axis=1) + rng.normal(size=n)
    columns: dict[str, Any] = {"densities": np.full(n, 10.0**-d)} | changed
    return bb.Log.from_arrays(x, a, losses, **columns)


def best(x: Array) -> Array:
    return np.clip(5.0 + x[:, 0], 0.0, 10.0)


class Normal:
    """A law around a line, on the whole line."""

    def density(self, contexts: Array, actions: Array) -> Array:
        return np.asarray(norm.pdf(actions[:, 0], best(contexts), 1.0))

    def draw(self, contexts: Array, rng: np.random.Generator) -> Array:
        return np.asarray(best(contexts) + rng.normal(size=len(contexts)))


@pytest.mark.parametrize("estimator", ["dr", "snips", "ips"])
def test_values_lie_where_they_should(estimator: str) -> None:
    for policy, truth in ((best, 0.0), (5.0, 0.1), (Normal(), 0.1)):
        found = off_policy(made(), policy, estimator)
        assert found.interval[0] < truth + 0.01
        assert truth - 0.01 < found.interval[1]
        assert found.bernstein[0] < found.value < found.bernstein[1]
        assert found.trust is None
        assert (found.bandwidth is None) == isinstance(policy, Normal)
        assert (found.bias > 0) == (found.bandwidth is not None)


def test_the_log_itself_is_its_own_mean() -> None:
    found = off_policy(made(), "logging")
    assert found.value == pytest.approx(found.logged)
    assert (found.effective, found.unsupported, found.trust) == (N, 0.0, None)


@pytest.mark.parametrize("answers", [1, 2])
def test_a_booster_and_its_exploration(answers: int) -> None:
    """The density that `Exploring` gives an action is the one on the ticket that plays it."""
    booster = bb.algorithms.boosted(SPACE, answers=answers)
    rng = np.random.default_rng(3)
    for x in rng.normal(size=(150, 2)):
        booster.step(x, lambda queries, x=x: np.square(np.asarray(queries) - 5.0 - x[0]))  # type: ignore[misc]
    before = booster.digest()
    for estimator in ("dr", "ips"):
        found = off_policy(made(), booster, estimator)
        assert found.bandwidth is not None
        law = off_policy(made(), Exploring(booster), estimator)
        assert law.bandwidth is None
        assert abs(law.value - found.value) < 1.0
    assert booster.digest() == before
    law_of, x = Exploring(booster), rng.normal(size=(1, 2))
    ticket = booster.ask(x[0])
    for action, density in zip(ticket.queries, ticket.density, strict=True):
        assert Exploring(booster).density(x, np.array([[action]]))[0] == pytest.approx(density)
    drawn = np.concatenate([law_of.draw(x, rng) for _ in range(2000)])
    grid = np.linspace(0, 10, 20001)
    density = law_of.density(np.tile(x, (len(grid), 1)), grid[:, np.newaxis])
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=0.02)  # the law ends where it is densest
    assert np.trapezoid(grid * density, grid) == pytest.approx(
        drawn.mean(), abs=0.02 * drawn.mean() + 4 * drawn.std() / 2000**0.5
    )


def test_blocks_and_files_give_what_arrays_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = made(seed=4)
    log.write(tmp_path / "log.csv")
    again = bb.Log.read(tmp_path / "log.csv", action="action", density="density")
    assert off_policy(again, best) == off_policy(log, best)
    small = bb.Log.blocks
    monkeypatch.setattr(bb.Log, "blocks", lambda self, rows=65536: small(self, 97))
    other = off_policy(again, best)
    monkeypatch.undo()
    whole = off_policy(log, best)
    assert other.value == pytest.approx(whole.value, rel=1e-9)
    assert other.interval == pytest.approx(whole.interval, rel=1e-9)


def test_a_longer_log_is_evaluated_by_groups_and_a_sample() -> None:
    """Groups of rounds have the standard error of rounds, and a critic on a sample is said to be one."""
    n = 3 * GROUPS
    found = off_policy(made(n, seed=5), best, sample=2000)
    assert "the critic was fitted on 1,87" in found.notes[0]
    rng = np.random.default_rng(0)
    terms = rng.normal(size=(n, 1))
    sums = Sums(1, normalized=False)
    sums.add(np.arange(n), terms, np.ones((n, 1)))
    assert sums.errors[0] == pytest.approx(terms.std() / n**0.5, rel=0.05)


def test_answers_of_one_round_are_not_independent() -> None:
    rng = np.random.default_rng(1)
    each = rng.normal(size=300)
    alone, together = Sums(1, normalized=False), Sums(1, normalized=False)
    terms = np.repeat(each, 4)[:, np.newaxis]
    alone.add(np.arange(1200), terms, np.ones((1200, 1)))
    together.add(np.repeat(np.arange(300), 4), terms, np.ones((1200, 1)))
    assert together.errors[0] == pytest.approx(2 * alone.errors[0], rel=0.01)


def test_exploring_says_what_to_use_for_a_booster_without_a_law_that_it_knows() -> None:
    priced = bb.algorithms.pricing(SPACE)
    with pytest.raises(ValueError, match="got one with FromCritic: evaluate the booster itself"):
        Exploring(priced)
    with pytest.raises(ValueError, match="booster must be a Booster, got float"):
        Exploring(5.0)  # type: ignore[arg-type]
    assert np.isfinite(off_policy(made(), priced).value)


def test_what_should_not_be_trusted_says_so() -> None:
    rng = np.random.default_rng(0)
    narrow = rng.uniform(0, 1, N)
    log = bb.Log.from_arrays(rng.normal(size=(N, 1)), narrow, narrow, densities=np.ones(N))
    outside = off_policy(log, 1.5, "ips", 1.0)
    said = f"no support for at least {outside.unsupported:.1%} of what"
    assert said in str(outside.trust)
    assert str(outside).count(said) == 2  # the same number beside the effective sample
    assert "support for all of the policy" in str(off_policy(made(), best))
    assert "the critic answers for" in str(off_policy(made(), best, "direct"))
    assert "too small" in str(off_policy(made(densities=np.full(N, 0.05)), best).trust)
    assert "do not integrate to 1" in str(off_policy(made(densities=np.full(N, 0.05)), best, space=SPACE).trust)
    assert "direct method" in str(off_policy(made(), best, "direct").trust)
    heavy = np.full(N, 0.1)
    heavy[int(np.argmin(np.abs(made()._source.block.actions[:, 0] - 5.0)))] = 1e-5  # type: ignore[attr-defined]
    assert "of all weight" in str(off_policy(made(densities=heavy), 5.0, "ips", 1.0).trust)
    unknown = np.where(np.arange(N) % 4 == 0, np.nan, 0.1)
    assert "25% of the rows are left out" in str(off_policy(made(densities=unknown), best).trust)


@pytest.mark.parametrize("d", [3, 4])
def test_many_dimensions_have_small_samples_and_it_is_said(d: int) -> None:
    found = off_policy(made(300, d=d), lambda x: np.tile(best(x)[:, np.newaxis], (1, d)), "ips", 0.7)
    assert found.effective < 50
    assert "below 50" in str(found.trust)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"policy": "nobody"}, "policy must be a booster"),
        ({"policy": [1.0, 2.0]}, "a constant of 1 number"),
        ({"policy": lambda x: np.zeros(3)}, "must give 2000 actions"),
        ({"policy": lambda x: np.where(np.arange(len(x)) == 42, np.nan, 1.0)}, "in row 43"),
        ({"policy": bb.algorithms.boosted(bb.spaces.Box((0, 0), (1, 1)), answers=1)}, "must decide about 1"),
        ({"estimator": "best"}, "estimator must be one of"),
        ({"kernel": "square"}, "kernel must be one of"),
        ({"bandwidth": "narrow"}, "bandwidth must be 'balanced'"),
        ({"bandwidth": -1.0}, "positive"),
        ({"level": 1.0}, "level must lie strictly between"),
        ({"space": bb.spaces.Interval(0, 5)}, "action must lie in the space"),
        ({"space": bb.spaces.Box((0, 0), (1, 1))}, "space must have 1 coordinate"),
        ({"log": made(densities=None)}, "log must have densities"),
        ({"log": made(5)}, "at least 10 rows"),
        ({"log": made(densities=np.where(np.arange(N) == 3, 1e-300, 0.1)), "bandwidth": 20.0}, "got 1e-300 in row 4"),
        ({"log": None}, "log must be a Log"),
        ({"policy": 99.0, "bandwidth": 0.5, "estimator": "snips"}, "no row has any weight"),
    ],
)
def test_what_cannot_be_evaluated_is_one_sentence(change: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"log": made(), "policy": best} | change
    with pytest.raises(ValueError, match=sentence):
        off_policy(given.pop("log"), given.pop("policy"), **given)


class TooSmall(Normal):
    def density(self, contexts: Array, actions: Array) -> Array:
        return 0.5 * super().density(contexts, actions)


class Negative(Normal):
    def density(self, contexts: Array, actions: Array) -> Array:
        return -super().density(contexts, actions)


def test_laws_that_are_no_densities_are_refused_with_the_row() -> None:
    with pytest.raises(ValueError, match=r"integrate to 1 over the space, got 0\.5 in the context of row 1"):
        off_policy(made(), TooSmall(), "ips", space=SPACE)
    with pytest.raises(ValueError, match=r"finite densities of at least 0, got -.* in row 1"):
        off_policy(made(), Negative(), "ips")


def test_a_law_without_draws_is_averaged_over_the_space() -> None:
    class Uniform:
        def density(self, contexts: Array, actions: Array) -> Array:
            return np.full(len(actions), 0.1)

    found = off_policy(made(), Uniform(), space=SPACE)
    assert found.interval[0] < found.logged < found.interval[1]
    with pytest.raises(ValueError, match=r"draw\(contexts, rng\)"):
        off_policy(made(), Uniform())


def test_any_regressor_may_be_the_critic() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    model = linear.Ridge()
    found = off_policy(made(), best, model=model)
    assert not hasattr(model, "coef_")  # it was copied
    assert found.interval[0] < 0.0 < found.interval[1]


def test_the_critic_adds_trees_where_they_help() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1500, 3))
    steps = np.where(table[:, 0] > 0, 2.0, -2.0) * np.sign(table[:, 2])
    noise = rng.normal(size=1500)
    assert LossModel(1).fit(table, steps + 0.1 * noise).share > 0.8
    assert LossModel(1).fit(table, table[:, 0] * table[:, 2] + noise).share < 0.3


def test_slope_stops_at_the_first_contradiction() -> None:
    assert slope([0.0, 0.1, 0.2, 0.3], [1.0, 0.5, 0.3, 0.2]) == 3
    assert slope([0.0, 0.1, 9.0, 0.1], [1.0, 0.5, 0.3, 0.2]) == 1
    assert slope([0.0, 5.0], [0.1, 10.0]) == 1  # a half-width that grows counts for those before it
    assert slope([0.0], [1.0]) == 0


def test_bernstein_is_the_formula_and_covers() -> None:
    rng, n, misses = np.random.default_rng(0), 200, 0
    for _ in range(300):
        terms = rng.uniform(size=n)
        half = intervals.bernstein(float(terms.var(ddof=1)), 1.0, n, 0.95)
        misses += abs(terms.mean() - 0.5) > half
    assert misses <= 15
    low, high = intervals.bootstrap(rng.normal(size=(500, 1)) + 1.0, np.ones((500, 1)), np.ones(1), 0.95, rng)
    assert low < 1.0 < high

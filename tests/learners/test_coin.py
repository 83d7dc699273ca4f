"""Coin betting: closed forms, a slow bettor, regret against every comparator, and no rate on the paper's data."""

from __future__ import annotations

import math

import numpy as np
import pytest

import banditboost as bb
from banditboost.learners import Coin
from banditboost.spaces import Ball, Interval


def test_a_coin_that_always_falls_on_one_side() -> None:
    """The first coin shows its size. After k more heads θ = G = k and w = k/(k+1) · F_k, so that F_{k+1} = F_k (2k+1)/(k+1)."""
    bank = Coin(0.3, intercept=False).start(1, Interval(-1.0, 1.0), 1, np.random.default_rng(0))
    bank.update(np.ones(1), np.array([-1.0]), 1)
    assert bank.play(np.ones(1)).item() == 0.0
    fortune = 0.3
    for k in range(1, 20):
        bank.update(np.ones(1), np.array([-1.0]), k + 1)
        assert bank.play(np.ones(1)).item() == pytest.approx(k / (k + 1) * fortune, rel=1e-12)
        fortune *= (2 * k + 1) / (k + 1)


def test_bank_equals_one_bettor_per_weight() -> None:
    rng, space = np.random.default_rng(1), Ball(2, 2.0)
    bank = Coin(0.2).start(3, space, 2, rng)
    state = {key: {"L": 0.0, "G": 0.0, "theta": 0.0, "R": 0.0, "w": 0.0} for key in np.ndindex(3, 2, 3)}
    scale = [0.0, 0.0, 0.0]
    for t in range(1, 100):
        x, g = rng.normal(size=2), rng.normal(size=(3, 2)) * (rng.random((3, 2)) < 0.8)
        seen = [*x, 1.0]
        scale = [max(s, abs(v)) for s, v in zip(scale, seen, strict=True)]
        z = [v / s for v, s in zip(seen, scale, strict=True)]
        expected = [[sum(state[i, j, k]["w"] * z[k] for k in range(3)) for j in range(2)] for i in range(3)]
        np.testing.assert_allclose(bank.play(x), expected, rtol=1e-10, atol=1e-13)
        bank.update(x, g, t)
        for (i, j, k), s in state.items():
            h = float(g[i, j]) * z[k]
            clipped = min(max(h, -s["L"]), s["L"])
            s["L"], s["G"], s["theta"] = max(s["L"], abs(h)), s["G"] + abs(clipped), s["theta"] - clipped
            s["R"] -= clipped * s["w"]
            s["w"] = s["theta"] / (s["L"] * (s["G"] + s["L"])) * (0.4 * s["L"] + s["R"]) if s["L"] else 0.0


def test_regret_without_a_rate_stays_near_the_best_rates_bound() -> None:
    """Against any comparator u: O(|u| √(T log(1 + |u| T / ε))), without knowing |u|; regret against zero is at most the fortune."""
    rounds, rng = 2000, np.random.default_rng(2)
    for bias in (0.0, 0.1, 0.5):
        h = np.where(rng.random(rounds) < 0.5 + bias / 2, -1.0, 1.0)
        bank = Coin(1.0, intercept=False).start(1, Interval(-1.0, 1.0), 1, rng)
        paid = 0.0
        total = 0.0
        for t in range(rounds):
            paid += float(h[t] * bank.play(np.ones(1)).item())
            total += float(h[t])
            bank.update(np.ones(1), h[t : t + 1], t + 1)
        state = bank.arrays()
        assert (bank.fortune * state["bounds"] + state["rewards"] > 0).all()
        for u in (0.0, 0.1, 1.0, 10.0):
            regret = paid + u * abs(total)
            assert regret <= 1.0 + 2 * u * math.sqrt(rounds * math.log(1 + 4 * u * rounds))


RIVALS = {
    "abalone": bb.rates.Power(0.3, 0.5),
    "letter": bb.rates.Power(1.0, 0.75),
    "adult": bb.rates.Power(0.1, 0.5),
}


@pytest.mark.parametrize("name", RIVALS)
def test_within_half_of_tuned_descent_on_the_papers_data(name: str) -> None:
    """The rates are the best of a grid (lr 0.01 ... 1, t^-c with c 0.25 ... 0.75, radius 3 ... 30) on these rows' first halves."""
    data = bb.datasets.load(name).scaled("minmax")
    space = Interval(*data.label_range)
    world = bb.worlds.Supervised(data.X, data.y).shuffled(0).halves()[1].head(5000)
    tuned = bb.learners.Linear(10.0 if name == "abalone" else 3.0, RIVALS[name])
    losses = [
        bb.evaluate.progressive(bb.algorithms.ogd(space, learner=learner), world).losses.mean()
        for learner in (Coin(), tuned)
    ]
    assert losses[0] < 1.5 * losses[1]


@pytest.mark.parametrize("fortune", [0.0, -1.0, math.inf, math.nan])
def test_bad_fortune_is_named(fortune: float) -> None:
    with pytest.raises(ValueError, match=r"^fortune must be"):
        Coin(fortune)


@pytest.mark.parametrize("chain", [bb.chains.Span(), bb.chains.Additive()], ids=str)
@pytest.mark.parametrize(
    "learner",
    [Coin(), bb.learners.Standardized(Coin()), bb.learners.Mixed((bb.learners.Linear(), Coin()), (1, 1))],
    ids=str,
)
def test_bettors_are_refused_where_nothing_bounds_their_stakes(
    chain: bb.chains.Chain, learner: bb.learners.Learner
) -> None:
    with pytest.raises(ValueError, match=r"chain must not be .* with learners that bet"):
        bb.Booster(learner, 4, chain, bb.gradients.Exact(), bb.spaces.Interval(0, 1))

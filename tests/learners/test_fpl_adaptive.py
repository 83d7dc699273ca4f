"""Perturbations that are added where plays change: the sum by parts on every run, regret against its bound, broken rules."""

from __future__ import annotations

import numpy as np
import pytest

from banditboost import theory
from banditboost._core.checks import Array
from banditboost.algorithms import projection_free
from banditboost.evaluate import progressive
from banditboost.learners import FPL, perturbing
from banditboost.learners.fpl import AdaptiveFPLBank
from banditboost.spaces import Ball, Birkhoff, CountingSpace, Shrunk, Simplex, Space, Spectrahedron
from banditboost.worlds import finite_sum, stationary
from tests.learners.test_fpl import GAMES, SEQUENCES, Sequence, alternating, each_game, regrets

ADAPTIVE = FPL(scale="adaptive")


def started(space: Space, copies: int, seed: int = 45) -> AdaptiveFPLBank:
    bank = ADAPTIVE.start(copies, space, 0, np.random.default_rng(seed))
    assert isinstance(bank, AdaptiveFPLBank)
    return bank


@each_game
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_sum_by_parts_holds_on_every_run(name: str, sequence: Sequence) -> None:
    """Σ g·x - G·x* <= Σ_k (q_k·x* - min q_k·x) + Σ d_t, with everything written out here."""
    space, _, rounds = GAMES[name]
    axes = tuple(range(1, 1 + len(space.shape)))
    bank, copies = started(space, 20), 20
    paid, saved, price = np.zeros(copies), np.zeros(copies), np.zeros(copies)
    total, noise, scale, raised = np.zeros((copies, *space.shape)), bank.noise.copy(), bank.scale.copy(), 0
    for t, g in enumerate(sequence(rounds, space.shape)):
        plays = bank.play(None)
        bank.update(None, np.broadcast_to(g, plays.shape), t + 1)
        if t == 0:
            scale = np.full(copies, perturbing.FIRST * np.linalg.norm(g) * space.diameter / space.gaussian_width)
            noise = scale[0] * noise
            price -= (space.minimize(noise) * noise).sum(axis=axes)
        paid += (plays * g).sum(axis=axes)
        total += g
        between = space.minimize(total + noise)
        saved += ((total + noise) * (plays - between)).sum(axis=axes)
        added = bank.noise - noise
        price -= (space.minimize(added) * added).sum(axis=axes)
        raised += int((bank.scale > 1.5 * scale).sum())
        assert (np.isclose(bank.scale, scale) | (bank.scale >= 1.999 * scale)).all()
        noise, scale = bank.noise.copy(), bank.scale.copy()
        np.testing.assert_allclose(bank.play(None), space.minimize(total + noise))
    best = space.minimize(total)
    regret = paid - (best * total).sum(axis=axes)
    assert (regret <= price + (noise * best).sum(axis=axes) + saved + 1e-9).all()
    assert raised > 0


@each_game
def test_mean_regret_stays_below_theorys(name: str) -> None:
    space, copies, rounds = GAMES[name]
    bound = theory.fpl_adaptive_regret(rounds, 1.0, space.diameter, space.gaussian_width)
    for sequence in SEQUENCES:
        final = regrets(ADAPTIVE, space, copies, sequence(rounds, space.shape))[-1]
        assert final.mean() + 4 * final.std() / np.sqrt(copies) <= bound


def test_on_hard_losses_it_pays_little_more_than_the_scale_of_theory_which_knows_sigma_and_the_horizon() -> None:
    for name in ("ball", "simplex"):
        space, copies, _ = GAMES[name]
        losses = alternating(2000, space.shape)
        known = regrets(FPL(1.0, 2000), space, copies, losses)[-1].mean()
        assert regrets(ADAPTIVE, space, copies, losses)[-1].mean() < 2.5 * known


@pytest.mark.parametrize(
    "broken",
    [
        lambda scales, saved, space: scales,
        lambda scales, saved, space: scales * np.where(saved > 1e6 * scales, 2.0, 1.0),
        lambda scales, saved, space: scales * np.where(saved > 0, 8.0, 1.0),
    ],
    ids=["never", "too late", "always"],
)
def test_rules_that_raise_the_scale_too_late_or_too_often_break_the_bound(
    broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, rounds = Ball(3), 20_000
    bound = theory.fpl_adaptive_regret(rounds, 1.0, space.diameter, space.gaussian_width)
    monkeypatch.setattr(perturbing, "next_scales", broken)
    with np.errstate(over="ignore", invalid="ignore"):
        worst = max(float(np.nanmean(hard(space, sequence, rounds))) for sequence in (alternating, constant))
    assert worst > bound


def hard(space: Space, sequence: Sequence, rounds: int) -> Array:
    return np.asarray(regrets(ADAPTIVE, space, 5, sequence(rounds, space.shape))[-1])


def constant(rounds: int, shape: tuple[int, ...]) -> Array:
    """The same loss in every round, with a little noise that keeps plays moving."""
    rng = np.random.default_rng(1)
    return np.asarray(np.eye(1, shape[0])[0] * 0.9 + 0.05 * rng.uniform(-1, 1, (rounds, *shape)))


def test_the_rule_itself_keeps_the_bound_where_broken_ones_break_it() -> None:
    space, rounds = Ball(3), 20_000
    bound = theory.fpl_adaptive_regret(rounds, 1.0, space.diameter, space.gaussian_width)
    for sequence in (alternating, constant):
        assert hard(space, sequence, rounds).mean() < bound / 5


@pytest.mark.parametrize("size", [2.0**-400, 2.0**-10, 2.0**300])
def test_plays_do_not_depend_on_the_units_of_losses(size: float) -> None:
    for space in (Simplex(4), Birkhoff(3), Ball(3)):
        one, other = started(space, 3), started(space, 3)
        rng = np.random.default_rng(2)
        for t in range(1, 60):
            gradients = rng.normal(size=(3, *space.shape))
            one.update(None, gradients, t)
            other.update(None, size * gradients, t)
            np.testing.assert_allclose(one.play(None), other.play(None), atol=1e-9)
            np.testing.assert_allclose(size * one.scale, other.scale)


def test_a_copy_that_has_seen_nothing_waits_for_its_first_gradient() -> None:
    bank = started(Simplex(4), 2)
    before = bank.play(None)
    bank.update(None, np.zeros((2, 4)), 1)
    assert not bank.seen.any()
    bank.update(None, np.array([[0.0] * 4, [1.0, 0.0, 0.0, 0.0]]), 2)
    assert bank.seen.tolist() == [False, True]
    np.testing.assert_array_equal(bank.play(None)[0], before[0])


def test_the_oracle_is_called_once_a_round_and_where_a_scale_is_raised() -> None:
    counted = CountingSpace(Birkhoff(3))
    bank = ADAPTIVE.start(5, counted, 0, np.random.default_rng(0))
    assert isinstance(bank, AdaptiveFPLBank)
    raised, rng = 0, np.random.default_rng(1)
    for t in range(1, 40):
        scale = bank.scale.copy()
        bank.update(None, rng.normal(size=(5, 3, 3)), t)
        raised += int((bank.scale > scale).sum()) if t > 1 else 0
    assert 5 * 40 + raised <= counted.oracle_calls <= 5 * 40 + raised + 5
    assert counted.projections == 0


def test_without_sigma_algorithm_one_finds_its_scale_and_loses_less() -> None:
    """On problems whose gradients are far from the worst case: half the regret of the scale that theory prescribes, or less."""
    for make, space in ((finite_sum, Ball(10)), (stationary, Simplex(5))):
        regret = {}
        for sigma in (None, 1.0):
            worlds = [make(space, rounds=600, seed=seed) for seed in range(3)]
            runs = [
                progressive(
                    projection_free(space, horizon=600, sigma=world.sigma if sigma else None, copies=20, seed=seed),
                    world,
                ).losses.mean()
                - world.best().losses.mean()
                for seed, world in enumerate(worlds)
            ]
            regret[sigma] = float(np.mean(runs))
        assert regret[None] < 0.6 * regret[1.0]


def test_widths_of_sets_around_sets() -> None:
    inner = Spectrahedron(100, 3.0)
    assert CountingSpace(inner).gaussian_width == inner.gaussian_width
    assert Shrunk(inner, 0.25).gaussian_width == 0.75 * inner.gaussian_width
    # The default bounds the width of every set: of the ball, whose width is known, it is exact but for E‖p‖ <= √d.
    draws = np.random.default_rng(3).normal(size=(4000, 6))
    for space in (Ball(6, 2.0), Simplex(6)):
        support = -(space.minimize(-draws) * -draws).sum(axis=1)
        assert support.mean() <= space.gaussian_width


def test_only_gaussian_perturbations_adapt() -> None:
    with pytest.raises(
        ValueError, match=r"^perturbation must be 'gaussian' where the scale is adaptive, got 'laplace'\.$"
    ):
        FPL(scale="adaptive", perturbation="laplace")
    with pytest.raises(ValueError, match="scale must be a number, got 'other'"):
        FPL(scale="other")  # type: ignore[arg-type]

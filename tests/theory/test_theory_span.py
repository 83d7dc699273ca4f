"""The bound for the span: its formulas, and runs of the chain `Span`, right and broken on purpose, held against them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate

import banditboost as bb
from banditboost import theory
from banditboost._core.streams import stream
from banditboost.chains import Span
from banditboost.gradients import Exact

Array = NDArray[np.float64]
steady = settings(derandomize=True, deadline=None, max_examples=60)

SETTING: dict[str, Any] = {"horizon": 400, "copies": 10, "step": 0.25, "lipschitz": 3.0, "radius": 2.0}
EXACT: dict[str, Any] = SETTING | {"smoothness": 1.5, "learner_regret": 50.0, "start_regret": 200.0}
BANDIT: dict[str, Any] = SETTING | {
    "dimension": 2,
    "delta": 0.25,
    "sigma": 40.0,
    "learner_regret": 50.0,
    "start_regret": 200.0,
}


# --- formulas ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("span_norm", [1.0, 2.5])
@pytest.mark.parametrize("start_regret", [200.0, -200.0])
@pytest.mark.parametrize("learner_regret", [50.0, -5000.0])
def test_the_bound_is_its_recursion(
    adaptive: bool, span_norm: float, start_regret: float, learner_regret: float
) -> None:
    shrinking = (math.sqrt(2) if adaptive else 1.5) * 3.0 * 2.0 * math.sqrt(400)
    for play_bound, gamma in ((None, 1.0), (0.5, 1.0), (0.5, 0.25)):
        plays = (2.0 if play_bound is None else play_bound) / gamma
        inner = learner_regret / gamma + shrinking + 1.5 * 0.25 * (plays + 2.0) ** 2 * 400 / 2
        gap = start_regret
        for _ in range(10):
            gap = (1 - 0.25 / span_norm) * gap + 0.25 * inner
        changed = EXACT | {"learner_regret": learner_regret, "start_regret": start_regret}
        bound = theory.span_boosting_regret(
            **changed, span_norm=span_norm, gamma=gamma, play_bound=play_bound, adaptive=adaptive
        )
        assert bound == pytest.approx(gap, rel=1e-12)


def test_one_whole_step_forgets_the_start() -> None:
    # η = W = 1: y^1 = (1-σ)y^0 + a, and the bound is the copy's regret, that of the shrinkage, and the curvature.
    whole = EXACT | {"copies": 1, "step": 1.0}
    for start_regret in (-1e6, 0.0, 1e6):
        bound = theory.span_boosting_regret(**whole | {"start_regret": start_regret})
        assert bound == pytest.approx(50 + math.sqrt(2) * 6 * 20 + 2 * 1.5 * 4 * 400)


def test_the_form_with_simple_constants_is_never_smaller() -> None:
    # (1-η/W)^N Δ_0 + W (R + R_σ + 2βηB²T), for D ≤ B.
    for span_norm in (1.0, 3.0):
        for play_bound in (None, 1.0):
            simple = (1 - 0.25 / span_norm) ** 10 * 200 + span_norm * (
                50 + theory.span_shrinkage_regret(400, 3.0, 2.0) + 2 * 1.5 * 0.25 * 4 * 400
            )
            assert theory.span_boosting_regret(**EXACT, span_norm=span_norm, play_bound=play_bound) <= simple


@pytest.mark.parametrize(
    ("name", "more"),
    [("horizon", 401), ("smoothness", 1.6), ("lipschitz", 3.1), ("radius", 2.1), ("learner_regret", 51.0)],
)
@pytest.mark.parametrize("bandit", [False, True])
def test_worse_settings_have_larger_bounds(name: str, more: float, bandit: bool) -> None:
    function = theory.span_bandit_boosting_regret if bandit else theory.span_boosting_regret
    setting = BANDIT | {"smoothness": 1.5} if bandit else EXACT
    assert function(**setting | {name: more}) > function(**setting)
    assert function(**setting, span_norm=1.1) > function(**setting)
    assert function(**setting, play_bound=1.0) < function(**setting)
    assert function(**setting, adaptive=False) > function(**setting)
    assert function(**setting | {"start_regret": 201.0}) > function(**setting)


def test_steps_of_the_source_bring_the_first_term_down_as_stated() -> None:
    for copies in (10, 100, 1000):
        for span_norm in (1.0, 2.0):
            factors = []
            for step in (span_norm * math.log(copies) / copies, math.log(copies) / copies):
                free = {"smoothness": 0.0, "lipschitz": 0.0, "learner_regret": 0.0, "start_regret": 1.0}
                factors.append(
                    theory.span_boosting_regret(**EXACT | free | {"copies": copies, "step": step}, span_norm=span_norm)
                )
            assert factors[0] <= 1 / copies
            assert 0.5 * copies ** (-1 / span_norm) <= factors[1] <= copies ** (-1 / span_norm)


def test_bandit_feedback_adds_the_price_of_smoothing() -> None:
    kept, gap = 0.75**10, 0.25 * 3.0 * 400
    exact = theory.span_boosting_regret(**EXACT | {"smoothness": 24.0, "lipschitz": 40.0})  # β = dL/δ, and σ for L
    assert theory.span_bandit_boosting_regret(**BANDIT) == pytest.approx(exact + (1 + kept) * gap)
    assert theory.span_bandit_boosting_regret(**BANDIT) <= exact + 2 * gap
    smooth = theory.span_boosting_regret(**EXACT | {"lipschitz": 40.0}) + (1 + kept) * gap
    assert theory.span_bandit_boosting_regret(**BANDIT, smoothness=1.5) == pytest.approx(smooth)
    rough = theory.span_bandit_boosting_regret(**BANDIT, smoothness=1e9)
    assert rough == theory.span_bandit_boosting_regret(**BANDIT)
    harmful = theory.span_bandit_boosting_regret(**BANDIT, harmless=False)
    assert harmful - rough == pytest.approx((1 - kept) * gap / 0.25)
    likely = theory.span_bandit_boosting_regret(**BANDIT, failure=0.1, play_bound=1.0, gamma=0.5)
    price = (1 - kept) * theory.martingale_price(400, 10, 40.0, 3.0, 1.0 + 2.0 + 2.0, 0.1)
    assert likely == pytest.approx(theory.span_bandit_boosting_regret(**BANDIT, play_bound=1.0, gamma=0.5) + price)


def test_a_projection_may_raise_the_smoothed_loss() -> None:
    # The pinball loss with its label at the upper end: clipping never raises it, yet raises its average over ±δ.
    def pinball(y: float) -> float:
        return max(0.9 * (1.0 - y), 0.1 * (y - 1.0))

    def smoothed(y: float) -> float:
        return float(
            integrate.quad(lambda u: pinball(y + 0.5 * u) / 2, -1, 1, points=[max(-1, min(1, (1 - y) / 0.5))])[0]
        )

    outside = 1.3
    assert pinball(1.0) <= pinball(outside)
    assert smoothed(outside) < smoothed(1.0) <= smoothed(outside) + theory.smoothing_gap(0.5, 0.9)
    # With the label δ away from the end it does not.
    assert smoothed(1.5) <= smoothed(1.5 + 0.3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"step": 0.0}, "step must lie in"),
        ({"step": 1.5}, "step must lie in"),
        ({"copies": 0}, "copies must be a whole number"),
        ({"span_norm": 0.5}, "span_norm must be at least 1, got 0.5"),
        ({"radius": 0.0}, "radius must be positive"),
        ({"play_bound": -1.0}, "play_bound must be positive"),
        ({"start_regret": math.nan}, "start_regret must be finite"),
        ({"learner_regret": "many"}, "learner_regret must be a number"),
        ({"gamma": 0.0}, "gamma must be positive"),
        ({"lipschitz": -1.0}, "must not be negative"),
    ],
)
def test_bad_arguments_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        theory.span_boosting_regret(**EXACT | changed)
    with pytest.raises(ValueError, match=message):
        theory.span_bandit_boosting_regret(**BANDIT | changed)


def test_bad_runs_are_refused() -> None:
    run: dict[str, Any] = {"step": 0.5, "smoothness": 1.0, "start": 0.0, "start_regret": 0.0}
    with pytest.raises(ValueError, match=r"shrinkage must have shape \(1, 2\), one number per play, got \(2,\)"):
        theory.unrolled_span([[1.0, 0.0]], [[1.0, 0.0]], [1.0, 0.0], 0.0, **run)
    with pytest.raises(ValueError, match="gradients must have the shape of plays"):
        theory.unrolled_span([[1.0]], [[1.0, 0.0]], [[1.0, 0.0]], 0.0, **run)
    with pytest.raises(ValueError, match="step must lie in"):
        theory.unrolled_span([[1.0]], [[1.0]], [[1.0]], 0.0, **run | {"step": 2.0})


@steady
@given(
    seed=st.integers(0, 2**32 - 1),
    copies=st.integers(1, 6),
    size=st.integers(1, 3),
    step=st.floats(0.05, 1.0),
    span_norm=st.floats(1.0, 5.0),
    gamma=st.sampled_from([0.5, 1.0, 2.0]),
    far=st.booleans(),
)
def test_any_plays_and_any_shrinkage_satisfy_the_bracket(
    seed: int, copies: int, size: int, step: float, span_norm: float, gamma: float, far: bool
) -> None:
    # Losses with β = 1: a quadratic, for which both ends are exact, and log cosh, for which neither is.
    rng = np.random.default_rng(seed)
    rounds = 4
    centres, star = rng.normal(size=(2, rounds, size))
    start, plays = rng.normal(size=size), rng.normal(size=(rounds, copies, size))
    shrinkage = rng.uniform(size=(rounds, copies))
    for quadratic in (True, False):

        def value(y: Array, quadratic: bool = quadratic) -> float:
            away = y - centres
            return float((np.square(away) / 2 if quadratic else np.log(np.cosh(away))).sum())

        radius = 10.0 if far else 1.0

        def clip(y: Array, radius: float = radius) -> Array:
            # Onto a box that holds every centre: losses that are sums over coordinates can only fall.
            return np.clip(y, np.minimum(centres, -radius), np.maximum(centres, radius))

        here, fed, moved = np.broadcast_to(start, (rounds, size)), np.empty_like(plays), False
        for i in range(copies):
            fed[:, i] = here - centres if quadratic else np.tanh(here - centres)
            wished = (1 - shrinkage[:, i : i + 1] * step) * here + step / gamma * plays[:, i]
            here = clip(wished)
            moved |= bool((here != wished).any())
        regret, first = value(here) - value(star), value(np.broadcast_to(start, (rounds, size))) - value(star)
        setting: dict[str, Any] = {"step": step, "span_norm": span_norm, "gamma": gamma, "start": start}
        low, linear, high = theory.unrolled_span(
            fed, plays, shrinkage, star, smoothness=1.0, start_regret=first, project=clip, **setting
        )
        assert low - 1e-9 <= regret <= high + 1e-9
        if quadratic and not moved and math.isfinite(low):
            assert regret == pytest.approx(low + high - linear, abs=1e-9)


# --- the learned shrinkage -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Frozen(Span):
    """Broken: the shrinkage is never learned."""

    def learn(self, path: Array, gradients: Array, memory: Any, t: int) -> None:
        pass


@dataclass(frozen=True)
class Backwards(Span):
    """Broken: the shrinkage moves with its loss, not against it."""

    def learn(self, path: Array, gradients: Array, memory: Any, t: int) -> None:
        super().learn(path, -gradients, memory, t)


SEQUENCES = ["constant", "alternating", "random", "late", "growing"]


def slopes_of(name: str, rounds: int) -> Array:
    t = np.arange(rounds)
    if name == "constant":
        return np.ones(rounds)
    if name == "alternating":
        return np.where(t % 2 == 0, 1.0, -1.0)
    if name == "late":
        return np.where(t < rounds // 2, -1.0, 1.0)
    if name == "growing":
        return np.where(t % 3 == 0, -1.0, 1.0) * (t + 1) / rounds
    return np.random.default_rng(5).uniform(-1, 1, size=rounds)


def shrinkage_regrets(chain: Span, slopes: Array) -> tuple[float, Array]:
    """Return the regret of σ on the losses -slope·σ against the better end of [0, 1], and the σ that were played."""
    memory, played = chain.start(1), np.empty(len(slopes))
    for t, slope in enumerate(slopes):
        played[t] = memory["shrinkage"][0]
        chain.learn(np.array([2.0, 0.0]), np.array([slope / 2.0]), memory, t + 1)  # y^0 = 2 and ∇ = slope/2
    return float((-slopes * played).sum() - min(0.0, -slopes.sum())), played


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("rounds", [1, 2, 10, 300])
def test_the_shrinkage_keeps_its_regret(name: str, rounds: int) -> None:
    slopes = slopes_of(name, rounds)
    regret, _ = shrinkage_regrets(Span(), slopes)
    assert regret <= math.sqrt(2 * float(slopes @ slopes)) + 1e-12
    assert math.sqrt(2 * float(slopes @ slopes)) <= theory.span_shrinkage_regret(rounds, 0.5, 2.0) + 1e-12
    regret, _ = shrinkage_regrets(Span(rate=bb.rates.Power(1 / (0.5 * 2.0), 0.5)), slopes)
    assert regret <= theory.span_shrinkage_regret(rounds, 0.5, 2.0, adaptive=False) + 1e-12


def test_a_shrinkage_that_does_not_learn_is_caught() -> None:
    bound = theory.span_shrinkage_regret(300, 0.5, 2.0)
    assert shrinkage_regrets(Frozen(), slopes_of("constant", 300))[0] > 10 * bound
    assert shrinkage_regrets(Backwards(), slopes_of("constant", 300))[0] > 10 * bound
    assert shrinkage_regrets(Backwards(), slopes_of("late", 300))[0] > 3 * bound


# --- runs ----------------------------------------------------------------------------------------------------------
class Run(NamedTuple):
    regret: float
    start_regret: float
    fed: Array
    true: Array
    plays: Array
    shrinkage: Array
    path: Array
    start: Array
    comparator: Array
    booster: bb.Booster

    def judge(self, step: float, span_norm: float, exact: bool = True) -> theory.UnrolledBracket:
        return theory.unrolled_span(
            self.fed if exact else self.true,
            self.plays,
            self.shrinkage,
            self.comparator,
            step=step,
            smoothness=2.0,
            start=self.start,
            start_regret=self.start_regret,
            span_norm=span_norm,
            project=self.booster.geometry.ground.project,
        )


def play(booster: bb.Booster, world: bb.worlds.Supervised, comparator: Array, seed: int = 0) -> Run:
    """Play a world once and keep all that the bound speaks of; what copies were fed is recorded at the bank's door."""
    rng, shape = stream(seed, "noise"), (len(world), booster.spec.copies, *booster.spec.space.shape)
    fed, true, plays = np.empty(shape), np.empty(shape), np.empty(shape)
    path, shrinkage = np.empty((shape[0], shape[1] + 1, *shape[2:])), np.empty(shape[:2])
    assert booster.bank is not None
    update, regret, start_regret = booster.bank.update, 0.0, 0.0

    def recorded(context: Array | None, gradients: Array, t: int) -> None:
        fed[t - 1] = gradients
        update(context, gradients, t)

    booster.bank.update = recorded  # type: ignore[method-assign]
    for t in range(len(world)):
        shrinkage[t] = booster.chain_memory["shrinkage"]
        ticket = booster.ask(world.context(t))
        best = float(world.values(t, comparator[t]))
        regret += float(world.values(t, ticket.prediction)) - best
        start_regret += float(world.values(t, booster.geometry.chain_start)) - best
        true[t], plays[t], path[t] = world.gradients(t, ticket.path[:-1]), ticket.raw, ticket.path
        booster.tell(ticket, world.answer(t, ticket, booster.spec.gradient.noisy, rng))
    return Run(
        regret, start_regret, fed, true, plays, shrinkage, path, booster.geometry.chain_start, comparator, booster
    )


class Setting(NamedTuple):
    world: bb.worlds.SyntheticLinear
    comparator: Array
    booster: bb.Booster
    bound: float


T, N, NOISE, FEATURES = 200, 12, 0.1, 2


def setting(
    space: bb.spaces.Space,
    gradient: bb.gradients.Gradient,
    span_norm: float,
    step: float,
    *,
    adaptive: bool = True,
    spread: float = 0.2,
    chain: type[Span] = Span,
    rounds: int = T,
    copies: int = N,
) -> Setting:
    """Linear labels of norm W, learned by linear copies of norm 1: f* is W times a function of the class."""
    dimension = space.shape[0] if space.shape else None
    world = bb.worlds.SyntheticLinear(
        rounds, FEATURES, dimension, spread=spread, norm=span_norm, noise=bb.noise.Uniform(NOISE), seed=1
    )
    longest = math.sqrt(FEATURES)  # contexts are drawn from [-1, 1]
    delta, d, B = gradient.reach, space.rank, space.farthest
    ground = space.shrink(delta / space.inner_radius) if delta else space
    assert ground.contains(world.labels()).all(), "the projection must never raise the loss"
    # Steps leave the set by ηD at most, queries by nothing more than δ.
    L, beta, M = bb.losses.Squared().constants(space, delta=step * longest + delta)
    if isinstance(gradient, bb.gradients.OnePoint):
        sigma = theory.sphere_gradient_bound(d, M, delta, NOISE)
    elif isinstance(gradient, bb.gradients.Surrogate):
        sigma = (d * (1 + gradient.limit) + gradient.limit) * (M + 2 * NOISE) / delta
    else:
        sigma = L
    own = theory.ogd_regret(rounds, sigma * longest, 2.0)
    rate = None if adaptive else bb.rates.Power(1 / (sigma * B), 0.5)
    booster = bb.Booster(
        bb.learners.Linear(1.0, bb.rates.Theory(2.0, sigma * longest), intercept=False),
        copies,
        chain(step=step, rate=rate),
        gradient,
        space,
        features=FEATURES,
    )
    comparator = world.contexts() @ world.weights.T
    best = world.best_losses
    first = float(sum(float(world.values(t, booster.geometry.chain_start)) - best[t] for t in range(rounds)))
    common: dict[str, Any] = {"span_norm": span_norm, "play_bound": longest, "adaptive": adaptive}
    if not delta:
        bound = theory.span_boosting_regret(rounds, copies, step, beta, L, B, own, first, **common)
    else:
        bound = theory.span_bandit_boosting_regret(
            rounds, copies, step, d, L, B, delta, sigma, own, first, smoothness=beta, **common
        )
    return Setting(world, comparator, booster, bound)


SPACES = [bb.spaces.Interval(-5.0, 5.0), bb.spaces.Ball(3, 5.0)]


@pytest.mark.parametrize("space", SPACES, ids=["interval", "ball"])
@pytest.mark.parametrize(("span_norm", "step"), [(1.0, 0.25), (2.5, 0.5), (2.5, 1.0)])
@pytest.mark.parametrize("adaptive", [True, False])
def test_exact_gradients_stay_below_the_bound(
    space: bb.spaces.Space, span_norm: float, step: float, adaptive: bool
) -> None:
    made = setting(space, Exact(), span_norm, step, adaptive=adaptive)
    run = play(made.booster, made.world, made.comparator)
    low, linear, high = run.judge(step, span_norm)
    assert low <= run.regret <= high <= made.bound
    assert math.isfinite(low), "with this class nothing is ever projected here"
    assert run.regret == pytest.approx(low + high - linear, abs=1e-7)


@pytest.mark.parametrize("space", SPACES, ids=["interval", "ball"])
@pytest.mark.parametrize("name", ["OnePoint", "Surrogate"])
@pytest.mark.parametrize(("span_norm", "step"), [(1.0, 0.25), (2.5, 0.5)])
def test_bandit_gradients_stay_below_the_bound(
    space: bb.spaces.Space, name: str, span_norm: float, step: float
) -> None:
    gradient = getattr(bb.gradients, name)(delta=0.4)
    made = setting(space, gradient, span_norm, step)
    regrets = []
    for seed in range(3):
        booster = bb.Booster.from_spec(replace(made.booster.spec, seed=seed), FEATURES)
        run = play(booster, made.world, made.comparator, seed)
        # The squared loss and its smoothed version differ by a constant: both have the bracket, with true gradients.
        low, linear, high = run.judge(step, span_norm, exact=False)
        assert low - 1e-9 <= run.regret <= high + 1e-9
        if math.isfinite(low):
            assert run.regret == pytest.approx(low + high - linear, abs=1e-7)
        regrets.append(run.regret)
    assert float(np.mean(regrets)) <= made.bound


@pytest.mark.parametrize(("name", "half", "span_norm"), [("Exact", 4.0, 2.5), ("OnePoint", 2.0, 1.0)])
def test_the_upper_end_holds_where_the_projection_acts(name: str, half: float, span_norm: float) -> None:
    # Faster copies and whole steps, in a set that holds the labels and little more.
    gradient = Exact() if name == "Exact" else bb.gradients.OnePoint(delta=0.2)
    made = setting(bb.spaces.Interval(-half, half), gradient, span_norm, 1.0)
    learner = bb.learners.Linear(1.0, bb.rates.Constant(0.5), intercept=False)
    run = play(bb.Booster.from_spec(replace(made.booster.spec, learner=learner), FEATURES), made.world, made.comparator)
    low, _, high = run.judge(1.0, span_norm, exact=name == "Exact")
    assert low == -math.inf
    assert run.regret <= high


LARGEST = 2.2**2
"""M, of (y - 1)² on [-1.2, 1.2]."""


def bound_for_constants(rounds: int, copies: int, step: float, delta: float) -> tuple[float, float]:
    """Return the bound for learning the label 1 with constants from [-1, 1] (W = D = 1), and that on the gradients."""
    L = 2 * (2.2 + step + delta)  # queries stay in the set; steps and the smoothing leave it
    sigma = theory.sphere_gradient_bound(1, LARGEST, delta, NOISE) if delta else L
    own = theory.ogd_regret(rounds, sigma, 2.0)
    if not delta:
        return theory.span_boosting_regret(rounds, copies, step, 2.0, L, 1.2, own, rounds, play_bound=1.0), sigma
    bound = theory.span_bandit_boosting_regret(
        rounds, copies, step, 1, L, 1.2, delta, sigma, own, rounds, play_bound=1.0, smoothness=2.0
    )
    return bound, sigma


def play_constants(rounds: int, copies: int, step: float, gradient: bb.gradients.Gradient) -> tuple[Run, float]:
    bound, sigma = bound_for_constants(rounds, copies, step, gradient.reach)
    world = bb.worlds.Supervised(np.zeros((rounds, 0)), np.ones(rounds), bb.losses.Squared(), bb.noise.Uniform(NOISE))
    learner = bb.learners.Linear(1.0, bb.rates.Theory(2.0, sigma))
    space = bb.spaces.Interval(-1.2, 1.2)
    run = play(bb.Booster(learner, copies, Span(step=step), gradient, space, features=0), world, np.ones(rounds))
    assert run.start_regret == rounds
    return run, bound


def test_the_bound_is_not_silly() -> None:
    # Long steps pass the label and then fall short of it, for ever: the term of the curvature is there for a reason.
    run, bound = play_constants(600, 5, 0.322, Exact())
    assert 0.05 * bound < run.regret <= bound < 0.7 * LARGEST * 600
    run, bound = play_constants(600, 50, 0.08, Exact())
    assert run.regret <= bound
    assert run.regret < 0.01 * run.start_regret


def test_the_bandit_bound_needs_a_long_horizon() -> None:
    run, bound = play_constants(600, 5, 0.322, bb.gradients.OnePoint(delta=0.19))
    assert run.regret <= bound
    assert run.regret < 0.05 * run.start_regret
    # No loss exceeds M, so that a bound above MT says nothing; below it, it does.
    assert bound_for_constants(600, 5, 0.322, 0.19)[0] > LARGEST * 600
    assert bound_for_constants(10_000, 5, 0.322, 0.19)[0] < 0.8 * LARGEST * 10_000
    assert bound_for_constants(1_000_000, 60, 0.068, 0.05)[0] < 0.25 * LARGEST * 1_000_000


# --- broken code ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LateFeedback(Span):
    """Broken: asks for feedback at y^i instead of y^{i-1}."""

    def path(self, plays: Array, start: Array, memory: Any = None, ground: Any = None) -> Array:
        right = super().path(plays, start, memory, ground)
        return np.concatenate([right[1:], right[-1:]])


@dataclass(frozen=True)
class DoubleSteps(Span):
    """Broken: steps twice as long as said."""

    def lengths(self, copies: int) -> Array:
        return 2 * super().lengths(copies)


@dataclass(frozen=True)
class WrongShrinkage(Span):
    """Broken: shrinks by σ instead of ση."""

    def path(self, plays: Array, start: Array, memory: Any = None, ground: Any = None) -> Array:
        assert memory is not None
        larger = {"shrinkage": memory["shrinkage"] / self.lengths(len(plays))}
        return super().path(plays, start, larger, ground)


@dataclass(frozen=True)
class SwappedGradients(Exact):
    """Broken: every copy learns from the next copy's gradient."""

    def estimate(self, answers: Array, probe: Any, space: Any, memory: Any) -> Array:
        return np.roll(answers, -1, axis=0)


# Who catches what in a run of 200 rounds: the two ends of the bracket, or the identity for quadratic losses.
CAUGHT = [
    (Span, Exact(), 1.0, 0.25, set()),
    (Span, Exact(), 2.5, 0.5, set()),
    (LateFeedback, Exact(), 1.0, 0.25, {"identity"}),
    (LateFeedback, Exact(), 2.5, 0.5, {"identity"}),
    (DoubleSteps, Exact(), 1.0, 0.25, {"identity"}),
    (DoubleSteps, Exact(), 2.5, 0.5, {"upper", "identity"}),
    (WrongShrinkage, Exact(), 2.5, 0.5, {"upper", "identity"}),
    (Span, SwappedGradients(), 1.0, 0.25, {"upper", "identity"}),
    (Span, SwappedGradients(), 2.5, 0.5, {"upper", "identity"}),
]


@pytest.mark.parametrize("space", SPACES, ids=["interval", "ball"])
@pytest.mark.parametrize(("chain", "gradient", "span_norm", "step", "catchers"), CAUGHT)
def test_broken_code_is_caught(
    chain: type[Span], gradient: Exact, span_norm: float, step: float, catchers: set[str], space: bb.spaces.Space
) -> None:
    made = setting(space, gradient, span_norm, step, chain=chain)
    run = play(made.booster, made.world, made.comparator)
    low, linear, high = run.judge(step, span_norm)
    found = set()
    if run.regret > high + 1e-6:
        found.add("upper")
    if run.regret < low - 1e-6:
        found.add("lower")
    if abs(run.regret - (low + high - linear)) > 1e-6:
        found.add("identity")
    assert found == catchers


def test_late_feedback_falls_below_the_lower_end() -> None:
    made = setting(SPACES[0], Exact(), 1.0, 0.25, chain=LateFeedback)
    learner = bb.learners.Linear(1.0, bb.rates.Power(2.0, 0.5), intercept=False)
    run = play(bb.Booster.from_spec(replace(made.booster.spec, learner=learner), FEATURES), made.world, made.comparator)
    assert run.regret < run.judge(0.25, 1.0).lower - 0.5


@pytest.mark.parametrize(("chain", "held"), [(Span, True), (Frozen, False), (Backwards, False)])
def test_copies_that_are_right_need_the_shrinkage(chain: type[Span], held: bool) -> None:
    # Every copy plays the best function, 1, so that its regret is nothing; without shrinkage their sum walks past it. The
    # bracket holds even then, being about any shrinkage; what fails is what the shrinkage promised.
    rounds, copies, step = 100, 10, 0.5
    space = bb.spaces.Interval(-10.0, 10.0)
    world = bb.worlds.Supervised(np.zeros((rounds, 0)), np.ones(rounds), bb.losses.Squared())
    learner = bb.learners.Linear(None, bb.rates.Constant(1e-300))
    booster = bb.Booster(learner, copies, chain(step=step), Exact(), space, features=0)
    assert isinstance(booster.bank, bb.learners.linear.LinearBank)
    booster.bank.weights[:] = 1.0
    run = play(booster, world, np.ones(rounds))
    low, linear, high = run.judge(step, 1.0)
    assert run.regret == pytest.approx(low + high - linear, abs=1e-7)

    slopes = run.fed * run.path[:, :-1]
    own = (run.fed * (run.plays - 1.0)).sum(axis=0)
    assert np.abs(own).max() < 1e-9
    steps = np.square(run.plays - run.shrinkage * run.path[:, :-1]).sum(axis=0)
    promised = own + np.sqrt(2 * np.square(slopes).sum(axis=0)) + 2.0 * step / 2 * steps
    weights = step * (1 - step) ** np.arange(copies - 1, -1, -1)
    bound = (1 - step) ** copies * run.start_regret + float(weights @ promised)
    assert (run.regret <= bound) == held
    shrinking = ((1.0 - run.shrinkage) * slopes).sum(axis=0)
    assert bool((shrinking <= np.sqrt(2 * np.square(slopes).sum(axis=0)) + 1e-9).all()) == held

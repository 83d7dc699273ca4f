"""Chains: the closed form is the recursion, and weights are those of the theory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import banditboost as bb
from banditboost.chains import ConvexHull, Harmonic, Mix, Single, Trusted
from banditboost.spaces.stacks import Factored
from banditboost.theory import chain_weights, step_lengths
from tests.evaluate.test_compiled import agree
from tests.slow_mix import SlowMix


def recursion(plays: np.ndarray, start: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    path = [start]
    for i in range(len(plays)):
        path.append((1 - lengths[i]) * path[-1] + lengths[i] * plays[i])
    return np.array(path)


@pytest.mark.parametrize("copies", range(1, 201))
def test_the_papers_closed_form_is_its_recursion(copies: int) -> None:
    plays = np.random.default_rng(copies).normal(size=(copies, 2))
    start = np.array([5.0, -3.0])
    expected = recursion(plays, start, np.array([2 / (i + 1) for i in range(1, copies + 1)]))
    np.testing.assert_allclose(ConvexHull().path(plays, start), expected, rtol=0, atol=1e-13)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    numerator=st.floats(0.1, 3.0),
    offset=st.floats(-0.5, 5.0),
    copies=st.integers(1, 60),
    shape=st.sampled_from([(), (3,), (2, 2)]),
)
def test_every_harmonic_chain_is_its_recursion(
    numerator: float, offset: float, copies: int, shape: tuple[int, ...]
) -> None:
    chain = ConvexHull(steps=Harmonic(numerator, offset))
    rng = np.random.default_rng(copies)
    plays, start = rng.normal(size=(copies, *shape)), rng.normal(size=shape)
    expected = recursion(plays, start, chain.lengths(copies))
    np.testing.assert_allclose(chain.path(plays, start), expected, rtol=0, atol=1e-12)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(steps=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=40))
def test_explicit_steps_ones_included(steps: list[float]) -> None:
    chain = ConvexHull(steps=tuple(steps))
    plays = np.random.default_rng(len(steps)).normal(size=len(steps))
    expected = recursion(plays, np.array(0.7), np.array(steps))
    np.testing.assert_allclose(chain.path(plays, np.array(0.7)), expected, rtol=0, atol=1e-12)


def test_steps_and_weights_are_the_theorys() -> None:
    chain = ConvexHull()
    np.testing.assert_allclose(chain.lengths(30), step_lengths(30), rtol=1e-15)
    # The weight of copy k in the prediction is the k-th column of the path as a linear map of the plays.
    weights = chain.path(np.eye(30), np.zeros(30))[-1]
    np.testing.assert_allclose(weights, chain_weights(30), rtol=1e-12)


def test_a_hundred_thousand_copies_stay_accurate() -> None:
    plays = np.random.default_rng(0).normal(size=100_000)
    for steps in (Harmonic(), Harmonic(1.0, 3.0)):
        chain = ConvexHull(steps=steps)
        expected = recursion(plays, np.array(0.0), chain.lengths(len(plays)))
        np.testing.assert_allclose(chain.path(plays, np.array(0.0)), expected, rtol=0, atol=1e-10)


def test_single_asks_where_it_predicts() -> None:
    assert Single().path(np.array([[1.0, 2.0]]), np.zeros(2)).tolist() == [[1.0, 2.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="copies must be 1 with the chain Single, got 2"):
        Single().check(2)


@pytest.mark.parametrize("steps", [(0.0,), (1.5,), (), ((0.5, 0.5),)])
def test_bad_steps_are_refused(steps: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="steps must be numbers in"):
        ConvexHull(steps=steps)


def test_steps_must_be_as_many_as_copies() -> None:
    with pytest.raises(ValueError, match="2 steps and 3 copies"):
        ConvexHull(steps=(1.0, 0.5)).check(3)


@pytest.mark.parametrize("gamma", [0.0, -1.0, float("nan")])
def test_gamma_must_be_positive(gamma: float) -> None:
    with pytest.raises(ValueError, match="gamma must be"):
        ConvexHull(gamma=gamma)


@pytest.mark.parametrize("steps", [Harmonic(), Harmonic(1.0, 3.0)])
def test_a_described_path_is_the_written_one(steps: Harmonic) -> None:
    rng = np.random.default_rng(0)
    plays, start = Factored(rng.normal(size=(4, 5)), rng.normal(size=(4, 3))), rng.normal(size=(5, 3))
    written = np.array([plays[i] for i in range(4)])
    described = ConvexHull(steps=steps).path(plays.array(), start)
    np.testing.assert_allclose(
        np.array([described[i] for i in range(5)]), recursion(written, start, steps.lengths(4)), atol=1e-13
    )


def test_steps_are_checked_and_kept_as_a_tuple() -> None:
    with pytest.raises(ValueError, match="numerator must be positive, got 0"):
        Harmonic(numerator=0.0)
    assert ConvexHull(steps=[1.0, 0.5]).steps == (1.0, 0.5)  # type: ignore[arg-type]
    assert hash(ConvexHull(steps=np.array([1.0, 0.5]))) == hash(ConvexHull(steps=(1.0, 0.5)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("rival", "weight"), [(3.0, 1.0), (1.0, 0.5), (-2.0, 0.02), (0.0, 0.02)])
def test_a_rival_is_followed_as_far_as_it_has_proven_better(rival: float, weight: float) -> None:
    """The loss is least at 0.5 where the rival says 1 and the others say 0, so that half way is best; at 3 all the way."""
    least = 3.0 if rival == 3.0 else 0.5
    chain = Mix(step=0.5, first=1.0)
    memory = chain.start(2)
    for t in range(1, 3000):
        path = chain.path(np.array([0.0, rival]), np.array(0.0), memory)
        chain.learn(path, 2 * (path[:-1] - least), memory, t)
    assert memory["trust"][1] == pytest.approx(weight, rel=0.02)


def test_a_rival_is_judged_without_bias_by_noisy_gradients() -> None:
    chain, rng = Mix(step=0.5, first=1.0), np.random.default_rng(0)
    memory = chain.start(2)
    for t in range(1, 5000):
        path = chain.path(np.array([0.0, 1.0]), np.array(0.0), memory)
        chain.learn(path, 2 * (path[:-1] - 0.5) + 3 * rng.normal(size=2), memory, t)
    assert memory["trust"][1] == pytest.approx(0.5, abs=0.1)


def test_a_rival_that_is_judged_by_the_wrong_sign_is_caught() -> None:
    chain = Mix(step=0.5, first=1.0)
    memory = chain.start(2)
    for t in range(1, 500):
        path = chain.path(np.array([0.0, 3.0]), np.array(0.0), memory)
        chain.learn(path, -2 * (path[:-1] - 3.0), memory, t)
    assert memory["trust"][1] < 0.1


def test_copies_that_are_no_rivals_add_up_as_they_did() -> None:
    plays, start = np.array([1.0, 0.4, -0.2, 9.0]), np.array(0.0)
    mixed, trusted = Mix(step=0.5, first=1.0), Trusted(step=0.5, first=1.0)
    paths = [chain.path(plays[:n], start, chain.start(n)) for chain, n in ((mixed, 4), (trusted, 3))]
    np.testing.assert_allclose(paths[0][:4], paths[1])


def judged_alone(
    signal: float, noise: float, chain: Mix, rounds: int = 1000
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the trust where the second copy and the later ones play at random, and the loss is least at `signal` times that."""
    rng, memory = np.random.default_rng(0), chain.start(5)
    for t in range(1, rounds + 1):
        plays = np.array([0.0, rng.normal(), 0.0, 0.0, 0.0])
        plays[2:4] = rng.normal()
        path = chain.path(plays, np.array(0.0), memory)
        least = signal * (plays[1] + plays[2])
        chain.learn(path, 2 * (path[:-1] - least) + 2 * noise * rng.normal(), memory, t)
    return memory["trust"]


def test_copies_that_play_noise_are_hardly_trusted_and_those_with_signal_are() -> None:
    chain = Mix(step=0.5, first=1.0, alone=1)
    assert (judged_alone(0.0, 3.0, chain)[1:4] < 0.05).all()
    assert (judged_alone(0.8, 0.1, chain)[1:4] > 0.75).all()
    without = judged_alone(0.02, 3.0, Mix(step=0.5, first=1.0))[1:4]
    assert (judged_alone(0.02, 3.0, chain)[1:4] <= without).all()


def test_rivals_that_are_doubted_are_followed_less() -> None:
    """The last copy plays at random, and the loss is least a little towards it: with doubts it needs to show more."""
    plain, doubting = Mix(step=0.5, first=1.0, alone=1), Mix(step=0.5, first=1.0, alone=1, doubts=(1.0, 4.0, 2.0))
    assert judged_alone(0.1, 3.0, doubting)[-1] < judged_alone(0.1, 3.0, plain)[-1]
    assert (judged_alone(0.1, 3.0, doubting)[2:4] <= judged_alone(0.1, 3.0, plain)[2:4]).all()


SETTINGS = {
    "rivals alone": Mix(step=0.5, first=1.0, rivals=2),
    "shrunk": Mix(step=0.5, first=1.0, alone=1),
    "doubted": Mix(step=0.2, first=1.0, alone=1, doubts=(1.0, 4.0, 2.0)),
    "recent": Mix(step=0.2, first=1.0, units=(1.0, 3.0), alone=2, doubts=(1.0, 4.0, 2.0), recent=True),
}


def apart(chain: Mix, slow: SlowMix, space: bb.spaces.Space, rounds: int = 1500) -> float:
    """How far the compiled chain is ever from the one in plain NumPy, in a world that changes."""
    rng, memory, copies, furthest = np.random.default_rng(3), chain.start(7), 7, 0.0
    beside = slow.start(copies)
    for t in range(1, rounds + 1):
        plays = 0.3 * rng.normal(size=(copies, *space.shape))
        least = (0.5 if t < 900 else -0.5) * plays[1] + 0.7 * plays[-1]
        paths = [
            one.path(plays, np.zeros(space.shape), known, space) for one, known in ((chain, memory), (slow, beside))
        ]
        furthest = max(furthest, float(np.abs(paths[0] - paths[1]).max()))
        G = 2 * (paths[1][:-1] - least) + 0.2 * rng.normal(size=(copies, *space.shape))
        chain.learn(paths[1], G, memory, t)
        slow.learn(paths[1], G, beside, t)
        furthest = max(furthest, *(float(np.abs(memory[name] - beside[name]).max()) for name in ("trust", "gained")))
    return furthest


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    "space", [bb.spaces.Interval(-1.0, 1.0), bb.spaces.Box((-1.0, -1.0), (1.0, 1.0))], ids=["line", "box"]
)
def test_the_compiled_chain_is_the_one_in_numpy(name: str, space: bb.spaces.Space) -> None:
    chain = SETTINGS[name]
    if space.shape == ():
        chain = replace(chain, units=(1.0,))
    assert apart(chain, SlowMix(chain), space) < 1e-9


def test_a_chain_in_numpy_with_other_doubts_is_noticed() -> None:
    chain = SETTINGS["doubted"]
    slow = SlowMix(replace(chain, doubts=(1.0, 4.0, 1.9)))
    assert apart(chain, slow, bb.spaces.Interval(-1.0, 1.0)) > 1e-6


@pytest.mark.parametrize("doubts", [(1.0, 2.0), (1.0, -2.0, 0.0), 3.0])
def test_doubts_are_three_numbers(doubts: object) -> None:
    with pytest.raises(ValueError, match="doubts must"):
        Mix(doubts=doubts)  # type: ignore[arg-type]


def test_the_shrinkage_is_that_of_stein() -> None:
    """One copy alone: G, S and V are sums over rounds, without forgetting where they are computed here."""
    chain, rng = Mix(step=0.5, first=1.0, alone=1), np.random.default_rng(1)
    memory, gained, squares, variance = chain.start(3), 0.0, 0.0, 0.0
    for t in range(1, 50):
        plays = np.array([0.0, rng.normal(), 0.0])
        trust = memory["trust"][1]
        path = chain.path(plays, np.array(0.0), memory)
        slope = -2 * plays[1] + rng.normal()
        chain.learn(path, np.array([0.0, slope, 0.0]), memory, t)
        kept = 1 - 2 / (t + 40)
        gain, size = -slope * plays[1] / 2, plays[1] ** 2
        gained, squares = kept * gained + gain, kept * squares + size
        variance = kept**2 * variance + (gain - trust * size) ** 2
        raw = (gained - variance / gained) / squares if gained > 0 else 0.0
        assert memory["trust"][1] == pytest.approx(np.clip((raw + 5 / t) / (1 + 5 / t), 0.02, 1.0), rel=1e-9)


def rival_trusts(chain: Mix, flip: int, rounds: int, before: float, after: float) -> list[float]:
    """How far a rival that plays 1 is followed, where the loss is least at `before`, and from some round on at `after`."""
    rng, memory, found = np.random.default_rng(2), chain.start(3), []
    for t in range(1, rounds + 1):
        size = rng.normal()
        path = chain.path(np.array([0.0, 0.0, size]), np.array(0.0), memory)
        least = size * (before if t <= flip else after)
        chain.learn(path, 2 * (path[:-1] - least) + 0.5 * rng.normal(), memory, t)
        found.append(float(memory["trust"][2]))
    return found


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.0), (0.0, 1.0)])
def test_late_rounds_overrule_all_rounds_where_another_is_right(before: float, after: float) -> None:
    chain = Mix(step=0.5, first=1.0, alone=1, recent=True)
    late, all_rounds = (rival_trusts(kind, 2000, 2300, before, after) for kind in (chain, replace(chain, recent=False)))
    assert late[1999] == pytest.approx(before, abs=0.1)
    assert all_rounds[1999] == pytest.approx(before, abs=0.1)
    assert late[-1] == pytest.approx(after, abs=0.15)
    assert abs(late[2199] - after) < 0.15
    assert abs(all_rounds[-1] - after) > 0.5


def test_where_nothing_changes_late_rounds_hardly_ever_overrule() -> None:
    for share in (0.0, 0.3):
        chain = Mix(step=0.5, first=1.0, alone=1, recent=True)
        late, all_rounds = (
            rival_trusts(kind, 3000, 3000, share, share) for kind in (chain, replace(chain, recent=False))
        )
        away = np.abs(np.subtract(late, all_rounds))
        assert away.mean() < 0.01
        assert (away > 0).mean() < 0.1


def test_what_late_rounds_have_shown_is_worked_out_by_hand() -> None:
    """One copy alone, whose best step changes; G, S and V over 512 and over 64 rounds are summed up here."""
    chain, rng = Mix(step=0.5, first=1.0, alone=1, recent=True), np.random.default_rng(3)
    plain = replace(chain, recent=False)
    memory, without, sums, overruled = chain.start(3), plain.start(3), np.zeros((2, 3)), 0
    for t in range(1, 1500):
        plays = np.array([0.0, rng.normal(), 0.0])
        trust = memory["trust"][1]
        path = chain.path(plays, np.array(0.0), memory)
        slope = -2 * plays[1] * (1.0 if t < 1200 else -1.0) + rng.normal()
        slopes = np.array([0.0, slope, 0.0])
        without["trust"][:] = memory["trust"]
        chain.learn(path, slopes, memory, t)
        plain.learn(path, slopes, without, t)
        expected, gain, size = without["trust"][1], -slope * plays[1] / 2, plays[1] ** 2
        for k, rounds in enumerate((512, 64)):
            kept = 1 - 1 / rounds
            sums[k] = sums[k] * [kept, kept, kept**2] + [gain, size, (gain - trust * size) ** 2]
            G, S, V = sums[k]
            if t > 2 * rounds and (G - expected * S) ** 2 > 9 * V:
                expected = np.clip((G - V / G) / S, 0.02, 1.0) if G > 0 else 0.02
                overruled += 1
        assert memory["trust"][1] == pytest.approx(expected, rel=1e-9)
    assert overruled > 100


def test_late_rounds_overrule_alike_on_both_paths() -> None:
    world = bb.worlds.Flip(rounds=900, features=3, at=(500,), noise=bb.noise.Uniform(0.1))
    learner, chain = bb.learners.SecondOrder(centre="zero"), Mix(step=0.5, first=1.0, alone=1, recent=True)
    for doubts in ((1.0, 2.0, 0.0), (1.0, 4.0, 2.0)):
        mine = bb.Booster(learner, 5, replace(chain, doubts=doubts), bb.gradients.Exact(), bb.spaces.Interval(-4, 4))
        agree(mine, world)
        other = bb.Booster.from_spec(replace(mine.spec, chain=replace(chain, doubts=doubts, recent=False)))
        bb.evaluate.progressive(mine, world)
        bb.evaluate.progressive(other, world)
        assert np.abs(mine.chain_memory["trust"] - other.chain_memory["trust"]).max() > 0.05, "they did overrule"


@pytest.mark.parametrize("recent", [1, None, "yes"])
def test_recent_is_true_or_false(recent: object) -> None:
    with pytest.raises(ValueError, match="recent must be True or False, got"):
        Mix(recent=recent)  # type: ignore[arg-type]

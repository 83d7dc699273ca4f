"""Generic checks of what other rooms ask of a learner: they run on every learner that exists."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import Bank, Learner
from banditboost.learners.base import LinearWeights, TreeTests
from banditboost.learners.family import LinearFamily
from banditboost.learners.second_order import SecondOrderBank
from tests.checks.discovery import label, specs

LEARNERS = [spec for spec in specs() if isinstance(spec, Learner)]
COPIES, FEATURES, ROUNDS = 4, 3, 90
SOME = np.array([2, 0])

each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=label)
each_contextual = pytest.mark.parametrize("learner", [spec for spec in LEARNERS if spec.contextual], ids=label)
each_space = pytest.mark.parametrize("space", [bb.spaces.Interval(-1.0, 1.0), bb.spaces.Ball(2, 1.0)], ids=str)


def start(learner: Learner, space: bb.spaces.Space, features: int = FEATURES) -> Bank:
    return learner.start(COPIES, space, features if learner.contextual else 0, np.random.default_rng(3))


def contexts(features: int = FEATURES) -> Array:
    rows = np.zeros((ROUNDS, features))
    rows[:, :FEATURES] = np.random.default_rng(4).uniform(-1, 1, (ROUNDS, FEATURES))
    return rows


def learned(bank: Bank, learner: Learner, X: Array) -> Bank:
    rng, shape = np.random.default_rng(5), bank.play(X[0] if learner.contextual else None).shape
    for t, x in enumerate(X, start=1):
        bank.update(x if learner.contextual else None, rng.normal(size=shape), t)
    return bank


def copied(bank: Bank) -> dict[str, Array]:
    return {name: array.copy() for name, array in bank.arrays().items()}


def test_every_kind_of_learner_is_found() -> None:
    kinds = {getattr(bb.learners, name) for name in bb.learners.__all__ if name not in ("Bank", "Learner")}
    assert {type(spec) for spec in LEARNERS} == kinds


@each_space
@each_learner
def test_the_first_axis_is_the_copy_unless_an_array_is_shared(learner: Learner, space: bb.spaces.Space) -> None:
    bank = start(learner, space)
    lengths = [n for n, _ in bank.banks] if isinstance(bank, bb.learners.mixed.MixedBank) else [COPIES]
    for name, array in bank.arrays().items():
        assert name in bank.shared or len(array) in lengths, f"{name} is not shared and has the shape {array.shape}"


@each_space
@each_learner
def test_reset_of_all_copies_is_a_fresh_start(learner: Learner, space: bb.spaces.Space) -> None:
    bank = learned(start(learner, space), learner, contexts())
    before = copied(bank)
    bank.reset(np.arange(COPIES), np.random.default_rng(7))
    fresh = learner.start(COPIES, space, FEATURES if learner.contextual else 0, np.random.default_rng(7)).arrays()
    for name, array in bank.arrays().items():
        foreign = isinstance(learner, bb.learners.Wrapped) and name != "told"
        expected = before[name] if name in bank.shared and not foreign else fresh[name]
        np.testing.assert_array_equal(array, expected, err_msg=name)


@each_space
@each_learner
def test_reset_of_some_copies_leaves_the_others(learner: Learner, space: bb.spaces.Space) -> None:
    bank = learned(start(learner, space), learner, contexts())
    before = copy.deepcopy(bank)
    bank.reset(SOME, np.random.default_rng(7))
    others = np.setdiff1d(np.arange(COPIES), SOME)
    for x in contexts()[:20]:
        plays, expected = (b.play(x if learner.contextual else None) for b in (bank, before))
        assert plays[others].tobytes() == expected[others].tobytes()
        if learner.contextual:
            assert not plays[SOME].any(), "contextual copies begin by playing zero"
    old = before.arrays()
    for name, array in bank.arrays().items():
        if name not in bank.shared and len(array) == COPIES:
            assert array[others].tobytes() == old[name][others].tobytes(), name
    learned(bank, learner, contexts()[:20])  # and they go on learning together


@each_learner
def test_reset_of_no_copy_changes_nothing(learner: Learner) -> None:
    bank = learned(start(learner, bb.spaces.Interval(-1, 1)), learner, contexts())
    before = copied(bank)
    bank.reset(np.arange(0), np.random.default_rng(7))
    assert {name: array.tobytes() for name, array in bank.arrays().items()} == {
        name: array.tobytes() for name, array in before.items()
    }


@each_learner
def test_reset_of_a_copy_that_is_not_there_changes_nothing(learner: Learner) -> None:
    bank = start(learner, bb.spaces.Interval(-1, 1))
    before = copied(bank)
    with pytest.raises(IndexError):
        bank.reset(np.array([1, COPIES]), np.random.default_rng(7))
    assert all(array.tobytes() == before[name].tobytes() for name, array in bank.arrays().items())


@each_space
@each_contextual
def test_stretched_plays_the_same_and_goes_on_learning(learner: Learner, space: bb.spaces.Space) -> None:
    bank = learned(start(learner, space), learner, contexts())
    before = copied(bank)
    larger = bank.stretched(FEATURES + 2, np.random.default_rng(8))
    assert all(array.tobytes() == before[name].tobytes() for name, array in bank.arrays().items())
    if larger is None:
        return
    for x in contexts()[:20]:
        np.testing.assert_allclose(larger.play(np.append(x, [0.0, 0.0])), bank.play(x), rtol=1e-12, atol=1e-14)
    assert not any(
        np.shares_memory(array, other) for array in larger.arrays().values() for other in bank.arrays().values()
    )
    learned(larger, learner, np.random.default_rng(9).uniform(-1, 1, (ROUNDS, FEATURES + 2)))
    assert {name: array.shape for name, array in larger.arrays().items()} == {
        name: array.shape for name, array in start(learner, space, FEATURES + 2).arrays().items()
    }


@each_contextual
def test_linear_learners_and_trees_can_be_stretched(learner: Learner) -> None:
    larger = start(learner, bb.spaces.Interval(-1, 1)).stretched(FEATURES + 1, np.random.default_rng(0))
    assert (larger is None) == isinstance(learner, bb.learners.Fourier | bb.learners.Network | bb.learners.Wrapped)


@each_space
@each_learner
def test_what_was_learned_is_shown_for_all_copies(learner: Learner, space: bb.spaces.Space) -> None:
    bank = learned(start(learner, space), learner, contexts())
    parts = bank.feature_weights()
    assert sum(part.copies for part in parts) == COPIES
    for part in parts:
        match part.shown:
            case LinearWeights(weights, intercept, _):
                assert weights.shape == (part.copies, space.size, FEATURES + intercept)
            case TreeTests(tests, leaves):
                assert tests.shape == (part.copies, FEATURES)
                np.testing.assert_array_equal(tests.sum(axis=1), leaves - 1)
    if isinstance(learner, LinearFamily):
        assert isinstance(parts[0].shown, LinearWeights)


@pytest.mark.parametrize("learner", [spec for spec in LEARNERS if isinstance(spec, LinearFamily)], ids=label)
def test_weights_shown_are_those_that_play(learner: LinearFamily) -> None:
    space = bb.spaces.Ball(2, 1.0)
    bank = learned(start(learner, space), learner, contexts())
    (part,) = bank.feature_weights()
    assert isinstance(part.shown, LinearWeights)
    largest = np.abs(contexts()).max(axis=0)
    for x in contexts()[:20]:
        seen = x / largest if part.shown.unit == "largest value seen" else x
        shown = np.append(seen, np.ones(int(part.shown.intercept)))
        expected = part.shown.weights @ shown
        if isinstance(bank, SecondOrderBank) and bank.spec.forward:
            expected = expected / bank.sizes(
                bank.turned(shown[np.newaxis])
            )  # the one factor that depends on the context
        np.testing.assert_allclose(bank.play(x), expected, rtol=1e-9, atol=1e-12)


@each_contextual
def test_every_contextual_learner_says_whether_it_fits_residuals(learner: Learner) -> None:
    assert learner.fits_residuals in (True, False)


class Forgetful(Learner):
    """A learner that answers no question."""

    def start(self, copies: int, space: bb.spaces.Space, features: int, rng: np.random.Generator) -> Bank:
        return ForgetfulBank()


class ForgetfulBank(Bank):
    def play(self, context: Array | None) -> Array:
        return np.zeros(1)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        pass

    def arrays(self) -> dict[str, Array]:
        return {}


def test_a_forgotten_answer_is_a_sentence() -> None:
    bank, rng = ForgetfulBank(), np.random.default_rng(0)
    with pytest.raises(TypeError, match="The copies of a ForgetfulBank cannot be reset: the class does not define"):
        bank.reset(SOME, rng)
    with pytest.raises(TypeError, match="A ForgetfulBank does not say whether it can take more features"):
        bank.stretched(3, rng)
    with pytest.raises(TypeError, match="A ForgetfulBank does not say what it has learned"):
        bank.feature_weights()
    with pytest.raises(TypeError, match="The learner Forgetful does not say whether its copies fit residuals"):
        _ = Forgetful().fits_residuals


def test_large_matrices_can_be_reset_too() -> None:
    space = bb.spaces.NuclearBall(40, 40, 1.0)
    for fresh in (True, False):
        learner = bb.learners.FPL(fresh=fresh)
        bank = learner.start(COPIES, space, 0, np.random.default_rng(3))
        rng = np.random.default_rng(5)
        for t in range(1, 4):
            bank.update(None, rng.normal(size=(COPIES, *space.shape)), t)
        before = copied(bank)
        bank.reset(SOME, np.random.default_rng(7))
        for name, array in bank.arrays().items():
            if name in bank.shared:
                assert array.tobytes() == before[name].tobytes()
                continue
            assert array[[1, 3]].tobytes() == before[name][[1, 3]].tobytes()
            assert (array[SOME] != before[name][SOME]).any()
        assert not bank.arrays()["total"][SOME].any()

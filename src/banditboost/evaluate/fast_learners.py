"""The bridge from each kind of bank to its compiled loop: one small runner per family.

Wrappers (`Standardized`, `Fourier`) depend on contexts alone, so that a block of rounds is turned into features first,
and a family's loop is given those.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost.learners import Coin, Fourier, Joined, Learner, Linear, ScaleFree, SecondOrder, Standardized
from banditboost.learners.base import Bank
from banditboost.learners.coin import CoinBank
from banditboost.learners.fourier import FourierBank
from banditboost.learners.joined import JoinedBank
from banditboost.learners.linear import LinearBank
from banditboost.learners.scale_free import FLOOR, ScaleFreeBank
from banditboost.learners.scaled import ScaledBank
from banditboost.learners.second_order import SecondOrderBank
from banditboost.learners.standardized import FLAT, StandardizedBank
from banditboost.require import Array

if TYPE_CHECKING:
    from banditboost.kernels.coin import Purse
    from banditboost.kernels.game import Game
    from banditboost.kernels.scale_free import Copies
    from banditboost.kernels.second_order import Group
    from banditboost.kernels.touched import Sparse

Rows = NDArray[np.intp]


def family(learner: Learner, wrapped: bool = False) -> type[Learner] | None:
    """Return the family whose compiled loop plays a learner; None where there is none."""
    kind = type(learner)
    if isinstance(learner, Standardized) and kind is Standardized:
        return family(learner.learner, True)
    if isinstance(learner, Fourier) and kind is Fourier:
        return family(learner.learner, True)
    if isinstance(learner, Joined) and kind is Joined:
        both = family(learner.first, True), family(learner.rest, True)
        return SecondOrder if both == (SecondOrder, SecondOrder) and not _joins(learner) else None
    if kind is Linear:
        return None if wrapped else Linear
    return kind if kind in (ScaleFree, Coin, SecondOrder) else None


def _joins(learner: Joined) -> bool:
    """Say whether one of the two is itself of two kinds, inside whatever wraps it."""
    inner: list[Any] = [learner.first, learner.rest]
    while inner:
        part = inner.pop()
        if isinstance(part, Joined):
            return True
        inner += [part.learner] if hasattr(part, "learner") else []
    return False


def numbers(bank: Bank | None, sparse: bool) -> int:
    """Return how many features are laid out for a round, for all copies together: what a block of rounds holds in memory."""
    match bank:
        case ScaledBank():
            return numbers(bank.bank, sparse)
        case JoinedBank():
            return numbers(bank.first, False) + numbers(bank.rest, False)
        case StandardizedBank():
            return len(bank.means) + numbers(bank.bank, False)
        case FourierBank():
            return bank.phases.size + numbers(bank.bank, False)
        case SecondOrderBank():
            return bank.weights.shape[-1] + 1
        case CoinBank() | ScaleFreeBank():
            return 1 if _in_place(bank, sparse) else bank.weights.shape[-1] + 1
    return 1


def _in_place(bank: Bank, sparse: bool) -> bool:
    """Say whether sparse contexts are read where they are: not where weights are projected, which touches all of them."""
    return sparse and (isinstance(bank, CoinBank) or (isinstance(bank, ScaleFreeBank) and bank.radius is None))


def play(bank: Bank, contexts: Array | csr_array, chosen: Rows, told: int, game: Game) -> None:
    """Play len(chosen) rounds on contexts[chosen], after `told` others, in one compiled call; the bank learns."""
    if isinstance(bank, LinearBank):
        _linear(bank, contexts, chosen, game)
        return
    if isinstance(bank, CoinBank | ScaleFreeBank) and isinstance(contexts, csr_array) and _in_place(bank, True):
        from banditboost.kernels.touched import sparse

        _sparse(bank, sparse(contexts, chosen, bank.spec.intercept), told, game)
        return
    block = contexts[chosen]
    groups, learned = _shown(bank, np.array(block.toarray() if isinstance(block, csr_array) else block))
    inner, features = groups[0]
    match inner:
        case SecondOrderBank():
            _second_order(groups, game)
        case ScaleFreeBank():
            _scale_free(inner, features, told, game)
        case CoinBank():
            _coin(inner, features, game)
    for known, now in learned:
        known[...] = now


def _shown(bank: Bank, X: Array) -> tuple[list[tuple[Any, Array]], list[tuple[Array, Array]]]:
    """Return linear banks and what they are shown, (T, 1 or N, p) with the constant; and arrays with their values afterwards.

    X may be overwritten. Nothing else is: what is known about the features changes when the rounds have been played.
    """
    from banditboost.kernels import features

    if isinstance(bank, JoinedBank):
        shown = [_shown(part, X.copy()) for part in (bank.first, bank.rest) if part is not None]
        return [group for part, _ in shown for group in part], [pair for _, part in shown for pair in part]
    if isinstance(bank, StandardizedBank):
        known = [bank.count, bank.means, bank.variations, bank.sizes]
        now = [array.copy() for array in known]
        count, means, variations, sizes = now
        largest = bank.spec.spread == "largest"
        features.standardize(X, count, means, variations, sizes, largest, bank.spec.squash, FLAT)
        groups, learned = _shown(bank.bank, X)
        return groups, [*learned, *zip(known, now, strict=True)]
    if isinstance(bank, FourierBank):
        inner: Any = bank.bank
        kinds, cosines = bank.phases.shape
        raw = X.shape[1] if bank.spec.raw else 0
        F = np.ones((len(X), kinds, raw + cosines + inner.spec.intercept))
        F[:, :, :raw] = X[:, np.newaxis, :raw]
        features.cosines(X, bank.frequencies, bank.picks, bank.phases, raw, F)
        return [(inner, F)], []
    plain: Any = bank
    F = np.ones((len(X), 1, X.shape[1] + plain.spec.intercept))
    F[:, 0, : X.shape[1]] = X
    return [(plain, F)], []


def _linear(bank: LinearBank, contexts: Array | csr_array, chosen: Rows, game: Game) -> None:
    from banditboost.kernels import linear, sparse

    weights = _flat(bank.weights)
    if isinstance(contexts, csr_array):
        sparse.rounds(weights, contexts, chosen, game)
    else:
        linear.rounds(weights, contexts, chosen, game)


def _second_order(groups: list[tuple[SecondOrderBank, Array]], game: Game) -> None:
    from banditboost.kernels import second_order

    first = _group(*groups[0])
    rest = _group(*groups[1]) if len(groups) > 1 else _nobody(first)
    second_order.rounds(first, rest, game)


def _group(bank: SecondOrderBank, features: Array) -> Group:
    from banditboost.kernels import second_order

    weights, spec = _flat(bank.weights), bank.spec
    scratch = second_order.scratch(len(weights), len(bank.roots), weights.shape[1], weights.shape[2])
    parts = (weights, bank.roots, bank.gains, bank.costs, spec.curvature, spec.around == "zero")
    return second_order.Group(features, *parts, spec.forward, spec.shrinks, *scratch)


def _nobody(group: Group) -> Group:
    """Return a group like another, without copies."""
    names = ("weights", "roots", "gains", "costs", "lever", "sizes", "outputs")
    return group._replace(**{name: getattr(group, name)[:0] for name in names})


def _sparse(bank: CoinBank | ScaleFreeBank, contexts: Sparse, told: int, game: Game) -> None:
    from banditboost.kernels import coin, scale_free

    if isinstance(bank, CoinBank):
        coin.sparse_rounds(_purse(bank), contexts, game)
    else:
        scale_free.sparse_rounds(_copies(bank), contexts, told, game)


def _scale_free(bank: ScaleFreeBank, features: Array, told: int, game: Game) -> None:
    from banditboost.kernels import scale_free

    scale_free.rounds(_copies(bank), features, told, game)


def _copies(bank: ScaleFreeBank) -> Copies:
    from banditboost.kernels.scale_free import Copies

    radius = math.inf if bank.radius is None else bank.radius
    known = (_flat(bank.weights), _flat(bank.squares), bank.largest, bank.scales, bank.totals)
    return Copies(*known, bank.rate, radius, FLOOR)


def _coin(bank: CoinBank, features: Array, game: Game) -> None:
    from banditboost.kernels import coin

    coin.rounds(_purse(bank), features, game)


def _purse(bank: CoinBank) -> Purse:
    from banditboost.kernels.coin import Purse

    weights, bounds, lengths, sums, rewards = map(
        _flat, (bank.weights, bank.bounds, bank.lengths, bank.sums, bank.rewards)
    )
    return Purse(weights, bounds, lengths, sums, rewards, bank.scales, bank.fortune)


def _flat(weights: Array) -> Array:
    """Return weights as (N, d, p), where a change shows in the bank's own."""
    return weights.reshape(len(weights), math.prod(weights.shape[1:-1]), weights.shape[-1])

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

from banditboost._core.checks import Array
from banditboost.learners import (
    Coin,
    Fourier,
    Learner,
    Linear,
    Mixed,
    Network,
    ScaleFree,
    SecondOrder,
    Standardized,
    Stump,
    Tree,
)
from banditboost.learners.base import Bank
from banditboost.learners.coin import CoinBank
from banditboost.learners.fourier import FourierBank
from banditboost.learners.linear import LinearBank
from banditboost.learners.mixed import MixedBank
from banditboost.learners.network import NetworkBank
from banditboost.learners.scale_free import FLOOR, ScaleFreeBank
from banditboost.learners.scaled import ScaledBank
from banditboost.learners.second_order import SecondOrderBank
from banditboost.learners.standardized import FLAT, StandardizedBank
from banditboost.learners.tree import TreeBank

if TYPE_CHECKING:
    from banditboost._compiled.coin import Purse
    from banditboost._compiled.game import Game
    from banditboost._compiled.scale_free import Copies
    from banditboost._compiled.second_order import Group
    from banditboost._compiled.touched import Sparse

Rows = NDArray[np.intp]


def kinds(learner: Learner, wrapped: bool = False) -> tuple[type[Learner], ...]:
    """Return the families that a learner's copies are of, in order, as far as compiled loops know them; none where they do not."""
    kind = type(learner)
    if isinstance(learner, Standardized | Fourier) and kind in (Standardized, Fourier):
        inner = kinds(learner.learner, True)
        # A last digit that differs between two ways to scale a number may send it down another branch.
        return () if Tree in inner else inner
    if isinstance(learner, Mixed) and kind is Mixed:
        parts = [kinds(part, True) for part in learner.parts]
        return tuple(found for part in parts for found in part) if all(parts) else ()
    if kind is Linear:
        return () if wrapped else (Linear,)
    if kind in (Tree, Stump):
        return (Tree,)
    return (kind,) if kind in (ScaleFree, Coin, SecondOrder, Network) else ()


LOOPS = (
    (Linear,),
    (ScaleFree,),
    (Coin,),
    (SecondOrder,),
    (SecondOrder, SecondOrder),
    (Tree,),
    (SecondOrder, Tree),
    (Network,),
)
"""Which families there are loops for, alone or one after the other."""


def fits(learner: Learner) -> bool:
    """Say whether there is a compiled loop for a learner."""
    return kinds(learner) in LOOPS


def numbers(bank: Bank | None, sparse: bool) -> int:
    """Return how many features are laid out for a round, for all copies together: what a block of rounds holds in memory."""
    match bank:
        case ScaledBank():
            return numbers(bank.bank, sparse)
        case MixedBank():
            return sum(numbers(part, False) for _, part in bank.banks)
        case TreeBank():
            return len(bank.bins.usual)
        case StandardizedBank():
            return len(bank.means) + numbers(bank.bank, False)
        case FourierBank():
            return bank.phases.size + numbers(bank.bank, False)
        case SecondOrderBank():
            return bank.weights.shape[-1] + 1
        case NetworkBank():
            return int(bank.inner.shape[-1]) + 1
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
        from banditboost._compiled.touched import sparse

        _sparse(bank, sparse(contexts, chosen, bank.spec.intercept), told, game)
        return
    block = contexts[chosen]
    groups, learned = _shown(bank, np.array(block.toarray() if isinstance(block, csr_array) else block))
    inner, features = groups[0]
    if isinstance(groups[-1][0], TreeBank):
        _forest(groups, game)
    elif isinstance(inner, SecondOrderBank):
        _second_order(groups, game)
    elif isinstance(inner, ScaleFreeBank):
        _scale_free(inner, features, told, game)
    elif isinstance(inner, NetworkBank):
        _network(inner, features, game)
    else:
        _coin(inner, features, game)
    for known, now in learned:
        known[...] = now


def _shown(bank: Bank, X: Array) -> tuple[list[tuple[Any, Array]], list[tuple[Array, Array]]]:
    """Return banks and what they are shown, and arrays with their values afterwards.

    Linear copies and networks are shown (T, 1 or N, p), the constant included; trees (T, p).

    X may be overwritten. Nothing else is: what is known about the features changes when the rounds have been played.
    """
    from banditboost._compiled import features

    if isinstance(bank, TreeBank):
        return [(bank, X)], []
    if isinstance(bank, MixedBank):
        shown = [_shown(part, X.copy()) for _, part in bank.banks]
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
        bank.check(X.shape[1])
        inner: Any = bank.bank
        kinds, cosines = bank.phases.shape
        raw = X.shape[1] if bank.spec.raw else 0
        F = np.ones((len(X), kinds, raw + cosines + inner.spec.intercept))
        F[:, :, :raw] = X[:, np.newaxis, :raw]
        features.cosines(X, bank.frequencies, bank.picks, bank.phases, raw, F)
        return [(inner, F)], []
    plain: Any = bank
    F = np.ones((len(X), 1, X.shape[1] + (isinstance(bank, NetworkBank) or plain.spec.intercept)))
    F[:, 0, : X.shape[1]] = X
    return [(plain, F)], []


def _linear(bank: LinearBank, contexts: Array | csr_array, chosen: Rows, game: Game) -> None:
    from banditboost._compiled import linear, sparse

    weights = _flat(bank.weights)
    if isinstance(contexts, csr_array):
        sparse.rounds(weights, contexts, chosen, game)
    else:
        linear.rounds(weights, contexts, chosen, game)


def _second_order(groups: list[tuple[SecondOrderBank, Array]], game: Game) -> None:
    from banditboost._compiled import second_order

    first = _group(*groups[0])
    rest = _group(*groups[1]) if len(groups) > 1 else _nobody(first)
    second_order.rounds(first, rest, game)


def _group(bank: SecondOrderBank, features: Array) -> Group:
    from banditboost._compiled import second_order

    weights, spec = _flat(bank.weights), bank.spec
    scratch = second_order.scratch(len(weights), len(bank.roots), weights.shape[1], weights.shape[2])
    parts = (weights, bank.roots, bank.gains, bank.costs, spec.curvature, spec.centre == "zero")
    return second_order.Group(features, *parts, spec.forward, spec.shrinks, *scratch)


def _nobody(group: Group) -> Group:
    """Return a group like another, without copies."""
    names = ("weights", "roots", "gains", "costs", "lever", "sizes", "outputs")
    return group._replace(**{name: getattr(group, name)[:0] for name in names})


def _forest(groups: list[tuple[Any, Array]], game: Game) -> None:
    from banditboost._compiled import forest

    bank, X = groups[-1]
    bank.check()
    first = _group(*groups[0]) if len(groups) > 1 else forest.nobody(len(X), bank.trees.value.shape[2])
    forest.rounds(first, bank.trees, bank.rules, bank.bins, X, game)


def _sparse(bank: CoinBank | ScaleFreeBank, contexts: Sparse, told: int, game: Game) -> None:
    from banditboost._compiled import coin, scale_free

    if isinstance(bank, CoinBank):
        coin.sparse_rounds(_purse(bank), contexts, game)
    else:
        scale_free.sparse_rounds(_copies(bank), contexts, told, game)


def _scale_free(bank: ScaleFreeBank, features: Array, told: int, game: Game) -> None:
    from banditboost._compiled import scale_free

    scale_free.rounds(_copies(bank), features, told, game)


def _copies(bank: ScaleFreeBank) -> Copies:
    from banditboost._compiled.scale_free import Copies

    radius = math.inf if bank.radius is None else bank.radius
    known = (_flat(bank.weights), _flat(bank.squares), bank.largest, bank.scales, bank.totals)
    return Copies(*known, bank.rate, radius, FLOOR)


def _coin(bank: CoinBank, features: Array, game: Game) -> None:
    from banditboost._compiled import coin

    coin.rounds(_purse(bank), features, game)


def _purse(bank: CoinBank) -> Purse:
    from banditboost._compiled.coin import Purse

    weights, bounds, lengths, sums, rewards = map(
        _flat, (bank.weights, bank.bounds, bank.lengths, bank.sums, bank.rewards)
    )
    return Purse(weights, bounds, lengths, sums, rewards, bank.scales, bank.fortune)


def _network(bank: NetworkBank, features: Array, game: Game) -> None:
    from banditboost._compiled import network

    spec, (copies, hidden, p) = bank.spec, bank.inner.shape
    known = (bank.inner, bank.outer, bank.inner_squares, bank.outer_squares)
    settings = (spec.rate, spec.curvature, spec.radius, spec.activation == "tanh")
    nets = network.Nets(*known, *settings, *network.scratch(copies, hidden))
    network.rounds(nets, features.reshape(-1, p), game)


def _flat(weights: Array) -> Array:
    """Return weights as (N, d, p), where a change shows in the bank's own."""
    return weights.reshape(len(weights), math.prod(weights.shape[1:-1]), weights.shape[-1])

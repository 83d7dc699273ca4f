"""More room for a booster that has learned already: a wider interval, or more features, and nothing is forgotten.

A feature that comes late was zero before. Linear copies and trees know what they would know had its column been there, all zeros,
from the start; so their arrays are copied to larger ones whose other places are as fresh copies have them. The one thing that is
drawn anew is which of the new features a tree may test.

Trees test a new feature from the next time on that bins are cut, when four times as many contexts have come as at the last
(`banditboost._compiled.bins`); linear copies learn it at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost.booster import Booster
from banditboost.gradients import Budget, Fitted, Gradient
from banditboost.learners import Bank
from banditboost.learners.coin import CoinBank
from banditboost.learners.linear import LinearBank
from banditboost.learners.mixed import MixedBank
from banditboost.learners.scale_free import ScaleFreeBank
from banditboost.learners.scaled import ScaledBank
from banditboost.learners.second_order import SecondOrderBank
from banditboost.learners.standardized import StandardizedBank
from banditboost.learners.tree import TreeBank
from banditboost.spaces import Interval

LINEAR = (LinearBank, CoinBank, ScaleFreeBank, SecondOrderBank)


def widened(booster: Booster, space: Interval) -> Booster:
    """Return a booster that knows the same and plays in a wider interval.

    Queries step as much further as the interval is longer.
    """
    factor = space.diameter / booster.spec.space.diameter
    spec = replace(booster.spec, space=space, gradient=_stepping(booster.spec.gradient, factor))
    fresh = Booster.from_spec(spec, booster.features if booster.bank is not None else None)
    if booster.bank is not None and fresh.bank is not None:
        try:
            known = booster.bank.arrays()
        except TypeError:  # foreign models show no arrays; they do not look at the space either
            fresh.bank = booster.bank
        else:
            for name, array in fresh.bank.arrays().items():
                array[...] = known[name]
    _remember(booster, fresh)
    return fresh


def _stepping(gradient: Gradient, factor: float) -> Gradient:
    if isinstance(gradient, Budget):
        return replace(gradient, gradient=_stepping(gradient.gradient, factor))  # type: ignore[arg-type]
    return replace(gradient, delta=gradient.delta * factor) if isinstance(gradient, Fitted) else gradient


def _remember(old: Booster, new: Booster) -> None:
    """Let a fresh booster have the memories, streams and clocks of another."""
    for had, has in ((old.chain_memory, new.chain_memory), (old.gradient_memory, new.gradient_memory)):
        for name, array in has.items():
            # The last number of a scale is the diameter of the space, which the new booster knows better.
            array[..., : 3 if name == "scale" else None] = had[name][..., : 3 if name == "scale" else None]
    new.streams, new.rounds, new.phase_rounds = old.streams, old.rounds, old.phase_rounds


def stretched(booster: Booster, features: int) -> Booster | None:
    """Return a booster that knows the same and takes more features; None where its copies cannot be stretched."""
    assert booster.bank is not None
    fresh = Booster.from_spec(booster.spec, features)
    if not _stretch(booster.bank, fresh.bank, booster.features):
        return None
    _remember(booster, fresh)
    return fresh


def _stretch(old: Bank, new: Any, features: int) -> bool:
    """Copy what a bank knows to a larger one; return whether that was possible."""
    if isinstance(old, MixedBank):
        return all(_stretch(a, b, features) for (_, a), (_, b) in zip(old.banks, new.banks, strict=True))
    if isinstance(old, StandardizedBank):
        for name in ("count", "means", "variations", "sizes"):
            _front(getattr(old, name), getattr(new, name))
        return _stretch(old.bank, new.bank, features)
    if isinstance(old, ScaledBank):
        return _stretch(old.bank, new.bank, features)
    if isinstance(old, TreeBank):
        _stretch_trees(old, new, features)
        return True
    if not isinstance(old, LINEAR):
        return False
    larger = new.arrays()
    for name, array in old.arrays().items():
        # The constant, where there is one, comes last.
        places = [
            np.append(np.arange(features), np.arange(had - features) + has - (had - features))
            if had != has
            else np.arange(had)
            for had, has in zip(array.shape, larger[name].shape, strict=True)
        ]
        larger[name][np.ix_(*places)] = array
    return True


def _front(had: NDArray[Any], has: NDArray[Any]) -> None:
    has[tuple(slice(length) for length in had.shape)] = had


def _stretch_trees(old: TreeBank, new: TreeBank, features: int) -> None:
    larger: dict[str, Any] = new.arrays()
    for name, array in old.arrays().items():
        _front(array, larger[name])
    if old.bins.offsets[-1] > 0:  # bins have been cut: a feature that was always zero has one
        extra = len(new.bins.usual) - features
        new.bins.offsets[features + 1 :] = old.bins.offsets[-1] + np.arange(1, extra + 1)

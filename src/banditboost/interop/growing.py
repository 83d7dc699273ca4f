"""Larger boosters that know what a smaller one has learned: with a wider interval, or with more features.

A feature that comes late was zero before. Linear copies and trees know what they would know had its column been there, all zeros,
from the start; see `banditboost.learners.Bank.stretched`, which says of every learner whether it can take more features.
"""

from __future__ import annotations

from dataclasses import replace

from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.gradients import Budget, Fitted, Gradient
from banditboost.spaces import Interval


def widened(booster: Booster, space: Interval) -> Booster:
    """Return a booster that knows the same and plays in a wider interval.

    The distance δ of queries grows in proportion to the length of the interval.
    """
    factor = space.diameter / booster.spec.space.diameter
    spec = replace(booster.spec, space=space, gradient=_stepping(booster.spec.gradient, factor))
    fresh = Booster.from_spec(spec, booster.features if booster.bank is not None else None)
    if booster.bank is not None and fresh.bank is not None:
        try:
            known = booster.bank.arrays()
        except TypeError:  # foreign models show no arrays, and do not depend on the space
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
    """Give a fresh booster the memories, random streams and counts of another."""
    for had, has in ((old.chain_memory, new.chain_memory), (old.gradient_memory, new.gradient_memory)):
        for name, array in has.items():
            array[...] = had[name]
    if new.spec.bands is not None and old.bands_memory:
        new.bands_memory = new.spec.bands.stretched(old.bands_memory, new.features)
    new.drifts_memory = {name: array.copy() for name, array in old.drifts_memory.items()}
    new.spec.gradient.resize(new.gradient_memory, old.spec.space, new.spec.space)
    new.streams, new.rounds, new.phase_rounds = old.streams, old.rounds, old.phase_rounds


def stretched(booster: Booster, features: int) -> Booster | None:
    """Return a booster that knows the same and takes more features; None where its copies or its critic cannot take more."""
    assert booster.bank is not None
    if booster.spec.gradient.n_floats_with(features):
        return None
    bank = booster.bank.stretched(features, stream(booster.spec.seed, "perturbations"))
    bank = booster._learned_again(booster.bank, features) if bank is None else bank
    if bank is None:
        return None
    larger = Booster.from_spec(booster.spec)
    larger.bank, larger.features = bank, features
    _remember(booster, larger)
    return larger

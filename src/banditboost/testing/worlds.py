"""Checks of what the world charges and how it blurs: losses and noise."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.losses import Loss
from banditboost.noise import Noise
from banditboost.spaces import Box, Interval, Space
from banditboost.testing.boosters import compiled_is_plain, learns_a_constant
from banditboost.testing.rounds import build, require
from banditboost.testing.specs import Parts, check_spec

CLOSE = 1e-9
"""How far an inequality may be missed, since numbers are rounded."""


def check_loss(loss: Loss, parts: Parts = None, spaces: tuple[Space, ...] | None = None) -> None:
    """Check a loss: convex unless it says otherwise, with its gradient, its constants as bounds, and a booster that learns from it.

    Parameters
    ----------
    loss
        What to check. At each of many points x the plane with slope gradient(x) must touch the loss from below, which shows at once
        that the loss is convex and that the gradient is its own. Where `Loss.convex` is False, the gradient must be the slope at
        points inside the space, and no booster is asked to learn from the loss.
    parts
        What is passed to readers of JSON: the callables of a loss that holds some, by name.
    spaces
        Where points and labels lie; an interval and a square with positive coordinates when not given.
    """
    check_spec(loss, parts)
    for space in (Interval(0.1, 0.9), Box((0.1, 0.1), (0.9, 0.9))) if spaces is None else spaces:
        _check_shapes(loss, space)
        (_check_plane if loss.convex else _check_slope)(loss, space)
        _check_constants(loss, space)
    where = Interval(0.1, 0.9) if spaces is None else spaces[0]
    booster = build(space=where)
    compiled_is_plain(booster, loss)
    if loss.convex:
        learns_a_constant(booster, loss)


def _drawn(space: Space) -> tuple[Array, Array]:
    """Return forty points and twenty labels, many of them on the border."""
    rng = np.random.default_rng(4)
    draw = space.project(space.inner_centre + space.diameter * rng.standard_normal((60, *space.shape)))
    return draw[:40], draw[40:]


def _check_shapes(loss: Loss, space: Space) -> None:
    name, (points, labels) = type(loss).__name__, _drawn(space)
    for label in labels:
        values, slopes = loss.value(points, label), loss.gradient(points, label)
        require(values.shape == (40,), f"{name}.value must give one number for each point, got {values.shape}.")
        require(slopes.shape == points.shape, f"{name}.gradient must have the shape of the points, got {slopes.shape}.")
        single = np.array([loss.value(point, label) for point in points])
        require(np.allclose(single, values), f"{name}.value must treat many points as it does each.")


def _check_constants(loss: Loss, space: Space) -> None:
    name, bounds, (points, labels) = type(loss).__name__, loss.constants(space), _drawn(space)
    for label in labels:
        slopes = loss.gradient(points, label).reshape(40, -1)
        steep = np.sqrt(np.square(slopes).sum(axis=1)).max()
        require(
            steep <= bounds.lipschitz * (1 + CLOSE), f"{name}.constants must bound the gradient: {steep:g} is more."
        )
        large = np.abs(loss.value(points, label)).max()
        require(large <= bounds.bound * (1 + CLOSE), f"{name}.constants must bound the value: {large:g} is more.")


def _check_plane(loss: Loss, space: Space) -> None:
    """Check that every tangent plane lies below the loss."""
    name, ndim = type(loss).__name__, len(space.shape)
    points, labels = _drawn(space)
    for label in labels:
        values, slopes = loss.value(points, label), loss.gradient(points, label)
        axes = tuple(range(2, 2 + ndim))
        rise = ((points[None] - points[:, None]) * slopes[:, None]).sum(axis=axes)
        plane = values[:, None] + rise
        below = (plane <= values[None] + CLOSE * (1 + np.abs(values).max())).all()
        require(below, f"{name} must be convex, with gradient as its slope: a tangent plane lies above the loss.")


def _check_slope(loss: Loss, space: Space) -> None:
    """Check that the gradient is the slope at random points inside the space, where a kink is met with probability zero."""
    name, rng, step = type(loss).__name__, np.random.default_rng(9), 1e-6 * space.diameter
    points, labels = _drawn(space)
    depths = rng.uniform(0.1, 0.9, (40, *(1,) * len(space.shape)))
    inside = space.inner_centre + depths * (points - space.inner_centre)
    ways = rng.standard_normal(points.shape)
    for label in labels:
        change = (loss.value(inside + step * ways, label) - loss.value(inside - step * ways, label)) / (2 * step)
        promised = (loss.gradient(inside, label) * ways).reshape(40, -1).sum(axis=1)
        require(
            np.allclose(change, promised, 1e-4, 1e-4 * (1 + np.abs(promised).max())),
            f"{name}.gradient must be the slope of its value at almost every point.",
        )


def check_noise(noise: Noise, parts: Parts = None) -> None:
    """Check noise: within its bound, zero on average, and the same in blocks as one by one."""
    check_spec(noise, parts)
    name, n = type(noise).__name__, 10_000
    whole = noise.sample(np.random.default_rng(7), (n,))
    require(whole.shape == (n,), f"{name}.sample must give the shape that is asked for, got {whole.shape}.")
    require(np.abs(whole).max() <= noise.bound, f"{name} must stay within its bound {noise.bound:g}.")
    far = 5 * noise.bound / np.sqrt(n)
    require(abs(whole.mean()) <= far, f"{name} must be zero on average, got {whole.mean():.3g} over {n} draws.")
    rng = np.random.default_rng(7)
    drawn = np.concatenate([noise.sample(rng, (k,)) for k in (1, 2, 97, n - 100)])
    require((drawn == whole).all(), f"{name} must give the same numbers in blocks as at once.")

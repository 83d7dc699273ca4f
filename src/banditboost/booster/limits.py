"""Limits that hold for one round only: where this round's actions must stay, within the booster's space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core import checks
from banditboost.booster.spec import BoosterSpec
from banditboost.gradients import Limits
from banditboost.spaces import Space

Allowed = Space | tuple[ArrayLike, ArrayLike]
"""How a caller says where the actions of one round must stay: an `Interval` or `Box`, or a pair of the lowest and the highest."""


def limits_of(spec: BoosterSpec, allowed: Allowed) -> Limits:
    """Return what a booster's space and the limits of one round have in common; raise where that is nothing or cannot be kept to.

    Examples
    --------
    >>> from banditboost.gradients import Remembered
    >>> from banditboost.spaces import Interval
    >>> limits_of(BoosterSpec(gradient=Remembered(), space=Interval(0, 10)), (7.0, 12.0))
    Limits(low=array([7.]), high=array([10.]))
    """
    own = spec.space.bounds
    if not spec.gradient.limited:
        raise ValueError(
            f"space must be left out: the gradient {type(spec.gradient).__name__} cannot keep to limits that hold for one round, "
            "as Remembered can."
        )
    if own is None:
        raise ValueError(
            f"space must be left out where decisions lie in a {type(spec.space).__name__}: limits for one round need an Interval "
            "or a Box."
        )
    given = _ends(allowed, spec.space)
    # Zeros have one sign, so that limits that are read again from a journal are the same to the last bit.
    low, high = np.maximum(given[0], own[0]) + 0.0, np.minimum(given[1], own[1]) + 0.0
    if (low > high).any():
        raise ValueError(f"space must have points in common with {spec.space!r:.200}, got {allowed!r:.200}.")
    return Limits(low, high)


def _ends(allowed: Any, space: Space) -> Limits:
    if isinstance(allowed, Space):
        if allowed.bounds is None or allowed.shape != space.shape:
            raise ValueError(
                f"space must be an Interval or a Box of the shape {space.shape}, or a pair of its lowest and highest values, got "
                f"{allowed!r:.200}."
            )
        return Limits(*allowed.bounds)
    if not isinstance(allowed, tuple | list) or len(allowed) != 2:
        raise ValueError(
            f"space must be an Interval, a Box, or a pair of its lowest and highest values, got {allowed!r:.200}."
        )
    low, high = (
        checks.finite(f"the {name} values of space", end, space.shape).reshape(-1)
        for name, end in zip(("lowest", "highest"), allowed, strict=True)
    )
    if (low > high).any():
        raise ValueError(f"space must have its lowest values below its highest, got {allowed!r:.200}.")
    return Limits(low, high)

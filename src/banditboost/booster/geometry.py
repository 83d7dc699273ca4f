"""Where copies play, what is projected, and where the chain starts: the rules that keep every query and prediction legal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster.spec import BoosterSpec
from banditboost.spaces import Space
from banditboost.spaces.base import dots, norms


class Geometry(NamedTuple):
    """What follows from a spec about points: it never changes while a booster learns."""

    ground: Space
    """The set in which copies play: the space, shrunk where queries would leave it otherwise."""
    projects_plays: bool
    """Whether each play is projected on the ground, and gradients are corrected for that (`corrected`)."""
    projects_prediction: bool
    """Whether the end of the chain is projected on the space."""
    chain_start: Array
    """y^0: the start that the spec gives; without one zero where the ground contains it, otherwise the centre of the space."""

    @classmethod
    def of(cls, spec: BoosterSpec) -> Geometry:
        """Return the geometry of a spec.

        With `inside=True` and queries at distance δ, copies play in the space shrunk by ξ = δ / inner radius. Copies that never
        leave the ground need no projection, neither of plays nor of the prediction: that is what makes Algorithm 1
        projection-free. Chains that project every step of their path need no other projection.
        """
        space, chain, reach = spec.space, spec.chain, spec.gradient.reach
        ground = space.shrink(reach / space.inner_radius) if spec.inside and reach > 0 else space
        stays = not spec.learner.contextual and chain.gamma == 1
        free = not stays and not chain.projects
        start = np.zeros(space.shape) if spec.start is None else np.array(spec.start, dtype=float)
        if not _holds(ground, start):
            if spec.start is None:
                start = np.asarray(space.inner_centre / (1.0 if spec.inside or chain.projects else chain.gamma))
            elif ground is not space:  # the start is in the space, and moves inside as the space does
                xi = reach / space.inner_radius
                start = np.asarray(space.inner_centre + (1 - xi) * (start - space.inner_centre))
        return cls(ground, spec.inside and free, not spec.inside and free, start)


def _holds(ground: Space, point: Array) -> bool:
    try:
        return bool(ground.contains(point))
    except NotImplementedError:  # a set that is known only by its linear oracle cannot tell
        return False


def corrected(gradients: Array, wished: Array, played: Array, ndim: int) -> Array:
    """Correct gradients for plays that were projected, so that learning on them is learning about the projections.

    Where copy i wished for z and Πz was played, let u be the unit vector from Πz to z. A gradient that pushes further out
    (g·u < 0) loses its part along u: g̃ = g - (g·u)u. Then ‖g̃‖ ≤ ‖g‖ and g·(Πz - x*) ≤ g̃·(z - x*) for every x* in the set,
    since u·(z - x*) ≥ ‖z - Πz‖: regret on g̃ bounds regret of what was played.

    References
    ----------
    Cutkosky, Orabona (2018), Theorem 3, in the form of Cutkosky (2020), "Parameter-free, dynamic, and strongly-adaptive
    online learning", which needs no factor of 2.
    """
    outward = wished - played
    if not np.count_nonzero(outward):
        return gradients
    if ndim == 0:  # on the line u is a sign, and a gradient that pushes out loses all of itself
        return np.asarray(gradients * (gradients * np.sign(outward) >= 0))
    length = norms(outward, ndim)
    unit = np.divide(outward, length, out=np.zeros_like(outward), where=length > 0)
    return np.asarray(gradients - np.minimum(dots(gradients, unit, ndim), 0.0) * unit)

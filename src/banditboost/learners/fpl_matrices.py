"""Perturbed leaders of large matrices: sums that are kept as factors, and plays that are pairs of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.learners import perturbing
from banditboost.learners.base import Bank, Learned
from banditboost.spaces.products import Products
from banditboost.spaces.rank_one import Leaders, RankOne
from banditboost.spaces.stacks import Factored
from banditboost.spaces.sums import Sums
from banditboost.spaces.unseen import Perturbed
from banditboost.theory import fpl_accuracy

if TYPE_CHECKING:
    from banditboost.learners.fpl import FPL

SHARE = 0.01
"""A search may leave this share of what it has saved since the last round; `theory.fpl_inexact_factor` says what that costs."""
FRESH_SHARE = 0.02
"""Where perturbations are fresh: by which share inexact searches may raise what the bound pays for plays that change."""
WAITING = 0.1
"""Where perturbations are fresh, copies are searched one after the other and do not share products with factors that wait: these
are multiplied out where they are more than this share of the smaller side."""

Indices = NDArray[np.intp]


class RankOneFPLBank(Bank):
    """The same as `FPLBank` for large matrices: plays are pairs of vectors, each searched from the last one.

    The next plays are searched when a round is told. Predicting then changes nothing although a search begins at the last answer.
    Perturbations that stay are part of the sums; fresh ones are drawn for one copy at a time, Gaussian ones as far as the search
    sees them, and forgotten.
    """

    def __init__(self, spec: FPL, copies: int, space: RankOne, rng: np.random.Generator) -> None:
        self.spec, self.space, self.rng = spec, space, rng
        self.sums = space.sums(copies)
        self.noise = space.sums(copies if spec.varies else 0)
        self.scale = np.full(copies, 1.0 if spec.adaptive else spec.size(1, space.size))
        self.saved, self.seen = np.zeros(copies), np.zeros(copies, dtype=np.bool_)
        self.left, self.right = (np.zeros((copies, side)) for side in space.shape)
        self.starts = np.zeros((copies, space.shape[1]))
        self.sums.unit[...] = self.scale[0]
        self._begin(np.arange(copies), rng)

    @staticmethod
    def n_floats(copies: int, space: RankOne) -> int:
        """Return how many numbers `arrays` has at least: earlier versions had no room for factors that wait."""
        return space.SUMS.n_stored(copies, space.shape) + copies * sum(space.shape) + 1

    def play(self, context: Array | None) -> Array:
        """Return the perturbed leaders, described by their vectors."""
        return Factored(self.left.copy(), self.right.copy()).array()

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Add the gradients and find the next plays."""
        every = np.arange(len(self.left))
        if self.spec.adaptive:
            self._open(gradients)
        self.sums.add(gradients)
        if not self.spec.adaptive:
            self._rescale(self.spec.size(t + 1, self.space.size))
        if self.spec.fresh and not self.spec.adaptive:
            self._lead_freshly(every, self.rng)
            return
        self._lead(every)
        if self.spec.adaptive:
            self._raise(every)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Forget the gradients of these copies, draw their perturbations anew and find their next plays."""
        for array in (self.left, self.right, self.starts, self.saved, self.seen):
            array[copies] = 0
        for i in copies:
            self.sums.clear(int(i))
        if self.spec.adaptive:
            self.scale[copies] = float(self.sums.unit)
        self._begin(copies, rng)

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: these copies see no features."""
        return [Learned("FPL", len(self.left))]

    @property
    def shared(self) -> frozenset[str]:
        """The sums, two copies of which may share an array."""
        return frozenset({*self.sums.arrays(), "noise"})

    def arrays(self) -> dict[str, Array]:
        """Return sums, scales, plays, and perturbations that change their scale."""
        own = {"scale": self.scale, "left": self.left, "right": self.right, "starts": self.starts}
        if self.spec.adaptive:
            own |= {"saved": self.saved, "seen": self.seen}
        kept = {"noise": self.noise.stored} if self.spec.varies else {}
        return own | self.sums.arrays() | kept

    def of_today(self, saved: dict[str, Array]) -> dict[str, Array]:
        """Put the sums of a file that has them in double precision, besides the perturbations, where sums belong today."""
        if "total" not in saved:
            return saved
        total, scale, left, right = (saved[name] for name in ("total", "scale", "left", "right"))
        fits = total.shape == (len(self.left), *self.space.shape) and np.isfinite(total).all() and scale.size == 1
        if self.spec.adaptive or not fits or ("noise" in saved) == self.spec.fresh:
            return saved
        sums, noise = self.space.sums(len(total)), self.space.sums(len(total) if self.spec.varies else 0)
        sums.unit[...] = self.sums.unit
        for i in range(len(total)):
            stays = 0.0 if self.spec.fresh else float(scale) * saved["noise"][i]
            sums.add_to(i, total[i] + stays)
            if self.spec.varies:
                noise.add_to(i, saved["noise"][i])
        own = {"scale": np.full(len(total), float(scale)), "left": left, "right": right, "starts": right.copy()}
        kept = {"noise": noise.stored} if self.spec.varies else {}
        others = {name: array for name, array in saved.items() if "." in name}
        return own | sums.arrays() | kept | others

    def check(self) -> None:
        """Raise an error where the number of factors that wait is out of range."""
        self.sums.check()

    def _begin(self, copies: Indices, rng: np.random.Generator) -> None:
        """Perturb some sums, which are zero, and find their plays."""
        if self.spec.fresh and not self.spec.adaptive:
            self._lead_freshly(copies, rng)
            return
        for i in copies:
            if self.spec.varies:
                self.noise.clear(int(i))
                self._perturb(self.noise, i, 1.0, rng)
                self.sums.add_to(int(i), self.scale[i] * self.noise.matrix(int(i)))
            else:
                self._perturb(self.sums, i, self.scale[i], rng)
        self._lead(copies, exactly=True)

    def _perturb(self, sums: Sums, i: int, scale: float, rng: np.random.Generator) -> None:
        sums.perturb(
            int(i), float(scale), lambda shape: self.spec.draw(rng, shape), self.spec.perturbation == "gaussian"
        )

    def _rescale(self, size: float) -> None:
        """Change the scale of all perturbations."""
        if self.spec.varies:
            for i, change in enumerate(size - self.scale):
                self.sums.add_to(i, change * self.noise.matrix(i))
        self.scale[...] = size

    def _open(self, gradients: Array) -> None:
        """Choose the first scales of copies that have not seen a gradient yet; their plays do not depend on the scale."""
        first = perturbing.first_scales(gradients, np.flatnonzero(~self.seen), self.space)
        if first and not self.seen.any():
            # Nothing but perturbations of one scale is in the sums: another unit is another scale.
            self.sums.unit[...] = self.scale[...] = max(first.values())
        for i, scale in first.items():
            self.sums.multiply(i, scale / self.scale[i])
            self.scale[i], self.seen[i] = scale, True

    def _raise(self, every: Indices) -> None:
        """Perturb those copies more whose plays have changed too much."""
        scales = perturbing.next_scales(self.scale, self.saved, self.space)
        due = every[scales > self.scale]
        for i in due:
            self._perturb(self.sums, i, np.sqrt(scales[i] ** 2 - self.scale[i] ** 2), self.rng)
        self.scale[due], self.saved[due] = scales[due], 0.0
        self._lead(due, exactly=True)

    def _lead(self, copies: Indices, exactly: bool = False) -> None:
        """Find the next plays of some copies, and count what they save over the last ones."""
        if not len(copies):
            return
        before = None
        if not exactly:
            images = self.sums.apply(self.right[copies], copies)
            before = float(self.sums.unit) * np.einsum("ij,ij->i", self.left[copies], images)
        found = self.space.lead(self.sums, copies, self.starts[copies], before, SHARE)
        better = np.ones(len(copies), dtype=np.bool_) if before is None else found.losses <= before
        if before is not None:
            self.saved[copies] += np.maximum(before - found.losses, 0.0)
        self._take(copies[better], Leaders(*(part[better] for part in found)))

    def _lead_freshly(self, copies: Indices, rng: np.random.Generator) -> None:
        """Find the next plays of some copies, one after the other, each with a perturbation of its own."""
        spec = self.spec
        scale = float(self.scale[0])
        enough = fpl_accuracy(spec.sigma, self.space.diameter, self.space.size, scale, FRESH_SHARE, spec.perturbation)
        if self.sums.waiting > WAITING * min(self.space.shape):
            self.sums.flush()
        for i in copies:
            perturbed, there = self._freshly_perturbed(int(i), scale, rng)
            self._take(np.array([i]), self.space.lead(perturbed, np.array([there]), self.starts[[i]], enough=enough))

    def _freshly_perturbed(self, i: int, scale: float, rng: np.random.Generator) -> tuple[Products, int]:
        """Return one sum with a perturbation that no other play sees, and its index."""
        if self.spec.perturbation == "gaussian":
            return Perturbed(self.sums, scale, self.space.UNSEEN(self.space.shape, rng)), i
        perturbed, there = self.sums.alone(i)
        self._perturb(perturbed, there, scale, rng)
        return perturbed, there

    def _take(self, copies: Indices, found: Leaders) -> None:
        self.left[copies], self.right[copies], self.starts[copies] = found.left, found.right, found.starts

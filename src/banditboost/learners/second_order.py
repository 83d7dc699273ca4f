"""Second-order linear copies: each plays the exact minimiser of its linear losses plus a quadratic, at every round.

Idea: a linear loss g·y says in which direction to go, not how far. Adding the curvature c of the true loss makes a quadratic model
of it, about a point r that is either zero (the play is a correction to what is there already) or the copy's own play:

    W_i = argmin_W  Σ_s [ g_{i,s}·(W x_s) + (c/2) ‖W x_s - r_{i,s}‖² ] + (λ/2) ‖W‖²  =  Σ_s (c r_{i,s} - g_{i,s}) x_sᵀ A⁻¹,
    A = λI + c Σ_s x_s x_sᵀ

A depends on the features alone, so that all copies share one. A round adds its x to A before its play (`forward`), as Vovk, Azoury
and Warmuth do: the play is then W x / (1 + c x·A⁻¹x), which shrinks in directions not seen before.

- `centre="zero"`: ridge regression of -g/c on x: gradient boosting in least squares, for chains that add plays up.
- `centre="play"`: W ← W - g (A⁻¹x)ᵀ, the online Newton step. For the squared loss, c = 2 and its gradient at the play this *is*
  online ridge regression with the label, which the copy never sees (`banditboost.evaluate.online_ridge`).

A⁻¹ is kept as UᵀU, with U lower triangular, and U is updated row by row: with f = U x, α_j = 1/c + Σ_{k≤j} f_k² and
b_j = Σ_{k≤j} f_k U_k (U_k its row k),

    U_j ← √(α_{j-1}/α_j) U_j - f_j/√(α_{j-1} α_j) b_{j-1},        and b_p = A⁻¹x, c α_p = 1 + c x·A⁻¹x

which cannot lose symmetry or positivity, however many rounds there are, as long as squares of features do not overflow.

References
----------
Hazan, Agarwal, Kale (2007), Algorithm 2 (online Newton step); Vovk (2001) and Azoury, Warmuth (2001), Section 5.4 (forward);
Carlson (1973), "Fast Triangular Formulation of the Square Root Filter".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, one_of, positive, room
from banditboost._core.shown import Prepared, Shown, flat
from banditboost.learners.family import LinearFamily, LinearFamilyBank, aligned, many_products, products, rows
from banditboost.spaces import Space


@dataclass(frozen=True)
class SecondOrder(LinearFamily, kind="learners.SecondOrder"):
    """Linear copies with a full-matrix preconditioner.

    Parameters
    ----------
    ridge
        λ.
    curvature
        c, the curvature of the loss: 2 for the squared loss.
    centre
        Where the quadratic is centred: at the copy's own ``"play"``, or at ``"zero"``.
    forward
        Whether a round's features are added to A before its play.
    shrinks
        Whether every copy multiplies its plays by the factor β in [0, 1] that would have served it best so far,
        argmin_β Σ β g·a + (c/2) β² ‖a‖². Plays are made before their losses are known, so that β is small for a copy that
        fits noise. For ``centre="zero"`` only.
    intercept
        Whether a constant 1 is appended to every context.

    Examples
    --------
    Fit -g/2 = 3x by ridge regression:

    >>> from banditboost.spaces import Interval
    >>> spec = SecondOrder(ridge=0.2, centre="zero", forward=False, intercept=False)
    >>> bank = spec.start(1, Interval(-5, 5), 1, np.random.default_rng(0))
    >>> for t, x in enumerate([1.0, -1.0, 1.0, -1.0], start=1):
    ...     bank.update(np.array([x]), np.array([-6 * x]), t)
    >>> bank.play(np.array([1.0])).round(4).item(), round(24 / (0.2 + 2 * 4), 4)
    (2.9268, 2.9268)
    """

    ridge: float = 1.0
    curvature: float = 2.0
    centre: Literal["play", "zero"] = "play"
    forward: bool = True
    shrinks: bool = False
    intercept: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("ridge", self.ridge)
        positive("curvature", self.curvature)
        one_of("centre", self.centre, ("play", "zero"))
        if self.shrinks and self.centre != "zero":
            raise ValueError(f"shrinks must be False where centre is 'play', got {self.shrinks!r}.")

    @classmethod
    def examples(cls) -> tuple[SecondOrder, ...]:
        """Give both centres, and every option."""
        return (cls(), cls(centre="zero", shrinks=True), cls(0.5, 1.0, forward=False))

    @property
    def fits_residuals(self) -> bool:
        """Whether the quadratic is centred at zero: plays then are ridge regressions on -g/c, which a chain adds up."""
        return self.centre == "zero"

    def n_floats(self, copies: int, space: Space, features: int, separate: bool = False) -> int:
        """Return the number of floats: weights, sums, and a square matrix, which copies share unless each sees its own features."""
        roots = (copies if separate else 1) * (features + self.intercept) ** 2
        return super().n_floats(copies, space, features) + roots + 2 * copies

    def start(
        self, copies: int, space: Space, features: int, rng: np.random.Generator, separate: bool = False
    ) -> SecondOrderBank:
        """Make a bank whose weights are zero, with A = λI."""
        room(f"The matrix of {features} features", self.n_floats(copies, space, features, separate))
        return SecondOrderBank(self, copies, space, features + self.intercept, separate)


class Seen(NamedTuple):
    """What a round looks like to copies before they learn from it."""

    f: Array
    """U x, shape (1 or N, p)."""
    q: Array
    """1 + c x·A⁻¹x, shape (1 or N,)."""
    outputs: Array
    """W_i·x, shape (N, *shape)."""
    plays: Array
    """What copies play, before it is multiplied by β, shape (N, *shape)."""


class SecondOrderBank(LinearFamilyBank):
    """Weights (N, *shape, p), roots U of A⁻¹ = UᵀU of shape (1 or N, p, p), and sums for β of shape (N,)."""

    spec: SecondOrder

    def __init__(self, spec: SecondOrder, copies: int, space: Space, features: int, separate: bool) -> None:
        self.spec, self.space, self.separate = spec, space, separate
        self.weights = np.zeros((copies, *space.shape, features))
        self.roots = np.tile(np.eye(features) / np.sqrt(spec.ridge), (copies if separate else 1, 1, 1))
        self.gains, self.costs = np.zeros(copies), np.zeros(copies)

    def play(self, context: Array | None) -> Array:
        """Return the minimisers' plays, shrunk by β where that is asked for."""
        plays = self.unshrunk(rows(context, self.spec.intercept))
        return np.asarray(self.column(self.factors()) * plays) if self.spec.shrinks else plays

    def play_many(self, contexts: Array) -> Array:
        """Return the same for every row of contexts that all copies see."""
        X, wide = rows(contexts, self.spec.intercept), (1,) * (self.weights.ndim - 2)
        plays = many_products(self.weights, X)
        if self.spec.forward:
            plays /= self.sizes(X @ self.roots[0].T).reshape(-1, *wide)
        return np.asarray(self.factors().reshape(-1, 1, *wide) * plays)

    def unshrunk(self, x: Array) -> Array:
        """Return the plays before they are multiplied by β."""
        return self.see(x).plays if self.spec.forward else products(self.weights, x)

    def turned(self, x: Array) -> Array:
        """Return f = U x, shape (1 or N, p)."""
        return np.asarray((self.roots @ x[:, :, np.newaxis])[:, :, 0])

    def sizes(self, f: Array) -> Array:
        """Return q = 1 + c x·A⁻¹x, shape (1 or N,)."""
        return np.asarray(1 + self.spec.curvature * np.add.reduce(np.square(f), axis=1))

    def column(self, numbers: Array) -> Array:
        """Return one number per copy, or one for all, in the shape that multiplies plays."""
        return numbers.reshape(-1, *(1,) * (self.weights.ndim - 2))

    def factors(self) -> Array:
        """Return β for every copy; 0 where nothing is known yet, 1 where copies do not shrink."""
        if not self.spec.shrinks:
            return np.ones(1)
        best = np.divide(self.gains, self.costs, out=np.zeros_like(self.gains), where=self.costs > 0)
        return np.clip(best, 0.0, 1.0)

    def see(self, x: Array) -> Seen:
        """Return what a round's rows x look like to the copies, before they learn from it."""
        f, outputs = self.turned(x), products(self.weights, x)
        q = self.sizes(f)
        return Seen(f, q, outputs, outputs / self.column(q) if self.spec.forward else outputs)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Add the round's quadratic and move to the new minimiser."""
        self.learn(self.see(rows(context, self.spec.intercept)), gradients)

    def learn(self, seen: Seen, gradients: Array) -> None:
        """Do the same, given what the copies have seen of the round."""
        spec, c, plays, outputs = self.spec, self.spec.curvature, seen.plays, seen.outputs
        lever = self.count_in(seen.f)
        if spec.shrinks:
            flat = plays.reshape(len(plays), -1)
            self.gains -= (gradients.reshape(flat.shape) * flat).sum(axis=1)
            self.costs += c * np.square(flat).sum(axis=1)
        slopes = gradients + c * (outputs - plays if spec.centre == "play" else outputs)
        self.weights -= (slopes / self.column(seen.q))[..., np.newaxis] * aligned(lever, self.weights.ndim)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Set weights and sums to zero; A returns to λI where every copy has its own, and stays where all share it."""
        super().reset(copies, rng)
        if self.separate:
            self.roots[copies] = np.eye(self.roots.shape[-1]) / np.sqrt(self.spec.ridge)

    @property
    def shared(self) -> frozenset[str]:
        """The matrix A, where all copies see the same features."""
        return frozenset() if self.separate else frozenset({"roots"})

    def count_in(self, f: Array) -> Array:
        """Add features to A, given f = U x; return A⁻¹x for A as it was before, shape (1 or N, p)."""
        around = np.empty((len(f), f.shape[1] + 1))
        around[:, 0] = 0.0
        np.square(f).cumsum(axis=1, out=around[:, 1:])
        around += 1 / self.spec.curvature
        before, after = around[:, :-1], around[:, 1:]
        sums = (self.roots * f[:, :, np.newaxis]).cumsum(axis=1)
        self.roots *= np.sqrt(before / after)[:, :, np.newaxis]
        self.roots[:, 1:] -= sums[:, :-1] * (f / np.sqrt(before * after))[:, 1:, np.newaxis]
        return np.asarray(sums[:, -1:].sum(axis=1))  # the last, where there is one

    def arrays(self) -> dict[str, Array]:
        """Return weights, roots and the sums for β."""
        return {"weights": self.weights, "roots": self.roots, "gains": self.gains, "costs": self.costs}

    @property
    def skips_rounds(self) -> bool:
        """True: all is learned in place."""
        return True

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.second_order`."""
        from banditboost._compiled import second_order

        spec, weights = self.spec, flat(self.weights)
        room = second_order.scratch(len(weights), len(self.roots), weights.shape[1], weights.shape[2])
        learned = (weights, self.roots, self.gains, self.costs)
        settings = (spec.curvature, spec.centre == "zero", spec.forward, spec.shrinks)
        return Prepared(second_order.SecondOrder(shown.with_constant(spec.intercept), *learned, *settings, *room))

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a row of features."""
        return self.weights.shape[-1] + 1

"""Small neural networks: N networks with one hidden layer, trained by backpropagating linear losses.

Idea: the simplest learner whose features are learned. Copy i plays

    a_i  =  V_i [φ(U_i [x, 1]), 1]          φ: tanh, or max(·, 0)

is charged g_i·a_i + (c/2) ‖a_i‖² (a linear loss has no minimum of its own, a curvature c gives it one), and moves every weight w
against the slope s of that by AdaGrad's step, which does not depend on the scale of the losses and needs no horizon:

    Q ← Q + s²,    w ← w - rate · s/√Q

after which every row of U_i, and V_i as a whole, are projected on a ball of radius R: plays stay bounded, whatever the losses.
With c = 2 and g_i = ∇ℓ(y^{i-1}) of the squared loss a copy learns the residual y - y^{i-1}; with c = 0 it is a learner of linear
losses proper, for chains that bound plays themselves.

References
----------
Rumelhart, Hinton, Williams (1986), Equations 4-8 (backpropagation); Duchi, Hazan, Singer (2011), Figure 1 (AdaGrad, diagonal).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, at_least_zero, count, one_of, positive
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.spaces import Space


@dataclass(frozen=True)
class Network(Learner, kind="learners.Network"):
    """N networks with one hidden layer.

    Parameters
    ----------
    hidden
        How many units the hidden layer has.
    activation
        ``"tanh"`` or ``"relu"``.
    rate
        The first step of every weight.
    curvature
        c, the second derivative that a copy adds to its linear losses. Use that of the loss where it is known (2 for the squared).
    radius
        R, the largest norm of the weights of a hidden unit, and of those of the output together.
    spread
        Standard deviation of the first weights of a hidden unit times √(features + 1). The output's begin at zero, so that copies
        begin by playing zero.

    Examples
    --------
    The product of two signs, which no linear model can learn:

    >>> from banditboost.spaces import Interval
    >>> bank = Network().start(copies=1, space=Interval(-1, 1), features=2, rng=np.random.default_rng(0))
    >>> for t, x in enumerate(np.random.default_rng(1).choice([-1.0, 1.0], (500, 2)), start=1):
    ...     bank.update(x, np.array([-2.0 * x[0] * x[1]]), t)
    >>> bank.play(np.array([1.0, 1.0])).round(1).tolist(), bank.play(np.array([-1.0, 1.0])).round(1).tolist()
    ([1.0], [-1.0])
    """

    hidden: int = 32
    activation: Literal["tanh", "relu"] = "relu"
    rate: float = 0.1
    curvature: float = 2.0
    radius: float = 10.0
    spread: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        count("hidden", self.hidden)
        one_of("activation", self.activation, ("tanh", "relu"))
        for name in ("rate", "radius", "spread"):
            positive(name, getattr(self, name))
        at_least_zero("curvature", self.curvature)

    @classmethod
    def examples(cls) -> tuple[Network, ...]:
        """Give both activations, with and without curvature."""
        return (cls(), cls(hidden=5, activation="tanh", curvature=0.0, radius=2.0))

    @property
    def fits_residuals(self) -> bool:
        """True: a copy learns what the copies before it left over."""
        return True

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: two for every weight of both layers."""
        return 2 * copies * (self.hidden * (features + 1) + space.size * (self.hidden + 1))

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> NetworkBank:
        """Make networks with random hidden units, whose outputs are zero."""
        inner = self.draw(copies, features, rng)
        return NetworkBank(self, inner, np.zeros((copies, space.size, self.hidden + 1)), space.shape)

    def draw(self, copies: int, features: int, rng: np.random.Generator) -> Array:
        """Draw the first weights of hidden layers, each unit's within its ball: shape (copies, hidden, features + 1)."""
        inner = rng.normal(0.0, self.spread / math.sqrt(features + 1), (copies, self.hidden, features + 1))
        _project(inner, self.radius)
        return inner


class NetworkBank(Bank):
    """Weights of the hidden layer (N, hidden, features + 1) and of the output (N, d, hidden + 1), and their sums of squares."""

    def __init__(self, spec: Network, inner: Array, outer: Array, shape: tuple[int, ...]) -> None:
        self.spec, self.inner, self.outer, self.shape = spec, inner, outer, shape
        self.inner_squares, self.outer_squares = np.zeros_like(inner), np.zeros_like(outer)

    def _forward(self, context: Array | None) -> tuple[Array, Array, Array]:
        assert context is not None  # the loop gives contextual learners a context
        seen = np.append(context, 1.0)
        units = np.ones((len(self.inner), self.spec.hidden + 1))
        signal = self.inner @ seen
        units[:, :-1] = np.tanh(signal) if self.spec.activation == "tanh" else np.maximum(signal, 0.0)
        return seen, units, (self.outer @ units[..., np.newaxis])[..., 0]

    def play(self, context: Array | None) -> Array:
        """Return the networks' outputs."""
        plays = self._forward(context)[2]
        return plays.reshape(len(plays), *self.shape)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Backpropagate the linear losses, take AdaGrad's steps, and project."""
        seen, units, plays = self._forward(context)
        slopes = gradients.reshape(plays.shape) + self.spec.curvature * plays
        back = (slopes[:, np.newaxis, :] @ self.outer[..., :-1])[:, 0]
        active = units[:, :-1]
        back *= 1.0 - active**2 if self.spec.activation == "tanh" else active > 0
        self._step(self.outer, self.outer_squares, slopes[..., np.newaxis] * units[:, np.newaxis, :])
        self._step(self.inner, self.inner_squares, back[..., np.newaxis] * seen)
        self.project()

    def _step(self, weights: Array, squares: Array, slopes: Array) -> None:
        squares += slopes**2
        moving = squares > 0  # a weight that never mattered stays
        weights -= self.spec.rate * np.divide(slopes, np.sqrt(squares), out=np.zeros_like(slopes), where=moving)

    def project(self) -> None:
        """Project every hidden unit, and every copy's output as a whole, on the ball."""
        for rows in (self.inner, self.outer.reshape(len(self.outer), -1)):
            _project(rows, self.spec.radius)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Draw the hidden units of these copies anew and set all else of theirs to zero."""
        self.inner[copies] = self.spec.draw(len(copies), self.inner.shape[-1] - 1, rng)
        for array in (self.outer, self.inner_squares, self.outer_squares):
            array[copies] = 0.0

    def stretched(self, features: int, rng: np.random.Generator) -> None:
        """Return None: the first weights of a hidden unit are drawn for a given number of features."""
        return

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: plays are not linear in the features."""
        return [Learned(self.kind, len(self.inner))]

    def arrays(self) -> dict[str, Array]:
        """Return weights and sums of squares."""
        return {
            "inner": self.inner,
            "outer": self.outer,
            "inner_squares": self.inner_squares,
            "outer_squares": self.outer_squares,
        }

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.network`."""
        from banditboost._compiled import network

        spec, features = self.spec, shown.with_constant(True)
        if features.shape[1] != 1:
            raise ValueError("contexts must be the same for all networks.")
        learned = (self.inner, self.outer, self.inner_squares, self.outer_squares)
        settings = (spec.rate, spec.curvature, spec.radius, spec.activation == "tanh")
        room = network.scratch(len(self.inner), spec.hidden, self.outer.shape[1])
        return Prepared(network.Networks(*learned, features[:, 0], *settings, *room))

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a row of features."""
        return int(self.inner.shape[-1]) + 1


def _project(rows: Array, radius: float) -> None:
    """Scale rows that are longer than the radius back to it, in place; rows inside are multiplied by exactly 1."""
    lengths = np.sqrt(np.square(rows).sum(axis=-1, keepdims=True))
    if (lengths > radius).any():
        rows *= np.minimum(1.0, radius / np.maximum(lengths, radius))

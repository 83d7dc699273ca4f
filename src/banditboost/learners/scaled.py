"""A learner whose plays are multiplied by γ: one that truly has the advantage γ of the weak-learning definition.

If the inner learner has regret R against its class, then Σ ℓ'(γ a_t) - γ Σ ℓ'(f(x_t)) = γ (Σ ℓ'(a_t) - Σ ℓ'(f(x_t))) ≤ γ R
for linear ℓ': a (γ, T)-agnostic weak online learner (Definition 6), weak for γ < 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, positive
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.around import Around
from banditboost.learners.background import Grows
from banditboost.learners.base import Bank, KeptRounds, Learned, Learner, LinearWeights
from banditboost.learners.forgotten import Erased
from banditboost.learners.linear import Linear
from banditboost.spaces import Space


@dataclass(frozen=True)
class Scaled(Around, kind="learners.Scaled"):
    """Another learner, its plays multiplied by `gamma`.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Scaled(Linear(), gamma=0.5).start(1, Interval(0, 1), 1, np.random.default_rng(0))
    >>> bank.update(np.array([1.0]), np.array([-1.0]), t=1)
    >>> bank.play(np.array([1.0])).tolist()
    [0.1]
    """

    learner: Learner = Linear()  # noqa: RUF009 - specs are frozen
    gamma: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("gamma", self.gamma)
        if not self.learner.contextual:
            raise ValueError(
                f"learner must be one that takes contexts, since scaled plays leave the set; got {self.learner!r}."
            )

    def thin(self, features: int) -> bool:
        """Whether the learner within is."""
        return self.learner.thin(features)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """As the learner within."""
        return self.learner.n_floats(copies, space, features)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> ScaledBank:
        """Start the inner learner."""
        return ScaledBank(self.gamma, copies, self.learner.start(copies, space, features, rng))


class ScaledBank(Bank):
    """An inner bank and a factor."""

    def __init__(self, gamma: float, copies: int, bank: Bank) -> None:
        self.gamma, self.copies = gamma, copies
        self.bank = bank

    def play(self, context: Array | None) -> Array:
        """Return γ times the inner plays."""
        return self.gamma * self.bank.play(context)

    def play_many(self, contexts: Array) -> Array:
        """Return γ times the inner plays on every row."""
        return self.gamma * self.bank.play_many(contexts)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Pass the linear losses on as they are."""
        self.bank.update(context, gradients, t)

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let the inner copies take note of where they should have played."""
        half = 0.5 * np.asarray(gradients)
        self.bank.remember(context, (anchors - half) / self.gamma + half, gradients)

    def meet(self, context: Array | None) -> None:
        """Let the bank within take note of the context."""
        self.bank.meet(context)

    def forget(self, erased: Erased) -> int:
        """Overwrite what is kept within."""
        return self.bank.forget(erased)

    def remembered(self) -> KeptRounds | None:
        """Return what the bank within has kept, in units of decisions."""
        kept = self.bank.remembered()
        return None if kept is None else kept._replace(targets=kept.targets * np.ravel(self.gamma))

    def growers(self) -> Sequence[Grows]:
        """Return those within."""
        return self.bank.growers()

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Reset the inner copies."""
        self.bank.reset(copies, rng)

    def stretched(self, features: int, rng: np.random.Generator) -> ScaledBank | None:
        """Return the inner bank stretched, where it can be."""
        inner = self.bank.stretched(features, rng)
        return None if inner is None else ScaledBank(self.gamma, self.copies, inner)

    def feature_weights(self) -> Sequence[Learned]:
        """Return what the inner copies have learned, weights multiplied by γ."""
        return [
            part._replace(shown=part.shown._replace(weights=self.gamma * part.shown.weights))
            if isinstance(part.shown, LinearWeights)
            else part
            for part in self.bank.feature_weights()
        ]

    @property
    def shared(self) -> frozenset[str]:
        """What the inner copies share."""
        return self.bank.shared

    def check(self) -> None:
        """Check the bank within."""
        self.bank.check()

    def arrays(self) -> dict[str, Array]:
        """Return the inner state."""
        return self.bank.arrays()

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the inner form, its outputs multiplied by γ."""
        from banditboost._compiled.combined import Scaled as Form

        inner = self.bank.compiled_form(shown, rounds_done)
        return Prepared(Form(inner.form, self.gamma, self.copies), inner.finish)

    def rounds_until_new_form(self) -> int | None:
        """Return that of the bank within."""
        return self.bank.rounds_until_new_form()

    @property
    def skips_rounds(self) -> bool:
        """Whether the bank within does."""
        return self.bank.skips_rounds

    def why_not_compiled(self) -> str | None:
        """Return why the inner bank cannot be compiled."""
        return super().why_not_compiled() or self.bank.why_not_compiled()

    def floats_per_round(self, sparse: bool) -> int:
        """Return those of the inner bank."""
        return self.bank.floats_per_round(sparse)

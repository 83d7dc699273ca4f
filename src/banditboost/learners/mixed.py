"""Copies of several kinds: the first few of one family, the next of another.

Idea: in a chain every copy corrects the copies before it, so that a simple family may come first and a richer one fit what is left
over, such as linear models followed by trees. Each family is a bank of its own, in the order given, and plays are put side by side:

    play  =  (first family's a_1 ... a_m, second family's a_{m+1} ... a_n, ...)

Since every copy learns from its own linear loss alone, whatever holds for copies of one family holds for each copy here.

References
----------
Beygelzimer, Hazan, Kale, Luo (2015), "Online Gradient Boosting", Algorithms 1 and 2: nothing there needs A_1, ..., A_N to be alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, positive
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.background import Grows
from banditboost.learners.base import Bank, KeptRounds, Learned, Learner
from banditboost.learners.forgotten import Erased
from banditboost.learners.linear import Linear
from banditboost.learners.tree import Tree
from banditboost.spaces import Space


@dataclass(frozen=True)
class Mixed(Learner, kind="learners.Mixed"):
    """Copies of several families, one after the other.

    Parameters
    ----------
    parts
        The families, each a learner that takes contexts, in the order of their copies in the chain.
    counts
        How many copies each part has. Counts that do not add up to the number of copies are proportions, rounded so that the number
        of copies in the first k parts together is never off by more than a half.

    Examples
    --------
    >>> Mixed(parts=(Linear(), Tree()), counts=(5, 15)).share(20)
    (5, 15)
    >>> Mixed(parts=(Linear(), Tree()), counts=(5, 15)).share(30)
    (8, 22)
    """

    parts: tuple[Learner, ...] = (Linear(), Tree())
    counts: tuple[float, ...] = (1.0, 3.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.parts, tuple) or not self.parts:
            raise ValueError(f"parts must be a sequence of one learner or more, got {self.parts!r}.")
        for part in self.parts:
            if not isinstance(part, Learner) or not part.contextual:
                raise ValueError(f"parts must be learners that take contexts, got {part!r}.")
        if not isinstance(self.counts, tuple) or len(self.counts) != len(self.parts):
            raise ValueError(f"counts must be one number for each of the {len(self.parts)} parts, got {self.counts!r}.")
        for number in self.counts:
            positive("counts", number)

    def share(self, copies: int) -> tuple[int, ...]:
        """Return how many of `copies` each part has; a part may have none where copies are few."""
        ends = np.cumsum(self.counts)
        # Half a copy always goes to the earlier part; round() would send it to the even side.
        whole = np.floor(copies * (ends / ends[-1]) + 0.5).astype(int)
        return tuple(np.diff(whole, prepend=0).tolist())

    @property
    def branches(self) -> bool:
        """Whether any part does."""
        return any(part.branches for part in self.parts)

    @property
    def bets(self) -> bool:
        """Whether copies of any part do."""
        return any(part.bets for part in self.parts)

    @property
    def remembers(self) -> bool:
        """Whether copies of one part do."""
        return any(part.remembers for part in self.parts)

    @property
    def fits_residuals(self) -> bool:
        """Whether copies of all parts do."""
        return all(part.fits_residuals for part in self.parts)

    def thin(self, features: int) -> bool:
        """Whether all parts are."""
        return all(part.thin(features) for part in self.parts)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats of all parts."""
        shares = zip(self.parts, self.share(copies), strict=True)
        return sum(part.n_floats(n, space, features) for part, n in shares)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> MixedBank:
        """Start every part that has copies, in order."""
        shares = zip(self.parts, self.share(copies), strict=True)
        return MixedBank([(n, part.start(n, space, features, rng)) for part, n in shares if n > 0])


class MixedBank(Bank):
    """Banks in a row, and how many copies each has."""

    def __init__(self, banks: list[tuple[int, Bank]]) -> None:
        self.banks = banks

    def play(self, context: Array | None) -> Array:
        """Return the plays of all banks, in order."""
        return np.concatenate([bank.play(context) for _, bank in self.banks])

    def play_many(self, contexts: Array) -> Array:
        """Return the plays of all banks, in order."""
        return np.concatenate([bank.play_many(contexts) for _, bank in self.banks])

    def remembered(self) -> KeptRounds | None:
        """Return what the first bank that remembers has kept."""
        kept = (bank.remembered() for _, bank in self.banks)
        return next((found for found in kept if found is not None), None)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Give every bank the linear losses of its own copies."""
        begin = 0
        for copies, bank in self.banks:
            bank.update(context, gradients[begin : begin + copies], t)
            begin += copies

    def meet(self, context: Array | None) -> None:
        """Let every bank take note of the context."""
        for _, bank in self.banks:
            bank.meet(context)

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let every bank take note of what its own copies saw."""
        begin = 0
        for copies, bank in self.banks:
            bank.remember(context, anchors[begin : begin + copies], gradients[begin : begin + copies])
            begin += copies

    def forget(self, erased: Erased) -> int:
        """Overwrite what every bank keeps."""
        return sum(bank.forget(erased) for _, bank in self.banks)

    def growers(self) -> list[Grows]:
        """Return those of all banks, in order."""
        return [one for _, bank in self.banks for one in bank.growers()]

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Reset the copies in the banks that they belong to."""
        total = sum(n for n, _ in self.banks)
        if ((copies < 0) | (copies >= total)).any():
            raise IndexError(f"copies must lie between 0 and {total - 1}, got {copies.tolist()}.")
        begin = 0
        for n, bank in self.banks:
            bank.reset(copies[(copies >= begin) & (copies < begin + n)] - begin, rng)
            begin += n

    def stretched(self, features: int, rng: np.random.Generator) -> MixedBank | None:
        """Return all banks stretched, or None where one of them cannot be."""
        larger = []
        for n, bank in self.banks:
            inner = bank.stretched(features, rng)
            if inner is None:
                return None
            larger.append((n, inner))
        return MixedBank(larger)

    def feature_weights(self) -> list[Learned]:
        """Return what the copies of all banks have learned, in order."""
        return [part for _, bank in self.banks for part in bank.feature_weights()]

    @property
    def shared(self) -> frozenset[str]:
        """What the copies of each bank share; the first axis of the other arrays is the copy within its own bank."""
        return frozenset(f"{k}.{name}" for k, (_, bank) in enumerate(self.banks) for name in bank.shared)

    @property
    def sound(self) -> frozenset[str]:
        """Those of all banks."""
        return frozenset(f"{k}.{name}" for k, (_, bank) in enumerate(self.banks) for name in bank.sound)

    def check(self) -> None:
        """Check every bank within."""
        for _, bank in self.banks:
            bank.check()

    def arrays(self) -> dict[str, Any]:
        """Return the state of all banks, each under its number."""
        return {f"{k}.{name}": array for k, (_, bank) in enumerate(self.banks) for name, array in bank.arrays().items()}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the forms of all banks side by side."""
        from banditboost._compiled.combined import SideBySide

        seen = replace(shown, spare=False)  # by all of them
        prepared = [bank.compiled_form(seen, rounds_done) for _, bank in self.banks]
        form = prepared[-1].form
        for (copies, _), before in zip(self.banks[-2::-1], prepared[-2::-1], strict=True):
            form = SideBySide(before.form, form, copies)

        def finish() -> None:
            for part in prepared:
                part.finish()

        return Prepared(form, finish)

    def rounds_until_new_form(self) -> int | None:
        """Return the fewest of all banks."""
        limits = (bank.rounds_until_new_form() for _, bank in self.banks)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def skips_rounds(self) -> bool:
        """Whether all banks do."""
        return all(bank.skips_rounds for _, bank in self.banks)

    def why_not_compiled(self) -> str | None:
        """Return why the first of the banks cannot be compiled that cannot."""
        reasons = (bank.why_not_compiled() for _, bank in self.banks)
        return super().why_not_compiled() or next((reason for reason in reasons if reason), None)

    def floats_per_round(self, sparse: bool) -> int:
        """Return those of all banks together."""
        return sum(bank.floats_per_round(sparse) for _, bank in self.banks)

"""Copies of several kinds: the first few of one family, the next of another.

Idea: a chain corrects what the copies before it left over, so that a simple family may do the bulk and a richer one the rest, as
linear models followed by trees. Each family is a bank of its own, in the order given, and the plays are put side by side:

    play  =  (first family's a_1 ... a_m, second family's a_{m+1} ... a_n, ...)

Since every copy learns from its own linear loss alone, whatever holds for copies of one family holds for each copy here.

References
----------
Beygelzimer, Hazan, Kale, Luo (2015), "Online Gradient Boosting", Algorithms 1 and 2: nothing there needs A_1, ..., A_N to be alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._compiled.shown import Prepared, Shown
from banditboost._core.checks import Array, positive
from banditboost.learners.base import Bank, Learner
from banditboost.learners.linear import Linear
from banditboost.learners.tree import Tree
from banditboost.spaces import Space


@dataclass(frozen=True)
class Mixed(Learner, kind="learners.Mixed"):
    """Copies of several families, one after the other.

    Parameters
    ----------
    parts
        The families, each a learner that takes contexts, in the order in which a chain comes upon them.
    counts
        How many copies each has. Where they do not add up to the number of copies they are proportions, rounded so that the copies
        of the first families together are never off by more than a half.

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
        # Half a copy goes to the earlier part, always: round() would send it to the even side.
        whole = np.floor(copies * (ends / ends[-1]) + 0.5).astype(int)
        return tuple(np.diff(whole, prepend=0).tolist())

    @property
    def branches(self) -> bool:
        """Whether any part does."""
        return any(part.branches for part in self.parts)

    @property
    def bets(self) -> bool:
        """As those within."""
        return any(part.bets for part in self.parts)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Those of all parts."""
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

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Give every bank the linear losses of its own copies."""
        begin = 0
        for copies, bank in self.banks:
            bank.update(context, gradients[begin : begin + copies], t)
            begin += copies

    def check(self) -> None:
        """As the banks within."""
        for _, bank in self.banks:
            bank.check()

    def arrays(self) -> dict[str, Any]:
        """Return the state of all banks, each under its number."""
        return {f"{k}.{name}": array for k, (_, bank) in enumerate(self.banks) for name, array in bank.arrays().items()}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the forms of all banks side by side."""
        from banditboost._compiled.combined import SideBySide

        prepared = [bank.compiled_form(shown, rounds_done) for _, bank in self.banks]
        form = prepared[-1].form
        for (copies, _), before in zip(self.banks[-2::-1], prepared[-2::-1], strict=True):
            form = SideBySide(before.form, form, copies)

        def finish() -> None:
            for part in prepared:
                part.finish()

        return Prepared(form, finish)

    def why_not_compiled(self) -> str | None:
        """Return why the first of the banks cannot be compiled that cannot."""
        reasons = (bank.why_not_compiled() for _, bank in self.banks)
        return super().why_not_compiled() or next((reason for reason in reasons if reason), None)

    def floats_per_round(self, sparse: bool) -> int:
        """Return those of all banks together."""
        return sum(bank.floats_per_round(sparse) for _, bank in self.banks)

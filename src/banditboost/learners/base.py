"""What a learner owes the loop: a bank of N copies that play, and learn from linear losses.

Other modules never keep lists of learners. What they need to know is asked here: whether a copy can be set back to its start
(`Bank.reset`), whether copies can take more features (`Bank.stretched`), what copies have learned about the features
(`Bank.feature_weights`), which arrays copies share (`Bank.shared`), and how a chain should combine them (`Learner.fits_residuals`).
A learner that does not answer raises a sentence as soon as it is asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._core.forms import no_loop
from banditboost._core.shown import Prepared, Shown
from banditboost._core.spec import Spec
from banditboost.learners.background import Grows
from banditboost.learners.forgotten import Erased
from banditboost.spaces import Space

UNIT = "unit"
"""The unit of a feature that copies see as it was given."""


class LinearWeights(NamedTuple):
    """What linear copies have learned: copy i plays ``weights[i] @ x`` for a context x in the given unit."""

    weights: Array
    """Shape (copies, outputs, features), with one more column for the intercept where there is one.

    Constant factors of a copy's play are multiplied in. `SecondOrder` with ``forward=True`` also shrinks plays by a factor that
    depends on the context, which is left out here.
    """
    intercept: bool
    """Whether the last column of the weights is an intercept."""
    unit: str = UNIT
    """What a feature is measured in when copies see it, such as ``"standard deviation"``."""


class TreeTests(NamedTuple):
    """What trees have learned: which features they test."""

    tests: Array
    """Shape (copies, features): in how many nodes each tree tests each feature."""
    leaves: Array
    """Shape (copies,): how many leaves each tree has."""


class Learned(NamedTuple):
    """What some copies of a bank, of one kind and next to each other, have learned about the features."""

    kind: str
    """The name of the learner, such as ``"Linear"``."""
    copies: int
    """How many copies these are."""
    shown: LinearWeights | TreeTests | None = None
    """What they have learned; None where it cannot be said feature by feature."""


class KeptRounds(NamedTuple):
    """Rounds that a copy has kept."""

    contexts: Array
    """Shape (rounds, features)."""
    targets: Array
    """Where the loss would have been least in each, shape (rounds, d)."""
    rounds: NDArray[np.int64]
    """In which order they came, as far as it is known, shape (rounds,)."""


class Bank(ABC):
    """The running state of N copies, as arrays whose first axis is the copy, apart from those named in `shared`."""

    @abstractmethod
    def play(self, context: Array | None) -> Array:
        """Return the N proposals for a context, shape (N, *shape), and change nothing."""

    def play_many(self, contexts: Array) -> Array:
        """Return the proposals for every row of contexts, shape (N, rows, *shape).

        This default plays row by row; banks that can play all rows at once override it.
        """
        return np.stack([self.play(context) for context in contexts], axis=1)

    @abstractmethod
    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Learn from the linear losses y ↦ gradients[i]·y, one per copy; t counts the rounds told, this one included."""

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:  # noqa: B027 - most learners do nothing
        """Take note of where the gradients were taken, one point per copy, before `update`: for learners that keep rounds."""

    def meet(self, context: Array | None) -> None:  # noqa: B027 - most learners do nothing
        """Take note of the context of a round that teaches copies nothing, in place of `update`: where features are measured.

        A bank around others passes this on, as they would see the context in `update`.
        """

    def forget(self, erased: Erased) -> int:
        """Overwrite the rows that are kept of some rounds; return how many. Learners that keep none have nothing to do.

        A bank around others passes this on.
        """
        return 0

    def remembered(self) -> KeptRounds | None:
        """Return the rounds that copies have kept; None where they keep none."""
        return None

    def growers(self) -> Sequence[Grows]:
        """Return the banks within this one, or this one, that grow in the background (`banditboost.learners.background`).

        A bank around others returns theirs; where it does not, rounds wait for what is being grown within it.
        """
        return ()

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Set some copies back to their start, and leave all others bit for bit as they are.

        What copies share (`shared`) stays as it is, and so do step sizes that depend on the number of rounds told.

        Parameters
        ----------
        copies
            Indices of the copies, each from 0 to N - 1.
        rng
            Draws what copies draw when they start, in the same order as `Learner.start`.
        """
        raise TypeError(f"The copies of a {type(self).__name__} cannot be reset: the class does not define `reset`.")

    def stretched(self, features: int, rng: np.random.Generator) -> Bank | None:
        """Return a bank for more features that plays as this one does wherever the new features are zero.

        Every feature keeps its place, and new ones follow. This bank does not change, and the new one shares no array with it.

        Parameters
        ----------
        features
            How many features the new bank takes, at least as many as this one.
        rng
            Draws what the new features need drawn, as `Learner.start` would for a bank of that size.

        Returns
        -------
        Bank | None
            None where these copies cannot take more features and must start again.
        """
        raise TypeError(
            f"A {type(self).__name__} does not say whether it can take more features: the class does not define `stretched`, "
            "which may return None."
        )

    def feature_weights(self) -> Sequence[Learned]:
        """Return what the copies have learned about the features: one entry for each kind of copies, in the order of copies."""
        raise TypeError(
            f"A {type(self).__name__} does not say what it has learned: the class does not define `feature_weights`, "
            "which may return an entry with nothing to show."
        )

    @property
    def shared(self) -> frozenset[str]:
        """Names of the `arrays` whose first axis is not the copy: those that copies share, and scalars."""
        return frozenset()

    @property
    def sound(self) -> frozenset[str]:
        """Names of the `arrays` that are finite wherever the others are: those need not be looked at after a block of rounds."""
        return frozenset()

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return the state by name: the arrays themselves, which a caller may overwrite in place to restore them."""

    def of_today(self, saved: dict[str, Array]) -> dict[str, Array]:
        """Return the arrays of a file with the names and shapes that `arrays` has, where an earlier version kept others."""
        return saved

    def check(self) -> None:  # noqa: B027 - most banks have nothing of the kind
        """Raise a ValueError where restored arrays hold indices that lie outside other arrays; compiled loops do not check."""

    @property
    def kind(self) -> str:
        """The name of the learner, from the name of the class."""
        return type(self).__name__.removesuffix("Bank")

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the typed tuple by which compiled loops know this bank for a block of rounds (`banditboost.extending`).

        Parameters
        ----------
        shown
            The contexts of the block.
        rounds_done
            How many rounds were learned from before.
        """
        raise TypeError(f"The bank {type(self).__name__} has no compiled form.")

    def why_not_compiled(self) -> str | None:
        """Return why no compiled loop can play these copies, as half a sentence; None where one can."""
        if type(self).compiled_form is Bank.compiled_form:
            return f"there is no compiled loop for the learner {type(self).__name__.removesuffix('Bank')}"
        return no_loop("bank", self)

    def rounds_until_new_form(self) -> int | None:
        """Return how many rounds may be played with one form, since what copies are shown changes then; None for any number."""
        return None

    @property
    def skips_rounds(self) -> bool:
        """Whether a compiled block may leave rounds out, or end early: all but what `meet` notes is learned in place.

        Finishing a block then notes its contexts, also those of rounds that were left out, and does nothing else.
        """
        return False

    def floats_per_round(self, sparse: bool) -> int:
        """Return how many numbers a round's contexts take once they are laid out for the compiled loop, for all copies together."""
        return 1


@dataclass(frozen=True)
class Learner(Spec):
    """Description of a family of copies."""

    contextual: ClassVar[bool] = True
    """Whether copies look at a context. Copies that do not are started on the set where they must play and stay in it."""

    @property
    def bets(self) -> bool:
        """Whether copies raise their stakes as long as they win: plays that were projected must then be corrected for."""
        return False

    @property
    def branches(self) -> bool:
        """Whether copies compare features with thresholds, so that a last digit may decide."""
        return False

    @property
    def remembers(self) -> bool:
        """Whether banks keep rounds (`Bank.remember`) and play predictions of their own, for which they must know the space."""
        return False

    @property
    def fits_residuals(self) -> bool:
        """Whether a copy fits what the copies before it left over, so that a chain should add plays up rather than average them."""
        raise TypeError(
            f"The learner {type(self).__name__} does not say whether its copies fit residuals: define `fits_residuals`, "
            "or choose the chain yourself."
        )

    def thin(self, features: int) -> bool:
        """Whether banks for so many features take a `SparseRow` as a context, and CSR in `play_many`; else both are arrays."""
        return False

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return how many numbers a bank holds, before it is made: at least one for every coordinate of every play."""
        return copies * space.size

    @abstractmethod
    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> Bank:
        """Make a fresh bank of `copies` for decisions in `space` and contexts of `features` numbers (0: none)."""

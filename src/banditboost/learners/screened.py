"""A learner that is shown few of very many features: those that come often, and those that say something about the loss.

Idea: trees look at every feature, so that a round on a million of them would take seconds. The learner within has room for a few
hundred *places*. A feature takes the next free one when it has been there, not zero, in `proven` rounds, and keeps it; features
without a place are not shown. Those that come often are the first to take one. With `evidence`, a quarter of the places is kept for
features that gradients tell something of (`learners/evidence.py`): where all features are there in every round, those that come
first are no better than others.

A round costs O(non-zeros + places), and what the learner within costs. An absent feature is zero, and trees test for that, too.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from banditboost._core.checks import Array, count
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.around import Around, AroundBank
from banditboost.learners.base import Bank, Learned, Learner, LinearWeights, TreeTests
from banditboost.learners.evidence import Gathered
from banditboost.learners.forgotten import Erased
from banditboost.learners.tree import Tree
from banditboost.spaces import Space


@dataclass(frozen=True)
class Screened(Around, kind="learners.Screened"):
    """Another learner, which is shown the features that were there first in several rounds, at most a few hundred.

    Parameters
    ----------
    learner
        The learner that is shown them.
    places
        How many features it is shown; all of them where there are no more.
    proven
        In how many rounds a feature must have been there before it takes a place.
    evidence
        Whether a quarter of the places is for features that gradients tell something of.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Screened(Tree(), places=2, proven=2).start(1, Interval(-1, 1), 5, np.random.default_rng(0))
    >>> for t, k in enumerate([4, 1, 4, 0, 0, 1], start=1):
    ...     bank.update(np.eye(5)[k], np.array([1.0]), t)
    >>> bank.shown(np.array([7.0, 8.0, 0.0, 0.0, 9.0])).tolist()
    [9.0, 7.0]
    """

    learner: Learner = field(default_factory=Tree)
    places: int = 128
    proven: int = 10
    evidence: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.learner, Learner) or not self.learner.contextual:
            raise ValueError(f"learner must be one that takes contexts, got {self.learner!r}.")
        count("places", self.places)
        count("proven", self.proven)
        if not isinstance(self.evidence, bool):
            raise ValueError(f"evidence must be True or False, got {self.evidence!r}.")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give the default, one whose places are soon taken, and one that gives places by evidence."""
        eager = Tree(subset=1.0, grace=5, evidence=1.0)
        return (cls(), cls(eager, places=2, proven=2), cls(eager, places=3, proven=2, evidence=True))

    def thin(self, features: int) -> bool:
        """True: the learner within sees few features."""
        return True

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: one for every feature, one for every place, and those of the learner within."""
        gathered = Gathered.n_floats(space, features, self.places) if self.evidence else 0
        return gathered + features + self.places + 1 + self.learner.n_floats(copies, space, self.places)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> ScreenedBank:
        """Start the inner learner, before any feature has a place."""
        gathered = Gathered(space, features, self.places) if self.evidence else None
        return ScreenedBank(self, features, self.learner.start(copies, space, self.places, rng), gathered)


class ScreenedBank(AroundBank):
    """An inner bank, how often every feature was there or, below zero, its place, and which features have places."""

    def __init__(self, spec: Screened, features: int, bank: Bank, gathered: Gathered | None) -> None:
        self.spec, self.bank, self.gathered = spec, bank, gathered
        self.seen = np.zeros(features, dtype=np.int32)
        self.chosen = np.zeros(spec.places, dtype=np.int64)
        self.taken = np.zeros(1, dtype=np.int64)
        self.unchecked = False
        self.anchor: Array = np.zeros(() if gathered is None else gathered.space.shape)
        """Where the gradient of the first copy within was taken, between `remember` and `update`."""

    def shown(self, context: Array | None, learns: bool = False) -> Array:
        """Return what the inner learner sees of a context; with `learns` it is counted."""
        assert context is not None  # the loop gives contextual learners a context
        made = self._places(Shown.row(context), self._state(), learns)
        return np.asarray(made[0])

    def _state(self) -> Sequence[Any]:
        self.check()
        return self.seen, self.chosen, self.taken

    def _places(self, shown: Shown, state: Sequence[Any], learns: bool) -> Array:
        from banditboost._compiled.screened import screen

        table, rows = shown.sparse()
        made, (seen, chosen, taken) = np.zeros((len(rows), self.spec.places)), state
        most = self._by_count
        screen(table.data, table.indices, table.indptr, rows, seen, chosen, taken, self.spec.proven, most, learns, made)
        return made

    def play(self, context: Array | None) -> Array:
        """Return the inner plays on the features that have places."""
        return self.bank.play(self.shown(context))

    def play_many(self, contexts: Any) -> Array:
        """Return the inner plays on the features that have places."""
        table: Any = contexts
        rows = table.tocsr() if issparse(contexts) else np.asarray(table)
        made = self._places(Shown(rows, np.arange(rows.shape[0])), self._state(), False)
        return self.bank.play_many(made)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Let the inner copies learn from what they saw, and count the context and what it says about its features."""
        self.bank.update(self.shown(context, learns=True), gradients, t)
        if self._gathers():
            assert self.gathered is not None
            assert context is not None
            self._gather(Shown.row(context), self.gathered.signals(self.anchor, gradients[0]))

    @property
    def _by_count(self) -> int:
        """How many places features take by having been there often."""
        return len(self.chosen) if self.gathered is None else Gathered.by_count(len(self.chosen))

    def _counts(self) -> bool:
        """Return whether there are places left for features that are there often; else contexts change nothing."""
        return int(self.taken[0]) < self._by_count

    def _gathers(self) -> bool:
        """Return whether there are places left that evidence may give."""
        return self.gathered is not None and int(self.taken[0]) < len(self.chosen)

    def _gather(self, shown: Shown, signals: Array) -> None:
        assert self.gathered is not None
        self.gathered.gather(shown, signals, self.spec.proven, (self.seen, self.chosen, self.taken))

    def rounds_until_new_form(self) -> int | None:
        """Return after how many rounds places are given by evidence, or fewer where the bank within says so."""
        within = self.bank.rounds_until_new_form()
        if not self._gathers():
            return within
        assert self.gathered is not None
        own = self.gathered.until_due()
        return own if within is None else min(own, within)

    def meet(self, context: Array | None) -> None:
        """Do nothing: a round from which copies learn nothing gives no feature a place."""

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Let the inner copies take note of what they saw, and keep where the first gradient was taken until `update`."""
        self.anchor = np.asarray(anchors[0])
        self.bank.remember(self.shown(context), anchors, gradients)

    def forget(self, erased: Erased) -> int:
        """Overwrite what is kept within, of contexts as they are seen there."""
        shown = np.array([self.shown(context) for context in erased.contexts]).reshape(-1, self.spec.places)
        return self.bank.forget(erased._replace(contexts=shown))

    def stretched(self, features: int, rng: np.random.Generator) -> ScreenedBank:
        """Return the same copies around new features, which have been zero so far."""
        gathered = None if self.gathered is None else self.gathered.stretched(features)
        larger = ScreenedBank(self.spec, features, copy.deepcopy(self.bank), gathered)
        larger.seen[: len(self.seen)] = self.seen
        larger.chosen[...], larger.taken[...] = self.chosen, self.taken
        return larger

    def feature_weights(self) -> Sequence[Learned]:
        """Return what the inner copies have learned, about the features that have places."""
        return [self._spread(part) for part in self.bank.feature_weights()]

    def _spread(self, part: Learned) -> Learned:
        used, features = int(self.taken[0]), len(self.seen)
        where = self.chosen[:used]
        if isinstance(part.shown, TreeTests):
            tests = np.zeros((len(part.shown.tests), features))
            tests[:, where] = part.shown.tests[:, :used]
            return part._replace(shown=part.shown._replace(tests=tests))
        if isinstance(part.shown, LinearWeights):
            old, more = part.shown.weights, int(part.shown.intercept)
            weights = np.zeros((*old.shape[:2], features + more))
            weights[..., where] = old[..., :used]
            if more:
                weights[..., -1] = old[..., -1]
            return part._replace(shown=part.shown._replace(weights=weights))
        return part

    @property
    def shared(self) -> frozenset[str]:
        """Who has a place, and what inner copies share."""
        gathered = () if self.gathered is None else tuple(self.gathered.arrays())
        return frozenset(("seen", "chosen", "taken", *gathered, *(f"inner.{name}" for name in self.bank.shared)))

    @property
    def sound(self) -> frozenset[str]:
        """What is known about features one by one, which is finite where contexts and gradients are; and what is sound within."""
        own = () if self.gathered is None else ("evidence.known", "evidence.sums")
        return frozenset((*own, *(f"inner.{name}" for name in self.bank.sound)))

    def check(self) -> None:
        """Raise a ValueError unless places and features agree; check the bank within."""
        if self.unchecked:
            used, places = int(self.taken[0]), len(self.chosen)
            fits = 0 <= used <= places
            if fits:
                where = self.chosen[:used]
                fits = bool(((where >= 0) & (where < len(self.seen))).all())
                fits = fits and np.array_equal(self.seen[where], -1 - np.arange(used))
                fits = fits and int((self.seen < 0).sum()) == used
                # A feature that was there that often has a place, or never gets one by its count.
                fits = fits and int(self.seen.max(initial=0)) < self.spec.proven
            if not fits:
                raise ValueError("The places are damaged: they and their features do not agree.")
            if self.gathered is not None:
                self.gathered.check()
            self.unchecked = False
        self.bank.check()

    def arrays(self) -> dict[str, Any]:
        """Return who has a place, and the inner state. A caller may write to them: they are checked when next used."""
        self.unchecked = True
        own = {"seen": self.seen, "chosen": self.chosen, "taken": self.taken}
        if self.gathered is not None:
            own |= self.gathered.arrays()
        return own | {f"inner.{name}": array for name, array in self.bank.arrays().items()}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form of the inner bank, which is shown the features that have places; they are counted at the end."""
        from banditboost._compiled.evidence import Heard

        known = self._state()
        now = [array.copy() for array in known] if self._counts() else known
        made = self._places(shown, now, True)
        inner = self.bank.compiled_form(Shown.features(made[:, np.newaxis], spare=True), rounds_done)
        if self.gathered is None:
            return Prepared(inner.form, lambda: self._finish(inner, now))
        gathers = self._gathers()
        signals = np.zeros((len(shown.rows) if gathers else 0, self.gathered.state.overall.shape[1]))

        def finish() -> None:
            self._finish(inner, now)
            if gathers:
                self._gather(shown, signals)

        return Prepared(Heard(inner.form, signals), finish)

    def _finish(self, inner: Prepared, now: Sequence[Any]) -> None:
        inner.finish()
        known: tuple[Any, ...] = (self.seen, self.chosen, self.taken)
        for array, learned in zip(known, now, strict=True):
            if learned is not array:
                array[...] = learned

    def why_not_compiled(self) -> str | None:
        """Return why the inner bank cannot be compiled."""
        return super().why_not_compiled() or self.bank.why_not_compiled()

    def floats_per_round(self, sparse: bool) -> int:
        """Return how many places there are, the length of a context where it is dense, and those of the inner bank."""
        return len(self.chosen) + (0 if sparse else 2 * len(self.seen)) + self.bank.floats_per_round(False)

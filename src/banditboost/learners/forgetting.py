"""Second-order linear copies that remember all rounds, and others that forget: each is followed as far as it has proven better.

Idea: where the world stays as it is, all rounds together make the best line; where it has changed, only the rounds since do. So
every copy has several memories. Memory k is the ridge regression of `SecondOrder` with ``centre="zero"`` in which a round weighs
λ_k times as much after every further round, and the copy plays

    a = a_1 + ω_2 (a_2 - a_1) + ...          each memory followed by a share ω_k from where the ones before it have led

How far is decided by gradients alone, by the rule of `chains.Mix`: with d the way to a_k, and g + c·a the gradient where it begins,
G = -Σ (g + c·a)·d/c, S = Σ|d|² and V the variance of G, the share is (G - 2V/G)/S, cut to [0, 1]. It is zero until a memory has
gained more than noise, so that a world that does not change loses hardly anything; and late rounds may overrule all rounds.

A memory of 100 rounds is never better than that, and longer ones take long to recover. Where late rounds ask for a shorter memory,
or where several errors in a row are far larger than usual, a *fresh* one is begun that remembers all rounds from there on. It is
one more step in the mix, and when it is surely ahead of the longest memory, by gradients again, it takes the place of that and of
all that are longer than its age, and another one is begun. Beginning one costs nothing, so that little is asked for it.

Every memory plays W x / q, with q = 1 + c x·A⁻¹x, as `SecondOrder` says: cautious where little was seen, as it is for a hundred
rounds after a memory was begun. That is too little where there is hardly any noise. So there is one more step, the last one, from
the mix of these plays to the *bold* one, the same mix of W x (or of 2 W x / q where q is above two), and it is followed by the same
rule: by rounds that have shown that caution costs.

Forgetting everything would forget the ridge, too, and weights of features that do not vary would wind up. Every eighth round one
feature, in turn, gets back what its ridge has lost since its last turn.

References
----------
Haykin (2002), *Adaptive Filter Theory*, Section 9.3, for exponential weights; Stein (1956) for the shrinkage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, number, positive, room
from banditboost._core.shown import Prepared, Shown, flat
from banditboost.chains.mix import LATE, SURE
from banditboost.chains.trusted import FORGETTING
from banditboost.learners.base import Bank, Learned, Learner, LinearWeights
from banditboost.learners.family import rows
from banditboost.learners.second_order import SecondOrder, SecondOrderBank
from banditboost.spaces import Space

EVERY = 8.0
"""Every so many rounds one feature gets its ridge back."""
DOUBT = 2.0
"""How many variances are taken off what a memory has gained."""
AHEAD = 3.0
"""How many standard deviations the fresh memory must be ahead of the longest one to take its place."""
FAR = 4.0
"""How many times the usual one a squared error is that counts as far."""
MOST = 10.0
"""How many times the usual one a squared error counts at most in the mean that is the usual one."""
USUAL_ROUNDS = 400.0
"""Rounds over which that mean goes."""
MANY = 4.0
"""A fresh memory is begun after so many far errors, of which every other error takes back a half."""
AGED = 64.0
"""A fresh memory older than that is begun anew then."""
BOLDEST = 2.0
"""How many times as long the bold play may be as the cautious one."""
ROUNDS_A_FEATURE = 2.0
"""A memory has at least so many rounds for every feature; shorter ones are left out."""


@dataclass(frozen=True)
class Forgetting(Learner, kind="learners.Forgetting"):
    """Linear copies with a full-matrix preconditioner and several memories, for chains that add plays up.

    Parameters
    ----------
    ridge
        The ridge of every memory.
    curvature
        c, the curvature of the loss: 2 for the squared loss.
    memories
        λ_k: what a round leaves of the weight of those before it, 1 first, then falling. A memory of 1/(1 - λ) rounds is left out
        where that is less than two rounds for every feature.
    intercept
        Whether a constant 1 is appended to every context.

    Examples
    --------
    The sign of a relation changes, and the copy finds it anew:

    >>> from banditboost.spaces import Interval
    >>> rng = np.random.default_rng(0)
    >>> bank = Forgetting().start(1, Interval(-5, 5), 1, rng)
    >>> for t in range(1, 1201):
    ...     x, sign = rng.normal(size=1), 1 if t <= 1000 else -1
    ...     bank.update(x, -2 * (sign * x + 0.1 * rng.normal(size=1)), t)
    >>> [round(float(bank.play(np.array([x]))[0]), 1) for x in (-1.0, 1.0)]
    [1.0, -1.0]
    """

    ridge: float = 1.0
    curvature: float = 2.0
    memories: tuple[float, ...] = (1.0, 0.999, 0.99)
    intercept: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("ridge", self.ridge)
        positive("curvature", self.curvature)
        if not isinstance(self.memories, tuple) or not self.memories or number("memories", self.memories[0]) != 1:
            raise ValueError(f"memories must be a sequence of numbers that begins with 1, got {self.memories!r}.")
        for before, kept in zip(self.memories, self.memories[1:], strict=False):
            if not 0.5 <= number("memories", kept) < before:
                raise ValueError(f"memories must fall from 1 to at least 0.5, got {self.memories!r}.")

    @classmethod
    def examples(cls) -> tuple[Forgetting, ...]:
        """Give the default, and one with a short memory."""
        return (cls(), cls(0.5, 2.0, (1.0, 0.9)))

    @property
    def fits_residuals(self) -> bool:
        """True: every memory is a ridge regression on -g/c."""
        return True

    def chosen(self, features: int) -> tuple[float, ...]:
        """Return the memories that are long enough for so many features, the intercept included."""
        return tuple(kept for kept in self.memories if (1 - kept) * ROUNDS_A_FEATURE * features <= 1)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: weights and a square matrix for every memory, and sums."""
        p, memories = features + self.intercept, len(self.memories) + 1
        return memories * (copies * (space.size * p + 6 + 3 * len(LATE)) + p * p + 1) + 5

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> ForgettingBank:
        """Make a bank whose weights are zero."""
        room(f"The matrices of {features} features", self.n_floats(copies, space, features))
        return ForgettingBank(self, copies, space, features)


class ForgettingBank(Bank):
    """A `SecondOrderBank` for every memory, the fresh one last, and what the steps from one to the next have gained."""

    def __init__(self, spec: Forgetting, copies: int, space: Space, features: int) -> None:
        self.spec, self.space = spec, space
        self.kept = (*spec.memories, 1.0)
        chosen = spec.chosen(features + spec.intercept)
        self.used = np.array([*(float(kept in chosen) for kept in spec.memories), 1.0])
        """Which memories there are: those that were long enough when the bank was made, however many features have come since."""
        within = SecondOrder(spec.ridge, spec.curvature, "zero", intercept=spec.intercept)
        self.banks = [SecondOrderBank(within, copies, space, features + spec.intercept, False) for _ in self.kept]
        self.shares = np.zeros((copies, len(self.kept)))
        """How far every copy follows each memory; the first column is for the bold step."""
        self.sums = np.zeros((copies, len(self.kept), 3))
        self.late = np.zeros((copies, len(self.kept), len(LATE), 3))
        self.fresh = np.zeros(5)
        """When the fresh memory began, how far it is ahead, the variance of that; the usual squared error, and how many far ones
        there were of late."""
        self._round: tuple[Any, Any] | None = None

    @property
    def alive(self) -> list[int]:
        """The memories that there are now: the longest, those in use, and the fresh one where one has begun."""
        last = len(self.kept) - 1
        return [0, *(k for k in range(1, last) if self.used[k] > 0), *([last] if self.fresh[0] > 0 else [])]

    def play(self, context: Array | None) -> Array:
        """Return where the memories lead, one after the other, as boldly as has proven right."""
        from banditboost._compiled.forgetting import play

        form, desk = self._for_one_round()
        found = np.empty(desk.outputs.shape)
        play(form, _numbers(context), desk, found)
        return found.reshape(self.banks[0].weights.shape[:-1])

    def play_many(self, contexts: Array) -> Array:
        """Return the same for every row."""
        X = rows(contexts, self.spec.intercept)
        return self._bolder({k: self.banks[k].play_many(contexts) for k in self.alive}, X)

    def _bold(self, plays: dict[int, Array], X: Array) -> Array:
        """Return where memories lead that play as boldly as may be for each of some rows."""
        sizes = {k: np.minimum(self.banks[k].sizes(X @ self.banks[k].roots[0].T), BOLDEST) for k in plays}
        return self._led(_scaled(plays, sizes))

    def _bolder(self, plays: dict[int, Array], X: Array) -> Array:
        here, bold = self._led(plays), self._bold(plays, X)
        return np.asarray(here + self._share(0, here) * (bold - here))

    def _led(self, plays: dict[int, Array]) -> Array:
        here = plays[0]
        for k, play in plays.items():
            if k > 0:
                here = here + self._share(k, here) * (play - here)
        return np.asarray(here)

    def _share(self, k: int, plays: Array) -> Array:
        return self.shares[:, k].reshape(-1, *(1,) * (plays.ndim - 1))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Judge every step from one memory to the next, let every memory learn, and forget."""
        from banditboost._compiled.forgetting import update

        form, desk = self._for_one_round()
        update(form, _numbers(context), _numbers(gradients).reshape(desk.G.shape), t, desk)

    def _for_one_round(self) -> tuple[Any, Any]:
        """Return the form of the bank for one round, and what that is worked out on; both are made once."""
        if self._round is None:
            from banditboost._compiled.round import empty_desk

            copies, d, p = flat(self.banks[0].weights).shape
            nothing = Shown.features(np.zeros((1, 1, p - self.spec.intercept)))
            self._round = self.compiled_form(nothing, 0).form, empty_desk(copies, d)
        return self._round

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_round": None}  # which refers to the arrays of this bank

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Set weights and sums to zero; matrices, which all copies share, stay as they are."""
        for bank in self.banks:
            bank.reset(copies, rng)
        for array in (self.shares, self.sums, self.late):
            array[copies] = 0.0

    def stretched(self, features: int, rng: np.random.Generator) -> ForgettingBank:
        """Return a bank for more features, with the same memories."""
        larger = ForgettingBank(self.spec, len(self.shares), self.space, features)
        inner = [bank.stretched(features, rng) for bank in self.banks]
        larger.banks = [bank for bank in inner if isinstance(bank, SecondOrderBank)]
        for name in ("shares", "sums", "late", "fresh", "used"):
            getattr(larger, name)[...] = getattr(self, name)
        return larger

    def feature_weights(self) -> list[Learned]:
        """Return the weights of the play: those of all memories, each as far as it is followed."""
        weights = self._led({k: self.banks[k].weights for k in self.alive})
        outputs = weights.reshape(len(weights), -1, weights.shape[-1])
        return [Learned(self.kind, len(weights), LinearWeights(outputs, self.spec.intercept))]

    @property
    def shared(self) -> frozenset[str]:
        """The matrices, which memories there are, and what is known of the fresh one and of errors."""
        return frozenset(
            ("fresh", "used", *(f"{k}.{name}" for k, bank in enumerate(self.banks) for name in bank.shared))
        )

    def arrays(self) -> dict[str, Array]:
        """Return shares, sums, and the state of every memory."""
        own = {"shares": self.shares, "sums": self.sums, "late": self.late, "fresh": self.fresh, "used": self.used}
        return own | {
            f"{k}.{name}": array for k, bank in enumerate(self.banks) for name, array in bank.arrays().items()
        }

    @property
    def skips_rounds(self) -> bool:
        """True: all is learned in place."""
        return True

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.forgetting`."""
        from banditboost._compiled import following, forgetting

        forms = [self.banks[0].compiled_form(shown, rounds_done).form]
        for bank in self.banks[1:]:
            own = bank.compiled_form(Shown.features(np.empty((0, 1, 0))), rounds_done).form
            forms.append(own._replace(features=forms[0].features))
        copies, memories = self.shares.shape
        d = flat(self.banks[0].weights).shape[1]
        late = following.Late(self.late.reshape(copies * memories, len(LATE), 3), np.array(LATE), SURE)
        rules = np.array([DOUBT, FORGETTING, EVERY, self.spec.ridge, rounds_done + 1.0, AHEAD])
        worse = np.array([FAR, MOST, USUAL_ROUNDS, MANY, AGED, 2 * LATE[-1]])
        learned = (np.array(self.kept), self.used, self.sums.reshape(-1, 3), late, rules, worse, BOLDEST)
        scratch = (np.empty((memories, copies, d)), np.empty(d), np.empty((copies, d)))
        return Prepared(forgetting.Forgetting(tuple(forms), *learned, *scratch, self.shares.reshape(-1), self.fresh))

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a row of features."""
        return self.banks[0].floats_per_round(sparse)


def _numbers(values: Array | None) -> Array:
    """Return an array as kernels take it: contiguous, of floats, and not read-only."""
    assert values is not None  # the loop gives contextual learners a context
    return np.array(values, dtype=float, order="C")


def _scaled(plays: dict[int, Array], sizes: dict[int, Array]) -> dict[int, Array]:
    """Return the plays of every memory, each so many times as long; there is one number for all copies, or one for every row."""
    return {
        k: play * (size.reshape(-1, *(1,) * (play.ndim - 2)) if len(size := sizes[k]) > 1 else size)
        for k, play in plays.items()
    }

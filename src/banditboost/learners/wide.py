"""Linear copies for wide, sparse contexts: a round costs as much as its context has non-zeros, however many features there are.

Idea: hold a normal law of the weights instead of the weights alone. A round whose target is -g/c says something about w·z, and the
law learns it as a Kalman filter does. Only few covariances are kept: those within a *block* of at most m features, which are the
first that were there in `proven` rounds. Of every other weight the variance is kept, so that a round costs O(non-zeros + m²):

    l_k = Σ_j C_kj z_j            in the block, and v_k z_k outside of it
    s   = λ/c + Σ_k l_k z_k       the variance of what the round says: of its noise, and of all weights that it is about
    w_k ← w_k + l_k (-g/c - w·z)/s              C ← C - l lᵀ/s           v_k ← v_k - l_k²/s

With all features in the block this is the ridge regression of `SecondOrder` with ``centre="zero"`` and ``forward=False``. Outside,
weights whose features come together share an error by their variances: a word seen for the first time takes nearly all of it, and
words that are known well hardly move. A step never overshoots, since s counts every feature of the round.

Features are measured in their own units, which are learned from their non-zeros: x over the root of the mean square; a feature that
is there in nine rounds of ten or more, and varies, is measured from its mean, in standard deviations. Units thus play no part, and
zeros stay zeros.

How much noise there is nobody knows: a ridge that suits labels which features explain is too small for ratings of which words
explain a third. So a copy may have *wary* weights, too, for which a round's noise is larger and a weight's step depends on nothing
but the n rounds in which its feature was there before:

    u_k ← u_k + r_k z_k (-g/c - u·z)/(8λ/3c + Σ_j r_j z_j²)        r_k = 1/√(1 + 3 n_k)

It says w·z + ω (u·z - w·z), and ω is found by the rule of `chains.Mix`, from what following u would have gained so far: zero until
that is more than noise. Both numbers were chosen on half of the sentences of `python -m benchmarks words`, and on other seeds of
`python -m benchmarks wide`.

References
----------
Kalman (1960), "A New Approach to Linear Filtering and Prediction Problems"; keeping variances alone as in Dredze, Crammer, Pereira
(2008), "Confidence-weighted linear classification", Section 3.3; Ross, Mineiro, Langford (2013), "Normalized Online Learning", for
why units must be learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from banditboost._core.checks import Array, count, positive, room
from banditboost._core.shown import Prepared, Shown, flat
from banditboost.learners.base import Bank, Learned, Learner, LinearWeights
from banditboost.spaces import Space

if TYPE_CHECKING:
    from banditboost._compiled import wide

KNOWN = 4
"""How many numbers the kernel keeps about every feature."""
GAINS = 3
"""How many numbers it keeps about what wary weights have gained."""


@dataclass(frozen=True)
class Wide(Learner, kind="learners.Wide"):
    """Linear copies for contexts of very many features, few of which are not zero, for chains that add plays up.

    Parameters
    ----------
    ridge
        λ: how strongly weights are held at zero, in the units of the loss.
    curvature
        c, the curvature of the loss: 2 for the squared loss.
    block
        m, the most features whose covariances are kept.
    proven
        In how many rounds a feature must have been there before it is taken into the block.
    wary
        Whether copies have wary weights, too, and follow them as far as they have proven better.

    Examples
    --------
    A million features, of which a round has two:

    >>> from banditboost.spaces import Interval
    >>> bank = Wide(block=16).start(1, Interval(-5, 5), 1_000_000, np.random.default_rng(0))
    >>> rng, x = np.random.default_rng(0), np.zeros(1_000_000)
    >>> for t in range(1, 200):
    ...     k = rng.integers(0, 20, 2)
    ...     x[k] = 1.0
    ...     bank.update(x, -2 * np.array([x[0] - x[1]]), t)
    ...     x[k] = 0.0
    >>> x[[0, 7]] = 1.0
    >>> round(float(bank.play(x)[0]), 1)
    0.9
    """

    ridge: float = 2.0
    curvature: float = 2.0
    block: int = 64
    proven: int = 3
    wary: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("ridge", self.ridge)
        positive("curvature", self.curvature)
        count("block", self.block, least=0)
        count("proven", self.proven)
        if not isinstance(self.wary, bool):
            raise ValueError(f"wary must be True or False, got {self.wary!r}.")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give the default, one without a block, one whose block is soon full, and a wary one."""
        return (cls(), cls(1.0, 1.0, block=0), cls(block=2, proven=1), cls(block=2, proven=1, wary=True))

    @property
    def fits_residuals(self) -> bool:
        """True: copies fit -g/c."""
        return True

    def thin(self, features: int) -> bool:
        """True: zeros play no part."""
        return True

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: weights, what is known about features, and the block's covariance."""
        weights = copies * (space.size * (features + 1) * (2 if self.wary else 1) + (GAINS if self.wary else 0))
        return weights + (KNOWN + 1) * features + (self.block + 1) * (self.block + 2) + 2

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> WideBank:
        """Make a bank whose weights are zero."""
        room(f"The weights of {features} features", self.n_floats(copies, space, features))
        return WideBank(self, copies, space, features)


class WideBank(Bank):
    """A normal law of weights, whose covariance all copies share. Memory that was never written to is not taken."""

    def __init__(self, spec: Wide, copies: int, space: Space, features: int) -> None:
        self.spec, self.space = spec, space
        self.weights = np.zeros((copies, *space.shape, features + 1))
        self.known = np.zeros((features, KNOWN))
        self.slots = np.zeros(features, dtype=np.int32)
        self.features = np.zeros(spec.block + 1, dtype=np.int64)
        self.covariance = np.zeros((spec.block + 1, spec.block + 1))
        self.covariance[0, 0] = 1.0
        self.clock = np.array([0, 1])
        self.wary = np.zeros((copies, *space.shape, features + 1 if spec.wary else 0))
        self.gains = np.zeros((copies, GAINS))
        self.unchecked = False

    def form(self, shown: Shown) -> wide.Wide:
        """Return what the kernels work on."""
        from banditboost._compiled import wide

        self.check()
        law = (self.known, self.slots, self.features, self.covariance, self.clock)
        belief = wide.Belief(flat(self.weights), *law, flat(self.wary), self.gains)
        spec, (table, rows) = self.spec, shown.sparse()
        rules = wide.Rules(float(spec.curvature), spec.ridge / spec.curvature, float(spec.proven))
        longest = int(np.diff(table.indptr).max(initial=0))
        X: Any = table
        room = (np.zeros(longest), np.zeros(longest), np.zeros(spec.block + 1))
        return wide.Wide(belief, rules, X.data, X.indices, X.indptr, rows, *room)

    def play(self, context: Array | None) -> Array:
        """Return the mean of w·z for every copy."""
        assert context is not None  # the loop gives contextual learners a context
        return self._play_row(Shown.row(context))

    def play_many(self, contexts: Any) -> Array:
        """Return the same for every row, which may be sparse."""
        table: Any = contexts
        rows = table.tocsr() if issparse(contexts) else table
        shown = (Shown(rows, np.array([k])) for k in range(rows.shape[0]))
        return np.stack([self._play_row(row) for row in shown], axis=1)

    def _play_row(self, shown: Shown) -> Array:
        from banditboost._compiled import wide

        plays = np.empty((len(self.weights), self.space.size))
        wide.play(self.form(shown), plays)
        return plays.reshape(len(plays), *self.space.shape)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Let the law learn from one round."""
        from banditboost._compiled import wide
        from banditboost._compiled.round import empty_desk

        assert context is not None
        desk = empty_desk(len(self.weights), self.space.size)
        desk.G[...] = np.asarray(gradients).reshape(desk.G.shape)
        wide.update(self.form(Shown.row(context)), desk)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Set weights to zero; variances, which all copies share, stay as they are."""
        self.weights[copies], self.wary[copies], self.gains[copies] = 0.0, 0.0, 0.0

    def stretched(self, features: int, rng: np.random.Generator) -> WideBank:
        """Return copies whose weights on the new features are as in a fresh bank."""
        larger = WideBank(self.spec, len(self.weights), self.space, features)
        known = len(self.known)
        for name in ("weights", "wary") if self.spec.wary else ("weights",):
            new, old = getattr(larger, name), getattr(self, name)
            new[..., :known], new[..., -1] = old[..., :known], old[..., -1]
        larger.known[:known], larger.slots[:known] = self.known, self.slots
        for name in ("features", "covariance", "clock", "gains"):
            getattr(larger, name)[...] = getattr(self, name)
        return larger

    def feature_weights(self) -> Sequence[Learned]:
        """Return the means of the weights, of features measured as copies see them."""
        outputs = flat(self.weights).copy()
        if self.spec.wary:
            outputs += self.followed[:, np.newaxis, np.newaxis] * (flat(self.wary) - outputs)
        return [Learned(self.kind, len(outputs), LinearWeights(outputs, True, "scaled value"))]

    @property
    def followed(self) -> Array:
        """How far every copy follows its wary weights, 0 to 1."""
        from banditboost._compiled.wide import shares

        found = np.empty(len(self.gains))
        shares(self.gains, found)
        return found

    @property
    def shared(self) -> frozenset[str]:
        """All but the weights."""
        return frozenset(("known", "slots", "features", "covariance", "clock"))

    @property
    def sound(self) -> frozenset[str]:
        """What is known about features: a variance that is not a number would have shown in the weights."""
        return frozenset({"known"})

    def arrays(self) -> dict[str, Any]:
        """Return the law; a caller may write to it, so that it is checked when next used."""
        self.unchecked = True
        wary = ("wary", "gains") if self.spec.wary else ()
        return {name: getattr(self, name) for name in ("weights", *wary, *sorted(self.shared))}

    def check(self) -> None:
        """Raise a ValueError unless places in the block and features agree; make the covariance symmetric.

        Files of earlier versions have what lies below its diagonal, and zeros above.
        """
        if not self.unchecked:
            return
        used, places = int(self.clock[1]), np.arange(1, max(int(self.clock[1]), 1))
        fits = self.clock[0] >= 0 and 1 <= used <= len(self.features)
        if fits:
            taken = self.features[1:used]
            fits = bool(((taken >= 0) & (taken < len(self.slots))).all())
            fits = fits and np.array_equal(self.slots[taken], places + 1)
            fits = fits and int(np.count_nonzero(self.slots)) == used - 1
        if not fits:
            raise ValueError("The block is damaged: its places and its features do not agree.")
        upper = np.triu_indices_from(self.covariance, 1)
        self.covariance[upper] = self.covariance.T[upper]
        self.unchecked = False

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.wide`."""
        return Prepared(self.form(shown))

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a context where it is dense, since its non-zeros are gathered."""
        return 1 if sparse else 2 * len(self.known)

"""Streaming regression trees: N trees that grow while they play, in memory that is fixed from the start.

Idea: gradient boosting's tree (Newton leaves, splits by gain), grown from a stream by counting gradients in bins. A linear loss
has no minimum of its own, so a leaf adds a curvature c to it and plays the minimiser of all it was charged, pulled by λ towards
what its parent played (v):

    a  =  argmin Σ g·a + (c/2) n ‖a‖² + (λ/2) ‖a - v‖²  =  (λ v - Σg) / (c n + λ)

With c = 2 and g = ∇ℓ(y^{i-1}) of the squared loss that is the mean residual y - y^{i-1} of the leaf, shrunk: trees belong in a
chain that asks for gradients at what the copies before have made, which the leaf then adds to (not `Single`, which asks at the
leaf's own play). Every `grace`
gradients a leaf looks at all cuts between bins of the features that its tree may test and takes the one with the largest

    gain  =  ‖Σ_left g‖²/(c n_left + λ) + ‖Σ_right g‖²/(c n_right + λ) - ‖Σg‖²/(c n + λ)

if c · gain exceeds `evidence` times the variance of g in the leaf. Where a given cut means nothing, c · gain over that variance is
about χ² with one degree of freedom (4 is exceeded in 1 of 22 cases); the best of many cuts, looked at again and again, exceeds it
far more often: on 2,000 gradients of noise alone and 5 features every tree split at 4, two in five at 10, one in twenty at 15. The
default of 4 is lenient on purpose: with exact gradients, on short streams, waiting costs more. Noise calls for 10 and more.
Children begin with the gradients that the leaf has counted on their side.

References
----------
Chen, Guestrin (2016), "XGBoost", Equations 5-7 (leaves and gain) and Algorithm 2 (bins); Domingos, Hulten (2000), "Mining
high-speed data streams", Table 1 (grow a leaf when the stream has shown enough), with this test in place of Hoeffding's bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, at_least_zero, count, number, positive, room
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.base import Bank, Learned, Learner, TreeTests
from banditboost.learners.forgotten import Erased, overwrite, places_of
from banditboost.spaces import Space

if TYPE_CHECKING:
    from banditboost._compiled.bins import Bins
    from banditboost._compiled.tree import Rules, Trees


SAMPLE = 256
"""Number of contexts that bins are computed from; the same as in `banditboost._compiled.bins`, which takes long to import."""


@dataclass(frozen=True)
class Tree(Learner, kind="learners.Tree"):
    """N streaming trees.

    Parameters
    ----------
    max_leaves
        Most leaves of a tree. A tree with that many keeps its splits and goes on learning in its leaves.
    max_depth
        Most tests above a leaf.
    bins
        Most bins of a feature. Their edges are quantiles of the contexts seen; an indicator takes two bins.
    subset
        Share of the features that each copy may test, drawn when it starts, so that copies differ.
    curvature
        c, the second derivative that a leaf adds to its linear losses. Use that of the loss where it is known (2 for the squared).
    ridge
        λ: the value of a leaf's parent weighs as much as λ/c gradients of the leaf's own.
    grace
        How many gradients a leaf gathers between two looks for a split.
    evidence
        How many times the variance of its gradients a leaf's split must explain. The default suits gradients that are exact or
        nearly so; one-point estimates of large losses want 10 or more.
    window
        Largest weight of a leaf's value, counted in gradients, so that older gradients fade; with None no gradient fades.
    renews
        For worlds that change: whether a tree begins anew where what it has played in about the last 256 rounds has raised the
        losses by more than chance allows, as its own gradients show.

    Examples
    --------
    A step at 0.3, learned from gradients of the squared loss:

    >>> from banditboost.spaces import Interval
    >>> bank = Tree(ridge=1.0).start(copies=1, space=Interval(0, 1), features=1, rng=np.random.default_rng(0))
    >>> for t, x in enumerate(np.random.default_rng(1).uniform(size=(500, 1)), start=1):
    ...     bank.update(x, np.array([-2.0 * (x[0] > 0.3)]), t)
    >>> [round(float(bank.play(np.array([x]))[0]), 2) for x in (0.1, 0.9)]
    [0.0, 1.0]
    """

    max_leaves: int = 64
    max_depth: int = 12
    bins: int = 16
    subset: float = 0.5
    curvature: float = 2.0
    ridge: float = 20.0
    grace: int = 20
    evidence: float = 4.0
    window: float | None = None
    renews: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        count("max_leaves", self.max_leaves)
        count("max_depth", self.max_depth, least=0)
        count("bins", self.bins, least=2)
        count("grace", self.grace)
        for name in ("curvature", "ridge"):
            positive(name, getattr(self, name))
        at_least_zero("evidence", self.evidence)
        if self.window is not None and number("window", self.window) < 1:
            raise ValueError(f"window must be at least 1, got {self.window!r}.")
        if not isinstance(self.renews, bool):
            raise ValueError(f"renews must be True or False, got {self.renews!r}.")
        if not 0 < number("subset", self.subset) <= 1:
            raise ValueError(f"subset must be above 0 and at most 1, got {self.subset!r}.")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give the default, one that grows quickly and forgets, and one that is renewed."""
        quick = cls(subset=1.0, grace=5, evidence=1.0, ridge=1.0, window=50.0)
        return (cls(), quick, replace(quick, window=None, renews=True))

    @property
    def branches(self) -> bool:
        """True: every test of a tree does."""
        return True

    @property
    def fits_residuals(self) -> bool:
        """True: a leaf plays the mean of what the copies before it left over."""
        return True

    def draw(self, copies: int, features: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw which features each copy may test: shape (copies, features), 1 where it may."""
        allowed = np.zeros((copies, features), dtype=np.uint8)
        for row in allowed:
            row[rng.choice(features, math.ceil(self.subset * features), replace=False)] = 1
        return allowed

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> TreeBank:
        """Make trees of one leaf, which plays zero."""
        from banditboost._compiled import bins, tree  # numba takes half a second to import: only those who play pay

        what = f"{copies} trees of {self.max_leaves} leaves and {self.bins} bins"
        room(
            f"{what} on {features} features, deciding on {space.size} numbers,", self.n_floats(copies, space, features)
        )
        L, M, d, C = self.max_leaves, 2 * self.max_leaves - 1, space.size, features * self.bins
        trees = tree.Trees(
            feature=np.full((copies, M), tree.LEAF, dtype=np.int64),
            threshold=np.zeros((copies, M)),
            child=np.zeros((copies, M), dtype=np.int64),
            depth=np.zeros((copies, M), dtype=np.int64),
            slot=np.zeros((copies, M), dtype=np.int64),
            nodes=np.ones(copies, dtype=np.int64),
            value=np.zeros((copies, M, d)),
            weight=np.zeros((copies, M)),
            tried=np.zeros((copies, L)),
            totals=np.zeros((copies, L, 2 + d)),
            cells=np.zeros((copies, L, C, 1 + d)),
            allowed=self.draw(copies, features, rng),
            stale=np.zeros((copies, 2 if self.renews else 0)),
        )
        shared = bins.Bins(
            clock=np.array([0, 0, 1, 0, 0]),
            sample=np.zeros((bins.SAMPLE, features)),
            ends=np.zeros((2, features)),
            edges=np.zeros((features, self.bins - 1)),
            offsets=np.zeros(features + 1, dtype=np.int64),
            usual=np.zeros(features, dtype=np.int64),
            unusual=np.zeros((features, 2), dtype=np.int64),
            values=np.zeros(bins.SAMPLE + 2),
        )
        rules = tree.Rules(
            curvature=self.curvature,
            ridge=self.ridge,
            window=math.inf if self.window is None else self.window,
            grace=float(min(self.grace, 2**53)),  # larger counts are never reached
            evidence=self.evidence,
            max_depth=min(self.max_depth, M),  # no tree is deeper than it has nodes
            room=np.zeros((2, 1 + d)),
            found=np.zeros(copies, dtype=np.int64),
            open=np.zeros(copies, dtype=np.int64),
            own=np.zeros((copies, features + 1), dtype=np.int64),
            testers=np.zeros((features, copies + 1), dtype=np.int64),
        )
        return TreeBank(self, space, trees, shared, rules)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: mostly N · leaves · features · bins · (1 + d)."""
        L, M, d = self.max_leaves, 2 * self.max_leaves - 1, space.size
        tree = 1 + (2 if self.renews else 0) + M * (6 + d) + L * (3 + d) + L * features * self.bins * (1 + d) + features
        return copies * tree + 6 + features * (SAMPLE + 3 + self.bins)

    def nbytes(self, copies: int, space: Space, features: int) -> int:
        """Return how many bytes a bank takes; it takes no more however many rounds are told.

        Examples
        --------
        Thirty trees on the 16 features of letter, in megabytes:

        >>> from banditboost.spaces import Interval
        >>> round(Tree().nbytes(30, Interval(-1, 1), features=16) / 1e6, 1)
        8.2
        """
        # Which features a tree may test is kept in one byte each, everything else in eight.
        return 8 * self.n_floats(copies, space, features) - 7 * copies * features


@dataclass(frozen=True)
class Stump(Tree, kind="learners.Stump"):
    """N streaming trees with one test each.

    Examples
    --------
    >>> Stump().max_leaves, Stump().max_depth
    (2, 1)
    """

    max_leaves: int = 2
    max_depth: int = 1


class TreeBank(Bank):
    """Trees, the bins they share, and the rules they grow by; the arithmetic is compiled."""

    def __init__(self, spec: Tree, space: Space, trees: Trees, bins: Bins, rules: Rules) -> None:
        self.spec, self.space, self.shape = spec, space, space.shape
        self.trees, self.bins, self.rules = trees, bins, rules
        self.unchecked = False
        self._list_allowed()

    def _list_allowed(self) -> None:
        """List the features that each tree may test, and the trees that may test each feature."""
        for rows, lists in ((self.trees.allowed, self.rules.own), (self.trees.allowed.T, self.rules.testers)):
            lists[:, -1] = np.count_nonzero(rows, axis=1)
            which, what = np.nonzero(rows)
            places = np.arange(len(which)) - (np.cumsum(lists[:, -1]) - lists[:, -1])[which]
            lists[which, places] = what

    def play(self, context: Array | None) -> Array:
        """Return the value of the leaf that the context falls into, for every copy."""
        from banditboost._compiled.tree import play

        self.check()
        copies, _, d = self.trees.value.shape
        out = np.empty((copies, d))
        play(self.trees, self.rules, context, out)  # type: ignore[arg-type]  # the loop gives contextual learners a context
        return out.reshape(copies, *self.shape)

    def play_many(self, contexts: Array) -> Array:
        """Return the same for every row: all rows go down all trees together, test by test."""
        from banditboost._compiled.tree import LEAF

        trees, rows = self.trees, np.arange(len(contexts))
        copies = np.arange(len(trees.nodes))[:, np.newaxis]
        nodes = np.zeros((len(trees.nodes), len(contexts)), dtype=np.int64)
        while (inner := trees.feature[copies, nodes] != LEAF).any():
            right = contexts[rows, trees.feature[copies, nodes]] > trees.threshold[copies, nodes]
            nodes = np.where(inner, trees.child[copies, nodes] + right, nodes)
        return trees.value[copies, nodes].reshape(*nodes.shape, *self.shape)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Count the context in the bins, then update one leaf of every copy, and split it where that pays."""
        from banditboost._compiled.tree import update

        assert context is not None
        self.check()
        copies, _, d = self.trees.value.shape
        update(self.trees, self.rules, self.bins, context, np.ascontiguousarray(gradients).reshape(copies, d))

    def forget(self, erased: Erased) -> int:
        """Overwrite contexts in the sample of the bins."""
        from banditboost._compiled.bins import KEPT, SEEN, STRIDE

        seen, kept, stride = (int(self.bins.clock[column]) for column in (SEEN, KEPT, STRIDE))
        places = places_of(erased, 1 + stride * np.arange(kept), seen, self.bins.sample[:kept])
        overwrite(places, kept, self.bins.sample)
        return len(places)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Make these copies trees of one leaf, and draw anew which features they may test; bins stay."""
        from banditboost._compiled.tree import LEAF

        first = {"feature": LEAF, "nodes": 1}
        for name, array in self.trees._asdict().items():
            array[copies] = first.get(name, 0)
        self.trees.allowed[copies] = self.spec.draw(len(copies), self.trees.allowed.shape[1], rng)
        self._list_allowed()

    def stretched(self, features: int, rng: np.random.Generator) -> TreeBank:
        """Return trees with the same tests; which new features a tree may test is drawn.

        A new feature can be tested from the next time on that bins are cut, when four times as many contexts have come as at the
        last (`banditboost._compiled.bins`).
        """
        known = self.trees.allowed.shape[1]
        larger = self.spec.start(len(self.trees.nodes), self.space, features, rng)
        new = larger.arrays()
        for name, array in self.arrays().items():
            new[name][tuple(slice(length) for length in array.shape)] = array
        if self.bins.offsets[-1] > 0:  # bins have been cut: a feature that was always zero has one
            larger.bins.offsets[known + 1 :] = self.bins.offsets[-1] + np.arange(1, features - known + 1)
        return larger

    def feature_weights(self) -> list[Learned]:
        """Return how often every tree tests every feature."""
        features = self.trees.allowed.shape[1]
        used = (row[:nodes] for row, nodes in zip(self.trees.feature, self.trees.nodes, strict=True))
        tests = np.array([np.bincount(row[row >= 0], minlength=features) for row in used], dtype=np.float64)
        return [Learned("Tree", len(tests), TreeTests(tests, self.leaves))]

    @property
    def shared(self) -> frozenset[str]:
        """The bins."""
        return frozenset(f"bins_{name}" for name in self.bins._fields)

    def check(self) -> None:
        """Raise a ValueError unless all indices in restored trees and bins lie inside their arrays and lead downwards."""
        if self.unchecked and not (_trees_fit(self.trees) and _bins_fit(self.bins, self.trees.cells.shape[2])):
            raise ValueError("The trees are damaged: they lead out of their arrays.")
        if self.unchecked:
            self._list_allowed()
        self.unchecked = False

    @property
    def leaves(self) -> Array:
        """How many leaves every copy has."""
        return (self.trees.nodes + 1) / 2

    def arrays(self) -> dict[str, Any]:
        """Return the trees and the bins. A caller may write to them, so that they are checked when next used."""
        self.unchecked = True
        passing = ("unusual", "values")
        bins = {f"bins_{name}": array for name, array in self.bins._asdict().items() if name not in passing}
        trees = self.trees._asdict()
        if not self.spec.renews:
            del trees["stale"]
        return trees | bins

    @property
    def sound(self) -> frozenset[str]:
        """The sums of every bin: those of a leaf's squared gradients would overflow before them."""
        return frozenset(("cells",))

    @property
    def skips_rounds(self) -> bool:
        """True: all is learned in place."""
        return True

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.tree`."""
        from banditboost._compiled.tree import Forest

        self.check()
        contexts = shown.dense(written=False)
        return Prepared(Forest(self.trees, self.rules, self.bins, contexts, np.empty(contexts.shape[1])))

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a context."""
        return len(self.bins.usual)


def _trees_fit(trees: Trees) -> bool:
    node = np.arange(trees.feature.shape[1])
    nodes, tests = trees.nodes[:, np.newaxis], trees.feature >= 0
    return bool(
        ((trees.nodes >= 1) & (trees.nodes <= len(node)) & (trees.nodes % 2 == 1)).all()
        and ((trees.feature >= -1) & (trees.feature < trees.allowed.shape[1])).all()
        and ((trees.child > node) & (trees.child < nodes - 1) & (node < nodes))[tests].all()
        and ((trees.slot >= 0) & (trees.slot < trees.tried.shape[1])).all()
    )


def _bins_fit(bins: Bins, cells: int) -> bool:
    seen, kept, stride, ready, unusual = bins.clock.tolist()
    most, made = bins.edges.shape[1] + 1, np.diff(bins.offsets)
    return bool(
        seen >= 0
        and 0 <= kept <= len(bins.sample)
        and stride >= 1
        and 0 <= ready < 30
        and 0 <= unusual <= len(bins.usual)
        and bins.offsets[0] == 0
        and bins.offsets[-1] <= cells
        and ((made >= 0) & (made <= most)).all()
        and ((bins.usual >= 0) & (bins.usual < most)).all()
    )

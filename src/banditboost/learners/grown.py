"""Trees that are grown anew on remembered rounds: as good as refitting a batch model now and then, from loss values alone.

Idea: streaming trees see every round once and never take a split back. This learner keeps rounds, each with its context and with
where the loss would have been least (a pseudo-label: what the gradient part has learned, never a label), and grows a forest of
boosted trees on all of them whenever their number has grown by 30 %. The cost of a round stays bounded, since growing costs a
constant times the number of rows.

    z_t = y_t - g_t / 2           g_t the gradient at y_t, of a loss whose curvature is 2

How many of a forest's trees are used is decided by rounds that it had not seen: of ten stages of every forest, and of the mean of
all pseudo-labels, the one is played that has erred least; rounds before each growth weigh half.

Memory is bounded in bytes. Where it is full, a new round takes the place of one drawn at random, so that older rounds fade. Where
the world has changed, that is too slow: with `renews` a forest may have an heir.
What is played is a prediction of its own, not an addition to that of other copies: the chain `Mix` goes towards it as far as it has
proven better.

References
----------
Friedman (2001), Algorithm 2; trees from histograms as in Ke et al. (2017), Algorithm 1; Aggarwal (2006) for the reservoir; Fisher
(1958), "On Grouping for Maximum Homogeneity", for sets of levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Self

import numpy as np

from banditboost._core.checks import at_least_zero, count, number, positive, room, vector
from banditboost.learners import categories
from banditboost.learners.base import Learner
from banditboost.learners.grown_bank import GrownBank
from banditboost.spaces import Interval, Space

if TYPE_CHECKING:
    from banditboost._compiled.forest import Forest
    from banditboost._compiled.forest_memory import Heir
    from banditboost._compiled.growing import Workshop

SAMPLE = 2048
"""Rows by which features are cut into bins."""
MOST_BINS = 20_000
"""Most bins of all features together; many features have fewer bins each."""
MOST_ROWS = 50_000
FAR = 2.0
"""Pseudo-labels lie at most so many times the extents of the space from its centre: beyond, they are noise."""


@dataclass(frozen=True)
class Grown(Learner, kind="learners.Grown"):
    """One prediction from boosted trees that are grown anew on remembered rounds.

    Parameters
    ----------
    trees, leaves
        The number of trees, and the most leaves of a tree.
    rate
        What a tree's leaves are multiplied by, so that those after it have something to correct.
    ridge
        The value of a leaf is shrunk as if it had so many more rows, with nothing left over.
    least
        Fewest rows of a leaf.
    bins
        Most bins of a feature.
    first, growth
        Trees are grown after `first` rounds, and whenever the number of rounds has grown by the factor `growth`.
    memory
        Most bytes of the rounds remembered.
    lag
        A forest takes effect so many rounds after its growth has begun, as a share of the rounds seen by then, rounded up; with 0
        in the same round. It is grown on the rounds remembered when it began. Where memory is full, new rounds wait in a queue
        meanwhile, which has an eighth as many places; where the queue is full, a new round takes the place of one in it, drawn at
        random.
    background
        Whether a thread grows forests while rounds go on, so that no `tell` waits: for this there must be a lag. What is played is
        the same, bit for bit, as without it. Where a forest is not ready when its round has come, the former one goes on until it
        is: a journal records that, and `Booster.wait_for_growth` waits for it instead, as `evaluate.progressive` does.
    categories
        Columns that are the indicators of one category each: pairs of the first column and the one after the last. Trees then
        test whether a context's level is in a set of levels, which is chosen by their mean residuals. The level of a context is the
        first of the columns that is not zero; where all are zero, that is a level of its own. Columns from the 254th of a category
        on count as one level. A learner around this one must leave zeros as they are.
    smooth
        The mean residual of a level is drawn to that of all rows of the leaf as if it had so many rows more of their mean, before
        levels are sorted by it.
    renews
        For worlds that change: whether a forest whose errors have grown by more than chance allows gets an *heir*, which is grown
        on the rounds since then alone. The heir takes over when it has proven better on rounds that neither had seen, and the
        rounds before it are then forgotten.
    frugal
        Whether the first forest has ten trees only, and later ones have more where the forest is worth it: where the points at
        which gradients were taken would best have been moved towards it by more than a tenth of the way. A forest that is not worth
        it is grown anew only when there are four times as many rounds, or `growth` times where that is more. In worlds in which
        other copies do well, most of the time is saved.
    initial
        What is played before any round was remembered, one number for each coordinate of a decision; the centre of the space when
        not given.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Grown(trees=50, first=100, least=5.0).start(1, Interval(0, 1), 1, np.random.default_rng(0))
    >>> for x in np.random.default_rng(1).uniform(size=(300, 1)):
    ...     bank.remember(x, np.array([0.5]), np.array([1.0 - 2.0 * (x[0] > 0.3)]))
    >>> [round(float(bank.play(np.array([x]))[0]), 1) for x in (0.1, 0.9)]
    [0.0, 1.0]
    """

    trees: int = 200
    leaves: int = 63
    rate: float = 0.1
    ridge: float = 1.0
    least: float = 20.0
    bins: int = 64
    first: int = 50
    growth: float = 1.3
    memory: int = 2**25
    lag: float = 0.0
    background: bool = False
    categories: tuple[tuple[int, int], ...] = ()
    smooth: float = 10.0
    renews: bool = False
    frugal: bool = False
    initial: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        count("trees", self.trees)
        count("leaves", self.leaves, least=2)
        count("first", self.first)
        if not 2 <= count("bins", self.bins) <= 255:
            raise ValueError(f"bins must be at least 2 and at most 255, got {self.bins!r}.")
        count("memory", self.memory)
        for name in ("rate", "ridge", "least"):
            positive(name, getattr(self, name))
        if number("growth", self.growth) <= 1:
            raise ValueError(f"growth must be above 1, got {self.growth!r}.")
        if not 0 <= number("lag", self.lag) <= 1:
            raise ValueError(f"lag must be at least 0 and at most 1, got {self.lag!r}.")
        for name in ("background", "renews", "frugal"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        if self.background and self.lag == 0:
            raise ValueError(f"lag must be above 0 where background is True, got {self.lag!r}.")
        if self.initial is not None:
            vector("initial", self.initial)
        categories.checked(self.categories)
        at_least_zero("smooth", self.smooth)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give the default, and five that grow early and remember little: plainly, with a lag, heirs too, a category, frugally."""
        small = cls(trees=10, leaves=4, least=2.0, first=4, memory=600)
        late = replace(small, lag=0.2)
        frugal = replace(small, trees=20, frugal=True)
        return (cls(), small, late, replace(late, renews=True), replace(small, categories=((0, 1),)), frugal)

    @property
    def branches(self) -> bool:
        """True: every test of a tree does."""
        return True

    @property
    def remembers(self) -> bool:
        """True."""
        return True

    @property
    def fits_residuals(self) -> bool:
        """True: copies before it are not averaged with it, but mixed by the chain."""
        return True

    def most_rows(self, features: int, outputs: int) -> int:
        """Return how many rounds are remembered, besides those in the queue."""
        places = self.memory // (4 * features + 8 * outputs)
        if self.lag > 0:
            places -= places // 9
        return max(min(places, MOST_ROWS), self.first, 2)

    def most_queued(self, features: int, outputs: int) -> int:
        """Return how many rounds may wait until a growth takes effect."""
        return -(-self.most_rows(features, outputs) // 8) if self.lag > 0 else 0

    def most_bins(self, features: int) -> int:
        """Return the most bins of a feature."""
        return int(np.clip(MOST_BINS // max(features, 1), min(15, self.bins), self.bins))

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: mostly those of the rounds remembered."""
        d = space.size
        rows = (self.most_rows(features, d) + self.most_queued(features, d)) * (features + d)
        nodes, clocks = 2 * self.trees * self.leaves, 22 if self.lag > 0 else 16
        forest = nodes * (3 + d + categories.set_bytes(self.categories))
        places = self.most_rows(features, d) + self.most_queued(features, d)
        clocks += 2 if self.frugal else 0
        return copies * (rows + clocks + 2 * d + forest + (forest + places + 28 + 2 * d if self.renews else 0))

    def n_scratch(self, space: Space, features: int) -> int:
        """Return how many numbers the workshop has, which is not saved."""
        n, bins = self.most_rows(features, space.size), features * self.most_bins(features)
        return n * (features + 4 + 2 * space.size) + self.leaves * bins * space.size + SAMPLE * (features + 1)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> GrownBank:
        """Remember nothing, and play the centre of the space."""
        from banditboost._compiled import forest_memory

        categories.require_columns(self.categories, features)
        room(
            f"{self.trees} trees of {self.leaves} leaves on {features} features", self.n_floats(copies, space, features)
        )
        initial = np.ravel(space.inner_centre if self.initial is None else np.array(self.initial)).astype(np.float64)
        if len(initial) != space.size:
            raise ValueError(
                f"initial must be one number for each of the {space.size} coordinates, got {self.initial!r}."
            )
        d, n, queued = space.size, self.most_rows(features, space.size), self.most_queued(features, space.size)
        memory = forest_memory.Memory(
            clock=np.tile(np.array([0, 0, self.first, 0, 1]), (copies, 1)),
            rows=np.zeros((copies, n, features), dtype=np.float32),
            targets=np.zeros((copies, n, d)),
            mean=np.tile(initial, (copies, 2, 1)),
            errors=np.zeros((copies, forest_memory.STAGES + 1)),
            forest=self._bare(copies, self.trees, d),
            pending=forest_memory.Pending(
                clock=np.zeros((copies, 6), dtype=np.int64),
                rows=np.zeros((copies, queued, features), dtype=np.float32),
                targets=np.zeros((copies, queued, d)),
            ),
            heir=self._no_heir(copies, n + queued, d),
            worth=np.zeros((copies, 2 if self.frugal else 0)),
        )
        if self.background:
            _prepare()
        return GrownBank(self, space, memory, self.workshop(n, space, features))

    def _bare(self, copies: int, trees: int, d: int) -> Forest:
        """Return forests before anything was grown."""
        from banditboost._compiled.forest import Forest

        nodes = (copies, trees, 2 * self.leaves)
        return Forest(
            feature=np.full(nodes, -1, dtype=np.int32),
            threshold=np.zeros(nodes),
            child=np.zeros(nodes, dtype=np.int32),
            value=np.zeros((*nodes, d)),
            sets=np.zeros((*nodes, categories.set_bytes(self.categories)), dtype=np.uint8),
        )

    def _no_heir(self, copies: int, places: int, d: int) -> Heir:
        """Return room for heirs, where there may be any, and none yet."""
        from banditboost._compiled import forest_memory, heirs

        on = int(self.renews)
        return forest_memory.Heir(
            clock=np.zeros((copies, 9 * on), dtype=np.int64),
            born=np.zeros((copies, places * on), dtype=np.int64),
            mean=np.zeros((copies, 2 * on, d)),
            errors=np.zeros((copies, (forest_memory.STAGES + 1) * on)),
            forest=self._bare(copies, self.trees * on, d),
            sums=np.zeros((copies, heirs.SUMS * on)),
        )

    def workshop(self, n: int, space: Space, features: int) -> Workshop:
        """Return room to grow a forest in, on n rows, and how far from the space pseudo-labels may lie."""
        from banditboost._compiled import bins, growing, histogram

        most, d, centre = self.most_bins(features), space.size, np.ravel(space.inner_centre)
        ends = np.stack([centre - FAR * space.extents, centre + FAR * space.extents])
        cuts = bins.Bins(
            clock=np.zeros(5, dtype=np.int64),
            sample=np.zeros((SAMPLE, features)),
            ends=np.zeros((2, features)),
            edges=np.zeros((features, most - 1)),
            offsets=np.zeros(features + 1, dtype=np.int64),
            usual=np.zeros(features, dtype=np.int64),
            unusual=np.zeros((features, 2), dtype=np.int64),
            values=np.zeros(SAMPLE + 2),
        )
        held = histogram.Rows(
            bins=np.empty((features, n), dtype=np.uint8),  # large, and written before they are read
            starts=np.empty(n + 1, dtype=np.int64),
            unusual=np.empty(n * features + 1, dtype=np.int32),
            offsets=cuts.offsets,
            usual=cuts.usual,
            edges=cuts.edges,
            categories=categories.compiled(self.categories, self.smooth, features, d),
        )
        place = histogram.Room(
            sums=np.empty((self.leaves, d, features * most), dtype=np.int64),
            totals=np.zeros((self.leaves, d), dtype=np.int64),
            counted=np.empty((n, d), dtype=np.int64),
            order=np.empty(n, dtype=np.int32),
            spare=np.empty(n, dtype=np.int32),
            span=np.zeros((self.leaves, 6), dtype=np.int32),
            best=np.zeros((self.leaves, 2 + d)),
            residuals=np.empty((n, d)),
            left=np.zeros(1 + d),
            running=np.zeros((d, most), dtype=np.int64),
            scores=np.zeros(most),
            levels=np.zeros((len(held.categories.order) * bool(self.categories), 1 + d)),
        )
        return growing.Workshop(cuts, held, place, ends, np.zeros(1, dtype=np.int64))


@cache
def _prepare() -> None:
    """Compile what rounds and the thread call, or read it from disk, so that no round has to wait for that."""
    from banditboost._compiled import growing, grown
    from banditboost._compiled.forest import Forest

    bank = Grown(trees=1, leaves=2, first=1, memory=1, lag=1.0).start(1, Interval(0, 1), 1, np.random.default_rng(0))
    memory, shop, x = bank.memory, bank.shop, np.zeros(1)
    bank.play(x)
    grown.note(memory, shop, x, np.zeros((1, 1)), np.zeros((1, 1)), bank.stages)
    grown.go_on(memory, shop, bank.rules)
    forest = Forest(*(array[0].copy() for array in memory.forest))
    growing.grow_apart(memory.rows[0], memory.targets[0], 1, 1, shop, bank.rules, forest, x)
    grown.installed(memory, 0)

"""What `Grown` remembers, and the forests grown from it, within a round or in the background.

A growth in the background is no part of the state: what it is grown on is. Where a bank has begun a growth that nobody is growing,
since it was copied, loaded or forked, it is begun again.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._core.shown import Prepared, Shown
from banditboost.learners import background
from banditboost.learners.background import Growth
from banditboost.learners.base import Bank, KeptRounds, Learned, TreeTests
from banditboost.learners.categories import with_levels
from banditboost.learners.forgotten import Erased, overwrite, places_of
from banditboost.learners.grown_checks import memory_fits
from banditboost.spaces import Space

if TYPE_CHECKING:
    from banditboost._compiled.forest import Forest
    from banditboost._compiled.forest_memory import Heir, Memory
    from banditboost._compiled.growing import Workshop
    from banditboost.learners.grown import Grown


class Apart(NamedTuple):
    """A forest that is being grown in the background, and from what."""

    growth: Growth
    forest: Forest
    mean: Array
    source: tuple[int, ...]
    """Tells whether the bank still holds what it is grown from."""


class GrownBank(Bank):
    """What copies remember, and the forests grown from it."""

    def __init__(self, spec: Grown, space: Space, memory: Memory, shop: Workshop) -> None:
        from banditboost._compiled.forest_memory import STAGES
        from banditboost._compiled.growing import Rules

        self.spec, self.space, self.memory, self.shop = spec, space, memory, shop
        self.rules = Rules(spec.trees, spec.rate, spec.ridge, spec.least, spec.growth, spec.lag, spec.first)
        self.stages = np.zeros((len(memory.clock), 2, STAGES + 1, space.size))
        self.apart: dict[int, Apart] = {}
        """What is being grown in the background, by copy."""
        self.unchecked = False

    def play(self, context: Array | None) -> Array:
        """Return what the best stage of every copy's forest says."""
        from banditboost._compiled.grown import play_one

        assert context is not None  # the loop gives contextual learners a context
        self.check()
        said = np.empty((len(self.memory.clock), self.space.size))
        play_one(self.memory, with_levels(context[np.newaxis], self.shop.held.categories)[0], said)
        return said.reshape(len(said), *self.space.shape)

    def play_many(self, contexts: Array) -> Array:
        """Return the same for every row."""
        from banditboost._compiled.grown import play

        self.check()
        said = np.empty((len(self.memory.clock), len(contexts), self.space.size))
        play(self.memory, with_levels(contexts, self.shop.held.categories), said)
        return said.reshape(*said.shape[:2], *self.space.shape)

    def remembered(self) -> KeptRounds | None:
        """Return the rows of the first copy, the oldest first where that is known."""
        from banditboost._compiled.forest_memory import ROWS

        self.check()
        kept = int(self.memory.clock[0, ROWS])
        born = self.memory.heir.born[0, :kept] if self.spec.renews else np.arange(kept)
        order = np.argsort(born, kind="stable")
        rows, targets = self.memory.rows[0, :kept], self.memory.targets[0, :kept]
        return KeptRounds(rows[order].astype(np.float64), targets[order], born[order])

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Do nothing: what is learned is learned by `remember`."""

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Remember where the loss would have been least, and grow trees anew where it is time."""
        from banditboost._compiled.grown import go_on, installed, note, remember

        assert context is not None
        self.check()
        points = np.ascontiguousarray(anchors, dtype=np.float64).reshape(len(anchors), -1)
        targets = np.ascontiguousarray(anchors - 0.5 * np.asarray(gradients)).reshape(len(anchors), -1)
        x = with_levels(context[np.newaxis], self.shop.held.categories)[0]
        if not self.spec.background:
            remember(self.memory, self.shop, self.rules, x, points, targets, self.stages)
            return
        ready = self._ready()
        note(self.memory, self.shop, x, points, targets, self.stages)
        for i, apart in ready:
            whose = self._whose(i)
            for name, array in apart.forest._asdict().items():
                getattr(whose.forest, name)[i] = array
            whose.mean[i, 1] = apart.mean
            installed(self.memory, i)
            del self.apart[i]
        go_on(self.memory, self.shop, self.rules)
        self._begun()

    def forget(self, erased: Erased) -> int:
        """Overwrite remembered rows, and those in the queue; a growth that has begun begins again on what is left."""
        from banditboost._compiled.forest_memory import QUEUED, ROWS, SEEN

        memory, pending, total, most = self.memory, self.memory.pending, 0, self.memory.rows.shape[1]
        for i, clock in enumerate(memory.clock):
            held = int(clock[ROWS])
            kept = [(memory.rows[i], memory.targets[i], held, slice(0, held))]
            if self.spec.lag > 0:
                queued = int(pending.clock[i, QUEUED])
                kept.append((pending.rows[i], pending.targets[i], queued, slice(most, most + queued)))
            for rows, targets, count, where in kept:
                if self.spec.renews:
                    places = places_of(erased, memory.heir.born[i, where], int(clock[SEEN]), rows[:count])
                else:  # rows of which nobody knows when they came are known by their numbers
                    telling = erased.contexts.astype(rows.dtype)
                    places = np.flatnonzero((rows[:count, np.newaxis] == telling).all(axis=2).any(axis=1))
                overwrite(places, count, rows, targets)
                total += len(places)
        self.unchecked = True
        return total

    # In the background.

    def growers(self) -> Sequence[GrownBank]:
        """Return this bank, where it grows in the background."""
        return (self,) if self.spec.background else ()

    @property
    def copies(self) -> int:
        """How many copies there are."""
        return len(self.memory.clock)

    def growths(self) -> list[Growth]:
        """Return what is being grown and is due in the next round."""
        self.check()
        begun = self._begun()
        return [begun[i].growth for i in self._due()]

    def wait(self) -> None:
        """Wait for all that is being grown."""
        self.check()
        for apart in self._begun().values():
            apart.growth.wait()

    def late(self) -> list[tuple[int, bool]]:
        """Return the copies whose growth, due in the next round, is late from now on (True) or no longer (False).

        A growth that has failed raises here, once, and is begun again when it is next asked for.
        """
        from banditboost._compiled.forest_memory import LATE

        self.check()
        begun, found = self._begun(), []
        for i, apart in begun.items():
            if apart.growth.error is not None:
                del self.apart[i]
                raise RuntimeError(
                    f"A forest could not be grown in the background, and will be tried again: {apart.growth.error!r:.200}."
                ) from apart.growth.error
        for i in self._due():
            late = not begun[i].growth.ready
            if late != bool(self.memory.pending.clock[i, LATE]):
                found.append((i, late))
        return found

    def set_late(self, copy: int, late: bool) -> None:
        """Let a copy's growth wait although it is due, or take effect in the next round; nothing where it has none."""
        from banditboost._compiled.forest_memory import BEGUN, LATE

        self.memory.pending.clock[copy, LATE] = int(late and self.memory.pending.clock[copy, BEGUN] > 0)

    def _due(self) -> list[int]:
        """Return the copies whose growth is due in the next round, or was before."""
        from banditboost._compiled.forest_memory import BEGUN, DUE, SEEN

        clock, pending = self.memory.clock, self.memory.pending.clock
        due = (pending[:, BEGUN] > 0) & (clock[:, SEEN] + 1 >= pending[:, DUE])
        return [int(i) for i in np.flatnonzero(due)]

    def _ready(self) -> list[tuple[int, Apart]]:
        """Return what takes effect in this round, and wait for it; what has failed is left to be grown within the round."""
        from banditboost._compiled.forest_memory import LATE

        begun, found = self._begun(), []
        for i in self._due():
            if self.memory.pending.clock[i, LATE] == 0:
                begun[i].growth.wait()
                if begun[i].growth.error is None:
                    found.append((i, begun[i]))
                else:
                    del self.apart[i]
        return found

    def _begun(self) -> dict[int, Apart]:
        """Begin the growths that nobody has begun, and return all."""
        from banditboost._compiled.forest_memory import BEGUN

        for i in np.flatnonzero(self.memory.pending.clock[:, BEGUN]):
            copy = int(i)
            if copy not in self.apart or self.apart[copy].growth.lost:
                self.apart[copy] = self._grow_apart(copy)
        return self.apart

    def _whose(self, i: int) -> Memory | Heir:
        """Return what holds the forest that is being grown: the memory, or its heir."""
        from banditboost._compiled.forest_memory import HEIRS

        heir = self.memory.heir
        return heir if self.spec.renews and heir.clock[i, HEIRS] == 1 else self.memory

    def _grow_apart(self, i: int) -> Apart:
        from banditboost._compiled import forest as forests
        from banditboost._compiled import forest_memory, growing

        spec, space, rules, memory = self.spec, self.space, self.rules, self.memory
        n, trees = (int(memory.pending.clock[i, column]) for column in (forest_memory.HELD, forest_memory.TREES))
        # Trees that are not grown anew, and places that they leave over, are as they would be where they are grown in place.
        forest = forests.Forest(*(array[i].copy() for array in self._whose(i).forest))
        mean = np.zeros(space.size)
        rows, targets = memory.rows[i], memory.targets[i]

        def work(stop: NDArray[np.int64]) -> None:
            shop = spec.workshop(n, space, rows.shape[1])._replace(stop=stop)
            growing.grow_apart(rows, targets, n, trees, shop, rules, forest, mean)

        growth = Growth(work)
        background.begin(growth)
        return Apart(growth, forest, mean, self._source(i))

    def _source(self, i: int) -> tuple[int, ...]:
        """Return what tells rows to grow on from others: pseudo-labels are hardly ever alike."""
        from banditboost._compiled.forest_memory import BEGUN, HELD, TREES

        begun, n, trees = (int(self.memory.pending.clock[i, column]) for column in (BEGUN, HELD, TREES))
        return begun, n, trees, zlib.crc32(np.ascontiguousarray(self.memory.targets[i, :n]).data)

    def _give_up(self, copies: Sequence[int]) -> None:
        for i in copies:
            if i in self.apart:
                self.apart.pop(i).growth.give_up()

    def __del__(self) -> None:
        self._give_up(list(getattr(self, "apart", ())))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"apart": {}}

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Let these copies forget all rounds, and play the centre of the space again."""
        fresh = self.spec.start(1, self.space, self.memory.rows.shape[2], rng).arrays()
        self._give_up(copies.tolist())
        for name, array in self.arrays().items():
            array[copies] = fresh[name]

    def stretched(self, features: int, rng: np.random.Generator) -> GrownBank:
        """Return a bank whose rows have more features, which were zero; where memory is short, the last rows are left out."""
        from banditboost._compiled.forest_memory import HELD, QUEUED, ROWS

        larger = self.spec.start(len(self.memory.clock), self.space, features, rng)
        order, most = self._order(), larger.memory.rows.shape[1]
        for (name, array), now in zip(larger.arrays().items(), self.arrays().values(), strict=True):
            before = now
            if name in ("rows", "targets", "heir.born"):
                before = now.copy()
                for i, places in enumerate(order):
                    before[i, : len(places)] = now[i, places]
            rows = min(array.shape[1], before.shape[1])
            if name.endswith("rows"):
                array[:, :rows, : before.shape[2]] = before[:, :rows]
            elif name == "heir.born":
                self._born(array, before, most)
            elif name.endswith("targets"):
                array[:, :rows] = before[:, :rows]
            else:
                array[...] = before
            if name.endswith("forest.feature"):  # categories are numbered after all features
                array[before >= self.memory.rows.shape[2]] += features - self.memory.rows.shape[2]
        memory, pending = larger.memory, larger.memory.pending
        for counts, most in (
            (memory.clock[:, ROWS], memory.rows.shape[1]),
            (pending.clock[:, HELD], memory.rows.shape[1]),
            (pending.clock[:, QUEUED], pending.rows.shape[1]),
        ):
            np.minimum(counts, most, out=counts)
        return larger

    def _order(self) -> list[NDArray[np.intp]]:
        """Return in which order rows are kept where some must be left out: those that an heir is grown on come first."""
        from banditboost._compiled.forest_memory import BEGUN, ROWS, SINCE

        order = [np.arange(self.memory.rows.shape[1]) for _ in range(self.copies)]
        if self.spec.renews:
            heir = self.memory.heir
            for i in np.flatnonzero((heir.clock[:, SINCE] > 0) & (self.memory.pending.clock[:, BEGUN] == 0)):
                used = heir.born[i, : self.memory.clock[i, ROWS]]
                order[i] = np.argsort(used < heir.clock[i, SINCE], kind="stable")
        return order

    def _born(self, larger: Array, born: Array, most: int) -> None:
        """Write in which rounds rows have come where there is room for other numbers of rows and of rounds in the queue."""
        known = self.memory.rows.shape[1]
        rows, queued = min(known, most), min(born.shape[1] - known, larger.shape[1] - most)
        larger[:, :rows] = born[:, :rows]
        larger[:, most : most + queued] = born[:, known : known + queued]

    def feature_weights(self) -> Sequence[Learned]:
        """Return how often the trees of each copy test each feature; all trees of a copy count as one.

        Who tests a category tests all of its columns.
        """
        copies, _, features = self.memory.rows.shape
        tests = np.zeros((copies, features + len(self.spec.categories)))
        for i in range(copies):
            tested = self.memory.forest.feature[i, : self.memory.clock[i, 3]]
            tests[i] = np.bincount(tested[tested >= 0], minlength=tests.shape[1])
        leaves = tests.sum(axis=1) + 1
        for group, (begin, end) in enumerate(self.spec.categories):
            tests[:, begin:end] += tests[:, features + group, np.newaxis]
        return [Learned("Grown", copies, TreeTests(tests[:, :features], leaves))]

    def check(self) -> None:
        """Raise a ValueError unless all indices in restored forests lie inside their arrays and lead downwards."""
        if not self.unchecked:
            return
        if not memory_fits(self.memory, self.spec.categories):
            raise ValueError("The forest is damaged: it leads out of its arrays.")
        self._give_up([i for i, apart in self.apart.items() if apart.source != self._source(i)])
        self.unchecked = False

    def arrays(self) -> dict[str, Array]:
        """Return what is remembered, and the forests, which are checked when next used; the workshop is made anew."""
        self.unchecked = True
        memory = self.memory
        named: dict[str, Any] = {name: getattr(memory, name) for name in ("clock", "rows", "targets", "mean", "errors")}
        named |= {f"forest.{name}": array for name, array in memory.forest._asdict().items()}
        if self.spec.frugal:
            named["worth"] = memory.worth
        if self.spec.renews:
            heir = memory.heir
            named |= {f"heir.{name}": getattr(heir, name) for name in ("clock", "born", "mean", "errors", "sums")}
            named |= {f"heir.forest.{name}": array for name, array in heir.forest._asdict().items()}
        if not self.spec.categories:
            named = {name: array for name, array in named.items() if not name.endswith("forest.sets")}
        if self.spec.lag > 0:
            named |= {f"pending.{name}": array for name, array in memory.pending._asdict().items()}
        return named

    @property
    def skips_rounds(self) -> bool:
        """True: all is learned in place."""
        return True

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.grown`."""
        from banditboost._compiled import grown
        from banditboost._compiled.forest_memory import LATE

        self.check()
        # A compiled loop grows forests when they are due, and never waits.
        self._give_up(list(self.apart))
        self.memory.pending.clock[:, LATE] = 0
        X = with_levels(shown.dense(written=False), self.shop.held.categories)
        return Prepared(grown.Grown(X, self.memory, self.shop, self.rules, self.stages, np.zeros(self.space.size)))

"""Whether what `Grown` remembers can be used after it was restored: compiled loops check no index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from banditboost.learners.categories import Pairs, sets_fit

if TYPE_CHECKING:
    from banditboost._compiled.forest import Forest
    from banditboost._compiled.forest_memory import Heir, Memory


def memory_fits(memory: Memory, categories: Pairs) -> bool:
    """Return whether all indices in forests lie inside their arrays and lead downwards, and all counts are possible."""
    from banditboost._compiled.forest_memory import BEGUN, DUE, GROWN, HELD, LATE, QUEUED, ROWS, TREES

    clock, pending, features = memory.clock, memory.pending.clock, memory.rows.shape[2]
    begun, trees = pending[:, BEGUN] > 0, memory.forest.feature.shape[1]
    return bool(
        (clock[:, :4] >= 0).all()
        and ((clock[:, ROWS] <= memory.rows.shape[1]) & (clock[:, GROWN] <= trees)).all()
        and _forest_fits(memory.forest, features, categories)
        and (pending >= 0).all()
        and (pending[:, HELD] <= clock[:, ROWS]).all()
        and (pending[:, HELD] >= begun).all()
        and (pending[:, TREES] <= trees).all()
        and (pending[:, QUEUED] <= memory.pending.rows.shape[1]).all()
        and ((pending[:, LATE] <= 1) & (pending[:, DUE] < 2**62)).all()
        and _heir_fits(memory.heir, memory, categories)
    )


def _forest_fits(forest: Forest, features: int, categories: Pairs) -> bool:
    node, tests = np.arange(forest.feature.shape[2]), forest.feature >= 0
    return bool(
        ((forest.feature >= -1) & (forest.feature < features + len(categories))).all()
        and ((forest.child > node) & (forest.child < len(node) - 1))[tests].all()
        and sets_fit(forest, categories, features)
    )


def _heir_fits(heir: Heir, memory: Memory, categories: Pairs) -> bool:
    from banditboost._compiled import heirs
    from banditboost._compiled.forest_memory import BASE, BEGUN, GROWN, HEIRS, SEEN, SINCE

    if heir.clock.shape[1] == 0:
        return True
    seen, since, base = (memory.clock[:, SEEN], heir.clock[:, SINCE], heir.clock[:, BASE])
    lives, grows = since > 0, memory.pending.clock[:, BEGUN] > 0
    counts = heir.sums[:, [heirs.SPREAD, heirs.COUNTED, heirs.DOUBT, heirs.JUDGED]]
    return bool(
        ((heir.clock >= 0) & (heir.clock < 2**62)).all()
        and (heir.clock[:, GROWN] <= heir.forest.feature.shape[1]).all()
        and ((since <= seen) & (base <= seen) & ((base < since) | ~lives)).all()
        and (heir.clock[:, HEIRS] <= (lives & grows)).all()
        and ((heir.born >= 0) & (heir.born <= seen[:, np.newaxis])).all()
        and (counts >= 0).all()
        and _forest_fits(heir.forest, memory.rows.shape[2], categories)
    )

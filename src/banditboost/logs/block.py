"""A block of rows of a log, and what is checked of every row before anything is computed from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import LARGEST, Array
from banditboost.spaces import Space


class LogBlock(NamedTuple):
    """Rows of a log that stand together."""

    contexts: Array
    """Shape (n, features)."""
    actions: Array
    """Shape (n, d)."""
    losses: Array
    """Shape (n,)."""
    densities: Array | None
    """With what density each action was drawn, shape (n,), NaN for rows of which that is not known; None where it is of none."""
    tickets: NDArray[np.int64] | None
    """The number of the ticket that each row belongs to, shape (n,); None where there are none."""
    times: Array | None
    """When each row was decided, in whatever units the caller has, shape (n,); None where that is not known."""
    row: int
    """The number of the block's first row among the complete rows of the log, from 0."""

    def take(self, chosen: slice | NDArray[np.bool_] | NDArray[np.intp], row: int) -> LogBlock:
        """Return some rows, the first of which has this number."""
        columns = (None if column is None else column[chosen] for column in self[:-1])
        return LogBlock(*columns, row)  # type: ignore[arg-type, call-arg]  # None stays where it may stand


def check_rows(block: LogBlock, missing: bool = False) -> None:
    """Raise a sentence that names the first row with a number that cannot be used.

    Losses may be NaN where `missing` allows it: they have not come yet.
    """
    for name, values in (("context", block.contexts), ("action", block.actions), ("loss", block.losses)):
        good = np.abs(values) <= LARGEST
        if name == "loss" and missing:
            good |= np.isnan(values)
        if not good.all():
            i = int(np.argmin(good.reshape(len(values), -1).all(axis=1)))
            raise ValueError(f"{name} must be finite, got {_shown(values[i])} in row {block.row + i + 1}.")
    if block.densities is not None:
        check_densities(block.densities, block.row)


def check_densities(densities: Array, row: int) -> None:
    """Raise a sentence that names the first row whose density says that its action was impossible, or certain."""
    good = (densities > 0) & (densities <= LARGEST) | np.isnan(densities)
    if good.all():
        return
    i = int(np.argmin(good))
    found, where = densities[i], f"in row {row + i + 1}"
    if found == 0:
        raise ValueError(
            f"density must be positive, got 0 {where}: an action of density zero, or one that limits left no choice about, says "
            "nothing about any other action, so leave such rows out or give no density."
        )
    if found == np.inf or found > LARGEST:
        raise ValueError(
            f"density must be finite, got {found:g} {where}: an action played with certainty has a point mass, not a density."
        )
    raise ValueError(f"density must be positive, got {found:g} {where}.")


def check_inside(block: LogBlock, space: Space) -> None:
    """Raise a sentence that names the first row whose action lies outside the space."""
    actions = block.actions
    if actions.shape[1] != space.size:
        raise ValueError(f"action must have {space.size} coordinate(s) for this space, got {actions.shape[1]}.")
    inside = space.contains(actions.reshape(len(actions), *space.shape), 1e-9 * max(1.0, float(space.extents.max())))
    if not inside.all():
        i = int(np.argmin(inside))
        raise ValueError(f"action must lie in the space {space}, got {_shown(actions[i])} in row {block.row + i + 1}.")


def _shown(values: Array) -> str:
    values = np.atleast_1d(values)
    return f"{values[0]:g}" if len(values) == 1 else f"({', '.join(f'{value:g}' for value in values[:8])})"

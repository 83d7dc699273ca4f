"""Which setting a peer plays with: the best in hindsight, and the best on the first half of shuffle 0.

*In hindsight* is as generous as can be: the whole grid plays the rounds that are reported, on the first shuffles, and the setting
with the least paid loss is taken, once for the mean over all rounds and once for that over their second half. *Tuned* is what a
user can do: the whole grid plays other rows, those of the first half. Either setting then plays all shuffles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from banditboost.experiments.paid_cells import Desk, Theirs
from banditboost.experiments.paid_games import Table
from banditboost.experiments.paid_peers import Setting

SCOUTS = {"cats": 3, "greedy": 3, "squarecb": 1, "cbzo": 1}
"""Number of shuffles on which the best setting in hindsight is looked for; fewer where a round takes long."""
HINDSIGHT, TUNED = "in hindsight", "tuned on first halves"
"""The two ways to choose."""


def shuffles(game: Table, runs: int) -> list[Table]:
    """Return a game in all its shuffles."""
    return [replace(game, seed=seed) for seed in range(runs)]


def trials(games: Iterable[Table], grids: Mapping[str, Sequence[Setting]], runs: int) -> list[Theirs]:
    """Return what has to be played before settings can be chosen, those that share rows one after the other."""
    cells = [
        Theirs(version, peer, setting)
        for peer, grid in grids.items()
        if len(grid) > 1
        for game in games
        for version in (*shuffles(game, min(runs, SCOUTS[peer])), game.first_half())
        for setting in grid
    ]
    return in_order(cells)


def chosen(desk: Desk, game: Table, peer: str, grid: Sequence[Setting], runs: int) -> dict[tuple[str, str], Setting]:
    """Return the best settings by the way to choose and by what they were chosen for, after `trials` were run."""
    if len(grid) == 1:
        return {(HINDSIGHT, "paid"): grid[0], (HINDSIGHT, "paid_late"): grid[0], (TUNED, "paid"): grid[0]}
    scouts = shuffles(game, min(runs, SCOUTS[peer]))

    def best(games: Sequence[Table], key: str) -> Setting:
        losses = [float(np.mean([desk[Theirs(g, peer, setting)][key] for g in games])) for setting in grid]
        return grid[int(np.argmin(losses))]

    return {
        (HINDSIGHT, "paid"): best(scouts, "paid"),
        (HINDSIGHT, "paid_late"): best(scouts, "paid_late"),
        (TUNED, "paid"): best([game.first_half()], "paid"),
    }


def field(
    desk: Desk, games: Sequence[Table], peers: Mapping[str, Sequence[Setting]], runs: int
) -> dict[tuple[Table, str, str], list[Theirs]]:
    """Let peers with settings try their grids, then play all shuffles with what was chosen, one peer after the other.

    Parameters
    ----------
    desk
        Where cells are run.
    games
        Games, each in shuffle 0.
    peers
        The grid of every peer.
    runs
        Number of shuffles.

    Returns
    -------
    dict
        For a game, a peer, and what the setting was chosen by and for, as in ``"in hindsight, paid"``: a cell per shuffle.
    """
    found: dict[tuple[Table, str, str], list[Theirs]] = {}
    for peer, grid in peers.items():
        desk.run("peers", trials(games, {peer: grid}, runs))
        for game in games:
            for (way, key), setting in chosen(desk, game, peer, grid, runs).items():
                cells = [Theirs(version, peer, setting) for version in shuffles(game, runs)]
                found[game, peer, f"{way}, {key}"] = cells
        desk.run("peers", in_order(cell for cells in found.values() for cell in cells))
    return found


def in_order(cells: Iterable[Theirs]) -> list[Theirs]:
    """Return cells such that those that share rows come one after the other, since rows are read and written out once."""
    return sorted(cells, key=lambda cell: (cell.game.dataset, cell.game.half, cell.game.seed))

"""Which setting a peer plays with: the best in hindsight, and the best on the first half of shuffle 0.

*In hindsight* is as generous as can be: the whole grid plays the rounds that are reported, on the first shuffles; those that did
best go into a final on all shuffles, together with the tuned setting, and the one that pays least there is taken, once for the mean
over all rounds and once for that over their second half. *Tuned* is what a user can do: the whole grid plays other rows, those of
the first half of shuffle 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from banditboost.experiments.paid_cells import Desk, Theirs
from banditboost.experiments.paid_games import Table
from banditboost.experiments.paid_peers import Setting

SCOUTS = {"cats": 3, "greedy": 3, "squarecb": 1, "cbzo": 1}
"""Number of shuffles that the whole grid plays; fewer where a round takes long."""
FINALISTS = {"cats": 3, "greedy": 2, "squarecb": 1, "cbzo": 2}
"""Number of settings that go from there into the final, for all rounds and as many for their second half."""
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


def tuned(desk: Desk, game: Table, peer: str, grid: Sequence[Setting]) -> Setting:
    """Return the setting that paid least on the first half of shuffle 0, after `trials` were run."""
    return grid[0] if len(grid) == 1 else ranked(desk, [game.first_half()], peer, grid, "paid")[0]


def finalists(desk: Desk, game: Table, peer: str, grid: Sequence[Setting], runs: int) -> list[Setting]:
    """Return the settings that play all shuffles: those that did best on the first ones, and the tuned one."""
    found = [tuned(desk, game, peer, grid)]
    if len(grid) > 1:
        scouts = shuffles(game, min(runs, SCOUTS[peer]))
        for key in ("paid", "paid_late"):
            found += ranked(desk, scouts, peer, grid, key)[: FINALISTS[peer]]
    return list(dict.fromkeys(found))


def ranked(desk: Desk, games: Sequence[Table], peer: str, settings: Sequence[Setting], key: str) -> list[Setting]:
    """Return settings by their mean over games, the best first; of equal ones, that which comes first."""
    return sorted(settings, key=lambda setting: float(np.mean([desk[Theirs(g, peer, setting)][key] for g in games])))


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
        final = {game: finalists(desk, game, peer, grid, runs) for game in games}
        desk.run(
            "peers", in_order(Theirs(v, peer, s) for game in games for s in final[game] for v in shuffles(game, runs))
        )
        for game, settings in final.items():
            versions = shuffles(game, runs)
            best = {
                f"{HINDSIGHT}, {key}": ranked(desk, versions, peer, settings, key)[0] for key in ("paid", "paid_late")
            }
            for name, setting in (best | {f"{TUNED}, paid": tuned(desk, game, peer, grid)}).items():
                found[game, peer, name] = [Theirs(version, peer, setting) for version in versions]
    return found


def in_order(cells: Iterable[Theirs]) -> list[Theirs]:
    """Return cells such that those that share rows come one after the other, since rows are read and written out once."""
    return sorted(cells, key=lambda cell: (cell.game.dataset, cell.game.half, cell.game.seed))

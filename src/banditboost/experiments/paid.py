"""Paid where it is played: decisions that are asked about once, and cost what they cost.

Protocol: contestants play the second half of every shuffle, at most its first 20,000 rows, once and in order. Each gets one answer
a round, the loss of the action that it plays (ours are also given more), without noise or with uniform noise of half-width 0.1
times the best constant's loss. What is reported is the true loss at the actions *played*, beside that at predictions: the actions
that a contestant holds to be best. Ours have nothing tuned. Peers with settings are shown at their best in hindsight, and tuned on
first halves. Boxes of 2, 3 and 5 dimensions have unequal sides and stand beside unit cubes; a shop shows prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from banditboost._core.checks import count
from banditboost.experiments import paid_shop, paid_unbiased
from banditboost.experiments.cells import Cell, ParallelOptions
from banditboost.experiments.data import check
from banditboost.experiments.paid_cells import TOLD, Desk, Ours, OursBoxed, Theirs, can_declare
from banditboost.experiments.paid_choice import FINALISTS, HINDSIGHT, SCOUTS, TUNED, field, in_order, shuffles
from banditboost.experiments.paid_games import LOSSES, NOISE, ROWS, Boxed, Table
from banditboost.experiments.paid_peers import GRIDS, KNOWING, QUICK, missing
from banditboost.experiments.paid_shows import LADDER, shows
from banditboost.experiments.paid_vw import MISSING
from banditboost.experiments.statistics import means

NOISY_LADDER = (1, 2, 5, 30)
"""Numbers of answers where answers are noisy."""
DECLARED = ("squared",)
"""Losses that can be declared to the default."""
DIMENSIONS = (2, 3, 5)
"""Dimensions of boxes."""
BOXED = (1, 5, 30)
"""Numbers of answers on boxes."""
BOX_RUNS = 3
"""Most seeds of a box."""


@dataclass(frozen=True)
class Size:
    """How large the experiment is."""

    runs: int = 10
    rows: int = ROWS
    rounds: int = 10_000
    customers: int = paid_shop.CUSTOMERS


SMALL = Size(1, 600, 600, 600)
"""The size of a quick run."""


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 10,
    wanted: Sequence[str] = tuple(GRIDS),
    quick: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run all cells and return rows of plain data, and what they show.

    Parameters
    ----------
    names
        Names of the data sets.
    runs
        Number of shuffles of every data set.
    wanted
        Names of the peers with settings to run, of `paid_peers.GRIDS`; those whose library is missing are left out with a note.
    quick
        True: one shuffle, few rounds, few settings.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`. The folder gets one subfolder for ours and one for peers;
        where one is removed, its cells are run again, and the other's are not.
    """
    check(names)
    size = SMALL if quick else Size(count("runs", runs))
    desk = Desk(**options)
    games = [Table(d, loss, noise, rows=size.rows) for d in names for loss in LOSSES for noise in (0.0, NOISE)]
    grids = {p: (QUICK if quick else GRIDS)[p] for p in wanted if p not in missing()}
    tables = {
        "peers": _peers(desk, games, grids, size),
        "ours": _ours(desk, games, size),
        "boxes": _boxes(desk, size),
        "shop": _shop(desk, size),
        "unbiased": paid_unbiased.rows(quick),
    }
    protocol = {
        "runs": size.runs,
        "rows": size.rows,
        "noise": NOISE,
        "box_rounds": size.rounds,
        "box_runs": min(size.runs, BOX_RUNS),
        "customers": size.customers,
        "shops": min(size.runs, paid_shop.SEEDS),
        "scouts": {peer: min(size.runs, SCOUTS[peer]) for peer in grids},
        "finalists": {peer: FINALISTS[peer] for peer in grids},
        "settings_tried": {peer: len(grid) for peer, grid in grids.items()},
    }
    return {
        "experiment": "paid",
        "protocol": protocol,
        "notes": notes(wanted),
        "tables": tables,
        "shows": shows(tables),
    }


def notes(wanted: Sequence[str] = tuple(GRIDS)) -> list[str]:
    """Return what was left out, and why."""
    found = []
    if absent := [peer for peer in missing() if peer in wanted]:
        found.append(f"Left out: {', '.join(absent)}. {MISSING}")
    if not can_declare():
        found.append("Left out: the declared loss, since boosted has no argument `loss` in this version.")
    if absent := [way for way in paid_shop.OURS if way not in paid_shop.available()]:
        found.append(f"Left out: {', '.join(absent)} in the shop, which this version does not have.")
    return found


def _row(cells: Sequence[Cell], desk: Desk, **fields: Any) -> dict[str, Any]:
    """Return means over cells beside the numbers of every run; quarters have their means only."""
    return fields | means([desk[cell] for cell in cells])


def _same(game: Table) -> dict[str, Any]:
    return {"dataset": game.dataset, "by_loss": game.loss, "noise": game.noise}


def _peers(desk: Desk, games: Sequence[Table], grids: dict[str, Any], size: Size) -> list[dict[str, Any]]:
    """Run the peers; a setting chosen for the second half speaks for the second half."""
    known = {(game, peer): [Theirs(v, peer) for v in shuffles(game, size.runs)] for game in games for peer in KNOWING}
    desk.run("peers", in_order(cell for cells in known.values() for cell in cells))
    played = field(desk, games, grids, size.runs)
    rows = [_row(cells, desk, who=peer, chosen="", **_same(game)) for (game, peer), cells in known.items()]
    for peer in grids:
        for game in games:
            for way in (HINDSIGHT, TUNED):
                cells = played[game, peer, f"{way}, paid"]
                late = played.get((game, peer, f"{way}, paid_late"), cells)
                row = _row(cells, desk, who=peer, chosen=way, **_same(game), setting=cells[0].setting)
                later = _row(late, desk, setting_late=late[0].setting)
                rows.append(row | {key: value for key, value in later.items() if "_late" in key or "_tenth" in key})
    return rows


def _ours(desk: Desk, games: Sequence[Table], size: Size) -> list[dict[str, Any]]:
    """Run the default on all games."""
    wanted: dict[tuple[Table, int, str], list[Ours]] = {}
    for game in games:
        kinds = [(k, "") for k in (TOLD, *(NOISY_LADDER if game.noise else LADDER))]
        kinds += [(1, game.loss)] if game.loss in DECLARED and can_declare() else []
        for answers, declared in kinds:
            wanted[game, answers, declared] = [Ours(v, answers, declared) for v in shuffles(game, size.runs)]
    mine = [cell for cells in wanted.values() for cell in cells]
    mine.sort(key=lambda cell: (cell.game.dataset, cell.game.seed))
    desk.run("ours", mine)
    return [_row(cells, desk, who="ours", answers=k, declared=d, **_same(g)) for (g, k, d), cells in wanted.items()]


def _boxes(desk: Desk, size: Size) -> list[dict[str, Any]]:
    """Run the default on boxes and cubes."""
    rows = []
    for dimensions in DIMENSIONS:
        for cube in (False, True):
            for answers in (TOLD, *BOXED):
                game = Boxed(dimensions, cube, rounds=size.rounds)
                cells = [OursBoxed(replace(game, seed=s), answers) for s in range(min(size.runs, BOX_RUNS))]
                desk.run("ours", cells)
                rows.append(_row(cells, desk, dimensions=dimensions, cube=cube, answers=answers, sides=game.sides))
    return rows


def _shop(desk: Desk, size: Size) -> list[dict[str, Any]]:
    """Sell, where this version has a shop."""
    rows = []
    seeds, ways = range(min(size.runs, paid_shop.SEEDS)), paid_shop.available()
    for way in ways:
        mine = [paid_shop.OursSelling(way, seed, size.customers) for seed in seeds]
        desk.run("ours", mine)
        rows.append(_row(mine, desk, way=way))
    for way in paid_shop.THEIRS if ways else ():
        theirs = [paid_shop.TheirsSelling(way, seed, size.customers) for seed in seeds]
        desk.run("peers", theirs)
        rows.append(_row(theirs, desk, way=way))
    return rows

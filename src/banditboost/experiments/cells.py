"""Long work in small cells: run in parallel, each result kept under the hash of what was run.

A cell is a spec, so that its digest names its result. Results are written one file per cell, each all or nothing: an
interrupted run loses at most the cells in flight, and running again with the same folder goes on where it stopped.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from banditboost._core.spec import Spec
from banditboost._storage.atomic_file import atomic


@dataclass(frozen=True)
class Cell(Spec):
    """One piece of an experiment: all that decides its result is in its fields."""

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """Compute the result, as plain data."""


class Running(TypedDict, total=False):
    """How cells are run: what every experiment passes on to `run_cells`."""

    jobs: int
    folder: Path | None
    progress: Callable[[int, int], None] | None
    cluster: str | None


def run_cells(
    cells: Sequence[Cell],
    *,
    jobs: int = 1,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    threads: bool = True,
    cluster: str | None = None,
    cost: Callable[[Cell], float] | None = None,
) -> list[dict[str, Any]]:
    """Run cells, some at a time, and return their results in order; equal cells are run once.

    Parameters
    ----------
    cells
        What to run.
    jobs
        How many at a time.
    folder
        Where results are kept and looked for; None keeps nothing.
    progress
        Called as ``progress(cells done, cells in all)``.
    threads
        Whether threads suffice, as they do for compiled loops, which run without the interpreter's lock.
    cluster
        Address of a Dask cluster whose workers run the cells instead, as many at a time as they have threads; results are the
        same, and are kept here. Needs the extra `cluster`.
    cost
        How long a cell takes, in any unit. The longest are run first, so that no core idles at the end.
    """
    every = list(dict.fromkeys(cells))
    if cost is not None:
        every.sort(key=cost, reverse=True)
    results: dict[Cell, dict[str, Any]] = {}
    for cell in every:
        found = _find(cell, folder)
        if found is not None:
            results[cell] = found

    waiting = [index for index, cell in enumerate(every) if cell not in results]
    if progress is not None:
        progress(len(results), len(every))
    done = _here(every, waiting, jobs, folder, threads) if cluster is None else _there(every, waiting, cluster, folder)
    for index, result in done:
        results[every[index]] = result
        if progress is not None:
            progress(len(results), len(every))
    return [results[cell] for cell in cells]


def run_tables(
    tables: Mapping[str, Sequence[Cell]],
    rows: Callable[[Sequence[Cell], dict[Cell, dict[str, Any]]], list[dict[str, Any]]],
    cost: Callable[[Cell], float] | None = None,
    **running: Unpack[Running],
) -> dict[str, list[dict[str, Any]]]:
    """Run the cells of several tables, which may share some, and return the rows that `rows(cells, results)` makes of each."""
    every = [cell for cells in tables.values() for cell in cells]
    done = dict(zip(every, run_cells(every, cost=cost, **running), strict=True))
    return {name: rows(cells, done) for name, cells in tables.items()}


def _here(
    cells: Sequence[Cell], waiting: Sequence[int], jobs: int, folder: Path | None, threads: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=jobs, prefer="threads" if threads else "processes", return_as="generator_unordered")
    yield from pool(delayed(_work)(index, cells[index], folder) for index in waiting)


def _there(
    cells: Sequence[Cell], waiting: Sequence[int], cluster: str, folder: Path | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    from banditboost.experiments.cluster import run_on_cluster

    if waiting:  # no cluster is needed to read what is kept
        for index, result in run_on_cluster({index: cells[index] for index in waiting}, cluster):
            _keep(cells[index], folder, result)
            yield index, result


def _work(index: int, cell: Cell, folder: Path | None) -> tuple[int, dict[str, Any]]:
    result = cell.run()
    _keep(cell, folder, result)
    return index, result


def _keep(cell: Cell, folder: Path | None, result: dict[str, Any]) -> None:
    if folder is not None:
        with atomic(_file(cell, folder)) as file:
            file.write(json.dumps({"cell": cell.to_dict(), "result": result}).encode())


def _file(cell: Cell, folder: Path) -> Path:
    return folder / f"{cell.digest()}.json"


def _find(cell: Cell, folder: Path | None) -> dict[str, Any] | None:
    if folder is None or not _file(cell, folder).is_file():
        return None
    try:
        found = json.loads(_file(cell, folder).read_text())
        return dict(found["result"])
    except (ValueError, KeyError, TypeError):
        return None  # a damaged file is as good as none: the cell is run again

"""Long work in small cells, which run in parallel; each result is kept under the hash of its cell.

A cell is a spec, so that its digest names its result. Results are written to one file per cell, completely or not at all: an
interrupted run loses at most the cells that were running, and a run with the same folder continues where the last one stopped.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from banditboost._core.spec import Spec
from banditboost._storage.atomic_file import atomic


@dataclass(frozen=True)
class Cell(Spec):
    """One piece of an experiment, whose fields determine its result."""

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """Compute the result, as plain data."""


C = TypeVar("C", bound=Cell)

OLD_NAMES = {"asked": "paid", "asked_runs": "paid_runs", "asked runs": "paid runs"}
"""Present names in results, by the names that results of earlier runs have."""


def present_names(results: Any) -> Any:
    """Return the results of an earlier run, as plain data, under the names that results have now.

    Examples
    --------
    >>> present_names({"rows": [{"loss": 1.0, "asked": 2.0}]})
    {'rows': [{'loss': 1.0, 'paid': 2.0}]}
    """
    if isinstance(results, list):
        return [present_names(entry) for entry in results]
    if isinstance(results, dict):
        return {OLD_NAMES.get(name, name): present_names(value) for name, value in results.items()}
    return results


class Options(TypedDict, total=False):
    """Where cells run and where their results are kept, for all experiments alike."""

    cluster: str | None
    """Address of a Dask cluster whose workers run the cells, as many at a time as they have threads.

    Results are the same, and are kept here. Needs the extra `cluster`.
    """
    folder: Path | None
    """Folder in which results are kept and looked for; without it nothing is kept."""
    progress: Callable[[int, int], None] | None
    """Called as ``progress(cells done, cells in all)``."""


class ParallelOptions(Options, total=False):
    """The options of experiments whose cells may run at the same time."""

    jobs: int
    """Number of cells that run at the same time; one by default."""


def run_cells(
    cells: Sequence[C],
    *,
    threads: bool = True,
    cost: Callable[[C], float] | None = None,
    **options: Unpack[ParallelOptions],
) -> list[dict[str, Any]]:
    """Run cells, some at a time, and return their results in order.

    Parameters
    ----------
    cells
        The cells to run.
    threads
        True: cells run in threads, which is enough for compiled loops, as they release the interpreter's lock.
    cost
        A measure of the time that a cell takes; the most expensive cells run first, so that no core is idle at the end.
    options
        `jobs`, `cluster`, `folder` and `progress`, as in `ParallelOptions`.
    """
    jobs, folder = options.get("jobs", 1), options.get("folder")
    cluster, progress = options.get("cluster"), options.get("progress")
    results: dict[int, dict[str, Any]] = {}
    for index, cell in enumerate(cells):
        found = _find(cell, folder)
        if found is not None:
            results[index] = found

    waiting = [index for index in range(len(cells)) if index not in results]
    if cost is not None:
        waiting.sort(key=lambda index: -cost(cells[index]))
    if progress is not None:
        progress(len(results), len(cells))
    done = (
        _run_here(cells, waiting, jobs, folder, threads)
        if cluster is None
        else _run_on_cluster(cells, waiting, cluster, folder)
    )
    for index, result in done:
        results[index] = result
        if progress is not None:
            progress(len(results), len(cells))
    return [results[index] for index in range(len(cells))]


def run_distinct(
    lists: Iterable[Sequence[C]],
    *,
    threads: bool = True,
    cost: Callable[[C], float] | None = None,
    **options: Unpack[ParallelOptions],
) -> dict[C, dict[str, Any]]:
    """Run the cells of several lists, each once even where lists share it; return the results by cell."""
    distinct = list(dict.fromkeys(cell for cells in lists for cell in cells))
    return dict(zip(distinct, run_cells(distinct, threads=threads, cost=cost, **options), strict=True))


def kept_results(cells: Iterable[C], folder: Path) -> dict[C, dict[str, Any]]:
    """Return the results that a folder holds, by cell, and run nothing."""
    found = ((cell, _find(cell, folder)) for cell in dict.fromkeys(cells))
    return {cell: result for cell, result in found if result is not None}


def _run_here(
    cells: Sequence[Cell], waiting: Sequence[int], jobs: int, folder: Path | None, threads: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=jobs, prefer="threads" if threads else "processes", return_as="generator_unordered")
    yield from pool(delayed(_run_one)(index, cells[index], folder) for index in waiting)


def _run_on_cluster(
    cells: Sequence[Cell], waiting: Sequence[int], cluster: str, folder: Path | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    from banditboost.experiments.cluster import run_on_cluster

    if waiting:  # no cluster is needed where all results are in the folder
        for index, result in run_on_cluster({index: cells[index] for index in waiting}, cluster):
            _keep(cells[index], folder, result)
            yield index, result


def _run_one(index: int, cell: Cell, folder: Path | None) -> tuple[int, dict[str, Any]]:
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
        return dict(present_names(found["result"]))
    except (ValueError, KeyError, TypeError):
        return None  # the cell of a damaged file is run again

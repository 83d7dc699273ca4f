"""Running cells on the machines of an existing Dask cluster.

Cells are submitted as futures, and the caller keeps the results, so that workers need no shared folder. Dask runs the cells of a
worker that dies on other workers; since a cell's fields determine its result, the result is the same.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from banditboost._core.version import __version__

if TYPE_CHECKING:
    from distributed import Client

    from banditboost.experiments.cells import Cell

PATIENCE = 10.0
"""Seconds to wait for an answer of the cluster, and of its first worker, before an error is raised."""


def run_on_cluster(cells: Mapping[int, Cell], address: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Run cells on a cluster; yield the index and the result of each as it is done.

    Parameters
    ----------
    cells
        The cells to run, by index.
    address
        Address of the scheduler, such as ``tcp://host:8786``.
    """
    with _connected(address) as client:
        from distributed import KilledWorker, as_completed
        from distributed.comm.core import CommClosedError

        _check_workers(client, address)
        futures = {client.submit(_work, __version__, cell, pure=False): index for index, cell in cells.items()}
        try:
            for future in as_completed(futures, loop=client.loop):
                index = futures[future]
                yield index, future.result()
                future.release()  # the cluster need not keep a result that was fetched
        except KilledWorker as error:
            raise OSError(
                f"the cluster at {address} must keep its workers, but every one that was given {cells[index]!r} died: "
                f"{error.allowed_failures + 1} of them."
            ) from None
        except (CancelledError, CommClosedError):
            raise OSError(f"the cluster at {address} was lost before all cells were done.") from None
        finally:
            with suppress(OSError):  # the cluster may be gone
                client.cancel([future for future in futures if not future.done()])


def _work(version: str, cell: Cell) -> dict[str, Any]:
    """Run a cell on a worker, which may have joined after the versions of the others were checked."""
    if version != __version__:
        raise ValueError(_other_version("a worker", __version__))
    return cell.run()


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("Running on a cluster needs Dask: pip install 'banditboost[cluster]'.") from None
    client = None
    with suppress(OSError, ValueError, TypeError):
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    if client is None:
        # A client that failed to connect closes itself when it is garbage-collected; during the start of another client, Dask
        # would then wait for itself.
        gc.collect()
        raise OSError(
            f"cluster must be the address of a running Dask scheduler, such as tcp://host:8786, got {address!r}, "
            f"where none answered within {PATIENCE:g} seconds."
        )
    try:
        yield client
    finally:
        client.close()


def _check_workers(client: Client, address: str) -> None:
    """Raise an error where there are no workers, or one that has another version of this library."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise OSError(f"cluster must have at least one worker, got none at {address} within {PATIENCE:g} s.") from None
    # The check itself must not need this library on the workers.
    versions = client.run(eval, "__import__('banditboost').__version__", on_error="return")
    for worker, found in versions.items():
        if isinstance(found, ImportError):
            raise ImportError(f"the worker {worker} must have banditboost {__version__}, got none: install it there.")
        if isinstance(found, OSError):
            continue  # the worker is gone or going; those that replace it are checked in `_work`
        if isinstance(found, Exception):
            raise OSError(f"the worker {worker} must be able to import banditboost, but that fails: {found}.")
        if found != __version__:
            raise ValueError(_other_version(f"the worker {worker}", found))


def _other_version(worker: str, found: str) -> str:
    return f"{worker} must have banditboost {__version__} as here, got {found}: install the same version everywhere."

"""Cells on a real cluster of two worker processes: the same results, whatever happens to the workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from banditboost.experiments import cluster as module
from banditboost.experiments.cells import Cell, run_cells
from banditboost.experiments.table2 import Comparators, Run, cells
from banditboost.experiments.table2_readings import QUICK, Grid
from tests.experiments.cluster_cells import Deadly, Failing, Slow

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.cluster
ROOT = str(Path(__file__).parents[2])
SMALL = Grid(copies=(5,), scales=(0.01, 0.1), powers=(0.5,), radii=(10.0,))


@pytest.fixture
def cluster() -> Iterator[Any]:
    # One for each test, since tests kill workers, which take their time to come back. Port 0 is any that is free.
    options: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as made:
        yield made


def started(folder: Path) -> list[tuple[int, int]]:
    """Seed and process of every slow cell that has begun."""
    return [(int(file.name.split()[0]), int(file.name.split()[1])) for file in folder.iterdir()]


def wait_for(folder: Path, cells: int = 1) -> None:
    deadline = time.monotonic() + 60
    while len(list(folder.glob("[!.]*"))) < cells and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_killed_worker_changes_nothing(cluster: Any, tmp_path: Path) -> None:
    begun, kept = tmp_path / "begun", tmp_path / "kept"
    begun.mkdir()
    table2: list[Cell] = [Run("abalone", column, 1, SMALL, rows=300) for column in ("ogd", "bandit_boosting")]
    table2 += [Comparators("abalone", seed) for seed in (1, 2)]
    cells = [*(Slow(seed, str(begun), 0.4) for seed in range(4)), *table2]
    killed = []

    def kill() -> None:
        wait_for(begun)
        killed.extend(started(begun)[:1])
        os.kill(killed[0][1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    seen: list[tuple[int, int]] = []
    found = run_cells(cells, cluster=cluster.scheduler_address, folder=kept, progress=lambda *done: seen.append(done))
    killer.join()
    seed, process = killed[0]
    again = [pid for number, pid in started(begun) if number == seed]
    assert len(again) >= 2, "the cell that was lost is run again"
    assert again.count(process) == 1
    assert (seen[0], seen[-1]) == ((0, 8), (8, 8))
    assert len(list(kept.glob("*.json"))) == 8, "results are kept by who asked for them"
    assert found == run_cells(cells)
    # What is kept needs no cluster.
    assert run_cells(cells, cluster="tcp://127.0.0.1:1", folder=kept) == found


def test_the_command_line_gives_the_same_table(cluster: Any, tmp_path: Path) -> None:
    files = [tmp_path / "here.json", tmp_path / "there.json"]
    command = [
        sys.executable,
        "-m",
        "banditboost.cli.app",
        "reproduce",
        "table2",
        "--datasets",
        "abalone",
        "--runs",
        "1",
    ]
    options = [[], ["--cluster", cluster.scheduler_address, "--resume", str(tmp_path / "kept")]]
    for file, more in zip(files, options, strict=True):
        shown = subprocess.run(
            [*command, "--quick", "--quiet", *more, "--json", str(file)], capture_output=True, text=True
        )
        assert shown.returncode == 0, shown.stderr
        assert not shown.stderr
    here, there = (json.loads(file.read_text()) for file in files)
    assert here["rows"] == there["rows"]
    readings = ["D", "A", "C"]  # those of --quick; two of them may have a run in common
    wanted = {cell for key in readings for cell in cells(key, "abalone", 1, QUICK)}
    assert len(list((tmp_path / "kept").glob("*.json"))) == len(wanted) + 1, "and one cell for the comparators"


def test_a_cell_that_raises_gives_its_own_error(cluster: Any, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    cells = [Failing("mine"), *(Slow(seed, str(begun), 0.3) for seed in range(30))]
    with pytest.raises(ZeroDivisionError, match=r"^the reason is mine$"):
        run_cells(cells, cluster=cluster.scheduler_address)
    time.sleep(0.5)
    seen = len(started(begun))
    time.sleep(0.7)
    assert len(started(begun)) == seen < 30, "no more cells are begun"


def test_ctrl_c_cancels_what_is_outstanding(cluster: Any, tmp_path: Path) -> None:
    begun, kept = tmp_path / "begun", tmp_path / "kept"
    begun.mkdir()
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {ROOT!r})
from tests.experiments.cluster_cells import Slow
from banditboost.experiments.cells import run_cells
cells = [Slow(seed, {str(begun)!r}, 0.3) for seed in range(60)]
try:
    run_cells(cells, cluster={cluster.scheduler_address!r}, folder=Path({str(kept)!r}))
except KeyboardInterrupt:
    print("interrupted")
"""
    # A runner in the background may have told its children to ignore Ctrl-C: here it must be heard.
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    wait_for(kept)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert said == "interrupted\n", errors
    assert "Traceback" not in errors
    time.sleep(0.5)
    seen = len(started(begun))
    time.sleep(0.7)
    assert len(started(begun)) == seen < 60
    assert list(kept.glob("*.json"))


def test_a_cell_that_kills_its_workers_is_named(cluster: Any) -> None:
    with pytest.raises(
        OSError, match=r"^the cluster at tcp://.* must keep its workers, but every one .*Deadly\(\) died"
    ):
        run_cells([Deadly()], cluster=cluster.scheduler_address)


def test_a_cluster_that_goes_away_is_named(tmp_path: Path) -> None:
    begun, kept, file = tmp_path / "begun", tmp_path / "kept", tmp_path / "scheduler.json"
    begun.mkdir()
    # As on several machines: a scheduler and a worker started by hand, which find the cells of this test.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = partial(subprocess.Popen, env=environment, cwd=tmp_path, **quiet)
    options = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    processes = [dask([sys.executable, "-m", "dask", "scheduler", *options, "--scheduler-file", str(file)])]

    def kill() -> None:
        wait_for(kept)
        processes[0].kill()

    killer = threading.Thread(target=kill)
    try:
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_text().endswith("}")) and time.monotonic() < deadline:
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        processes.append(dask([sys.executable, "-m", "dask", "worker", address, *options]))
        killer.start()
        with pytest.raises(OSError, match=rf"^the cluster at {address} was lost before all cells were done\.$"):
            run_cells([Slow(seed, str(begun), 0.3) for seed in range(60)], cluster=address, folder=kept)
        killer.join()
    finally:
        for process in processes:
            process.kill()
            process.wait()
    whole = [json.loads(file.read_text()) for file in kept.glob("*.json")]
    assert 1 <= len(whole) < 60
    # What was kept is not run again: of the cells that were begun, those that are missing are begun once more.
    before, seeds = len(started(begun)), sorted({seed for seed, _ in started(begun)})
    assert len(run_cells([Slow(seed, str(begun), 0.3) for seed in seeds], folder=kept)) == len(seeds)
    assert len(started(begun)) - before == len(seeds) - len(whole)


def test_other_versions_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster.wait_for_workers(2, timeout=120)
    monkeypatch.setattr(module, "__version__", "0.0.7")
    with pytest.raises(
        ValueError, match=r"^the worker tcp://\S+ must have banditboost 0\.0\.7 as here, got \S+: install"
    ):
        run_cells([Slow(0, str(tmp_path))], cluster=cluster.scheduler_address)
    monkeypatch.setattr(module, "_check_workers", lambda client, address: None)  # as for one that joins later
    with pytest.raises(ValueError, match=r"^a worker must have banditboost .*: install the same version everywhere\.$"):
        run_cells([Slow(0, str(tmp_path))], cluster=cluster.scheduler_address)
    assert not list(tmp_path.iterdir())


def test_workers_without_the_library_are_named(cluster: Any, tmp_path: Path) -> None:
    hide = "import sys; sys.kept = sys.modules.get('banditboost'); sys.modules['banditboost'] = None"
    show = "import sys; sys.modules['banditboost'] = sys.kept; sys.kept or sys.modules.pop('banditboost')"
    cluster.wait_for_workers(2, timeout=120)
    with distributed.Client(cluster, set_as_default=False) as client:
        client.run(exec, hide)
        try:
            with pytest.raises(
                ImportError, match=r"^the worker tcp://\S+ must have banditboost \S+, got none: install"
            ):
                run_cells([Slow(0, str(tmp_path))], cluster=cluster.scheduler_address)
        finally:
            client.run(exec, show)
    assert not list(tmp_path.iterdir())
    assert run_cells([Slow(0, str(tmp_path), 0.0)], cluster=cluster.scheduler_address)


def test_clusters_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    for address in ("tcp://127.0.0.1:1", "nowhere", "udp:/1"):
        with pytest.raises(OSError, match=rf"^cluster must be the address .* got '{address}', where none answered"):
            run_cells([Failing()], cluster=address)
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(OSError, match=r"^cluster must have at least one worker, got none at .* within 0\.5 s\.$"),
    ):
        run_cells([Failing()], cluster=empty.scheduler_address)


@pytest.mark.parametrize(
    "command",
    [
        "table1 --quick",
        "table2 --quick",
        "bounds --quick",
        "feedback --quick",
        "beyond",
        "fair --peers=",
        "classes --ways ours",
    ],
)
def test_every_reproduction_can_use_a_cluster(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them asks the cluster that it is given, and no other."""
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    from typer.testing import CliRunner

    from banditboost.cli.app import app

    shown = CliRunner().invoke(app, ["reproduce", *command.split(), "--quiet", "--cluster", "tcp://127.0.0.1:1"])
    assert isinstance(shown.exception, OSError)
    assert "got 'tcp://127.0.0.1:1', where none answered within 0.2 seconds" in str(shown.exception)


def test_without_dask_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"^Running on a cluster needs Dask: pip install 'banditboost\[cluster\]'\.$"):
        run_cells([Failing()], cluster="tcp://127.0.0.1:1")

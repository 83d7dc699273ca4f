"""What all commands of `banditboost reproduce` share: their options, and how an experiment is run, shown and written."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from banditboost._core import checks
from banditboost._core.version import __version__
from banditboost._storage.atomic_file import atomic
from banditboost.cli.common import err

Datasets = Annotated[str, typer.Option(help="Names of data sets, separated by commas.")]
Runs = Annotated[int, typer.Option(min=1, help="Shuffled runs per data set.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="How many cells to run at a time.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Run cells on this Dask cluster instead, such as tcp://host:8786."
    ),
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write all results to this file.", dir_okay=False)]
ReportFolder = Annotated[
    Path | None, typer.Option("--report", help="Write an HTML report into this folder.", file_okay=False)
]
ResumeFolder = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        help="Keep the result of every finished cell in this folder, and run only the cells that are missing there.",
        file_okay=False,
    ),
]
Renew = Annotated[
    str,
    typer.Option(
        help="Run only these learners, separated by commas, and keep the rows of all others in the file of --json."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")]
Quick = Annotated[bool, typer.Option("--quick", help="Run a smaller version, for a first look.")]


class How(NamedTuple):
    """How to run an experiment and where its results go: the options that all commands here share."""

    jobs: int
    cluster: str | None
    json_file: Path | None
    report: Path | None
    resume: Path | None
    quiet: bool


def numbers(name: str, text: str) -> list[int]:
    """Return the whole numbers in a text that separates them by commas."""
    try:
        return [checks.count(name, int(part), least=0) for part in listed(text)]
    except ValueError:
        raise ValueError(f"{name} must be whole numbers separated by commas, got {text!r:.100}.") from None


def listed(text: str) -> list[str]:
    """Return the names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def run(name: str, how: How, /, *arguments: Any, **options: Any) -> dict[str, Any]:
    """Run an experiment, show its tables, and write its results and its report where they are wanted; return the results."""
    experiment = import_module(f"banditboost.experiments.{name}")
    drawing = import_module(f"banditboost.experiments.{name}_report")
    with progress_bar(name.capitalize(), how.quiet) as progress:
        results: dict[str, Any] = experiment.reproduce(
            *arguments,
            **options,
            jobs=how.jobs,
            cluster=how.cluster,
            folder=how.resume,
            progress=progress,
        )
    # A pipe or a file has no width of its own: tables get room there.
    out = Console(width=None if sys.stdout.isatty() else 132)
    for table in drawing.terminal_tables(results):
        out.print(table)
    if how.json_file is not None:
        save_results(results, how.json_file)
        out.print(f"Results: {how.json_file}", highlight=False, soft_wrap=True)
    if how.report is not None:
        out.print(f"Report: {drawing.report(results, how.report)}", highlight=False, soft_wrap=True)
    return results


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far long work is and how long it will take, from the first report of progress on."""
    if quiet:
        yield None
        return
    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=err)
    task = bar.add_task(title, total=None)

    def show(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        bar.stop()


def save_results(results: dict[str, Any], path: Path) -> None:
    """Write results with versions and machine to a file, which is replaced only when it is complete."""
    stamped = results | {
        "banditboost": __version__,
        "written": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "numba")},
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
        },
    }
    with atomic(path) as file:
        file.write(json.dumps(stamped, separators=(",", ":")).encode())

"""The command line: `banditboost --help`."""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Table
except ImportError:
    sys.exit("The command line needs the extra 'cli': pip install 'banditboost[cli]'.")

from banditboost import datasets as rooms_datasets
from banditboost._core.version import __version__
from banditboost._storage.atomic_file import atomic
from banditboost.cli.register import register

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
)
reproduce = typer.Typer(no_args_is_help=True, help="Run the paper's tables and theorems again.")
app.add_typer(reproduce, name="reproduce")
register(app)
# A pipe or a file has no width of its own: tables get room there.
out = Console(width=None if sys.stdout.isatty() else 132)
err = Console(stderr=True)

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
        "--resume", help="Keep every finished cell in this folder, and go on from what is there.", file_okay=False
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]
Quick = Annotated[bool, typer.Option("--quick", help="Smaller, for a first look.")]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"banditboost {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Online learning from loss values alone: boosting with bandit feedback."""


@app.command("datasets")
def list_datasets(
    fetch: Annotated[str | None, typer.Option(help="Download this data set into the cache folder, checked.")] = None,
    quiet: Quiet = False,
) -> None:
    """Show the data sets: rows, features, label range, where they come from."""
    if fetch is not None:
        out.print(f"Fetched: {rooms_datasets.fetch(fetch, quiet=quiet)}", highlight=False, soft_wrap=True)
        return
    table = Table("name", "rows", "features", "task", "labels", "source")
    for name in rooms_datasets.NAMES:
        info = rooms_datasets.describe(name)
        low, high = info.label_range
        table.add_row(
            name,
            f"{info.rows:,}",
            str(info.features),
            info.task,
            f"[{low:g}, {high:g}]".replace("[", r"\["),
            info.source,
        )
    out.print(table)


@reproduce.command("table2")
def table2(
    datasets: Annotated[str, typer.Option(help="Data sets, separated by commas.")] = "abalone,letter",
    runs: Annotated[int, typer.Option(min=1, help="Shuffled runs per data set.")] = 20,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Table 2: boosting and its baselines on real data, tuned on first halves, reported on second halves."""
    from banditboost.experiments import table2 as experiment
    from banditboost.experiments import table2_report as drawing

    names = listed(datasets)
    experiment.check(names)
    with progress_bar("Table 2", quiet) as progress:
        results = experiment.reproduce(
            names,
            runs=runs,
            grid=experiment.QUICK if quick else None,
            readings=not quick,
            jobs=jobs,
            cluster=cluster,
            folder=resume,
            progress=progress,
        )
    present(results, drawing.terminal_tables(results), json_file, report, drawing.report)


@reproduce.command("table1")
def table1(
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Table 1: four projection-free algorithms, their regret and what it costs."""
    from banditboost.experiments import table1 as experiment
    from banditboost.experiments import table1_report as drawing

    with progress_bar("Table 1", quiet) as progress:
        results = experiment.reproduce(quick=quick, jobs=jobs, cluster=cluster, folder=resume, progress=progress)
    present(results, drawing.terminal_tables(results), json_file, report, drawing.report)


@reproduce.command("bounds")
def bounds(
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Every bound of the paper against what is measured; exit code 1 where one is violated."""
    from banditboost.experiments import bounds as experiment
    from banditboost.experiments import bounds_report as drawing

    with progress_bar("Bounds", quiet) as progress:
        results = experiment.reproduce(quick=quick, jobs=jobs, cluster=cluster, folder=resume, progress=progress)
    present(results, drawing.terminal_tables(results), json_file, report, drawing.report)
    violated = [row for row in results["rows"] if not row["held"]]
    if violated:
        raise ValueError(f"{len(violated)} of {len(results['rows'])} bounds were violated: see the report.")


@reproduce.command("feedback")
def feedback(
    datasets: Annotated[str, typer.Option(help="Data sets, separated by commas.")] = "abalone,letter",
    runs: Annotated[int, typer.Option(min=1, help="Shuffled runs per data set.")] = 20,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """The price of bandit feedback: gradients from noisy loss values against gradients told."""
    from banditboost.experiments import feedback as experiment
    from banditboost.experiments import feedback_report as drawing

    names = listed(datasets)
    experiment.check(names)
    with progress_bar("Feedback", quiet) as progress:
        results = experiment.reproduce(
            names, runs=runs, quick=quick, jobs=jobs, cluster=cluster, folder=resume, progress=progress
        )
    present(results, drawing.terminal_tables(results), json_file, report, drawing.report)


@reproduce.command("beyond")
def beyond(
    datasets: Annotated[str, typer.Option(help="Data sets, separated by commas.")] = "abalone,letter",
    runs: Annotated[int, typer.Option(min=1, help="Shuffled runs per data set.")] = 3,
    peers: Annotated[str, typer.Option(help="Peers, separated by commas; 'all', or '' for none.")] = "all",
    jobs: Jobs = 1,
    cluster: Cluster = None,
    quick: Quick = False,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Beyond the paper: the default, never told a label, against peers that are (extra 'bench'); what its parts are worth."""
    from banditboost.experiments import beyond as experiment
    from banditboost.experiments import beyond_report as drawing

    names = listed(datasets)
    wanted = experiment.wanted_peers(peers)
    with progress_bar("Beyond", quiet) as progress:
        results = experiment.reproduce(
            names, runs=runs, wanted=wanted, quick=quick, jobs=jobs, cluster=cluster, folder=resume, progress=progress
        )
    present(results, drawing.terminal_tables(results), json_file, report, drawing.report)


@reproduce.command("classes")
def classes(
    runs: Annotated[int, typer.Option(min=1, help="Shuffled runs.")] = 3,
    ways: Annotated[str, typer.Option(help="Ways to learn, separated by commas; 'all', or 'ours'.")] = "all",
    rows: Annotated[int, typer.Option(min=2, help="Most rows of a run.")] = 20_000,
    cluster: Cluster = None,
    json_file: JsonFile = None,
    report: ReportFolder = None,
    resume: ResumeFolder = None,
    quiet: Quiet = False,
) -> None:
    """Letter's 26 classes from loss values alone, beside peers that are told the class (extra 'bench')."""
    from banditboost.experiments import classification as experiment
    from banditboost.experiments import classification_report as drawing

    known = {"all": list(experiment.WAYS), "ours": list(experiment.OURS)}
    wanted = known.get(ways) or listed(ways)
    with progress_bar("Classes", quiet) as progress:
        results = experiment.reproduce(wanted, runs=runs, rows=rows, cluster=cluster, folder=resume, progress=progress)
    present(results, drawing.terminal_tables(results), json_file, report, drawing.report)


def listed(text: str) -> list[str]:
    """Return what stands between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


@contextmanager
def progress_bar(title: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far long work is and how long it will take."""
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
    with Progress(*columns, console=err) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def present(
    results: dict[str, Any],
    tables: list[Table],
    json_file: Path | None,
    folder: Path | None,
    report: Callable[[dict[str, Any], Path], Path],
) -> None:
    """Show an experiment's tables; write its results and its report where they are wanted."""
    for table in tables:
        out.print(table)
    save_results(results, json_file)
    if folder is not None:
        out.print(f"Report: {report(results, folder)}", highlight=False, soft_wrap=True)


def save_results(results: dict[str, Any], path: Path | None) -> None:
    """Write results with versions and machine, all or nothing."""
    if path is None:
        return
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
    out.print(f"Results: {path}", highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line: errors are one sentence and exit code 1; `--debug` shows where they came from."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a column's name that the terminal cannot show must not end the work
        sys.stdout.reconfigure(errors="backslashreplace")
    if "--debug" in sys.argv:
        app()
    try:
        app()
    except SystemExit as stop:
        if stop.code == 130:  # what the framework makes of Ctrl-C
            err.print("Interrupted. What was finished is kept where --resume, --log, --checkpoint or --storage say.")
        raise
    except (ValueError, OSError, ImportError) as error:
        err.print(f"Error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

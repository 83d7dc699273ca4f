"""The command line: `banditboost --help`."""

from __future__ import annotations

import io
import sys
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ImportError:
    sys.exit("The command line needs the extra 'cli': pip install 'banditboost[cli]'.")

from banditboost import datasets
from banditboost._core.version import __version__
from banditboost.cli.common import err, say_when_compiling, tell
from banditboost.cli.journal import journal
from banditboost.cli.register import register
from banditboost.cli.reproduce import reproduce
from banditboost.cli.serve import keys

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
)
register(app)
app.add_typer(journal, name="journal", rich_help_panel="Service and journals")
app.add_typer(keys, name="keys", rich_help_panel="Service and journals")
app.add_typer(reproduce, name="reproduce", rich_help_panel="Experiments")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"banditboost {__version__}")
        raise typer.Exit


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Learn online from loss values alone.

    Begin with a table of your own: `banditboost run table.csv --target COLUMN`. Every command explains its options with `--help`.
    """


@app.command("datasets", rich_help_panel="Experiments")
def list_datasets(
    fetch: Annotated[
        str | None, typer.Option(help="Download this data set into the cache folder and check that it is complete.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
) -> None:
    """Show the data sets: rows, features, label range, where they come from."""
    # A pipe or a file has no width of its own: tables get room there.
    out = Console(width=None if sys.stdout.isatty() else 132)
    if fetch is not None:
        out.print(f"Fetched: {datasets.fetch(fetch, quiet=quiet)}", highlight=False, soft_wrap=True)
        return
    table = Table("name", "rows", "features", "task", "labels", "source")
    for name in datasets.NAMES:
        info = datasets.describe(name)
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


def main() -> None:
    """Run the command line: errors are one sentence and exit code 1; `--debug` shows where they came from."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a column's name that the terminal cannot show must not end the work
        sys.stdout.reconfigure(errors="backslashreplace")
    say_when_compiling(sys.argv)
    if "--debug" in sys.argv:
        app()
    try:
        app()
    except SystemExit as stop:
        if stop.code == 130:  # the exit code that the framework gives Ctrl-C
            err.print(
                "Interrupted. Finished work is kept in the files that --resume, --log, --checkpoint or --storage name."
            )
        raise
    except (ValueError, OSError, ImportError) as error:
        tell(f"Error: {error}", style="red")
        sys.exit(1)


if __name__ == "__main__":
    main()

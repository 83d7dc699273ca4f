"""Commands of the shell on a user's own table, one per file."""

from __future__ import annotations

import typer

from banditboost.commands import explain, predict, run, tune


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (run.run, predict.predict, tune.tune, explain.explain):
        app.command(command.__name__)(command)

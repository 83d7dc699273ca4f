"""Commands of the shell on a user's own table, one per file."""

from __future__ import annotations

import typer

from banditboost.commands.explain import explain
from banditboost.commands.predict import predict
from banditboost.commands.run import run
from banditboost.commands.tune import tune


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (run, predict, tune, explain):
        app.command(command.__name__)(command)

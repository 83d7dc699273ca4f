"""The commands that work on a user's own table and on journals, one per file."""

from __future__ import annotations

import typer

from banditboost.cli import evaluate, explain, predict, replay, run, tune, warm


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    commands = (run.run, predict.predict, tune.tune, explain.explain, replay.replay, evaluate.evaluate, warm.warm)
    for command in commands:
        app.command(command.__name__)(command)

"""The commands that work on a user's own table, on journals, and as a service, one per file."""

from __future__ import annotations

import typer

from banditboost.cli import evaluate, explain, predict, replay, run, serve, tune, warm


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    learning = (run.run, predict.predict, tune.tune, explain.explain, replay.replay)
    for command in (*learning, evaluate.evaluate, warm.warm, serve.serve):
        app.command(command.__name__)(command)

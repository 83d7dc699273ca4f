"""The commands that work on a user's own table, on journals, and as a service, one per file."""

from __future__ import annotations

import typer

from banditboost.cli import evaluate, explain, predict, replay, run, serve, tune, warm

GROUPS = {
    "Your own table": (run.run, predict.predict, tune.tune, explain.explain),
    "Logs of decisions": (evaluate.evaluate, warm.warm),
    "Service and journals": (serve.serve, replay.replay),
}
"""The commands, in the groups that the help shows."""


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for group, commands in GROUPS.items():
        for command in commands:
            app.command(command.__name__, rich_help_panel=group)(command)

"""`banditboost replay`: rebuild a booster from its journal, and check that it is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from banditboost.booster import Booster
from banditboost.journal import Journal


def replay(
    journal: Annotated[Path, typer.Argument(help="The journal file.", dir_okay=False)],
    model: Annotated[
        Path | None, typer.Option(help="A saved booster that must be in the same state.", dir_okay=False)
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the rebuilt booster to this file.", dir_okay=False)] = None,
) -> None:
    """Repeat the calls of a journal and compare the queries of every ask, all digests on the way, and a saved model if given."""
    found = Journal.replay(journal)
    digest = found.booster.digest()
    typer.echo(f"Calls:      {found.calls}, of which {found.repeated} were repeated after the last snapshot")
    typer.echo(f"Rounds:     {found.booster.rounds} told, {len(found.tickets)} tickets in flight")
    typer.echo(f"Compared:   {found.asks_compared} asks and {found.marks_compared} digests of the whole state")
    typer.echo(f"Bits:       {found.report() or 'all equal'}")
    if found.failed:
        typer.echo(f"Left out:   {found.failed}")
    typer.echo(f"Digest:     {digest}")
    if model is not None:
        other = Booster.load(model).digest()
        if other != digest:
            raise ValueError(f"model must be in the state that the journal ends in; {model} has the digest {other}.")
        typer.echo(f"Model:      {model} is in this state")
    if save is not None:
        found.booster.save(save)
        typer.echo(f"Saved:      {save}")

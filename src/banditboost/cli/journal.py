"""`banditboost journal`: look into a journal, check it, and bring back what a damaged one still holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from banditboost.journal import Journal
from banditboost.journal.repair import contents, kind_name, repair

journal = typer.Typer(no_args_is_help=True, help="Look into a journal, check it, or repair it.")

JournalFile = Annotated[Path, typer.Argument(metavar="FILE", help="A journal that `banditboost.Journal` wrote.")]


@journal.command()
def show(
    file: JournalFile,
    records: Annotated[int, typer.Option(min=0, help="Also list so many of the last records, one a line.")] = 0,
) -> None:
    """Show what a journal holds, without repeating a call and without changing it; a damaged one is shown up to the damage."""
    held = contents(file)
    booster, header = held.header["booster"], held.header
    typer.echo(f"Format:     {header['journal']}, written by banditboost {header.get('version')!a:.50}")
    typer.echo(f"Calls:      {held.calls}, of which {header['calls']} before the snapshot")
    typer.echo(f"Snapshot:   {booster['rounds']!a:.50} rounds told, {held.tickets} tickets in flight")
    typer.echo(f"Booster:    {booster['spec'].get('kind')!a:.100}, {booster['features']!a:.50} features")
    typer.echo("Records:    " + ", ".join(f"{count} {name}" for name, count in held.kinds.items()))
    typer.echo(f"Size:       {held.size} bytes, of which {held.end} can be read")
    if held.damaged:
        typer.echo(f"Damaged:    from byte {held.end} on; `banditboost journal repair` keeps what stands before")
    for record in held.found[len(held.found) - records :] if records else ():
        typer.echo(f"{record.position:>12}  {kind_name(record):<12} {len(record.payload)} bytes")


@journal.command()
def check(file: JournalFile) -> None:
    """Repeat all calls of a journal and compare the bits; exit code 1 where it is damaged or cannot be trusted.

    Bits that differ on another kind of processor, or with other versions of libraries, are reported with the largest difference of
    predictions and are no error.
    """
    found = Journal.replay(file)
    typer.echo(f"Calls:      {found.calls}, of which {found.repeated} were repeated after the last snapshot")
    typer.echo(f"Compared:   {found.asks_compared} asks and {found.marks_compared} digests of the whole state")
    if found.superseded:
        typer.echo(f"Note:       the journal went on in another file under the name {found.superseded!a}")
    if found.failed:
        raise ValueError(f"{file} holds a last record that cannot be repeated here: {found.failed}.")
    if found.differs_at is not None and found.same_arithmetic:
        raise ValueError(f"{file}: {found.report()}")
    typer.echo(f"Bits:       {found.report() or 'all equal'}")


@journal.command("repair")
def repair_command(file: JournalFile) -> None:
    """Keep what a damaged journal holds before its damage, so that it can be opened again.

    A copy of the file as it was is kept beside it, as FILE.kept-1 or the next number. A journal in order is not touched.
    """
    done = repair(file)
    for reason in done.reasons:
        typer.echo(reason)
    if done.kept is None:
        typer.echo(f"{file} is in order: nothing was changed.")
        return
    typer.echo(
        f"{file} now holds {done.calls} calls; {done.left_out} calls that can be read and {done.lost_bytes} bytes that cannot are "
        f"left out."
    )
    typer.echo(f"The file as it was is kept as {done.kept.name}.")

"""Logs as the commands read them: plain numbers in blocks, and all else as `banditboost run` reads a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from banditboost.booster import Booster
from banditboost.booster.in_order import names_in
from banditboost.cli.common import Screen
from banditboost.datasets import Encoding
from banditboost.datasets.blocks import few
from banditboost.datasets.own_fields import fields_in
from banditboost.logs import Log
from banditboost.logs.own import is_plain


class LogColumns(NamedTuple):
    """A log, and its columns by the parts that they play, as the options of a command name them."""

    file: Path
    action: str
    loss: str | None
    reward: str | None
    density: str | None
    context: str | None
    ticket: str | None
    time: str | None
    losses: Path | None

    def arguments(self) -> dict[str, Any]:
        """Return what `Log.read` and `Log.read_own` both take."""
        context = None if self.context is None else listed(self.context)
        names = {"action": listed(self.action), "loss": self.loss, "reward": self.reward, "density": self.density}
        return names | {"context": context, "ticket": self.ticket, "time": self.time}


def read(names: LogColumns, said: dict[str, Any], encoding: Encoding | None = None) -> Log:
    """Open a log: by the encoding of a model, as a user says, or as its columns suggest."""
    arguments = names.arguments()
    single = (names.density, names.ticket, names.time, names.reward or names.loss)
    others = [*arguments["action"], *(name for name in single if name is not None)]
    plain = not said and encoding is None and is_plain(names.file, arguments["context"], others)
    if plain or names.losses is not None:
        if said or encoding is not None:
            raise ValueError(
                "losses must be left out where columns of the log are more than plain numbers: join them first."
            )
        return Log.read(names.file, **arguments, losses=names.losses)
    if names.file.is_dir():
        raise ValueError(
            f"LOG must be one file where its columns are more than plain numbers, got the folder {names.file}."
        )
    return Log.read_own(names.file, **arguments, **said, encoding=encoding)


def encoding_of(booster: Any) -> Encoding | None:
    """Return how a model of `banditboost warm` makes numbers of columns; None where it takes numbers as they are."""
    if not isinstance(booster, Booster):
        return None
    fields = fields_in(booster.extra, names_in(booster.extra, booster.features if booster.bank is not None else None))
    return None if fields is None else fields.encoding


def show_context(screen: Screen, log: Log, context: str | None) -> None:
    """Print which columns are the context and how they are read, and what was found in reading them."""
    for note in log.notes:
        screen.say(note)
    if log.columns:
        screen.table("Columns", ("column", "what becomes of it"), list(log.columns), ("column", "what becomes of it"))
    names = log.context_names if log.encoding is None else [column.name for column in log.encoding.columns]
    said = f"Context: {few(names) or 'none'}"
    screen.say(
        f"{said}." if context is not None else f"{said} (all columns that have no other part; --context chooses)."
    )


def listed(text: str) -> list[str]:
    """Return names that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]

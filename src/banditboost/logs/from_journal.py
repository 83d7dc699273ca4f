"""The rounds of a journal as rows of a log: its calls are made again, and every round that is told is noted down."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster.ticket import Ticket
from banditboost.journal import calls, opening
from banditboost.journal.framing import Record
from banditboost.journal.kinds import Kind
from banditboost.journal.replay import Replay
from banditboost.logs.source import Arrays


class Told(NamedTuple):
    """A round that was told: what was played, what it cost, and how likely it was."""

    ticket: Ticket
    actions: Array
    losses: Array
    densities: Array | None


class Noting(Replay):
    """A replay that notes every round that is told."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.told: list[Told] = []

    def _repeat(self, record: Record) -> bool:
        before, told = self.calls, None
        if record.kind in (Kind.TELL, Kind.TELL_AS):
            told = self._read(record)
        there = super()._repeat(record)
        if told is not None and self.calls > before:
            self.told.append(told)
        return there

    def _read(self, record: Record) -> Told | None:
        numbers = calls.about(record.kind, record.payload)
        ticket = self.tickets.get(numbers[0]) if numbers else None
        if ticket is None:
            return None  # the replay says what is wrong
        if ticket.asks != "values":
            raise ValueError(
                f"{self.name} must be of a booster that is told loss values, got one that is told gradients."
            )
        told = calls.told_of(self.booster, self.tickets, record.kind, record.payload)
        asked = np.asarray(ticket.queries, dtype=np.float64)
        if len(told) == 2:
            return Told(ticket, asked, np.asarray(told[1]), None if ticket.probe.density is None else ticket.density)
        _, losses, actions, answered = told
        densities = None if ticket.probe.density is None else ticket.density[answered].copy()
        if densities is not None:  # what was played in place of what was asked was drawn by nobody knows what law
            densities[(actions != asked[answered]).reshape(len(actions), -1).any(axis=1)] = np.nan
        return Told(ticket, np.asarray(actions), np.asarray(losses), densities)


def rounds_of(path: str | os.PathLike[str], parts: Mapping[str, Any] | None) -> tuple[Arrays, tuple[str, ...]]:
    """Return the rounds told since a journal's last snapshot, those that wait with losses that are NaN, and what is to be said."""
    made: list[Noting] = []

    def replay(*given: Any) -> Noting:
        made.append(Noting(*given))
        return made[-1]

    found = opening.read(path, parts, replay)
    replayed = made[-1]
    waiting = [
        Told(ticket, np.asarray(ticket.queries), np.full(len(ticket.queries), np.nan), ticket.probe.density)
        for ticket in found.tickets.values()
    ]
    rounds = [*replayed.told, *waiting]
    if not rounds:
        raise ValueError(f"{os.fspath(path)} must hold at least one round since its last snapshot, got none.")
    contexts, actions, losses, densities, tickets = [], [], [], [], []
    point = 0
    for ticket, played, paid, density in rounds:
        k = len(paid)
        there = np.ones(k, dtype=bool) if density is None else density != 0
        point += int((~there).sum())
        contexts.append(np.tile(np.empty(0) if ticket.context is None else ticket.context, (int(there.sum()), 1)))
        actions.append(played.astype(np.float64).reshape(k, -1)[there])
        losses.append(paid.astype(np.float64)[there])
        densities.append(density[there] if density is not None else None)
        tickets.append(np.full(int(there.sum()), ticket.number))
    known = all(density is not None for density in densities)
    rows = Arrays(
        np.concatenate(contexts),
        np.concatenate(actions),
        np.concatenate(losses),
        np.concatenate([density for density in densities if density is not None]) if known else None,
        np.concatenate(tickets),
        None,
    )
    return rows, tuple(_said(found.calls - found.repeated, len(found.tickets), point))


def _said(earlier: int, waiting: int, point: int) -> list[str]:
    said = []
    if earlier:
        said.append(f"The journal began anew after {earlier:,} calls: rounds told before that are not in this log.")
    if waiting:
        said.append(f"{waiting:,} round(s) were asked and not told: their losses never came.")
    if point:
        said.append(f"{point:,} action(s) about which limits left no choice are left out.")
    return said

"""The rounds of a journal as rows of a log: its calls are made again, and every round that is told is noted down."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster.ticket import Ticket
from banditboost.journal import calls, opening
from banditboost.journal.framing import Record
from banditboost.journal.kinds import Kind
from banditboost.journal.replay import Replay
from banditboost.logs.source import Arrays


class Noting(Replay):
    """A replay that notes every round that is told."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.told: list[tuple[Ticket, Array]] = []

    def _repeat(self, record: Record) -> bool:
        before, ticket = self.calls, None
        if record.kind == Kind.TELL:
            ticket = self.tickets.get(calls.about(record.kind, record.payload)[0])
        there = super()._repeat(record)
        if ticket is not None and self.calls > before:
            if ticket.asks != "values":
                raise ValueError(
                    f"{self.name} must be of a booster that is told loss values, got one that is told gradients."
                )
            self.told.append((ticket, calls.answers_of(record.payload)))
        return there


def rounds_of(path: str | os.PathLike[str], parts: Mapping[str, Any] | None) -> tuple[Arrays, tuple[str, ...]]:
    """Return the rounds told since a journal's last snapshot, those that wait with losses that are NaN, and what is to be said."""
    made: list[Noting] = []

    def replay(*given: Any) -> Noting:
        made.append(Noting(*given))
        return made[-1]

    found = opening.read(path, parts, replay)
    replayed = made[-1]
    rounds = [*replayed.told, *((ticket, np.full(len(ticket.queries), np.nan)) for ticket in found.tickets.values())]
    if not rounds:
        raise ValueError(f"{os.fspath(path)} must hold at least one round since its last snapshot, got none.")
    contexts, actions, losses, densities, tickets = [], [], [], [], []
    point = 0
    for ticket, answers in rounds:
        k = len(answers)
        density = None if ticket.probe.density is None else ticket.density
        there = np.ones(k, dtype=bool) if density is None else density > 0
        point += int((~there).sum())
        contexts.append(np.tile(np.empty(0) if ticket.context is None else ticket.context, (int(there.sum()), 1)))
        actions.append(np.asarray(ticket.queries, dtype=np.float64).reshape(k, -1)[there])
        losses.append(np.asarray(answers, dtype=np.float64)[there])
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

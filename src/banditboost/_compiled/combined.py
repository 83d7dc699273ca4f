"""Banks made of other banks, compiled: copies of several kinds side by side, and outputs that are scaled."""

from __future__ import annotations

from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.round import Desk, hold, learn, look, put_back
from banditboost._core.checks import Array


class SideBySide(NamedTuple):
    """Two banks; the copies of the second come after those of the first (`learners.Mixed`)."""

    first: Any
    rest: Any
    copies: int
    """How many copies the first has."""


@implements(look, SideBySide)
def look_at_both(bank: SideBySide, t: int, begin: int, desk: Desk) -> None:
    """Let both look."""
    look(bank.first, t, begin, desk)
    look(bank.rest, t, begin + bank.copies, desk)


@implements(hold, SideBySide)
def hold_both(bank: SideBySide) -> None:
    """Let both banks keep what looking changes."""
    hold(bank.first)
    hold(bank.rest)


@implements(put_back, SideBySide)
def put_back_both(bank: SideBySide) -> None:
    """Let both banks return to what was before the last look."""
    put_back(bank.first)
    put_back(bank.rest)


@implements(learn, SideBySide)
def learn_both(bank: SideBySide, t: int, begin: int, desk: Desk) -> None:
    """Let both learn."""
    learn(bank.first, t, begin, desk)
    learn(bank.rest, t, begin + bank.copies, desk)


class Scaled(NamedTuple):
    """A bank whose outputs are multiplied by γ (`learners.Scaled`)."""

    bank: Any
    gamma: float
    copies: int


@implements(look, Scaled)
def look_scaled(bank: Scaled, t: int, begin: int, desk: Desk) -> None:
    """Multiply what the bank within says."""
    look(bank.bank, t, begin, desk)
    for i in range(begin, begin + bank.copies):
        for j in range(desk.outputs.shape[1]):
            desk.outputs[i, j] *= bank.gamma


@implements(hold, Scaled)
def hold_scaled(bank: Scaled) -> None:
    """Let the bank within keep what looking changes."""
    hold(bank.bank)


@implements(put_back, Scaled)
def put_back_scaled(bank: Scaled) -> None:
    """Let the bank within return to what was before the last look."""
    put_back(bank.bank)


@implements(learn, Scaled)
def learn_scaled(bank: Scaled, t: int, begin: int, desk: Desk) -> None:
    """Pass the gradients on as they are, with the points at which the bank within would have met them."""
    for i in range(begin, begin + bank.copies):
        for j in range(desk.G.shape[1]):
            half = 0.5 * desk.G[i, j]
            desk.anchors[i, j] = (desk.anchors[i, j] - half) / bank.gamma + half
    learn(bank.bank, t, begin, desk)


class InUnits(NamedTuple):
    """A bank that sees every coordinate in a unit of its own (`learners.InUnits`)."""

    bank: Any
    units: Array
    """Shape (d,)."""
    copies: int


@implements(look, InUnits)
def look_in_units(bank: InUnits, t: int, begin: int, desk: Desk) -> None:
    """Multiply what the bank within says."""
    look(bank.bank, t, begin, desk)
    for i in range(begin, begin + bank.copies):
        for j in range(desk.outputs.shape[1]):
            desk.outputs[i, j] *= bank.units[j]


@implements(hold, InUnits)
def hold_in_units(bank: InUnits) -> None:
    """Let the bank within keep what looking changes."""
    hold(bank.bank)


@implements(put_back, InUnits)
def put_back_in_units(bank: InUnits) -> None:
    """Let the bank within return to what was before the last look."""
    put_back(bank.bank)


@implements(learn, InUnits)
def learn_in_units(bank: InUnits, t: int, begin: int, desk: Desk) -> None:
    """Divide the gradients, and the points at which they were taken."""
    for i in range(begin, begin + bank.copies):
        for j in range(desk.G.shape[1]):
            desk.G[i, j] /= bank.units[j]
            desk.anchors[i, j] /= bank.units[j]
    learn(bank.bank, t, begin, desk)

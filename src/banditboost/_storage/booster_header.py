"""What a saved booster says about itself beside its arrays: read with suspicion, since a file may have been changed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from banditboost._core import checks

IN_FLIGHT = 100_000
"""Most tickets in flight, where nothing else is said."""


class Saved(NamedTuple):
    """Numbers that fit each other."""

    rounds: int
    phase: int
    phase_rounds: int
    features: int | None
    identity: str | None
    asked: int
    in_flight: set[int]
    outdated: int
    limit: int
    extra: dict[str, Any]


def checked(name: str, header: dict[str, Any], first_phase: int | None, roles: Collection[str]) -> Saved:
    """Return a header's numbers; raise a sentence where they cannot have been written by `save`.

    Parameters
    ----------
    name
        What to call the file.
    header
        As read.
    first_phase
        Rounds of a plan's first phase, of which each next one has twice as many; None without a plan.
    roles
        Names of the random streams.
    """

    def number(key: str, default: int | None = None) -> int:
        value = header.get(key, default)
        try:
            return checks.count(key, value, least=0)
        except ValueError as error:
            raise ValueError(f"{name} is damaged: {error}") from None

    rounds, phase, phase_rounds = number("rounds"), number("phase"), number("phase_rounds")
    features = None if header["features"] is None else number("features")
    if first_phase is None:
        if phase != 0:
            raise ValueError(f"{name} is damaged: phase must be 0 without a plan, got {phase}.")
        before, longest = 0, rounds
    else:
        if phase > 60:
            raise ValueError(f"{name} is damaged: phase must be at most 60, got {phase}.")
        before, longest = first_phase * ((1 << phase) - 1), (first_phase << phase) - 1
    if phase_rounds != rounds - before or phase_rounds > longest:
        raise ValueError(
            f"{name} is damaged: phase_rounds must be what rounds and phase say, got {phase_rounds} of {rounds} in phase {phase}."
        )
    if not isinstance(header["streams"], dict) or set(header["streams"]) != set(roles):
        raise ValueError(f"{name} is damaged: streams must be those of {', '.join(sorted(roles))}.")
    # Files of earlier versions lack the rest: their tickets in flight were lost with the booster.
    identity, flying = header.get("identity"), header.get("in_flight", [])
    asked, outdated, limit = number("asked", 0), number("outdated", 0), number("limit", IN_FLIGHT)
    if identity is not None and not (isinstance(identity, str) and 0 < len(identity) <= 64):
        raise ValueError(f"{name} is damaged: identity must be a short text, got {identity!r}.")
    whole = isinstance(flying, list) and all(type(n) is int and 0 < n <= asked for n in flying)
    if not whole or len(set(flying)) != len(flying) or len(flying) > limit or outdated > asked or limit == 0:
        raise ValueError(f"{name} is damaged: its tickets in flight are not among the {asked} that were asked.")
    extra = header.get("extra", {})
    if not isinstance(extra, dict):
        raise ValueError(f"{name} is damaged: what travels with the booster must be named.")
    return Saved(rounds, phase, phase_rounds, features, identity, asked, set(flying), outdated, limit, extra)

"""The part of a saved booster that is not arrays: a spec, counts, random streams and the tickets in flight.

A file may have been changed by anyone, so every entry is checked before it is used: its type, its bounds, and that the entries fit
each other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from banditboost._core import checks
from banditboost._core.spec import from_dict
from banditboost._core.streams import restore, stream
from banditboost._core.version import __version__
from banditboost.booster.spec import FIRST_PHASE, BoosterSpec, Plan

IN_FLIGHT = 100_000
"""Default limit of tickets in flight: where one more is asked, the oldest is forgotten."""
ROLES = ("directions", "perturbations", "coins")
"""Names of a booster's random streams."""
FIELDS = frozenset({"spec", "features", "rounds", "phase", "phase_rounds", "streams"})
"""Entries that a header must have; a file without one of them is refused."""
OPTIONAL = frozenset({"extra", "identity", "asked", "in_flight", "outdated", "limit"})
"""Entries that a header may have; a file with any other entry is refused."""
COUNTS = {"rounds": 2**62, "phase": 60, "phase_rounds": 2**62, "features": 2**40}
"""Largest allowed value of each count; a file with a larger one is refused. Horizons of a plan double with every phase."""
SPARE = 10**7
"""How many numbers a booster may need beyond those in its file's arrays, for what is made anew and not saved; beyond that, the
file is refused before any memory is taken."""

QUESTIONS = 10**6
"""How many questions a round may have beyond the numbers in a file's arrays; beyond that, the file is refused."""


class Saved(NamedTuple):
    """Entries of a header that were checked and fit each other."""

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


def read_spec(name: str, header: dict[str, Any], numbers: int, parts: Mapping[str, Any] | None) -> BoosterSpec | Plan:
    """Return the spec in a header, once the header is found to be complete and the booster is found to fit into memory.

    Parameters
    ----------
    name
        What to call the file in an error.
    header
        As read.
    numbers
        How many numbers the file's arrays hold.
    parts
        Functions and specs that the file names and does not hold: see `banditboost.Booster.load`.
    """
    _check_entries(name, header)
    spec = from_dict(header["spec"], parts)
    if not isinstance(spec, BoosterSpec | Plan):
        raise ValueError(f"{name} does not hold a booster.")
    try:
        needed = max(spec.needs(header["features"], phase) for phase in (0, header["phase"]))
        made = spec if isinstance(spec, BoosterSpec) else spec.at(FIRST_PHASE << header["phase"])
        questions = made.gradient.count(made.copies)
    except ArithmeticError as error:
        raise ValueError(f"{name} is damaged: its spec asks for more than numbers can say ({error}).") from None
    if needed > numbers + SPARE:
        raise ValueError(f"{name} is damaged: its spec asks for {needed} numbers, and its arrays hold {numbers}.")
    if questions > numbers + QUESTIONS:
        raise ValueError(
            f"{name} is damaged: its spec asks {questions} questions a round, and its arrays hold {numbers}."
        )
    return spec


def _check_entries(name: str, header: dict[str, Any]) -> None:
    missing, strange = FIELDS - set(header), set(header) - FIELDS - OPTIONAL
    if missing:
        raise ValueError(f"{name} is damaged: it lacks {', '.join(sorted(missing))}.")
    if strange:
        raise ValueError(
            f"{name} says more than this version of banditboost ({__version__}) understands: {', '.join(sorted(strange)):.200}."
        )
    for field, most in COUNTS.items():
        value = header[field]
        if not (type(value) is int and 0 <= value <= most) and not (field == "features" and value is None):
            raise ValueError(f"{name} is damaged: {field} must be a whole number up to {most}, got {value!r:.50}.")
    streams = header["streams"]
    if not isinstance(streams, dict) or set(streams) != set(ROLES):
        raise ValueError(f"{name} is damaged: its random streams are not those of a booster.")
    for role, saved in streams.items():
        restore(stream(0, role), saved)


def checked(name: str, header: dict[str, Any], planned: bool, roles: Collection[str]) -> Saved:
    """Return a header's entries; raise where `save` cannot have written them.

    Parameters
    ----------
    name
        What to call the file in an error.
    header
        As read.
    planned
        Whether the booster has a plan, whose phases start with `FIRST_PHASE` rounds and double.
    roles
        Names of the booster's random streams.
    """

    def number(key: str, default: int | None = None) -> int:
        value = header.get(key, default)
        try:
            return checks.count(key, value, least=0)
        except ValueError as error:
            raise ValueError(f"{name} is damaged: {error}") from None

    rounds, phase, phase_rounds = number("rounds"), number("phase"), number("phase_rounds")
    features = None if header["features"] is None else number("features")
    if not planned:
        if phase != 0:
            raise ValueError(f"{name} is damaged: phase must be 0 without a plan, got {phase}.")
        before, longest = 0, rounds
    else:
        if phase > COUNTS["phase"]:
            raise ValueError(f"{name} is damaged: phase must be at most {COUNTS['phase']}, got {phase}.")
        before, longest = FIRST_PHASE * ((1 << phase) - 1), (FIRST_PHASE << phase) - 1
    if phase_rounds != rounds - before or phase_rounds > longest:
        raise ValueError(
            f"{name} is damaged: phase_rounds must be what rounds and phase say, got {phase_rounds} of {rounds} in phase {phase}."
        )
    if not isinstance(header["streams"], dict) or set(header["streams"]) != set(roles):
        raise ValueError(f"{name} is damaged: streams must be those of {', '.join(sorted(roles))}.")
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

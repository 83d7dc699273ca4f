"""What is checked when a journal is opened: the booster that is given, and what the file says of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from banditboost._core.spec import from_dict
from banditboost.booster import Booster, BoosterSpec, Plan
from banditboost.booster.header import read_spec
from banditboost.booster.ticket import Ticket
from banditboost.journal.copies import keep_copy
from banditboost.journal.framing import read_plain, scan, whole
from banditboost.journal.ledger import Ledger
from banditboost.journal.replay import Replay, Replayed, replayed
from banditboost.journal.snapshot import FORMAT, read_snapshot
from banditboost.learners.categories import columns_needed


def read(
    path: str | os.PathLike[str], parts: Mapping[str, Any] | None, replay: Callable[..., Replay] = Replay
) -> Replayed:
    """Repeat the calls of a journal on a booster that is made from what the file says."""
    name = os.fspath(path)
    found, _ = scan(name, read_plain(path))
    header, arrays = read_snapshot(name, found[0])
    spec = read_spec(name, header["booster"], sum(array.size for array in arrays), parts)
    try:
        booster = Booster.from_spec(spec)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # from a function in `parts`
        raise ValueError(f"{name} holds a booster that cannot be made here: {error!r:.200}.") from error
    return replayed(name, booster, header, arrays, found, replay)


def resumed(path: Path, booster: Booster, ledger: Ledger | None = None) -> tuple[Replayed, bool, str]:
    """Repeat the calls of a journal on a booster like the one given, which must be fresh.

    Returns
    -------
    What was found, whether more records may follow those in the file, and what is to be said about it.
    """
    name, data = os.fspath(path), read_plain(path)
    found, _ = scan(name, data)
    header, arrays = read_snapshot(name, found[0])
    wanted = booster.plan or booster.spec
    own, written = json.loads(wanted.to_json()), header["booster"]["spec"]
    # A spec of an earlier version is rebuilt: it may use old names, and lack fields that have a default.
    if written != own and json.loads(_rebuilt(written, wanted.callables())) != own:
        raise ValueError(
            f"{name} holds a booster with other parts: booster must have the spec that the journal began with."
        )
    if booster.rounds or booster._asked:
        raise ValueError(f"booster must be fresh where {name} exists already, got one with {booster.rounds} rounds.")
    read_spec(name, header["booster"], sum(array.size for array in arrays), wanted.callables())  # for its checks
    if ledger is None and "ledger" in header:
        raise ValueError(
            f"{name} belongs to a service that keeps a ledger in it: let `banditboost serve` open it, or read it by "
            "Journal.replay."
        )
    again = replayed(name, Booster.from_spec(wanted), header, arrays, found, ledger=ledger)
    if again.superseded:
        raise ValueError(
            f"{name} is no longer the journal, which went on in another file under the name {again.superseded!a}: open that one, "
            "or make this one a journal of its own by `banditboost journal repair`."
        )
    said = again.report() and f"{name}: {again.report()}"
    if again.failed:
        said = (
            f"{name}: {again.failed}. It was the last one, which may have failed when it was made as well, and is left out; the "
            f"file as it was is kept as {keep_copy(path, data).name}. {said}"
        ).rstrip()
    elif again.left_out:
        said = f"{said} The file as it was is kept as {keep_copy(path, data).name}."
    # What is recorded from now on must not follow records of another format, or of other arithmetic.
    return again, header["journal"] == FORMAT and written == own and _same(again), said


def _same(again: Replayed) -> bool:
    return again.differs_at is None and again.same_arithmetic is not False


def check_booster(booster: Booster) -> None:
    """Raise where a booster cannot be recorded."""
    if not isinstance(booster, Booster):
        raise ValueError(f"booster must be a Booster, got {type(booster).__name__}.")
    if booster.journal is not None:
        raise ValueError("booster must have no journal yet: close the one that it has.")
    try:
        wanted = booster.plan or booster.spec
        wanted.to_dict()
        # Where the copies are not made yet, a passing booster shows whether they can be saved.
        features = max(columns_needed(booster.spec.learner), 1)
        (booster if booster.bank is not None else Booster.from_spec(booster.spec, features)).arrays()
    except TypeError as error:
        raise ValueError(f"booster must have parts that can be saved: {error}") from None


def _rebuilt(written: Any, functions: Mapping[str, Any]) -> str:
    """Return the JSON of a spec in a journal under present names; an empty object where it cannot be read here."""
    try:
        return str(from_dict(written, functions).to_json())
    except (ValueError, TypeError, AttributeError):
        return "{}"


def in_flight(booster: Booster, tickets: Iterable[Ticket]) -> dict[int, Ticket]:
    """Return the tickets given by number; raise where they are not those that the booster has in flight."""
    given = {}
    for ticket in tickets:
        booster._check_ticket(ticket)
        given[ticket.number] = ticket
    if tuple(sorted(given)) != booster.in_flight:
        raise ValueError(
            f"tickets must be those that the booster has in flight when its journal begins, got {len(given)} for "
            f"{len(booster.in_flight)} in flight: give them, or forget them first."
        )
    return dict(sorted(given.items()))


def written_spec(path: str | os.PathLike[str]) -> BoosterSpec | Plan:
    """Return the spec of the booster whose calls a journal holds."""
    name = os.fspath(path)
    found = whole(read_plain(path))
    if not found:
        raise ValueError(f"{name} is not a journal, or it is damaged at byte 0.")
    header, arrays = read_snapshot(name, found[0])
    return read_spec(name, header["booster"], sum(array.size for array in arrays), None)

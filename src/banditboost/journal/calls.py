"""What a journal writes down of every call: how it is packed into a record's payload, and how it is made again from that.

One kind of call is one entry here: a number in `banditboost.journal.kinds`, a function that packs it, and a case in `repeat`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._core.sparse_row import SparseRow
from banditboost._storage import array_table
from banditboost.booster import Booster
from banditboost.booster.answers import Said
from banditboost.booster.growing import Late
from banditboost.booster.header import SPARE
from banditboost.booster.named import MOST_COLUMNS
from banditboost.booster.ticket import Ticket
from banditboost.encoder import Pairs
from banditboost.gradients import Aim, Limits
from banditboost.journal.kinds import Kind
from banditboost.spaces import stack_storage
from banditboost.spaces.stacks import Stack

_LIMIT = struct.Struct("<Q")
_SIZE = struct.Struct("<Q")
"""The number of coordinates of limits; the lowest and the highest value of each follow, and then what an ask has."""
_TELL = struct.Struct("<QB")
"""A ticket's number, and 1 where the answers are a stack of matrices (packed) or 0 where they are an array (its bytes)."""

_TELL_AS = struct.Struct("<QQ")
"""A ticket's number, and how many queries it has; a byte for each follows, and then the numbers of those that are answered."""
_LEARN = struct.Struct("<QB")
"""The number of coordinates of an action, and 1 where its density is known, plus 2 where the aim is."""


def pack_ask(context: Array | None) -> bytes:
    """Pack the context of an ask; learners without contexts have none."""
    return b"" if context is None else b"x" + context.tobytes()


def pack_ask_within(context: Array | None, limits: Limits) -> bytes:
    """Pack the limits of an ask, and its context as an ask without limits has it."""
    return _SIZE.pack(len(limits.low)) + limits.low.tobytes() + limits.high.tobytes() + pack_ask(context)


def pack_ask_named(named: Pairs, limits: Limits | None) -> bytes:
    """Pack the limits of an ask, of size zero where there are none, and the features of its context with the names that are new.

    What is recorded is the encoded context, by hash and before columns are given out, so that reading it again does not depend on
    how values are encoded.
    """
    ends = np.zeros((2, 0)) if limits is None else np.array([limits.low, limits.high])
    texts = {str(place): text for place, text in enumerate(named.texts) if text}
    return _SIZE.pack(ends.shape[1]) + ends.tobytes() + array_table.pack(texts, [named.hashes, named.values])


def pack_tell(number: int, answers: Any) -> bytes:
    """Pack a ticket's number and the answers about it."""
    if not isinstance(answers, Stack):
        return _TELL.pack(number, 0) + bytes(answers.tobytes())
    table = array_table.ArrayTable()
    where = stack_storage.put(answers, table)
    return _TELL.pack(number, 1) + array_table.pack({"answers": where}, table.arrays)


def pack_tell_as(number: int, said: Said) -> bytes:
    """Pack a ticket's number, which of its queries have an answer, what was played there, and the answers."""
    assert said.actions is not None
    assert said.answered is not None
    head = _TELL_AS.pack(number, len(said.answered)) + said.answered.astype("u1").tobytes()
    return head + said.answers.tobytes() + np.ascontiguousarray(said.actions[said.answered], dtype="<f8").tobytes()


def pack_learn(context: Array | None, action: Array, answers: Array, density: float | None, aim: Aim | None) -> bytes:
    """Pack an action that another has chosen, its loss, its density, the aim and the spread, and the context as an ask has it."""
    numbers: list[Any] = [
        np.ravel(action),
        answers,
        [0.0 if density is None else density],
        *([] if aim is None else aim),
    ]
    flags = (density is not None) + 2 * (aim is not None)
    return _LEARN.pack(np.size(action), flags) + np.concatenate(numbers).astype("<f8").tobytes() + pack_ask(context)


def pack_learn_named(named: Pairs, action: Array, answers: Array, density: float | None) -> bytes:
    """Pack the same in a context with names, whose features follow as an ask without limits has them."""
    return pack_learn(None, action, answers, density, None) + pack_ask_named(named, None)


def pack_forget(numbers: Sequence[int]) -> bytes:
    """Pack the numbers of tickets that are given up."""
    return np.array(numbers, dtype="<u8").tobytes()


def pack_limit(limit: int) -> bytes:
    """Pack the most tickets that may be in flight."""
    return _LIMIT.pack(limit)


def pack_reset(copies: NDArray[np.intp]) -> bytes:
    """Pack the indices of copies that begin again."""
    return copies.astype("<u8").tobytes()


def pack_growth(news: Sequence[Late]) -> bytes:
    """Pack which growths are late from now on, and which no longer: a bank, a copy, and 1 or 0 of each."""
    return np.array(news, dtype="<u8").tobytes()


class MalformedError(ValueError):
    """A record that no version of the library has written, although its checksum is right."""


class TooLargeError(ValueError):
    """A first context that asks for far more memory than the file has bytes."""


def repeat(booster: Booster, tickets: dict[int, Ticket], kind: int, payload: bytes) -> Ticket | None:
    """Make a recorded call again, with the tickets in flight at hand; return the ticket that it issued."""
    try:
        arguments = _unpacked(booster, tickets, kind, payload)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError, struct.error) as error:
        raise MalformedError(f"it cannot be read: {error!s:.200}") from error
    match kind:
        case Kind.ASK | Kind.ASK_WITHIN | Kind.ASK_NAMED:
            context, limits = arguments
            _check_room(booster, context)
            return booster.ask(context, space=limits)
        case Kind.TELL:
            ticket, answers = arguments
            booster.tell(ticket, losses=answers)
        case Kind.TELL_AS:
            ticket, answers, actions, answered = arguments
            booster.tell(ticket, losses=answers, actions=actions, answered=answered)
        case Kind.LEARN:
            context, action, loss, density, aim, spread = arguments
            _check_room(booster, context)
            booster.learn(context, action, loss=loss, density=density, aim=aim, spread=spread)
        case Kind.LEARN_NAMED:
            context, action, loss, density = arguments
            _check_room(booster, context)
            booster.learn(context, action, loss=loss, density=density)
        case Kind.FORGET:
            for ticket in arguments:
                booster.forget(ticket)
        case Kind.LIMIT:
            booster.limit_in_flight(*arguments)
        case Kind.RESET:
            booster.reset(arguments)
        case Kind.GROWTH:
            booster._set_late(arguments)
    return None


def about(kind: int, payload: bytes) -> list[int]:
    """Return the numbers of the tickets that a recorded call is about; none where it is about none, or cannot be read.

    Examples
    --------
    >>> about(Kind.FORGET, pack_forget([3, 5])), about(Kind.ASK, pack_ask(None))
    ([3, 5], [])
    """
    if kind in (Kind.TELL, Kind.TELL_AS) and len(payload) >= _SIZE.size:
        return [_SIZE.unpack_from(payload)[0]]
    return list(np.frombuffer(payload, "<u8").tolist()) if kind == Kind.FORGET and len(payload) % 8 == 0 else []


def told_of(booster: Booster, tickets: dict[int, Ticket], kind: int, payload: bytes) -> Sequence[Any]:
    """Return what a recorded tell says: the ticket and the losses and, where given, actions and which answers came."""
    return _unpacked(booster, tickets, kind, payload)


def context_of(booster: Booster, kind: int, payload: bytes) -> Array | SparseRow | None:
    """Return the context of a recorded learn, as a row of the columns that the booster has by now."""
    context = _unpacked(booster, {}, kind, payload)[0]
    if isinstance(context, Pairs):
        found: Array | SparseRow = booster._row(context)
        return found
    return None if context is None else np.asarray(context)


def _unpacked(booster: Booster, tickets: dict[int, Ticket], kind: int, payload: bytes) -> Sequence[Any]:
    """Return the arguments of a recorded call."""
    match kind:
        case Kind.ASK:
            return _context(payload), None
        case Kind.ASK_WITHIN:
            (size,) = _SIZE.unpack_from(payload)
            ends = np.frombuffer(payload, "<f8", 2 * size, _SIZE.size).reshape(2, *booster.spec.space.shape)
            return _context(payload[_SIZE.size + ends.nbytes :]), (ends[0], ends[1])
        case Kind.ASK_NAMED:
            return _named(booster, payload)
        case Kind.TELL:
            number, described = _TELL.unpack_from(payload)
            ticket = tickets[number]
            if described:
                header, arrays = array_table.unpack(payload[_TELL.size :])
                return ticket, stack_storage.take(header["answers"], arrays)
            shape = (-1,) if ticket.asks == "values" else (-1, *np.shape(ticket.prediction))
            return ticket, np.frombuffer(payload, "<f8", offset=_TELL.size).reshape(shape)
        case Kind.TELL_AS:
            return _told_as(tickets, payload)
        case Kind.LEARN:
            return _learned(booster, payload)
        case Kind.LEARN_NAMED:
            return _learned_named(booster, payload)
        case Kind.FORGET:
            return [tickets[number] for number in np.frombuffer(payload, "<u8").tolist()]
        case Kind.LIMIT:
            return _LIMIT.unpack(payload)
        case Kind.GROWTH:
            return _late(booster, payload)
        case Kind.REMARK:
            return ()
        case _:
            return list(np.frombuffer(payload, "<u8").tolist())


def _told_as(tickets: dict[int, Ticket], payload: bytes) -> Sequence[Any]:
    number, queries = _TELL_AS.unpack_from(payload)
    ticket = tickets[number]
    answered = np.frombuffer(payload, "u1", queries, _TELL_AS.size).astype(bool)
    numbers, count = np.frombuffer(payload[_TELL_AS.size + queries :], "<f8"), int(answered.sum())
    return ticket, numbers[:count], numbers[count:].reshape(count, *np.shape(ticket.prediction)), answered


def _learned(booster: Booster, payload: bytes) -> Sequence[Any]:
    size, flags = _LEARN.unpack_from(payload)
    shape = booster.spec.space.shape
    count = size + 2 + (2 * size if flags & 2 else 0)
    numbers = np.frombuffer(payload, "<f8", count, _LEARN.size)
    action, loss, density = numbers[:size].reshape(shape), float(numbers[size]), float(numbers[size + 1])
    aim, spread = numbers[size + 2 :].reshape(2, *shape) if flags & 2 else (None, None)
    context = _context(payload[_LEARN.size + numbers.nbytes :])
    return context, action, loss, density if flags & 1 else None, aim, spread


def _learned_named(booster: Booster, payload: bytes) -> Sequence[Any]:
    size, _ = _LEARN.unpack_from(payload)
    end = _LEARN.size + 8 * (size + 2)
    _, action, loss, density, _, _ = _learned(booster, payload[:end])
    return _named(booster, payload[end:])[0], action, loss, density


def _late(booster: Booster, payload: bytes) -> list[Late]:
    if booster.bank is None:
        raise ValueError("nothing grows")
    growers, news = booster.bank.growers(), np.frombuffer(payload, "<u8").reshape(-1, 3).tolist()
    for grower, copy, late in news:
        if not (copy < growers[grower].copies and late < 2):
            raise ValueError("a growth is of no copy")
    return [Late(grower, copy, bool(late)) for grower, copy, late in news]


def _context(payload: bytes) -> Array | None:
    return np.frombuffer(payload, "<f8", offset=1) if payload else None


def _named(booster: Booster, payload: bytes) -> tuple[Pairs, Any]:
    """Return the features of a context with names, and limits where there are any."""
    (size,) = _SIZE.unpack_from(payload)
    ends = np.frombuffer(payload, "<f8", 2 * size, _SIZE.size)
    texts, (hashes, values) = array_table.unpack(payload[_SIZE.size + ends.nbytes :])
    said = tuple(texts.get(str(place), "") for place in range(len(hashes)))
    named = Pairs(hashes, values, said)
    if booster.spec.encoder is None or not named.whole or sum(map(bool, said)) != len(texts):
        raise ValueError("its features are not those of a context with names")
    return named, tuple(ends.reshape(2, *booster.spec.space.shape)) if size else None


def _check_room(booster: Booster, context: Array | Pairs | None) -> None:
    """Raise where the first context makes a booster of a size that nothing in the file bears out, before memory is taken."""
    if booster.bank is None and context is not None:
        features = min(len(context.hashes), MOST_COLUMNS) if isinstance(context, Pairs) else len(context)
        needed = booster.spec.needs(features)
        if needed > features + SPARE:
            raise TooLargeError(f"its {features} features ask for {needed} numbers, which stand nowhere in the file")

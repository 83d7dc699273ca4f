"""What a service knows about its tickets beside the booster: kept in the journal, so that no crash makes it forget.

- when each ticket in flight was asked, for deadlines;
- what was answered under an idempotency key, so that the same question gets the same answer;
- a digest of what was told about each ticket, so that the same answer is taken once and another one is noticed;
- what is watched (`banditboost.serve.watch`): who plays which round, what was paid, and what has happened;
- the *epoch* of each ticket: a roll-back begins a new one, so that numbers that are given out again make other names.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost._storage.array_table import ArrayTable, take
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.calls import about
from banditboost.journal.kinds import ASKS, LEARNS, Kind
from banditboost.serve.noted import Noted
from banditboost.serve.rounds import EPOCH, NOBODY, SUBJECT
from banditboost.serve.watch import SIDE, Watch

MOST_TOLD = 100_000
"""How many told tickets are remembered with a digest of their answers; older ones are only known to be no longer in flight."""
MOST_KEYED, MOST_KEYED_BYTES = 10_000, 2**24
"""How many asks under a key are remembered, and with how many bytes of answers; the oldest are forgotten first."""
MOST_IN_FLIGHT = 100_000
"""Most tickets in flight that a booster of a service may have."""
DIGEST = 16
_NOTE = struct.Struct(f"<d{DIGEST}s{DIGEST}s")
_NOTE_WITH_SUBJECT = struct.Struct(f"<d{DIGEST}s{DIGEST}s{SUBJECT}s")
_TELL_HEAD = 9
NO_KEY = bytes(DIGEST)


class Note(NamedTuple):
    """What stands beside an ask or a learn in the journal."""

    time: float
    """When it was asked, in seconds since 1970."""
    key: bytes = NO_KEY
    """A digest of the idempotency key and of the place in its request; zeros where there is no key."""
    request: bytes = NO_KEY
    """A digest of what was asked, so that a key that is used for something else is noticed."""
    subject: bytes = NOBODY
    """A digest of the caller's key for the person whom it is about; zeros where none was given."""

    def pack(self) -> bytes:
        """Return the note as bytes."""
        return _NOTE.pack(*self[:3]) if self.subject == NOBODY else _NOTE_WITH_SUBJECT.pack(*self)

    @classmethod
    def unpack(cls, data: bytes) -> Note:
        """Read what `pack` has written."""
        beyond = len(data) - _NOTE.size  # a subject, or who plays the round, or both: lengths tell
        form = _NOTE_WITH_SUBJECT if beyond in (SUBJECT, SUBJECT + SIDE) else _NOTE
        return cls(*form.unpack_from(data))


class Keyed(NamedTuple):
    """What was answered under an idempotency key."""

    request: bytes
    answer: bytes
    """The answer as JSON."""


def digest(*parts: bytes) -> bytes:
    """Return a digest of a few texts; where one ends is part of it."""
    total = hashlib.blake2b(digest_size=DIGEST)
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.digest()


def digest_of_answers(losses: Array) -> bytes:
    """Return a digest of what was told, as losses; zeros have one sign."""
    return digest((np.asarray(losses, dtype="<f8") + 0.0).tobytes())


def digest_of_others(losses: Array, answered: Array, actions: Array | None) -> bytes:
    """Return a digest of what was told with a mask or with other actions; without these, they were those asked about.

    The half about answers comes first, so that both can be compared where actions were given although they are those asked about.
    """
    said = digest((np.asarray(losses, dtype="<f8") + 0.0).tobytes(), np.asarray(answered, dtype="u1").tobytes())
    half = DIGEST // 2
    return said[:half] + (bytes(half) if actions is None else digest(np.asarray(actions, "<f8").tobytes())[:half])


LEARNED = json.dumps({"result": "learned"}).encode()


class ServiceLedger:
    """The ledger of one booster of a service; see `banditboost.journal.ledger.Ledger`."""

    def __init__(self) -> None:
        self.restore(None, [])

    # What is asked of it.

    def name_of(self, number: int) -> str:
        """Return the name under which callers know a ticket: its epoch and its number."""
        return f"{self._epoch_of(number)}-{number}"

    def code_of(self, number: int) -> int:
        """Return the number that a ticket has in logs."""
        return self._epoch_of(number) * EPOCH + number

    def number_of(self, name: str) -> int | None:
        """Return the number of a ticket; None where no ticket of this name was ever issued, or a roll-back has undone it."""
        epoch, _, number = name.partition("-")
        if not (epoch.isdecimal() and number.isdecimal() and epoch.isascii() and number.isascii()) or len(name) > 40:
            return None
        return int(number) if 0 < int(number) <= self.asked and self._epoch_of(int(number)) == int(epoch) else None

    def _epoch_of(self, number: int) -> int:
        return next(epoch for epoch, first in reversed(self.epochs) if first <= number)

    def begin_epoch(self, after: ServiceLedger) -> None:
        """Let tickets from now on have names that none had before, also none of a later state that is given up."""
        self.epochs.append((after.epochs[-1][0] + 1, self.asked + 1))
        self.noted.began.append(self.noted.total)

    def leads_to(self, later: ServiceLedger) -> bool:
        """Return whether this is a state from which a later one has come, and not one that a roll-back has undone."""
        known, next_one = len(self.epochs), len(later.epochs) > len(self.epochs)
        if later.epochs[:known] != self.epochs:
            return False
        if not next_one:
            return self.asked <= later.asked and self.noted.total <= later.noted.total
        began = later.noted.began[known - 1 - len(later.epochs) :][:1]
        return self.asked < later.epochs[known][1] and bool(began) and self.noted.total <= began[0]

    def forget_subjects(self, tickets: Collection[int]) -> None:
        """Forget what was answered and what is shown of some tickets, which are given by their numbers in logs."""
        for number in [number for number in self.watch.latest if self.code_of(number) in tickets]:
            self.watch.forgot(number)
        names = {f"{code // EPOCH}-{code % EPOCH}" for code in tickets if code > 0}
        for key in [key for key, one in self.keyed.items() if json.loads(one.answer).get("ticket") in names]:
            self._keyed_bytes -= len(self.keyed.pop(key).answer)

    # What it hears from the journal.

    def attend(self, booster: Booster, tickets: Mapping[int, Ticket]) -> None:
        """Hear which tickets are in flight, and of which booster."""
        for number in [number for number in self.watch.waiting if number not in tickets]:  # a limit was reached
            self.watch.forgot(number)
        self.noted.attend(booster, tickets, self.asked_at, self.code_of)

    def happened(self, kind: int, payload: bytes, note: bytes, issued: Ticket | None) -> None:
        """Note a call."""
        if kind in ASKS and issued is not None:
            told = Note.unpack(note) if note else Note(0.0)
            self.watch.asked(issued, told.time, note[len(told.pack()) :])
            self._note_ask(told, issued)
        elif kind == Kind.TELL:
            (number,) = about(kind, payload)
            losses = np.frombuffer(payload, "<f8" if payload[_TELL_HEAD - 1] == 0 else "u1", offset=_TELL_HEAD)
            self._note_told(number, digest_of_answers(losses))
            self.noted.tell(number, kind, payload, losses)
        elif kind == Kind.TELL_AS:
            self._note_told_as(payload)
        elif kind in LEARNS:
            self._note_learned(kind, payload, Note.unpack(note) if note else Note(0.0))
        elif kind == Kind.FORGET:
            for number in about(kind, payload):
                self.asked_at.pop(number, None)
                self.noted.forget(number)
                self.watch.forgot(number)
        elif kind == Kind.REMARK:
            self.watch.decided(payload)
        if kind in (Kind.TELL, Kind.TELL_AS):
            self.watch.told(kind, about(kind, payload)[0], payload)

    def _note_ask(self, note: Note, issued: Ticket) -> None:
        self.asked = issued.number
        self.asked_at[issued.number] = note.time
        self.noted.ask(issued, self.code_of(issued.number), note.time, note.subject)
        if len(self.asked_at) > MOST_IN_FLIGHT:
            oldest = next(iter(self.asked_at))
            del self.asked_at[oldest]
            self.noted.forget(oldest)
        self.watch.bound(MOST_IN_FLIGHT)
        if note.key != NO_KEY:
            self._remember(note.key, Keyed(note.request, json.dumps(answer_of(issued, self)).encode()))

    def _note_told_as(self, payload: bytes) -> None:
        (number,) = about(Kind.TELL_AS, payload)
        (queries,) = struct.unpack_from("<Q", payload, 8)
        answered = np.frombuffer(payload, "u1", queries, 16)
        numbers, count = np.frombuffer(payload[16 + queries :], "<f8"), int(answered.sum())
        as_asked = self.noted.tell(number, Kind.TELL_AS, payload, None)
        actions = None if as_asked else numbers[count:]
        self._note_told(number, digest_of_others(numbers[:count], answered, actions))

    def _note_learned(self, kind: int, payload: bytes, note: Note) -> None:
        self.noted.learn(kind, payload, note.time, note.subject)
        if note.key != NO_KEY:
            self._remember(note.key, Keyed(note.request, LEARNED))

    def _remember(self, key: bytes, keyed: Keyed) -> None:
        self.keyed[key] = keyed
        self._keyed_bytes += len(keyed.answer)
        while len(self.keyed) > MOST_KEYED or (self._keyed_bytes > MOST_KEYED_BYTES and len(self.keyed) > 1):
            self._keyed_bytes -= len(self.keyed.popitem(last=False)[1].answer)

    def _note_told(self, number: int, answers: bytes) -> None:
        self.asked_at.pop(number, None)
        self.told[number] = answers
        if len(self.told) > MOST_TOLD:
            self.told.popitem(last=False)

    # Snapshots.

    def to_plain(self, table: ArrayTable) -> dict[str, Any]:
        """Return the content as plain data, and put its arrays into a table."""
        answers = [keyed.answer for keyed in self.keyed.values()]
        parts = {
            "asked_at": (np.fromiter(self.asked_at, "<i8"), np.fromiter(self.asked_at.values(), "<f8")),
            "told": (np.fromiter(self.told, "<i8"), _bytes(self.told.values())),
            "keyed": (
                _bytes(self.keyed),
                _bytes(keyed.request for keyed in self.keyed.values()),
                np.array([len(answer) for answer in answers], dtype="<i8"),
                _bytes(answers),
            ),
        }
        plain: dict[str, Any] = {name: [table.put(array) for array in arrays] for name, arrays in parts.items()}
        plain |= {"asked": self.asked, "epochs": [list(epoch) for epoch in self.epochs]}
        return plain | {"noted": self.noted.to_plain(table), "watch": self.watch.to_plain()}

    def restore(self, plain: Mapping[str, Any] | None, arrays: list[Any]) -> None:
        """Take over what `to_plain` has returned; None begins anew."""
        self.asked = 0
        """How many tickets were asked."""
        self.epochs: list[tuple[int, int]] = [(0, 0)]
        """The epochs and the number of the first ticket of each."""
        self.asked_at: dict[int, float] = {}
        """When tickets were asked, by number; those in flight, and some that a limit has made the booster forget."""
        self.told: OrderedDict[int, bytes] = OrderedDict()
        """Digests of what was told, by number of the ticket, in the order of telling."""
        self.keyed: OrderedDict[bytes, Keyed] = OrderedDict()
        """What was answered under idempotency keys."""
        self._keyed_bytes = 0
        self.watch = Watch()
        """What is watched."""
        self.noted = Noted()
        """What is noted for the log."""
        if plain is None:
            return
        self.noted.restore(plain.get("noted"), arrays)
        self.asked = int(plain["asked"])
        self.watch.restore(plain.get("watch"))
        self.epochs = [(int(epoch), int(first)) for epoch, first in plain["epochs"]]
        numbers, times = (take(place, arrays) for place in plain["asked_at"])
        self.asked_at = dict(zip(numbers.tolist(), times.tolist(), strict=True))
        numbers, digests = (take(place, arrays) for place in plain["told"])
        self.told = OrderedDict(zip(numbers.tolist(), _digests(digests), strict=True))
        keys, requests, lengths, answers = (take(place, arrays) for place in plain["keyed"])
        ends, text = np.cumsum(lengths).tolist(), answers.tobytes()
        texts = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        for key, request, answer in zip(_digests(keys), _digests(requests), texts, strict=True):
            self._remember(key, Keyed(request, answer))


def answer_of(ticket: Ticket, ledger: ServiceLedger) -> dict[str, Any]:
    """Return a ticket as its caller sees it."""
    queries = np.asarray(ticket.queries)
    answer = {
        "ticket": ledger.name_of(ticket.number),
        "prediction": np.asarray(ticket.prediction).tolist(),
        "queries": queries.tolist(),
    }
    if len(queries) == 1:
        answer["action"] = answer["queries"][0]
    waiting = ledger.watch.waiting.get(ticket.number)
    side = None if waiting is None else waiting.side
    if side is not None:
        answer["policy"] = "baseline" if side.baseline else "booster"
    if ticket.probe.density is not None and not (side is not None and side.baseline):
        answer["density"] = ticket.probe.density.tolist()
    if ticket.asks != "values":
        answer["asks"] = ticket.asks
    return answer


def _bytes(parts: Any) -> Array:
    return np.frombuffer(b"".join(parts), dtype="u1")


def _digests(data: Array) -> list[bytes]:
    whole = data.tobytes()
    return [whole[begin : begin + DIGEST] for begin in range(0, len(whole), DIGEST)]

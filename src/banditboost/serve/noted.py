"""What the ledger of a service notes for its log: rounds in flight, and those told that are in no part file yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from banditboost._storage.array_table import ArrayTable, take
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.calls import context_of
from banditboost.journal.kinds import Kind
from banditboost.serve import rounds
from banditboost.serve.rounds import NOBODY, SUBJECT, Asked, Block, Round


class Noted:
    """Rounds, noted as the journal's calls are made and made again."""

    def __init__(self) -> None:
        self.total = 0
        """How many rounds were noted."""
        self.rounds: list[Round] = []
        """Those that are in no part file."""
        self.subjects: dict[int, bytes] = {}
        """Whom tickets in flight are about, where their caller has said so."""
        self.flying: dict[int, Asked] = {}
        self.began: list[int] = []
        """How many rounds there were when each epoch after the first began."""
        self._booster: Booster | None = None

    # What it hears.

    def attend(
        self,
        booster: Booster,
        tickets: Mapping[int, Ticket],
        times: Mapping[int, float],
        code: Callable[[int], int],
    ) -> None:
        """Hear which tickets are in flight, of which booster, since when, and what their numbers in logs are."""
        self._booster, self.flying = booster, {}
        for number, ticket in tickets.items():
            self.ask(ticket, code(number), times.get(number, 0.0), self.subjects.get(number, NOBODY))
        self.subjects = {number: subject for number, subject in self.subjects.items() if number in tickets}

    def ask(self, ticket: Ticket, code: int, time: float, subject: bytes) -> None:
        """Note a ticket. Only rounds with loss values about arrays make rows of a log."""
        number = ticket.number
        if subject != NOBODY:
            self.subjects[number] = subject
        if ticket.asks == "values" and type(ticket.probe.queries) is np.ndarray:
            probe = ticket.probe
            self.flying[number] = Asked(code, time, subject, ticket.context, probe.queries, probe.density)

    def forget(self, number: int) -> None:
        """Note that a ticket is no longer in flight."""
        self.flying.pop(number, None)
        self.subjects.pop(number, None)

    def tell(self, number: int, kind: int, payload: bytes, losses: Any) -> bool:
        """Note a round; return whether what was played is what was asked about."""
        self.total += 1
        asked = self.flying.pop(number, None)
        self.subjects.pop(number, None)
        if asked is None:
            return True
        made = rounds.told(asked, losses) if kind == Kind.TELL else rounds.told_as(asked, payload)
        self.rounds.append(Round(self.total, asked.ticket, asked.time, asked.subject, asked.context, *made[:3]))
        return made.as_asked

    def learn(self, kind: int, payload: bytes, time: float, subject: bytes) -> None:
        """Note a round that another has played."""
        assert self._booster is not None
        self.total += 1
        made, _ = rounds.learned(payload)
        context = context_of(self._booster, kind, payload)
        self.rounds.append(Round(self.total, -self.total, time, subject, context, *made[:3]))

    def drop_until(self, number: int) -> None:
        """Let go of rounds up to a number: a part file has them."""
        self.rounds = [one for one in self.rounds if one.number > number]

    # Snapshots.

    def to_plain(self, table: ArrayTable) -> dict[str, Any]:
        """Return the content as plain data, and put its arrays into a table."""
        subjects = np.frombuffer(b"".join(self.subjects.values()), "u1")
        return {
            "total": self.total,
            "began": list(self.began),
            "rounds": [table.put(np.ascontiguousarray(part)) for part in rounds.block_of(self.rounds)],
            "subjects": [table.put(np.fromiter(self.subjects, "<i8")), table.put(subjects)],
        }

    def restore(self, plain: Mapping[str, Any] | None, arrays: list[Any]) -> None:
        """Take over what `to_plain` has returned; ledgers of earlier versions have nothing of it."""
        self.__init__()  # type: ignore[misc]
        if plain is None:
            return
        self.total, self.began = int(plain["total"]), [int(total) for total in plain["began"]]
        self.rounds = rounds.rounds_of(Block(*(take(place, arrays) for place in plain["rounds"])))
        numbers, digests = (take(place, arrays) for place in plain["subjects"])
        parts = digests.reshape(len(numbers), SUBJECT)
        self.subjects = {number: part.tobytes() for number, part in zip(numbers.tolist(), parts, strict=True)}

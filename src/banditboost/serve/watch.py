"""What a service watches of a booster: who plays which round, what both sides have paid, and what has happened.

It is part of the ledger: all of it follows from asks with their notes, tells, and remarks, so that it is the same after a crash.
Times are those of the asks before, for the same reason.
"""

from __future__ import annotations

import json
import math
import struct
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditboost.booster.answers import mean
from banditboost.booster.ticket import Ticket
from banditboost.evaluate.guard import FALLEN_BACK, ON, Guard, Side
from banditboost.journal.kinds import Kind
from banditboost.serve.history import History

MOST_EVENTS, MOST_LATEST, MOST_NUMBERS = 200, 20, 3
"""How many events and decisions are kept to be shown, and how many numbers of a decision."""
_SIDE = struct.Struct("<BdI")
SIDE = _SIDE.size
"""Bytes that a note has about who plays its round."""
_HEADS = {Kind.TELL: 9, Kind.TELL_AS: 16}


class Waiting(NamedTuple):
    """A ticket in flight."""

    time: float
    side: Side | None
    width: float
    action: tuple[float, ...]


def pack_side(side: Side | None) -> bytes:
    """Return what stands in the note of an ask about who plays its round."""
    return b"" if side is None else _SIDE.pack(*side)


class Watch:
    """The watched part of a ledger."""

    def __init__(self) -> None:
        self.rounds, self.now = 0, 0.0
        """Rounds that were told, and the time of the last ask."""
        self.paid, self.drifts = 0.0, 0
        """What they have cost, and how many alarms are among the events."""
        self.guard: Guard | None = None
        self.baseline: Any = None
        self.waiting: dict[int, Waiting] = {}
        self.latest: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self.events: list[dict[str, Any]] = []
        self.history = History()

    # What it hears.

    def asked(self, ticket: Ticket, time: float, note: bytes) -> None:
        """Note a ticket, and who plays its round."""
        self.now = time
        if ticket.asks != "values":
            return
        side = None
        if note:
            baseline, share, period = _SIDE.unpack(note)
            side = Side(bool(baseline), share, period)
        queries = np.asarray(ticket.queries)
        if queries.size == 1:  # as most are: arithmetic on arrays takes longer than all else here
            action = (queries.item(),)
            width = abs(action[0] - np.asarray(ticket.prediction).item())
        else:
            width = float(np.abs(queries - np.asarray(ticket.prediction)).max(initial=0.0))
            action = tuple(np.ravel(queries[0])[:MOST_NUMBERS].tolist())
        self.waiting[ticket.number] = one = Waiting(time, side, width, action)
        self._show(ticket.number, one, None)

    def told(self, kind: int, number: int, payload: bytes) -> None:
        """Note what a round has cost; the guard may fall back."""
        one = self.waiting.pop(number, None)
        if one is None:
            return
        head, count = _HEADS[Kind(kind)], -1
        if kind == Kind.TELL_AS:
            (queries,) = struct.unpack_from("<Q", payload, 8)
            count, head = sum(payload[head : head + queries]), head + queries
        loss = mean(np.frombuffer(payload, "<f8", count, head))
        self.rounds += 1
        self.paid += loss
        self._show(number, one, loss)
        fallen = self.guard is not None and one.side is not None and self.guard.told(one.side, loss)
        if self.history.add(one.side is not None and one.side.baseline, loss, one.width) or fallen:
            self._close_point()
        if fallen:
            self._fell_back()

    def forgot(self, number: int) -> None:
        """Note a ticket that will not be told: nobody will know any more whom it was about, so that it is not shown either."""
        self.waiting.pop(number, None)
        self.latest.pop(number, None)

    def bound(self, most: int) -> None:
        """Keep so many tickets in flight at most, the latest."""
        while len(self.waiting) > most:
            del self.waiting[next(iter(self.waiting))]

    def decided(self, payload: bytes) -> None:
        """Carry out what a remark says: see `remark`."""
        said = json.loads(payload)
        do, by = said.pop("do"), said.get("by", "")
        if do == "guard":
            self.baseline, settings = said["baseline"], said["settings"]
            period = 0 if self.guard is None else self.guard.period
            self.guard = None if settings is None else Guard(**settings)
            if self.guard is not None:
                self.guard.period = period + 1
            self.note("guard removed" if settings is None else "guard set", said["text"], said["time"], by)
        elif do == "state" and self.guard is not None:
            self.guard.resume() if said["state"] == ON else self.guard.fall_back()
            text = "The booster plays again." if said["state"] == ON else "The baseline plays every round."
            self.note(
                "resumed" if said["state"] == ON else "fall-back", f"{text} An admin has said so.", said["time"], by
            )
        elif do == "drift":
            self.drifts += 1
            self.note("drift", said["text"], said["time"])

    def note(self, event: str, text: str, time: float, by: str = "") -> None:
        """Put an event on record."""
        one = {"event": event, "time": time, "round": self.rounds, "text": text}
        self.events = [*self.events, one | ({"by": by} if by else {})][-MOST_EVENTS:]

    def carry_over(self, former: Watch, number: int, time: float) -> None:
        """Go on after a roll-back: guard and events are those of now, and what was compared is not; see `Kept.roll_back`."""
        self.guard, self.baseline, self.events = former.guard, former.baseline, former.events
        self.note("rolled back", f"The booster went back to the snapshot {number}.", time)
        if self.guard is not None:
            state = self.guard.state
            self.guard.resume()
            self.guard.state = state

    def _show(self, number: int, one: Waiting, loss: float | None) -> None:
        self.latest.pop(number, None)
        who = None if one.side is None else "baseline" if one.side.baseline else "booster"
        self.latest[number] = {"time": one.time, "action": list(one.action), "policy": who, "loss": loss}
        if len(self.latest) > MOST_LATEST:
            self.latest.popitem(last=False)

    def _close_point(self) -> None:
        low = high = difference = None
        if self.guard is not None and self.guard.whole.n:
            known = self.guard.status()
            (low, high), difference = known["interval"], known["difference"]
        self.history.close(round=self.rounds, time=self.now, low=low, high=high, difference=difference)

    def _fell_back(self) -> None:
        assert self.guard is not None
        known = self.guard.status()
        low = known["interval"][0]
        sure = ""
        if low is not None and low > self.guard.margin:
            sure = f", at least {low:.6g} with {self.guard.confidence:.0%} confidence"
        self.note(
            "fall-back",
            f"The booster lost {known['difference']:.6g} a round more than the baseline{sure}: the baseline plays every round.",
            self.now,
        )

    # Numbers for Prometheus.

    def numbers(self) -> dict[str, float]:
        """Return what is known of the guard; nothing where there is none."""
        found = {"drift_alarms": float(self.drifts)}
        if self.guard is None:
            return found
        known = self.guard.status()
        found |= {f"{side}_rounds": float(count) for side, count in known["rounds"].items()}
        found |= {"fallen_back": float(self.guard.state == FALLEN_BACK), "regret_against_baseline": known["regret"]}
        low, high = (math.nan if end is None else end for end in known["interval"])
        return found | {"difference_low": low, "difference_high": high}

    # Snapshots.

    def to_plain(self) -> dict[str, Any]:
        """Return the content as plain data."""
        waiting = [
            [n, one.time, one.side and list(one.side), one.width, list(one.action)] for n, one in self.waiting.items()
        ]
        return {
            "rounds": self.rounds,
            "now": self.now,
            "paid": self.paid,
            "drifts": self.drifts,
            "guard": None if self.guard is None else self.guard.to_plain(),
            "baseline": self.baseline,
            "waiting": waiting,
            "latest": [[number, one] for number, one in self.latest.items()],
            "events": self.events,
            "history": self.history.to_plain(),
        }

    def restore(self, plain: Mapping[str, Any] | None) -> None:
        """Take over what `to_plain` has returned; None begins anew."""
        Watch.__init__(self)
        if plain is None:
            return
        self.rounds, self.now, self.paid, self.drifts = (plain[name] for name in ("rounds", "now", "paid", "drifts"))
        self.guard = None if plain["guard"] is None else Guard.from_plain(plain["guard"])
        self.baseline, self.events = plain["baseline"], list(plain["events"])
        self.waiting = {
            number: Waiting(time, side and Side(bool(side[0]), *side[1:]), width, tuple(action))
            for number, time, side, width, action in plain["waiting"]
        }
        self.latest = OrderedDict((number, dict(one)) for number, one in plain["latest"])
        self.history.restore(plain["history"])


def remark(do: str, time: float, **more: Any) -> bytes:
    """Return what a decision looks like in the journal."""
    return json.dumps({"do": do, "time": time, **more}, allow_nan=False).encode()

"""One booster of a service: its folder, its journal, its ledger, and what may be asked of it.

Every method here is called by the booster's one thread (`banditboost.serve.writer`). A call that changes something has happened
when its record is in the journal; whether the disk has it is for the writer to see to, before it says so.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._storage.atomic_file import atomic
from banditboost.algorithms.recipes import check_size, from_recipe
from banditboost.booster import Booster, Ticket
from banditboost.booster.answers import mean, played, told
from banditboost.booster.in_order import decision_names_in, names_in
from banditboost.booster.limits import limits_of
from banditboost.booster.named import MOST_COLUMNS
from banditboost.journal import Journal
from banditboost.journal.file import sync_folder
from banditboost.journal.opening import resumed, written_spec
from banditboost.serve import erasing, export, naming, rounds
from banditboost.serve.archive import Archive
from banditboost.serve.export import Contents
from banditboost.serve.guarded import Guarded
from banditboost.serve.ledger import (
    MOST_IN_FLIGHT,
    Note,
    ServiceLedger,
    answer_of,
    digest,
    digest_of_answers,
    digest_of_others,
)
from banditboost.serve.problems import Problem
from banditboost.serve.rounds import NOBODY
from banditboost.serve.watch import pack_side

JOURNAL, NEXT, SNAPSHOTS, LOG = "booster.journal", "next.journal", "snapshots", "log"
IN_FLIGHT = 10_000
"""Most tickets in flight of a booster that is created without saying how many: the journal keeps each of them whole."""
SNAPSHOT_EVERY = 10_000
"""Calls after which a journal begins anew with a snapshot: what is repeated at most when the service starts."""
ROUNDS_A_PART = 10_000
"""Rounds that gather in the journal before they go to a part file of the log."""
EXPIRE_EVERY = 6 * 3600.0
"""Seconds after which what is older than it may be kept is looked for again."""
MOST_SNAPSHOTS = 100
"""Most snapshots that are kept of one booster."""


class Kept(Guarded):
    """A booster whose calls are in the journal of its folder."""

    def __init__(
        self,
        folder: Path,
        sync_every: int = 2**62,
        clock: Callable[[], float] = time.time,
        snapshot_every: int = SNAPSHOT_EVERY,
        keep_days: float | None = None,
    ) -> None:
        self.folder, self._clock, self.keep_days = folder, clock, keep_days
        self.archive = Archive(folder / LOG)
        self._tidy_from, self._expire_at = ROUNDS_A_PART, -np.inf
        self._sync_every, self._snapshot_every = sync_every, snapshot_every
        self._to_forget: list[int] = []  # tickets that nobody was told of
        self.asks = self.tells = self.repeated = self.late = self.lessons = 0
        self.paid = self.width = 0.0
        self.open()

    @classmethod
    def create(cls, folder: Path, recipe: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        """Make the folder of a booster, and write its journal.

        Parameters
        ----------
        folder
            The folder, which is not there yet.
        recipe
            What the booster is made of, as in `banditboost.algorithms.recipes.from_recipe`.
        settings
            ``deadline``, the seconds after which a ticket is no longer told, or None; ``max_in_flight``; and ``guard``, as for
            `Guarded.set_guard`.
        """
        plain, names = naming.split(recipe)
        booster = from_recipe(plain)
        naming.check(names, booster.spec)
        most = settings.get("max_in_flight")
        booster.in_flight_limit = min(
            checks.count("max_in_flight", IN_FLIGHT if most is None else most), MOST_IN_FLIGHT
        )
        deadline = settings.get("deadline")
        if deadline is not None:
            checks.positive("deadline", deadline)
        booster.extra = {"recipe": dict(recipe), "deadline": deadline, "guard": settings.get("guard")}
        ledger = ServiceLedger()
        cls.begin_guard(booster, ledger.watch, settings.get("guard"), names)
        cls._begin(folder, booster, ledger)

    @classmethod
    def take_in(cls, folder: Path, booster: Booster) -> None:
        """Make the folder of a booster that has learned before; tickets that it has in flight are forgotten."""
        booster._remove(booster.in_flight)
        booster.in_flight_limit = min(booster.in_flight_limit, MOST_IN_FLIGHT)
        recipe: dict[str, Any] = {"spec": (booster.plan or booster.spec).to_dict()}
        if names := decision_names_in(booster.extra, booster.spec.space.size):
            recipe |= {naming.DECISION: list(names)}
            naming.check(naming.split(recipe)[1], booster.spec)
        booster.extra |= {
            "recipe": recipe,
            "deadline": None,
            "guard": None,
        }
        cls._begin(folder, booster, ServiceLedger())

    @staticmethod
    def _begin(folder: Path, booster: Booster, ledger: ServiceLedger) -> None:
        (folder / SNAPSHOTS).mkdir(parents=True)
        Journal(folder / JOURNAL, booster, ledger=ledger).close()
        try:
            written_spec(folder / JOURNAL)
        except ValueError:
            raise ValueError("recipe must describe a booster that can be read again.") from None
        sync_folder(folder.parent)

    def open(self) -> None:
        """Read the journal and go on from where it ends."""
        for left in (self.folder / NEXT, self.folder / f"{NEXT}.lock"):
            left.unlink(missing_ok=True)
        export.sweep(self.folder)
        path, self.ledger = self.folder / JOURNAL, ServiceLedger()
        self.booster = Booster.from_spec(written_spec(path))
        self.journal = Journal(
            path,
            self.booster,
            sync_every=self._sync_every,
            snapshot_every=self._snapshot_every,
            ledger=self.ledger,
        )
        self.names = naming.split(self.booster.extra.get("recipe") or {})[1]
        self.open_guard()
        self.archive.cut(self.ledger.noted.total)
        self.ledger.noted.drop_until(self.archive.last)

    # Calls that change nothing.

    def info(self, with_digest: bool = False) -> dict[str, Any]:
        """Return what there is to know about the booster."""
        booster = self.booster
        known = booster.spec.learner.contextual and booster.bank is not None
        found = {
            "rounds": booster.rounds,
            "asked": booster._asked,
            "in_flight": len(self.journal.tickets),
            "features": booster.features if known else None,
            "calls": self.journal.calls,
            "deadline": booster.extra.get("deadline"),
            "recipe": booster.extra.get("recipe"),
            "guard": booster.extra.get("guard"),
        }
        return found | {"digest": booster.digest()} if with_digest else found

    def predict(self, contexts: Sequence[Any]) -> list[Any]:
        """Return the predictions in some contexts."""
        checked = self._contexts(contexts)
        if len(checked) > 1 and isinstance(checked[0], np.ndarray):
            found = self.booster.predict_many(np.array(checked)).tolist()
        else:
            found = [np.asarray(self.booster.predict(context)).tolist() for context in checked]
        return [naming.shown(self.names, one) for one in found]

    def contents(self) -> Contents:
        """Return what the log is made of at this moment."""
        noted, names = rounds.block_of(self.ledger.noted.rounds), self.booster.names
        columns = names.column_names(self.booster.features) if names is not None and self.booster.bank else ()
        archive = self.archive  # and not all of this, so that a log can be written in another process
        return Contents(lambda: itertools.chain(archive.blocks(), [noted]), self.folder, columns, self.names)

    def model(self) -> bytes:
        """Return the booster as a model file."""
        path = self.folder / "model.bb"
        try:
            self.booster.save(path)
            return path.read_bytes()
        finally:
            path.unlink(missing_ok=True)

    def numbers(self) -> dict[str, float]:
        """Return what has happened since the booster was opened."""
        return {
            "asks": self.asks,
            "tells": self.tells,
            "repeated_tells": self.repeated,
            "paid_losses": self.paid,
            "exploration_width": self.width,
            "tickets_in_flight": len(self.journal.tickets),
            "journal_lag_calls": self.behind(),
            "late_answers": self.late,
            "oldest_ticket_seconds": self.oldest(),
            **self.ledger.watch.numbers(),
        }

    @property
    def broken(self) -> bool:
        """Whether the journal must be read again before anything else is recorded."""
        return self.journal._broken or self.journal._unfinished

    def behind(self) -> int:
        """Return how many calls are not known to be on the disk."""
        return self.journal.calls - self.journal.durable

    # Calls that are recorded.

    def ask(
        self, contexts: Sequence[Any], space: Any = None, key: str | None = None, subject: str | None = None
    ) -> list[dict[str, Any]]:
        """Ask in some contexts, and return the tickets as their caller sees them; all or none of them."""
        self._forget_late()
        checked = self._contexts(contexts)
        if space is not None:
            space = [naming.read(self.names, "space", end, self.booster.spec.space.shape) for end in space]
            limits_of(self.booster.spec, space)
        now, found, issued = self._clock(), list[dict[str, Any]](), list[int]()
        try:
            for place, context in enumerate(checked):
                note = self._note(now, place, context, space, key, subject)
                known = None if key is None else self._answered(note)
                if known is not None:
                    found.append(known)
                    continue
                side, allowed = self.side(context, space)
                self.journal.annotate(note.pack() + pack_side(side))
                ticket = self.booster.ask(context, space=allowed)
                issued.append(ticket.number)
                found.append(answer_of(ticket, self.ledger))
                self.asks += 1
        except BaseException:
            self._to_forget += issued
            raise
        if issued and found[-1].get("policy") != "baseline":
            waiting = self.ledger.watch.waiting.get(issued[-1])
            self.width = _width(found[-1]) if waiting is None else waiting.width
        return [naming.answer(self.names, one) for one in found] if self.names else found

    def _answered(self, note: Note) -> dict[str, Any] | None:
        """Return what was answered under a key before; None where it is new."""
        known = self.ledger.keyed.get(note.key)
        if known is None:
            return None
        if known.request != note.request:
            raise Problem(422, "Idempotency-Key must be a new one: it was used for another question already.")
        return dict(json.loads(known.answer))

    def _note(
        self, now: float, place: int, context: Any, asked: Any, key: str | None, subject: str | None = None
    ) -> Note:
        person = NOBODY if subject is None else digest(subject.encode())
        if key is None:
            return Note(now, subject=person)
        said = context.tobytes() if isinstance(context, np.ndarray) else _text(context)
        request = digest(said, json.dumps(asked).encode())
        return Note(now, digest(key.encode(), str(place).encode()), request, person)

    def tell(self, name: str, answers: Mapping[str, Any]) -> str:
        """Tell answers about a ticket; return ``"told"``, or ``"repeated"`` where the same was told before."""
        number = self._number(name)
        ticket = self.journal.tickets.get(number)
        if ticket is None:
            return self._told_before(number, name, answers)
        self._check_deadline(number, name)
        spec = self.booster.spec
        actions, answered = self._others(answers)
        if actions is None and answered is None:
            losses = told(ticket, spec.maximize, **_values(answers))
            self.booster.tell(ticket, losses=losses)
        else:
            said = played(ticket, spec.space, actions, answered)
            losses = told(ticket, spec.maximize, answered=said.answered, **_values(answers))
            self.booster.tell(ticket, losses=losses, actions=actions, answered=answered)
        self.tells += 1
        self.paid += mean(losses) if ticket.asks == "values" and losses.size else 0.0
        self.note_drifts()
        return "told"

    def _told_before(self, number: int, name: str, answers: Mapping[str, Any]) -> str:
        known = self.ledger.told.get(number)
        if known is None:
            raise Problem(410, f"The ticket {name} is no longer in flight: it was forgotten, or told long ago.")
        given = [(way, value) for way, value in _values(answers).items() if value is not None]
        if len(given) != 1:
            raise ValueError("answers must be given once, as values, losses or rewards.")
        (way, value), usual = given[0], "rewards" if self.booster.spec.maximize else "losses"
        numbers = checks.finite(way, value)
        numbers = -numbers if (usual if way == "values" else way) == "rewards" else numbers
        if not self._same(numbers, answers, known):
            raise Problem(409, f"The ticket {name} was told already, with another answer, and nothing has changed.")
        self.repeated += 1
        return "repeated"

    def _same(self, losses: Array, answers: Mapping[str, Any], known: bytes) -> bool:
        """Return whether answers are those that were told, of which a digest is known."""
        actions, answered = self._others(answers)
        if actions is None and answered is None:
            return digest_of_answers(losses) == known
        mask = np.ones(len(losses), dtype=bool) if answered is None else np.asarray(answered)
        as_asked = digest_of_others(losses, mask, None)
        if actions is None:
            return as_asked == known
        given = checks.finite("actions", actions)
        return known in (as_asked, digest_of_others(losses, mask, given))

    def _others(self, answers: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return what was played in place of what was asked about, and which answers came; None where nothing is said."""
        actions, shape = answers.get("actions"), self.booster.spec.space.shape
        if actions is not None:
            actions = [naming.read(self.names, "actions", one, shape) for one in actions]
        return actions, answers.get("answered")

    def learn(self, lesson: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        """Learn from an action that another has chosen."""
        (context,) = self._contexts([lesson.get("context")])
        action = naming.read(self.names, "action", lesson["action"], self.booster.spec.space.shape)
        given = {way: lesson.get(way) for way in ("value", "loss", "reward", "density", "aim", "spread")}
        note = self._note(self._clock(), 0, context, [action, given], key, lesson.get("subject"))
        known = None if key is None else self._answered(note)
        if known is not None:
            return known
        self.journal.annotate(note.pack())
        self.booster.learn(context, action, **given)
        self.lessons += 1
        return {"result": "learned"}

    def erase(self, subjects: Sequence[str]) -> dict[str, int]:
        """Erase all that is kept of some people, at once, in journal, log, memory and snapshots."""
        return erasing.erase(self, {digest(subject.encode()) for subject in subjects})

    def forget(self, name: str) -> bool:
        """Give up a ticket; return whether it was in flight."""
        ticket = self.journal.tickets.get(self._number(name))
        return ticket is not None and self.booster.forget(ticket)

    # Snapshots.

    def snapshots(self) -> list[dict[str, Any]]:
        """Return the snapshots there are, the oldest first."""
        found = sorted((self.folder / SNAPSHOTS).glob("*.json"), key=lambda path: int(path.stem))
        return [json.loads(path.read_text()) for path in found]

    def snapshot(self, label: str) -> dict[str, Any]:
        """Keep the present state under a number, to which the booster can be rolled back."""
        there = self.snapshots()
        if len(there) >= MOST_SNAPSHOTS:
            raise Problem(409, f"At most {MOST_SNAPSHOTS} snapshots are kept: delete one first.")
        number = max((one["snapshot"] for one in there), default=0) + 1
        said = {"snapshot": number, "label": label, "rounds": self.booster.rounds, "time": self._clock()}
        self.journal.snapshot()
        with atomic(self._snapshot(number, "journal")) as file:
            file.write(self.journal.path.read_bytes())
        with atomic(self._snapshot(number, "json")) as file:  # without which the other is not there
            file.write(json.dumps(said).encode())
        return said

    def roll_back(self, number: int) -> None:
        """Go back to a snapshot; names of tickets that were asked since are not given out again."""
        path = self._known_snapshot(number)
        ledger, former = ServiceLedger(), self.ledger
        past = resumed(path, Booster.from_spec(written_spec(path)), ledger)[0]
        erasing.undone(self, ledger.noted.total)
        ledger.begin_epoch(former)
        ledger.watch.carry_over(former.watch, number, self._clock())
        following = self.folder / NEXT
        Journal(following, past.booster, tickets=past.tickets.values(), ledger=ledger).close()
        self.close()
        try:
            os.replace(following, self.folder / JOURNAL)
            sync_folder(self.folder)
        finally:
            self.open()

    def delete_snapshot(self, number: int) -> None:
        """Remove a snapshot."""
        path = self._known_snapshot(number)
        self._snapshot(number, "json").unlink()
        path.unlink(missing_ok=True)

    def _snapshot(self, number: int, ending: str) -> Path:
        return self.folder / SNAPSHOTS / f"{number}.{ending}"

    def _known_snapshot(self, number: int) -> Path:
        if number not in {one["snapshot"] for one in self.snapshots()}:
            raise Problem(404, "There is no snapshot of this number.")
        return self._snapshot(number, "journal")

    # The disk, and the end.

    def flush(self) -> None:
        """Wait until all calls so far are on the disk."""
        self.journal.flush()

    def due(self) -> bool:
        """Return whether there is something to tidy."""
        if self.keep_days is not None and self._clock() >= self._expire_at:
            return True
        return len(self.ledger.noted.rounds) >= self._tidy_from

    def tidy(self) -> None:
        """Erase what is older than it may be kept, and write rounds that have gathered to a part file."""
        now, self._tidy_from = self._clock(), len(self.ledger.noted.rounds) + ROUNDS_A_PART  # where it fails
        if self.keep_days is not None and now >= self._expire_at:
            self._expire_at = now + EXPIRE_EVERY
            erasing.expire(self, now - 86_400.0 * self.keep_days)
        noted = self.ledger.noted
        if len(noted.rounds) >= ROUNDS_A_PART:
            self.archive.add(self.archive.last + 1, noted.total, rounds.block_of(noted.rounds))
            noted.drop_until(noted.total)
        self._tidy_from = ROUNDS_A_PART

    def reopen(self) -> None:
        """Give up what is in memory and read the journal again: after an error of the disk, it says what has happened."""
        self.journal._take_back()
        self.journal._let_go()
        self.booster.journal = None
        self.open()

    def close(self) -> None:
        """Write a last snapshot and close the journal."""
        self.journal.close()

    # What is common to calls.

    def _contexts(self, contexts: Sequence[Any]) -> list[Any]:
        """Return contexts that were found to fit; none is used before all are known to."""
        booster = self.booster
        if booster.names is not None:
            for context in contexts:
                named = booster._pairs(context)
                if booster.bank is None and named is not None:
                    check_size(booster.plan or booster.spec, min(max(len(named.hashes), 1), MOST_COLUMNS))
            return list(contexts)
        columns = names_in(booster.extra, booster.features if booster.bank is not None else None)
        if columns is None and any(isinstance(context, dict) for context in contexts):
            raise ValueError('context must be a list of numbers: names need "encoder": true in the recipe.')
        checked = [booster._context(context) for context in contexts]
        if booster.bank is None and checked and checked[0] is not None:
            sizes = {len(context) for context in checked if context is not None}
            if len(sizes) != 1:
                raise ValueError(f"contexts must have one length, got {len(sizes)} of them.")
            check_size(self.booster.plan or self.booster.spec, sizes.pop())
        return checked

    def _number(self, name: str) -> int:
        number = self.ledger.number_of(name)
        if number is None:
            raise Problem(404, "There is no ticket of this name: none was issued, or a roll-back has undone it.")
        return number

    def _late(self, number: int) -> bool:
        deadline = self.booster.extra.get("deadline")
        return deadline is not None and self._clock() - self.ledger.asked_at.get(number, np.inf) > deadline

    def _check_deadline(self, number: int, name: str) -> None:
        if self._late(number):
            self.booster.forget(self.journal.tickets[number])
            self.late += 1
            raise Problem(410, f"The ticket {name} is forgotten: its deadline is over.")

    def _forget_late(self) -> None:
        """Forget tickets whose deadline is over, the oldest first, and those that nobody was told of."""
        while self._to_forget:
            ticket: Ticket | None = self.journal.tickets.get(self._to_forget[-1])
            if ticket is not None:
                self.booster.forget(ticket)
            self._to_forget.pop()
        while self.journal.tickets and self._late(number := next(iter(self.journal.tickets))):
            self.booster.forget(self.journal.tickets[number])


def _width(answer: Mapping[str, Any]) -> float:
    """Return how far queries lie from their prediction at most."""
    return float(np.abs(np.subtract(answer["queries"], answer["prediction"])).max(initial=0.0))


def _text(context: Any) -> bytes:
    """Return a context with names as bytes, whatever the order of its names; none where there is none."""
    return b"" if context is None else json.dumps(context, sort_keys=True).encode()


def _values(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return answers by the names that `tell` has for them; one number stands for a list of one."""
    return {
        way: [value] if isinstance(value := answers.get(way), int | float) else value
        for way in ("values", "losses", "rewards")
    }

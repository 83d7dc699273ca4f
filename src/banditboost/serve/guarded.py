"""The part of a kept booster that is about its guard, its alarms, and what the live page shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost._core import checks
from banditboost.booster import Booster
from banditboost.evaluate.guard import FALLEN_BACK, ON, Coins, Guard, Side
from banditboost.journal import Journal
from banditboost.journal.opening import resumed, written_spec
from banditboost.serve.baseline import MODELS, Baseline, by_name, model_file, with_numbers
from banditboost.serve.problems import Problem
from banditboost.serve.watch import MOST_NUMBERS, Watch, remark

if TYPE_CHECKING:
    from banditboost.serve.ledger import ServiceLedger

SETTINGS = ("share", "bounds", "confidence", "margin", "after", "window")
NO_GUARD = "This booster has no guard."


class Guarded(ABC):
    """What `banditboost.serve.kept.Kept` has beside asks and tells."""

    folder: Path
    booster: Booster
    journal: Journal
    ledger: ServiceLedger
    names: Sequence[str]
    late: int
    asks: int
    _clock: Callable[[], float]

    # At the start.

    @staticmethod
    def begin_guard(booster: Booster, watch: Watch, given: Mapping[str, Any] | None, names: Sequence[str] = ()) -> None:
        """Give a booster that is being made its guard."""
        if given is None:
            return
        baseline, settings = _checked(booster, given, names)
        if baseline.frozen:
            raise ValueError("baseline must be a decision or a line for a new booster: it has no snapshots yet.")
        watch.guard, watch.baseline = Guard(**settings), baseline.plain

    def open_guard(self) -> None:
        """Find the baseline again, and what alarms a crash has kept off the record."""
        watch = self.ledger.watch
        self._coins, self._baseline = Coins(self.booster.spec.seed), None
        if watch.guard is not None:
            self._baseline = Baseline(watch.baseline, self.booster.spec, self.folder)
        used = self.frozen_model()
        for left in self.folder.glob(MODELS):
            if left != used:
                left.unlink()
        self.note_drifts()

    def frozen_model(self) -> Path | None:
        """Return the file of the baseline; None where that is no frozen model."""
        if self._baseline is None or not self._baseline.frozen:
            return None
        return model_file(self.folder, self.ledger.watch.baseline["digest"])

    # Rounds.

    def side(self, context: Any, space: Any) -> tuple[Side | None, Any]:
        """Return who plays the next round, and the limits of its actions: the baseline's own action where it does."""
        guard = self.ledger.watch.guard
        if guard is None or self._baseline is None:
            return None, space
        self._baseline.check(context)  # whoever plays: later rounds must fit as well
        side = guard.side(self._coins.toss(self.booster._asked + 1))
        if not side.baseline:
            return side, space
        action = self._baseline.action(context, space)
        return side, (action, action)

    def note_drifts(self) -> None:
        """Put alarms on record that are not there yet."""
        detector, watch = self.booster.spec.drifts, self.ledger.watch
        if detector is None:
            return
        while detector.raised(self.booster.drifts_memory) > watch.drifts:
            found = detector.alarms(self.booster.drifts_memory, watch.drifts)
            said = str(found[0]) if found else "The world changed."
            self.journal.remark(remark("drift", self._clock(), text=said))

    # What people decide.

    def set_guard(self, given: Mapping[str, Any], by: str = "") -> dict[str, Any]:
        """Give the booster a guard, or another one; what was compared begins anew.

        Parameters
        ----------
        given
            ``baseline``, as for `banditboost.serve.baseline.Baseline`; and the arguments of `banditboost.evaluate.Guard`, in units
            of rewards where the booster maximizes.
        by
            The id of the key of whoever says so.
        """
        baseline, settings = _checked(self.booster, given, self.names)
        played = self._frozen(baseline.plain["snapshot"]) if baseline.frozen else baseline.plain
        text = f"The baseline plays {settings['share']:.3g} of the rounds."
        said = {"baseline": played, "settings": settings, "text": text, "by": by}
        self.journal.remark(remark("guard", self._clock(), **said))
        self.open_guard()
        return self.guard_status()

    def remove_guard(self, by: str = "") -> None:
        """Let the booster play every round, and compare nothing."""
        self._known_guard()
        said = {
            "baseline": None,
            "settings": None,
            "text": "The booster plays every round, and nothing is compared.",
            "by": by,
        }
        self.journal.remark(remark("guard", self._clock(), **said))
        self.open_guard()

    def set_state(self, state: str, by: str = "") -> dict[str, Any]:
        """Let the booster play again, or the baseline every round."""
        guard = self._known_guard()
        if guard.state != checks.one_of("state", state, (ON, FALLEN_BACK)):
            self.journal.remark(remark("state", self._clock(), state=state, by=by))
        return self.guard_status()

    def _known_guard(self) -> Guard:
        if self.ledger.watch.guard is None:
            raise Problem(404, NO_GUARD)
        return self.ledger.watch.guard

    def _frozen(self, number: int) -> dict[str, Any]:
        """Write the model of a snapshot where a baseline is looked for, and return the baseline."""
        from banditboost.serve.ledger import ServiceLedger

        path = self._known_snapshot(number)
        ledger = ServiceLedger()
        past = resumed(path, Booster.from_spec(written_spec(path)), ledger)[0]
        if not ledger.leads_to(self.ledger):
            raise ValueError(
                "baseline must be a snapshot that no roll-back has undone: nobody knows any more whose rounds it holds."
            )
        digest = past.booster.digest()
        past.booster.save(model_file(self.folder, digest))
        return {"snapshot": number, "digest": digest}

    @abstractmethod
    def _known_snapshot(self, number: int) -> Path:
        """Return the file of a snapshot; raise where there is none of this number."""

    # What is shown.

    def guard_status(self) -> dict[str, Any]:
        """Return what is known of the guard, with its settings and events."""
        guard, watch = self._known_guard(), self.ledger.watch
        settings = guard.settings()
        if self.booster.spec.maximize and guard.bounds is not None:
            settings["bounds"] = [-guard.bounds[1], -guard.bounds[0]]
        return {
            "baseline": by_name(self.names, watch.baseline),
            **settings,
            **guard.status(),
            "events": watch.events,
        }

    def events(self) -> list[dict[str, Any]]:
        """Return what has happened, the oldest first."""
        return self.ledger.watch.events

    def oldest(self) -> float:
        """Return for how many seconds the oldest ticket in flight has waited."""
        first = next(iter(self.journal.tickets), None)
        return 0.0 if first is None else max(self._clock() - self.ledger.asked_at.get(first, np.inf), 0.0)

    def summary(self) -> dict[str, Any]:
        """Return a line of the live page."""
        guard = self.ledger.watch.guard
        return {
            "rounds": self.booster.rounds,
            "asked": self.booster._asked,
            "in_flight": len(self.journal.tickets),
            "late": self.late,
            "oldest_seconds": self.oldest(),
            "state": None if guard is None else guard.state,
        }

    def live(self) -> dict[str, Any]:
        """Return what the live page shows of one booster."""
        watch, ledger = self.ledger.watch, self.ledger
        latest = [{"ticket": ledger.name_of(number), **one} for number, one in reversed(watch.latest.items())]
        return {
            **self.summary(),
            "maximize": self.booster.spec.maximize,
            "drifts": None if self.booster.spec.drifts is None else watch.drifts,
            "paid": watch.paid,
            "told": watch.rounds,
            "history": watch.history.columns(),
            "decision": list(self.names[:MOST_NUMBERS]),
            "latest": latest,
            "events": watch.events[::-1],
            "guard": None
            if watch.guard is None
            else {"baseline": by_name(self.names, watch.baseline), **watch.guard.status()},
        }


def _checked(booster: Booster, given: Mapping[str, Any], names: Sequence[str]) -> tuple[Baseline, dict[str, Any]]:
    """Return a baseline and the settings of a guard, in units of losses, once they are found to make sense."""
    if given.get("baseline") is None:
        raise ValueError("baseline must be given: a decision, a line, or a snapshot.")
    baseline = Baseline(with_numbers(names, given["baseline"], booster.spec.space.shape), booster.spec)
    baseline.check_features(booster)
    settings = {name: given[name] for name in SETTINGS if given.get(name) is not None}
    guard = Guard(**settings)
    if booster.spec.maximize and guard.bounds is not None:
        settings["bounds"] = [-guard.bounds[1], -guard.bounds[0]]
    return baseline, guard.settings() | ({"bounds": settings["bounds"]} if guard.bounds is not None else {})

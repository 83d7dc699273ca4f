"""What a round teaches, whoever chose its actions: gradients for the copies, and what the gradient and the chain remember."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost.booster.answers import Said
from banditboost.booster.foresee import Foresee
from banditboost.booster.geometry import corrected
from banditboost.booster.growing import Growing
from banditboost.booster.ticket import Ticket
from banditboost.booster.to_log import ToLog
from banditboost.booster.watching import Watching
from banditboost.critics.suspicion import WANTED
from banditboost.gradients import Probe


class Played(NamedTuple):
    """What the copies play in a context."""

    raw: Array
    """What the learner says, shape (N, *shape)."""
    plays: Array
    """The same, scaled and projected."""
    path: Array
    """y^0 ... y^N."""


class Rounds(Foresee, Watching, Growing, ToLog):
    """The part of a booster that plays, and learns from what the plays were worth."""

    def _learn(self, ticket: Ticket, said: Said) -> None:
        """Learn from what was said about a ticket in flight."""
        ticket = self._widened(ticket)
        spec, journal, probe, answers = self.spec, self.journal, ticket.probe, said.answers
        if said.actions is not None and said.answered is not None:
            probe, answers = spec.gradient.as_played(probe, said.actions, said.answered, answers, spec.space)
        played = Played(ticket.raw, ticket.plays, ticket.path)
        today: Array | None = None
        if ticket.told != self.rounds and spec.gradient.moves:
            # What the copies of that day have left undone, those of today may have done since: they are told what is left now.
            played = self._play(ticket.context)
            today = played.path
            if ticket.limits is not None:  # within which it would be predicted
                today = np.concatenate([today[:-1], ticket.limits.clip(today[-1])[np.newaxis]])
        teaches = said.actions is None or bool(probe.chosen.any())
        gradients = self._estimated(answers, probe, today) if teaches else None
        self._suspect(answers, probe)
        outcome = self._outcome(ticket, answers, probe)
        self._look_at_growths()
        if journal is not None:
            journal.telling(ticket.number, said)
        self._turn.changing = True
        self._teach(ticket.context, played, gradients, answers, probe)
        if spec.bands is not None and said.answers.size:
            self._learn_bands(spec.bands, ticket, said.answers, outcome)
        if spec.drifts is not None:
            self._watch(spec.drifts, said.answers)
        self._pending.remove(ticket.number)
        self.advance(1)
        if journal is not None:
            del journal.tickets[ticket.number]
            journal.done()
        self._turn.changing = (
            False  # the round is over: where a log cannot be written, the booster has still learned it
        )
        self._log_round(ticket, said)

    def _suspect(self, answers: Array, probe: Probe) -> None:
        """Warn where answers cannot be meant, before anything has changed, since a warning may be an error."""
        if self._suspicion is None or self._repeating:
            return
        for point, loss in zip(probe.queries, answers, strict=True):
            if (found := self._suspicion.look(float(point), float(loss))) is not None:
                also = "where another price was shown than was asked about, tell actions=[price] as well"
                warnings.warn(f"rewards must be {WANTED}, got {found}; {also}.", stacklevel=4)

    def _estimated(self, answers: Array, probe: Probe, today: Array | None = None) -> Array:
        """Return the gradients that answers show, on today's path where it is given; raise where they are not finite."""
        gradient, space, memory = self.spec.gradient, self.spec.space, self.gradient_memory
        with np.errstate(over="ignore", invalid="ignore"):
            if today is None:
                gradients = gradient.estimate(answers, probe, space, memory)
            else:
                gradients = gradient.estimate_at(today, answers, probe, space, memory)
        if type(gradients) is np.ndarray and not checks.all_finite(gradients):
            raise checks.OverflowingError(
                "losses must be small enough for their gradients to be finite: these overflow."
            )
        return gradients

    def _teach(
        self, context: Array | None, played: Played, gradients: Array | None, answers: Array, probe: Probe
    ) -> None:
        """Let the copies, the gradient and the chain learn from a round; the gradient alone where there are no gradients."""
        spec, t = self.spec, self.phase_rounds + 1
        assert self.bank is not None  # a round was played
        if gradients is not None:
            # The copies come first: a foreign model may raise, and nothing else must have changed then.
            fed = self._fed(gradients, played)
            self.bank.remember(context, played.path[:-1], fed)
            self.bank.update(context, fed, t)
        else:
            self.bank.meet(context)
        spec.gradient.learn(answers, probe, spec.space, self.gradient_memory)
        if gradients is not None:
            spec.chain.learn(played.path, gradients, self.chain_memory, t)

    def _fed(self, gradients: Array, played: Played) -> Array:
        """Return what the copies learn from: gradients, corrected where their plays were projected."""
        if not self.geometry.projects_plays:
            return gradients
        gamma = self.spec.chain.gamma
        wished = played.raw if gamma == 1 else played.raw / gamma
        return corrected(gradients, wished, played.plays, len(self.spec.space.shape))

    def _play(self, context: Array | None) -> Played:
        assert self.bank is not None
        raw = self.bank.play(context)
        if self._foreign and type(raw) is np.ndarray and not checks.all_finite(raw):
            raise ValueError(f"learner must play finite numbers, got NaN or infinity from {self.spec.learner!r}.")
        return self._chained(raw)

    def _chained(self, raw: Array) -> Played:
        gamma = self.spec.chain.gamma
        plays = raw if gamma == 1 else raw / gamma
        if self.geometry.projects_plays:
            plays = self.geometry.ground.project(plays)
        path = self.spec.chain.path(plays, self.geometry.chain_start, self.chain_memory, self.geometry.ground)
        return Played(raw, plays, path)

    def _conclude(self, path: Array) -> Array:
        return self.spec.space.project(path[-1]) if self.geometry.projects_prediction else path[-1]

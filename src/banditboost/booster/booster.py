"""The loop that every algorithm of the library runs, each with other parts.

round t:  x_t ──► learner ──► chain ──► gradient ──► queries ──► the world
                    ▲                      │                        │
                    └──── linear losses ◄──┴──── loss values ◄──────┘
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from banditboost import bands as bands_of
from banditboost import drifts as drifts_of
from banditboost import encoder as encoder_of
from banditboost._core import checks, processes
from banditboost._core.checks import Array
from banditboost._core.processes import current_process
from banditboost._core.sparse_row import canonical_rows
from banditboost.bands import Conformal
from banditboost.booster.answers import played, told
from banditboost.booster.brief import described
from banditboost.booster.erasing import Erasing
from banditboost.booster.header import IN_FLIGHT
from banditboost.booster.in_order import frame_in_order, names_in
from banditboost.booster.limits import Allowed, limits_of
from banditboost.booster.spec import BoosterSpec, Plan
from banditboost.booster.ticket import NotInFlightError, Ticket
from banditboost.chains import Chain
from banditboost.datasets.own_fields import fields_in
from banditboost.drifts import Detector
from banditboost.encoder import Encoder
from banditboost.gradients import Gradient, Moment
from banditboost.learners import Bank, Learner
from banditboost.spaces import Space

__all__ = ["Booster", "BoosterSpec", "NotInFlightError", "Plan", "Ticket"]

NUMBERS_AT_A_TIME = 2**22
"""Most floats that `predict_many` holds at a time for contexts, and for paths; longer tables are predicted in blocks."""


class Booster(Erasing):
    """Learns online which decision to make, from loss values: `ask` gives decisions to try, `tell` takes what they cost.

    Inside are N copies of a weak learner, whose proposals a chain adds up to one prediction, and a gradient, which chooses the
    decisions to try and teaches the copies by what comes back. The functions in `banditboost.algorithms`, such as `boosted`, make
    boosters whose parts fit together.

    Parameters
    ----------
    learner
        The weak learner, of which every copy proposes a decision; copies learn from gradients.
    copies
        Number of copies (N): of weak learners.
    chain
        How the proposals of N copies become one prediction.
    gradient
        Which points to ask about, and how answers become gradients.
    space
        Where predictions must land (Y).
    inside
        Whether queries, too, must stay in the space. Plays are then projected on the space shrunk by δ, and learners
        receive the gradient corrected for that projection. The paper's experiments let queries leave the space: `inside=False`.
    seed
        Seed of all random numbers that are drawn here.
    start
        The point of the space where the chain starts: what is predicted before anything is learned, by chains that add plays up
        (`Additive`, `Span`). Others mix it with the plays, and forget it where their first step is 1. With ``inside=True`` it is
        pulled inside with the plays where it is too near the border. Zero when not given, or the centre of a space without zero.
    maximize
        Whether answers are rewards, which are wanted high: see `tell`.
    bands
        Whether to learn bands for what will be paid (`predict_loss`): True, or `bands.Conformal`. They change nothing else.
    drifts
        Whether to raise alarms where the world has changed (`drifts`): True, or `drifts.Detector`. They change nothing else.
    encoder
        Whether contexts have names: True, or `encoder.Encoder`. `ask`, `step`, `predict` and all other calls with contexts then
        take dictionaries, Series and rows with names, whose names and words may be new at any time; `predict_many` takes frames
        and lists of dictionaries. `names` says what was met.
    features
        Length of a context; that of the first context when not given.
    max_in_flight
        Most tickets that may wait for answers: see `limit_in_flight`.

    Notes
    -----
    Several threads may use one booster: a call waits for the call of another thread to end. A signal handler may predict, save the
    booster and close its journal; the last two then happen when the call that it has interrupted is over (`between_calls`). A copy
    that a fork made, or that `multiprocessing` handed over, can only predict until `adopt` has said which random stream it goes on
    with; `copy.deepcopy` gives another booster, with random streams of its own.

    Examples
    --------
    Learn y = 3x from noisy values of the squared loss, never seeing y:

    >>> import banditboost as bb
    >>> booster = bb.Booster(
    ...     learner=bb.learners.Linear(radius=10.0, rate=bb.rates.Power(0.1, 0.5)),
    ...     copies=20,
    ...     gradient=bb.gradients.OnePoint(delta=0.5),
    ...     space=bb.spaces.Interval(-5.0, 5.0),
    ... )
    >>> rng = np.random.default_rng(0)
    >>> for x in rng.uniform(-1, 1, size=(2000, 1)):
    ...     ticket = booster.ask(x)
    ...     losses = (ticket.queries - 3 * x) ** 2 + rng.uniform(-0.1, 0.1, size=20)
    ...     booster.tell(ticket, losses)
    >>> round(float(booster.predict([1.0])), 1)
    2.6
    >>> booster
    Booster: 20 weak learners, 1 feature, 20 answers a round, 2,000 rounds told, seed 0
      learner   Linear()
      chain     ConvexHull()
      gradient  OnePoint()
      space     Interval(low=-5.0, high=5.0)
    """

    def __init__(
        self,
        learner: Learner | None = None,
        copies: int = 20,
        chain: Chain | None = None,
        gradient: Gradient | None = None,
        space: Space | None = None,
        *,
        inside: bool = True,
        seed: int = 0,
        start: ArrayLike | None = None,
        maximize: bool = False,
        bands: bool | Conformal | None = None,
        drifts: bool | Detector | None = None,
        encoder: bool | Encoder | None = None,
        features: int | None = None,
        max_in_flight: int = IN_FLIGHT,
    ) -> None:
        given = {"learner": learner, "chain": chain, "gradient": gradient, "space": space}
        if space is None:
            raise ValueError("space must be given: the set where predictions must land, such as Interval(0, 1).")
        parts: dict[str, Any] = {name: part for name, part in given.items() if part is not None}
        parts |= {"start": start, "maximize": maximize, "bands": bands_of.chosen(bands)}
        parts |= {"drifts": drifts_of.chosen(drifts), "encoder": encoder_of.chosen(encoder)}
        limit = checks.count("max_in_flight", max_in_flight)
        self._begin(BoosterSpec(copies=copies, inside=inside, seed=seed, **parts), features)
        self.in_flight_limit = limit

    def ask(self, x: Any = None, *, space: Allowed | None = None) -> Ticket:
        """Begin a round: return a ticket with the points to ask about in context x. What `predict` returns does not change.

        Parameters
        ----------
        x
            The context: numbers, or names and values where there is an encoder.
        space
            Limits that hold for this round alone: an `Interval` or a `Box`, or a pair of the lowest and the highest values, which
            may be equal. The ticket's prediction is the nearest point within both these limits and the booster's space, and actions
            are drawn there; where one point is left, only the gradient's memory learns. For boosters on an `Interval` or a `Box`
            with a gradient that keeps to limits, such as `Remembered`.

        Examples
        --------
        Prices up to 20 euros; this product must not be sold below 12:

        >>> import banditboost as bb
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 20), answers=1, start=8.0, maximize=True)
        >>> ticket = booster.ask([0.3, 1.0], space=(12, 20))
        >>> float(ticket.prediction), bool(12 <= ticket.action <= 20), float(booster.predict([0.3, 1.0]))
        (12.0, True, 8.0)
        >>> booster.tell(ticket, rewards=[ticket.action - 5.0])
        """
        with self._lock, self._turn:
            if self._process != current_process.token:
                processes.check(self._process)
            named = self._pairs(x)
            context = self._context(x) if named is None else None
            limits = None if space is None else limits_of(self.spec, space)
            journal, fresh = self.journal, self.bank is None or named is not None
            if named is not None:
                context = self._make_room(
                    named, None if journal is None else lambda new, columns: journal.naming(new, limits, columns)
                )
            elif fresh:
                if journal is not None:
                    journal.asking(context, limits)
                self._turn.changing = True
                self._start_bank(0 if context is None else len(context))
            raw, plays, path = self._play(context)
            if journal is not None and not fresh:
                journal.asking(context, limits)
            spec = self.spec
            prediction = self._conclude(path)
            if limits is not None:
                prediction = limits.clip(prediction)[()]
            moment = Moment(path[:-1], prediction, context, limits, len(self._pending))
            self._turn.changing = True
            probe = spec.gradient.begin(moment, spec.space, self.streams, self.gradient_memory)
            queries = probe.queries
            if type(queries) is np.ndarray:  # not a Stack
                queries.setflags(write=False)
            if type(path) is np.ndarray:
                path.setflags(write=False)
            self._asked = number = self._asked + 1
            self._pending.add(number)
            if len(self._pending) > self.in_flight_limit:
                self._drop_oldest(1)
            ticket = Ticket(
                prediction,
                path,
                spec.gradient.asks,
                context,
                raw,
                plays,
                probe,
                number,
                self.identity,
                limits,
                self.rounds,
            )
            if journal is not None:
                journal.done(ticket)
            return ticket

    def tell(
        self,
        ticket: Ticket,
        values: ArrayLike | None = None,
        *,
        losses: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        actions: ArrayLike | None = None,
        answered: ArrayLike | None = None,
    ) -> None:
        """End a round: learn from the world's answers about a ticket's queries, given once, as values, losses or rewards.

        Parameters
        ----------
        ticket
            The ticket that `ask` returned. Tickets may be told late and in any order, each at most once; a ticket that was told or
            forgotten raises `NotInFlightError`. A ticket from before a plan started anew is accepted and has no effect.
        values
            Losses, or rewards where the booster was made with ``maximize=True``: one number per query, of any scale and sign, in
            a list that may be left out where there is one query; or one gradient per query, of the loss or of the reward, where
            ``ticket.asks`` is ``"gradients"``. Gradients of large matrices may be given as a
            `banditboost.spaces.stacks.Stack`.
        losses
            The same, where low is good whatever the booster was made with.
        rewards
            The same, where high is good: rewards are minus losses.
        actions
            What was played, where it is not what was asked about: rounded, vetoed, or replaced by a person; one for each value. An
            action within the law that its query was drawn from is learned from as one of that law, which is right up to the share
            of the law's width by which it was moved; of one beyond it the critic alone learns. For gradients that can, such as
            `Remembered` and `FromCritic`.
        answered
            True for each query that has an answer, where some are missing; there are as many values as are True. Pairs of which one
            answer is missing are no pairs any more, and of all such single answers the first is used.

        Examples
        --------
        A price that ends in .99:

        >>> import banditboost as bb
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 20), answers=1, maximize=True)
        >>> ticket = booster.ask([1.0])
        >>> price = np.floor(ticket.action) + 0.99
        >>> booster.tell(ticket, rewards=[price - 4.0], actions=[price])

        A shop that earns most at the price 6 + x:

        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 20), answers=2)
        >>> rng = np.random.default_rng(0)
        >>> for x in rng.uniform(0, 4, size=(500, 1)):
        ...     ticket = booster.ask(x)
        ...     booster.tell(ticket, rewards=50.0 - (ticket.queries - 6.0 - x) ** 2)
        >>> print(f"{booster.predict([1.0]):.0f} {booster.predict([3.0]):.0f}")
        7 9
        """
        with self._lock, self._turn:
            if self._process != current_process.token:
                processes.check(self._process)
            if not isinstance(ticket, Ticket) or ticket.travelled or ticket.owner != self.identity:
                self._check_ticket(ticket)
            if ticket.number not in self._pending:
                raise NotInFlightError(
                    "ticket must not be told twice, nor after it was forgotten: this one is no longer in flight."
                )
            if self.journal is not None:
                ticket = self.journal.tickets[ticket.number]  # what will be learned from when the journal is read again
            said = played(ticket, self.spec.space, actions, answered)
            answers = told(ticket, self.spec.maximize, values, losses, rewards, said.answered)
            if ticket.number <= self._outdated:
                # The copies that were asked have been replaced since.
                self._remove((ticket.number,))
            else:
                self._learn(ticket, said._replace(answers=answers))

    def reset(self, copies: Sequence[int] | NDArray[np.intp]) -> None:
        """Let some copies begin again, as where the world has changed and what they know is stale; the others stay as they are.

        What copies share stays too (the preconditioner of `SecondOrder`, the bins of trees, the scales of features). Tickets in
        flight may still be told. A journal records the call.

        Parameters
        ----------
        copies
            Indices of copies, counted from 0.

        Examples
        --------
        >>> from banditboost.spaces import Interval
        >>> booster = Booster(copies=3, space=Interval(-1, 1))
        >>> for x in (0.1, 0.7, 0.4):
        ...     ticket = booster.step([x], lambda queries: (queries - 1.0) ** 2)
        >>> booster.reset([0, 2])
        >>> np.abs(booster.arrays()["weights"]).sum(axis=1).round(2).tolist()
        [0.0, 1.07, 0.0]
        """
        chosen = np.unique(np.asarray(copies))
        if chosen.size and (chosen.dtype.kind not in "iu" or chosen[0] < 0 or chosen[-1] >= self.spec.copies):
            raise ValueError(f"copies must be indices from 0 to {self.spec.copies - 1}, got {copies!r:.200}.")
        with self._lock, self._turn:
            processes.check(self._process)
            if self.bank is None or not chosen.size:
                return
            chosen = chosen.astype(np.intp)
            # A learner that cannot be reset says so before anything is written down or changed.
            copy.deepcopy(self.bank).reset(chosen, copy.deepcopy(self.streams["perturbations"]))
            if self.journal is not None:
                self.journal.resetting(chosen)
            self._turn.changing = True
            self.bank.reset(chosen, self.streams["perturbations"])
            for name, fresh in self.spec.chain.start(self.spec.copies).items():
                self.chain_memory[name][chosen] = fresh[chosen]
            if self.journal is not None:
                self.journal.done()

    def predict(self, x: Any = None) -> Array:
        """Return the prediction that the next `ask` would make in context x, and change nothing."""
        with self._lock:
            context = self._context(x)
            if self.bank is not None:
                return self._conclude(self._play(context)[2])
        # The number of features is not known yet, and predicting must not decide it: play with a temporary bank.
        plain = replace(self.spec, encoder=None)
        return Booster.from_spec(plain, None if context is None else len(context)).predict(context)

    def predict_many(self, contexts: Any, staged: bool = False) -> Array:
        """Return what `predict` would return for every row of a table, which may be sparse, and change nothing.

        Parameters
        ----------
        contexts
            Shape (rows, features); with an encoder a frame of polars or pandas, or contexts one after the other.
        staged
            Whether to return the predictions of the first copy, the first two, ..., and all N, shape (N, rows, *shape).

        Examples
        --------
        >>> from banditboost.spaces import Interval
        >>> booster = Booster(copies=3, space=Interval(-1, 1), features=2)
        >>> booster.predict_many([[0.0, 1.0], [2.0, 3.0]]).tolist(), booster.predict_many(np.zeros((5, 2)), staged=True).shape
        ([0.0, 0.0], (3, 5))
        """
        if self.names is not None:
            with self._lock:
                contexts = self._columned_table(contexts)
        names = names_in(self.extra, self.features if self.bank is not None else None)
        contexts = frame_in_order(contexts, names, fields_in(self.extra, names))
        sparse = bool(issparse(contexts))
        table: Any = contexts.tocsr() if sparse else checks.finite("contexts", contexts, copy=False)
        if table.ndim != 2 or not self.spec.learner.contextual:
            raise ValueError(
                f"contexts must be a table of features for a learner that takes contexts, got the shape {table.shape}."
            )
        with self._lock:
            if self.bank is not None:
                return self._predict_rows(self.bank, table, staged)
        return Booster.from_spec(replace(self.spec, encoder=None), table.shape[1]).predict_many(table, staged)

    def _predict_rows(self, bank: Bank, table: Any, staged: bool) -> Array:
        rows, features = table.shape
        if features != self.features:
            raise ValueError(f"contexts must have {self.features} features, got {features}.")
        space, stages = self.spec.space, self.spec.copies if staged else 1
        found = np.empty((stages, rows, *space.shape))
        thin = not isinstance(table, np.ndarray) and self.spec.learner.thin(features)
        block = max(1, NUMBERS_AT_A_TIME // max(1 if thin else features, (self.spec.copies + 1) * space.size))
        for begin in range(0, rows, block):
            part = table[begin : begin + block]
            X = part
            if not isinstance(part, np.ndarray):
                X = canonical_rows("contexts", part) if thin else checks.finite("contexts", part.toarray())
            path = self._chained(bank.play_many(X))[2]
            found[:, begin : begin + block] = path[-stages:]
        if self.geometry.projects_prediction:
            found = space.project(found)
        return found if staged else found[0]

    def step(self, x: Any, oracle: Callable[[Array], ArrayLike]) -> Ticket:
        """Play a whole round: ask, call `oracle(queries)` once for all points, and tell its answers. Return the ticket.

        Answers are losses, or rewards where the booster was made with ``maximize=True``.
        """
        ticket = self.ask(x)
        try:
            answers = oracle(ticket.queries)
            self.tell(ticket, answers)
        except BaseException:
            with suppress(Exception):  # where a journal cannot be written, that error is being raised already
                self.forget(ticket)
            raise
        return ticket

    def __repr__(self) -> str:
        known = self.spec.learner.contextual and self.bank is not None
        return described(self.spec, self.features if known else None, self.rounds, self.names)

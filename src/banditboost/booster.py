"""The loop: every algorithm of the library is this one, with other parts.

round t:  x_t ──► learner ──► chain ──► gradient ──► queries ──► the world
                    ▲                      │                        │
                    └──── linear losses ◄──┴──── loss values ◄──────┘
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from banditboost import archive, require
from banditboost.blueprint import BoosterSpec, Plan
from banditboost.chains import Chain
from banditboost.gradients import Gradient
from banditboost.learners import Bank, Learner
from banditboost.require import Array
from banditboost.spaces import Space
from banditboost.spaces.base import dots, norms
from banditboost.spaces.stacks import Stack
from banditboost.spec import Spec
from banditboost.streams import restore, state, stream
from banditboost.ticket import Ticket

__all__ = ["Booster", "BoosterSpec", "Plan", "Ticket"]

FIRST_PHASE = 16
NUMBERS_AT_A_TIME = 2**22
"""Most numbers that predicting many rows holds at a time, for each of contexts and paths."""


class Booster:
    """N copies of a learner, chained, learning from what the world answers about a few points a round.

    Parameters
    ----------
    learner
        Who plays: a bank of copies that learn from linear losses.
    copies
        How many (N).
    chain
        How N plays become one prediction.
    gradient
        Which points to ask about, and how answers become gradients.
    space
        Where predictions must land (Y).
    inside
        Whether queries, too, must stay in the space. Plays are then projected on the space shrunk by δ, and learners
        receive the gradient corrected for that projection. The paper's experiments let queries leave: `inside=False`.
    seed
        Makes everything random here reproducible.
    features
        Length of a context; learned from the first one when not given.

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
        features: int | None = None,
    ) -> None:
        given = {"learner": learner, "chain": chain, "gradient": gradient, "space": space}
        if space is None:
            raise ValueError("space must be given: the set where predictions must land, such as Interval(0, 1).")
        parts: dict[str, Any] = {name: part for name, part in given.items() if part is not None}
        self._begin(BoosterSpec(copies=copies, inside=inside, seed=seed, **parts), features)

    @classmethod
    def from_spec(cls, spec: BoosterSpec | Plan, features: int | None = None) -> Booster:
        """Make a fresh booster from its spec, or one that starts again with doubled horizons from its plan."""
        booster = cls.__new__(cls)
        if isinstance(spec, Plan):
            booster._begin(spec.at(FIRST_PHASE), features)
            booster.plan = spec
        else:
            booster._begin(spec, features)
        return booster

    def _begin(self, spec: BoosterSpec, features: int | None) -> None:
        self.plan: Plan | None = None
        """Where the horizon is not known: what to start again with twice the horizon when one is over."""
        self.phase = 0
        """How often that has happened."""
        self.rounds = 0
        """How many tickets were told."""
        self.extra: dict[str, Any] = {}
        """What travels in the model file and means nothing to the booster: plain data, such as how a table was encoded."""
        self.streams = {role: stream(spec.seed, role) for role in ("directions", "perturbations", "coins")}
        self._asked = 0
        self._pending: set[int] = set()
        self._outdated: set[int] = set()
        self._owner = object()
        self._setup(spec, features)

    def _setup(self, spec: BoosterSpec, features: int | None) -> None:
        self.spec = spec
        self.phase_rounds = 0
        """How many tickets were told in this phase: what schedules count."""
        self.bank: Bank | None = None
        """The copies; None until the number of features is known."""
        self.features = 0
        self.chain_memory = spec.chain.start(spec.copies)
        self.gradient_memory = spec.gradient.start(spec.copies, spec.space)

        space, chain, reach = spec.space, spec.chain, spec.gradient.reach
        shrunk = spec.inside and reach > 0
        self.ground = space.shrink(reach / space.inner_radius) if shrunk else space
        """Where copies play, so that queries stay in the space."""
        # Copies that never leave the ground need no projection, neither of plays nor of the prediction: that is what
        # makes Algorithm 1 projection-free.
        stays = not spec.learner.contextual and chain.gamma == 1
        self.projects_plays = spec.inside and not stays and not chain.projects
        self.projects_prediction = not spec.inside and not stays and not chain.projects
        self.start = np.zeros(space.shape)
        """Where the chain begins: zero where the ground contains it, else the centre."""
        try:
            zero_is_inside = bool(self.ground.contains(self.start))
        except NotImplementedError:  # a set known by its linear oracle alone cannot tell
            zero_is_inside = False
        if not zero_is_inside:
            self.start = np.asarray(space.center / (1.0 if spec.inside or chain.projects else chain.gamma))
        if not spec.learner.contextual:
            if features:
                raise ValueError(f"features must not be given for a learner without contexts, got {features}.")
            self._start_bank(0)
        elif features is not None:
            self._start_bank(require.count("features", features, least=0))

    def _start_bank(self, features: int) -> None:
        spec = self.spec
        self.bank = spec.learner.start(spec.copies, self.ground, features, self.streams["perturbations"])
        self.features = features

    def ask(self, x: ArrayLike | None = None) -> Ticket:
        """Begin a round: return the points to ask about in context x. What `predict` returns does not change."""
        context = self._context(x)
        if self.bank is None:
            self._start_bank(0 if context is None else len(context))
        raw, plays, path = self._play(context)
        probe = self.spec.gradient.probe(path[:-1], self.spec.space, self.streams)
        for array in (probe.queries, path):
            if type(array) is np.ndarray:  # not a Stack
                array.flags.writeable = False
        self._asked += 1
        self._pending.add(self._asked)
        return Ticket(
            prediction=self._conclude(path),
            path=path,
            asks=self.spec.gradient.asks,
            context=context,
            raw=raw,
            plays=plays,
            probe=probe,
            number=self._asked,
            owner=self._owner,
        )

    def tell(self, ticket: Ticket, losses: ArrayLike, played: float | None = None) -> None:
        """End a round: learn from the world's answers about a ticket's queries.

        Parameters
        ----------
        ticket
            What `ask` returned. Tickets may be told late and in any order, each at most once. Where a plan has started
            anew in between, telling does nothing.
        losses
            One number per query (or one gradient per query, for gradients that ask for those), of any scale and sign. Gradients of
            large matrices may come described: a `banditboost.spaces.stacks.Stack`.
        played
            The loss of the prediction itself, where it is known. No present gradient needs it.
        """
        spec = self.spec
        if not isinstance(ticket, Ticket):
            raise ValueError(f"ticket must be what ask returned, got {type(ticket).__name__}.")
        if ticket.owner is not self._owner:
            raise ValueError("ticket must come from this booster: this one was issued by another.")
        if ticket.number in self._outdated:
            self._outdated.remove(ticket.number)
            return
        if ticket.number not in self._pending:
            raise ValueError("ticket must not be told twice: this one was told already.")
        probe = ticket.probe
        shape = (len(probe.queries), *(spec.space.shape if spec.gradient.asks == "gradients" else ()))
        answers = (
            losses.checked("losses", shape)
            if type(losses) is not np.ndarray and isinstance(losses, Stack)
            else require.finite("losses", losses, shape)
        )
        if played is not None:
            require.number("played", played)
        with np.errstate(over="ignore", invalid="ignore"):
            gradients = spec.gradient.estimate(answers, probe, spec.space, self.gradient_memory)
        if type(gradients) is np.ndarray and not require.all_finite(gradients):
            raise require.OverflowingError(
                "losses must be small enough for their gradients to be numbers: these overflow."
            )
        fed = gradients
        if self.projects_plays:
            gamma = spec.chain.gamma
            wished = ticket.raw if gamma == 1 else ticket.raw / gamma
            fed = corrected(gradients, wished, ticket.plays, len(spec.space.shape))
        assert self.bank is not None  # a ticket exists, so ask has started the bank
        # The copies first: a foreign model may raise, and nothing else must have changed then.
        self.bank.update(ticket.context, fed, self.phase_rounds + 1)
        spec.gradient.learn(answers, probe, spec.space, self.gradient_memory)
        spec.chain.learn(ticket.path, gradients, self.chain_memory, self.phase_rounds + 1)
        self._pending.remove(ticket.number)
        self.count(1)

    def count(self, rounds: int) -> None:
        """Note that rounds were told; where a plan's phase is over, start the next, twice as long."""
        self.rounds += rounds
        self.phase_rounds += rounds
        if self.plan is not None and self.phase_rounds >= FIRST_PHASE << self.phase:
            self.phase += 1
            # What was asked of the old copies has no one left to teach: telling it is allowed and does nothing.
            self._outdated |= self._pending
            self._pending = set()
            known = self.features if self.spec.learner.contextual else None
            self._setup(self.plan.at(FIRST_PHASE << self.phase), known)

    def predict(self, x: ArrayLike | None = None) -> Array:
        """Return what the next `ask` would predict, and change nothing."""
        context = self._context(x)
        if self.bank is None:
            # Nothing is known yet, and predicting must not decide the number of features: play with a passing bank.
            fresh = Booster.from_spec(self.spec, None if context is None else len(context))
            return fresh.predict(x)
        return self._conclude(self._play(context)[2])

    def predict_many(self, contexts: Any, staged: bool = False) -> Array:
        """Return what `predict` would for every row of a table, which may be sparse; change nothing.

        Parameters
        ----------
        contexts
            Shape (rows, features).
        staged
            Whether to return the predictions of the first 1 ... N copies, shape (N, rows, *shape), in place of those of all.

        Examples
        --------
        >>> from banditboost.spaces import Interval
        >>> booster = Booster(copies=3, space=Interval(-1, 1), features=2)
        >>> booster.predict_many([[0.0, 1.0], [2.0, 3.0]]).tolist(), booster.predict_many(np.zeros((5, 2)), staged=True).shape
        ([0.0, 0.0], (3, 5))
        """
        sparse = bool(issparse(contexts))
        table: Any = contexts.tocsr() if sparse else require.finite("contexts", contexts, copy=False)
        if table.ndim != 2 or not self.spec.learner.contextual:
            raise ValueError(f"contexts must be rows of features for a learner that takes them, got {table.shape}.")
        rows, features = table.shape
        if self.bank is None:
            return Booster.from_spec(self.spec, features).predict_many(table, staged)
        if features != self.features:
            raise ValueError(f"contexts must have {self.features} features, got {features}.")
        space, stages = self.spec.space, self.spec.copies if staged else 1
        found = np.empty((stages, rows, *space.shape))
        block = max(1, NUMBERS_AT_A_TIME // max(features, (self.spec.copies + 1) * space.size))
        for begin in range(0, rows, block):
            part = table[begin : begin + block]
            X = require.finite("contexts", part.toarray()) if sparse else part
            path = self._chained(self.bank.play_many(X))[2]
            found[:, begin : begin + block] = path[-stages:]
        if self.projects_prediction:
            found = space.project(found)
        return found if staged else found[0]

    def step(self, x: ArrayLike | None, oracle: Callable[[Array], ArrayLike]) -> Ticket:
        """Play a whole round: ask, call `oracle(queries)` once for all points, tell. Return the ticket."""
        ticket = self.ask(x)
        try:
            answers = oracle(ticket.queries)
            self.tell(ticket, answers)
        except BaseException:
            self._pending.discard(ticket.number)
            raise
        return ticket

    def _play(self, context: Array | None) -> tuple[Array, Array, Array]:
        assert self.bank is not None
        return self._chained(self.bank.play(context))

    def _chained(self, raw: Array) -> tuple[Array, Array, Array]:
        gamma = self.spec.chain.gamma
        plays = raw if gamma == 1 else raw / gamma
        if self.projects_plays:
            plays = self.ground.project(plays)
        return raw, plays, self.spec.chain.path(plays, self.start, self.chain_memory, self.ground)

    def _conclude(self, path: Array) -> Array:
        return self.spec.space.project(path[-1]) if self.projects_prediction else path[-1]

    def _context(self, x: ArrayLike | None) -> Array | None:
        if not self.spec.learner.contextual:
            if x is not None:
                raise ValueError("x must be left out: this learner takes no context.")
            return None
        if x is None:
            raise ValueError("x must be given: this learner needs a context.")
        if type(x) is not np.ndarray and issparse(x):
            row: Any = x
            if row.ndim == 2 and row.shape[0] != 1:
                raise ValueError(f"x must be one context, got a sparse array of shape {row.shape}.")
            x = row.toarray().reshape(-1)  # the plain path is the definition: zeros are numbers like others
        context = require.finite("x", x)
        if context.ndim != 1:
            raise ValueError(f"x must be one context with one axis, got shape {context.shape}.")
        if self.bank is not None and len(context) != self.features:
            raise ValueError(f"x must have {self.features} features, got {len(context)}.")
        return context

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write spec, state and random streams to one file, which replaces `path` only when it is complete.

        Tickets in flight are not saved.
        """
        header = {
            "spec": (self.plan or self.spec).to_dict(),
            "phase": self.phase,
            "phase_rounds": self.phase_rounds,
            "features": self.features if self.bank is not None else None,
            "rounds": self.rounds,
            "streams": {role: state(rng) for role, rng in self.streams.items()},
            "extra": self.extra,
        }
        archive.write(path, header, self.arrays())

    def arrays(self) -> dict[str, Array]:
        """Return all that was learned, by name: the arrays themselves, of the copies, the chain and the gradient."""
        named = dict(self.bank.arrays()) if self.bank is not None else {}
        for part, memory in (("chain", self.chain_memory), ("gradient", self.gradient_memory)):
            named |= {f"{part}.{name}": array for name, array in memory.items()}
        return named

    @classmethod
    def load(cls, path: str | os.PathLike[str], parts: dict[str, Spec] | None = None) -> Booster:
        """Read what `save` wrote; the booster goes on as if it had never stopped. Nothing in the file is executed.

        Parameters
        ----------
        path
            The file.
        parts
            Parts by kind (``Spec.kind``), for those that the file names but that are not known here.
        """
        header, arrays = archive.read(path, parts)
        if not isinstance(header["spec"], BoosterSpec | Plan):
            raise ValueError(f"{os.fspath(path)} does not hold a booster.")
        extra = header.get("extra", {})  # files of earlier versions have none
        if not isinstance(extra, dict):
            raise ValueError(f"{os.fspath(path)} is damaged: what travels with the booster must be named.")
        booster = cls.from_spec(header["spec"], header["features"] or None)
        booster.phase = require.count("phase", header["phase"], least=0)
        if booster.plan is not None and booster.phase:
            booster._setup(booster.plan.at(FIRST_PHASE << booster.phase), header["features"] or None)
        if header["features"] == 0 and booster.bank is None:
            booster._start_bank(0)
        archive.refill(path, booster.arrays(), arrays)
        booster.rounds = require.count("rounds", header["rounds"], least=0)
        booster.phase_rounds = require.count("phase_rounds", header["phase_rounds"], least=0)
        for role, saved in header["streams"].items():
            restore(booster.streams[role], saved)
        booster.extra = extra
        return booster

    def __repr__(self) -> str:
        spec = self.spec
        return (
            f"Booster(learner={spec.learner!r}, copies={spec.copies}, chain={spec.chain!r}, gradient={spec.gradient!r}, "
            f"space={spec.space!r}, inside={spec.inside}, seed={spec.seed})"
        )


def corrected(gradients: Array, wished: Array, played: Array, ndim: int) -> Array:
    """Correct gradients for plays that were projected, so that learning on them is learning about the projections.

    Where copy i wished for z and Πz was played, let u be the unit vector from Πz to z. A gradient that pushes further out
    (g·u < 0) loses its part along u: g̃ = g - (g·u)u. Then ‖g̃‖ ≤ ‖g‖ and g·(Πz - x*) ≤ g̃·(z - x*) for every x* in the set,
    since u·(z - x*) ≥ ‖z - Πz‖: regret on g̃ bounds regret of what was played.

    References
    ----------
    Cutkosky, Orabona (2018), Theorem 3, in the form of Cutkosky (2020), "Parameter-free, dynamic, and strongly-adaptive
    online learning", which needs no factor of 2.
    """
    outward = wished - played
    if not np.count_nonzero(outward):
        return gradients
    if ndim == 0:  # on the line u is a sign, and a gradient that pushes out loses all of itself
        return np.asarray(gradients * (gradients * np.sign(outward) >= 0))
    length = norms(outward, ndim)
    unit = np.divide(outward, length, out=np.zeros_like(outward), where=length > 0)
    return np.asarray(gradients - np.minimum(dots(gradients, unit, ndim), 0.0) * unit)

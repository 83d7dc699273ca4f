"""The interface of every gradient: which points to ask about, and how the answers become gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._core.forms import no_loop
from banditboost._core.spec import Memory, Spec
from banditboost.critics.suspicion import Suspicion
from banditboost.noise import Noise
from banditboost.spaces import Space

Streams = Mapping[str, np.random.Generator]
"""Random generators by role: "directions" draws the directions of queries, "coins" decides which directions are asked about."""


CAP = 10.0
"""Most times that a round counts whose action another has chosen: one that is hardly ever played there and often here counts no
more."""


class Probe(NamedTuple):
    """The queries of one round."""

    queries: Array
    """Points to ask about, shape (M, *shape)."""
    directions: Array
    """Directions drawn about the anchors, shape (D, *shape); empty where none are used."""
    draws: NDArray[np.int64]
    """Shape (M,): queries with equal numbers must be answered with the same random sample."""
    anchors: Array
    """Points y^0 ... y^{N-1} at which gradients are wanted, shape (N, *shape)."""
    chosen: NDArray[np.bool_]
    """True for the directions that were asked about, shape (D,)."""
    prediction: Array | None = None
    """The prediction about which queries lie, for gradients that ask around it; None for others."""
    law: Array | None = None
    """The law that actions were drawn from: its offset, its half-width, and what the critic has to know of it, shape (4, d)."""
    density: Array | None = None
    """The law's density at each query, shape (M,)."""
    context: Array | None = None
    """The round's context, for gradients that look at it."""
    weight: Array | None = None
    """How much the round counts along each coordinate, shape (d,), where limits narrow its law; None where it counts whole."""
    importance: Array | None = None
    """What the answer counts, where another law than this one drew the action, and 1 where the law is about the prediction or 0
    where it is about another's aim, shape (2,); None for actions that were drawn here, and so in every ticket."""


class Limits(NamedTuple):
    """Where the actions of one round must stay: on an interval or in a box."""

    low: Array
    """The least value of every coordinate, shape (d,)."""
    high: Array
    """The greatest, at least as high; where both are equal, limits leave one value."""

    def clip(self, points: Array) -> Array:
        """Return the nearest points within the limits."""
        shape = np.shape(points)
        return np.asarray(np.minimum(np.maximum(points, self.low.reshape(shape)), self.high.reshape(shape)))


class Moment(NamedTuple):
    """What is known when a round's queries are chosen."""

    anchors: Array
    """Points y^0 ... y^{N-1} at which gradients are wanted, shape (N, *shape)."""
    prediction: Array
    """The end of the chain, in the space and within the round's limits."""
    context: Array | None
    limits: Limits | None
    """Where the actions of this round must stay, where that is less than the space; None otherwise."""
    waiting: int = 0
    """How many earlier rounds wait for their answers."""


class Aim(NamedTuple):
    """How another chooses actions in a context: about a mean, with a standard deviation along each coordinate."""

    mean: Array
    """Shape (d,)."""
    spread: Array
    """Shape (d,), all positive."""


class Questions(NamedTuple):
    """All that is random in a block of T rounds with D directions each: what compiled loops are given."""

    directions: Array
    """Shape (T, D, d); empty where none are drawn."""
    chosen: NDArray[np.bool_]
    """Which directions are asked about, shape (T, D)."""
    noise: Array
    """Shape (T, D, sides); for gradients that are given (T, N, d), or empty where they are exact."""


@dataclass(frozen=True)
class Gradient(Spec):
    """Turns answers to queries at or near the anchors y^0 ... y^{N-1} into N gradients."""

    asks: ClassVar[Literal["values", "gradients"]]
    """Kind of answer to each query: a loss value, or a gradient."""
    noisy: ClassVar[bool] = True
    """True: answers may carry noise. False: answers must be exact."""

    @property
    def reach(self) -> float:
        """Largest distance δ of a query from its anchor, which decides how far the set of plays is shrunk."""
        return 0.0

    @abstractmethod
    def count(self, copies: int) -> int:
        """Return the number of queries (M) in a round with that many copies, on average where the number is random."""

    def check(self, copies: int, space: Space) -> None:
        """Raise an error where this gradient cannot serve that many copies on that space."""

    def suspicion(self) -> Suspicion | None:
        """Return what looks out for losses that cannot be meant; None where any may be."""
        return None

    def n_floats(self, copies: int) -> int:
        """Return the number of floats kept in memory, where it grows with the number of copies."""
        return 0

    def start(self, copies: int, space: Space) -> Memory:
        """Return the memory before the first round, which is empty for most gradients."""
        return {}

    def start_with(self, features: int, space: Space) -> Memory:
        """Return what is remembered besides, once the length of contexts is known: nothing for most gradients."""
        return {}

    def n_floats_with(self, features: int) -> int:
        """Return the number of floats that `start_with` returns, before they are made."""
        return 0

    limited: ClassVar[bool] = False
    """True: queries keep to limits that hold for one round only (``ask(x, space=...)``)."""

    def begin(self, moment: Moment, space: Space, streams: Streams, memory: Memory) -> Probe:
        """Choose the round's queries, given all that is known; most gradients ask about the anchors alone (`probe`)."""
        return self.probe(moment.anchors, space, streams)

    @abstractmethod
    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Choose the round's queries."""

    @abstractmethod
    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Turn the M answers to a probe into N gradients, shape (N, *shape), without changing the memory."""

    @property
    def moves(self) -> bool:
        """Whether answers show what gradients are at other anchors than those they were asked for (`estimate_at`)."""
        return False

    def estimate_at(self, path: Array, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Return what `estimate` would on another path, where `moves` is True: late answers are learned from at today's anchors.

        The estimate itself at the new anchors, for gradients that ask about other points than anchors.

        Parameters
        ----------
        path
            Today's y^0 ... y^N for the round's context: all but the last are the anchors.
        answers, probe, space, memory
            As for `estimate`.
        """
        return self.estimate(answers, probe._replace(anchors=path[:-1]), space, memory)

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Update the memory with a round's answers, after their gradients have been used."""

    def foreign(
        self,
        moment: Moment,
        action: Array,
        density: float | None,
        space: Space,
        memory: Memory,
        aim: Aim | None = None,
    ) -> Probe:
        """Return the probe of a round whose one action another has chosen; raise where this gradient learns from its own alone.

        Where only the memory can learn from the round, none of the probe's directions is `chosen`.

        Parameters
        ----------
        moment, space, memory
            As for `begin`.
        action
            A point of the space.
        density
            The density with which the other drew it; None where it is not known.
        aim
            How the other chooses in this context; None where it is not known.
        """
        raise ValueError(
            f"gradient must be one that learns from actions that others chose, such as Remembered or FromCritic, got "
            f"{type(self).__name__}."
        )

    def compiled_reader(self, space: Space, memory: Memory) -> Any:
        """Return the form in which compiled loops learn from rows of a log (`banditboost._compiled.logged`); None without one."""
        return None

    def as_played(
        self, probe: Probe, actions: Array, answered: NDArray[np.bool_], answers: Array, space: Space
    ) -> tuple[Probe, Array]:
        """Return a probe and its answers where other actions were played than were asked about, or some have no answer.

        Raise where this gradient needs all answers, and those to its own questions. Where only the memory can learn, none of the
        probe's directions is `chosen`.

        Parameters
        ----------
        probe
            What was asked.
        actions
            What was played, shape (M, *shape); the query itself where an answer is missing.
        answered
            Which queries have an answer, shape (M,): at least one.
        answers
            Those, in order.
        space
            Where actions lie.
        """
        raise ValueError(
            f"actions and answered must be left out for {type(self).__name__}, which needs all answers to its own questions; "
            "Remembered and FromCritic do without."
        )

    def resize(self, memory: Memory, old: Space, new: Space) -> None:
        """Change a memory that was made in one space to what it would be in another, which is larger or smaller."""

    def draw(
        self, copies: int, space: Space, streams: Streams, rounds: int, noise: Noise, rng: np.random.Generator
    ) -> Questions:
        """Draw all that is random in a block of rounds, in the same order and from the same streams as round by round.

        Parameters
        ----------
        copies, space, streams
            As for `probe`.
        rounds
            How many rounds the block has.
        noise, rng
            What the world adds to every answer, and the stream from which it draws that.
        """
        raise TypeError(f"The gradient {type(self).__name__} has no compiled form, for which questions would be drawn.")

    @property
    def draws_like(self) -> Any:
        """What decides `draw` beside copies and space: gradients with equal values share their questions in a sweep."""
        return self

    def compiled_form(self, copies: int, space: Space, memory: Memory, questions: Questions) -> Any:
        """Return the typed tuple by which compiled loops know this gradient (`banditboost.extending`); None where there is none."""
        return None

    def why_not_compiled(self) -> str | None:
        """Return why no compiled loop can use this gradient, as half a sentence; None where one can."""
        if type(self).compiled_form is Gradient.compiled_form:
            return f"there is no compiled loop for the gradient {type(self).__name__}"
        return no_loop("gradient", self)


def carried(gradients: Array, probe: Probe, anchors: Array, space: Space) -> Array:
    """Return a probe's gradients, whose curvature is 2, at other anchors.

    A squared distance has the gradient g + 2 (y' - y) at y'. Losses that are not as steep further away must not be taken for it:
    no gradient gets longer than the longest of its round, or than twice the space, which is the steepest that a squared distance
    within the space can be.

    Examples
    --------
    >>> from banditboost.gradients import Exact
    >>> from banditboost.spaces import Interval
    >>> space, before = Interval(0, 2), np.array([0.5, 1.0])
    >>> probe = Exact().probe(before, space, {})
    >>> carried(np.array([0.5, -3.0]), probe, np.array([0.75, 2.0]), space).tolist()
    [1.0, -1.0]
    >>> carried(np.array([0.5, -6.0]), probe, np.array([2.0, 0.0]), space).tolist()
    [3.5, -6.0]
    """
    axes, longest = tuple(range(1, 1 + len(space.shape))), 2.0 * space.extents.reshape(space.shape)
    moved = gradients + 2.0 * (np.asarray(anchors) - np.asarray(probe.anchors))
    before, lengths = (np.sqrt(np.square(part / longest).sum(axis=axes, keepdims=True)) for part in (gradients, moved))
    most = max(1.0, float(before.max()))
    return np.asarray(moved * (most / np.maximum(lengths, most)))

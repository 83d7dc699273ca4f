"""Tickets: what `ask` returns and `tell` takes."""

from __future__ import annotations

import base64
import io
import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, all_finite
from banditboost._core.sparse_row import SparseRow
from banditboost._storage import array_table, model_file
from banditboost._storage.array_table import ArrayTable
from banditboost.gradients import Limits, Probe
from banditboost.spaces import stack_storage
from banditboost.spaces.stacks import Stack


class NotInFlightError(ValueError):
    """Raised for a ticket that was told already or forgotten; catch it where answers may come twice or too late."""


@dataclass(eq=False, slots=True)
class Ticket:
    """The queries of one round, and all that is needed to learn from the answers whenever they come.

    Examples
    --------
    A ticket can be saved, so that another process tells the answers days later:

    >>> import banditboost as bb, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(0, 1), copies=3)
    >>> booster.ask([0.5]).save(folder / "ticket.bb")
    >>> booster.save(folder / "model.bb")
    >>> again = bb.Booster.load(folder / "model.bb")
    >>> again.tell(bb.Ticket.load(folder / "ticket.bb"), [1.0, 0.5, 0.2])
    >>> again.rounds, booster.rounds
    (1, 0)
    """

    prediction: Array
    """The prediction, shape (*shape)."""
    path: Array
    """The chain from its start to its end, shape (N+1, *shape)."""
    asks: str
    """What the answers must be: "values" (M numbers) or "gradients" (M arrays of the space's shape)."""
    context: Array | None = field(repr=False)
    raw: Array = field(repr=False)
    plays: Array = field(repr=False)
    probe: Probe = field(repr=False)
    """The queries, and what the gradient needs to know about them."""
    number: int = field(repr=False)
    """The ticket's number: those of a booster are numbered from 1, in the order of asking."""
    owner: str = field(repr=False)
    """The `identity` of the booster that asked."""
    limits: Limits | None = field(default=None, repr=False)
    """Where the actions of this round must stay, where ``ask(x, space=...)`` has said so: within the space; None otherwise."""
    told: int = field(default=0, repr=False)
    """How many rounds had been told when this was asked: where more have been since, it is late."""
    travelled: bool = field(default=False, repr=False)
    """Whether this was read from a file, so that it must be checked before it is used."""

    @property
    def queries(self) -> Array:
        """The points to ask about, shape (M, *shape); a `spaces.stacks.Stack` in place of an array for large matrices."""
        return self.probe.queries

    @property
    def draws(self) -> NDArray[np.int64]:
        """Shape (M,): queries with equal numbers must be answered with the same random sample."""
        return self.probe.draws

    @property
    def action(self) -> Array:
        """The one point to play, for boosters that ask one question a round; its loss is what is paid."""
        if len(self.probe.queries) != 1:
            raise ValueError(
                f"action must be read from a ticket with one query, got one with {len(self.probe.queries)}: see queries."
            )
        return np.asarray(self.probe.queries[0])[()]

    @property
    def density(self) -> Array:
        """The density with which each query was drawn, with respect to the volume of the space's tangent, shape (M,).

        Logs and off-policy evaluation need it. It is zero where the limits of a round left a single point.
        """
        if self.probe.density is None:
            raise ValueError(
                "density must be read from a ticket whose gradient draws from a law with one, such as Remembered."
            )
        return self.probe.density

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one file, which replaces `path` only when it is complete: any process may tell it later."""
        model_file.write(path, *self._stored())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ticket:
        """Read what `save` wrote. Nothing in the file is executed."""
        return cls._read(os.fspath(path), *model_file.read(path))

    def to_bytes(self) -> bytes:
        """Return what `save` would write, for a queue, a database or a message."""
        return model_file.to_bytes(*self._stored())

    @classmethod
    def from_bytes(cls, data: bytes) -> Ticket:
        """Read what `to_bytes` returned. Nothing in it is executed."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ValueError(f"data must be bytes, got {type(data).__name__}.")
        return cls._read(_DATA, *model_file.read_open(io.BytesIO(data), _DATA))

    def to_json(self) -> str:
        """Return this ticket as a JSON object with a version, its number, and its bytes in base64.

        Examples
        --------
        >>> import banditboost as bb
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1)
        >>> text = booster.ask([0.5]).to_json()
        >>> booster.tell(bb.Ticket.from_json(text), [0.2])
        >>> booster.rounds
        1
        """
        data = base64.b64encode(self.to_bytes()).decode()
        return json.dumps({"ticket": JSON_VERSION, "number": self.number, "data": data})

    @classmethod
    def from_json(cls, text: str | bytes) -> Ticket:
        """Read what `to_json` returned. Nothing in it is executed."""
        try:
            plain = json.loads(text)
            version, number, data = plain["ticket"], plain["number"], base64.b64decode(plain["data"], validate=True)
        except (ValueError, TypeError, LookupError, RecursionError):
            raise ValueError("The text is not a ticket's JSON.") from None
        if version != JSON_VERSION:
            raise ValueError(
                f"The ticket has version {version!r:.50}; this version of banditboost reads {JSON_VERSION}."
            )
        ticket = cls.from_bytes(data)
        if ticket.number != number:
            raise ValueError(
                f"The ticket says that its number is {number!r:.50}, and its data that it is {ticket.number}."
            )
        return ticket

    def _stored(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the header and the arrays of a file."""
        table = ArrayTable()
        header = {"holds": "ticket", "ticket": self.to_plain(table)}
        return header, {str(i): np.asarray(array) for i, array in enumerate(table.arrays)}

    @classmethod
    def _read(cls, name: str, header: dict[str, Any], named: dict[str, Array]) -> Ticket:
        if header.get("holds") != "ticket":
            raise ValueError(f"{name} does not hold a ticket.")
        try:
            arrays = [named[str(i)] for i in range(len(named))]
            return cls.from_plain(header["ticket"], arrays)
        except (ValueError, TypeError, LookupError, AttributeError):
            raise ValueError(f"{name} is damaged: its arrays do not make a ticket.") from None

    def to_plain(self, table: ArrayTable) -> dict[str, Any]:
        """Return this ticket as plain data, and put its arrays into a table."""
        plain = {
            "number": self.number,
            "owner": self.owner,
            "asks": self.asks,
            "told": self.told,
            **{name: stack_storage.put(getattr(self, name), table) for name in _ARRAYS},
            "probe": [stack_storage.put(part, table) for part in self.probe[:_KEPT]],
        }
        return plain if self.limits is None else plain | {"limits": [table.put(end) for end in self.limits]}

    @classmethod
    def from_plain(cls, data: dict[str, Any], arrays: list[Any]) -> Ticket:
        """Rebuild a ticket from what `to_plain` returned, and check that its arrays fit each other."""
        if type(data["number"]) is not int or type(data["owner"]) is not str or data["asks"] not in _ASKS:
            raise ValueError("the header is not a ticket's")
        told = data.get("told", UNKNOWN)  # tickets of earlier versions do not say
        if type(told) is not int or told < UNKNOWN:
            raise ValueError("the header is not a ticket's")
        prediction, path, context, raw, plays = (stack_storage.take(data[name], arrays) for name in _ARRAYS)
        if len(data["probe"]) > _KEPT:
            raise ValueError("the probe is not a ticket's")
        probe = Probe(*(stack_storage.take(where, arrays) for where in data["probe"]))
        limits = Limits(*(array_table.take(i, arrays) for i in data["limits"])) if "limits" in data else None
        prediction = prediction[()]  # on the line a prediction is one number, as in a ticket that `ask` returns
        copies, shape = len(path) - 1, np.shape(prediction)
        wanted = ((path, copies + 1), (raw, copies), (plays, copies), (probe.anchors, copies))
        whole = all(part.shape == (n, *shape) for part, n in wanted)
        whole &= probe.queries.shape[1:] == shape and probe.draws.shape == (len(probe.queries),)
        whole &= probe.chosen.shape == (len(probe.directions),) and probe.directions.shape[1:] in (shape, ())
        whole &= _fits(probe, context, shape) and (limits is None or _bounds(limits, prediction))
        if not whole or not all(map(_finite, (prediction, context, path, raw, plays, *probe, *(limits or ())))):
            raise ValueError("the arrays do not fit each other")
        for array in (probe.queries, path):
            if type(array) is np.ndarray:
                array.flags.writeable = False
        number, owner, asks = data["number"], data["owner"], data["asks"]
        return cls(prediction, path, asks, context, raw, plays, probe, number, owner, limits, told, travelled=True)


JSON_VERSION = 1
"""The version of `Ticket.to_json`, which is raised when a field changes its meaning."""
_DATA = "The data"
UNKNOWN = -1
"""How many rounds had been told when a ticket was asked that does not say: it is learned from as if it were late."""
_ASKS = ("values", "gradients")
_ARRAYS = ("prediction", "path", "context", "raw", "plays")
_KEPT = Probe._fields.index("importance")
"""How many parts of a probe a file holds: what was drawn here counts whole, so that a ticket's probe has no importance."""


def _finite(part: Any) -> bool:
    if part is None:
        return True
    if isinstance(part, SparseRow):
        return part.whole
    return part.finite if isinstance(part, Stack) else all_finite(np.asarray(part))


def _fits(probe: Probe, context: Array | None, shape: tuple[int, ...]) -> bool:
    """Return whether what a probe says of its law has the types and shapes that kernels rely on, which check neither."""
    size, queries = int(np.prod(shape, dtype=int)), len(probe.queries)
    wanted = ((probe.prediction, shape), (probe.density, (queries,)), (probe.weight, (size,)))
    fits = all(part is None or (part.shape == shape and part.dtype == np.float64) for part, shape in wanted)
    if probe.law is not None:
        # How many rows a law has is for its gradient to know, which looks when it is told.
        fits &= (
            probe.law.dtype == np.float64 and probe.law.ndim == 2 and probe.law.shape[1] == size and len(probe.law) > 1
        )
        fits &= probe.prediction is not None and probe.directions.shape == (len(probe.chosen), *shape)
        fits &= probe.directions.dtype == probe.anchors.dtype == np.float64 and fits and bool((probe.law[1] >= 0).all())
    if probe.context is not None:
        fits &= context is not None and probe.context.shape == context.shape and probe.context.dtype == np.float64
    return fits


def _bounds(limits: Limits, prediction: Array) -> bool:
    """Return whether limits could be those of a prediction: it lies within them."""
    size, ends = np.size(prediction), (limits.low, limits.high)
    if not all(end.shape == (size,) and end.dtype == np.float64 for end in ends):
        return False
    return bool((limits.low <= np.ravel(prediction)).all() and (np.ravel(prediction) <= limits.high).all())

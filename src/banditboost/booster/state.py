"""The state of a booster between two calls, and how it is saved, loaded, and handed to other processes."""

from __future__ import annotations

import copy
import copyreg
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from multiprocessing.reduction import ForkingPickler
from typing import Any, ParamSpec, Self

import numpy as np

from banditboost._core import checks, processes
from banditboost._core.checks import Array
from banditboost._core.processes import current_process
from banditboost._core.spec import Memory
from banditboost._core.streams import branch, restore, state, stream
from banditboost._core.turns import Turn
from banditboost._storage import model_file
from banditboost.booster import header as headers
from banditboost.booster.geometry import Geometry
from banditboost.booster.recorder import Recorder
from banditboost.booster.spec import FIRST_PHASE, BoosterSpec, Plan
from banditboost.encoder import Names
from banditboost.learners import Bank

P = ParamSpec("P")
LOCKS = frozenset({"_lock", "_turn", "_log"})
"""Attributes that no copy takes over, nor another state: locks, and where rounds are logged."""
ENCODER = "encoder."
"""How the names of arrays begin that hold what is remembered of names."""
FIRST_COPY = 2**64
"""Numbers of copies (`copy.deepcopy`) begin here, beyond those of workers (`adopt`)."""


class BoosterState:
    """The state of a booster: a spec, arrays, random streams, counts, and which tickets are in flight."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ForkingPickler.register(cls, _hand_over)

    @classmethod
    def from_spec(cls, spec: BoosterSpec | Plan, features: int | None = None) -> Self:
        """Make a fresh booster from a spec, or from a plan, which starts again with twice the horizon when one is over."""
        booster = cls.__new__(cls)
        if isinstance(spec, Plan):
            booster._begin(spec.at(FIRST_PHASE), features)
            booster.plan = spec
        else:
            booster._begin(spec, features)
        return booster

    def _begin(self, spec: BoosterSpec, features: int | None) -> None:
        self.plan: Plan | None = None
        """Gives a booster for every horizon, where the horizon is not known; None where one booster serves all rounds."""
        self.phase = 0
        """How often the plan has started a new booster."""
        self.rounds = 0
        """How many tickets were told."""
        self.extra: dict[str, Any] = {}
        """Plain data that is saved with the booster, such as how a table was encoded. Where ``extra["context"]`` lists what the
        numbers of a context are called, contexts may come by name, and where ``extra["encoding"]`` says how a table's columns
        become these numbers, by the names of the columns (`Log.naming`); nothing else of it is used."""
        self.streams = {role: stream(spec.seed, role) for role in headers.ROLES}
        self.identity = secrets.token_hex(16)
        """A random text that tells this booster's tickets from those of others; it is saved, and copies share it."""
        self.in_flight_limit = headers.IN_FLIGHT
        """Most tickets that may wait for answers; where one more is asked, the oldest is forgotten."""
        self.journal: Recorder | None = None
        """Where every call is written down before it takes effect: see `banditboost.Journal`."""
        self.bands_memory: Memory = {}
        """What bands have learned; empty without them, and until the number of features is known. A plan's phases go on with it."""
        self.drifts_memory: Memory = {}
        """What the detector of changes has learned; empty without one, and until the number of features is known."""
        self.names: Names | None = None if spec.encoder is None else Names(spec.encoder)
        """The names that were met in contexts: what an index stands for, and which are shared; None without an encoder."""
        self._asked = 0
        self._pending: set[int] = set()
        self._oldest = 1  # no ticket with a smaller number is in flight
        self._outdated = 0  # tickets up to this number were asked of copies that a plan has replaced since
        self._process = current_process.token
        self._parted = 0  # how many copies have gone their own ways
        self._repeating = False  # whether a journal is read, which says when growths were late
        self._suspicion = spec.gradient.suspicion()  # not saved: it is about whoever tells, not about what was learned
        self._new_lock()
        processes.watch(self)
        self._setup(spec, features)

    def _new_lock(self) -> None:
        self._lock = threading.RLock()
        self._turn = Turn(self._lock)

    def _setup(self, spec: BoosterSpec, features: int | None) -> None:
        self.spec = spec
        self.phase_rounds = 0
        """How many tickets were told in this phase; schedules such as learning rates count these."""
        self.bank: Bank | None = None
        """The copies; None until the number of features is known."""
        self.features = 0
        self.chain_memory = spec.chain.start(spec.copies)
        self.gradient_memory = spec.gradient.start(spec.copies, spec.space)

        self._foreign = ":" in spec.learner.kind  # plays of a user's learner are checked to be finite; ours always are
        self.geometry = Geometry.of(spec)
        """Where copies play, what is projected, and where the chain starts."""
        if not spec.learner.contextual:
            if features:
                raise ValueError(f"features must not be given for a learner without contexts, got {features}.")
            self._start_bank(0)
        elif features is not None:
            self._start_bank(checks.count("features", features, least=0))

    def _start_bank(self, features: int) -> None:
        spec = self.spec
        self.bank = spec.learner.start(spec.copies, self.geometry.ground, features, self.streams["perturbations"])
        self.gradient_memory |= spec.gradient.start_with(features, spec.space)
        self.features = features
        if spec.bands is None:
            self.bands_memory = {}
        elif not self.bands_memory:
            self.bands_memory = spec.bands.start(features)
        if spec.drifts is None:
            self.drifts_memory = {}
        elif not self.drifts_memory:
            self.drifts_memory = spec.drifts.start()

    def advance(self, rounds: int) -> None:
        """Count rounds that were told; where a plan's phase is over, start the next one, which is twice as long."""
        self.rounds += rounds
        self.phase_rounds += rounds
        if self.plan is not None and self.phase_rounds >= FIRST_PHASE << self.phase:
            self.phase += 1
            self._outdated = self._asked
            known = self.features if self.spec.learner.contextual else None
            self._setup(self.plan.at(FIRST_PHASE << self.phase), known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write spec, state and random streams to one file, which replaces `path` only when it is complete.

        Tickets in flight are saved by `Ticket.save`; this file holds their numbers, so that the loaded booster can be told them.
        Of a function in the spec the file holds the name only: see `load`. A signal handler may save a booster: where it has
        interrupted another call, the file is written when that call is over, so that no file holds half of one.
        """
        with self._lock:
            if not self._turn.put_off(f"the save of {os.fspath(path)}", lambda: self.save(path)):
                model_file.write(path, self.header(), self.arrays())

    def between_calls(self, handler: Callable[P, object]) -> Callable[P, None]:
        """Return a function that calls `handler` at once, or at the end of the call of this booster that it interrupts.

        Python runs a signal handler in the middle of whatever the main thread does. A handler that only saves the booster, closes
        its journal or predicts needs no more; one that raises or exits would break a call off half way, and one that asks, tells
        or pickles would find a booster half way: these wait, in this way, until the call is over.

        Parameters
        ----------
        handler
            What to do; what it returns is not used.

        Examples
        --------
        A service that is told to stop finishes its call, saves, and exits; Ctrl-C leaves no round half learned:

        >>> import banditboost as bb, signal, sys
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1)
        >>> def stop(number, frame):
        ...     booster.save("model.bb")
        ...     sys.exit(0)
        >>> before = signal.signal(signal.SIGTERM, booster.between_calls(stop))
        >>> interrupt = signal.signal(signal.SIGINT, booster.between_calls(signal.default_int_handler))
        >>> _ = signal.signal(signal.SIGTERM, before), signal.signal(signal.SIGINT, interrupt)
        """

        def waiting(*arguments: P.args, **options: P.kwargs) -> None:
            with self._lock:
                put_off = self._turn.put_off("a handler", lambda: handler(*arguments, **options), always=True)
            if not put_off:
                handler(*arguments, **options)

        return waiting

    def header(self) -> dict[str, Any]:
        """Return the part of the state that is not arrays, as plain data."""
        with self._lock:
            return {
                "spec": (self.plan or self.spec).to_dict(),
                "phase": self.phase,
                "phase_rounds": self.phase_rounds,
                "features": self.features if self.bank is not None else None,
                "rounds": self.rounds,
                "streams": {role: state(rng) for role, rng in self.streams.items()},
                "identity": self.identity,
                "asked": self._asked,
                "in_flight": sorted(self._pending),
                "outdated": self._outdated,
                "limit": self.in_flight_limit,
                "extra": self.extra,
            }

    def digest(self, written: dict[str, Any] | None = None) -> str:
        """Return the SHA-256 of everything that the future depends on: spec, arrays, streams, counts, tickets in flight.

        Parameters
        ----------
        written
            The spec as a file holds it, which may use names of an earlier version: gives the digest that version computed.
        """
        with self._lock:
            self._turn.settled("digest")
            header = self.header()
            if written is not None:
                header["spec"] = written
            del header["identity"], header["extra"]
            total = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
            for name, array in sorted(self.arrays().items()):
                total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
                total.update(np.ascontiguousarray(array).tobytes())
            return total.hexdigest()

    def arrays(self) -> dict[str, Array]:
        """Return what the copies, the chain, the gradient, bands and detector have learned: the arrays themselves, by name.

        With an encoder, arrays of what is remembered of names come along, which are made anew at every call.
        """
        with self._lock:
            met = {} if self.names is None else self.names.arrays()
            return self._learned() | {f"{ENCODER}{name}": array for name, array in met.items()}

    def _learned(self) -> dict[str, Array]:
        with self._lock:
            named = dict(self.bank.arrays()) if self.bank is not None else {}
            memories = {
                "chain": self.chain_memory,
                "gradient": self.gradient_memory,
                "bands": self.bands_memory,
                "drifts": self.drifts_memory,
            }
            for part, memory in memories.items():
                named |= {f"{part}.{name}": array for name, array in memory.items()}
            return named

    @classmethod
    def load(cls, path: str | os.PathLike[str], parts: Mapping[str, Any] | None = None) -> Self:
        """Read what `save` wrote, in this version or an earlier one; the booster goes on as if it had never stopped.

        Nothing that the file names is imported or called. A file holds the names of functions only, so a booster whose spec has
        functions needs them passed in `parts`.

        Parameters
        ----------
        path
            The file.
        parts
            What the file names and does not hold: functions by name (`Spec.callables` of the spec that was saved gives them), and
            specs by their kind (``Spec.kind``), for classes that are not imported here.

        Examples
        --------
        >>> import banditboost as bb, pathlib, tempfile
        >>> from banditboost.learners.wrapped import least_squares
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.bb"
        >>> booster = bb.Booster(bb.learners.Wrapped(least_squares), 2, space=bb.spaces.Interval(-1, 1))
        >>> booster.save(path)
        >>> list(booster.spec.callables())
        ['banditboost.learners.wrapped:least_squares']
        >>> again = bb.Booster.load(path, parts={"banditboost.learners.wrapped:least_squares": least_squares})
        >>> again.spec == booster.spec
        True
        """
        name, (header, arrays) = os.fspath(path), model_file.read(path)
        if "holds" in header:
            raise ValueError(f"{name} does not hold a booster.")
        spec = headers.read_spec(name, header, sum(array.size for array in arrays.values()), parts)
        try:
            booster = cls.from_spec(spec)
            booster.restore(name, header, arrays)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # from a function in `parts`
            raise ValueError(f"{name} holds a booster that cannot be made here: {error!r:.200}.") from error
        return booster

    def restore(self, name: str, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Put a fresh booster into the state in `header` and `arrays`, which come from the file called `name`."""
        saved = headers.checked(name, header, self.plan is not None, self.streams)
        self._setup(
            self.plan.at(FIRST_PHASE << saved.phase) if self.plan is not None else self.spec, saved.features or None
        )
        if saved.features is not None and self.bank is None:
            self._start_bank(saved.features)
        if saved.features is None and self.bank is not None:
            raise ValueError(f"{name} is damaged: features must be given for this learner.")
        self._restore_names(name, {key: array for key, array in arrays.items() if key.startswith(ENCODER)})
        learned = {key: array for key, array in arrays.items() if not key.startswith(ENCODER)}
        if self.bank is not None:
            learned = self.bank.of_today(learned)
        model_file.refill(name, self._learned(), learned)
        if self.bank is not None:
            self.bank.check()
        if self.spec.bands is not None and self.bands_memory:
            self.spec.bands.check(self.bands_memory)
        if self.spec.drifts is not None and self.drifts_memory:
            self.spec.drifts.check(self.drifts_memory)
        for role, where in header["streams"].items():
            restore(self.streams[role], where)
        self.extra = saved.extra
        self.rounds, self.phase, self.phase_rounds = saved.rounds, saved.phase, saved.phase_rounds
        self.identity = saved.identity or self.identity
        self._asked, self._pending, self._outdated = saved.asked, saved.in_flight, saved.outdated
        self._oldest = min(saved.in_flight, default=saved.asked + 1)
        self.in_flight_limit = saved.limit

    def _restore_names(self, name: str, arrays: dict[str, Array]) -> None:
        if self.spec.encoder is None:
            if arrays:
                raise ValueError(f"{name} is damaged: it holds names, and its spec has no encoder.")
            return
        try:
            self.names = Names.restored(
                self.spec.encoder, {key.removeprefix(ENCODER): array for key, array in arrays.items()}
            )
        except ValueError as error:
            raise ValueError(f"{name} is damaged: {error}.") from None
        if self.names.columns > self.features:
            raise ValueError(f"{name} is damaged: more names have a column than its copies have.")

    def become(self, other: BoosterState) -> None:
        """Take over the state of another booster."""
        vars(self).update({name: value for name, value in vars(other).items() if name not in LOCKS})

    def adopt(self, worker: int | None = None) -> None:
        """Let a copy that came from another process ask and learn here.

        A fork copies random streams: used in both processes, they would draw the same numbers, which no result shows. Hence a copy
        only predicts until `adopt` is called. A journal stays with the process that opened it.

        Parameters
        ----------
        worker
            The worker's number, different in every process. The copy gets an identity of its own and random streams of its own,
            which follow from the state of the original's and from this number; tickets in flight stay with the original. None
            where the original is no longer used: the copy then goes on exactly as the original would have.
        """
        if worker is not None:
            worker = checks.count("worker", worker, least=0)
        with self._lock, self._turn:
            if self._process == current_process.token and self.journal is not None:
                raise RuntimeError(
                    "A booster with a journal cannot be adopted: the journal would not know; close it first."
                )
            self._turn.changing = True
            self.journal = None
            if worker is not None:
                self._part(worker)
            self._process = current_process.token

    def _part(self, number: int) -> None:
        """Become another booster than the one that this is a copy of; the number tells copies of the same one apart."""
        for rng in self.streams.values():
            branch(rng, number)
        self.identity = secrets.token_hex(16)
        self._pending, self._oldest = set(), self._asked + 1

    def __getstate__(self) -> dict[str, Any]:
        if self.journal is not None:
            raise TypeError(
                "A booster with a journal cannot be copied: two would write one history; close the journal first."
            )
        # A pickled booster belongs to the process that reads it; one that came by a fork must still be adopted there.
        left = LOCKS | {"_process"} if self._process == current_process.token else LOCKS
        with self._lock:
            self._turn.settled("A copy")
            # Whoever is given the state uses it when the lock is no longer held: it must not be what other threads change.
            kept = {id(part): part for part in (self.spec, self.plan, self.geometry)}
            return copy.deepcopy({name: value for name, value in vars(self).items() if name not in left}, kept)

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update({"_process": current_process.token} | saved)
        self._new_lock()
        processes.watch(self)

    def _twin(self) -> Self:
        """Return a copy that will draw the same random numbers and takes the same tickets: for one of the two only to go on."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    def __copy__(self) -> Self:
        """Return another booster that has learned the same: with random streams and an identity of its own.

        The streams follow from those of the original and from how many copies were made of it. Tickets in flight stay with the
        original. A copy that goes on as the original would have is what a file, or a pickle, gives.
        """
        twin = self._twin()
        with self._lock:
            self._parted += 1
            twin._part(FIRST_COPY + self._parted)
        twin._parted = 0
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the same: a copy shares nothing with the original."""
        memo[id(self)] = twin = self.__copy__()
        return twin


def _hand_over(booster: BoosterState) -> tuple[Any, ...]:
    """Return what `multiprocessing` sends to a worker: a copy that must be adopted there, while the original goes on."""
    return copyreg.__newobj__, (type(booster),), {"_process": current_process.token} | booster.__getstate__()  # type: ignore[attr-defined]

"""Learning from actions that others chose: single rounds, and whole logs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core import checks, processes
from banditboost._core.checks import Array
from banditboost.booster import reading
from banditboost.booster.answers import single
from banditboost.booster.logged import Block, Blocks, Learned, Reader, check_block
from banditboost.booster.rounds import Rounds
from banditboost.encoder import Pairs
from banditboost.gradients import Aim, Moment


class Others(Rounds):
    """The part of a booster that learns from actions which it has not proposed itself."""

    def learn(
        self,
        x: Any,
        action: ArrayLike,
        value: float | None = None,
        density: float | None = None,
        *,
        loss: float | None = None,
        reward: float | None = None,
        aim: ArrayLike | None = None,
        spread: ArrayLike | None = None,
    ) -> None:
        """Learn from what one action was worth in context x, whoever chose it: a person, another program, an earlier policy.

        With `Remembered`, copies learn where the density of the action is known: the round then counts as many times as the action
        would be drawn more often here, at most ten times (`gradients.CAP`), so that on average they learn what their own actions
        would have taught them, *provided that all actions which would be drawn here are played there, too*. Where a policy plays
        elsewhere, or explores less, say what it aims at in this context, and how widely it explores: copies then learn from the
        slope there. *Where neither density nor aim is known only the critic learns*: what is lost at such an action. With
        `FromCritic`, as in `algorithms.pricing`, critic and copies learn from any action, and need neither. Gradients that learn
        from their own questions alone raise an error. With more answers a round, copies learn from a single one, too, once the
        critic knows the curvature of the loss.

        The round counts as one that was told. Bands and alarms are about what this booster pays itself, and learn nothing.

        Parameters
        ----------
        x
            The context: numbers, or names and values where there is an encoder.
        action
            What was played, a point of the space.
        value
            Its loss, or its reward where the booster was made with ``maximize=True``.
        density
            The density with which it was drawn, with respect to the volume of the space's tangent, as `Ticket.density` has it; None
            where it is not known.
        loss, reward
            In place of `value`, as for `tell`.
        aim, spread
            The mean of what would be played in this context, and the standard deviation along each coordinate, on intervals and in
            boxes; both or neither. They must be known without this action.

        Examples
        --------
        A shop whose prices were set by hand, with some luck in them; what a price earned is known, and how likely it was:

        >>> import banditboost as bb
        >>> booster, rng = bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=1, maximize=True), np.random.default_rng(0)
        >>> for x in rng.uniform(0, 1, size=(2000, 1)):
        ...     price = rng.uniform(1, 9)
        ...     booster.learn(x, price, reward=30.0 - (price - 4.0 - 2.0 * x[0]) ** 2, density=1 / 8)
        >>> print(f"{booster.predict([0.0]):.0f} {booster.predict([1.0]):.0f}, and best are 4 and 6")
        4 6, and best are 4 and 6
        """
        with self._lock, self._turn:
            processes.check(self._process)
            named, spec = self._pairs(x), self.spec
            context = self._context(x)
            answers = single(spec.maximize, value, loss, reward)
            point = checks.finite("action", action, spec.space.shape)
            if not spec.space.contains(point):
                raise ValueError(f"action must lie in the space {spec.space!r:.200}, got {action!r:.200}.")
            drawn = None if density is None else checks.positive("density", density)
            about = self._aim(aim, spread)
            if named is not None:
                if about is not None:
                    raise ValueError("aim must be left out where contexts have names.")
                self._learn_named(named, point, answers, drawn)
                return
            if self.bank is None:
                # Where something is wrong with the first round, nothing must have begun.
                trial = self.from_spec(self.plan or spec, None if context is None else len(context))
                trial._learn_from_other(context, point, answers, drawn, about)
            self._learn_from_other(context, point, answers, drawn, about)

    def _learn_named(self, named: Pairs, action: Array, answers: Array, density: float | None) -> None:
        """Learn from an action that another has chosen in a context with names, for which room is made as by `ask`."""
        journal, context = self.journal, self._columned(named)
        if self.bank is None:
            trial = self.from_spec(replace(self.spec, encoder=None), len(context))
            trial._learn_from_other(context, action, answers, density, None)
        else:  # what overflows here must do so before anything is recorded
            played = self._play(context)
            moment = Moment(played.path[:-1], self._conclude(played.path), context, None)
            probe = self.spec.gradient.foreign(moment, action, density, self.spec.space, self.gradient_memory)
            if probe.chosen.any():
                self._estimated(answers, probe)
            self._look_at_growths()

        def record(new: Pairs, columns: int) -> None:
            assert journal is not None
            journal.learning_named(new, columns, action, answers, density)

        context = self._make_room(named, None if journal is None else record)
        self._learn_from_other(context, action, answers, density, None, recorded=True)

    def learn_from(
        self, log: Blocks, progress: Callable[[int], object] | None = None, compiled: bool | None = None
    ) -> Learned:
        """Learn from all rows of a log, in order, and say what was made of them: a booster that has read one starts warm.

        All rows are checked before the first is learned from: a row that cannot be used is one sentence with its number, and the
        booster stays as it was. Then each row is learned from whole, as by `learn`; other threads may ask and tell meanwhile.

        Rows without densities teach the critic alone. Rows with densities are weighted by the law that this booster would draw from
        where the log covers it. Where it does not, copies learn the slope at what the log aims at, which a regression of actions on
        contexts finds from earlier rows (`booster.logged`); so a booster learns from a policy that never plays what it would play,
        as far as that policy explores. A log of a booster with the same spec, from its first round on and with every answer told
        before the next was asked, leaves the copies, the critic and the chain as they were there: bit for bit where rows are read
        one by one, up to rounding where the compiled loop reads them, which is far faster.

        Parameters
        ----------
        log
            `banditboost.logs.Log`, or anything with its method `blocks`, which must give the same rows twice.
        progress
            Called with the number of rows learned from so far after every block.
        compiled
            True requires the compiled loop, False reads row by row; None takes the compiled loop for logs of at least 20,000 rows
            where all parts have a compiled form, and no journal records rounds. It learns from up to 2,048 rows at a time, for
            which other threads wait.

        Examples
        --------
        >>> import banditboost as bb
        >>> from types import SimpleNamespace
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 1, (3000, 1))
        >>> prices = 3.0 + x[:, 0] + rng.uniform(-1, 1, 3000)  # a policy that is too low, and explores a little
        >>> rows = SimpleNamespace(
        ...     contexts=x, actions=prices[:, np.newaxis], losses=(prices - 4.0 - 2.0 * x[:, 0]) ** 2,
        ...     densities=np.full(3000, 0.5), row=0,
        ... )
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=1)
        >>> report = booster.learn_from(SimpleNamespace(blocks=lambda: [rows]))
        >>> report.rows, report.aimed > 2500
        (3000, True)
        >>> print(f"{booster.predict([0.0]):.0f} {booster.predict([1.0]):.0f}")
        4 6
        """
        features, rows = self._looked_through(log)
        reader, space = Reader(features, self.spec.space), self.spec.space
        fast = self._reads_compiled(compiled, features, rows)
        for block in log.blocks():
            check_block(block, features, space)
            if fast:
                self._read_compiled(block, reader)
            else:
                self._read_plain(block, 0, len(block.losses), reader)
            if progress is not None:
                progress(reader.rows)
        return reader.report()

    def _looked_through(self, log: Blocks) -> tuple[int, int]:
        """Return how long the contexts of a log are and how many rows it has, once all of them are found to be usable."""
        with self._lock:
            features = self.features if self.bank is not None or not self.spec.learner.contextual else None
        rows = 0
        for block in log.blocks():
            check_block(block, features, self.spec.space)
            features, rows = block.contexts.shape[1], rows + len(block.losses)
        return features or 0, rows

    def _reads_compiled(self, compiled: bool | None, features: int, rows: int) -> bool:
        """Return whether a log is read by the compiled loop; raise where it must be and cannot."""
        if compiled is False or (compiled is None and rows < reading.LONG):
            return False
        with self._lock:
            reason = reading.why_not_compiled(self, features)
        if compiled and reason:
            raise ValueError(f"compiled must be None or False here: {reason}.")
        return reason is None

    def _read_compiled(self, block: Block, reader: Reader) -> None:
        """Learn from the rows of a block; those that are not for the compiled loop, and the very first, are read one by one."""
        begin, rows = 0, len(block.losses)
        while begin < rows:
            done = 0
            with self._lock, self._turn:
                processes.check(self._process)
                if self.bank is not None and self.journal is None:
                    self._turn.changing = True
                    done = reading.read_piece(self, block, begin, reader)
                    self._turn.changing = False
            if done == 0:
                self._read_plain(block, begin, begin + 1, reader)
            begin += max(done, 1)

    def _read_plain(self, block: Block, begin: int, end: int, reader: Reader) -> None:
        """Learn from rows of a block, one by one."""
        part = slice(begin, end)
        losses = np.asarray(block.losses[part]).tolist()
        densities = _known(None if block.densities is None else block.densities[part], end - begin)
        for i, (loss, density) in enumerate(zip(losses, densities, strict=True), start=begin):
            self._read(block.contexts[i], block.actions[i], loss, density, reader, block.row + i)

    def _read(self, x: Array, action: Array, loss: float, density: float | None, reader: Reader, row: int) -> None:
        """Learn from a row of a log."""
        point = np.array(action, dtype=float).reshape(self.spec.space.shape)
        with self._lock, self._turn:
            processes.check(self._process)
            context = self._context(x if self.spec.learner.contextual else None)
            if self.bank is None:
                trial = self.from_spec(self.plan or self.spec, len(x))
                trial._learn_from_other(context, point, np.array([loss]), density, None)
            try:
                self._learn_from_other(context, point, np.array([loss]), density, None, reader)
            except checks.OverflowingError as error:
                raise checks.OverflowingError(f"{str(error).rstrip('.')}, in row {row + 1}.") from None

    def _learn_from_other(
        self,
        context: Array | None,
        action: Array,
        answers: Array,
        density: float | None,
        aim: Aim | None,
        reader: Reader | None = None,
        recorded: bool = False,
    ) -> None:
        """Learn from an action that another has chosen; a reader may say by which law."""
        gradient, space, journal, fresh = self.spec.gradient, self.spec.space, self.journal, self.bank is None
        recorded |= fresh
        if fresh:
            # Nothing is known of any law yet, and so nothing of an aim that a reader could give.
            if journal is not None:
                journal.learning(context, action, answers, density, aim)
            self._turn.changing = True
            self._start_bank(0 if context is None else len(context))
        played = self._play(context)
        moment = Moment(played.path[:-1], self._conclude(played.path), context, None)
        own = probe = gradient.foreign(moment, action, density, space, self.gradient_memory, aim)
        seen = np.empty(0) if context is None else context
        if reader is not None and density is not None and not fresh:
            aim = reader.aim(own, seen)
            if aim is not None:
                probe = gradient.foreign(moment, action, density, space, self.gradient_memory, aim)
            if not reader.teaches(own, probe, aim):
                density = aim = None
                probe = gradient.foreign(moment, action, density, space, self.gradient_memory)
        gradients = self._estimated(answers, probe) if probe.chosen.any() else None
        self._suspect(answers, probe)
        if not recorded:
            self._look_at_growths()
            if journal is not None:
                journal.learning(context, action, answers, density, aim)
        self._turn.changing = True
        self._teach(context, played, gradients, answers, probe)
        self.advance(1)
        if journal is not None:
            journal.done()
        if reader is not None:
            reader.note(seen, np.ravel(action), probe, aim)

    def _aim(self, aim: ArrayLike | None, spread: ArrayLike | None) -> Aim | None:
        """Return what another aims at, once it is found to make sense."""
        space = self.spec.space
        if (aim is None) != (spread is None):
            raise ValueError("aim and spread must be given together, or both be left out.")
        if aim is None or spread is None:
            return None
        if space.bounds is None:
            raise ValueError(f"aim must be left out where decisions lie in a {type(space).__name__}, and not in a box.")
        mean = checks.finite("aim", aim, space.shape).reshape(-1)
        given = checks.finite("spread", spread)
        if given.shape not in ((), space.shape):
            raise ValueError(f"spread must be one number or have the shape {space.shape}, got {given.shape}.")
        widths = np.array(np.broadcast_to(given, space.shape)).reshape(-1)
        if not (widths > 0).all():
            raise ValueError(f"spread must be positive, got {spread!r:.100}.")
        return Aim(mean, widths)


def _known(densities: Array | None, rows: int) -> list[float | None]:
    """Return the densities of a block of rows, None where they are not known."""
    if densities is None:
        return [None] * rows
    return [None if math.isnan(density) else density for density in np.asarray(densities).tolist()]

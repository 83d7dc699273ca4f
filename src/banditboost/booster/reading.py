"""The bridge to the compiled loop that learns from rows of a log: says whether it fits, and reads rows piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.forms import no_loop
from banditboost._core.shown import Shown
from banditboost._core.streams import stream
from banditboost.booster.compiled_round import round_parts
from banditboost.booster.logged import ENOUGH, FIRST, NEAR, Block, Reader

if TYPE_CHECKING:
    from banditboost.booster.rounds import Rounds

LONG = 20_000
"""Logs of at least so many rows are read by a compiled loop where nothing is said: to compile it takes a while."""
PIECE = 2_048
"""Most rows that are learned from at a time: so long may other threads have to wait."""


def why_not_compiled(booster: Rounds, features: int) -> str | None:
    """Return why the compiled loop cannot learn from logs, as half a sentence; None where it can."""
    spec = booster.spec
    if booster.journal is not None:
        return "a journal writes down every round by itself"
    if booster.names is not None:
        return "contexts with names are read one by one"
    if booster.plan is not None:
        return "there is no compiled loop for boosters that start again"
    if spec.gradient.compiled_reader(spec.space, booster.gradient_memory) is None:
        return f"there is no compiled loop that learns from logs for the gradient {type(spec.gradient).__name__}"
    # Asking about a booster must not begin it.
    rng = stream(spec.seed, "perturbations")
    bank = booster.bank or spec.learner.start(spec.copies, booster.geometry.ground, features, rng)
    if not bank.skips_rounds:
        return f"there is no compiled loop that leaves rounds out for the learner {type(spec.learner).__name__}"
    return (
        no_loop("gradient", spec.gradient, "compiled_reader")
        or bank.why_not_compiled()
        or spec.chain.why_not_compiled(spec.space)
        or spec.space.why_not_compiled()
        or booster.geometry.ground.why_not_compiled()
    )


def read_piece(booster: Rounds, block: Block, begin: int, reader: Reader) -> int:
    """Learn from rows of a block, from `begin` on; return how many, which may be none where the first is not for this loop.

    Rows are cut off where the regression of aims is due, and after `PIECE` rows.
    """
    from banditboost._compiled.logged import read_rows
    from banditboost._compiled.round import desk_for

    assert booster.bank is not None
    spec, end = booster.spec, min(len(block.losses), begin + PIECE)
    if reader.aims is not None:
        end = min(end, begin + reader.aims.due - reader.aims.rows)
    shown = Shown(block.contexts, np.arange(begin, end))
    prepared = booster.bank.compiled_form(shown, booster.phase_rounds)
    tallies = np.zeros(6)
    it = _reading(booster, block, slice(begin, end), reader, tallies)
    rows = int(read_rows(prepared.form, it, desk_for(it, spec.copies, spec.space.size), np.empty((2, 3))))
    if begin + rows < end:
        # All that is left to do is to note the contexts of the rows that were read (`Bank.skips_rounds`).
        prepared = booster.bank.compiled_form(
            Shown(block.contexts, np.arange(begin, begin + rows)), booster.phase_rounds
        )
    prepared.finish()
    booster.advance(rows)
    reader.count(tallies)
    return rows


def _reading(booster: Rounds, block: Block, part: slice, reader: Reader, tallies: Array) -> Any:
    from banditboost._compiled.logged import Reading

    spec, rows = booster.spec, part.stop - part.start
    densities = np.full(rows, np.nan) if block.densities is None else block.densities[part]
    aims = reader.aims
    contexts = block.contexts[part] if aims is not None else np.empty((rows, 0))
    return Reading(
        contexts=_floats(contexts),
        actions=_floats(block.actions[part]),
        losses=_floats(block.losses[part]),
        densities=_floats(densities),
        gradient=spec.gradient.compiled_reader(spec.space, booster.gradient_memory),
        habits=_habits(reader, tallies, spec.space.size),
        **round_parts(booster, rows),
    )


def _floats(column: Array) -> Array:
    """Return a fresh array as the compiled loop reads it."""
    return np.array(column, dtype=float, order="C")


def _habits(reader: Reader, tallies: Array, d: int) -> Any:
    from banditboost._compiled.logged import Habits

    aims, none = reader.aims, np.empty((0, d))
    return Habits(
        own=reader.own.sums,
        aimed=reader.aimed_at.sums,
        tallies=tallies,
        weights=none if aims is None or aims.weights is None else np.ascontiguousarray(aims.weights),
        spread=np.zeros(d) if aims is None else aims.spread,
        squares=np.empty((0, 0)) if aims is None else aims.squares,
        products=none if aims is None else aims.products,
        totals=np.zeros(d) if aims is None else aims.totals,
        kept=reader.own.kept,
        first=float(FIRST),
        near=NEAR,
        enough=ENOUGH,
    )

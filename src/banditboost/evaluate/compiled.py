"""The bridge to the compiled loop: says whether it fits, asks every part for its form, and plays a block of rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.shown import Shown
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.booster.compiled_round import round_parts
from banditboost.evaluate.news import News
from banditboost.evaluate.questions import Draw
from banditboost.evaluate.trace import Block, Trace
from banditboost.evaluate.undo import check_block
from banditboost.gradients.base import Questions
from banditboost.learners import Bank
from banditboost.worlds import World
from banditboost.worlds.base import WorldBlock

if TYPE_CHECKING:
    from banditboost._compiled.round import Round

_CHECKED: set[tuple[Any, ...]] = set()
"""Types of forms that were found to have all operations."""
NUMBERS = 2**22
"""Most numbers that the contexts of a block may take once they are laid out; longer runs are played in several blocks."""


def why_not_compiled(booster: Booster, world: World) -> str | None:
    """Return why the compiled loop cannot play, as half a sentence; None where it can."""
    return why_not_around(booster, world) or bank_for(booster, world).why_not_compiled()


def why_not_around(booster: Booster, world: World) -> str | None:
    """Return the same for all parts but the copies, which need not have begun."""
    if booster.journal is not None:
        return "a journal writes down every round by itself"
    if booster.spec.gradient.moves and booster.in_flight:
        return "tickets are in flight, and the gradient may ask other questions while they are"
    if booster.names is not None:
        return "contexts with names are read one by one"
    if booster.plan is not None:
        return "there is no compiled loop for boosters that start again"
    spec = booster.spec
    if spec.bands is not None and spec.bands.outcomes:
        return "bands for outcomes need all answers of every round"
    reasons: tuple[Callable[[], str | None], ...] = (
        lambda: spec.chain.why_not_compiled(spec.space),
        spec.gradient.why_not_compiled,
        spec.space.why_not_compiled,
        booster.geometry.ground.why_not_compiled,
        lambda: world.why_not_compiled(spec.space),
        lambda: _different_features(booster, world),
    )
    return next((reason for ask in reasons if (reason := ask()) is not None), None)


def _different_features(booster: Booster, world: World) -> str | None:
    if booster.spec.learner.contextual != (world.features is not None):
        return "only one of learner and world has contexts"
    if booster.bank is not None and world.features is not None and booster.features != world.features:
        return f"the booster has {booster.features} features and the world {world.features}"
    return None


def bank_for(booster: Booster, world: World) -> Bank:
    """Return the booster's copies, or passing ones where it has not begun: asking about a booster must not begin it."""
    if booster.bank is not None:
        return booster.bank
    spec, rng = booster.spec, stream(booster.spec.seed, "perturbations")
    return spec.learner.start(spec.copies, booster.geometry.ground, world.features or 0, rng)


def longest(booster: Booster, world: World) -> int:
    """Return how many rounds may be played at a time, so that what copies are shown fits into some memory."""
    return NUMBERS // bank_for(booster, world).floats_per_round(bool(getattr(world, "sparse", False)))


def run(booster: Booster, world: World, begin: int, end: int, draw: Draw, trace: Trace) -> None:
    """Play rounds begin ... end-1 in compiled calls, as few as what copies are shown allows."""
    if booster.bank is None:
        booster._start_bank(world.features or 0)
    assert booster.bank is not None
    news, done = News(booster, begin), begin
    with trace.block(begin, end) as kept:
        while done < end:
            limit = booster.bank.rounds_until_new_form()
            stop = end if limit is None else min(end, done + limit)
            part = Block(*(column[done - begin : stop - begin] for column in kept))
            _play(booster, world.compiled_block(done, stop), draw(booster, world, stop - done), part)
            done = stop
        check_block(booster, kept.losses, kept.paid)
    news.write(trace)


def _play(booster: Booster, block: WorldBlock, asking: Questions, kept: Block) -> None:
    """Play the rounds of a block in one compiled call."""
    from banditboost._compiled.jit import NotCompilableError
    from banditboost._compiled.round import desk_for, play_rounds

    spec = booster.spec
    assert booster.bank is not None
    bank = booster.bank.compiled_form(block.shown, booster.phase_rounds)
    it = _round(booster, block, asking, kept)
    kinds = _kinds((bank.form, it))
    if kinds not in _CHECKED:
        check_forms(bank.form, it)
        _CHECKED.add(kinds)
    try:
        play_rounds(bank.form, it, desk_for(it, spec.copies, spec.space.size))
    except NotCompilableError:
        check_forms(bank.form, it)
        raise
    bank.finish()
    if spec.bands is not None:
        learn_bands(booster, block.shown, told_means(kept.paid, asking), kept)
    if spec.drifts is not None:
        spec.drifts.learn_rounds(booster.drifts_memory, told_means(kept.paid, asking))
    booster.advance(len(block.labels))


def told_means(paid: Array, asking: Questions) -> Array:
    """Return the mean of the values told in every round, with their noise; NaN in rounds without questions."""
    rounds = len(paid)
    asked = asking.chosen.mean(axis=1) * (asking.noise.size // rounds)  # where nothing was asked, noise is zero
    noise = asking.noise.reshape(rounds, -1).sum(axis=1)
    return np.asarray(np.divide(noise, asked, out=np.full(rounds, np.nan), where=asked > 0) + paid)


def learn_bands(booster: Booster, shown: Shown, answered: Array, kept: Block) -> None:
    """Let a booster's bands learn from a block of rounds that was played, by the kernel that learns from single rounds, too."""
    spec, rounds = booster.spec, len(answered)
    assert spec.bands is not None
    step = max(1, NUMBERS // max(1, booster.features))
    for begin in range(0, rounds, step):
        part = slice(begin, begin + step)
        contexts = np.zeros((len(answered[part]), 0))
        if spec.learner.contextual:
            contexts = np.ascontiguousarray(Shown(shown.table, shown.rows[part]).dense())
        spec.bands.learn_rounds(booster.bands_memory, contexts, answered[part], kept.bands[part])
    if len(kept.answered):
        kept.answered[...] = answered


def _round(booster: Booster, block: WorldBlock, asking: Questions, kept: Block) -> Round:
    """Ask every part for its form, and lay out what a block of rounds needs as the compiled loop reads it."""
    from banditboost._compiled.round import Round

    spec, rounds = booster.spec, len(block.labels)
    return Round(
        labels=block.labels,
        loss=block.loss,
        gradient=spec.gradient.compiled_form(spec.copies, spec.space, booster.gradient_memory, asking),
        predictions=kept.predictions.reshape(rounds, spec.space.size),
        losses=kept.losses,
        paid=kept.paid,
        **round_parts(booster, rounds),
    )


def check_forms(bank: Any, it: Round) -> None:
    """Raise a sentence where a form lacks an operation, as a part of a user's own may: why the loop could not be compiled."""
    from banditboost._compiled import chains, gradients, losses, round, spaces
    from banditboost._compiled.dispatch import implemented

    rooms: dict[str, tuple[Callable[..., Any], ...]] = {
        "learner": (round.look, round.learn),
        "chain": (chains.walk, chains.adapt),
        "gradient": (gradients.estimate,),
        "control variate": (gradients.prepare, gradients.usual, gradients.add_slope, gradients.remember),
        "loss": (losses.value, losses.slope),
        "space": (spaces.project, spaces.tangent),
    }
    named = {"learner": bank, "chain": it.chain, "gradient": it.gradient, "loss": it.loss, "space": it.space}
    for room, form in named.items():
        _check_form(room, form, rooms[room])
    for form in _within((bank, it)):  # forms within others: what a form does at all it must do wholly
        for room, operations in rooms.items():
            if any(implemented(form, one) for one in operations):
                _check_form(room, form, operations)


def _check_form(room: str, form: Any, operations: tuple[Callable[..., Any], ...]) -> None:
    from banditboost._compiled.dispatch import implemented

    name = next((one.__name__ for one in operations if not implemented(form, one)), None)
    if name is not None:
        kind = type(form).__name__
        raise TypeError(
            f"The compiled form {kind} of the {room} must implement {name}: write a function for it, decorated with "
            f"implements({name}, {kind})."
        )


def _kinds(form: Any) -> tuple[Any, ...]:
    """Return the types of a tuple and of all tuples within it."""
    return (type(form), *(_kinds(part) for part in form if isinstance(part, tuple)))


def _within(form: Any) -> Iterator[Any]:
    """Give all named tuples within a tuple."""
    for part in form:
        if isinstance(part, tuple):
            yield part
            yield from _within(part)

"""Logs that a compiled loop learns from: the same as row by row, up to rounding."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import banditboost as bb
from banditboost.booster import logged, reading
from banditboost.learners.standardized import StandardizedBank

ROWS = 600
MAKES: dict[str, Callable[[], bb.Booster]] = {
    "a line": lambda: bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=1),
    "two answers": lambda: bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=2),
    "a box": lambda: bb.algorithms.boosted(bb.spaces.Box((0, 0), (10, 10)), answers=1, copies=5),
    "a ball": lambda: bb.algorithms.boosted(bb.spaces.Ball(2, 8.0), answers=1, copies=5),
}


def log_of(booster: bb.Booster, rows: int = ROWS, width: float = 1.0, seed: int = 0, piece: int = 250) -> Any:
    """A log in blocks, of a policy whose actions vary uniformly about a linear aim; densities of a tenth are not known."""
    rng, size = np.random.default_rng(seed), booster.spec.space.size
    x = rng.uniform(0, 1, (rows, 3))
    middle = np.zeros(size) if booster.spec.space.bounds is None else np.array([4.0, 4.0])[:size]
    actions = middle + x[:, :1] + rng.uniform(-width, width, (rows, size))
    losses = np.square(actions - middle - 1.0 - x[:, :size]).sum(axis=1) + 0.3 * rng.normal(size=rows)
    densities = np.full(rows, (2 * width) ** -size)
    densities[rng.random(rows) < 0.1] = np.nan

    def blocks() -> Any:
        for begin in range(0, rows, piece):
            part = slice(begin, begin + piece)
            yield SimpleNamespace(
                contexts=x[part], actions=actions[part], losses=losses[part], densities=densities[part], row=begin
            )

    return SimpleNamespace(blocks=blocks)


def apart(first: bb.Booster, second: bb.Booster) -> str | None:
    """Return an array that differs by more than rounding; None where there is none."""
    for name, array in first.arrays().items():
        other = second.arrays()[name]
        if not np.allclose(array, other, rtol=1e-7, atol=1e-7 * np.max(np.abs(array), initial=1e-3), equal_nan=True):
            return name
    return None if first.rounds == second.rounds else "rounds"


def both(make: Callable[[], bb.Booster], log: Any) -> tuple[bb.Booster, bb.Booster, Any]:
    slow, fast = make(), make()
    slowly, fastly = slow.learn_from(log, compiled=False), fast.learn_from(log, compiled=True)
    assert slowly[:5] == fastly[:5]
    assert fastly.effective == pytest.approx(slowly.effective, rel=1e-7)
    return slow, fast, fastly


@pytest.mark.long
@pytest.mark.parametrize("width", [1.0, 3.5])
@pytest.mark.parametrize("name", MAKES)
def test_the_compiled_loop_learns_what_rows_teach_one_by_one(name: str, width: float) -> None:
    log = log_of(MAKES[name](), width=width)
    slow, fast, report = both(MAKES[name], log)
    assert apart(slow, fast) is None
    assert 0 < report.critic_only < report.rows == ROWS


@pytest.mark.long
def test_a_booster_that_reads_the_log_of_its_like_compiled_becomes_it_up_to_rounding() -> None:
    booster, rng, rows = MAKES["a line"](), np.random.default_rng(0), []
    for _ in range(300):
        ticket = booster.ask(x := rng.uniform(-1, 1, 2))
        loss = float((ticket.action - 5.0 - x[0]) ** 2 + rng.normal())
        rows.append((x, [ticket.action], loss, float(ticket.density[0])))
        booster.tell(ticket, losses=[loss])
    x, actions, losses, densities = (np.array(column) for column in zip(*rows, strict=True))
    block = SimpleNamespace(contexts=x, actions=actions, losses=losses, densities=densities, row=0)
    reader = MAKES["a line"]()
    report = reader.learn_from(SimpleNamespace(blocks=lambda: [block]), compiled=True)
    assert report[:4] == (300, 0, 0, 0)
    assert apart(booster, reader) is None


def test_rounds_that_teach_the_critic_alone_are_left_out_of_the_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts are counted all the same: a bank that does not count them is caught."""
    monkeypatch.setattr(StandardizedBank, "meet", lambda self, context: None)
    slow, fast, _ = both(MAKES["a line"], log_of(MAKES["a line"]()))
    assert apart(slow, fast) is not None


def test_rows_that_are_not_for_the_loop_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses so small that their squares vanish end a piece early."""
    log = log_of(MAKES["a line"]())
    rows = list(log.blocks())
    for block in rows:
        block.losses[100:103] = 1e-150
    tiny = SimpleNamespace(blocks=lambda: rows)
    alone, read = [], bb.Booster._read

    def counted(self: bb.Booster, *row: Any) -> None:
        alone.append(row[-1])
        read(self, *row)

    slow = MAKES["a line"]()
    slow.learn_from(tiny, compiled=False)
    monkeypatch.setattr(bb.Booster, "_read", counted)
    fast = MAKES["a line"]()
    fast.learn_from(tiny, compiled=True)
    assert alone == [0, 100, 101, 102, 350, 351, 352]
    assert apart(slow, fast) is None


def test_pieces_end_where_aims_are_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """However rows are cut into blocks, what is learned is the same."""
    whole, cut = MAKES["a line"](), MAKES["a line"]()
    whole.learn_from(log_of(whole, piece=ROWS), compiled=True)
    monkeypatch.setattr(reading, "PIECE", 7)
    cut.learn_from(log_of(cut, piece=33), compiled=True)
    assert apart(whole, cut) is None


def test_long_logs_are_read_compiled_and_short_ones_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONG", ROWS)
    read: list[int] = []
    piece = reading.read_piece

    def counted(*given: Any) -> int:
        read.append(piece(*given))
        return read[-1]

    monkeypatch.setattr(reading, "read_piece", counted)
    booster = MAKES["a line"]()
    booster.learn_from(log_of(booster, rows=ROWS - 1))
    assert read == []
    booster.learn_from(log_of(booster))
    assert sum(read) == ROWS


@pytest.mark.parametrize("largest", [1e20, 9e49])
def test_a_loss_beyond_all_others_does_in_both_what_it_does_in_one(largest: float) -> None:
    rows = list(log_of(MAKES["a line"]()).blocks())
    rows[1].losses[7] = largest
    slow, fast, _ = both(MAKES["a line"], SimpleNamespace(blocks=lambda: rows))
    assert apart(slow, fast) is None
    assert np.isfinite(fast.predict([0.5, 0.5, 0.5]))


REFUSED: dict[str, tuple[Callable[[], bb.Booster], str]] = {
    "prices": (lambda: bb.algorithms.pricing(bb.spaces.Interval(0, 10)), "FromCritic"),
    "a learner": (
        lambda: bb.Booster(
            bb.learners.Linear(), 3, bb.chains.ConvexHull(), bb.gradients.Remembered(), bb.spaces.Interval(0, 10)
        ),
        "leaves rounds out for the learner Linear",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_compiled_loop_says_so_and_stays_as_it_was(name: str) -> None:
    make, why = REFUSED[name]
    booster = make()
    log = log_of(booster, rows=50)
    with pytest.raises(ValueError, match=f"compiled must be None or False here: .*{why}"):
        booster.learn_from(log, compiled=True)
    assert booster.rounds == 0
    assert booster.bank is None
    booster.learn_from(log)
    assert booster.rounds == 50


def test_a_subclass_that_learns_otherwise_is_read_one_by_one() -> None:
    class Other(bb.gradients.Remembered, kind="tests:OtherRemembered"):
        def foreign(self, *given: Any) -> Any:
            return super().foreign(*given)

    booster = bb.algorithms.boosted(bb.spaces.Interval(0, 10), gradient=Other())
    reason = reading.why_not_compiled(booster, 3)
    assert reason is not None
    assert "overrides foreign" in reason


def test_weights_are_covered_in_both_paths_alike() -> None:
    from banditboost._compiled import logged as kernel

    compiled = cast(Any, kernel.covered).py_func

    rng, reader = np.random.default_rng(0), logged.Reader(1, bb.spaces.Interval(0, 1))
    habits = reading._habits(reader, np.zeros(6), 1)
    outcomes = set()
    for level in (0.5, 1.0, 1.2, 1.6):
        weights = logged.Weights()
        for weight in level * rng.exponential(size=200):
            weights.add(weight)
            outcomes.add((weights.covered, bool(compiled(habits, weights.sums))))
    assert outcomes == {(True, True), (False, False)}

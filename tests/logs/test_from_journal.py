"""A log from a journal: the rounds that were told, as the booster saw them, and those that wait."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb


def played(path: Path, answers: int, rounds: int, anew: int | None = None) -> tuple[list[bb.Ticket], list[np.ndarray]]:
    booster = bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=answers, seed=3)
    rng, tickets, told = np.random.default_rng(1), [], []
    journal = bb.Journal(path, booster)
    late = None
    for t in range(rounds):
        if t == anew:
            journal.snapshot()
        ticket = booster.ask(rng.normal(size=2))
        if t == 4:
            late = ticket
            continue
        if t == 6:  # never told
            continue
        losses = (np.asarray(ticket.queries) - 4.0) ** 2 + rng.normal(size=answers)
        booster.tell(ticket, losses)
        tickets.append(ticket)
        told.append(losses)
        if t == 9 and late is not None:
            losses = (np.asarray(late.queries) - 4.0) ** 2
            booster.tell(late, losses)
            tickets.append(late)
            told.append(losses)
    return tickets, told


@pytest.mark.parametrize("answers", [1, 3])
def test_rounds_are_those_that_were_told(tmp_path: Path, answers: int) -> None:
    tickets, told = played(tmp_path / "run.journal", answers, 30)
    log = bb.Log.from_journal(tmp_path / "run.journal")
    (block,) = log.blocks()
    assert block.tickets is not None
    assert block.densities is not None
    np.testing.assert_array_equal(block.tickets, np.repeat([ticket.number for ticket in tickets], answers))
    np.testing.assert_array_equal(block.losses, np.concatenate(told))
    np.testing.assert_array_equal(block.actions[:, 0], np.concatenate([ticket.queries for ticket in tickets]))
    np.testing.assert_array_equal(block.densities, np.concatenate([ticket.density for ticket in tickets]))
    np.testing.assert_array_equal(block.contexts[::answers], np.array([ticket.context for ticket in tickets]))
    assert log.counts() == (30 * answers, answers, 0)
    assert log.notes == ("1 round(s) were asked and not told: their losses never came.",)


def test_a_journal_that_began_anew_says_so(tmp_path: Path) -> None:
    played(tmp_path / "run.journal", 1, 60, anew=40)
    log = bb.Log.from_journal(tmp_path / "run.journal")
    assert "began anew after" in log.notes[0]
    assert log.counts() == (21, 1, 0)  # told since then, and one that waits


def test_a_journal_of_gradients_has_no_losses(tmp_path: Path) -> None:
    booster = bb.algorithms.ogd(bb.spaces.Interval(0, 1))
    with bb.Journal(tmp_path / "run.journal", booster) as journal:
        booster.tell(booster.ask([0.5]), [0.3])
        journal.flush()
        with pytest.raises(ValueError, match="told loss values"):
            bb.Log.from_journal(tmp_path / "run.journal")

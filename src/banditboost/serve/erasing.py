"""Erasing: what a service keeps of some people, or what is older than it may be kept, goes from everything in the folder.

Snapshots that are kept and the baseline of a guard are written anew first; then the journal begins anew with the state after it;
part files of the log come last. What says which rounds were whose is erased after what needs it: where a crash comes between, the
call was not acknowledged, and the same call made again finishes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from banditboost._core.sparse_row import SparseRow
from banditboost.booster import Booster
from banditboost.journal import Journal
from banditboost.journal.file import sync_folder
from banditboost.journal.opening import resumed, written_spec
from banditboost.serve.ledger import ServiceLedger
from banditboost.serve.rounds import Block, block_of, rounds_of

if TYPE_CHECKING:
    from banditboost.serve.kept import Kept


class Choice(NamedTuple):
    """What is to be erased."""

    rounds: Callable[[Block], NDArray[np.bool_]]
    """Says which rounds of a block."""
    flying: Callable[[ServiceLedger], list[int]]
    """Says which tickets that are in flight by a ledger."""


class Found(NamedTuple):
    """The rounds to erase, and which columns others use."""

    numbers: NDArray[np.int64]
    """Which of the rounds that were told they are; 0 for a ticket that was in flight."""
    codes: list[int]
    contexts: csr_array
    used: NDArray[np.bool_]


def erase(kept: Kept, people: Collection[bytes]) -> dict[str, int]:
    """Erase all about some people, who are given by digests of their callers' keys."""

    def flying(ledger: ServiceLedger) -> list[int]:
        return [number for number, subject in ledger.noted.subjects.items() if subject in people]

    return _carry_out(kept, Choice(lambda block: block.of(people), flying))


def expire(kept: Kept, before: float) -> dict[str, int]:
    """Erase all that was asked before a time; nothing is written where there is nothing to erase."""
    for one in kept.snapshots():
        if one["time"] < before:
            kept.delete_snapshot(one["snapshot"])

    def flying(ledger: ServiceLedger) -> list[int]:
        return [number for number, time in ledger.asked_at.items() if time < before]

    choice = Choice(lambda block: np.asarray(block.times < before), flying)
    if not flying(kept.ledger) and not any(choice.rounds(block).any() for block in kept.contents().blocks()):
        return {}
    return _carry_out(kept, choice)


def _carry_out(kept: Kept, chosen: Choice) -> dict[str, int]:
    there, flying = kept.journal.tickets, chosen.flying(kept.ledger)
    tickets = [there[number] for number in flying if number in there]
    codes = [kept.ledger.code_of(number) for number in flying]
    for ticket in tickets:
        kept.booster.forget(ticket)
    for number in flying:
        kept.ledger.noted.forget(number)
    found = _look(kept, chosen, [ticket.context for ticket in tickets if ticket.context is not None])
    snapshots = kept.snapshots()
    for one in snapshots:
        _erase_snapshot(kept, one["snapshot"], chosen, found)
    _erase_baseline(kept, found)
    remembered = _erase_from(kept.booster, kept.ledger, chosen, found, codes)
    kept.archive.erase(chosen.rounds)
    return {
        "rounds": int((found.numbers > 0).sum()),
        "tickets": len(tickets),
        "remembered_rows": remembered,
        "snapshots": len(snapshots),
    }


def _look(kept: Kept, chosen: Choice, flying: list[Any]) -> Found:
    """Find the rounds in part files and among those noted; contexts of tickets that were in flight are added."""
    width = max(kept.booster.features if kept.booster.bank is not None else 0, 1)
    numbers, codes, tables = [np.zeros(len(flying), dtype=np.int64)], list[int](), [csr_array((0, width))]
    tables += [SparseRow.of(context).widened(width).table() for context in flying]
    used = np.zeros(width, dtype=np.bool_)
    for block in kept.contents().blocks():
        gone, table = chosen.rounds(block), block.rows(width)
        used[table[~gone].indices] = True
        numbers.append(block.numbers[gone])
        codes += block.tickets[gone].tolist()
        tables.append(table[gone])
    for asked in kept.ledger.noted.flying.values():
        if asked.context is not None:
            used[SparseRow.of(asked.context).indices] = True
    return Found(np.concatenate(numbers), codes, csr_array(vstack(tables, format="csr")), used)


def _erase_from(booster: Booster, ledger: ServiceLedger, chosen: Choice, found: Found, codes: list[int]) -> int:
    """Erase from a state, in memory or, where it has a journal, there as well; return how many remembered rows it had."""
    noted = ledger.noted
    block = block_of(noted.rounds)
    noted.rounds = rounds_of(block.take(~chosen.rounds(block)))
    ledger.forget_subjects([*found.codes, *codes])
    return _erase_rows(booster, found, noted.total)


def _erase_rows(booster: Booster, found: Found, total: int) -> int:
    """Erase rounds from a booster that was told so many of those that are noted; return how many rows it had remembered."""
    there, before = found.numbers <= total, booster.rounds - total  # rounds of a version that noted none
    numbers = np.where(found.numbers[there] > 0, found.numbers[there] + before, 0)
    width = max(booster.features if booster.bank is not None else 0, 1)
    return booster.erase(numbers, found.contexts[there][:, :width], used=found.used)


def _erase_baseline(kept: Kept, found: Found) -> None:
    """Write the frozen model of a guard anew without the rounds; it keeps its name, which says what it was frozen from."""
    path = kept.frozen_model()
    if path is None:
        return
    model = Booster.load(path)
    _erase_rows(model, found, model.rounds - (kept.booster.rounds - kept.ledger.noted.total))
    model.save(path)
    kept.open_guard()


def undone(kept: Kept, total: int) -> None:
    """Erase the rounds after a number, which a roll-back undoes, from the baseline: later nobody knows whose they were."""
    if kept.frozen_model() is None:
        return
    _erase_baseline(kept, _look(kept, Choice(lambda block: np.asarray(block.numbers > total), lambda ledger: []), []))


def _erase_snapshot(kept: Kept, number: int, chosen: Choice, found: Found) -> None:
    """Write a snapshot anew without the rounds, or remove it where nobody knows any more whose rounds it holds."""
    path = kept._snapshot(number, "journal")
    ledger = ServiceLedger()
    past = resumed(path, Booster.from_spec(written_spec(path)), ledger)[0]
    if not ledger.leads_to(kept.ledger):
        kept.delete_snapshot(number)
        return
    gone = {one for one in chosen.flying(ledger) if one in past.tickets}
    for one in gone:
        past.booster.forget(past.tickets[one])
        ledger.asked_at.pop(one, None)
        ledger.noted.forget(one)
        ledger.watch.forgot(one)
    tickets = {number: ticket for number, ticket in past.tickets.items() if number not in gone}
    _erase_from(past.booster, ledger, chosen, found, [ledger.code_of(one) for one in gone])
    following = path.with_suffix(".next")
    following.unlink(missing_ok=True)
    Journal(following, past.booster, tickets=tickets.values(), ledger=ledger).close()
    following.with_name(f"{following.name}.lock").unlink(missing_ok=True)
    os.replace(following, path)
    sync_folder(path.parent)

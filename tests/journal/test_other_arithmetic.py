"""Journals that are read where arithmetic gives other bits: another kind of processor, or other versions of libraries."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import array_table
from banditboost.journal.arithmetic import arithmetic
from banditboost.journal.kinds import Kind
from tests.booster.slow_booster import make
from tests.journal.common import crash, python, records, rewrite, written

ROUNDS = 120
OTHERS = {
    "x86_64": ("Haswell", "Nehalem", "Prescott", "SkylakeX"),
    "AMD64": ("Haswell", "Nehalem", "Prescott", "SkylakeX"),
}.get(platform.machine(), ("ARMV8", "NEOVERSEN1"))
"""Processors whose kernels of linear algebra can be asked for by name."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def default() -> bb.Booster:
    """The recommended booster for a world that does not change: it multiplies matrices in every round, and there kernels differ."""
    return bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=2, seed=3, adaptive=False)


def teach(booster: bb.Booster) -> None:
    rng = np.random.default_rng(1)
    for _ in range(ROUNDS):
        x = rng.normal(size=20)
        booster.step(x, lambda queries, x=x: (queries - 0.5 - 0.1 * x[0]) ** 2)  # type: ignore[misc]
    booster.ask(np.ones(20))


WRITE = """
import os, sys, banditboost as bb
from banditboost.journal.arithmetic import arithmetic
from tests.journal.test_other_arithmetic import default, teach
booster = default()
journal = bb.Journal(sys.argv[1], booster, sync_every=1000)
teach(booster)
print(arithmetic(), booster.digest(), flush=True)
if sys.argv[2] == "close":
    journal.close()
os._exit(0)
"""


def elsewhere(path: Path, end: str) -> tuple[str, str]:
    """Write a journal by kernels for another processor; return the fingerprint of its arithmetic and its digest."""
    for core in OTHERS:
        done = python(WRITE, path, end, OPENBLAS_CORETYPE=core)
        assert done.returncode == 0, done.stderr
        told, digest = done.stdout.split()
        if told != arithmetic():
            break
        path.unlink()
    else:
        pytest.fail("no other kernels can be asked for here")
    return told, digest


def test_a_crash_on_another_processor_is_gone_on_from(path: Path) -> None:
    _, digest = elsewhere(path, "crash")
    found = bb.Journal.replay(path)
    assert found.differs_at is not None
    assert (found.same_arithmetic, found.calls, found.asks_compared) == (False, 2 * ROUNDS + 1, ROUNDS + 1)
    assert found.difference is not None
    assert 0.0 < found.difference < 1e-6  # nothing is promised, since splits are discrete; here it is round-off
    booster = default()
    with pytest.warns(
        bb.JournalWarning, match=r"the arithmetic is another one .* largest difference of predictions is"
    ):
        journal = bb.Journal(path, booster)
    assert journal.difference == found.difference
    assert (booster.rounds, tuple(journal.tickets)) == (ROUNDS, (ROUNDS + 1,))
    assert booster.digest() == found.booster.digest() != digest
    # From here on the journal is one of this arithmetic, and every bit is verified again.
    booster.tell(journal.tickets[ROUNDS + 1], np.ones(2))
    booster.ask(np.ones(20))
    before = booster.digest()
    crash(journal)
    again = bb.Journal.replay(path)
    assert (again.booster.digest(), again.differs_at, again.same_arithmetic) == (before, None, True)


def test_a_journal_that_was_closed_on_another_processor_is_the_same_bit_for_bit(path: Path) -> None:
    _, digest = elsewhere(path, "close")
    booster = default()
    with bb.Journal(path, booster) as journal:
        assert (booster.digest(), journal.difference) == (digest, 0.0)


def test_another_processor_has_another_fingerprint_and_the_same_one_the_same() -> None:
    code = "from banditboost.journal.arithmetic import arithmetic; print(arithmetic())"
    assert python(code).stdout.strip() == arithmetic()
    assert python(code, NUMBA_CPU_NAME="generic").stdout.strip() != arithmetic()


def altered(path: Path, changes: dict[int, dict[str, Any]]) -> None:
    """Change records, under right checksums, as if they had been written so."""
    found = records(path)
    for number, change in changes.items():
        found[number] = found[number]._replace(**change)
    rewrite(path, found)


def test_the_largest_difference_is_reported(path: Path) -> None:
    found = written(path)
    tells = [n for n, record in enumerate(found) if record.kind == Kind.TELL]
    assert all(len(found[n].shown) == 8 for n in tells)  # each after the ask whose prediction it holds
    moved = {n: np.frombuffer(found[n].shown) + (0.25 if n == tells[3] else -0.125) for n in tells[2:5]}
    altered(
        path,
        {
            n: {"shown": value.tobytes(), "last_ask_checksum": found[n].last_ask_checksum ^ 1}
            for n, value in moved.items()
        },
    )
    replayed = bb.Journal.replay(path)
    assert replayed.differs_at == records(path)[tells[2]].position
    assert replayed.difference == pytest.approx(0.25)
    assert (replayed.calls, replayed.left_out) == (20, 0)
    assert "although the arithmetic seems to be the same: has a part changed" in replayed.report()
    with pytest.warns(bb.JournalWarning, match=r"largest difference of predictions is 0\.25\."):
        bb.Journal(path, make()).close()


def test_a_digest_that_differs_is_reported(path: Path) -> None:
    written(path)
    booster = make()
    bb.Journal(path, booster).close()
    found = records(path)
    assert [record.kind for record in found] == [Kind.SNAPSHOT, Kind.MARK]
    assert bb.Journal.replay(path).marks_compared == 1
    altered(path, {1: {"payload": b"0" * 64}})
    replayed = bb.Journal.replay(path)
    assert (replayed.differs_at, replayed.difference) == (records(path)[1].position, None)
    assert "The largest difference of predictions was not recorded." in replayed.report()


def test_gradients_that_overflow_only_here_are_left_out_and_counted(path: Path) -> None:
    found = written(path)
    # As if the numbers had been others there: answers that this booster refuses.
    numbers = np.full(3, 9e49).tobytes()
    altered(path, {8: {"last_ask_checksum": 1}, 10: {"payload": found[10].payload[:9] + numbers}})
    replayed = bb.Journal.replay(path)
    assert (replayed.left_out, replayed.calls, sorted(replayed.tickets)) == (1, 19, [5])
    assert f"1 calls were left out: the call at byte {found[10].position} fails with" in replayed.report()
    altered(path, {8: {"last_ask_checksum": found[8].last_ask_checksum}})
    replayed = bb.Journal.replay(path)  # the same numbers, another answer
    assert (replayed.left_out, replayed.calls, replayed.differs_at) == (1, 19, found[10].position)


def test_large_predictions_are_recorded_in_part(path: Path) -> None:
    booster = bb.Booster(bb.learners.OGD(), 2, gradient=bb.gradients.OnePoint(0.1), space=bb.spaces.Ball(30, 1.0))
    journal = bb.Journal(path, booster)
    ticket = booster.ask()
    booster.forget(ticket)
    booster.ask()
    crash(journal)
    assert [len(record.shown) for record in records(path)] == [0, 0, 8 * 16, 0]
    assert records(path)[2].shown == np.ravel(ticket.prediction)[:16].tobytes()


def test_calls_that_nothing_was_compared_with_are_said(path: Path) -> None:
    found = written(path)
    header, arrays = array_table.unpack(found[0].payload)
    header["arithmetic"] = "of another processor"
    altered(path, {0: {"payload": array_table.pack(header, arrays)}})
    replayed = bb.Journal.replay(path)
    assert (replayed.differs_at, replayed.same_arithmetic, replayed.uncompared) == (None, False, 1)  # the last tell
    with pytest.warns(bb.JournalWarning, match=r"another one .* the last 1 calls were repeated with nothing recorded"):
        journal = bb.Journal(path, make())
    crash(journal)
    assert bb.Journal.replay(path).report() == ""  # written anew with the arithmetic here
    rewrite(path, found[:-1])
    assert bb.Journal.replay(path).uncompared == 2  # the last tell and the ask after it
    rewrite(path, found)
    assert (bb.Journal.replay(path).uncompared, bb.Journal.replay(path).report()) == (
        1,
        "",
    )  # as the arithmetic is the same


def test_the_fingerprint_stands_in_the_snapshot_and_may_be_missing(path: Path) -> None:
    found = written(path)
    header, arrays = array_table.unpack(found[0].payload)
    assert header["arithmetic"] == arithmetic()
    del header["arithmetic"]
    altered(path, {0: {"payload": array_table.pack(header, arrays)}, 4: {"last_ask_checksum": 1}})
    replayed = bb.Journal.replay(path)
    assert replayed.same_arithmetic is None
    assert "nothing says whether the arithmetic is the same" in replayed.report()

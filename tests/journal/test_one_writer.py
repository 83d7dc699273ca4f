"""One writer, truly: whatever name a journal is opened by, and whatever becomes of its names."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

import banditboost as bb
from tests.booster.slow_booster import make
from tests.journal.common import X, crash, play, python, written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files have their names for good there")

SECOND = """
import sys, banditboost as bb
from tests.booster.slow_booster import make
try:
    bb.Journal(sys.argv[1], make())
except OSError as error:
    print(error)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def second(path: Path) -> str:
    """What a second process is told that opens a journal."""
    done = python(SECOND, path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["symlink", "hard link", "lock deleted", "folder linked"])
def test_no_other_way_leads_a_second_writer_to_the_file(path: Path, how: str, tmp_path: Path) -> None:
    other = path
    with bb.Journal(path, make(), snapshot_every=4) as journal:
        if how == "symlink":
            other = tmp_path / "other.journal"
            other.symlink_to(path)
        elif how == "hard link":
            other = tmp_path / "other.journal"
            os.link(path, other)
        elif how == "folder linked":
            (tmp_path / "folder").symlink_to(tmp_path)
            other = tmp_path / "folder" / "run.journal"
        for rounds in (0, 3):
            play(journal.booster, rounds)
            if how == "lock deleted":
                Path(f"{path}.lock").unlink(missing_ok=True)
            if rounds and how == "hard link":  # a snapshot has replaced the file: see below
                break
            with pytest.raises(BlockingIOError, match="is open already: a journal has one writer at a time"):
                bb.Journal(other, make())
            assert "is open already" in second(other)
    bb.Journal(path, make()).close()


def test_a_symlink_stays_a_link_to_the_journal(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.journal"
    link.symlink_to(path)
    booster = make()
    with bb.Journal(link, booster, snapshot_every=3) as journal:
        assert journal.path == path
        play(booster, 4)
        journal.snapshot()
    assert link.is_symlink()
    assert bb.Journal.replay(path).calls == bb.Journal.replay(link).calls == 8
    with bb.Journal(path, make()) as journal:
        assert journal.calls == 8


def test_a_hard_link_that_a_snapshot_left_behind_says_so(path: Path, tmp_path: Path) -> None:
    booster, link = make(), tmp_path / "link.journal"
    with bb.Journal(path, booster) as journal:
        play(booster, 4)
        os.link(path, link)
        play(booster, 1)
        assert bb.Journal.replay(link).calls == 10
        journal.snapshot()
        play(booster, 4)
    before = link.read_bytes()
    with pytest.raises(ValueError, match=r"is no longer the journal, which went on .* under the name 'run\.journal'"):
        bb.Journal(link, make())
    assert link.read_bytes() == before
    found = bb.Journal.replay(link)
    assert (found.calls, found.superseded) == (10, "run.journal")
    assert bb.Journal.replay(path).calls == 18


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_a_file_that_is_gone_is_noticed_before_anything_happens(path: Path, tmp_path: Path, what: str) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    play(booster, 3)
    ticket = booster.ask(X)
    before = booster.digest()
    if what == "deleted":
        path.unlink()
    else:
        path.rename(tmp_path / "moved.journal")
    if what == "replaced":
        path.write_bytes(b"of somebody else")
    for call in (lambda: booster.ask(X), lambda: booster.tell(ticket, [1.0, 1.0, 1.0]), journal.flush):
        with pytest.raises(FileNotFoundError, match=r"was deleted or replaced while it was open, and the call has not"):
            call()
    assert booster.digest() == before
    if what == "replaced":
        with pytest.raises(OSError, match="is another file than the one that this journal wrote"):
            journal.snapshot()
        with pytest.raises(FileNotFoundError, match="was deleted or replaced"):
            journal.close()
        assert booster.journal is journal  # nothing goes on without a record
        assert path.read_bytes() == b"of somebody else"
        path.unlink()
    journal.snapshot()
    booster.tell(ticket, [1.0, 1.0, 1.0])
    before = booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == before


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_a_file_that_is_gone_is_noticed_between_two_waits_for_the_disk(path: Path, tmp_path: Path, what: str) -> None:
    booster, moved = make(), tmp_path / "moved.journal"
    journal = bb.Journal(path, booster, sync_every=10)
    play(booster, 3)
    if what == "deleted":
        path.unlink()
    elif what == "moved":
        path.rename(moved)
    else:
        moved.write_bytes(b"of somebody else")
        moved.replace(path)
    if what == "moved":  # all calls that return are in the file that was moved
        for _ in range(3):
            booster.ask(X)
        assert bb.Journal.replay(moved).booster.digest() == booster.digest()
    before = booster.digest()
    with pytest.raises(FileNotFoundError, match="was deleted or replaced"):
        booster.ask(X)
    assert booster.digest() == before
    crash(journal)


def test_a_deleted_file_is_written_anew_on_closing_and_that_is_said(path: Path) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    play(booster, 3)
    path.unlink()
    with pytest.warns(bb.JournalWarning, match=r"run.journal was deleted while it was open, and was written anew"):
        journal.close()
    assert bb.Journal.replay(path).booster.digest() == booster.digest()


def test_permissions_are_kept_and_the_umask_is_not_touched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask is the process's own"))
    booster = make()
    with bb.Journal(path, booster, snapshot_every=3) as journal:
        path.chmod(0o600)
        play(booster, 3)
        journal.snapshot()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster) as journal:
        os.chown(path, 12345, 23456)
        journal.snapshot()
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


def test_pipes_and_devices_are_refused_and_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(OSError, match="is no plain file, and a journal must be one"):
            read(path)
    with pytest.raises(OSError, match="is no plain file"):
        bb.Journal.replay("/dev/zero")
    with pytest.raises(OSError, match=r"is no plain file|Is a directory"):
        bb.Journal.replay(path.parent)


def test_two_names_of_one_file_that_nobody_writes_are_one_journal(path: Path, tmp_path: Path) -> None:
    written(path)
    os.link(path, tmp_path / "other.journal")
    with bb.Journal(tmp_path / "other.journal", make()) as journal:
        assert journal.calls == 20
        with pytest.raises(BlockingIOError, match="is open already"):
            bb.Journal(path, make())

"""`banditboost journal show|check|repair`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

import banditboost as bb
from banditboost._storage import array_table
from banditboost.cli.journal import journal
from banditboost.journal import framing
from banditboost.journal.kinds import Kind
from banditboost.journal.repair import repair
from tests.booster.slow_booster import make
from tests.cli.shell import Shell
from tests.journal.common import X, crash, play, records, rewrite, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def spoil(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x40
    path.write_bytes(data)


def test_show_says_what_a_journal_holds_and_changes_nothing(path: Path, shell: Shell) -> None:
    found, before = written(path), path.read_bytes()
    shown = shell("journal", "show", path, "--records", "2")
    assert shown.code == 0, shown.err
    for text in (
        "Format:     3, written by banditboost",
        "Calls:      20, of which 0 before the snapshot",
        "Records:    1 snapshot, 10 ask, 10 tell",
        f"{len(before)} bytes, of which {len(before)} can be read",
        f"{found[-1].position}  tell",
    ):
        assert text in shown.out
    assert path.read_bytes() == before
    spoil(path, found[5].position + 40)
    shown = shell("journal", "show", path)
    assert shown.code == 0
    assert f"Damaged:    from byte {found[5].position} on" in shown.out


def test_show_names_records_of_later_versions(path: Path, shell: Shell) -> None:
    found = written(path)
    found[4] = found[4]._replace(kind=77, version=3)
    rewrite(path, found)
    assert "1 kind 77, version 3" in shell("journal", "show", path).out


def test_check_compares_and_tells_by_its_exit_code(path: Path, shell: Shell) -> None:
    found = written(path)
    shown = shell("journal", "check", path)
    assert (shown.code, shown.err) == (0, "")
    assert "10 asks and 0 digests of the whole state\nBits:       all equal" in shown.out
    found[6] = found[6]._replace(last_ask_checksum=5)
    rewrite(path, found)
    shown = shell("journal", "check", path)
    assert shown.code == 1
    assert "although the arithmetic seems to be the same" in shown.err
    spoil(path, found[3].position + 40)
    rewrite(path, found[:3])
    path.write_bytes(path.read_bytes() + b"torn")
    assert shell("journal", "check", path).code == 0  # nobody was told that it had happened


def test_repair_keeps_what_stands_before_the_damage(path: Path, shell: Shell) -> None:
    found = written(path)
    spoil(path, found[11].position + 40)
    damaged = path.read_bytes()
    assert "banditboost journal repair" in shell("journal", "check", path).err
    shown = shell("journal", "repair", path)
    assert shown.code == 0, shown.err
    lost = len(damaged) - found[11].position
    for text in (
        f"From byte {found[11].position} on, something was on the disk and can no longer be read.",
        f"now holds 10 calls; 0 calls that can be read and {lost} bytes that cannot are left out.",
        "The file as it was is kept as run.journal.kept-1.",
    ):
        assert text in shown.out
    assert path.with_name("run.journal.kept-1").read_bytes() == damaged
    booster = make()
    with bb.Journal(path, booster) as kept:
        assert (kept.calls, booster.rounds) == (10, 5)
    shown = shell("journal", "repair", path)
    assert "is in order: nothing was changed." in shown.out
    assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.kept-1", "run.journal.lock"]


def test_repair_leaves_out_a_call_that_fails_and_what_follows(path: Path) -> None:
    found = written(path)
    found[8] = found[8]._replace(payload=b"\x63" + bytes(8) + found[8].payload[9:])  # a ticket that was never asked
    rewrite(path, found)
    with pytest.raises(ValueError, match="cannot be repeated here"):
        bb.Journal.replay(path)
    done = repair(path)
    assert (done.calls, done.left_out, done.lost_bytes) == (7, 13, 0)
    assert "cannot be repeated here" in done.reasons[0]
    assert bb.Journal.replay(path).calls == 7


def test_repair_touches_no_journal_that_it_cannot_help(path: Path, shell: Shell) -> None:
    found = written(path)
    found[8] = found[8]._replace(kind=77)
    rewrite(path, found)
    before = path.read_bytes()
    shown = shell("journal", "repair", path)
    assert shown.code == 1
    assert "does not know, and is left as it is" in shown.err
    assert path.read_bytes() == before
    path.write_bytes(before[:100])
    assert "nothing in it can be brought back" in shell("journal", "repair", path).err
    assert "There is no file" in shell("journal", "repair", path.with_name("none")).err
    assert not path.with_name("none.lock").exists()
    path.unlink()
    with bb.Journal(path, make()):
        assert "is open already" in shell("journal", "repair", path).err


def test_repair_makes_a_left_behind_file_a_journal_of_its_own(path: Path, shell: Shell) -> None:
    booster, link = make(), path.with_name("link.journal")
    with bb.Journal(path, booster) as kept:
        play(booster, 3)
        os.link(path, link)
        kept.snapshot()
    shown = shell("journal", "check", link)
    assert "the journal went on in another file under the name 'run.journal'" in shown.out
    assert "is a journal of its own now" in shell("journal", "repair", link).out
    with bb.Journal(link, make()) as kept:
        assert kept.calls == 6


def test_a_file_cannot_speak_to_the_terminal(path: Path, shell: Shell) -> None:
    booster = make()
    kept = bb.Journal(path, booster)
    booster.ask(X)
    crash(kept)
    found = records(path)
    header, arrays = array_table.unpack(found[0].payload)
    header |= {"version": "\x1b[2J"}
    header["booster"] |= {"rounds": "\x1b[2J", "features": "\x1b[2J"}
    last = framing.Record(Kind.SUPERSEDED, b"\x1b[2J", 0, 0, 0, 0)
    rewrite(path, [found[0]._replace(payload=array_table.pack(header, arrays)), *found[1:], last])
    shown = shell("journal", "show", path)
    assert shown.code == 0, shown.err
    assert "\\x1b[2J" in shown.out
    assert "\x1b" not in shown.out
    rewrite(path, [*found, last])
    for command in ("check", "repair"):
        shown = shell("journal", command, path)
        assert "\\x1b[2J" in shown.out
        assert "\x1b" not in shown.out + shown.err


@pytest.mark.parametrize("command", ["show", "check", "repair"])
def test_every_command_and_option_has_a_help_text(command: str, shell: Shell) -> None:
    group = typer.main.get_command(journal)
    found = getattr(group, "commands", {})[command]
    assert found.help
    assert all(getattr(parameter, "help", None) for parameter in found.params)
    assert shell("journal", command, "--help").code == 0

"""Files that replace others: whose they are, who may read them, and what a killed process leaves behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import banditboost as bb
from banditboost._storage import atomic_file
from banditboost._storage.atomic_file import SUFFIX, atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path, data: bytes = b"new") -> None:
    with atomic(path) as file:
        file.write(data)


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664, 0o444])
def test_a_file_that_is_saved_again_keeps_its_permissions(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "model.bb"
    booster = bb.Booster(space=bb.spaces.Interval(-1, 1))
    booster.save(path)
    path.chmod(kept)
    booster.save(path)
    assert mode(path) == kept


def test_nobody_else_may_read_a_private_file_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    path.touch(mode=0o600)
    with atomic(path) as file:
        file.write(b"secret")
        file.flush()
        (unfinished,) = tmp_path.glob(f"*{SUFFIX}")
        assert mode(unfinished) == 0o600


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o007, 0o660)])
def test_a_new_file_gets_what_the_umask_says(tmp_path: Path, mask: int, expected: int) -> None:
    before = os.umask(mask)
    try:
        write(tmp_path / "model.bb")
    finally:
        os.umask(before)
    assert mode(tmp_path / "model.bb") == expected


def test_the_umask_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It belongs to the whole process: while it is zero for a moment, files of other threads are open to everyone.
    def touched(mask: int) -> int:
        raise AssertionError("the umask was set")

    monkeypatch.setattr(os, "umask", touched)
    for _ in range(2):
        write(tmp_path / "notes")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_root_saves_again_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    write(path)
    os.chown(path, 65534, 65533)
    path.chmod(0o640)
    write(path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (65534, 65533, 0o640)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    path, real = tmp_path / "model.bb", tmp_path / "disk" / "model.bb"
    real.write_bytes(b"old")
    path.symlink_to(real)
    write(path)
    assert path.is_symlink()
    assert real.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["disk", "model.bb"]


KILLED = """
import os, signal, sys
from banditboost._storage.atomic_file import atomic
with atomic(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    if sys.argv[2] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.readline()
"""


def test_what_killed_processes_leave_is_swept(tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    write(path, b"old")
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path), "dies"], capture_output=True)
        assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 2  # each of them has swept what the one before it left
    write(path)
    assert os.listdir(tmp_path) == ["model.bb"]


def test_what_another_process_is_writing_is_not_swept(tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), "lives"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        other.stdout.readline()
        write(path)
        assert len(os.listdir(tmp_path)) == 2
        other.stdin.close()
        assert other.wait() == 0
    assert os.listdir(tmp_path) == ["model.bb"]
    assert path.read_bytes() == b"half"


def test_files_of_others_are_not_swept(tmp_path: Path) -> None:
    theirs = [".model.bb.original", ".model.bb.0123abcd", f".other.bb.0123abcd{SUFFIX}", f".model.bb.mine{SUFFIX}"]
    for name in theirs:
        (tmp_path / name).write_bytes(b"mine")
    (tmp_path / f".model.bb.0123abcd{SUFFIX}").mkdir()
    write(tmp_path / "model.bb")
    assert sorted(os.listdir(tmp_path)) == sorted([*theirs, f".model.bb.0123abcd{SUFFIX}", "model.bb"])


def test_a_file_that_was_swept_before_it_was_locked_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "model.bb", atomic_file._lock
    swept: list[Path] = []

    def late(handle: int) -> bool:
        if not swept:  # another process sweeps right after the file is made
            swept.extend(tmp_path.glob(f"*{SUFFIX}"))
            swept[0].unlink()
        return lock(handle)

    monkeypatch.setattr(atomic_file, "_lock", late)
    write(path)
    assert swept
    assert path.read_bytes() == b"new"


def test_a_folder_that_cannot_be_listed_can_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(folder: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", closed)
    write(tmp_path / "model.bb")
    assert (tmp_path / "model.bb").read_bytes() == b"new"

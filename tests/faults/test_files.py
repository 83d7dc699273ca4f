"""Real faults of disks and folders: the message is one sentence, and nothing that was there is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import atomic_file


def booster(rounds: int = 3, features: int = 50) -> bb.Booster:
    made = bb.Booster(copies=4, space=bb.spaces.Interval(-1, 1), gradient=bb.gradients.OnePoint(0.2), features=features)
    for x in np.random.default_rng(0).normal(size=(rounds, features)):
        made.step(x, lambda queries: queries**2)
    return made


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size: to whoever writes it, that is a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("size", [0, 100, 1500, 3000])
def test_a_disk_that_runs_full_leaves_the_old_file(tmp_path: Path, size: int) -> None:
    path = tmp_path / "model.bb"
    booster(3).save(path)
    before = path.read_bytes()
    assert len(before) > size
    with (
        files_up_to(size),
        pytest.raises(OSError, match=r"model.bb could not be written and is as it was: File too large"),
    ):
        booster(5).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.bb"]
    booster(5).save(path)
    assert bb.Booster.load(path).rounds == 5


def test_a_disk_that_is_full_when_the_rest_is_written_leaves_the_old_file(tmp_path: Path) -> None:
    # What fits into the buffer is written when the file is closed: the error comes after the last write.
    path = tmp_path / "notes"
    path.write_bytes(b"old")
    with (
        files_up_to(10),
        pytest.raises(OSError, match="could not be written and is as it was"),
        atomic_file.atomic(path) as file,
    ):
        file.write(b"x" * 100)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["notes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_real_small_disk(tmp_path: Path) -> None:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(tmp_path)], capture_output=True)
    if done.returncode:
        pytest.skip("this root may not mount")
    try:
        path = tmp_path / "model.bb"
        booster(3, features=5).save(path)
        before = path.read_bytes()
        with pytest.raises(OSError, match="could not be written and is as it was") as caught:
            booster(3, features=2000).save(path)
        assert caught.value.errno == errno.ENOSPC
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["model.bb"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@contextmanager
def nobody() -> Iterator[None]:
    """Be someone whom folders can be closed to: root is let in everywhere."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_folder_that_may_not_be_written_to() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        booster(3).save(folder / "model.bb")
        before = (folder / "model.bb").read_bytes()
        folder.chmod(0o555)
        made = booster(5)
        with (
            nobody(),
            pytest.raises(PermissionError, match=r"could not be written and is as it was: Permission denied"),
        ):
            made.save(folder / "model.bb")
        with (
            nobody(),
            pytest.raises(PermissionError, match=r"could not be written and was not made: Permission denied"),
        ):
            made.save(folder / "below" / "model.bb")
        assert (folder / "model.bb").read_bytes() == before
        folder.chmod(0o755)
        made.save(folder / "model.bb")
        assert made.rounds == 5


def test_a_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(OSError, match="could not be written and was not made"):
        booster().save(tmp_path / "folder" / "model.bb")
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken is no plain file: nothing takes its place"):
        booster().save(tmp_path / "taken")
    assert sorted(os.listdir(tmp_path)) == ["folder", "taken"]
    with pytest.raises(FileNotFoundError, match="There is no file"):
        bb.Booster.load(tmp_path / "taken")


def test_a_file_that_may_not_be_read() -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        path = Path(place) / "model.bb"
        booster().save(path)
        assert stat.S_IMODE(path.stat().st_mode) & 0o400
        path.chmod(0)
        with nobody(), pytest.raises(PermissionError):
            bb.Booster.load(path)
        path.chmod(0o600)
        assert bb.Booster.load(path).rounds == 3


KILLED = """
import os, signal, sys, numpy as np, banditboost as bb
from banditboost._storage import strict_npz
booster = bb.Booster(copies=4, space=bb.spaces.Interval(-1, 1), gradient=bb.gradients.OnePoint(0.2), features=3)
booster.save(sys.argv[1])
write = np.lib.format.write_array
def die(*arguments, **options):
    write(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
np.lib.format.write_array = die
booster.step(np.zeros(3), lambda queries: queries)
booster.save(sys.argv[1])
"""


def test_a_process_killed_while_it_writes_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert bb.Booster.load(path).rounds == 0


def logged(folder: Path) -> str:
    """Run the command with a log and a model; return what it says."""
    rows = "".join(f"{k % 7},{k % 5},{k % 3}\n" for k in range(3000))
    (folder / "table.csv").write_text(f"a,b,y\n{rows}")
    names = ["table.csv", "--target", "y", "--learner", "gradient-descent", "--copies", "2", "--quiet"]
    command = [sys.executable, "-m", "banditboost.cli.app", "run", *names, "--log", "log.csv", "--save", "model.bb"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return done.stderr.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("room", [0, 120])
def test_a_log_on_a_full_disk_costs_neither_the_old_log_nor_the_model(tmp_path: Path, room: int) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True)
    if done.returncode:
        pytest.skip("this root may not mount")
    try:
        (disk / "old.csv").write_text("the old log\n")
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        os.truncate(filler, filler.stat().st_size - room * 1024)
        (tmp_path / "log.csv").symlink_to(disk / "old.csv")
        said = logged(tmp_path)
        assert len(said.splitlines()) == 1
        assert bb.Booster.load(tmp_path / "model.bb").rounds == 3000
        left = (disk / "old.csv").read_text()
        if room == 0:
            assert "log.csv could not be written and is as it was: No space left on device" in said
            assert left == "the old log\n"
        else:
            assert "log.csv could not be written and ends with round" in said
            lines = left.splitlines()
            assert left.endswith("\n")
            assert lines[-1].split(",")[0] == str(len(lines) - 1)
            assert said.endswith(f"ends with round {len(lines) - 1}: No space left on device")
        assert sorted(os.listdir(disk)) == ["filler", "old.csv"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("size", [0, 20, 1000, 150_000])
def test_a_log_that_cannot_grow_lets_the_run_go_on(tmp_path: Path, size: int) -> None:
    path, made = tmp_path / "log.csv", bb.algorithms.ogd(bb.spaces.Interval(-2, 2))
    path.write_text("the old log\n")
    world = bb.worlds.SyntheticLinear(rounds=2500, features=3)
    bb.evaluate.progressive(bb.Booster.from_spec(made.spec), world)  # what is compiled here is kept on disk, too
    with files_up_to(size), pytest.raises(OSError, match=r"log.csv could not be written and .*: File too large"):
        bb.evaluate.progressive(made, world, callbacks=[bb.evaluate.Log(path)])
    assert made.rounds == 2500
    lines = path.read_text().splitlines()
    assert len(lines) == {0: 1, 20: 1, 1000: 1, 150_000: 1001}[size]
    assert os.listdir(tmp_path) == ["log.csv"]


def test_a_run_that_fails_before_its_first_block_keeps_the_old_log(tmp_path: Path) -> None:
    path, made = tmp_path / "log.csv", bb.algorithms.ogd(bb.spaces.Interval(-2, 2))
    path.write_text("the old log\n")
    with pytest.raises(ValueError, match="callbacks must be"):
        bb.evaluate.progressive(
            made,
            bb.worlds.SyntheticLinear(rounds=50, features=3),
            callbacks=[bb.evaluate.Log(path), 3],  # type: ignore[list-item]
        )
    assert path.read_text() == "the old log\n"
    assert os.listdir(tmp_path) == ["log.csv"]

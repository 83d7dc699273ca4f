"""Where nothing can be written: code, home and temporary files on a read-only disk, and no shared memory, as in a container.

A mount namespace of its own makes every disk read-only for one process, for root as well, who is let in everywhere otherwise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from banditboost._compiled import cache

ROOT = Path(__file__).parent.parent.parent
CLOSED = """
mount --make-rprivate / || exit 77
mount -t tmpfs -o ro tmpfs /dev/shm || exit 77
while read -r _ place _; do
    case "$place" in /proc*|/sys*|/dev*) ;; *) mount -o remount,bind,ro "$place" 2>/dev/null ;; esac
done < /proc/mounts
if [ -n "$WRITABLE" ]; then mount -t tmpfs tmpfs "$WRITABLE" || exit 77; fi
touch "$HOME/banditboost-can-write" 2>/dev/null && exit 78
exec "$@"
"""
"""Closes all disks, opens one folder where the variable WRITABLE names one, and runs a command."""


def in_a_container(*command: str, writable: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("unshare") is None:
        pytest.skip("this system has no unshare")
    # What finds a folder beside the three that are looked for would make the test say nothing.
    known = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_", "COV_"))}
    known |= {"WRITABLE": str(writable or ""), "PYTHONWARNINGS": "always", "PYTHONDONTWRITEBYTECODE": "1"} | variables
    alone = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    done = subprocess.run(
        [*alone, "sh", "-c", CLOSED, "sh", *command], env=known, cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode != 78, "the disk was not closed"
    return done


KERNEL = """
from banditboost._compiled import jit

@jit.loop
def double(x):
    return 2 * x

@jit.loop
def half(x):
    return x / 2

print(double(4.0), half(4.0), double._cache.cache_path)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    return file


def test_where_nothing_can_be_written_loops_are_compiled_and_one_warning_says_so(kernel: Path) -> None:
    done = in_a_container(sys.executable, str(kernel))
    assert done.stdout.split() == ["8.0", "2.0", "None"], done.stderr
    said = [line for line in done.stderr.splitlines() if "Warning:" in line]
    assert len(said) == 1, done.stderr
    assert "No folder for machine code can be written to" in said[0]
    assert "NUMBA_CACHE_DIR" in said[0]


@pytest.mark.parametrize("variable", ["TMPDIR", "NUMBA_CACHE_DIR"])
def test_a_folder_that_can_be_written_is_used(kernel: Path, variable: str) -> None:
    folder = kernel.parent / "writable"
    folder.mkdir()
    # The second process must find what the first has compiled: both run in one container.
    twice = [
        "sh",
        "-c",
        '"$0" "$1" && find "$WRITABLE" -name "*.nbc" | wc -l && "$0" "$1"',
        sys.executable,
        str(kernel),
    ]
    done = in_a_container(*twice, writable=folder, **{variable: str(folder)})
    first, kept, second = done.stdout.splitlines()
    assert first == second
    assert kept == "2"
    assert first.split()[2].startswith(str(folder))
    assert "Warning" not in done.stderr


@pytest.mark.torture
@pytest.mark.parametrize("writable", [False, True])
def test_the_ten_lines_of_the_readme_run_in_a_container(tmp_path: Path, writable: bool) -> None:
    folder = tmp_path if writable else None
    lines = (sys.executable, "tools/first_block.py", "README.md")
    done = in_a_container(*lines, writable=folder, TMPDIR=str(tmp_path), BANDITBOOST_DATA="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout
    assert done.stderr.count("RuntimeWarning: No folder for machine code") == (0 if writable else 1)


def private(folder: Path, monkeypatch: pytest.MonkeyPatch) -> cache.PrivateFolder | None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    found: cache.PrivateFolder | None = cache.PrivateFolder.from_function(private, __file__)
    return found


def test_the_folder_among_the_temporary_files_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = private(tmp_path, monkeypatch)
    assert found is not None
    home = Path(found.home)
    assert home.parent == tmp_path
    assert home.stat().st_mode & 0o777 == 0o700
    assert Path(found.get_cache_path()).is_relative_to(home)  # type: ignore[no-untyped-call]
    home.chmod(0o770)  # whoever can write there could run code here
    assert private(tmp_path, monkeypatch) is None


def test_a_folder_that_somebody_else_has_laid_out_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, name = tmp_path / "theirs", f"banditboost-{os.geteuid()}"
    theirs.mkdir(mode=0o700)
    (tmp_path / name).symlink_to(theirs)
    assert private(tmp_path, monkeypatch) is None
    assert list(theirs.iterdir()) == []
    (tmp_path / name).unlink()
    (tmp_path / name).touch(mode=0o600)
    assert private(tmp_path, monkeypatch) is None
    if os.geteuid() == 0:
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir(mode=0o700)
        os.chown(tmp_path / name, 65534, 65534)
        assert private(tmp_path, monkeypatch) is None


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_machine_code_that_cannot_be_read_is_made_again(kernel: Path, suffix: str) -> None:
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(kernel.parent / "kept")}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(kernel)], env=surroundings, capture_output=True, text=True)

    assert run().stderr == ""
    for file in kernel.parent.rglob(f"*.{suffix}"):
        file.write_bytes(file.read_bytes()[:10])  # as after a power failure
    done = run()
    assert done.stdout.split()[:2] == ["8.0", "2.0"]
    assert done.stderr.count("RuntimeWarning: Machine code in") == 1
    assert run().stderr == ""

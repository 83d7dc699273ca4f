"""A run of the fuzzer of some seconds, always the same: `make fuzz` is the long one."""

from __future__ import annotations

import importlib
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from banditboost._core import callables
from tests._storage.test_nothing_is_called import old_lookup
from tests.fuzz import __main__ as fuzzer
from tests.fuzz.__main__ import Guard, Hang, attempt
from tests.fuzz.mutations import TRAPS
from tests.fuzz.targets import Target, targets

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.torture
def test_spoiled_files_are_refused_in_a_sentence() -> None:
    # A process of its own: the run limits memory and watches all that the interpreter does.
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--files", "3000", "--seed", "7"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3000 files: 0 crashes, 0 calls, 0 over 2 s, 0 over 500 MB" in done.stdout


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """What the run does when time is up, instead of ending the process."""
    before = signal.signal(signal.SIGALRM, fuzzer.too_long)
    yield
    signal.signal(signal.SIGALRM, before)
    fuzzer.sprung.clear()


@pytest.mark.torture
@pytest.mark.parametrize("name", ["model", "journal"])
def test_the_fuzzer_notices_a_reader_that_looks_functions_up(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for trap in TRAPS:
        module, _, attribute = trap.partition(":")
        monkeypatch.setattr(
            importlib.import_module(module), attribute, lambda *arguments: fuzzer.sprung.append("sprung"), raising=False
        )
    target = next(target for target in targets(tmp_path) if target.name == name)
    with_functions = [seed for seed in target.seeds if b"function" in seed]
    assert with_functions
    guard, rng = Guard(tmp_path), random.Random(0)
    spoiled = [target.mutations[-1](rng.choice(with_functions), rng) for _ in range(300)]
    path = tmp_path / f"case.{target.suffix}"
    assert "called" not in {attempt(target, path, data, guard)[0] for data in spoiled}
    monkeypatch.setattr(callables, "given", old_lookup)
    assert any(attempt(target, path, data, guard)[0] == "called" for data in spoiled)


def act(path: Path) -> None:
    (path.parent.parent / "elsewhere").write_text("x")


def crash(path: Path) -> None:
    raise KeyError(path.name)


def talk(path: Path) -> None:
    raise ValueError("one line\nand another")


def call(path: Path) -> None:
    fuzzer.sprung.append("a trap")


def swell(path: Path) -> None:
    np.ones(fuzzer.LARGE // 5).sum()  # clearly more: what other tests have left may be freed meanwhile


def hang(path: Path) -> None:
    raise Hang


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        (act, "acted"),
        (call, "called"),
        (crash, "crash"),
        (hang, "hang"),
        (swell, "large"),
        (talk, "wordy"),
        (Path.stat, "read"),
    ],
)
def test_the_fuzzer_sees_what_it_looks_for(tmp_path: Path, read: object, outcome: str) -> None:
    folder = tmp_path / "target"
    folder.mkdir()
    target = Target("broken", "x", [b"seed"], (lambda data, rng: data,), read, 1.0)  # type: ignore[arg-type]
    found, details = attempt(target, folder / "case", target.mutations[0](b"seed", random.Random(0)), Guard(folder))
    assert found == outcome
    assert bool(details) == (outcome != "read")

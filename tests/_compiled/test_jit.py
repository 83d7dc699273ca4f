"""Compiled code on disk: found again by other processes, and made anew when a kernel that it consists of has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import banditboost as bb
from banditboost._compiled import jit
from banditboost._compiled import round as compiled_round

LEARNERS = (bb.learners.Linear(), bb.learners.Coin())


def key(learner: bb.learners.Learner, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name under which the machine code of a short run is kept, without compiling it."""
    X = np.random.default_rng(0).random((5, 2))
    called: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(compiled_round, "play_rounds", lambda *arguments: called.append(arguments))
        # Nothing is played, so that what was to be written is not: the run is taken back and played in plain NumPy.
        bb.evaluate.progressive(
            bb.Booster(learner, 3, space=bb.spaces.Interval(-1, 1)), bb.worlds.Supervised(X, X[:, 0])
        )
    loop: Any = compiled_round.play_rounds
    signature = tuple(map(numba.typeof, called[0]))
    name: str = loop._cache._index_key(signature, loop.targetctx.codegen())
    return name


@pytest.mark.parametrize(
    ("edited", "changed"), [("coin", (False, True)), ("linear", (True, False)), ("losses", (True, True))]
)
def test_editing_a_kernel_renames_what_is_made_of_it(
    edited: str, changed: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [key(learner, monkeypatch) for learner in LEARNERS]
    assert before == [key(learner, monkeypatch) for learner in LEARNERS]
    assert before[0] != before[1]
    text, file = jit._text, f"banditboost._compiled.{edited}"
    monkeypatch.setattr(jit, "_text", lambda name: text(name) + (b"\n# edited" if name == file else b""))
    after = [key(learner, monkeypatch) for learner in LEARNERS]
    assert tuple(a != b for a, b in zip(before, after, strict=True)) == changed


PROGRAM = """
import numpy as np, banditboost as bb
from banditboost._compiled import round as r
X = np.random.default_rng(0).random((50, 2))
b = bb.Booster(bb.learners.OGD(), 2, gradient=bb.gradients.Exact(), space=bb.spaces.Ball(2))
bb.evaluate.progressive(b, bb.worlds.WeightSpace(bb.worlds.Supervised(X, X[:, 0]), intercept=False), compiled=True)
print(sum(r.play_rounds.stats.cache_hits.values()), sum(r.play_rounds.stats.cache_misses.values()))
"""


def test_a_second_process_finds_what_the_first_has_compiled(tmp_path: Path) -> None:
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=surroundings, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert [line.split() for line in said] == [["0", "1"], ["1", "0"]]


def test_functions_without_a_file_are_named_by_their_code() -> None:
    modules = []
    for body in ("return x + 1", "return x + 2"):
        module = type(sys)("a_notebook")
        exec(f"def kernel(x):\n    {body}", vars(module))
        sys.modules["a_notebook"] = module
        modules.append(jit.sources(frozenset({"a_notebook"})))
    del sys.modules["a_notebook"]
    assert modules[0] != modules[1]


ROUNDS = """
import numpy as np, banditboost as bb
booster, rng = bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=1, copies=4), np.random.default_rng(0)
for x in rng.uniform(size=(40, 3)):
    ticket = booster.ask(x)
    booster.tell(ticket, [(ticket.action - 4 - 2 * x[0]) ** 2])
X = rng.uniform(size=(30, 2))
line = bb.Booster(bb.learners.Linear(), 3, space=bb.spaces.Interval(-1, 1))
losses = bb.evaluate.progressive(line, bb.worlds.Supervised(X, X[:, 0])).losses
print(booster.predict([0.5, 0.5, 0.5]), losses.sum())
"""


def test_with_compiling_switched_off_rounds_are_the_same() -> None:
    """Kernels are Python then, and find the implementations of operations all the same; loops that need more are not played."""
    found = {}
    for switched_off in ("0", "1"):
        surroundings = os.environ | {"NUMBA_DISABLE_JIT": switched_off}
        ran = subprocess.run(
            [sys.executable, "-c", ROUNDS], env=surroundings, capture_output=True, text=True, check=True
        )
        found[switched_off] = [float(number) for number in ran.stdout.split()]
    assert found["1"] == pytest.approx(found["0"], rel=1e-9)

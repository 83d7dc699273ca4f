"""Contestants of other libraries: each is told every label.

Rows are in a library's own form before the clock starts, and the clock then holds learning alone, so far as the library's interface
lets the two be told apart. (`banditboost.experiments.peers` drives the same libraries to see how well they predict, and reads
every prediction under its clock.)
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import Table
from benchmarks.timing import Contestant

Found = Mapping[str, Contestant]
IN_FILE = 5
"""Times as many rows in a file as in memory, so that the start of a workspace matters less."""
BOOSTING = "--boosting {copies}"
"""Online boosting as Vowpal Wabbit has it (Beygelzimer, Kale, Luo 2015): two classes only."""


def vowpal_wabbit(table: Table, copies: int, budget: int) -> Found:
    """One linear model and `--boosting`, on parsed examples in memory and from a cache file; `--noop` learns nothing.

    In memory, the clock holds one call of ``Workspace.learn`` from Python per example, and `--noop` says what such a call costs
    by itself. From a cache file, which is five times as long, all is C++, and `--noop` says what reading and the start of a
    workspace cost. Every repetition is the first pass of a new model: on examples that it knows by heart it would skip updates.
    """
    from vowpalwabbit import Workspace

    rows = [" ".join(f"{j}:{row[j]:.9g}" for j in np.flatnonzero(row)) for row in table.contexts[: IN_FILE * budget]]
    kinds = {"one model": "", "boosting": BOOSTING.format(copies=copies), "noop": "--noop"}
    found: dict[str, Contestant] = {}
    for kind, options in kinds.items():
        labels = (table.signs if kind == "boosting" else table.labels.tolist())[: len(rows)]
        texts = [f"{label} | {row}" for label, row in zip(labels, rows, strict=True)]
        found[f"vw, {kind}"] = vowpal_wabbit_in_memory(Workspace, options, texts[:budget])
        found[f"vw file, {kind}"] = _vowpal_wabbit_from_file(Workspace, options, texts)
    return found


def vowpal_wabbit_in_memory(workspace: Any, options: str, texts: list[str]) -> Contestant:
    started: list[tuple[Any, list[Any]]] = []

    def start() -> Callable[[], None]:
        while started:  # examples belong to a workspace, which keeps them until they are given back
            model, examples = started.pop()
            for example in examples:
                model.finish_example(example)
            model.finish()
        model = workspace(f"--quiet {options}")
        examples = [model.parse(text) for text in texts]
        started.append((model, examples))

        def run() -> None:
            learn = model.learn
            for example in examples:
                learn(example)

        return run

    return Contestant(len(texts), start)


def _vowpal_wabbit_from_file(workspace: Any, options: str, texts: list[str]) -> Contestant:
    folder = tempfile.TemporaryDirectory()
    rows, cache = Path(folder.name) / "rows", Path(folder.name) / "cache"
    rows.write_text("\n".join(texts) + "\n")

    def run() -> None:
        assert folder  # which lives as long as this function does
        with one_core():  # it reads in a thread of its own: on one core both show in the time
            workspace(f"--quiet {options} --data {rows} --cache_file {cache}").finish()

    run()  # writes the cache
    return Contestant(len(texts), lambda: run)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and those that it starts, on one core: where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def river(table: Table, copies: int, budget: int) -> Found:
    """One linear model, and a bag of as many linear models as we boost; rows are dictionaries."""
    from river import ensemble, linear_model

    models: dict[str, tuple[int, Callable[[], Any]]] = {
        "river, one model": (budget, linear_model.LinearRegression),
        "river, bag": (
            max(1, budget // copies),
            lambda: ensemble.BaggingRegressor(linear_model.LinearRegression(), n_models=copies, seed=0),
        ),
    }
    rows, labels = table.dictionaries(budget), table.labels.tolist()

    def start(rounds: int, make: Callable[[], Any]) -> Callable[[], None]:
        model = make()

        def run() -> None:
            for x, y in zip(rows[:rounds], labels[:rounds], strict=True):
                model.predict_one(x)
                model.learn_one(x, y)

        return run

    return {name: Contestant(rounds, partial(start, rounds, make)) for name, (rounds, make) in models.items()}


def capymoa(table: Table, copies: int, budget: int) -> Found:
    """A regression tree with linear leaves, and gradient boosting of as many rounds as we have copies; dense rows in Java."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise ImportError("it needs a Java runtime, and there is none here")
    from capymoa.regressor import FIMTDD, StreamingGradientBoostedRegression
    from capymoa.stream import NumpyStream

    stream = NumpyStream(table.contexts[:budget], table.labels[:budget], target_type="numeric")
    schema = stream.get_schema()
    instances = [stream.next_instance() for _ in range(budget)]
    models: dict[str, tuple[int, Callable[[], Any]]] = {
        "capymoa, tree": (budget, lambda: FIMTDD(schema, random_seed=1)),
        "capymoa, SGBR": (
            max(1, budget // copies),
            lambda: StreamingGradientBoostedRegression(schema, random_seed=1, boosting_iterations=copies),
        ),
    }

    def start(rounds: int, make: Callable[[], Any]) -> Callable[[], None]:
        model = make()

        def run() -> None:
            for instance in instances[:rounds]:
                model.predict(instance)
                model.train(instance)

        return run

    return {name: Contestant(rounds, partial(start, rounds, make)) for name, (rounds, make) in models.items()}


LIBRARIES: dict[str, Callable[[Table, int, int], Found]] = {
    "Vowpal Wabbit": vowpal_wabbit,
    "River": river,
    "CapyMOA": capymoa,
}


def found(table: Table, copies: int, budgets: Mapping[str, int]) -> tuple[dict[str, Contestant], list[str]]:
    """Return the contestants that can run here, and a sentence for every library that is left out."""
    contestants: dict[str, Contestant] = {}
    left_out = []
    for library, make in LIBRARIES.items():
        try:
            contestants |= make(table, copies, budgets[library])
        except ImportError as error:
            left_out.append(f"{library} is left out: {error} (libraries come with pip install 'banditboost[bench]').")
    return contestants, left_out

"""`make bench`: every timing is a ratio between things measured in one run, each the best of several repetitions.

Each part runs in a process of its own, in one thread unless it says otherwise, and leaves the other parts' results as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console

from banditboost._storage.atomic_file import atomic
from benchmarks.about import about

PARTS = {
    "loop": "Algorithm 2 beside a NumPy loop",
    "speed": "a round beside Vowpal Wabbit, River, CapyMOA and a NumPy loop",
    "growth": "time against copies, features, non-zeros, dimensions and rounds",
    "sweep": "sixty-four settings together beside one by one",
    "profile": "where a compiled round's time goes, by learner",
    "cold": "the README's lines with nothing compiled yet, kernel by kernel",
    "latency": "ask and tell in a Python loop; the start of a second process",
    "gradients": "what each gradient adds to a round",
    "background": "the longest tell where forests are grown within it, or in the background",
    "drift": "what following a world that changes costs a round",
    "memory": "gradients from memory beside a fit to each round",
    "wide": "the default beside Vowpal Wabbit on 300 to 1,000,000 sparse features",
    "screening": "few columns that matter among hundreds: places by evidence, and by count alone",
    "words": "film reviews by their words, beside Vowpal Wabbit and River",
    "sparse": "census kept sparse beside census kept dense",
    "projection_free": "Algorithm 1 beside a loop over objects",
    "matrices": "matrix spaces beside full decompositions",
    "covariance": "Algorithm 1 on covariances of 1,000 x 1,000 that drift: time, memory, loss",
    "streaming": "ten million rounds from disk: time and memory",
    "logs": "ten million logged decisions: reading, evaluating and learning, time and memory",
    "journal": "what writing every call down costs",
}
"""The modules of this folder that can be run, in order. A module has ``measure()``, which returns what JSON can hold, and
``table(results)``, which returns something for `rich` to print; it may have ``figure(results, path)``, and ``ALL_THREADS = True``
where the rival is allowed every core."""
FILE = Path(__file__).parent / "results.json"
FIGURES = Path(__file__).parent.parent / "docs" / "figures"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> None:
    out = Console(width=None if sys.stdout.isatty() else 160)
    for name in arguments():
        part: Any = import_module(f"benchmarks.{name}")
        try:
            with one_thread(not getattr(part, "ALL_THREADS", False)):
                results = in_a_process(part.measure)
        except FileNotFoundError as error:  # data that does not come along
            out.print(f"{name} is left out: {error}")
            continue
        out.print(part.table(results))
        if hasattr(part, "figure"):
            FIGURES.mkdir(parents=True, exist_ok=True)
            part.figure(results, FIGURES / f"{name}.png")
        keep(name, results)
    out.print(f"Results: benchmarks/{FILE.name}")


def arguments() -> list[str]:
    """Return the names of the parts to run."""
    listed = "\n".join(f"  {name:16} {what}" for name, what in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Times, as ratios measured in one run. Parts, all of them where none is named:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="part", help="what to run")
    parts: list[str] = parser.parse_args().parts
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        sys.exit(f"There is no benchmark named {', '.join(unknown)}: choose from {', '.join(PARTS)}.")
    return parts or list(PARTS)


@contextmanager
def one_thread(wanted: bool) -> Iterator[None]:
    """Have processes that are started in the block compute in one thread; libraries read this when they are loaded."""
    before = dict(os.environ)
    if wanted:
        os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def in_a_process(measure: Any) -> Any:
    """Run a part where no other part has left anything behind: a Java machine, say, or a heap full of examples."""
    # Unlike a pool's, the executor's process may start processes of its own.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(measure).result()


def keep(name: str, results: Any, file: Path = FILE) -> None:
    """Write one part's results, with the day and the versions they are of, beside those of the other parts."""
    kept: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    kept[name] = results
    kept["about"] = kept.get("about", {}) | {name: about()}
    with atomic(file) as handle:
        handle.write(json.dumps(kept, indent=1).encode())


if __name__ == "__main__":
    main()

"""Compiled runs with this version beside the same runs with the source of an older one: python tools/compare_versions.py OLD.

OLD is a folder with an older version's source, such as the `src` of a second checkout. The two versions take turns, each in a
process of its own, and everybody's best time counts. The default is also compared by its losses, which are the same in every turn:
on at most 10,000 rows of the second halves of the paper's data sets, in five orders. Results go to results/versions.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import json, sys, time
import numpy as np
import banditboost as bb
from scipy.sparse import csr_array

L, G, found, losses = bb.learners, bb.gradients, {}, {}
noise, rng = bb.noise.Uniform(0.1), np.random.default_rng(0)

def measured(name, spec, world, repetitions):
    best = float("inf")
    for _ in range(repetitions + 1):
        booster = bb.Booster.from_spec(spec)
        begin = time.process_time()
        bb.evaluate.progressive(booster, world, compiled=True)
        best = min(best, time.process_time() - begin)
    found[name] = 1e6 * best / len(world)

def spec(learner, gradient=G.OnePoint(0.5), space=bb.spaces.Interval(-1.0, 2.0), copies=10, **more):
    return bb.BoosterSpec(learner, copies, gradient=gradient, space=space, **more)

plain = L.Linear(10.0, bb.rates.Power(0.1, 0.5))
for features, copies in ((16, 10), (105, 10), (401, 30)):
    world = bb.worlds.Supervised(rng.random((8000, features)), rng.random(8000), noise=noise)
    measured(f"Algorithm 2, {features} features, {copies} copies", spec(plain, copies=copies, inside=False), world, 20)
X, y = rng.random((8192, 105)), rng.random(8192)
thin = csr_array(X * (rng.permuted(np.tile(np.arange(105), (8192, 1)), axis=1) < 12))
dense, sparse = (bb.worlds.Supervised(table, y, noise=noise) for table in (X, thin))
for name, learner, world, repetitions in (
    ("Linear", plain, dense, 10), ("Linear, sparse", plain, sparse, 10),
    ("ScaleFree", L.ScaleFree(), dense, 6), ("ScaleFree, sparse", L.ScaleFree(), sparse, 6),
    ("Coin", L.Coin(), dense, 6), ("Coin, sparse", L.Coin(), sparse, 6),
    ("SecondOrder", L.SecondOrder(), dense, 4), ("Network", L.Standardized(L.Network()), dense, 2), ("Tree", L.Tree(), dense, 3),
):
    measured(f"{name}, queries inside", spec(learner), world, repetitions)
for gradient in (G.Exact(), G.Baseline(0.5), G.Surrogate(0.5), G.Fitted(0.5, scaled=True)):
    measured(f"Linear with {type(gradient).__name__}", spec(plain, gradient), dense, 10)
three = bb.worlds.Supervised(X, rng.random((8192, 3)), noise=noise)
measured("Linear on a box of three dimensions", spec(plain, G.OnePoint(0.2), bb.spaces.Box((0.0,) * 3, (1.0,) * 3)), three, 6)
for name in ("abalone", "adult", "census", "letter"):
    data = bb.datasets.load(name)
    second = bb.worlds.Supervised(data.X, data.y, noise=noise).shuffled(seed=0).halves()[1]
    space = bb.spaces.Interval(float(data.y.min()), float(data.y.max()))
    for answers in (30, 2):
        case, default = f"the default on {name}, {answers} answers", bb.algorithms.boosted(space, answers=answers).spec
        bb.evaluate.progressive(bb.Booster.from_spec(default), second.head(500), compiled=True)  # compiles
        for seed in range(5):
            world = second.shuffled(seed=seed).head(10_000)
            begin = time.process_time()
            trace = bb.evaluate.progressive(bb.Booster.from_spec(default), world, compiled=True)
            taken = 1e6 * (time.process_time() - begin) / len(world)
            found[case] = min(taken, found.get(case, taken))
            losses.setdefault(case, []).append(trace.mean)
print(json.dumps({"times": found, "losses": losses}))
"""


def main() -> None:
    """Run both versions in turns, and print and keep the best times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, help="the older version's source folder")
    parser.add_argument("--turns", type=int, default=3, help="how often both versions are run")
    chosen = parser.parse_args()
    sources = {"before": chosen.old.resolve(), "now": ROOT / "src"}
    cases: dict[str, dict[str, float]] = {}
    losses: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(chosen.turns):
            for version, source in sources.items():
                surroundings = {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": f"{folder}/{version}"}
                surroundings |= {"OPENBLAS_NUM_THREADS": "1"}
                done = subprocess.run(
                    [sys.executable, "-c", PROGRAM], env=os.environ | surroundings, stdout=subprocess.PIPE, check=True
                )
                measured = json.loads(done.stdout)
                for name, taken in measured["times"].items():
                    times = cases.setdefault(name, {})
                    times[version] = min(taken, times.get(version, taken))
                for name, values in measured["losses"].items():
                    losses.setdefault(name, {})[version] = values
    for name, times in cases.items():
        print(f"{name:45} {times['before']:9.3f} {times['now']:9.3f} {times['now'] / times['before']:6.3f}", end="")
        print(f" loss {ratio(losses[name])[0]:6.4f}" if name in losses else "")
    (ROOT / "results" / "versions.json").write_text(json.dumps({"cases": cases, "losses": losses}, indent=1) + "\n")


def ratio(losses: dict[str, list[float]]) -> tuple[float, float, float]:
    """Mean, least and largest ratio of now's loss to before's, order by order."""
    each = [now / before for now, before in zip(losses["now"], losses["before"], strict=True)]
    return sum(each) / len(each), min(each), max(each)


if __name__ == "__main__":
    main()

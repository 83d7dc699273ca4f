"""Very many columns, few of which matter: what trees find when places go to features by evidence, and when they go by count alone.

Three worlds of 10,000 rounds; labels have mean 0 and variance 1, so that a constant loses 1. Columns that matter lie anywhere.
`friedman`: Friedman's function of five of 400 dense columns. `steps`: steps, bends and products of steps in eight of 400 dense
columns. `words together`: a random weight for each of six pairs of sparse columns that are there together, of 5,000 columns with 30
non-zeros a row. Ours is told 30 noisy values of the squared loss, or two; Vowpal Wabbit, at its default, is told labels. Shares and
times of places (`banditboost.learners.evidence`) were chosen on other seeds of the same worlds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.wide import SPACE, stream

ROUNDS, SEEDS = 10_000, range(100, 105)
DENSE, SPARSE = 400, 5000
ANSWERS = (30, 2)


def friedman(Z: Any) -> Any:
    return 10 * np.sin(np.pi * Z[:, 0] * Z[:, 1]) + 20 * (Z[:, 2] - 0.5) ** 2 + 10 * Z[:, 3] + 5 * Z[:, 4]


def steps(Z: Any) -> Any:
    single = (Z[:, 2] > 0.7) + 4 * np.abs(Z[:, 5] - 0.5)
    pairs = (
        2.0 * (Z[:, 0] > 0.5) * (Z[:, 1] > 0.4) - 1.5 * (Z[:, 3] < 0.3) * (Z[:, 4] > 0.5) + (Z[:, 6] > 0.5) * Z[:, 7]
    )
    return single + pairs


def dense(function: Any, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([seed, 7])
    X = rng.random((ROUNDS, DENSE))
    return X, function(X[:, rng.choice(DENSE, 8, replace=False)])


def together(seed: int) -> tuple[Any, Any]:
    contexts, _ = stream(SPARSE, seed, rounds=ROUNDS)
    rng, columns = np.random.default_rng(seed), contexts.tocsc()
    share = np.diff(columns.indptr) / ROUNDS
    usable = np.flatnonzero((share > 0.05) & (share < 0.3))
    rng.shuffle(usable)
    labels = np.zeros(ROUNDS)
    for a, b in zip(usable[0:12:2], usable[1:12:2], strict=True):
        one, other = (columns[:, [k]].toarray().ravel() for k in (a, b))
        labels += rng.normal() * one * other + 0.5 * rng.normal() * one
    return contexts, labels


def census(seed: int) -> tuple[Any, Any]:
    data = bb.datasets.load("census", sparse=True)
    half = bb.worlds.Supervised(data.X, data.y).shuffled(seed).halves()[1]
    return half.contexts(), half.labels().ravel()


WORLDS = {
    f"friedman, {DENSE} dense": lambda seed: dense(friedman, seed),
    f"steps, {DENSE} dense": lambda seed: dense(steps, seed),
    f"words together, {SPARSE:,} sparse": together,
    "census, second half": census,
}


def world(name: str, seed: int) -> bb.worlds.Supervised:
    X, y = WORLDS[name](seed)
    return bb.worlds.Supervised(X, (y - y.mean()) / y.std(), noise=bb.noise.Uniform(0.1), seed=seed)


def booster(answers: int, seed: int, evidence: bool = True) -> bb.Booster:
    """The default, or the default whose places go by count alone."""
    spec = bb.algorithms.boosted(SPACE, answers=answers, seed=seed).spec
    learner: Any = spec.learner
    *first, screened = learner.wide.parts
    parts = (*first, replace(screened, evidence=evidence))
    return bb.Booster.from_spec(replace(spec, learner=replace(learner, wide=replace(learner.wide, parts=parts))))


def vowpal_wabbit(table: bb.worlds.Supervised) -> Any:
    """Squared errors of the predictions that it makes before it is told a label."""
    from vowpalwabbit import Workspace

    model, errors, labels = Workspace("--quiet"), [], table.labels().ravel()
    for t, label in enumerate(labels.tolist()):
        row = table.contexts(t, t + 1)
        values = row.toarray()[0] if hasattr(row, "toarray") else row[0]
        text = " ".join(f"{k}:{values[k]:.6g}" for k in np.flatnonzero(values).tolist())
        example = model.parse(f"{label} | {text}")
        model.learn(example)
        errors.append((example.get_simplelabel_prediction() - label) ** 2)
        model.finish_example(example)
    model.finish()
    return np.array(errors)


def measure() -> dict[str, Any]:
    rows = []
    for name in WORLDS:
        try:
            everyone = played(name)
        except FileNotFoundError:  # data that does not come along
            continue
        for learner, losses in everyone.items():
            found = [[float(one.mean()), float(one[len(one) // 2 :].mean())] for one in losses]
            rows.append({"world": name, "learner": learner, "losses": found})
    return {"rounds": ROUNDS, "seeds": len(SEEDS), "rows": rows}


def played(name: str) -> dict[str, list[Any]]:
    """Losses of every learner, one array a seed."""
    losses: dict[str, list[Any]] = {}
    for seed in SEEDS:
        table = world(name, seed)
        for answers in ANSWERS:
            for evidence in (True, False):
                learner = f"ours, {answers} answers" + ("" if evidence else ", places by count alone")
                trace = bb.evaluate.progressive(booster(answers, seed, evidence), table, compiled=True)
                losses.setdefault(learner, []).append(trace.losses)
        losses.setdefault("Vowpal Wabbit", []).append(vowpal_wabbit(table))
    return losses


def table(results: dict[str, Any]) -> Table:
    title = f"Few columns that matter among many: squared loss over the variance, {results['seeds']} seeds"
    shown = Table("world", "learner", "loss", "second half", title=title, title_justify="left")
    for row in results["rows"]:
        whole, late = np.mean(row["losses"], axis=0)
        shown.add_row(row["world"], row["learner"], f"{whole:.3f}", f"{late:.3f}")
    return shown

"""Regressors of other stream-learning libraries, which see every label: their predictions before learning, and their time.

They need the extra ``bench`` (Vowpal Wabbit, River, CapyMOA; CapyMOA also needs a Java runtime). Every example is converted to
the library's own form before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.checks import Array, one_of

PEERS = {
    "vw": "Vowpal Wabbit",
    "vw_nn": "Vowpal Wabbit --nn 10",
    "river_linear": "River linear",
    "river_forest": "River adaptive random forest",
    "sgbr": "CapyMOA SGBR",
    "soknl": "CapyMOA SOKNL",
}
"""Peers by name, with their titles in tables."""
TREES = ("river_forest", "sgbr", "soknl")
"""The peers that are made of trees."""


class Played(NamedTuple):
    """Predictions of a peer, and its time per round in microseconds."""

    predictions: Array
    microseconds: float


def play(name: str, contexts: Array, labels: Array, loss: str, seed: int) -> Played:
    """Run a peer over labelled rows, each predicted before it is learned from.

    Parameters
    ----------
    name
        One of `PEERS`.
    contexts, labels
        Shapes (T, features) and (T,).
    loss
        ``"squared"`` or ``"absolute"``; peers made of trees learn from the squared loss only.
    seed
        Seed of peers that are random.
    """
    one_of("name", name, tuple(PEERS))
    try:
        run = {"vw": _vowpal_wabbit, "ri": _river, "sg": _capymoa, "so": _capymoa}[name[:2]]
        return run(name, contexts, labels, loss, seed)
    except ImportError as error:
        raise ImportError(
            f"{PEERS[name]} needs the extra 'bench': pip install 'banditboost[bench]' ({error})."
        ) from None


def _timed(rounds: int, step: Callable[[int], float]) -> Played:
    predictions = np.empty(rounds)
    begin = time.perf_counter()
    for t in range(rounds):
        predictions[t] = step(t)
    return Played(predictions, 1e6 * (time.perf_counter() - begin) / rounds)


def _vowpal_wabbit(name: str, contexts: Array, labels: Array, loss: str, seed: int) -> Played:
    from vowpalwabbit import Workspace

    options = ["--quiet", "--random_seed", str(seed)] + (["--nn", "10"] if name == "vw_nn" else [])
    options += ["--loss_function", "quantile", "--quantile_tau", "0.5"] if loss == "absolute" else []
    learner = Workspace(" ".join(options))
    texts = (
        f"{label} | " + " ".join(f"{j}:{row[j]:.9g}" for j in np.flatnonzero(row))
        for row, label in zip(contexts, labels.tolist(), strict=True)
    )
    examples = [learner.parse(text) for text in texts]

    def step(t: int) -> float:
        learner.learn(examples[t])
        return float(examples[t].get_simplelabel_prediction())  # made before the weights were changed

    played = _timed(len(labels), step)
    for example in examples:  # otherwise the workspace would keep them in memory
        learner.finish_example(example)
    learner.finish()
    return played


def _river(name: str, contexts: Array, labels: Array, loss: str, seed: int) -> Played:
    from river import forest, linear_model, optim, preprocessing

    wanted = optim.losses.Absolute() if loss == "absolute" else optim.losses.Squared()
    learner: Any = (
        forest.ARFRegressor(seed=seed)
        if name == "river_forest"
        else preprocessing.StandardScaler() | linear_model.LinearRegression(loss=wanted)
    )
    names = [str(j) for j in range(contexts.shape[1])]
    rows, targets = [dict(zip(names, row, strict=True)) for row in contexts.tolist()], labels.tolist()

    def step(t: int) -> float:
        predicted = learner.predict_one(rows[t])
        learner.learn_one(rows[t], targets[t])
        return float(predicted)

    return _timed(len(labels), step)


def _capymoa(name: str, contexts: Array, labels: Array, loss: str, seed: int) -> Played:
    from capymoa.regressor import SOKNL, StreamingGradientBoostedRegression
    from capymoa.stream import NumpyStream

    stream = NumpyStream(contexts, labels, target_type="numeric")
    kind = SOKNL if name == "soknl" else StreamingGradientBoostedRegression
    learner = kind(schema=stream.get_schema(), random_seed=seed + 1)
    instances = []
    while stream.has_more_instances():
        instances.append(stream.next_instance())

    def step(t: int) -> float:
        predicted = learner.predict(instances[t])
        learner.train(instances[t])
        return 0.0 if predicted is None else float(predicted)

    return _timed(len(labels), step)

"""Regressors of other libraries, which see every label: their predictions before learning, and the settings they may have.

They need the extra ``bench`` (Vowpal Wabbit, River, LightGBM, CapyMOA; CapyMOA also needs a Java runtime). A setting is a
dictionary of the numbers and names that differ from the library's defaults, so that an empty one is the default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from banditboost._core.checks import Array, one_of

Setting = dict[str, Any]
"""What differs from a library's defaults."""

ONLINE = {
    "vw": "Vowpal Wabbit",
    "vw_nn": "Vowpal Wabbit --nn",
    "river_linear": "River linear",
    "river_forest": "River adaptive random forest",
    "sgbr": "CapyMOA SGBR",
    "soknl": "CapyMOA SOKNL",
}
"""Peers that learn row by row, with their titles in tables."""
REFIT = {"lightgbm": "LightGBM, refitted", "histogram": "scikit-learn histogram boosting, refitted"}
"""Peers that keep all rows and are fitted to them anew, with their titles."""
PEERS = ONLINE | REFIT
ADAPTIVE = {"river_tree": "River Hoeffding adaptive tree"}
"""A single tree, which is run where the world changes (`drift`)."""
TREES = ("river_forest", "sgbr", "soknl")
"""The online peers that are made of trees, which learn from the squared loss only."""
GROWTH, FIRST = 1.3, 20
"""A refitted peer is fitted to its first rows, and whenever their number has grown by this factor."""


def play(name: str, contexts: Array, labels: Array, loss: str = "squared", seed: int = 0, **setting: Any) -> Array:
    """Run a peer over labelled rows and return its predictions, each made before the row was learned from.

    Parameters
    ----------
    name
        One of `PEERS` or `ADAPTIVE`.
    contexts, labels
        Shapes (T, features) and (T,).
    loss
        ``"squared"`` or ``"absolute"``; trees learn from the squared loss only.
    seed
        Seed of peers that are random.
    setting
        What differs from the library's defaults.
    """
    one_of("name", name, (*PEERS, *ADAPTIVE))
    made: dict[str, Callable[..., Array]] = {"vw": _vowpal_wabbit, "vw_nn": _vowpal_wabbit, "river_linear": _river}
    made |= {"river_forest": _river, "river_tree": _river, "sgbr": _capymoa, "soknl": _capymoa}
    made |= {"lightgbm": _refitted, "histogram": _refitted}
    try:
        return made[name](name, contexts, labels, loss, seed, setting)
    except ImportError as error:
        raise ImportError(
            f"{(PEERS | ADAPTIVE)[name]} needs the extra 'bench': pip install 'banditboost[bench]' ({error})."
        ) from None


def _vowpal_wabbit(name: str, contexts: Array, labels: Array, loss: str, seed: int, setting: Setting) -> Array:
    from vowpalwabbit import Workspace

    options = ["--quiet", "--random_seed", str(seed)]
    options += ["--loss_function", "quantile", "--quantile_tau", "0.5"] if loss == "absolute" else []
    settings = ({"--nn": 10} if name == "vw_nn" else {}) | setting
    options += [str(part) for pair in settings.items() for part in pair if part is not True]  # True: a flag
    learner = Workspace(" ".join(options))
    predictions = np.empty(len(labels))
    for t, (row, label) in enumerate(zip(contexts, labels.tolist(), strict=True)):
        example = learner.parse(f"{label} | " + " ".join(f"{j}:{row[j]:.9g}" for j in np.flatnonzero(row)))
        learner.learn(example)
        predictions[t] = example.get_simplelabel_prediction()  # made before the weights were changed
        learner.finish_example(example)
    learner.finish()
    return predictions


def _river(name: str, contexts: Array, labels: Array, loss: str, seed: int, setting: Setting) -> Array:
    learner = _river_linear(loss, dict(setting)) if name == "river_linear" else _river_trees(name, seed, setting)
    names = [str(j) for j in range(contexts.shape[1])]
    predictions = np.empty(len(labels))
    for t, (row, label) in enumerate(zip(contexts.tolist(), labels.tolist(), strict=True)):
        told = dict(zip(names, row, strict=True))
        predictions[t] = learner.predict_one(told)
        learner.learn_one(told, label)
    return predictions


def _river_trees(name: str, seed: int, setting: Setting) -> Any:
    from river import forest, tree

    kind = forest.ARFRegressor if name == "river_forest" else tree.HoeffdingAdaptiveTreeRegressor
    return kind(seed=seed, **setting)


def _river_linear(loss: str, setting: Setting) -> Any:
    from river import linear_model, optim, preprocessing

    wanted = optim.losses.Absolute() if loss == "absolute" else optim.losses.Squared()
    rate, kind = setting.pop("rate", 0.01), setting.pop("optimizer", "SGD")
    optimizer = {"SGD": optim.SGD, "AdaGrad": optim.AdaGrad, "Adam": optim.Adam}[kind](rate)
    learner = linear_model.LinearRegression(optimizer=optimizer, loss=wanted, **setting)
    return preprocessing.StandardScaler() | learner


def _capymoa(name: str, contexts: Array, labels: Array, loss: str, seed: int, setting: Setting) -> Array:
    from capymoa.regressor import SOKNL, StreamingGradientBoostedRegression
    from capymoa.stream import NumpyStream

    stream = NumpyStream(contexts, labels, target_type="numeric")
    kind = SOKNL if name == "soknl" else StreamingGradientBoostedRegression
    learner = kind(schema=stream.get_schema(), random_seed=seed + 1, **setting)
    predictions = np.empty(len(labels))
    for t in range(len(labels)):
        instance = stream.next_instance()
        predicted = learner.predict(instance)
        predictions[t] = 0.0 if predicted is None else predicted
        learner.train(instance)
    return predictions


def _refitted(name: str, contexts: Array, labels: Array, loss: str, seed: int, setting: Setting) -> Array:
    predictions = np.empty(len(labels))
    means = np.cumsum(labels[:FIRST]) / np.arange(1, len(labels[:FIRST]) + 1)
    predictions[:FIRST] = np.concatenate([[0.0], means[:-1]])
    build = {"lightgbm": _lightgbm, "histogram": _histogram}[name]
    for begin, end in refits(len(labels)):
        model = build(loss, seed, setting)
        model.fit(contexts[:begin], labels[:begin])
        predictions[begin:end] = model.predict(contexts[begin:end])
    return predictions


def refits(rows: int) -> Iterator[tuple[int, int]]:
    """Yield, for every fit, the number of rows it sees and the row up to which it predicts.

    Examples
    --------
    >>> list(refits(30))
    [(20, 26), (26, 30)]
    """
    begin = FIRST
    while begin < rows:
        end = min(int(np.ceil(GROWTH * begin)), rows)
        yield begin, end
        begin = end


def _lightgbm(loss: str, seed: int, setting: Setting) -> Any:
    from lightgbm import LGBMRegressor

    objective = "regression_l1" if loss == "absolute" else "regression"
    return LGBMRegressor(objective=objective, random_state=seed, n_jobs=1, verbose=-1, **setting)


def _histogram(loss: str, seed: int, setting: Setting) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    wanted = "absolute_error" if loss == "absolute" else "squared_error"
    return HistGradientBoostingRegressor(loss=wanted, random_state=seed, **setting)

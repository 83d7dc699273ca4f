"""Classifiers of other libraries, which see the class of every row: each predicts a row's class, then learns it.

Rows are converted to a peer's own form beforehand, so that the measured time is that of predicting and learning. Libraries, which
the extra `bench` installs, are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from banditboost.worlds import Classification

VOWPAL_WABBIT = {"vw": "--oaa 26", "vw_pairs": "--oaa 26 -q ::", "vw_net": "--oaa 26 --nn 20 --loss_function logistic"}
RIVER = {"river_tree": "HoeffdingTreeClassifier", "river_arf": "ARFClassifier"}
FOREST = 30
"""Number of trees in CapyMOA's forest."""
PEERS = {name: f"Vowpal Wabbit {options}" for name, options in VOWPAL_WABBIT.items()}
PEERS |= {name: f"River {kind}" for name, kind in RIVER.items()}
PEERS |= {"moa_arf": f"CapyMOA AdaptiveRandomForestClassifier, {FOREST} trees"}
"""Peers by name, with their titles in tables."""

Peer = tuple[Callable[[Any], int], Sequence[Any]]
"""A function that learns a row and returns the class that it predicted before, and the rows."""


def peer(name: str, world: Classification) -> Peer:
    """Return a new peer and the rows of a world in its own form."""
    try:
        if name in VOWPAL_WABBIT:
            return _vowpal_wabbit(VOWPAL_WABBIT[name], world)
        return _river(RIVER[name], world) if name in RIVER else _capymoa(world)
    except ImportError as error:
        raise ImportError(
            f"{PEERS[name]} must be installed for a comparison with it: pip install 'banditboost[bench]'."
        ) from error


def _vowpal_wabbit(options: str, world: Classification) -> Peer:
    from vowpalwabbit import Workspace

    model = Workspace(f"{options} --random_seed {world.seed} --quiet")
    kind = model.get_prediction_type()

    def learn(row: str) -> int:
        example = model.parse(row)
        model.learn(example)
        guess = int(example.get_prediction(kind)) - 1  # made before the example was learned
        model.finish_example(example)
        return guess

    contexts = world.contexts()
    scaled = contexts / np.maximum(np.abs(contexts).max(axis=0), 1e-300)
    written = (" ".join(f"{k}:{value:.6g}" for k, value in enumerate(x)) for x in scaled.tolist())
    return learn, [f"{code + 1} | {x}" for code, x in zip(world.classes().tolist(), written, strict=True)]


def _river(kind: str, world: Classification) -> Peer:
    from river import forest, tree

    model: Any = forest.ARFClassifier(seed=world.seed) if kind == RIVER["river_arf"] else tree.HoeffdingTreeClassifier()

    def learn(row: tuple[dict[str, float], int]) -> int:
        x, code = row
        guess = model.predict_one(x)
        model.learn_one(x, code)
        return -1 if guess is None else int(guess)

    contexts = ({f"x{k}": value for k, value in enumerate(x)} for x in world.contexts().tolist())
    return learn, list(zip(contexts, world.classes().tolist(), strict=True))


def _capymoa(world: Classification) -> Peer:
    from capymoa.classifier import AdaptiveRandomForestClassifier
    from capymoa.stream import NumpyStream

    stream = NumpyStream(world.contexts(), world.classes(), target_type="categorical")
    schema: Any = stream.get_schema()
    model = AdaptiveRandomForestClassifier(schema, random_seed=world.seed + 1, ensemble_size=FOREST)
    # The schema has its own order of the classes that occur in these rows.
    order = [int(value) for value in schema.get_label_values()]

    def learn(row: Any) -> int:
        guess = model.predict(row)
        model.train(row)
        return -1 if guess is None else order[int(guess)]

    return learn, [stream.next_instance() for _ in range(len(world))]

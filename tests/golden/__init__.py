"""Golden trajectories: what every recipe predicted when it was last looked at, so that no change of numbers goes unnoticed.

``python -m tests.golden --write`` renews them. Do that when numbers change on purpose, and say why in the commit.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import banditboost as bb

FILE = Path(__file__).parent / "trajectories.json"
ROUNDS = 30
SPACES = {"interval": bb.spaces.Interval(-1.0, 1.0), "ball": bb.spaces.Ball(2, 1.0)}
PRICES = {"prices": bb.spaces.Interval(0.0, 2.0)}
Trajectory = dict[str, list[str]]


def spaces(recipe: str) -> dict[str, bb.spaces.Space]:
    """Where a recipe is played, by name: that for prices takes no negative numbers."""
    return dict(PRICES if recipe == "pricing" else SPACES)


def trajectory(recipe: str, space: bb.spaces.Space) -> Trajectory:
    """Play a recipe in a world without chance; return predictions, and what was learned in a few numbers, all exact."""
    booster: bb.Booster = getattr(bb.algorithms, recipe)(space, seed=5)
    predictions: list[float] = []
    for t in range(ROUNDS):
        x = np.array([np.sin(1.3 * t), np.cos(0.7 * t), 1.0 / (1 + t)])
        target = np.full(space.shape, 0.5 * x[0] + 0.2)
        ticket = booster.ask(x if booster.spec.learner.contextual else None)
        away = ticket.queries - target
        squared = np.square(away).reshape(len(away), -1).sum(axis=1)
        booster.tell(
            ticket, 2 * away if ticket.asks == "gradients" else squared + 0.1 * np.cos(np.arange(len(away)) + t)
        )
        predictions += np.ravel(ticket.prediction).tolist()
    learned = [
        float(np.square(array).sum()) for _, array in sorted(booster.arrays().items()) if array.dtype.kind == "f"
    ]
    return {"predictions": [p.hex() for p in predictions], "squares": [s.hex() for s in learned]}


def all_trajectories() -> dict[str, dict[str, Trajectory]]:
    """Those of every recipe on every space."""
    return {
        recipe: {name: trajectory(recipe, space) for name, space in spaces(recipe).items()}
        for recipe in bb.algorithms.__all__
    }


def kept() -> dict[str, dict[str, Trajectory]]:
    """Those on file."""
    found: dict[str, dict[str, Trajectory]] = json.loads(FILE.read_text())
    return found

"""Random streams: one for every role, all derived from one seed.

Roles are numbered once for the whole library, so that a booster and a world with the same seed never share a stream: noise that
is correlated with the random directions of queries would bias every gradient estimate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_ROLES = ("directions", "perturbations", "noise", "shuffling", "world", "coins", "guard")


def stream(seed: int, role: str) -> np.random.Generator:
    """Return a new generator at the beginning of a role's stream."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(_ROLES.index(role),))))


def branch(rng: np.random.Generator, worker: int) -> None:
    """Turn a generator into an independent one, determined by its present state and the worker's number."""
    stands = rng.bit_generator.state["state"]
    seeds = np.random.SeedSequence([stands["state"], stands["inc"]], spawn_key=(worker,))
    rng.bit_generator.state = np.random.PCG64(seeds).state  # in place: other objects hold the same generator


def state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator as plain data."""
    return dict(rng.bit_generator.state)


def restore(rng: np.random.Generator, saved: Any) -> None:
    """Put a generator into a state that `state` returned."""
    try:
        rng.bit_generator.state = saved
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError):
        raise ValueError("The file's random stream is damaged.") from None

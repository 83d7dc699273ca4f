"""One seed, one random stream per role.

Roles are numbered once for the whole library, so that a booster and a world with the same seed never share a stream: noise that
is correlated with the directions it blurs would bias every estimate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_ROLES = ("directions", "perturbations", "noise", "shuffling", "world", "coins")


def stream(seed: int, role: str) -> np.random.Generator:
    """Return the stream of a role, always from its beginning."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(_ROLES.index(role),))))


def branch(rng: np.random.Generator, worker: int) -> None:
    """Move a stream to one that follows from where it stands and from the worker's number, and is independent of it."""
    stands = rng.bit_generator.state["state"]
    seeds = np.random.SeedSequence([stands["state"], stands["inc"]], spawn_key=(worker,))
    rng.bit_generator.state = np.random.PCG64(seeds).state  # in place: others hold on to it


def state(rng: np.random.Generator) -> dict[str, Any]:
    """Return where a stream stands, as plain data."""
    return dict(rng.bit_generator.state)


def restore(rng: np.random.Generator, saved: Any) -> None:
    """Put a stream back where it stood."""
    try:
        rng.bit_generator.state = saved
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError):
        raise ValueError("The file's random stream is damaged.") from None

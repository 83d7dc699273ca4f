"""Cells that workers of a test's cluster can import."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from banditboost.experiments.cells import Cell


@dataclass(frozen=True)
class Slow(Cell):
    """Says that it has begun, sleeps, and returns random numbers that its seed decides."""

    seed: int = 0
    folder: str = ""
    seconds: float = 0.5

    def run(self) -> dict[str, Any]:
        (Path(self.folder) / f"{self.seed} {os.getpid()} {uuid.uuid4()}").touch()
        time.sleep(self.seconds)
        return {"numbers": np.random.default_rng(self.seed).random(3).tolist()}


@dataclass(frozen=True)
class Failing(Cell):
    """Raises what is its own."""

    reason: str = "no particular one"

    def run(self) -> dict[str, Any]:
        raise ZeroDivisionError(f"the reason is {self.reason}")


@dataclass(frozen=True)
class Deadly(Cell):
    """Kills every worker that runs it."""

    def run(self) -> dict[str, Any]:
        os.kill(os.getpid(), 9)
        return {}

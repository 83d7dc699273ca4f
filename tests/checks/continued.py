"""Goes on with saved boosters in a process of its own: `python -m tests.checks.continued FOLDER` prints a digest for each file."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import banditboost as bb
from tests.checks.discovery import Target, play, specs, state

BEGIN, END = 15, 40


def digest(booster: bb.Booster) -> str:
    """Go on, and say what happened and what was learned, to the bit."""
    played = play(booster, Target(booster), BEGIN, END)
    return hashlib.sha256(repr((played, state(booster))).encode()).hexdigest()


if __name__ == "__main__":
    parts = {name: function for spec in specs() for name, function in spec.callables().items()}
    for path in sorted(Path(sys.argv[1]).glob("*.bb")):
        print(path.stem, digest(bb.Booster.load(path, parts)))

"""What `import banditboost` shows, and what it leaves to those who need it."""

from __future__ import annotations

import subprocess
import sys

import banditboost as bb

IMPORTED = """
import sys
import banditboost
for name in sorted(sys.modules):
    print(name)
"""


def test_importing_is_light() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "banditboost.booster.booster" in loaded
    foreign = {"numba", "llvmlite", "matplotlib", "polars", "typer", "rich", "joblib", "pooch", "sklearn", "river"}
    assert loaded & foreign == set()
    ours = ("banditboost.experiments", "banditboost.cli", "banditboost.interop", "banditboost._compiled")
    assert [name for name in loaded if name.startswith(ours)] == []


def test_dir_shows_what_a_user_needs() -> None:
    assert dir(bb) == sorted(bb.__all__)
    assert all(hasattr(bb, name) for name in bb.__all__)
    assert not any(name.startswith("_") and name != "__version__" for name in dir(bb))

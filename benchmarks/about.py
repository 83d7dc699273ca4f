"""What a measurement was made with."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from typing import Any

PACKAGES = ("banditboost", "numpy", "scipy", "numba", "vowpalwabbit", "river", "capymoa")


def about() -> dict[str, Any]:
    """Return the day, the machine's kind and the versions of what is installed."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version()} | dict(_versions()),
    }


def _versions() -> list[tuple[str, str]]:
    found = []
    for package in PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return found

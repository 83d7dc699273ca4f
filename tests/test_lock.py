"""The locked test environment names all that the package and its tests ask for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_lock_holds_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["cli"],
        *project["optional-dependencies"]["dev"],
    ]
    lines = (ROOT / "requirements" / "test.lock").read_text().splitlines()
    locked = dict(line.lower().replace("_", "-").split("==") for line in lines if not line.startswith("#"))
    assert all(re.fullmatch(r"[0-9][0-9a-z.+]*", version) for version in locked.values())
    missing = []
    for dependency in wanted:
        name, least = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", dependency).groups()  # type: ignore[union-attr]
        version = tuple(int(part) for part in re.findall(r"\d+", locked.get(name.lower(), "0"))[:2])
        if version < tuple(int(part) for part in least.split("."))[:2]:
            missing.append(dependency)
    assert missing == []

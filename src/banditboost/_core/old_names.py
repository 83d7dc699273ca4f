"""Names that earlier versions wrote into files, and what the same thing is called now.

Files outlive renaming. A model file, a ticket, a journal or the JSON of a spec that an earlier version wrote is read through this
table, which is the only place that knows the old names. An entry is never removed, and neither an old kind nor an old field is ever
given a second meaning: `tests/_storage` checks both.
"""

from __future__ import annotations

from typing import Any

KINDS = {
    "blueprint.BoosterSpec": "booster.BoosterSpec",
    "commands.Setting": "cli.Setting",
    "spaces.Counting": "spaces.CountingSpace",
}
"""Present kinds by old kind."""

FIELDS = {
    "cli.Setting": {"regularizer": "ridge"},
    "learners.SecondOrder": {"regularizer": "ridge", "around": "centre"},
    "spaces.Ball": {"about": "centre"},
    "spaces.Oracle": {"about": "centre"},
}
"""Present names of fields by old name, for each present kind."""

ABSENT: dict[str, dict[str, Any]] = {
    "booster.BoosterSpec": {"bands": None, "drifts": None, "encoder": None},
    "chains.Mix": {"alone": 0, "doubts": (1.0, 2.0, 0.0), "recent": False},
    "gradients.Remembered": {"lasting": 0.0, "wary": 0.0, "levels": False, "changes": False},
    "gradients.Surrogate": {"centred": False},
    "learners.Grown": {
        "lag": 0.0,
        "background": False,
        "renews": False,
        "categories": (),
        "smooth": 10.0,
        "initial": None,
    },
    "learners.Level": {"latest": False},
    "learners.Stump": {"renews": False},
    "learners.Tree": {"renews": False},
}
"""What earlier versions did where a field is now that they did not have, by present kind. Their data lack it, and data that say the
same still do, so that checksums over specs stay what they were."""

LENGTHS = {"gradient.facts": (16, 22), "gradient.bends": (13, 14), "fresh": (3,)}
"""How long arrays were that have more entries now, by name, or by its last part for those of learners.

The new entries are zero, by which parts go on as they did then."""


def renamed(data: dict[str, Any]) -> dict[str, Any]:
    """Return the plain data of one spec under present names; specs within it are left as they are."""
    kind = data.get("kind")
    if not isinstance(kind, str):
        return data
    kind = KINDS.get(kind, kind)
    fields = FIELDS.get(kind, {})
    # Where a file has a field under both names, the old one stays, so that the reader refuses it as unknown.
    now = {name: fields[name] if name in fields and fields[name] not in data else name for name in data}
    return ABSENT.get(kind, {}) | {now[name]: value for name, value in data.items()} | {"kind": kind}

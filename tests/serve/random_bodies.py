"""Random bodies against a service: a few hundred in a test, and 10,000 by `make safety-serve`."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import httpx

import banditboost as bb

SMALL = {"algorithm": "streaming", "space": {"kind": "Interval", "low": 0, "high": 20}, "copies": 3, "answers": 1}
SEEDS: dict[str, tuple[Any, ...]] = {
    "ask": (
        {"context": [0.3, 1.0], "subject": "s"},
        {"contexts": [[0.3, 1.0], [0.1, 0.0]], "space": [5, 12]},
        {"context": {"city": "Rome", "age": None}},
    ),
    "predict": ({"context": [0.3, 1.0]}, {"contexts": [[0.3, 1.0], [0.1, 0.0]]}),
    "tell": (
        {"ticket": "0-1", "losses": 1.0},
        {"ticket": "0-1", "losses": [1.0], "actions": [3.0], "answered": [True]},
        {"tells": [{"ticket": "0-2", "rewards": [1.0]}, {"ticket": "0-3", "losses": 1}]},
    ),
    "learn": (
        {"context": [0.3, 1.0], "action": 3.0, "loss": 1.0, "density": 0.1},
        {"context": [0.3, 1.0], "action": 3.0, "reward": 1.0, "aim": 3.0, "spread": 1.0, "subject": "s"},
    ),
    "erase": ({"subject": "s"}, {"subjects": ["s", "t"]}),
    "forget": ({"tickets": ["0-1", "0-2"]},),
    "snapshots": ({"label": "here"},),
    "rollback": ({"snapshot": 1},),
    "guard": ({"state": "on"}, {"state": "fallen back"}),
    "set guard": (
        {"baseline": 9.5, "share": 0.3, "bounds": [0, 20], "confidence": 0.95, "after": 0},
        {"baseline": {"offset": 8, "weights": [2, 0.5]}, "margin": 0.5, "window": 50},
        {"baseline": {"snapshot": 1}, "share": 0.5},
    ),
    "remove guard": ({},),
    "create": (
        {"recipe": SMALL, "deadline": 5},
        {"recipe": SMALL, "guard": {"baseline": 9.5, "share": 0.2}},
        {"recipe": {"spec": bb.algorithms.ogd(bb.spaces.Ball(3)).spec.to_dict()}},
    ),
}
GUARDS = {"set guard": ("PUT", "guard"), "remove guard": ("DELETE", "guard")}
"""Addresses that are called otherwise than by POST, or are not named as their bodies are."""
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    1e308,
    10**400,
    "",
    "0-1",
    "\x00",
    "<b>",
    [],
    {},
    [[]],
    [1, [2]],
    "9" * 300,
)
NO_JSON = (b"[" * 20_000, b'{"context":' * 5_000, b"NaN", b'{"context": [NaN, Infinity]}', b"", b"\xff\xfe", b"nul")


def body(path: str, rng: random.Random) -> bytes:
    """A body: mostly one that suits the address, or with a value changed, or with spoiled bytes; else one of another, or noise."""
    data = json.loads(json.dumps(rng.choice(SEEDS[path if rng.random() < 0.9 else rng.choice(list(SEEDS))])))
    way = rng.randrange(6)
    if way in (1, 2):
        spoil(data, rng)
    text = json.dumps(data).encode()
    if way == 3:
        text = bytearray(text)  # type: ignore[assignment]
        for _ in range(rng.randrange(1, 6)):
            text[rng.randrange(len(text))] = rng.randrange(256)  # type: ignore[index]
    if way == 4:
        text = rng.choice(
            (b"[" * 20_000, b'{"context":' * 5_000, b"NaN", b'{"context": [NaN, Infinity]}', b"", b"\xff\xfe", b"nul")
        )
    return rng.randbytes(rng.randrange(300)) if way == 5 else bytes(text)


def spoil(data: Any, rng: random.Random) -> None:
    """Change one value somewhere within."""
    places = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    if not places:
        return
    place = rng.choice(places)
    if isinstance(data[place], dict | list) and data[place] and rng.random() < 0.6:
        spoil(data[place], rng)
    else:
        data[place] = rng.choice(VALUES)


def target(http: httpx.Client, key: str | None, times: int, seed: int) -> set[int]:
    """Send random bodies to every address; return the statuses that came, each with one sentence where it is no success."""
    rng, came = random.Random(seed), Counter[tuple[str, int]]()
    headers = {"content-type": "application/json"} | ({} if key is None else {"authorization": f"Bearer {key}"})
    for k in range(times):
        path = rng.choice(list(SEEDS))
        made = path == "create"
        method, what = GUARDS.get(path, ("POST", path))
        method, address = ("PUT", f"/v1/boosters/made{k % 50}") if made else (method, f"/v1/boosters/shop/{what}")
        answer = http.request(method, address, content=body(path, rng), headers=headers)
        came[path, answer.status_code] += 1
        if answer.status_code >= 400:
            problem = answer.json()
            assert problem["status"] == answer.status_code
            assert problem["detail"].endswith((".", "?")), problem
            assert "Traceback" not in answer.text
        elif made:
            http.delete(address, headers=headers)
    for (path, status), count in sorted(came.items()):
        print(f"{path:12} {status}  {count}")
    return {status for _, status in came}

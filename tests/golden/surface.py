"""The surface of every part: its data with defaults, its properties, the numbers its fields accept, how a booster plays with it.

Nothing here says what is right; it says what was so when it was last looked at, for all parts alike.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from banditboost._core.spec import Spec
from banditboost.booster import Booster, Ticket
from banditboost.testing.rounds import Target, answers
from tests.checks.discovery import boosters, label, specs

FILE = Path(__file__).parent / "surface.json"
TRIED: tuple[Any, ...] = (math.nan, math.inf, -1, 0, 0.0, 0.5, 1, 1.5, True, "a", None)
"""What is put into every field that holds a number, or nothing."""
ROUNDS = 12


def surface(part: Spec) -> dict[str, Any]:
    """Return what a part says of itself."""
    return {"data": plain(part.to_dict()), "properties": properties(part), "accepts": accepted(part)}


def properties(part: Spec) -> dict[str, Any]:
    """Return every property that has no hidden name, in plain data, or the error that it raises."""
    found = {}
    for name in dir(type(part)):
        kind = getattr(type(part), name, None)
        if not name.startswith("_") and isinstance(kind, property | cached_property):
            try:
                found[name] = plain(getattr(part, name))
            except (ValueError, TypeError, NotImplementedError) as error:
                found[name] = type(error).__name__
    return found


def accepted(part: Spec) -> dict[str, str]:
    """Return, for every field that holds a number, a mark for each value tried: accepted (+) or refused by a ValueError (-)."""
    found = {}
    for field in fields(part):
        if isinstance(getattr(part, field.name), int | float | None):
            found[field.name] = "".join("+" if accepts(part, field.name, value) else "-" for value in TRIED)
    return found


def accepts(part: Spec, name: str, value: Any) -> bool:
    """Whether a part can be made with a value in a field; anything but a ValueError is a fault."""
    try:
        changed: dict[str, Any] = {name: value}
        replace(part, **changed)
    except ValueError:
        return False
    return True


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; numbers to nine digits, other objects by the name of their class."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float | np.number):
        return f"{float(value):.9g}"
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return type(value).__name__


def played() -> dict[str, list[float]]:
    """Return, for a booster around every part, a few numbers that depend on all that it asked, predicted and learned."""
    found: dict[str, list[float]] = {}
    for name, booster in boosters():
        seen = rounds(booster)
        learned = [float(np.square(a).sum()) for _, a in sorted(booster.arrays().items()) if a.dtype.kind == "f"]
        found.setdefault(label(name), [*seen, sum(learned)])
    return found


def rounds(booster: Booster) -> list[float]:
    """Play rounds of four kinds in turn: at once, late, within limits where the booster takes them, and as one step."""
    world = Target(booster, ROUNDS)
    late: list[tuple[Ticket, Any]] = []
    seen: list[float] = []
    asks = ""
    for t in range(ROUNDS):
        x = world.context(t)
        if t % 4 == 3:
            answer = world.gradients if asks == "gradients" else world.values
            ticket = booster.step(x, partial(answer, t))
        else:
            ticket = limited(booster, x) if t % 4 == 2 else booster.ask(x)
            late.append((ticket, answers(world, ticket, t)))
        asks = ticket.asks
        for waiting in late if t % 4 != 1 else []:
            booster.tell(waiting[0], losses=waiting[1])
        late = [] if t % 4 != 1 else late
        told = [ticket.queries, ticket.prediction, ticket.path, booster.predict(x), *one(ticket)]
        seen.append(sum(float(np.square(part).sum()) for part in told))
    many = booster.predict_many(world.contexts) if world.contextual else np.zeros(1)
    return [sum(seen), *seen[-2:], float(np.square(many).sum())]


def limited(booster: Booster, x: Any) -> Ticket:
    """Ask within the upper half of the space, or anywhere where the booster takes no limits."""
    try:
        low, high = booster.spec.space.bounds or (0.0, 0.0)
        return booster.ask(x, space=((np.asarray(low) + high) / 2, high))
    except ValueError:
        return booster.ask(x)


def one(ticket: Ticket) -> list[Any]:
    """Return the action and its density, where a ticket has them."""
    found = []
    for name in ("action", "density"):
        try:
            found.append(getattr(ticket, name))
        except ValueError:
            found.append(np.ones(3))
    return found


def now() -> dict[str, Any]:
    """Return all of it."""
    return {"parts": {label(part): surface(part) for part in specs()}, "played": played()}


def kept() -> dict[str, Any]:
    """Return what is on file."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found

"""Every part has the defaults, the properties and the limits that it had, and boosters play with it as they did."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import banditboost as bb
from tests.checks.discovery import label, specs
from tests.golden import surface


def test_every_part_is_on_file() -> None:
    assert {label(part) for part in specs()} == set(surface.kept()["parts"])


def test_parts_say_of_themselves_what_they_said() -> None:
    before = surface.kept()["parts"]
    changed = {label(part): surface.surface(part) for part in specs() if surface.surface(part) != before[label(part)]}
    assert not changed, "python -m tests.golden --write keeps these, where they are meant"


def test_boosters_play_as_they_did() -> None:
    before, now = surface.kept()["played"], surface.played()
    assert set(before) == set(now)
    for name, numbers in before.items():
        # Another processor or library may round otherwise, and rounding errors grow. Directions in a hull come from singular
        # vectors, which are not unique where singular values are equal: there, others may be drawn.
        close = 0.5 if name.startswith("Hull(") else 1e-5
        assert now[name] == pytest.approx(numbers, rel=close, abs=1e-9), name


def test_a_default_a_check_and_a_property_that_change_are_noticed() -> None:
    @dataclass(frozen=True)
    class Longer(bb.chains.Additive, kind="tests:Longer"):
        step: float = 0.3

    @dataclass(frozen=True)
    class Lax(bb.spaces.Ball, kind="tests:Lax"):
        radius: float = 1.0

        def __post_init__(self) -> None:
            object.__setattr__(self, "centre", None)

        @property
        def diameter(self) -> float:
            return self.radius

    chain, ball = surface.surface(bb.chains.Additive()), surface.surface(bb.spaces.Ball(2))
    assert surface.surface(Longer())["data"]["step"] != chain["data"]["step"]
    assert surface.surface(Lax(2))["accepts"] != ball["accepts"]
    assert surface.surface(Lax(2))["properties"] != ball["properties"]

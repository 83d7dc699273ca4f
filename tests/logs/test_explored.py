"""How far a log has explored: the width of its law about its aims, or none where the log does not show it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.logs import explored as module

N = 3000


def made(bend: float = 0.0, width: float = 0.7, d: int = 1, **changed: Any) -> bb.Log:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (N, 2))
    aims = 4.0 + x[:, :1] + bend * np.abs(x[:, 1:])
    a = aims + width * rng.uniform(-1, 1, (N, d))
    columns: dict[str, Any] = {"densities": np.full(N, (2 * max(width, 1e-9)) ** -d)} | changed
    return bb.Log.from_arrays(x, a, rng.normal(size=N), **columns)


@pytest.mark.parametrize("d", [1, 3])
def test_the_width_is_that_of_the_law(d: int) -> None:
    found = made(d=d).explored()
    assert found == pytest.approx((0.7,) * d, rel=0.03)
    booster = bb.algorithms.boosted(
        bb.spaces.Box((0.0,) * d, (10.0,) * d), answers=1, explore=bb.explore.Explore(most=found)
    )
    ticket = booster.ask([0.1, 0.2])
    assert (np.abs(np.asarray(ticket.action) - np.asarray(ticket.prediction)) <= np.asarray(found) + 1e-12).all()


def test_nothing_is_said_where_the_log_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made(densities=None).explored() is None
    assert made(densities=np.where(np.arange(N) == 7, np.nan, 0.7)).explored() is None
    assert made(width=0.0).explored() is None
    assert made(bend=8.0).explored() is None  # actions are no line: what is left over is no exploration
    assert bb.Log.from_arrays([[0.0]] * 4, [1.0, 2.0, 3.0, 4.0], [0.0] * 4, densities=[1.0] * 4).explored() is None
    monkeypatch.setattr(module, "NEAR", 1e9)
    assert made(bend=8.0).explored() is not None  # the weights tell

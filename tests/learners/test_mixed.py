"""Mixed copies are their parts, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost.learners import FPL, Learner, Linear, Mixed, Network, Scaled, Tree
from banditboost.spaces import Ball, Interval


def test_each_part_plays_and_learns_as_if_alone() -> None:
    parts: tuple[Learner, ...] = (Linear(), Tree(grace=5, evidence=0.0, ridge=1.0), Scaled(Network(hidden=3), 0.5))
    space, rng = Ball(2, 1.0), np.random.default_rng(1)
    mixed = Mixed(parts, (2, 3, 1)).start(6, space, 4, np.random.default_rng(2))
    shared = np.random.default_rng(2)
    alone = [part.start(n, space, 4, shared) for part, n in zip(parts, (2, 3, 1), strict=True)]
    for t in range(1, 201):
        x, gradients = rng.normal(size=4), rng.normal(size=(6, 2))
        np.testing.assert_array_equal(mixed.play(x), np.concatenate([bank.play(x) for bank in alone]))
        mixed.update(x, gradients, t)
        for bank, mine in zip(alone, np.split(gradients, [2, 5]), strict=True):
            bank.update(x, mine, t)
    assert set(mixed.arrays()) == {f"{k}.{name}" for k, bank in enumerate(alone) for name in bank.arrays()}
    assert mixed.arrays()["1.nodes"].max() > 1


@pytest.mark.parametrize(
    ("counts", "copies", "expected"),
    [
        ((5, 15), 20, (5, 15)),
        ((5, 15), 1, (0, 1)),
        ((0.5, 0.5), 1, (1, 0)),
        ((0.5, 0.5), 3, (2, 1)),
        ((1, 1, 1), 4, (1, 2, 1)),
        ((0.1, 0.2, 0.7), 10, (1, 2, 7)),
    ],
)
def test_shares(counts: tuple[float, ...], copies: int, expected: tuple[int, ...]) -> None:
    assert Mixed((Linear(),) * len(counts), counts).share(copies) == expected


def test_shares_always_add_up_and_are_exact_where_they_can_be() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        counts = rng.integers(1, 30, size=rng.integers(1, 6))
        mixed = Mixed((Linear(),) * len(counts), tuple(counts.tolist()))
        assert mixed.share(int(counts.sum())) == tuple(counts.tolist())
        copies = int(rng.integers(1, 50))
        shares = mixed.share(copies)
        assert sum(shares) == copies
        assert min(shares) >= 0


def test_saved_and_loaded_it_goes_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(300, 3))
    booster = bb.Booster(
        Mixed((Linear(), Tree(grace=5)), (1, 2)), 6, gradient=bb.gradients.Exact(), space=Interval(-1.0, 1.0)
    )
    for x in X[:200]:
        booster.step(x, lambda y, x=x: 2 * (y - (x[0] > 0.5)))  # type: ignore[misc]
    booster.save(tmp_path / "mixed.bb")
    loaded = bb.Booster.load(tmp_path / "mixed.bb")
    for x in X[200:]:
        tickets = [b.step(x, lambda y, x=x: 2 * (y - (x[0] > 0.5))) for b in (booster, loaded)]  # type: ignore[misc]
        assert tickets[0].path.tobytes() == tickets[1].path.tobytes()


def test_bad_parts_are_named() -> None:
    for parts in ((), (FPL(),), (Linear(), "Tree"), Linear()):
        with pytest.raises(ValueError, match=r"^parts must"):
            Mixed(parts, (1, 1))  # type: ignore[arg-type]
    for counts in ((1,), (1, 2, 3), (1, 0), (1, -2.0), (1, float("nan")), 3):
        with pytest.raises(ValueError, match=r"^counts must"):
            Mixed((Linear(), Tree()), counts)  # type: ignore[arg-type]

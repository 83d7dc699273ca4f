"""Peers with one paid answer: they learn, their comparators are what they say, and those that are missing say what to install."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from banditboost.experiments import paid, paid_peers, paid_vw
from banditboost.experiments.paid_games import Played, Table, Till

needs_vw = pytest.mark.skipif(not paid_vw.installed(), reason="Vowpal Wabbit is not installed")


def late(played: Played) -> float:
    return float(played.paid[len(played.paid) // 2 :].mean())


def test_a_ridge_per_bin_learns_from_its_own_answers() -> None:
    game = Table("letter", rows=3000)
    found = paid_peers.play("greedy", game, (0.03,))
    assert late(found) < 0.85 * late(paid_peers.play("best_constant", game))
    assert found.paid.mean() > found.proposed.mean(), "exploring costs"
    blind = paid_peers.play("greedy", game, (1.0,))
    assert late(blind) > late(found), "ε = 1 never plays what it has learned"


def test_a_bins_ridge_solves_its_normal_equations() -> None:
    rng = np.random.default_rng(0)
    X, answers, bins = rng.normal(size=(60, 4)), rng.normal(size=60), rng.integers(3, size=60)
    ridges = paid_peers.Ridges(3, 4)
    for x, answer, k in zip(X, answers.tolist(), bins.tolist(), strict=True):
        ridges.learn(k, x, answer)
    for k in range(3):
        mine, theirs = X[bins == k], answers[bins == k]
        np.testing.assert_allclose(ridges.weights[k], np.linalg.solve(np.eye(4) + mine.T @ mine, mine.T @ theirs))


@pytest.mark.parametrize(("loss", "average"), [("squared", np.mean), ("absolute", np.median)])
def test_running_comparators_see_earlier_labels_alone(loss: str, average: Callable[..., float]) -> None:
    game = Table("abalone", loss, rows=60)
    labels = game.world().labels()
    actions = np.array([15.0, *(average(labels[:t]) for t in range(1, 60))])
    np.testing.assert_allclose(paid_peers.play("running_mean", game).paid, game.values(actions))
    best = paid_peers.play("best_constant", game).paid.mean()
    assert best <= min(game.values(np.full(60, c)).mean() for c in np.linspace(1, 29, 300))


def test_the_default_as_it_was_pays_much_more_than_it_predicts() -> None:
    found = paid_peers.play("former", Table("abalone", noise=0.1, rows=1000))
    assert late(found) > 3 * found.proposed[500:].mean()
    assert found.proposed[500:].mean() < 0.6 * late(paid_peers.play("best_constant", Table("abalone", rows=1000)))


def test_unknown_peers_are_refused() -> None:
    with pytest.raises(ValueError, match="name must be one of best_constant"):
        paid_peers.play("xgboost", Table())
    with pytest.raises(ValueError, match="peers must be one of cats"):
        paid_peers.wanted_peers("cats,xgboost")


@pytest.mark.parametrize("peer", ["cats", "cbzo", "squarecb"])
def test_a_missing_library_is_named_in_one_sentence(peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    with pytest.raises(ImportError, match=r"Vowpal Wabbit needs the extra 'bench': pip install 'banditboost\[bench\]'"):
        paid_peers.play(peer, Table(rows=10), paid_peers.GRIDS[peer][0])


def test_peers_of_a_missing_library_are_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paid_vw, "installed", lambda: False)
    paid_peers.missing.cache_clear()
    try:
        assert paid_peers.missing() == ("cats", "cbzo", "squarecb")
        assert "Left out: cats. Vowpal Wabbit needs" in paid.notes(("cats", "greedy"))[0]
        assert not any("Vowpal" in note for note in paid.notes(("greedy",)))
    finally:
        paid_peers.missing.cache_clear()


@needs_vw
@pytest.mark.parametrize("peer", ["cats", "cbzo", "squarecb"])
@pytest.mark.parametrize("grid", [paid_peers.GRIDS, paid_peers.QUICK], ids=["full", "quick"])
def test_every_setting_is_accepted_and_stays_in_the_interval(
    peer: str, grid: dict[str, tuple[paid_peers.Setting, ...]]
) -> None:
    game = Table("abalone", "absolute", noise=0.1, rows=60)
    for setting in grid[peer]:
        found = paid_peers.play(peer, game, setting)
        assert found.paid.shape == found.proposed.shape == (60,)
        assert max(found.paid.max(), found.proposed.max()) <= 28.0


@needs_vw
@pytest.mark.parametrize(
    ("peer", "setting"), [("cats", (8.0, 0.5, 0.08)), ("cbzo", (0.01, 0.1)), ("squarecb", (8.0, 100.0))]
)
def test_peers_learn(peer: str, setting: tuple[float, ...]) -> None:
    game = Table("abalone")
    played = paid_peers.play(peer, game, setting)
    quarter = len(played.paid) // 4
    assert played.paid[-quarter:].mean() < 0.85 * played.paid[:quarter].mean()
    np.testing.assert_array_equal(paid_peers.play(peer, game, setting).paid, played.paid)


@needs_vw
def test_sampling_the_density_is_what_cats_itself_does() -> None:
    from vowpalwabbit import LabelType, Workspace

    def itself(game: Table) -> float:
        options = "--cats 8 --min_value 1 --max_value 29 --bandwidth 3.5 --epsilon 0.1 --coin -b 18 --quiet"
        learner, till = Workspace(f"{options} --random_seed {game.seed + 1}"), Till(game)
        for text in paid_vw.texts_of(game):
            action, density = learner.predict(f"| {text}")
            cost = till.charge(action, action)
            example = learner.parse(f"ca {action}:{cost}:{density} | {text}", LabelType.CONTINUOUS)
            learner.learn(example)
            learner.finish_example(example)
        learner.finish()
        return late(till.played())

    games = [Table("abalone", seed=seed) for seed in range(12)]
    theirs = np.array([itself(game) for game in games])
    ours = np.array([late(paid_vw.cats(game, 8, 1.0, 0.1)) for game in games])
    error = np.sqrt((theirs.var(ddof=1) + ours.var(ddof=1)) / len(games))
    assert abs(theirs.mean() - ours.mean()) < 3 * error
    assert error < 0.15 * theirs.mean(), "the comparison says something"

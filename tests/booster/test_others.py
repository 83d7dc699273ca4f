"""Learning from actions that others chose: as from one's own where they are, and without bias by their densities."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import banditboost as bb
from banditboost._compiled import critic
from banditboost.booster import logged
from banditboost.gradients import CAP, Aim, Moment, Remembered, action_laws
from banditboost.gradients import remembered as module

LINE, BOX = bb.spaces.Interval(0.0, 10.0), bb.spaces.Box((0.0, -1.0), (10.0, 1.0))


def loss_of(action: Any, x: Any) -> float:
    """A loss that is least at 5 + 2x in the first coordinate and at the middle of the others."""
    away = np.ravel(action) - np.concatenate([[5.0 + 2.0 * x[0]], np.zeros(np.size(action) - 1)])
    return float(np.square(away).sum())


MAKES: dict[str, Callable[[], bb.Booster]] = {
    "a line": lambda: bb.algorithms.boosted(LINE, answers=1, copies=5),
    "a box": lambda: bb.algorithms.boosted(BOX, answers=1, copies=5),
    "a simplex": lambda: bb.algorithms.boosted(bb.spaces.Simplex(3), answers=1, copies=5),
    "without memory": lambda: bb.algorithms.boosted(LINE, answers=1, copies=5, memory=None),
    "unbiased": lambda: bb.Booster(gradient=Remembered(unbiased=True, curvature=2.0), space=LINE, copies=3),
    "prices": lambda: bb.algorithms.pricing(LINE, copies=5),
}


def play(booster: bb.Booster, rounds: int, seed: int = 0) -> np.random.Generator:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        x = rng.uniform(-1, 1, 2)
        ticket = booster.ask(x)
        booster.tell(ticket, losses=[loss_of(q, x) + rng.normal(0, 0.3) for q in ticket.queries])
    return rng


def check_same(make: Callable[[], bb.Booster], clone: Callable[[bb.Booster], bb.Booster]) -> None:
    """Compare telling with learning from the same action, in copies of one state after one ask, at several times."""
    booster = make()
    for t in range(5):
        rng = play(booster, 25, seed=t)
        x = rng.uniform(-1, 1, 2)
        ticket = booster.ask(x)
        other, value = clone(booster), loss_of(ticket.action, x)
        booster.tell(ticket, losses=[value])
        other.learn(x, ticket.action, loss=value, density=ticket.density[0])
        told, learned = booster.arrays(), other.arrays()
        assert told.keys() == learned.keys()
        for name in told:
            assert np.array_equal(told[name], learned[name], equal_nan=True), f"{name} differs"
        assert booster.rounds == other.rounds


@pytest.mark.parametrize("name", MAKES)
def test_learning_from_the_own_action_is_telling_bit_for_bit(name: str) -> None:
    check_same(MAKES[name], copy.deepcopy)


def test_so_it_is_for_a_booster_from_a_file_whose_ticket_still_waits(tmp_path: Path) -> None:
    def loaded(booster: bb.Booster) -> bb.Booster:
        booster.save(tmp_path / "model.bb")
        return bb.Booster.load(tmp_path / "model.bb")

    check_same(MAKES["a line"], loaded)


def test_steps_from_directions_that_were_drawn_and_not_from_actions_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Remembered.begin

    def unsnapped(self: Remembered, moment: Moment, *rest: Any) -> Any:
        probe = right(self, moment, *rest)
        return probe._replace(directions=probe.directions * (1.0 + 4e-16))

    monkeypatch.setattr(Remembered, "begin", unsnapped)
    with pytest.raises(AssertionError, match="differs"):
        check_same(MAKES["a line"], copy.deepcopy)


def log_of(rows: list[Any]) -> Any:
    """A log in memory, in blocks of 40."""
    x, actions, losses, densities = zip(*rows, strict=True)
    known = None if densities[0] is None else np.array(densities, dtype=float)

    def blocks() -> Any:
        for begin in range(0, len(rows), 40):
            part = slice(begin, begin + 40)
            yield SimpleNamespace(
                contexts=np.array(x, dtype=float)[part],
                actions=np.array(actions, dtype=float).reshape(len(rows), -1)[part],
                losses=np.array(losses)[part],
                densities=None if known is None else known[part],
                row=begin,
            )

    return SimpleNamespace(blocks=blocks)


@pytest.mark.parametrize("name", ["a line", "a box", "prices"])
def test_a_booster_that_reads_the_log_of_its_like_becomes_it(name: str) -> None:
    booster, rng, rows = MAKES[name](), np.random.default_rng(0), []
    for _ in range(130):
        x = rng.uniform(-1, 1, 2)
        ticket = booster.ask(x)
        rows.append((x, ticket.action, loss_of(ticket.action, x) + rng.normal(), float(ticket.density[0])))
        booster.tell(ticket, losses=[rows[-1][2]])
    reader, done = MAKES[name](), list[int]()
    report = reader.learn_from(log_of(rows), progress=done.append)
    assert report[:5] == (130, 0, 0, 0, CAP)
    assert report.effective == pytest.approx(130.0)
    assert done == [40, 80, 120, 130]
    for part, array in booster.arrays().items():
        assert np.array_equal(array, reader.arrays()[part], equal_nan=True), part


@pytest.mark.parametrize("name", ["a line", "a box", "prices"])
def test_rows_without_densities_are_learned_from_as_by_learn_bit_for_bit(name: str) -> None:
    one, other, rng, rows = MAKES[name](), MAKES[name](), np.random.default_rng(0), []
    low, high = np.array(one.spec.space.bounds)
    for t in range(100):
        x, action = rng.uniform(-1, 1, 2), rng.uniform(low, high).reshape(one.spec.space.shape)
        rows.append((x, action, loss_of(action, x) + rng.normal(), np.nan))
        one.learn(x, action, loss=rows[-1][2])
        assert one.rounds == t + 1
    assert other.learn_from(log_of(rows)).rows == 100
    for part, array in one.arrays().items():
        assert np.array_equal(array, other.arrays()[part], equal_nan=True), part


# Weights.


def grid(space: bb.spaces.Space, low: np.ndarray, high: np.ndarray, fine: int) -> tuple[np.ndarray, float]:
    sides = [a + (b - a) * (np.arange(fine) + 0.5) / fine for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, space.size)
    return points, float(np.prod((high - low) / fine))


def weighted(booster: bb.Booster, own: bool) -> np.ndarray:
    """The mean gradient over a grid of actions: drawn from the booster's law, or from one that is nothing like it."""
    space, gradient, memory = booster.spec.space, booster.spec.gradient, booster.gradient_memory
    assert space.bounds is not None
    low, high = space.bounds
    anchors = np.stack([np.asarray(space.inner_centre, dtype=float)] * 2) + 0.1
    moment = Moment(anchors, anchors[-1], None, None)
    points, cell = grid(space, low, high, 400 if space.size == 1 else 40)
    total = np.zeros(anchors.shape)
    law = gradient.foreign(moment, space.inner_centre, 1.0, space, memory).law
    assert law is not None
    for point in points:
        action = point.reshape(space.shape)
        rules = module._rules(gradient, space)
        moves = ((point - np.ravel(moment.prediction)) / space.extents)[np.newaxis]
        here = action_laws.likelihood_of(rules, law, action_laws.directions_within(law, moves), None)
        there = (1.0 + 0.8 * np.cos(point).prod()) / np.prod(high - low)  # positive everywhere
        value = np.array([loss_of(point, [0.0]) + np.sin(point).sum()])
        if here > 0 or not own:
            probe = gradient.foreign(moment, action, here if own else there, space, memory)
            found = gradient.estimate(value, probe, space, memory) if probe.chosen.any() else 0.0
            total += (here if own else there) * cell * found
    return total


@pytest.mark.parametrize("space", [LINE, BOX], ids=["d = 1", "d = 2"])
def test_gradients_by_densities_have_the_mean_of_the_own_law(
    space: bb.spaces.Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CAP", np.inf)
    booster = bb.Booster(gradient=Remembered(curvature=2.0, unbiased=True), space=space, copies=2)
    play(booster, 60)
    np.testing.assert_allclose(weighted(booster, own=False), weighted(booster, own=True), rtol=1e-9, atol=1e-9)


def test_actions_that_count_alike_whatever_their_density_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    booster = bb.Booster(gradient=Remembered(curvature=2.0, unbiased=True), space=LINE, copies=2)
    play(booster, 60)
    right, wanted = Remembered.foreign, weighted(booster, own=True)

    def unweighted(self: Remembered, *arguments: Any) -> Any:
        probe = right(self, *arguments)
        return probe._replace(importance=np.ones(2))

    monkeypatch.setattr(Remembered, "foreign", unweighted)
    assert np.abs(weighted(booster, own=False) - wanted).max() > 1.0


@pytest.mark.parametrize("space", [LINE, bb.spaces.Box((4.0, -1.0), (6.0, 1.0))], ids=["d = 1", "d = 2"])
def test_the_slope_at_an_aim_points_to_the_least_loss_whoever_draws(space: bb.spaces.Space) -> None:
    # With the curvature declared it is twice the way from an anchor to where a quadratic loss is least, on average, while no
    # target is so far away that it is cut off.
    gradient = Remembered(curvature=2.0, unbiased=True)
    memory = gradient.start(2, space)
    aim = Aim(np.ravel(space.inner_centre) + 0.1, 0.1 * space.extents)
    anchors = np.stack([np.asarray(space.inner_centre, dtype=float)] * 2)
    reach = np.sqrt(3.0) * aim.spread  # a grid that has no cell in part within the law
    low, high = aim.mean - 2.0 * reach, aim.mean + 2.0 * reach
    points, cell = grid(space, low, high, 400 if space.size == 1 else 60)
    total, mass = np.zeros(anchors.shape), 0.0
    for point in points:
        density = float(np.prod(2.0 * np.minimum(point - low, high - point) / (0.5 * (high - low)) ** 2 / 2.0))
        probe = gradient.foreign(
            Moment(anchors, anchors[-1], None, None), point.reshape(space.shape), density, space, memory, aim
        )
        mass += density * cell * float(np.asarray(probe.importance)[0])
        if probe.chosen.any():
            value = np.array([loss_of(point, [0.0])])
            total += density * cell * gradient.estimate(value, probe, space, memory)
    least = np.concatenate([[5.0], np.zeros(space.size - 1)])
    wanted = 2.0 * (anchors.reshape(2, -1) - least)
    assert mass == pytest.approx(1.0, rel=1e-9)
    # The variance of the midpoints of n cells is that of the uniform law less 1/n² of it.
    np.testing.assert_allclose(total.reshape(2, -1), wanted, atol=0.01)


def test_weights_are_capped() -> None:
    booster = MAKES["a line"]()
    play(booster, 30)
    moment = Moment(np.full(5, 5.0), np.asarray(5.0), None, None)
    probe = booster.spec.gradient.foreign(moment, np.asarray(5.9), 1e-9, LINE, booster.gradient_memory)
    assert probe.importance is not None
    assert probe.importance[0] == CAP


def test_a_round_that_counts_twice_is_twice_as_much_evidence_of_the_curvature() -> None:
    booster = MAKES["a line"]()
    play(booster, 100)
    gradient, moment = booster.spec.gradient, Moment(np.full(5, 5.0), np.asarray(5.0), None, None)
    added = []
    for weight in (1e-300, 1.0, 2.0):
        memory = {name: array.copy() for name, array in booster.gradient_memory.items()}
        probe = gradient.foreign(moment, np.asarray(5.8), 1.0, LINE, memory)
        gradient.learn(np.array([3.0]), probe._replace(importance=np.array([weight, 1.0])), LINE, memory)
        added.append(memory["bends"][[critic.BENT, critic.TRENDS], 0])
    np.testing.assert_allclose(added[2] - added[0], 2.0 * (added[1] - added[0]), rtol=1e-9)
    assert (added[1] > added[0]).all()


# What is not known, and what is refused.


@pytest.mark.parametrize("answers", [1, 4])
def test_without_a_density_the_critic_alone_learns(answers: int) -> None:
    booster = bb.algorithms.boosted(LINE, answers=answers, copies=5)
    play(booster, 80)
    before = {name: array.copy() for name, array in booster.arrays().items()}
    booster.learn([0.1, 0.2], 9.0, loss=3.0)
    changed = {name for name, array in booster.arrays().items() if not np.array_equal(array, before[name])}
    critics = {"gradient.facts", "gradient.levels", "gradient.bends"}
    measured = {"known", *(f"inner.1.{name}" for name in ("count", "means", "variations", "sizes"))}
    assert critics <= changed <= critics | measured  # features are measured, whoever chose the action
    assert "inner.1.means" in changed
    bent = booster.gradient_memory["bends"]
    for row in (critic.TREND, critic.EDGE, critic.HEAVY):
        assert np.array_equal(bent[row], before["gradient.bends"][row])
    assert booster.rounds == 81


def test_with_several_answers_a_round_copies_learn_from_one_by_its_density() -> None:
    booster = bb.algorithms.boosted(LINE, answers=4, copies=5)
    play(booster, 80)
    before = booster.predict([0.1, 0.2])
    for _ in range(50):
        booster.learn([0.1, 0.2], before + 0.05, loss=5.0, density=10.0)
    assert booster.predict([0.1, 0.2]) != before


def test_rewards_are_minus_losses() -> None:
    digests = set()
    for maximize, worth in ((False, {"loss": 2.0}), (False, {"reward": -2.0}), (True, {"reward": -2.0})):
        booster = bb.algorithms.boosted(LINE, answers=1, copies=5)
        booster.spec = dataclasses.replace(booster.spec, maximize=maximize)
        booster.learn([0.1], 4.0, density=0.1, **worth)
        booster.learn([0.1], 4.0, -2.0 if maximize else 2.0, 0.1)
        digests.add(tuple(array.tobytes() for array in booster.arrays().values()))
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": 11.0}, "action must lie in the space"),
        ({"action": np.nan}, "action must be finite"),
        ({"action": [1.0, 2.0]}, "action must have shape"),
        ({"density": 0.0}, "density must be positive"),
        ({"density": -1.0}, "density must be positive"),
        ({"density": np.nan}, "density must be finite"),
        ({"loss": np.nan}, "loss must be finite"),
        ({"loss": None}, "answers must be given once"),
        ({"reward": 1.0}, "answers must be given once"),
        ({"loss": 1e60}, "loss must lie between"),
        ({"aim": 5.0}, "aim and spread must be given together"),
        ({"aim": 5.0, "spread": 0.0}, "spread must be positive"),
        ({"aim": 5.0, "spread": [1.0, 2.0]}, "spread must be one number or have the shape"),
        ({"aim": 5.0, "spread": [[1.0], 2.0]}, "spread must be numbers in a regular array"),
        ({"x": [1.0, np.inf]}, "x must be finite"),
    ],
)
@pytest.mark.parametrize("rounds", [0, 5])
def test_what_is_wrong_is_said_before_anything_changes(arguments: dict[str, Any], said: str, rounds: int) -> None:
    booster = MAKES["a line"]()
    play(booster, rounds)
    before = booster.digest()
    given: dict[str, Any] = {"x": [0.1, 0.2], "action": 4.0, "loss": 1.0} | arguments
    with pytest.raises(ValueError, match=said):
        booster.learn(given.pop("x"), given.pop("action"), **given)
    assert booster.digest() == before


def test_gradients_that_learn_from_their_own_questions_say_so_and_nothing_begins() -> None:
    for gradient in (bb.gradients.OnePoint(0.2), bb.gradients.Fitted(0.2), bb.gradients.Exact()):
        booster = bb.Booster(gradient=gradient, space=LINE, copies=3)
        with pytest.raises(ValueError, match="gradient must be one that learns from actions that others chose"):
            booster.learn([0.1], 4.0, loss=1.0)
        assert booster.bank is None
    booster = bb.algorithms.boosted(bb.spaces.Simplex(3), answers=1, copies=5)
    with pytest.raises(ValueError, match="aim must be left out where decisions lie in a Simplex"):
        booster.learn([0.1], [0.2, 0.3, 0.5], loss=1.0, aim=[0.2, 0.3, 0.5], spread=0.1)


def test_bands_and_alarms_learn_from_own_rounds_alone() -> None:
    booster = bb.algorithms.boosted(LINE, answers=1, copies=5, bands=True, drifts=True)
    play(booster, 30)
    before = {name: array.copy() for name, array in booster.arrays().items() if name.startswith(("bands", "drifts"))}
    booster.learn([0.1, 0.2], 4.0, loss=50.0, density=0.1)
    assert before
    for name, array in before.items():
        assert np.array_equal(booster.arrays()[name], array, equal_nan=True)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(0.0, 10.0),
            st.floats(-1e6, 1e6),
            st.one_of(st.none(), st.floats(1e-12, 1e12)),
            st.one_of(st.none(), st.tuples(st.floats(-20.0, 20.0), st.floats(1e-6, 10.0))),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_any_action_can_be_learned_from(rows: list[tuple[float, float, float | None, Any]]) -> None:
    booster = MAKES["a line"]()
    play(booster, 25)
    for action, loss, density, about in rows:
        aim, spread = (None, None) if about is None else about
        booster.learn([0.3, -0.4], action, loss=loss, density=density, aim=aim, spread=spread)
        assert LINE.contains(np.asarray(booster.predict([0.1, 0.2])))
    assert all(np.isfinite(array).all() for name, array in booster.arrays().items() if name.startswith("gradient"))


# Logs.


def shop_log(density: float | None = 0.5, rows: int = 400, offset: float = -1.5) -> list[Any]:
    """A policy that is off by a constant, and explores within 1."""
    rng, found = np.random.default_rng(3), []
    for _ in range(rows):
        x = rng.uniform(-1, 1, 2)
        action = 5.0 + 2.0 * x[0] + offset + rng.uniform(-1, 1)
        found.append((x, action, loss_of(action, x) + rng.normal(0, 0.1), density))
    return found


def test_a_log_from_far_away_moves_predictions_to_where_losses_are_least() -> None:
    booster = bb.algorithms.boosted(LINE, answers=1)
    report = booster.learn_from(log_of(shop_log(rows=1200)))
    assert report.rows == 1200
    assert report.aimed > 1000
    assert report.effective > 1000
    xs = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    errors = booster.predict_many(xs) - 5.0 - 2.0 * xs[:, 0]
    assert abs(errors.mean()) < 0.75  # the log's own are off by 1.5
    assert "of them taught the weak learners" in str(report)


def test_a_log_without_densities_teaches_the_critic_alone() -> None:
    booster = MAKES["a line"]()
    report = booster.learn_from(log_of(shop_log(density=None)))
    assert report == logged.Learned(400, 400, 0, 0, CAP, 0.0)
    assert booster.predict([0.5, 0.0]) == MAKES["a line"]().predict([0.5, 0.0])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (0, [np.nan, 0.0], "context must be finite"),
        (1, 10.5, "action must lie in the space"),
        (1, np.nan, "action must be finite"),
        (2, np.inf, "loss must be finite"),
        (2, np.nan, "loss must be finite"),
        (3, 0.0, "density must be positive"),
        (3, -0.5, "density must be positive"),
        (3, np.inf, "density must be positive"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_learned(column: int, value: Any, said: str) -> None:
    rows: list[Any] = [list(row) for row in shop_log(rows=100)]
    rows[77][column] = value
    booster = MAKES["a line"]()
    play(booster, 5)
    before = booster.digest()
    with pytest.raises(ValueError, match=rf"^{said}.*in row 78\.$"):
        booster.learn_from(log_of(rows))
    assert booster.digest() == before


def test_contexts_of_another_length_are_refused() -> None:
    booster = MAKES["a line"]()
    booster.ask([0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="log must have contexts of 3 features, got 2 from row 1 on"):
        booster.learn_from(log_of(shop_log(rows=10)))


def test_an_aim_has_no_part_in_its_own_action(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, seen = shop_log(rows=300), []
    at, add = logged.Aims.at, logged.Aims.add

    def noted(what: str, x: Any) -> Any:
        seen.append((what, x[0]))
        return x

    monkeypatch.setattr(logged.Aims, "at", lambda self, x: at(self, noted("at", x)))
    monkeypatch.setattr(logged.Aims, "add", lambda self, x, a: add(self, noted("add", x), a))
    MAKES["a line"]().learn_from(log_of(rows))
    for x, *_ in rows[50:]:
        calls = [what for what, first in seen if first == x[0]]
        assert calls in (["at", "add"], ["add"])
    assert sum(what == "at" for what, _ in seen) > 100


def test_aims_are_where_actions_are_in_the_mean() -> None:
    aims = logged.Aims(2, 1)
    for x, action, *_ in shop_log(rows=300):
        aims.add(x, np.array([action]))
    found = aims.at(np.array([0.5, 0.0]))
    assert found is not None
    np.testing.assert_allclose(found.mean, 4.5, atol=0.2)
    np.testing.assert_allclose(found.spread, 1 / np.sqrt(3), rtol=0.1)


def test_a_policy_without_exploration_has_no_aim_to_learn_about() -> None:
    aims = logged.Aims(2, 1)
    for x, *_ in shop_log(rows=200):
        aims.add(x, np.array([5.0 + x[0]]))
    assert aims.at(np.array([0.5, 0.0])) is None


def test_rows_that_teach_the_critic_alone_do_not_narrow_exploration(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a log without densities copies know nothing, and actions are as far from predictions as in early rounds."""
    from banditboost._compiled.critic import ROUNDS
    from banditboost.gradients import remembered

    def after(rows: int) -> tuple[float, float]:
        booster, rng, far = bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=1), np.random.default_rng(0), []
        for x in rng.uniform(0, 1, (rows, 1)):
            price = rng.uniform(2, 8)
            booster.learn(x, price, (price - 4.0 - x[0]) ** 2)
        counted = float(booster.gradient_memory["facts"][ROUNDS])
        for x in rng.uniform(0, 1, (200, 1)):
            ticket = booster.ask(x)
            far.append(abs(float(ticket.action) - float(ticket.prediction)))
            booster.tell(ticket, losses=[(float(ticket.action) - 4.0 - x[0]) ** 2])
        return counted, float(np.mean(far[100:]))

    counted, far = after(600)
    assert counted == remembered.SETTLED
    monkeypatch.setattr(remembered, "SETTLED", 1e9)
    counted, near = after(600)
    assert counted == 600
    assert near < far


def sold(rng: np.random.Generator, rows: int) -> tuple[Any, Any, Any]:
    """Customers, prices that follow no context, and what was earned."""
    x = rng.uniform(0, 1, (rows, 1))
    price = np.clip(rng.normal(12, 2, rows), 5, 20)
    return x, price, np.where(rng.random(rows) < 1 / (1 + np.exp((price - 10 - 6 * x[:, 0]) / 1.5)), price, 0.0)


def test_a_log_without_densities_moves_nothing_and_says_so() -> None:
    x, price, earned = sold(np.random.default_rng(0), 1500)
    space = bb.spaces.Interval(5.0, 20.0)
    booster = bb.algorithms.boosted(space, answers=1)
    learned = booster.learn_from(bb.Log.from_arrays(x, price, -earned))
    assert "none of them moved what is recommended" in str(learned)
    assert float(booster.predict([0.5])) == 12.5
    drawn = np.exp(-0.5 * ((price - 12) / 2) ** 2) / (2 * np.sqrt(2 * np.pi))
    taught = bb.algorithms.boosted(space, answers=1)
    assert "taught the weak learners" in str(taught.learn_from(bb.Log.from_arrays(x, price, -earned, densities=drawn)))
    assert float(taught.predict([0.5])) != 12.5


def test_pricing_learns_from_a_log_without_densities() -> None:
    x, price, earned = sold(np.random.default_rng(0), 3000)
    booster = bb.algorithms.pricing(bb.spaces.Interval(5.0, 20.0))
    booster.learn_from(bb.Log.from_arrays(x, price, -earned))
    low, high = (float(booster.predict([customer])) for customer in (0.0, 1.0))
    assert high - low > 1.5  # what earns most: about 8.9 and 13.5

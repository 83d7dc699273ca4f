"""Gradients from a critic: the law of actions, the gradients, what is learned and when, files, limits and journals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import model_file
from banditboost.critics import Critic, Sales
from banditboost.explore import Explore
from banditboost.gradients import FromCritic, Probe
from banditboost.interop.growing import stretched

SPACE = bb.spaces.Interval(2.0, 12.0)
Limits = tuple[float, float] | None


def make(gradient: FromCritic | None = None, **changes: Any) -> bb.Booster:
    return bb.Booster(
        learner=bb.learners.SecondOrder(),
        copies=3,
        chain=bb.chains.Additive(),
        gradient=FromCritic() if gradient is None else gradient,
        space=SPACE,
        **changes,
    )


def sell(
    booster: bb.Booster, rounds: int = 60, seed: int = 0, limited: bool = False, late: bool = False
) -> list[bytes]:
    """Sell to customers who pay up to about 7, some within limits; return what was shown, to the bit."""
    rng, shown = np.random.default_rng(seed), []
    for t in range(rounds):
        x, worth, ends = rng.uniform(-1, 1, 2), 7.0 + rng.logistic(), np.sort(rng.uniform(2, 12, 2))
        limits = None if not limited or t % 3 == 1 else (ends[0], ends[t % 3 and 1])
        ticket = booster.ask(x, space=limits)
        shown += [ticket.queries.tobytes(), np.asarray(ticket.prediction).tobytes(), ticket.density.tobytes()]
        if not late or t % 5:
            booster.tell(ticket, rewards=np.where(ticket.queries <= worth, ticket.queries, 0.0))
    return shown


def critic_of(booster: bb.Booster) -> dict[str, Any]:
    return {name[7:]: array for name, array in booster.gradient_memory.items() if name.startswith("critic.")}


def law_is_right(booster: bb.Booster, limits: Limits = None) -> None:
    """The action is uniform on what the half-width and the limits leave, and the density is that of this law."""
    x = np.array([0.3, -0.4])
    critic, memory = booster.spec.gradient.critic, critic_of(booster)  # type: ignore[attr-defined]
    low, high = limits or (SPACE.low, SPACE.high)
    p = min(max(float(booster.predict(x)), low), high)
    doubt = critic.uncertainty(memory, x, bb.spaces.Interval(low, high))
    floor = 2 * critic.scale(memory, x) * (booster.rounds + 1) ** -0.25
    width = max(math.sqrt(3) * doubt, floor)
    a, b = max(p - width, low), min(p + width, high)
    tickets = [booster.ask(x, space=limits) for _ in range(400)]
    actions = np.sort([float(ticket.action) for ticket in tickets])
    assert a <= actions[0], "an action lies outside its law"
    assert actions[-1] <= b, "an action lies outside its law"
    steps = np.arange(401) / 400
    away = np.abs((actions - a) / (b - a) - steps[:-1]).max()
    assert away < 1.95 / 20, "actions are not uniform"  # Kolmogorov's distance, at one in a thousand
    assert tickets[0].density.tolist() == pytest.approx([1 / (b - a)]), "a density is wrong"


@dataclass(frozen=True)
class Projecting(FromCritic):
    """Broken: actions that leave the limits are moved to their ends."""

    def begin(self, moment: Any, space: Any, streams: Any, memory: Any) -> Probe:
        wide = super().begin(moment._replace(limits=None), space, streams, memory)
        if moment.limits is None:
            return wide
        return wide._replace(queries=np.clip(wide.queries, moment.limits.low, moment.limits.high))


@pytest.mark.parametrize("rounds", [0, 5, 200])
@pytest.mark.parametrize("limits", [None, (2.0, 5.5), (6.0, 6.5), (8.0, 12.0)])
def test_the_law(rounds: int, limits: Limits) -> None:
    booster = make(features=2)
    sell(booster, rounds)
    law_is_right(booster, limits)


def test_a_law_that_is_projected_is_caught() -> None:
    booster = make(Projecting())
    sell(booster, 20)
    law_is_right(booster)
    with pytest.raises(AssertionError, match=r"actions are not uniform|a density is wrong|outside its law"):
        law_is_right(booster, (6.0, 6.5))


def test_explore_has_the_last_word() -> None:
    for explore, least, most in (
        (Explore(most=0.25), 0.2, 0.25),
        (Explore(least=3.0), 2.5, 3.0),
        (Explore(most=0.0), 0.0, 0.0),
    ):
        booster = make(FromCritic(explore=explore))
        sell(booster, 300)
        tickets = [booster.ask([0.1, 0.2]) for _ in range(100)]
        away = np.array([abs(float(ticket.action - ticket.prediction)) for ticket in tickets])
        assert least <= away.max() <= most


def pulls_towards_the_peak(booster: bb.Booster, limits: Limits = None) -> None:
    x, spec = np.array([0.5, -0.2]), booster.spec
    ticket = booster.ask(x, space=limits)
    gradient, before = spec.gradient, booster.digest()
    found = gradient.estimate(np.array([-3.0]), ticket.probe, spec.space, booster.gradient_memory)
    assert booster.digest() == before, "estimating changes the memory"
    z = Sales().best(critic_of(booster), x, SPACE)
    assert np.allclose(found, 2 * (ticket.path[:-1] - z), 1e-12, 1e-12), "gradients do not point to the peak"


@dataclass(frozen=True)
class Hasty(FromCritic):
    """Broken: the critic learns while gradients are made, so that they know this round's answer."""

    def estimate(self, answers: Any, probe: Any, space: Any, memory: Any) -> Any:
        self.learn(answers, probe, space, memory)
        return super().estimate(answers, probe, space, memory)


@pytest.mark.parametrize("limits", [None, (9.0, 11.0)])
def test_gradients(limits: Limits) -> None:
    booster = make()
    sell(booster, 100)
    pulls_towards_the_peak(booster, limits)


def test_a_critic_that_knows_the_answer_is_caught() -> None:
    booster = make(Hasty())
    sell(booster, 100)
    with pytest.raises(AssertionError, match="changes the memory"):
        pulls_towards_the_peak(booster)


def test_where_limits_leave_one_point_only_the_critic_learns() -> None:
    booster = make()
    sell(booster, 50)
    ticket = booster.ask([0.1, 0.2], space=(5.0, 5.0))
    assert (float(ticket.action), float(ticket.prediction), ticket.density.tolist()) == (5.0, 5.0, [0.0])
    arrays = {name: array.copy() for name, array in booster.arrays().items()}
    gradients = booster.spec.gradient.estimate(np.array([-5.0]), ticket.probe, SPACE, booster.gradient_memory)
    assert not gradients.any()
    before = booster.predict([0.1, 0.2])
    booster.tell(ticket, rewards=[5.0])
    changed = {name for name, array in booster.arrays().items() if not np.array_equal(array, arrays[name])}
    assert {"gradient.critic.weights", "gradient.critic.covariance", "gradient.facts"} <= changed
    assert booster.predict([0.1, 0.2]) == pytest.approx(before, rel=1e-12)


def test_actions_and_predictions_keep_to_limits() -> None:
    booster, rng = make(), np.random.default_rng(3)
    for t in range(300):
        low, high = np.sort(rng.uniform(2, 12, 2))
        ticket = booster.ask(rng.uniform(-1, 1, 2), space=(low, high))
        assert low <= ticket.action <= high
        assert low <= ticket.prediction <= high
        booster.tell(ticket, rewards=[float(ticket.action) * (t % 2)])


@pytest.mark.parametrize("cut", [0, 1, 40])
@pytest.mark.parametrize("learner", [bb.learners.SecondOrder(), bb.learners.OGD(0.1)], ids=["contexts", "none"])
def test_saved_loaded_and_continued(tmp_path: Path, cut: int, learner: bb.learners.Learner) -> None:
    booster = bb.Booster(learner, 2, bb.chains.ConvexHull(), FromCritic(), SPACE)
    known, rng = learner.contextual, np.random.default_rng(0)
    contexts = rng.uniform(-1, 1, (80, 2))
    for t in range(cut):
        booster.step(contexts[t] if known else None, lambda queries: -queries)
    flying = booster.ask(contexts[0] if known else None)
    flying.save(tmp_path / "ticket.bb")
    booster.save(tmp_path / "model.bb")
    again = bb.Booster.load(tmp_path / "model.bb")
    assert again.digest() == booster.digest()
    booster.tell(flying, [-1.0])
    again.tell(bb.Ticket.load(tmp_path / "ticket.bb"), [-1.0])
    for t in range(cut, 80):
        tickets = [each.step(contexts[t] if known else None, lambda queries: -queries) for each in (booster, again)]
        assert tickets[0].queries.tobytes() == tickets[1].queries.tobytes()
    assert again.digest() == booster.digest()


def test_a_booster_that_has_not_begun_is_saved_too(tmp_path: Path) -> None:
    make().save(tmp_path / "model.bb")
    again, fresh = bb.Booster.load(tmp_path / "model.bb"), make()
    assert sell(again) == sell(fresh)


def test_a_file_that_asks_for_too_much_is_refused(tmp_path: Path) -> None:
    """Products of many features make a square matrix that no memory holds: it is counted before it is made."""
    booster = make(FromCritic(Sales(products_up_to=10)))
    booster.ask(np.zeros(10))
    held = sum(array.size for name, array in booster.gradient_memory.items())
    assert held == booster.spec.gradient.n_floats_with(10)
    booster.save(tmp_path / "model.bb")
    header, arrays = model_file.read(tmp_path / "model.bb")
    header["features"], header["spec"]["gradient"]["critic"]["products_up_to"] = 1000, 1000
    model_file.write(tmp_path / "model.bb", header, arrays)
    with pytest.raises(ValueError, match="is damaged: its spec asks for"):
        bb.Booster.load(tmp_path / "model.bb")


def changed(path: Path, name: str, change: Callable[[Any], Any]) -> bb.Ticket:
    """A ticket in whose file one part of the probe is another."""
    header, arrays = model_file.read(path)
    parts, named = header["ticket"]["probe"], dict(arrays)
    k = Probe._fields.index(name)
    new = change(np.array(named[str(parts[k])]))
    parts[k] = None if new is None else len(named)
    if new is not None:
        named[str(len(named))] = new
    model_file.write(path, header, named)
    return bb.Ticket.load(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("law", lambda law: law[:3]),
        ("law", lambda law: None),
        ("context", lambda context: None),
        ("queries", lambda queries: np.concatenate([queries, queries])),
    ],
)
def test_damaged_tickets_are_refused(tmp_path: Path, name: str, change: Callable[[Any], Any]) -> None:
    booster = make()
    sell(booster, 3)
    ticket = booster.ask([0.1, 0.2])
    ticket.save(tmp_path / "ticket.bb")
    before = booster.digest()
    with pytest.raises(ValueError, match=r"ticket must|is damaged|losses must"):
        booster.tell(changed(tmp_path / "ticket.bb", name, change), losses=[-1.0])
    assert booster.digest() == before
    booster.tell(ticket, losses=[-1.0])


@pytest.mark.parametrize("snapshot_every", [7, 10_000])
def test_a_journal_is_replayed_bit_for_bit(tmp_path: Path, snapshot_every: int) -> None:
    plain, booster = make(maximize=True), make(maximize=True)
    sell(plain, limited=True, late=True)
    with bb.Journal(tmp_path / "run.journal", booster, snapshot_every=snapshot_every):
        sell(booster, limited=True, late=True)
    assert booster.digest() == plain.digest()
    again = bb.Journal.replay(tmp_path / "run.journal").booster
    assert again.digest() == booster.digest()
    assert sell(again, seed=1) == sell(plain, seed=1)


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="space must be an Interval of prices, none of them negative"):
        bb.Booster(gradient=FromCritic(), space=bb.spaces.Interval(-1, 1))
    with pytest.raises(ValueError, match="space must be an Interval of prices"):
        bb.Booster(gradient=FromCritic(), space=bb.spaces.Box((0.0, 0.0), (1.0, 1.0)))
    with pytest.raises(ValueError, match="critic must be a Critic"):
        FromCritic(critic=Explore())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="explore must be an Explore"):
        FromCritic(explore=2.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="explore must leave rim out"):
        FromCritic(explore=Explore(rim=2.0))
    with pytest.raises(ValueError, match="least must be one number or 1"):
        bb.Booster(gradient=FromCritic(explore=Explore(least=(1.0, 2.0))), space=SPACE)
    with pytest.raises(ValueError, match="contexts are not shown"):
        FromCritic().probe(np.zeros(2), SPACE, {})


def test_more_features_need_another_critic() -> None:
    booster = make()
    sell(booster, 3)
    assert stretched(booster, 5) is None


def test_it_says_why_it_is_not_compiled() -> None:
    shop = bb.worlds.Shop(customers=20)
    booster = bb.algorithms.pricing(shop.space, copies=2)
    assert not bb.evaluate.progressive(booster, shop).compiled
    with pytest.raises(ValueError, match="the critic Sales learns in Python, round by round"):
        bb.evaluate.progressive(bb.algorithms.pricing(shop.space, copies=2), shop, compiled=True)


def test_a_critic_must_do_all() -> None:
    assert Critic.__abstractmethods__ == {
        "n_floats",
        "start",
        "curve",
        "slope",
        "best",
        "uncertainty",
        "scale",
        "learn",
    }
    assert issubclass(Sales, Critic)

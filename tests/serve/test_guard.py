"""Guards of the service: who plays is in the journal, a crash changes nothing, and a fall-back is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.serve.kept import Kept
from banditboost.serve.problems import Problem
from tests.serve.common import RECIPE, SHOP, Running, crash, kept, running

X = [0.3, 1.0]
GUARD: dict[str, Any] = {"baseline": 9.5, "share": 0.3, "bounds": [0, 3], "after": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "shop"


def play(one: Kept, rounds: int, worse: float, seed: int = 0) -> list[str]:
    """Rounds in which the booster loses more than the baseline, or less; who played them."""
    rng, played = np.random.default_rng(seed), []
    for _ in range(rounds):
        ticket = one.ask([rng.uniform(0, 1, 2).tolist()])[0]
        played.append(ticket["policy"])
        one.tell(ticket["ticket"], {"losses": float(rng.random()) + (ticket["policy"] == "booster") * worse})
    return played


def told(one: Kept) -> Any:
    """All that is known of the guard; what is added up without a comparison is left out."""
    return one.guard_status(), one.ledger.watch.history.to_plain(), one.ledger.watch.latest, one.booster.digest()


def test_rounds_are_given_to_the_baseline_by_chance_and_a_crash_changes_nothing(folder: Path) -> None:
    one = kept(folder, guard=GUARD)
    played = play(one, 120, 0.0)
    assert 20 < played.count("baseline") < 55
    for how in ("crash", "close"):
        before = told(one)
        crash(one) if how == "crash" else one.close()
        one = kept(folder)
        assert told(one) == before
    again = kept(folder.parent / "again", guard=GUARD)
    for part in range(4):  # the same with crashes in between: coins depend on the number of a round alone
        assert play(again, 30, 0.0, seed=part) == played[30 * part : 30 * part + 30]
        crash(again)
        again = kept(folder.parent / "again")


def test_a_baseline_round_plays_the_baseline_and_is_learned_from(folder: Path) -> None:
    one = kept(folder, guard=GUARD | {"share": 0.5})
    tickets = one.ask([X] * 12)
    assert {ticket["policy"] for ticket in tickets} == {"booster", "baseline"}
    for ticket in tickets:
        fixed = ticket["policy"] == "baseline"
        assert (ticket["action"] == 9.5, "density" not in ticket) == (fixed, fixed)
    digest, number = one.booster.digest(), next(t["ticket"] for t in tickets if t["policy"] == "baseline")
    one.tell(number, {"losses": 2.0})
    assert (one.booster.rounds, one.booster.digest() != digest) == (1, True)
    assert one.tell(number, {"losses": 2.0}) == "repeated"
    limited = [t["action"] for t in one.ask([X] * 12, [11.0, 12.0]) if t["policy"] == "baseline"]
    assert set(limited) == {11.0}  # the limits of a request hold for the baseline, too
    keyed = one.ask([X] * 12, None, "key")
    crash(one)
    assert kept(folder).ask([X] * 12, None, "key") == keyed


def test_a_worse_booster_is_left_with_an_event_and_an_admin_lets_it_play_again(folder: Path) -> None:
    one = kept(folder, guard=GUARD)
    played = play(one, 600, 1.5)
    status = one.guard_status()
    assert (status["state"], status["interval"][0] > 0) == ("fallen back", True)
    assert played[-50:] == ["baseline"] * 50
    (event,) = status["events"]
    assert (event["event"], "at least" in event["text"], event["round"] < 600) == ("fall-back", True, True)
    before = told(one)
    crash(one)
    one = kept(folder)
    assert told(one) == before
    assert one.set_state("on", "key1")["state"] == "on"
    assert set(play(one, 40, 0.0)) == {"booster", "baseline"}
    assert one.set_state("fallen back")["state"] == "fallen back"
    one.remove_guard()
    assert "policy" not in one.ask([X])[0]
    crash(one)
    one = kept(folder)
    said = [(event["event"], event.get("by")) for event in one.events()]
    assert said == [("fall-back", None), ("resumed", "key1"), ("fall-back", None), ("guard removed", None)]
    with pytest.raises(Problem, match="no guard"):
        one.guard_status()


def test_rewards_are_bounded_as_rewards(folder: Path) -> None:
    recipe = RECIPE | {"algorithm": "boosted", "memory": None, "maximize": True}
    one = kept(folder, recipe, guard=GUARD | {"bounds": [-1, 10]})
    for _ in range(20):
        ticket = one.ask([X])[0]
        one.tell(ticket["ticket"], {"rewards": 9.0})
    status = one.guard_status()
    assert (status["bounds"], status["losses_beyond_bounds"]) == ([-1, 10], 0)
    assert one.ledger.watch.guard is not None
    assert one.ledger.watch.guard.bounds == (-10, 1)


def test_a_line_and_a_frozen_model_are_baselines(folder: Path) -> None:
    one = kept(folder)
    rng = np.random.default_rng(0)
    for x in rng.uniform(0, 1, (60, 2)):
        ticket = one.ask([x.tolist()])[0]
        one.tell(ticket["ticket"], {"losses": (ticket["action"] - 5.0) ** 2})
    one.snapshot("")
    frozen = one.predict([X])[0]
    one.set_guard({"baseline": {"offset": 2.0, "weights": [10.0, 1.0]}, "share": 0.5})
    assert {t["action"] for t in one.ask([X] * 12) if t["policy"] == "baseline"} == {6.0}
    one.set_guard({"baseline": {"snapshot": 1}, "share": 0.5})
    play(one, 50, 0.0)
    for _ in range(2):
        actions = {t["action"] for t in one.ask([X] * 12) if t["policy"] == "baseline"}
        assert actions == {frozen}
        assert len(list(folder.glob("baseline-*.bb"))) == 1
        assert one.predict([X])[0] != frozen
        crash(one)
        one = kept(folder)
    one.remove_guard()
    assert not list(folder.glob("baseline*"))


def test_a_context_that_a_line_does_not_fit_changes_nothing(folder: Path) -> None:
    one = kept(folder, guard={"baseline": {"offset": 2.0, "weights": [1.0, 2.0]}, "share": 0.99})
    digest = one.booster.digest()
    with pytest.raises(ValueError, match="2 features"):
        one.ask([[1.0]])
    assert one.booster.digest() == digest


def test_a_roll_back_keeps_the_guard_and_begins_to_compare_anew(folder: Path) -> None:
    one = kept(folder, guard=GUARD)
    one.snapshot("")
    play(one, 30, 0.0)
    one.set_state("fallen back")
    one.roll_back(1)
    for _ in range(2):
        status = one.guard_status()
        assert (status["state"], status["rounds"], status["period"]) == (
            "fallen back",
            {"booster": 0, "baseline": 0},
            2,
        )
        assert [event["event"] for event in one.events()] == ["fall-back", "rolled back"]
        crash(one)
        one = kept(folder)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"share": 0.5}, "baseline must be given"),
        ({"baseline": 10**400}, "baseline must lie between"),
        ({"baseline": {"offset": 8, "weights": [10**400]}}, "baseline.weights must lie between"),
        ({"baseline": 99}, "must lie in the space"),
        ({"baseline": [1, 2]}, "baseline"),
        ({"baseline": "cheap"}, "baseline"),
        ({"baseline": {"slope": 1}}, "offset and weights"),
        ({"baseline": {"offset": 1, "weights": [[1], [2]]}}, "1 rows"),
        ({"baseline": {"snapshot": 1}}, "no snapshots yet"),
        ({"baseline": {"snapshot": 1, "digest": "../../other"}}, "offset and weights"),
        ({"baseline": 5, "share": 2}, "share must"),
        ({"baseline": 5, "bounds": [3, 1]}, "bounds must"),
    ],
)
def test_a_guard_that_makes_no_sense_is_one_sentence(folder: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Kept.create(folder, RECIPE, {"guard": given})
    assert not folder.exists()


def test_a_booster_that_keeps_to_no_limits_has_no_guard(folder: Path) -> None:
    recipe = {"algorithm": "bandit-boosting", "space": RECIPE["space"], "copies": 2}
    with pytest.raises(ValueError, match="cannot keep to limits"):
        Kept.create(folder, recipe, {"guard": {"baseline": 5}})


def test_alarms_are_events(folder: Path) -> None:
    detector = {"kind": "drifts.Detector", "every": 100.0, "window": 60, "burn_in": 50}
    one = kept(folder, RECIPE | {"algorithm": "boosted", "memory": None, "drifts": detector})
    rng = np.random.default_rng(0)
    for t in range(200):
        one.tell(one.ask([X])[0]["ticket"], {"losses": float(rng.random()) + 50.0 * (t > 150)})
    (event,) = one.events()
    assert (event["event"], "The world changed about round" in event["text"]) == ("drift", True)
    assert one.numbers()["drift_alarms"] == 1
    crash(one)
    assert kept(folder).events() == [event]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("service") / "data") as one:
        yield one


def test_over_the_wire_and_by_the_client(service: Running) -> None:
    assert service.call("PUT", SHOP, {"recipe": RECIPE, "guard": GUARD})[0] == 201
    assert service.call("PUT", SHOP, {"recipe": RECIPE, "guard": GUARD})[0] == 200
    assert service.call("PUT", SHOP, {"recipe": RECIPE})[0] == 409
    with bb.Client(service.url) as client:
        shop = client.booster("shop")
        tickets = [shop.ask(X) for _ in range(20)]
        for ticket in tickets:
            shop.tell(ticket, 1.0)
        assert {ticket.policy for ticket in tickets} == {"booster", "baseline"}
        assert sum(shop.guard()["rounds"].values()) == 20
        assert shop.fall_back()["state"] == "fallen back"
        assert shop.ask(X).action == 9.5
        assert shop.resume()["state"] == "on"
        assert shop.guard(baseline=4.0, share=0.9)["asymptotic"]
        assert [event["event"] for event in shop.events()] == ["fall-back", "resumed", "guard set"]
        other = client.create("other", "streaming", bb.spaces.Interval(0, 20), answers=1, guard={"baseline": 1.0})
        assert other.guard()["baseline"] == 1.0
    text = service.http.get("/metrics").text
    for line in (
        'fallen_back{booster="shop"} 0.0',
        'regret_against_baseline{booster="shop"}',
        'difference_low{booster="shop"} NaN',
    ):
        assert f"banditboost_{line}" in text
    assert service.call("POST", f"{SHOP}/guard", {"state": "asleep"})[0] == 422
    assert service.call("PUT", f"{SHOP}/guard", {"baseline": {"snapshot": 7}})[0] == 404
    assert service.call("DELETE", f"{SHOP}/guard")[0] == 200
    assert service.call("GET", f"{SHOP}/guard")[0] == 404

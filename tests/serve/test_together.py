"""Guards, names, logs, erasure and roll-backs of one booster, all at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import banditboost as bb
from banditboost.serve.kept import Kept
from tests.serve.common import RECIPE, SHOP, crash, kept, running

BOX = bb.spaces.Box((0.0, 0.0), (20.0, 0.5))
NAMED: dict[str, Any] = {
    "algorithm": "boosted",
    "space": {"kind": "Box", "low": [0, 0], "high": [20, 0.5]},
    "answers": 1,
    "encoder": True,
    "decision": ["price", "discount"],
}
BASELINE = {"discount": 0.1, "price": 9.5}
GUARD: dict[str, Any] = {"baseline": BASELINE, "share": 0.5, "after": 0}


def who(k: int) -> dict[str, Any]:
    return {"city": ["Rome", "Bonn", "Oslo"][k % 3], "age": 20 + k % 40}


def test_a_baseline_by_name_plays_by_name_and_is_shown_by_name(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as service, bb.Client(service.url) as client:
        service.create(recipe=NAMED, guard=GUARD)
        assert service.call("PUT", SHOP, {"recipe": NAMED, "guard": GUARD})[0] == 200
        for k in range(20):
            answer = service.call("POST", f"{SHOP}/ask", {"context": who(k)})[1]
            assert list(answer["action"]) == ["price", "discount"]
            assert (answer["action"] == BASELINE) == (answer["policy"] == "baseline")
            service.call("POST", f"{SHOP}/tell", {"ticket": answer["ticket"], "losses": 1.0})
        assert service.call("GET", f"{SHOP}/guard")[1]["baseline"] == BASELINE
        with service.http.stream("GET", "/v1/live") as lines:
            shown = json.loads(next(line for line in lines.iter_lines() if line).removeprefix("data: "))["booster"]
        assert (shown["decision"], shown["guard"]["baseline"]) == (["price", "discount"], BASELINE)
        assert [9.5, 0.1] in [one["action"] for one in shown["latest"] if one["policy"] == "baseline"]
        shop = client.booster("shop")
        assert shop.guard(baseline={"price": 3, "discount": 0.2})["baseline"] == {"price": 3, "discount": 0.2}
    with running(data) as service:
        assert service.call("GET", f"{SHOP}/guard")[1]["baseline"] == {"price": 3, "discount": 0.2}


@pytest.mark.parametrize(
    ("recipe", "baseline", "said"),
    [
        (NAMED, {"price": 9.5}, "exactly the names of the decision: price, discount"),
        (NAMED, {"price": 9.5, "discount": 7}, "must lie in the space"),
        (NAMED, {"price": "much", "discount": 0.1}, "baseline"),
        (NAMED, {"offset": BASELINE, "weights": {"price": [1.0], "discount": [0.0]}}, "where contexts have names"),
        (RECIPE, {"price": 9.5}, "offset and weights"),
    ],
)
def test_a_baseline_that_does_not_fit_names_is_one_sentence(
    tmp_path: Path, recipe: dict[str, Any], baseline: Any, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        Kept.create(tmp_path / "b", recipe, {"guard": {"baseline": baseline}})
    one = kept(tmp_path / "c", recipe)
    with pytest.raises(ValueError, match=said):
        one.set_guard({"baseline": baseline})
    assert one.events() == []


def test_a_line_may_name_decisions_and_must_fit_the_features_that_there_are(tmp_path: Path) -> None:
    recipe = {name: value for name, value in NAMED.items() if name != "encoder"}
    one = kept(tmp_path / "b", recipe)
    one.ask([[0.5, 1.0, 2.0]])
    line = {"offset": {"price": 8, "discount": 0.1}, "weights": {"discount": [0, 0, 0.1], "price": [2, 0, 0]}}
    assert one.set_guard({"baseline": line, "share": 0.9})["baseline"]["offset"] == line["offset"]
    (found,) = {json.dumps(t["action"]) for t in one.ask([[0.5, 1.0, 2.0]] * 9) if t["policy"] == "baseline"}
    assert json.loads(found) == pytest.approx({"price": 9.0, "discount": 0.3})
    with pytest.raises(ValueError, match="must be 3"):
        one.set_guard({"baseline": {"offset": [8, 0.1], "weights": [[1], [1]]}})


def test_no_context_gets_in_that_a_line_will_not_fit_later(tmp_path: Path) -> None:
    one = kept(tmp_path / "b", guard={"baseline": {"offset": 2.0, "weights": [1.0, 2.0]}, "share": 0.01})
    with pytest.raises(ValueError, match="2 features"):
        one.ask([[1.0]])
    assert one.booster._asked == 0


def test_names_of_decisions_that_are_words_of_baselines(tmp_path: Path) -> None:
    one = kept(tmp_path / "b", NAMED | {"decision": ["offset", "weights"]})
    one.set_guard({"baseline": {"offset": 9.5, "weights": 0.1}, "share": 0.99})
    crash(one)
    again = Kept(tmp_path / "b")
    assert again.guard_status()["baseline"] == {"offset": 9.5, "weights": 0.1}
    assert {"offset": 9.5, "weights": 0.1} in [t["action"] for t in again.ask([who(1)] * 9)]

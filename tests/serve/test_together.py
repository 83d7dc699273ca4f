"""Guards, names, logs, erasure and roll-backs of one booster, all at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.sparse_row import SparseRow
from banditboost.serve import export
from banditboost.serve.archive import Archive
from banditboost.serve.export import Contents
from banditboost.serve.kept import Kept
from banditboost.serve.problems import Problem
from banditboost.serve.rounds import NOBODY, Round, block_of, rounds_of
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


def test_the_log_of_a_guarded_booster_is_read_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banditboost.serve.kept.ROUNDS_A_PART", 8)
    with running(tmp_path / "data") as service, bb.Client(service.url) as client:
        service.create(recipe=NAMED, guard=GUARD)
        shop, sides = client.booster("shop"), list[str]()
        for k in range(30):
            ticket = shop.ask(who(k))
            sides.append(ticket.policy or "")
            shop.tell(ticket, losses=[1.0])
        log = shop.log(tmp_path / "log.parquet")
        read = bb.Log.read(
            tmp_path / "log.parquet", action=["price", "discount"], density="density", ticket="ticket", time="time"
        )
        for one in (log, read):
            one.check(BOX)
            (block,) = one.blocks()
            assert block.densities is not None
            assert np.isnan(block.densities).tolist() == [side == "baseline" for side in sides]
            assert {tuple(action) for action in block.actions[np.isnan(block.densities)]} == {(9.5, 0.1)}


PERSON: dict[str, Any] = {"city": "Quedlinburg", "size": 0.7312345678912}
"""A context with traces that a search can find."""


def traces(folder: Path) -> set[str]:
    """The files in which something of the person is found."""
    wanted = (b"Quedlinburg", np.float64(PERSON["size"]).tobytes(), np.float32(PERSON["size"]).tobytes(), b"0.73123456")
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name for path in files for one in wanted if one in path.read_bytes()}


def test_a_booster_with_more_names_than_columns_of_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banditboost.serve.kept.ROUNDS_A_PART", 120)
    recipe = {name: value for name, value in NAMED.items() if name != "decision"}
    folder = tmp_path / "b"
    one = kept(folder, recipe, guard={"baseline": [9.5, 0.1], "share": 0.3})
    for k in range(330):
        own = k in (5, 280, 310)
        x = PERSON if own else {"city": f"city {k}", "size": 0.01 * (k % 90)}
        (ticket,) = one.ask([x], subject="ida" if own else "x")
        one.tell(ticket["ticket"], {"losses": 1.0 + 0.01 * k})
        if one.due():
            one.tidy()
        if k == 300:
            one.snapshot("wide")
            one.set_guard({"baseline": {"snapshot": 1}, "share": 0.3})
    one.learn({"context": PERSON, "action": [3.0, 0.2], "loss": 1.0, "density": 0.05, "subject": "ida"})
    one.ask([PERSON], subject="ida")
    one.ask([{"city": "city 9"}], subject="x")
    assert isinstance(one.journal.tickets[332].context, SparseRow)
    assert isinstance(one.ledger.noted.rounds[-1].context, SparseRow)
    one.flush()
    assert {"booster.journal", "1.journal"} < traces(tmp_path)
    before = one.booster.digest()
    assert bb.Journal.replay(folder / "booster.journal").booster.digest() == before
    crash(one)
    one = Kept(folder)
    assert one.booster.digest() == before
    file, _ = export.parquet(one.contents())
    (tmp_path / "log.parquet").write_bytes(file.read())
    file.close()
    log = bb.Log.read(tmp_path / "log.parquet", action=["action0", "action1"], density="density", ticket="ticket")
    log.check(BOX)
    assert (log.rows, log.features > 256) == (331, True)
    (tmp_path / "log.parquet").unlink()
    assert one.erase(["ida"])["rounds"] == 4
    assert traces(tmp_path) == set()
    one.tell("0-332", {"losses": 1.0})
    one.flush()
    after = one.booster.digest()
    assert bb.Journal.replay(folder / "booster.journal").booster.digest() == after
    for _ in range(2):
        one.close()
        one = Kept(folder)
        assert one.booster.digest() == after
    one.roll_back(1)
    assert {t["policy"] for t in one.ask([{"city": "city 7"}] * 12)} == {"booster", "baseline"}
    assert sum(len(block.numbers) for block in one.contents().blocks()) == 301 - 2
    assert traces(tmp_path) == set()


def test_rounds_of_very_many_columns_take_little_room(tmp_path: Path) -> None:
    row = SparseRow(np.array([3, 200_000]), np.array([1.0, 0.5]), 2**18)
    made = [
        Round(k, k, 0.0, NOBODY, row if k % 2 else np.array([0.5, 0.25]), np.ones((1, 2)), np.ones(1), np.ones(1))
        for k in range(1, 1001)
    ]
    block = block_of([*made, made[0]._replace(number=1001, context=None)])
    assert sum(part.nbytes for part in block) < 200_000
    archive = Archive(tmp_path)
    archive.add(1, 1001, block)
    (again,) = archive.blocks()
    taken = rounds_of(again.take(np.arange(1001) >= 997))
    assert [None if one.context is None else SparseRow.of(one.context).indices.tolist() for one in taken] == [
        [0, 1],
        [3, 200_000],
        [0, 1],
        None,
    ]
    assert again.rows(2**18).shape == (1001, 2**18)
    with pytest.raises(ValueError, match="not one of so many columns"):
        rounds_of(block._replace(places=block.places + 2**18))
    with pytest.raises(Problem, match="at most 4096 columns"):
        export.parquet(Contents(lambda: iter([block]), tmp_path, (), ()))

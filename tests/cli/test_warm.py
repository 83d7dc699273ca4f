"""Models of `banditboost warm` know what the columns of their contexts are called, and all commands find these by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import banditboost as bb
from tests.cli.shell import Shell, lines

OPTIONS = ("--action", "price", "--loss", "cost", "--density", "p")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng, n = np.random.default_rng(0), 200
    age, distance, price = rng.integers(18, 80, n), rng.uniform(0, 20, n), rng.uniform(0, 10, n)
    cost = (price - age / 10) ** 2
    path = tmp_path / "log.csv"
    path.write_text(lines("age,distance,price,p,cost", zip(age, distance, price, np.full(n, 0.1), cost, strict=True)))
    return path


@pytest.fixture
def model(log: Path, shell: Shell, tmp_path: Path) -> Path:
    path = tmp_path / "warm.bb"
    assert shell("warm", log, *OPTIONS, "--space", "0,10", "--save", path).code == 0
    return path


def test_contexts_come_by_name_in_any_order(model: Path) -> None:
    booster, fields = bb.Booster.load(model), {"distance": 2.0, "id": 7, "age": 30}
    wanted = booster.predict([30.0, 2.0])
    for x in (fields, pd.Series(fields), pd.DataFrame([fields]), pl.DataFrame([fields])):
        assert booster.predict(x) == wanted
    for table in (pd.DataFrame([fields]), pl.DataFrame([fields])):
        assert booster.predict_many(table).tolist() == [wanted]
    ticket = booster.ask(fields)
    assert ticket.context is not None
    assert ticket.context.tolist() == [30.0, 2.0]
    with pytest.raises(ValueError, match="under each of the names age, distance, got none under 'distance'"):
        booster.ask({"age": 30})
    with pytest.raises(ValueError, match="must have the columns age, distance, got none named 'distance'"):
        booster.predict_many(pl.DataFrame({"age": [30.0], "size": [1.0]}))


def test_names_in_a_file_that_do_not_fit_are_not_used(model: Path) -> None:
    booster = bb.Booster.load(model)
    for names in (["age"], "age", [1, 2], None):
        booster.extra["context"] = names
        assert booster.predict(pd.Series({"distance": 30.0, "age": 2.0})) == booster.predict([30.0, 2.0])
        with pytest.raises(ValueError, match="must be numbers here"):
            booster.predict({"age": 30.0, "distance": 2.0})


def test_predict_finds_columns_by_name(model: Path, shell: Shell, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("distance,note,age\n2,a,30\n5,b,41\n")
    wanted = bb.Booster.load(model).predict_many([[30.0, 2.0], [41.0, 5.0]]).tolist()
    assert shell("predict", model, new, "--json", "-").results["predictions"] == wanted
    assert shell("predict", model, new).out.splitlines() == ["prediction", *map(str, wanted)]
    assert shell("predict", model, new, "--output", tmp_path / "out.csv").code == 0
    assert pl.read_csv(tmp_path / "out.csv")["prediction"].to_list() == pytest.approx(wanted)
    assert "probabilities must be left out" in shell("predict", model, new, "--probabilities").sentence
    new.write_text("distance,note\n2,a\n")
    assert "got none named 'age'" in shell("predict", model, new).sentence
    new.write_text("distance,age\nfar,30\n")
    assert "column 'distance' must hold numbers, got 'far' in row 1" in shell("predict", model, new).sentence


def test_one_column_and_decisions_with_several_numbers(log: Path, shell: Shell, tmp_path: Path) -> None:
    path, new = tmp_path / "one.bb", tmp_path / "new.csv"
    options = ("--action", "price,distance", "--loss", "cost", "--context", "age", "--space", "0,10,0,20")
    assert shell("warm", log, *options, "--save", path).code == 0
    new.write_text("age\n30\n")
    found = shell("predict", path, new, "--json", "-").results["predictions"]
    assert list(found) == ["price", "distance"]
    assert [found["price"][0], found["distance"][0]] == bb.Booster.load(path).predict({"age": 30}).tolist()
    assert "decision: price, distance" in shell("explain", path).out


def test_explain_shows_names(model: Path, shell: Shell) -> None:
    said = shell("explain", model).out
    assert "context: age, distance\ndecision: price\nanswers are: losses\n" in said
    assert " age  " in said
    assert "x0" not in said


def test_evaluate_takes_the_columns_of_the_model(log: Path, model: Path, shell: Shell) -> None:
    wide = log.with_name("wide.csv")
    wide.write_text("".join(f"1,{line}\n" for line in log.read_text().splitlines()).replace("1,age", "visits,age", 1))
    assert "Context: age, distance.\n" in shell("evaluate", wide, *OPTIONS, "--policy", model).out
    given = shell("evaluate", wide, *OPTIONS, "--policy", model, "--context", "distance,age")
    assert "context must have the order of" in given.sentence
    assert "age,distance, got distance,age" in given.sentence


def test_a_model_without_names_says_what_to_do(shell: Shell, tmp_path: Path) -> None:
    path, new = tmp_path / "plain.bb", tmp_path / "new.csv"
    bb.algorithms.boosted(bb.spaces.Interval(0, 1)).save(path)
    new.write_text("x\n1\n")
    assert "does not know the names of columns: in Python" in shell("predict", path, new).sentence


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A log of prices: what was earned, whether there was a sale, and what was left of it after a cost of 2."""
    rng, n = np.random.default_rng(0), 300
    age = rng.integers(18, 80, n)
    price = 5 + age / 20 + rng.uniform(-1, 1, n)
    sold = rng.random(n) < 1 / (1 + np.exp(price - 8))
    path = tmp_path / "shop.csv"
    rows = zip(age, price, price * sold, sold * 1, (price - 2) * sold, strict=True)
    path.write_text(lines("age,price,earned,sold,margin", rows))
    return path


PRICING = ("--action", "price", "--context", "age", "--space", "0,20", "--algorithm", "pricing")


def test_pricing_learns_from_prices_and_what_they_earned(shop: Path, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "pricing.bb"
    said = shell("warm", shop, *PRICING, "--reward", "earned", "--save", path)
    assert "part of a sale" not in said.out
    booster = bb.Booster.load(path)
    same = bb.algorithms.pricing(bb.spaces.Interval(0, 20))
    same.learn_from(bb.Log.read(shop, action="price", reward="earned", context="age"))
    assert booster.spec == same.spec
    assert booster.predict({"age": 40}) == same.predict([40])
    assert "gradient: FromCritic" in shell("explain", path).out
    evaluated = ("evaluate", shop, "--action", "price", "--reward", "earned", "--policy", path, "--estimator", "direct")
    assert "exploring must be left out for" in shell(*evaluated, "--exploring").sentence
    assert shell(*evaluated).code == 0
    parts = shell("warm", shop, *PRICING, "--reward", "margin", "--save", path).out
    assert "rewards are neither 0 nor the price" in parts


def test_pricing_says_which_columns_it_needs(shop: Path, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "pricing.bb"
    refused = {
        ("--reward", "sold"): "must be what was earned, the price for a sale and 0 for none, got 1 for each of 5 sales",
        ("--loss", "earned"): "reward must be given with --algorithm pricing: the column of what was earned",
        ("--reward", "earned", "--answers", "3"): "answers must be left out with --algorithm pricing",
        ("--reward", "earned", "--algorithm", "auction"): "algorithm must be one of boosted, pricing; got 'auction'",
    }
    for options, sentence in refused.items():
        assert sentence in shell("warm", shop, *PRICING, *options, "--save", path).sentence
    assert not path.exists()


def test_warm_says_what_it_recommends_and_nobody_has_tried(shell: Shell, tmp_path: Path) -> None:
    """Costs fall up to a price of 25, and the log has prices of 6.4 to 18: what lies beyond is a guess, and `warm` says so."""
    rng, n = np.random.default_rng(0), 600
    age, price = rng.uniform(0, 1, n), np.append(rng.uniform(6.4, 18, n - 2), [6.4001, 17.9999])
    log, model = tmp_path / "far.csv", tmp_path / "far.bb"
    rows = zip(age, price, np.full(n, 1 / 11.6), (price - 25) ** 2 / 100, strict=True)
    log.write_text(lines("age,price,p,cost", rows))
    found = shell("warm", log, *OPTIONS, "--space", "0,30", "--save", model, "--json", "-").results
    low, high = found["recommended"]["price"]
    assert found["tried"]["price"] == [6.4001, 17.9999]
    assert found["outside"] > 0.5
    assert high > 18
    said = shell("warm", log, *OPTIONS, "--space", "0,30", "--save", model).out
    assert f"it recommends price between {low:.4g} and {high:.4g}; the log's actions lie between 6.4 and 18: " in said
    assert f"{found['outside']:.1%} of its recommendations lie outside of what was ever tried" in said
    assert "Nobody has seen what happens there: --space 6.4,18 narrows the decisions." in said
    said = shell("warm", log, *OPTIONS, "--space", "6.4,18", "--save", model).out
    assert "none of its recommendations lies outside of what was ever tried.\n" in said
    assert "Nobody" not in said


def test_a_column_that_is_the_result_is_not_taken_in_silence(shop: Path, shell: Shell, tmp_path: Path) -> None:
    rows = [line.split(",") for line in shop.read_text().splitlines()]
    shop.write_text("".join(",".join([*row[:4], *rest]) + "\n" for row, rest in zip(rows, _members(rows), strict=True)))
    worth, model = ("--action", "price", "--reward", "earned"), tmp_path / "shop.bb"
    said = (
        "Warning: the column sold of the context is 1 exactly where the reward is above 0, and so a result that nobody knows when "
        "deciding: --context age,member leaves it out."
    )
    assert said in shell("warm", shop, *worth, "--space", "0,20", "--save", model).out
    policy = ("--estimator", "direct", "--policy", "7")
    assert said in shell("evaluate", shop, *worth, *policy).out
    assert "Warning" not in shell("evaluate", shop, *worth, *policy, "--context", "age,member").out
    both = shell("evaluate", shop, "--action", "age", "--loss", "earned", "--context", "sold", *policy)
    assert "Warning" not in both.out  # whoever names columns knows them


def _members(rows: list[list[str]]) -> list[list[str]]:
    """A column of 0 and 1 that is known when deciding."""
    return [["member"], *([str(i % 2)] for i in range(len(rows) - 1))]


def test_recommendations_are_compared_by_coordinate(log: Path, shell: Shell, tmp_path: Path) -> None:
    options = ("--action", "price,distance", "--loss", "cost", "--context", "age", "--space", "0,10,0,900")
    said = shell("warm", log, *options, "--save", tmp_path / "two.bb").out
    assert "it recommends price at 5 and distance at 450; the log's actions lie price between " in said
    assert "100.0% of its recommendations lie outside" in said
    wanted = shell("warm", log, *options, "--save", tmp_path / "two.bb", "--json", "-").results
    assert list(wanted["tried"]) == ["price", "distance"]
    bounds = said.split("--space ")[1].split()[0]
    assert shell("warm", log, *options[:-1], bounds, "--save", tmp_path / "two.bb").code == 0

"""`banditboost run clicks.vw`: files of examples in the shell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from banditboost import datasets, spaces
from banditboost.booster import Booster
from tests.cli.shell import Shell, write

WORTH = np.random.default_rng(5).normal(size=20)


def words(rng: np.random.Generator) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], float]:
    chosen = rng.choice(20, size=4, replace=False)
    return chosen, float(WORTH[chosen].sum() + 0.05 * rng.normal())


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    rng, lines = np.random.default_rng(0), []
    for t in range(500):
        chosen, y = words(rng)
        lines.append(f"{y:.3f} 'row{t}|words {' '.join(f'w{k}' for k in chosen)} |user age:{rng.integers(20, 60)}")
    return write(tmp_path / "clicks.vw", "\n".join(lines) + "\n")


def test_a_run_learns_saves_and_predicts(shell: Shell, clicks: Path, tmp_path: Path) -> None:
    model, log = tmp_path / "model.bb", tmp_path / "log.csv"
    found = shell("run", clicks, "--copies", 6, "--answers", 3, "--save", model, "--log", log, "--json", "-").results
    assert (found["target"], found["features"], found["rows"], found["compiled"]) == ("label", 21, 500, True)
    assert found["last_half_loss"] < 0.3 * found["comparators"]["running mean of labels"]["last_half_loss"]
    assert found["columns"][1]["what"].startswith("21 indices, 0 of them shared")
    assert pl.read_csv(log).height == 500
    again = shell("predict", model, clicks, "--json", "-").results
    booster = Booster.load(model)
    made = datasets.prepare_examples(clicks)
    np.testing.assert_allclose(again["predictions"], booster.predict_many(made.X))
    assert again["mean_loss"] < found["mean_loss"]
    new = write(tmp_path / "new.vw", "|words w1 never |other x:3\n|words w1\n")
    predicted = shell("predict", model, new, "--json", "-").results
    assert predicted["predictions"][0] == predicted["predictions"][1]
    assert "mean_loss" not in predicted
    shown = shell("explain", model)
    assert shown.code == 0
    assert "words^w" in shown.out


def test_classes_and_svmlight(shell: Shell, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = []
    for _ in range(300):
        chosen, y = words(rng)
        lines.append(f"{1 if y > 0 else -1} " + " ".join(f"{k + 1}:1" for k in sorted(chosen)))
    file, model = write(tmp_path / "a.svm", "\n".join(lines)), tmp_path / "model.bb"
    found = shell(
        "run", file, "--task", "classes", "--copies", 6, "--save", model, "--report", tmp_path, "--json", "-"
    ).results
    assert found["classes"] == ["-1", "1"]
    assert found["last_half_accuracy"] > 0.7
    frame = shell("predict", model, file, "--probabilities")
    assert frame.out.splitlines()[0] == "prediction,probability of -1,probability of 1"
    assert shell("run", file, "--copies", 4, "--bits", 10, "--quiet").code == 0


def test_thousands_of_words_are_learned_from(shell: Shell, tmp_path: Path) -> None:
    """Words beyond the 512 that come most often decide labels: copies of sparse contexts take them, others say what they leave."""
    rng, lines = np.random.default_rng(2), []
    for _ in range(4000):
        rare, often = rng.integers(1000, size=2), rng.integers(600, size=8)
        y = (rare % 2 * 2 - 1).sum() / 2 + 0.1 * rng.normal()
        lines.append(f"{y:.3f} |often {' '.join(f'o{k}' for k in often)} |rare {' '.join(f'r{k}' for k in rare)}")
    file, model, short = tmp_path / "wide.vw", tmp_path / "model.bb", ("--copies", 6, "--answers", 2)
    write(file, "\n".join(lines) + "\n")
    options = (*short, "--save", model, "--report", tmp_path, "--json", "-")
    found = shell("run", file, *options).results
    assert found["features"] > 1500
    assert found["last_half_loss"] < 0.7 * found["comparators"]["running mean of labels"]["last_half_loss"]
    assert "What mattered" in (tmp_path / "run.html").read_text()
    assert "rare^r" in shell("explain", model, "--top", 5).out
    again = shell("predict", model, file, "--json", "-").results
    assert again["mean_loss"] < found["last_half_loss"]
    few = shell("run", file, *short, "--learner", "coin", "--json", "-").results
    assert few["features"] == 512
    assert "the 512 that occur in the most examples are used" in few["columns"][1]["what"]


def test_what_does_not_fit_is_said_in_a_sentence(shell: Shell, clicks: Path, tmp_path: Path) -> None:
    assert "target must be left out" in shell("run", clicks, "--target", "price").sentence
    table = write(tmp_path / "table.csv", "a,y\n1,2\n2,3\n3,4\n")
    assert "target must be given: the column to predict" in shell("run", table).sentence
    bad = write(tmp_path / "bad.vw", "1 |a b\n\nx |a b\n")
    assert "Line 3 of" in shell("run", bad).sentence
    model, other = tmp_path / "model.bb", tmp_path / "other.bb"
    assert shell("run", clicks, "--copies", 2, "--save", model, "--quiet").code == 0
    assert shell("run", table, "--target", "y", "--copies", 2, "--save", other, "--quiet").code == 0
    assert "must be in the format" in shell("predict", model, table).sentence
    assert "must be a table with columns" in shell("predict", other, clicks).sentence


def test_a_booster_with_names_is_explained_by_them(shell: Shell, tmp_path: Path) -> None:
    booster = Booster(copies=2, space=spaces.Interval(-1, 1), encoder=True)
    for t in range(30):
        booster.step({"city": ("Rom", "Oslo")[t % 2], "age": t}, lambda queries: queries**2)
    booster.save(tmp_path / "model.bb")
    shown = shell("explain", tmp_path / "model.bb")
    assert shown.code == 0
    assert "city=Rom" in shown.out

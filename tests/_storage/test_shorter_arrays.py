"""Model files from before the critic of a gradient from memory had more entries: they load, predict as then, and learn on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import model_file
from banditboost.learners.forgetting import ForgettingBank

HERE = Path(__file__).parent / "shorter"
PREDICTED = {1: (0.5756120233101264, 0.3880201602044874), 2: (0.5702616121796764, 0.30318828409408083)}
"""What the version that wrote the files predicted for their first contexts."""


def contexts() -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (80, 2))


@pytest.mark.parametrize("answers", [1, 2])
def test_a_file_with_shorter_arrays_predicts_as_then_and_learns_on(answers: int) -> None:
    booster = bb.Booster.load(HERE / f"remembered_{answers}_answers.bb")
    assert booster.rounds == 80
    X = contexts()
    np.testing.assert_allclose([float(booster.predict(x)) for x in X[:2]], PREDICTED[answers], rtol=1e-12)
    for _ in range(5):
        for x in X:
            ticket = booster.ask(x)
            booster.tell(ticket, (ticket.queries - 0.5 - 0.3 * x[0]) ** 2)
    assert np.mean([(float(booster.predict(x)) - 0.5 - 0.3 * x[0]) ** 2 for x in X]) < 0.002  # a constant has 0.03


@pytest.mark.parametrize("length", [1, 12, 14, 40])
def test_arrays_of_any_other_length_are_refused(length: int, tmp_path: Path) -> None:
    header, arrays = model_file.read(HERE / "remembered_2_answers.bb")
    broken = arrays | {"gradient.facts": np.zeros(length)}
    model_file.write(tmp_path / "broken.bb", header, broken)
    with pytest.raises(ValueError, match=r"its array 'gradient.facts' is missing or does not fit its spec"):
        bb.Booster.load(tmp_path / "broken.bb")


def test_a_line_that_forgets_predicts_as_before_it_knew_its_usual_error_and_learns_on() -> None:
    booster, rng, losses = bb.Booster.load(HERE / "forgetting.bb"), np.random.default_rng(1), []
    assert float(booster.predict([0.2, 0.5, 0.8])) == pytest.approx(0.18048918877760523, rel=1e-12)
    for x in rng.random((200, 3)):
        ticket = booster.ask(x)
        booster.tell(ticket, (ticket.queries - x[0]) ** 2 + rng.uniform(-0.01, 0.01, 2))
        losses.append(float(ticket.prediction - x[0]) ** 2)
    assert isinstance(booster.bank, ForgettingBank)
    assert float(booster.bank.fresh[3]) > 0.0
    assert np.mean(losses) < 0.01  # a constant has 0.08

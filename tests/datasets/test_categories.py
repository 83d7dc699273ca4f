"""Which features are indicators of one column of words is known of every table that the library encodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost.cli import setting as settings
from banditboost.cli.run import ready
from banditboost.datasets import prepare_own


def test_features_of_a_category_are_named_after_one_column() -> None:
    data = bb.datasets.load("abalone")
    assert [data.feature_names[begin:end] for begin, end in data.categories] == [("Sex=F", "Sex=I", "Sex=M")]
    assert data.scaled("minmax").categories == data.categories
    assert data.scaled("standard").categories == (), "indicators are no longer zero"


@pytest.mark.parametrize("sparse", [False, True])
def test_the_eight_categories_of_adult(sparse: bool) -> None:
    if not bb.datasets.available("adult"):
        pytest.skip("adult is not here")
    data = bb.datasets.load("adult", sparse=sparse)
    inside = np.zeros(len(data.feature_names), dtype=bool)
    for begin, end in data.categories:
        inside[begin:end] = True
        assert len({name.partition("=")[0] for name in data.feature_names[begin:end]}) == 1
        assert data.X[:, begin:end].sum(axis=1).max() == 1.0
    assert len(data.categories) == 8
    assert inside.tolist() == ["=" in name for name in data.feature_names]


def own(folder: Path) -> Path:
    """A file with two columns of words, of which one lacks some."""
    rng = np.random.default_rng(0)
    words, few = rng.choice(["a", "b", "c"], 60), rng.choice(["x", "y", ""], 60)
    rows = [f"{w},{i},{f},{i % 7}" for i, (w, f) in enumerate(zip(words, few, strict=True))]
    (folder / "own.csv").write_text("\n".join(["word,size,few,price", *rows]) + "\n")
    return folder / "own.csv"


def test_a_users_own_words_are_categories(tmp_path: Path) -> None:
    encoding = prepare_own(own(tmp_path), "price").encoding
    assert encoding.features == ("word=a", "word=b", "word=c", "size", "few=x", "few=y", "few is missing")
    assert encoding.categories == ((0, 3), (4, 7))


def test_forests_in_the_shell_know_categories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "named", lambda learner, space, **_: bb.algorithms.boosted(space, memory=2**20))
    _, world, booster = ready(own(tmp_path), "price", "auto", settings.Setting(), False)
    known = bb.algorithms.boosted(booster.spec.space, memory=2**20, categories=((0, 3), (4, 7)))
    assert booster.spec == known.spec
    bb.evaluate.progressive(booster, world)

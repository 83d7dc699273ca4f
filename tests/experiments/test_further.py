"""Tables inside wheels: each is read where its distribution is installed, or names the one that is missing; no column leaks."""

from __future__ import annotations

import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from banditboost.experiments import further
from banditboost.experiments.further import FURTHER, HELD_OUT, ORDERED, SMALL, Further, read, tables

SHAPES = {
    "diamonds": (53940, 26),
    "magic": (19020, 10),
    "airfare": (4596, 5),
    "fertility": (4361, 16),
    "phishing": (1250, 9),
    "digits": (1797, 64),
    "grades": (4137, 10),
    "assets": (9275, 8),
    "homes": (7986, 51),
    "spam": (4597, 57),
    "pens": (10992, 16),
    "surfaces": (2310, 13),
    "diabetes": (442, 10),
    "chicks": (578, 2),
    "cars": (234, 43),
    "wages": (935, 15),
    "pima": (768, 8),
    "bikes": (8645, 26),
    "approval": (1001, 6),
}


def installed(distribution: str) -> bool:
    """Return whether a distribution is there."""
    try:
        return bool(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return False


@pytest.mark.parametrize("name", tables())
def test_a_table_is_read_or_its_distribution_is_named(name: str) -> None:
    if not installed(tables()[name].distribution):
        with pytest.raises(ImportError, match=rf"{name} lies in {tables()[name].distribution}: pip install"):
            read(name)
        return
    contexts, labels = read(name)
    assert contexts.shape == SHAPES[name]
    assert labels.shape == contexts.shape[:1]
    assert np.isfinite(contexts).all()
    assert (contexts.min(), contexts.max()) == (0.0, 1.0)
    assert labels.std() == pytest.approx(1.0)
    assert leak(contexts, labels) < 0.98


def leak(contexts: np.ndarray, labels: np.ndarray) -> float:
    """Return the largest correlation of the labels with a column, or with the best line in hindsight."""
    varied = contexts[:, contexts.std(axis=0) > 0]
    line = np.column_stack([varied, np.ones(len(labels))])
    fitted = line @ np.linalg.lstsq(line, labels, rcond=1e-10)[0]
    return max(abs(float(np.corrcoef(column, labels)[0, 1])) for column in (*varied.T, fitted))


def test_a_column_that_gives_the_label_away_is_noticed() -> None:
    contexts, labels = read("phishing")
    assert leak(contexts, labels) < 0.98
    assert leak(np.column_stack([contexts, 3 - labels]), labels) > 0.999


def test_tables_that_had_no_part_in_any_choice_are_all_different() -> None:
    sets = (FURTHER, HELD_OUT, SMALL, ORDERED)
    assert [len(found) for found in sets] == [6, 6, 5, 2]
    assert len(tables()) == 19, "no name stands for two tables"
    assert len({(it.distribution, it.file) for it in tables().values()}) == 19, "no file is read under two names"
    assert set(SHAPES) == set(tables())
    assert all(SHAPES[name][0] >= 1500 for name in HELD_OUT)
    assert all(200 <= SHAPES[name][0] <= 1000 for name in SMALL)
    assert len({it.distribution for it in SMALL.values()}) == 5
    assert [further.untuned(name) for name in ("digits", "pens", "wages", "letter")] == [True, True, False, False]


def test_a_table_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FURTHER, "lost", Further("no-such-distribution", "x.csv", "y"))
    with pytest.raises(ImportError, match="lost lies in no-such-distribution"):
        read("lost")
    monkeypatch.setitem(FURTHER, "moved", Further("scikit-learn", "x.csv", "y"))
    with pytest.raises(ImportError, match=r"moved is not in the installed version of scikit-learn: x\.csv is missing"):
        read("moved")
    with pytest.raises(ValueError, match="name must be one of"):
        read("nowhere")


def test_labels_in_a_file_of_their_own_belong_to_their_rows() -> None:
    contexts, labels = read("diabetes")
    ages = np.round(19 + 60 * contexts[:5, 0]).tolist()
    assert ages == [59, 48, 72, 24, 50], "of the first patients"
    first = np.array([151.0, 75.0, 141.0, 206.0, 135.0])
    np.testing.assert_allclose(labels[:5] / labels[0], first / first[0])


def test_rows_without_a_label_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "table.csv"
    file.write_text("a,b,y\n1,u,1\n2,v,NA\n,v,3\n5,u,4\n")
    # An absolute path stays what it is when a distribution locates it.
    monkeypatch.setitem(FURTHER, "some_labels", Further("numpy", str(file), "y"))
    contexts, labels = read("some_labels")
    assert contexts.tolist() == [[0.0, 1.0, 0.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
    np.testing.assert_allclose(labels / labels[0], [1.0, 3.0, 4.0])


def test_an_archive_with_one_file_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "table.csv.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("table.csv", "a,y\n1,2\n")
    assert further._text(file) == "a,y\n1,2\n"


def test_columns_become_numbers() -> None:
    assert further._encoded(("1", "", "3")).ravel().tolist() == [0.0, 0.5, 1.0]
    assert further._encoded(("b", "a", "b")).tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert further._label(("no", "yes", "no")).tolist() == [0.0, 1.0, 0.0]
    assert further._label(("sky", "grass", "path")).tolist() == [2.0, 0.0, 1.0]
    assert further._label(("3", "10", "2")).tolist() == [3.0, 10.0, 2.0], "numbers stay what they are"

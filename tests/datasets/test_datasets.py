"""The data sets have the rows, features and labels that the experiments rely on, wherever they come from."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from banditboost import datasets
from banditboost.datasets import Categorical, Dataset, Numeric, Table, encode
from banditboost.datasets.sources import read_embedded, read_file

FOLDER = os.environ.get("BANDITBOOST_DATA")
needs_folder = pytest.mark.skipif(not FOLDER, reason="BANDITBOOST_DATA names no folder to compare with")

EMBEDDED = ("abalone", "adult", "census", "letter")


@pytest.fixture(autouse=True)
def _only_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BANDITBOOST_DATA", raising=False)


def dense(data: Dataset) -> NDArray[np.floating]:
    assert isinstance(data.X, np.ndarray)
    return data.X


def sparse(data: Dataset) -> csr_array:
    assert isinstance(data.X, csr_array)
    return data.X


def make(X: NDArray[np.float64], *, as_sparse: bool = False) -> Dataset:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    features = csr_array(X) if as_sparse else X
    return Dataset("made", features, np.zeros(len(X)), names, (0.0, 1.0), "regression", "by hand")


# --- counts and labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rows", "features"),
    [("abalone", 4_177, 10), ("adult", 48_842, 105), ("census", 299_285, 401), ("letter", 20_000, 16)],
)
def test_counts_are_the_papers(name: str, rows: int, features: int) -> None:
    data = datasets.load(name, sparse=True, dtype=np.float32)
    info = datasets.describe(name)
    assert data.X.shape == (rows, features) == (info.rows, info.features)
    assert len(set(data.feature_names)) == features
    assert np.isfinite(sparse(data).data).all()
    assert np.isfinite(data.y).all()
    assert data.y.dtype == np.float64
    assert (data.y.min(), data.y.max()) == data.label_range == info.label_range
    assert data.task == info.task
    assert "embedded" in data.source


def test_abalone_labels() -> None:
    y = datasets.load("abalone").y
    assert y.mean() == pytest.approx(9.9337, abs=5e-5)
    assert y.std(ddof=1) == pytest.approx(3.2242, abs=5e-5)


@pytest.mark.parametrize(("name", "high"), [("adult", 11_687), ("census", 18_568)])
def test_income_labels(name: str, high: int) -> None:
    data = datasets.load(name, sparse=True, dtype=np.float32)
    assert np.bincount(data.y.astype(int)).tolist() == [len(data.y) - high, high]


def test_letter_labels() -> None:
    classes = datasets.load("letter", labels="classes")
    assert classes.y.dtype == np.int64
    assert classes.label_range == (0.0, 25.0)
    counts = np.bincount(classes.y)
    assert counts.shape == (26,)
    by_letter = dict(zip(datasets.describe("letter").classes, counts.tolist(), strict=True))
    assert min(counts) == by_letter["H"] == by_letter["Z"] == 734
    assert max(counts) == by_letter["U"] == 813
    signs = datasets.load("letter").y
    assert np.array_equal(signs, np.where(classes.y < 13, -1.0, 1.0))


def test_abalone_first_row_as_published() -> None:
    data = datasets.load("abalone")
    row = dict(zip(data.feature_names, dense(data)[0].tolist(), strict=True))
    assert row == {
        "Sex=F": 0.0,
        "Sex=I": 0.0,
        "Sex=M": 1.0,
        "Length": 0.455,
        "Diameter": 0.365,
        "Height": 0.095,
        "Whole_weight": 0.514,
        "Shucked_weight": 0.2245,
        "Viscera_weight": 0.101,
        "Shell_weight": 0.15,
    }
    assert data.y[0] == 15


def test_census_keeps_number_codes_and_the_level_na() -> None:
    table = read_embedded(datasets.describe("census"))
    numeric = [column.name for column in table.features if isinstance(column, Numeric)]
    assert len(numeric) == 13
    coded = ["detailed industry recode", "detailed occupation recode", "own business or self employed"]
    assert set(coded) | {"veterans benefits", "year", "instance weight"} <= set(numeric)
    (origin,) = [column for column in table.features if column.name == "hispanic origin"]
    assert isinstance(origin, Categorical)
    assert int((origin.codes == origin.levels.index("NA")).sum()) == 1_279
    assert sum("?" in column.levels for column in table.features if isinstance(column, Categorical)) == 8


# --- encoding ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EMBEDDED)
def test_sparse_equals_dense(name: str) -> None:
    full = dense(datasets.load(name, dtype=np.float32))
    thin = sparse(datasets.load(name, dtype=np.float32, sparse=True))
    assert thin.dtype == full.dtype == np.float32
    assert thin.has_canonical_format
    assert thin.nnz == np.count_nonzero(full)
    for start in range(0, len(full), 20_000):
        assert np.array_equal(thin[start : start + 20_000].toarray(), full[start : start + 20_000])


def test_indicators_of_a_string_column_sum_to_one_unless_missing() -> None:
    data = datasets.load("adult")
    for column, missing in (("race", 0), ("workclass", 2_799)):
        at = [j for j, name in enumerate(data.feature_names) if name.startswith(f"{column}=")]
        total = dense(data)[:, at].sum(axis=1)
        assert set(total.tolist()) <= {0.0, 1.0}
        assert int((total == 0).sum()) == missing
    assert not any(name.endswith("=?") for name in data.feature_names)


def test_own_table() -> None:
    columns: dict[str, ArrayLike] = {
        "a": ["x", "?", "y"],
        "code": ["10", "9", "1e1"],
        "b": [True, False, True],
        "y": [1.5, 2.5, 0.0],
    }
    table = Table.from_columns(columns, label="y")
    X, names = encode(table)
    assert names == ("a=x", "a=y", "code", "b")
    assert isinstance(X, np.ndarray)
    assert X.tolist() == [[1, 0, 10, 1], [0, 0, 9, 0], [0, 1, 10, 1]]
    thin, _ = encode(table, sparse=True)
    assert isinstance(thin, csr_array)
    assert np.array_equal(thin.toarray(), X)


@pytest.mark.parametrize("words", [["nan", "1"], ["inf", "1"], ["1_000", "1"], ["", "1"], ["?", "1"]])
def test_words_that_python_reads_as_numbers_stay_words(words: list[str]) -> None:
    (column, _) = Table.from_columns({"a": words, "y": [0, 1]}, label="y").columns
    assert isinstance(column, Categorical)


def test_features_without_rows_or_without_columns() -> None:
    tables: list[dict[str, ArrayLike]] = [{"y": [1.0, 2.0]}, {"a": np.zeros(0), "y": np.zeros(0)}]
    for columns in tables:
        table = Table.from_columns(columns, label="y")
        for thin in (False, True):
            X, names = encode(table, sparse=thin)
            assert X.shape == (len(table), len(names))
            data = Dataset("made", X, np.zeros(len(table)), names, (0.0, 1.0), "regression", "by hand")
            assert data.scaled().X.shape == X.shape


# --- scaling ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["abalone", "adult", "letter"])
def test_minmax_lies_in_the_unit_interval(name: str) -> None:
    data = datasets.load(name)
    scaled = data.scaled()
    X = dense(scaled)
    assert X.min(axis=0).tolist() == [0.0] * X.shape[1]
    assert X.max(axis=0).tolist() == [1.0] * X.shape[1]
    assert scaled.y is data.y
    assert data.scaled("none") is data
    thin = sparse(datasets.load(name, sparse=True).scaled("minmax"))
    assert thin.has_canonical_format
    assert np.array_equal(thin.toarray(), X)


def test_minmax_of_census_stays_sparse() -> None:
    data = datasets.load("census", sparse=True, dtype=np.float32)
    before = sparse(data).data.copy()
    scaled = sparse(data.scaled("minmax"))
    assert np.array_equal(sparse(data).data, before)
    assert scaled.dtype == np.float32
    assert scaled.indices.dtype == scaled.indptr.dtype == np.int32
    assert scaled.data.min() > 0
    assert scaled.max(axis=0).toarray().ravel().tolist() == [1.0] * 401
    assert scaled.nnz <= sparse(data).nnz


def test_minmax_by_hand_with_constants_and_negatives() -> None:
    X = np.array([[7.0, 0.0, -1.0, 2.0, 0.0], [7.0, 0.0, 0.0, 4.0, 5.0], [7.0, 0.0, 3.0, 3.0, 0.0]])
    expected = [[0, 0, 0, 0, 0], [0, 0, 0.25, 1, 1], [0, 0, 1, 0.5, 0]]
    assert dense(make(X).scaled("minmax")).tolist() == expected
    assert sparse(make(X, as_sparse=True).scaled("minmax")).toarray().tolist() == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_standard(dtype: type) -> None:
    rng = np.random.default_rng(0)
    X: NDArray[np.float64] = rng.normal(50.0, 3.0, (20_000, 3)).astype(dtype)
    X[:, 1] = 0.1
    scaled = dense(make(X).scaled("standard"))
    assert scaled.dtype == dtype
    assert not scaled[:, 1].any()
    tolerance = 1e-10 if dtype is np.float64 else 1e-5
    assert scaled.mean(axis=0, dtype=np.float64) == pytest.approx([0.0, 0.0, 0.0], abs=tolerance)
    assert scaled.std(axis=0, dtype=np.float64) == pytest.approx([1.0, 0.0, 1.0], abs=tolerance)


# --- where the rows come from -----------------------------------------------------------------------------


def rows_of(table: Table) -> list[bytes]:
    """Return each row as a digest of all its values, label included, whatever the order of the columns."""
    words = []
    for column in sorted(table.columns, key=lambda column: column.name):
        if isinstance(column, Numeric):
            words.append(column.values.astype(np.float64))
        else:
            # Codes compare only where the levels do; that they are equal is asserted by the caller.
            words.append(column.codes.astype(np.float64))
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in np.column_stack(words)]


@needs_folder
@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_has_the_rows_of_the_folder(name: str) -> None:
    info = datasets.describe(name)
    ours = read_embedded(info)
    theirs = read_file(info, Path(str(FOLDER)) / info.files[0])
    assert {column.name for column in ours.columns} == {column.name for column in theirs.columns}
    levels = [
        {column.name: column.levels for column in table.columns if isinstance(column, Categorical)}
        for table in (ours, theirs)
    ]
    assert levels[0] == levels[1]
    if name in ("abalone", "census"):
        assert rows_of(ours) == rows_of(theirs)
    else:
        assert rows_of(ours) != rows_of(theirs)
        assert sorted(rows_of(ours)) == sorted(rows_of(theirs))


@needs_folder
def test_folder_gives_the_same_features_as_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = datasets.load("abalone")
    theirs = datasets.load("abalone", folder=FOLDER)
    assert "abalone.parquet" in theirs.source
    assert ours.feature_names == theirs.feature_names
    assert np.array_equal(dense(ours), dense(theirs))
    assert np.array_equal(ours.y, theirs.y)
    monkeypatch.setenv("BANDITBOOST_DATA", str(FOLDER))
    assert datasets.load("abalone").source == theirs.source


@needs_folder
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_slice_from_its_first_rows(tmp_path: Path, suffix: str) -> None:
    head = Path(str(FOLDER)) / "slice_head682_PARTIAL.parquet"
    if suffix == "parquet":
        shutil.copy(head, tmp_path / "slice.parquet")
    else:
        polars = pytest.importorskip("polars")
        polars.read_parquet(head).write_csv(tmp_path / "slice_localization_data.csv")
    data = datasets.load("slice", folder=tmp_path)
    assert data.X.shape == (682, 385)
    assert data.feature_names[:2] == ("patientId", "value0")
    assert data.feature_names[-1] == "value383"
    assert data.label_range == (0.0, 1.0)
    assert data.y[0] == pytest.approx((21.803851 - 1.738733) / (97.489115 - 1.738733), rel=1e-12)
    assert 0.0 <= data.y.min() < data.y.max() <= 1.0
    thin = datasets.load("slice", folder=tmp_path, sparse=True)
    assert np.array_equal(sparse(thin.scaled()).toarray(), dense(data.scaled()))


def test_folder_without_the_file_gives_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "embedded" in datasets.load("abalone", folder=tmp_path).source
    monkeypatch.setenv("BANDITBOOST_DATA", str(tmp_path))
    assert "embedded" in datasets.load("abalone").source
    monkeypatch.setenv("BANDITBOOST_DATA", "")
    assert "embedded" in datasets.load("abalone").source


def test_folder_comes_before_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    for part, rings in (("folder", 3), ("variable", 4)):
        (tmp_path / part).mkdir()
        frame = polars.DataFrame({"Sex": ["M"], "Length": [0.5], "Rings": [rings]})
        frame.write_parquet(tmp_path / part / "abalone.parquet")
    monkeypatch.setenv("BANDITBOOST_DATA", str(tmp_path / "variable"))
    assert datasets.load("abalone").y.tolist() == [4.0]
    assert datasets.load("abalone", folder=tmp_path / "folder").y.tolist() == [3.0]


def test_part_of_the_letters_keeps_its_classes(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"lettr": ["Z", "M", "N"], "x-box": [1, 2, 3]})
    frame.write_parquet(tmp_path / "letter.parquet")
    assert datasets.load("letter", folder=tmp_path).y.tolist() == [1.0, -1.0, 1.0]
    assert datasets.load("letter", folder=tmp_path, labels="classes").y.tolist() == [25, 12, 13]


def test_importing_and_loading_needs_no_polars() -> None:
    code = (
        "import sys; sys.modules['polars'] = None; from banditboost import datasets; "
        "print(datasets.load('abalone').X.shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(4177, 10)"


# --- errors are one sentence ------------------------------------------------------------------------------


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"one of abalone, adult, census, letter, slice; got 'x'\.$"):
        datasets.load("x")
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.describe("x")


def test_slice_says_what_is_missing(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        with pytest.raises(FileNotFoundError) as caught:
            datasets.load("slice", folder=folder)
        assert "put slice.parquet or slice_localization_data.csv" in str(caught.value)
        assert "given as `folder` or named by BANDITBOOST_DATA" in str(caught.value)
        assert datasets.describe("slice").url in str(caught.value)


def test_missing_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotADirectoryError, match=r"^folder must be an existing folder, got 'nowhere'\.$"):
        datasets.load("abalone", folder="nowhere")
    monkeypatch.setenv("BANDITBOOST_DATA", "nowhere")
    with pytest.raises(NotADirectoryError, match=r"^BANDITBOOST_DATA must be an existing folder"):
        datasets.load("abalone")


def test_missing_polars_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "abalone.parquet").touch()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"needs polars, which the extra `cli` brings"):
        datasets.load("abalone", folder=tmp_path)


def test_bad_arguments() -> None:
    for dtype in (np.int32, np.float16, "nothing"):
        with pytest.raises(ValueError, match=r"^dtype must be float64 or float32, got "):
            datasets.load("abalone", dtype=dtype)
    with pytest.raises(ValueError, match=r"^labels must be one of"):
        datasets.load("letter", labels="letters")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^labels must be 'paper' for abalone"):
        datasets.load("abalone", labels="classes")
    with pytest.raises(ValueError, match=r"^kind must be one of"):
        make(np.eye(2)).scaled("unit")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^kind must be 'minmax' or 'none' for sparse features"):
        make(np.eye(2), as_sparse=True).scaled("standard")


def test_bad_files(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")

    def load(name: str, **columns: list[object]) -> None:
        polars.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
        datasets.load(name, folder=tmp_path)

    with pytest.raises(ValueError, match=r"must have the label's column 'Rings', got Sex\.$"):
        load("abalone", Sex=["M"])
    with pytest.raises(ValueError, match=r"^column 'Rings' of abalone must lie in \[1, 29\], got \[0, 3\]"):
        load("abalone", Rings=[0, 3])
    with pytest.raises(ValueError, match=r"^column 'Rings' of abalone must hold numbers, got strings\.$"):
        load("abalone", Rings=["many"])
    with pytest.raises(ValueError, match=r"^column 'income' of adult must hold <=50K, >50K; got >50K\.\.$"):
        load("adult", income=["<=50K", ">50K."])
    with pytest.raises(ValueError, match=r"^column 'income' of adult must hold <=50K, >50K; got numbers\.$"):
        load("adult", income=[0, 1])
    with pytest.raises(ValueError, match=r"^column 'Sex' must have no missing values, got 1\.$"):
        load("abalone", Sex=["M", None], Rings=[1, 2])
    with pytest.raises(ValueError, match=r"^values of column 'Length' must be finite, got nan in row 1\.$"):
        load("abalone", Length=[0.5, float("nan")], Rings=[1, 2])


def test_bad_tables() -> None:
    with pytest.raises(ValueError, match=r"^label must name one of the columns a, b; got 'c'"):
        Table.from_columns({"a": [1], "b": [2]}, label="c")
    with pytest.raises(ValueError, match=r"^columns must have one length, got \[1, 2\]"):
        Table.from_columns({"a": [1], "b": [2, 3]}, label="b")
    with pytest.raises(ValueError, match=r"^columns must have distinct names"):
        Table((Numeric("a", np.zeros(1)), Numeric("a", np.zeros(1))), "a")
    with pytest.raises(ValueError, match=r"^column 'a' must be a vector of numbers or of strings"):
        Table.from_columns({"a": np.array([None, "x"]), "y": [0, 1]}, label="y")
    with pytest.raises(ValueError, match=r"^values of column 'a' must be a vector of real numbers"):
        Numeric("a", np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"^codes of column 'a' must be a vector of integers"):
        Categorical("a", np.zeros(2), ("x",))
    with pytest.raises(ValueError, match=r"^codes of column 'a' must lie in 0..1, got 0..2\.$"):
        Categorical("a", np.array([0, 2]), ("x", "y"))
    with pytest.raises(ValueError, match=r"^levels of column 'a' must be distinct"):
        Categorical("a", np.array([0, 1]), ("x", "x"))


def test_bad_datasets() -> None:
    y = np.zeros(2)
    with pytest.raises(ValueError, match=r"^X must have two dimensions"):
        Dataset("made", y, y, (), (0.0, 1.0), "regression", "by hand")
    with pytest.raises(ValueError, match=r"^y must have shape \(3,\) to match X, got \(2,\)"):
        Dataset("made", np.eye(3), y, ("a", "b", "c"), (0.0, 1.0), "regression", "by hand")
    with pytest.raises(ValueError, match=r"^feature_names must have one name for each of the 2 columns"):
        Dataset("made", np.eye(2), y, ("a",), (0.0, 1.0), "regression", "by hand")


# --- the catalogue ----------------------------------------------------------------------------------------


def test_catalogue() -> None:
    assert datasets.names() == datasets.NAMES == (*EMBEDDED, "slice")
    for name in datasets.NAMES:
        info = datasets.describe(name)
        assert info.name == name
        assert info.url.startswith("https://archive.ics.uci.edu/")
        assert info.source
        assert info.licence
        assert (info.distribution is None) == (name == "slice")
        assert len(info.classes) == len(info.class_labels)
        assert bool(info.classes) == (info.task == "classification") == (info.written_range is None)

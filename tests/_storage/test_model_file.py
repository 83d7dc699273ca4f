"""Model files: what was written comes back, and everything else is refused in one sentence."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core import bounded_json, spec
from banditboost._storage import atomic_file, model_file, strict_npz
from banditboost.learners import tree
from banditboost.learners.wrapped import OBJECT
from tests.checks.discovery import Target, boosters, play

HERE = Path(__file__).parent
Members = dict[str, bytes]


def trained() -> bb.Booster:
    """A small booster with arrays of every kind."""
    learner = bb.learners.Mixed(
        (bb.learners.SecondOrder(0.1), bb.learners.Stump(bins=4, grace=2, evidence=0.0)), (1.0, 2.0)
    )
    made = bb.Booster(learner, 3, bb.chains.Span(), bb.gradients.Residual(0.2), bb.spaces.Ball(2, 1.0), seed=7)
    rng = np.random.default_rng(1)
    for x in rng.normal(size=(30, 2)):
        made.step(x, lambda queries, x=x: np.square(queries - 0.3 * x).sum(axis=1))  # type: ignore[misc]
    return made


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    trained().save(tmp_path / "model.bb")
    return tmp_path / "model.bb"


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def rewrite(path: Path, changed: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in changed:
            file.writestr(zipfile.ZipInfo(name), data, method)


def npy(array: np.ndarray) -> bytes:
    room = io.BytesIO()
    np.lib.format.write_array(room, array, version=(1, 0), allow_pickle=True)
    return room.getvalue()


def with_header(path: Path, change: Callable[[dict[str, Any]], Any], arrays: dict[str, Any] | None = None) -> None:
    """Change a file's header and arrays, and give it the checksum that goes with them: what an attacker would do."""
    with open(path, "rb") as file:
        held = strict_npz.read(file)
    header = json.loads(held.pop("header").tobytes())
    del held["checksum"]
    header = change(header) or header
    named = held | {f"array.{name}": array for name, array in (arrays or {}).items()}
    text = json.dumps(header).encode()
    marks = {
        "header": np.frombuffer(text, np.uint8),
        "checksum": np.frombuffer(model_file._checksum(text, named), np.uint8),
    }
    with open(path, "wb") as target:
        strict_npz.write(target, marks | named)


# What is written comes back.


def test_the_same_booster_makes_the_same_bytes(tmp_path: Path) -> None:
    made = trained()  # two boosters would differ in their identities, by which tickets are told apart
    for name in ("one", "two"):
        made.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_files_of_format_1_are_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"has format 1; this version of banditboost \(.*\) reads formats 2 and 3"):
        bb.Booster.load(HERE / "format1.bb")


def test_numbers_are_known_before_they_are_made() -> None:
    for name, made in boosters():
        fresh = bb.Booster.from_spec(made.spec)
        play(fresh, Target(fresh), 0, 1)
        assert fresh.bank is not None
        actual = sum(array.size for array in fresh.bank.arrays().values())
        told = made.spec.learner.n_floats(made.spec.copies, made.spec.space, fresh.features)
        foreign = isinstance(
            made.spec.learner, bb.learners.Wrapped
        )  # models keep what they like, and are objects besides
        assert told <= OBJECT * actual if foreign else abs(told - actual) <= 3, name


def test_the_size_of_trees_is_what_they_take() -> None:
    from banditboost._compiled import bins

    assert tree.SAMPLE == bins.SAMPLE
    spec, space = bb.learners.Tree(max_leaves=5, bins=6), bb.spaces.Ball(3, 1.0)
    bank = spec.start(4, space, 7, np.random.default_rng(0))
    assert spec.nbytes(4, space, 7) == sum(array.nbytes for array in bank.arrays().values())


# Everything else is refused.


def test_specs_nested_without_end_are_refused() -> None:
    deep = '{"kind":"learners.Scaled","gamma":0.5,"learner":' * 5000
    for text in (deep + "null" + "}" * 5000, "[" * 5000 + "]" * 5000):
        with pytest.raises(ValueError, match="nested more than 50 deep"):
            spec.from_json(text)


def refused(path: Path, sentence: str = "is not a banditboost file, or it is damaged") -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        bb.Booster.load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_every_truncation_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for end in (*range(0, len(whole), 97), len(whole) - 1):
        saved.write_bytes(whole[:end])
        refused(saved)


def test_every_flipped_bit_is_refused_or_means_nothing(saved: Path) -> None:
    # Some bits of a zip say nothing (dates, attributes); where one does, the booster is the same to the last number.
    whole, expected = saved.read_bytes(), trained().arrays()
    rng = np.random.default_rng(0)
    kept = 0
    for at in rng.integers(len(whole), size=400).tolist():
        flipped = bytearray(whole)
        flipped[at] ^= 1 << int(rng.integers(8))
        saved.write_bytes(bytes(flipped))
        try:
            found = bb.Booster.load(saved).arrays()
        except ValueError:
            continue
        kept += 1
        assert all(np.array_equal(found[name], array) for name, array in expected.items())
    assert kept < 200


@pytest.mark.parametrize(
    "name",
    ["../array.x.npy", "/array.x.npy", "array.x", "a\\b.npy", "array.x.npy/", "", "..", "array.é.npy", "con:.npy"],
)
def test_strange_names_are_refused(saved: Path, name: str) -> None:
    rewrite(saved, [*members(saved).items(), (name, npy(np.zeros(1)))])
    refused(saved)


def test_other_arrays_are_refused(saved: Path) -> None:
    with_header(saved, lambda header: None, {"more": np.zeros(1)})
    refused(saved, "its spec has no array 'more'")
    rewrite(saved, [*members(saved).items(), ("stray.npy", npy(np.zeros(1)))])
    refused(saved, "checksum")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_double_members_are_refused(saved: Path) -> None:
    held = members(saved)
    rewrite(saved, [*held.items(), ("header.npy", held["header.npy"])])
    refused(saved)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused_unread(saved: Path, method: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = npy(np.zeros(10**7))
    rewrite(saved, [*members(saved).items(), ("array.bomb.npy", bomb)], method)
    assert saved.stat().st_size < len(bomb) / 10
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *args, **kwargs: pytest.fail("a member was opened"))
    refused(saved)


def test_members_over_one_another_are_refused(saved: Path) -> None:
    # The trick of zips that expand without compression: many entries of the directory that point to the same bytes.
    held = members(saved)
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w") as file:
        for name, data in held.items():
            file.writestr(zipfile.ZipInfo(name), data)
        original = file.infolist()[-1]
        for k in range(50):
            again = zipfile.ZipInfo(f"array.again{k}.npy")
            for field in ("header_offset", "CRC", "file_size", "compress_size"):
                setattr(again, field, getattr(original, field))
            file.filelist.append(again)
            file.NameToInfo[again.filename] = again
            file._didModify = True  # type: ignore[attr-defined]
    saved.write_bytes(room.getvalue())
    refused(saved)


@pytest.mark.parametrize(
    "array",
    [
        np.array([{"a": 1}], dtype=object),
        np.zeros(3, dtype="<c16"),
        np.zeros(3, dtype=">f8"),
        np.zeros(3, dtype="M8[s]"),
        np.array(["a"]),
        np.zeros(2, dtype=[("a", "<f8")]),
        np.zeros((2, 3)).T,
    ],
    ids=lambda array: str(array.dtype),
)
def test_only_plain_numbers_are_read(saved: Path, array: np.ndarray) -> None:
    rewrite(saved, [*members(saved).items(), ("array.odd.npy", npy(array))])
    refused(saved)


@pytest.mark.parametrize(
    "shape", ["(99999999999999,)", "(4, 4, 4)", "(-1,)", "(1e3,)", "(2, [3])", "((((1,),),),)", "(" + "1, " * 40 + ")"]
)
def test_sizes_that_do_not_fit_are_refused_before_memory_is_taken(saved: Path, shape: str) -> None:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode() + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)
    rewrite(saved, [*members(saved).items(), ("array.odd.npy", data)])
    refused(saved)


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"3",
        b"null",
        b"{}",
        b'{"format":}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": 1e999}',
        b'{"format": NaN}',
    ],
    ids=lambda text: repr(text[:12]),
)
def test_headers_that_are_none_are_refused(saved: Path, text: bytes) -> None:
    held = members(saved) | {"header.npy": npy(np.frombuffer(text, np.uint8))}
    rewrite(saved, list(held.items()))
    refused(saved, "is not a banditboost file, or it is damaged|has format inf")


def nested(depth: int) -> Any:
    made: Any = {"kind": "learners.Linear"}
    for _ in range(depth):
        made = {"kind": "learners.Scaled", "learner": made, "gamma": 0.5}
    return made


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda h: h.update(format=99), "has format 99"),
        (lambda h: h.update(format=True), "has format True"),
        (lambda h: h.update(format="2"), "has format '2'"),
        (lambda h: h.pop("rounds"), "it lacks rounds"),
        (lambda h: h.update(holds="ticket"), "does not hold a booster"),
        (lambda h: h.update(colour="red"), "says more than this version of banditboost .* understands: colour"),
        (lambda h: h.update(rounds=-1), "must be a whole number up to"),
        (lambda h: h.update(rounds=2.0), "must be a whole number up to"),
        (lambda h: h.update(phase=10**9), "must be a whole number up to"),
        (lambda h: h.update(features=10**30), "must be a whole number up to"),
        (lambda h: h.update(features="2"), "must be a whole number up to"),
        (lambda h: h.update(streams=[]), "random streams are not those of a booster"),
        (lambda h: h["streams"].update(noise={}), "random streams are not those of a booster"),
        (lambda h: h["streams"].update(coins={}), "random stream is damaged"),
        (lambda h: h["streams"]["coins"].update(state={"state": -1, "inc": 10**60}), "random stream is damaged"),
        (lambda h: h.update(spec=None), "does not hold a booster"),
        (lambda h: h.update(spec={"kind": "learners.Linear"}), "does not hold a booster"),
        (lambda h: h.update(spec={"kind": "archive.atomic"}), "is not known here"),
        (lambda h: h.update(spec={"kind": "builtins:object"}), "is not known here"),
        (lambda h: h["spec"].update(learner=nested(200)), "nested more than 50 deep"),
        (lambda h: h["spec"].update(learner=nested(60)), "nested more than 50 deep"),
        (lambda h: h["spec"].update(copies=10**12), "asks for .* numbers, and its arrays hold"),
        (lambda h: h["spec"]["space"].update(dimension=10**13), "asks for .* numbers, and its arrays hold"),
        (lambda h: h["spec"]["gradient"].update(queries=10**14), "asks for .* numbers, and its arrays hold"),
        (lambda h: h["spec"]["learner"]["parts"][1].update(max_leaves=10**10), "asks for .* numbers"),
        (
            lambda h: h["spec"].update(gradient={"kind": "gradients.OnePoint", "delta": 0.2, "queries": 10**13}),
            "asks for",
        ),
        (lambda h: h.update(features=10**9), "asks for .* numbers, and its arrays hold"),
        (lambda h: h["spec"]["space"].update(radius=10**400), "radius must be a number below 1e308"),
        (lambda h: h["spec"]["space"].update(radius="wide"), "radius must be a number"),
        (lambda h: h["spec"].update(copies=[3]), "copies must be a whole number"),
        (lambda h: h["spec"].update(copies=4), "does not fit its spec"),
        (lambda h: h["spec"]["learner"].update(parts=[{"function": "os:abort"}]), "pass the function itself"),
        (
            lambda h: h["spec"].update(learner={"kind": "learners.Wrapped", "model": {"function": "site:main"}}),
            "pass the function itself",
        ),
    ],
)
def test_well_made_nonsense_is_refused(saved: Path, change: Callable[[dict[str, Any]], Any], sentence: str) -> None:
    with_header(saved, lambda header: change(header) and None)
    refused(saved, sentence)


def test_the_trees_of_the_file_have_grown() -> None:
    assert (trained().arrays()["1.feature"] >= 0).any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("1.child", 10**6),
        ("1.child", -1),
        ("1.child", 0),
        ("1.feature", 77),
        ("1.feature", -7),
        ("1.slot", 9),
        ("1.nodes", 100),
        ("1.nodes", 0),
        ("1.bins_offsets", 10**9),
        ("1.bins_usual", -3),
        ("1.bins_clock", -1),
        ("1.bins_clock", 10**12),
    ],
)
def test_trees_that_would_lead_out_of_their_arrays_are_refused(saved: Path, name: str, value: int) -> None:
    # Compiled loops do not look where they are sent.
    array = trained().arrays()[name].copy()
    array[...] = value
    with_header(saved, lambda header: None, {name: array})
    with pytest.raises(ValueError, match="trees are damaged"):
        bb.Booster.load(saved).predict([0.1, 0.2])


def test_cosines_of_features_that_are_not_there_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    made = bb.Booster(bb.learners.Fourier(features=4), 2, space=bb.spaces.Interval(-1, 1), features=3)
    made.save(path)
    with_header(path, lambda header: None, {"picks": np.full_like(made.arrays()["picks"], 99)})
    with pytest.raises(ValueError, match="random features are damaged"):
        bb.Booster.load(path).predict([0.1, 0.2, 0.3])


def test_what_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    made = trained()
    made.save(tmp_path / "model.bb")
    before = (tmp_path / "model.bb").read_bytes()
    made.arrays()["0.weights"][...] = np.nan
    with pytest.raises(ValueError, match=r"The array '0.weights' cannot be saved: it holds NaN or infinity"):
        made.save(tmp_path / "model.bb")
    for arrays in ({"a/b": np.zeros(1)}, {"x": np.zeros(1, dtype=complex)}):
        with pytest.raises(ValueError, match="arrays must be numbers under plain names"):
            model_file.write(tmp_path / "model.bb", {}, arrays)
    assert (tmp_path / "model.bb").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.bb"]


def test_an_interrupt_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012, SIM117 - raised within the block, as a user would
        with atomic_file.atomic(tmp_path / "notes") as file:
            file.write(b"new")
            raise KeyboardInterrupt
    assert (tmp_path / "notes").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_other_things_may_be_kept_in_such_files(tmp_path: Path) -> None:
    held = {"0": np.arange(3.0), "1": np.array(2, dtype=np.int64), "2": np.zeros((0, 4)), "3": np.array([True, False])}
    model_file.write(tmp_path / "thing", {"holds": "thing", "said": [1, None, "é"]}, held)
    header, arrays = model_file.read(tmp_path / "thing")
    assert (header["holds"], header["said"]) == ("thing", [1, None, "é"])
    assert list(arrays) == list(held)
    assert all(
        np.array_equal(arrays[name], array) and arrays[name].dtype == array.dtype for name, array in held.items()
    )
    refused(tmp_path / "thing", "does not hold a booster")


def test_nothing_takes_the_place_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is no plain file: nothing takes its place"):
        bb.Booster(space=bb.spaces.Interval(-1, 1), features=1).save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_headers_beyond_all_measure_are_neither_written_nor_read(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_json, "LONGEST", 100)
    refused(saved)
    with pytest.raises(ValueError, match=r"A header cannot be saved that has \d+ bytes, and 100 are the most"):
        trained().save(saved)


@pytest.mark.parametrize(
    "wrap", [bb.learners.Scaled, bb.learners.Standardized, lambda inner: bb.learners.Mixed((inner,), (1.0,))]
)
def test_banks_within_others_are_checked_too(wrap: Callable[[bb.learners.Learner], bb.learners.Learner]) -> None:
    made = bb.Booster(wrap(bb.learners.Stump(bins=4)), 3, space=bb.spaces.Interval(-1, 1), features=2)
    assert made.bank is not None
    made.bank.check()
    next(array for name, array in made.arrays().items() if name.endswith("nodes"))[...] = 99
    with pytest.raises(ValueError, match="trees are damaged"):
        made.bank.check()


def test_plans_beyond_all_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.bb"
    bb.algorithms.projection_free(bb.spaces.Simplex(3)).save(path)
    with_header(path, lambda header: header["spec"].update(smoothness=1e300, sigma=1e-300))
    refused(path, "its spec asks for more than numbers can say")

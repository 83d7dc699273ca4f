"""What is fuzzed: a reader, valid files to begin with, and the ways to spoil them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import banditboost as bb
from banditboost import datasets
from banditboost._core.spec import Spec, from_json
from banditboost.datasets.blocks import open_blocks
from banditboost.datasets.encoding import encode
from banditboost.datasets.sources import read_file
from tests.checks.discovery import specs
from tests.fuzz import journals
from tests.fuzz.mutations import Mutation, spoil_bytes, spoil_json_text, spoil_members, spoil_model, spoil_text


class Target(NamedTuple):
    """One reader."""

    name: str
    suffix: str
    seeds: list[bytes]
    mutations: tuple[Mutation, ...]
    read: Callable[[Path], object]
    share: float
    """Its part of all files."""


def targets(folder: Path) -> Iterator[Target]:
    """All readers."""
    yield Target("model", "bb", models(folder), (spoil_bytes, spoil_members, spoil_model, spoil_model), play_on, 0.25)
    texts = [spec.to_json().encode() for spec in specs()]
    texts += [booster.spec.to_json().encode() for booster in boosters()]
    yield Target("spec", "json", texts, (spoil_bytes, spoil_json_text, spoil_json_text), rebuild, 0.3)
    yield Target("table", "csv", tables(), (spoil_bytes,), read_table, 0.08)
    yield Target("own", "csv", own_tables(folder), (spoil_bytes, spoil_bytes, spoil_text), read_own_table, 0.12)
    yield Target("scan", "csv", own_tables(folder), (spoil_bytes, spoil_text), scan_table, 0.05)
    yield Target("vw", "vw", vw_files(), (spoil_bytes, spoil_text), read_example_file, 0.03)
    yield Target("svmlight", "svm", svmlight_files(), (spoil_bytes, spoil_text), read_example_file, 0.02)
    kept = journals.seeds(folder)
    yield Target("journal", "journal", kept, (spoil_bytes, journals.spoil_records), journals.replay, 0.15)


def boosters() -> Iterator[bb.Booster]:
    """One of every kind of state."""
    learners, space = bb.learners, bb.spaces.Ball(2, 1.0)
    for learner in (
        learners.Linear(),
        learners.Mixed((learners.SecondOrder(), learners.Tree(max_leaves=4, bins=4, grace=3, evidence=0.0))),
        learners.Standardized(learners.Coin()),
        learners.Fourier(learners.ScaleFree(), features=3, shared=False),
        learners.Network(hidden=3),
        learners.Wrapped(learners.wrapped.least_squares),
    ):
        chain = bb.chains.ConvexHull() if learner.bets else bb.chains.Span()
        yield bb.Booster(learner, 3, chain, bb.gradients.Residual(0.2), space, features=2)
    oracle = bb.spaces.Oracle.examples()[0]  # three functions: what is least, what is nearest, what is inside
    yield bb.Booster(learners.Wrapped.examples()[0], 2, gradient=bb.gradients.Exact(), space=oracle, features=1)
    yield bb.algorithms.projection_free(oracle)
    yield bb.algorithms.projection_free(bb.spaces.Simplex(3))
    yield bb.algorithms.projection_free_bandit(bb.spaces.Birkhoff(3))
    yield bb.algorithms.boosted(bb.spaces.Interval(0, 1))
    yield bb.algorithms.meta_frank_wolfe(bb.spaces.Spectrahedron(3), copies=3)
    yield bb.Booster(learners.Linear(), 3, space=space, encoder=bb.encoder.Encoder(bits=6))


@cache
def parts() -> dict[str, Callable[..., object]]:
    """The functions of all valid files: what is spoiled may name these, as a caller's file may."""
    return {name: function for spec in specs() for name, function in spec.callables().items()}


def guarded(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function of a caller who refuses what it is not meant for: files may put it into any field."""

    def wary(*arguments: object, **options: object) -> object:
        try:
            return function(*arguments, **options)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"This function is not meant to be called so: {error!r:.200}.") from None

    return wary


def models(folder: Path) -> list[bytes]:
    """Files of trained boosters, and of one that has not begun."""
    made = [(Path(__file__).parent.parent / "_storage" / name).read_bytes() for name in ("format1.bb",)]
    rng = np.random.default_rng(0)
    for booster in boosters():
        for _ in range(20):
            x: object = rng.normal(size=booster.features or 2) if booster.spec.learner.contextual else None
            if booster.names is not None:
                x = {"word": str(rng.integers(9)), "number": rng.normal(), "gone": None}
            ticket = booster.ask(x)
            shape = (len(ticket.queries), *(booster.spec.space.shape if ticket.asks == "gradients" else ()))
            booster.tell(ticket, rng.normal(size=shape))
        booster.save(folder / "seed.bb")
        made.append((folder / "seed.bb").read_bytes())
    bb.Booster(space=bb.spaces.Interval(-1, 1)).save(folder / "seed.bb")
    return [*made, (folder / "seed.bb").read_bytes()]


def play_on(path: Path) -> None:
    """Load a model and play two rounds with it."""
    booster = bb.Booster.load(path, {name: guarded(function) for name, function in parts().items()})
    for value in (0.5, -2.0):
        x: object = np.full(booster.features or 2, value) if booster.spec.learner.contextual else None
        if booster.names is not None:
            x = {"word": str(value), "number": value, "new": [str(value)]}
        try:
            ticket = booster.ask(x)
        except NotImplementedError as error:  # a set of one's own cannot do all that some algorithms need
            raise ValueError(str(error)) from None
        shape = (len(ticket.queries), *(booster.spec.space.shape if ticket.asks == "gradients" else ()))
        booster.tell(ticket, np.full(shape, value))


def rebuild(path: Path) -> None:
    """Rebuild a spec, and write what was rebuilt."""
    made = from_json(path.read_text("utf-8"), parts())
    if isinstance(made, Spec):
        again = from_json(made.to_json(), made.callables())
        assert again.to_json() == made.to_json()


def tables() -> list[bytes]:
    """Small tables with every kind of column."""
    plain = b"patientId,value0,reference\n0,0.5,21.8\n1,-0.25,30.1\n2,1e3,180\n"
    words = b'patientId,value0,reference\n"a b",red,1.5\n"c,""d""",blue,2\n,green,3\n"?",red,100\n'
    return [
        plain,
        words,
        plain * 3,
        json.dumps({"a": 1}).encode(),
        "reference,é\n1,ü\n2,日本\n".encode("utf-16"),
        b"reference\n",
    ]


def read_table(path: Path) -> None:
    """Read a table and encode it, densely and sparsely."""
    table = read_file(datasets.describe("slice"), path)
    for sparse in (False, True):
        encode(table, sparse=sparse)


LONG = [f"{k} is the number of a column " + "with a long name " * 10 for k in range(400)]
"""Names of columns that take more than 65,536 bytes together."""


def own_tables(folder: Path) -> list[bytes]:
    """Tables as users have them: long headers, escape sequences, quotations, other separators and alphabets; and no table."""
    import polars as pl

    pl.DataFrame({"y": [1.0, 2.0, 3.0], "word": ["a", "b", "a"], "seen": [True, False, None]}).write_parquet(
        folder / "seed.parquet"
    )
    many = ",".join([*LONG, "y"]) + "\n" + 3 * (",".join(map(str, range(401))) + "\n")
    return [
        *tables(),
        many.encode(),
        many.replace(",", ";").encode(),
        ",".join(f'"{name}, quoted"' for name in LONG).encode() + b",y\n" + b"1," * 400 + b"2\n",
        b"y,\x1b]0;owned\x07,\x1b[2J\n1,2,3\n2,3,4\n",
        b"y;date;price\n1;2024-01-31;3,5\n2;2024-02-01;4,5\n3;;\n",
        b"y\tcolour\n1\tred\n2\tblue\n",
        'y,when,price,off,took\n8 €,01/05/2023 13:00,"$1,234.50",10%,1:23:45\n-,3 May 23,(2.0),5 %,2h 5m\n7,x,1e400,,\n'.encode(),
        b"y;a;b\n+;1.234;3,5 kg\n-;2.345;1'234,5\n+;;08:30\n",
        b"+1 1:0.5 3:1.25 # svmlight\n-1 2:0.75\n+1 qid:3 1:1e300\n",
        (folder / "seed.parquet").read_bytes(),
    ]


def read_own_table(path: Path) -> None:
    """Read a user's table and encode it, to predict one of its columns."""
    table = datasets.read_own(path)
    names = table.frame.columns
    datasets.prepare_own(path, "y" if "y" in names else names[0])


def vw_files() -> list[bytes]:
    """Examples as Vowpal Wabbit reads them: tags, importances, namespaces with factors, other alphabets, and what it does not."""
    return [
        b"1 |user age:42 rome |basket a17 b03\n-1 2.5 'second|user:0.5 age:17\n0.25 1 0.5 third|a b:1e-3 c:-2 b\n\n",
        b"1 |a b\n| no label\n2 |a c\n",
        "1 |städte Köln:1 東京:2\n2 |städte Köln\n".encode(),
        b"# a comment\r\n3 |a b\r\n4 |a c:0\r\n",
        b"1:2:0.4 | a contextual bandit\n1 | a\n",
        b"1 |a " + b" ".join(b"f%d:%d" % (k, k) for k in range(2000)) + b"\n2 |a b\n",
        "1 |a b\n2 |a c\n".encode("utf-16"),
    ]


def svmlight_files() -> list[bytes]:
    """Examples as svmlight has them."""
    return [
        b"+1 1:0.5 3:1.25 # a comment\n-1 2:0.75\n+1 qid:3 1:1e3 7:-2\n",
        b"# a header\n1.5 1:1\n2 2147483647:1\n",
        b"1 0:0 1:0\n2\n3 5:1 5:1\n",
        b"1,2 1:1\n3 1:1\n",
    ]


def read_example_file(path: Path) -> None:
    """Read a file of examples whole and block by block, and make features of it."""
    blocks = open_blocks(path, "label")
    blocks.read(0)
    for task in ("numbers", "classes"):
        datasets.prepare_examples(path, task=task)


def scan_table(path: Path) -> None:
    """Read a user's table block by block."""
    blocks = open_blocks(path, "y")
    blocks.read(0)

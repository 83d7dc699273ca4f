"""Specs: plain data that compares, travels, and never runs anything when read."""

from __future__ import annotations

import functools
import inspect
import json
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditboost import learners, losses, noise, rates, spaces
from banditboost._core.callables import Named
from banditboost._core.spec import _KINDS, Spec, from_dict, from_json
from banditboost.booster import BoosterSpec
from tests.checks.discovery import label

steady = settings(derandomize=True, deadline=None, max_examples=200)


def doubled(x: float) -> float:
    return 2 * x


def outer() -> Callable[[float], float]:
    def inner(x: float) -> float:
        return x

    return inner


@dataclass(frozen=True)
class Bag(Spec):
    """One field of every sort."""

    number: float = 1.0
    maybe: float | None = None
    count: int = 1
    flag: bool = False
    text: str = ""
    knots: tuple[float, ...] = ()
    grid: tuple[tuple[float, ...], ...] = ()
    names: tuple[str, ...] = ()
    part: Spec = field(default_factory=losses.Squared)
    parts: tuple[Spec, ...] = ()
    function: Callable[[float], float] | None = None


SPECS: tuple[Spec, ...] = (
    losses.Huber(0.5),
    losses.Bregman("euclidean"),
    noise.TruncatedGaussian(0.3, 0.2),
    rates.Theory(3.0, 2.0),
    learners.Linear(radius=None, rate=rates.Constant(1e-3), intercept=False),
    learners.Scaled(learners.Scaled(learners.Linear(), 0.3), 2.0),
    spaces.Box((0.0, 1.0), (2.0, 3.0)),
    spaces.Ball(2, 1.0, (0.1, 0.2)),
    BoosterSpec(copies=3, seed=7, space=spaces.Ball(2, 3.0)),
    Bag(0.1, 2.0, 3, True, 'é"\\\n', (1.0, 0.1), ((1.0,), (2.0, 3.0)), ("a", "b"), function=doubled),
    Bag(part=learners.Linear(), parts=(losses.Squared(), noise.Uniform(0.2))),
)


@pytest.mark.parametrize("spec", SPECS, ids=label)
def test_json_round_trip(spec: Spec) -> None:
    text = spec.to_json()
    again = from_json(text, spec.callables())
    assert again == spec
    assert type(again) is type(spec)
    assert hash(again) == hash(spec)
    assert again.to_json() == text
    assert again.digest() == spec.digest()
    assert from_dict(spec.to_dict(), spec.callables()) == spec
    # Canonical: keys sorted, no blanks, and what another program writes back reads the same.
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


@steady
@given(
    number=st.floats(allow_nan=False, allow_infinity=False),
    knots=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**40), 2**40)),
    count=st.integers(),
    text=st.text(),
)
def test_round_trip_is_exact(number: float, knots: list[float], count: int, text: str) -> None:
    spec = Bag(number=number, knots=tuple(knots), count=count, text=text)
    again = from_json(spec.to_json())
    assert again == spec
    assert again.digest() == spec.digest()
    assert all(type(knot) is float for knot in spec.knots)


def test_whole_numbers_and_floats_make_the_same_spec() -> None:
    pairs: list[tuple[Spec, Spec]] = [
        (losses.Huber(1), losses.Huber(1.0)),
        (losses.Huber(np.int64(1)), losses.Huber(np.float32(1.0))),  # type: ignore[arg-type]
        (spaces.Interval(0, 30), spaces.Interval(0.0, 30.0)),
        (spaces.Box([0, 0], np.ones(2)), spaces.Box((0.0, 0.0), (1.0, 1.0))),  # type: ignore[arg-type]
        (spaces.Ball(np.int32(2), 1, [1, 2]), spaces.Ball(2, 1.0, (1.0, 2.0))),  # type: ignore[arg-type]
        (learners.Linear(radius=10), learners.Linear(radius=np.float64(10.0))),
        (Bag(maybe=2), Bag(maybe=2.0)),
        (Bag(knots=(1, 2)), Bag(knots=(1.0, 2.0))),
        (Bag(knots=[np.int64(1), np.float32(2)]), Bag(knots=np.array([1, 2]))),  # type: ignore[arg-type]
        (Bag(grid=[[1], [2, 3]]), Bag(grid=((1.0,), (2.0, 3.0)))),  # type: ignore[arg-type]
        (Bag(count=np.int64(4), flag=np.bool_(True)), Bag(count=4, flag=True)),  # type: ignore[arg-type]
    ]
    for left, right in pairs:
        assert left == right
        assert hash(left) == hash(right)
        assert left.to_json() == right.to_json()
        assert left.digest() == right.digest()


def test_counts_and_flags_stay_what_they_are() -> None:
    data = Bag(number=2, count=3, flag=True).to_dict()
    assert (type(data["number"]), type(data["count"]), type(data["flag"])) == (float, int, bool)


def test_specs_are_frozen_and_of_their_own_kind() -> None:
    with pytest.raises(FrozenInstanceError):
        losses.Huber().threshold = 2.0  # type: ignore[misc]
    alike: list[Spec] = [noise.Uniform(0.1), noise.Rademacher(0.1)]
    assert alike[0] != alike[1]
    assert losses.Huber.kind == "losses.Huber"
    assert learners.Linear.kind == "learners.Linear"
    assert Bag.kind == f"{__name__}:Bag"


def test_digests_tell_specs_apart() -> None:
    digests = {spec.digest() for spec in SPECS}
    assert len(digests) == len(SPECS)
    assert losses.Huber(1.0).digest() != losses.Huber(1.0 + 2**-52).digest()
    assert all(len(digest) == 64 and int(digest, 16) >= 0 for digest in digests)


def test_digest_covers_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = losses.Huber(1.0)
    before = spec.digest()
    assert before == spec.digest()
    monkeypatch.setattr("banditboost._core.spec.__version__", "0.0.0-other")
    assert spec.digest() != before


def test_the_canonical_form_is_fixed() -> None:
    """Caches outlive a session: this text may change with a version only."""
    assert learners.Linear().to_json() == (
        '{"intercept":true,"kind":"learners.Linear","radius":10.0,'
        '"rate":{"kind":"rates.Power","power":0.5,"scale":0.1}}'
    )


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "losses.Cubic"},
        {"kind": "losses.Loss"},  # what all losses share is none itself
        {"kind": "spaces.Space"},
        {"kind": "nowhere_at_all:Part"},
        {"kind": None},
        {"kind": 3},
        {"kind": ["losses.Squared"]},
        {"threshold": 1.0},
        {},
        {"kind": "learners.Scaled", "gamma": 0.5, "learner": {"kind": "learners.Unheard"}},
    ],
    ids=repr,
)
def test_unknown_kinds_are_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="is not known here"):
        from_dict(data)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="has no field named bend, twist: was it written by a newer version"):
        from_dict({"kind": "losses.Huber", "threshold": 1.0, "twist": 2, "bend": 1})


def test_missing_fields_are_named() -> None:
    with pytest.raises(ValueError, match=r"The part 'spaces.Box' lacks its field high\."):
        from_dict({"kind": "spaces.Box", "low": [0.0]})
    assert from_dict({"kind": "losses.Huber"}) == losses.Huber()  # the others have their defaults


def test_values_are_checked_on_the_way_in() -> None:
    with pytest.raises(ValueError, match="threshold must be positive"):
        from_dict({"kind": "losses.Huber", "threshold": -1.0})
    with pytest.raises(ValueError, match="threshold must be finite"):
        from_json('{"kind":"losses.Huber","threshold":NaN}')
    with pytest.raises(ValueError, match="threshold must be a number, got 'wide'"):
        from_dict({"kind": "losses.Huber", "threshold": "wide"})
    with pytest.raises(ValueError, match="threshold must be a number, got '1'"):
        from_dict({"kind": "losses.Huber", "threshold": "1"})
    with pytest.raises(ValueError, match="threshold must be a number below 1e308, got a larger one"):
        from_dict({"kind": "losses.Huber", "threshold": 10**400})
    with pytest.raises(ValueError, match="total must be a number below 1e308, got a larger one"):
        from_dict({"kind": "spaces.Simplex", "dimension": 3, "total": 10**400})


def test_fields_have_their_types() -> None:
    for data in (
        {"kind": "gradients.Averaged", "weights": 3},
        {"kind": "learners.Linear", "intercept": None},
        {"kind": "learners.FPL", "horizon": 2.5},
        {"kind": "learners.Scaled", "learner": {"kind": "losses.Squared"}},
        {"kind": f"{__name__}:Bag", "names": [1]},
        {"kind": f"{__name__}:Bag", "function": 3},
        {"kind": f"{__name__}:Bag", "part": [1]},
    ):
        with pytest.raises(ValueError, match=r"must (not )?be|cannot be made of what its fields say"):
            from_dict(data)


def test_parts_stand_in_for_what_is_not_known() -> None:
    data = {"kind": "learners.Scaled", "gamma": 0.5, "learner": {"kind": "mine:Own", "depth": 3}}
    own = learners.Linear(radius=2.0)
    assert from_dict(data, {"mine:Own": own}) == learners.Scaled(own, 0.5)


def test_functions_are_written_by_name_and_come_from_the_caller() -> None:
    spec = Bag(function=doubled)
    assert spec.to_dict()["function"] == {"function": f"{__name__}:doubled"}
    assert spec.callables() == {f"{__name__}:doubled": doubled}
    assert from_json(spec.to_json(), spec.callables()).function is doubled
    method: Any = Spec.to_json
    assert Bag(function=method).callables() == {"banditboost._core.spec:Spec.to_json": Spec.to_json}
    assert Bag(function=float).callables() == {"builtins:float": float}
    sentence = rf"in Python, pass the function itself, as parts=\{{'{__name__}:doubled': \.\.\.\}}\.$"
    with pytest.raises(ValueError, match=sentence):
        from_json(spec.to_json())
    with pytest.raises(ValueError, match=sentence):
        from_json(spec.to_json(), {"another": doubled})


def test_a_name_of_ones_own_stays_with_the_function() -> None:
    spec = Bag(function=Named("twice", lambda x: 2 * x))
    assert spec.function is not None
    assert spec.function(3.0) == 6.0
    assert spec.to_dict()["function"] == {"function": "twice"}
    assert from_json(spec.to_json(), spec.callables()) == spec
    # Given by the caller under the name in the file, a function keeps that name when it is written again.
    again = from_json(spec.to_json(), {"twice": doubled})
    assert again.function == Named("twice", doubled)
    assert again.to_json() == spec.to_json()
    moved = from_dict({"kind": Bag.kind, "function": {"function": "old_home:doubled"}}, {"old_home:doubled": doubled})
    assert moved.to_dict()["function"] == {"function": "old_home:doubled"}
    assert inspect.signature(Named("twice", doubled)) == inspect.signature(doubled)
    for name, function in (("", doubled), (3, doubled), ("twice", "doubled")):
        with pytest.raises(ValueError, match="must be"):
            Named(name, function)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "function",
    [lambda x: x, outer(), losses.Squared().value, np.sin, functools.partial(doubled, 1.0)],
    ids=["lambda", "inner", "method", "ufunc", "partial"],
)
def test_functions_without_a_name_of_their_own_are_refused(function: Callable[[float], float]) -> None:
    with pytest.raises(TypeError, match=r"cannot be saved without a name: give it one by banditboost\.Named"):
        Bag(function=function).to_json()


def test_two_functions_under_one_name_are_refused() -> None:
    one, other = Bag(function=Named("f", doubled)), Bag(function=Named("f", outer()))
    with pytest.raises(TypeError, match="Two functions are called 'f', and a file could not tell them apart"):
        Bag(parts=(one, other)).to_json()
    assert Bag(parts=(one, one)).callables() == {"f": Named("f", doubled)}


@pytest.mark.parametrize("given", [3, "doubled", None, losses.Squared()])
def test_what_is_passed_for_a_function_must_be_callable(given: Any) -> None:
    with pytest.raises(ValueError, match="parts must have something callable under 'f'"):
        from_dict({"function": "f"}, {"f": given})


def test_what_is_passed_for_a_part_must_be_a_spec() -> None:
    with pytest.raises(ValueError, match="parts must have a spec under 'mine:Own'"):
        from_dict({"kind": "mine:Own"}, {"mine:Own": doubled})


def test_other_values_are_refused() -> None:
    for value in (object(), {1: 2}, 1j):
        with pytest.raises(TypeError, match="cannot be saved: specs hold"):
            Bag(text=value).to_json()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="JSON"):
        Bag(number=float("nan")).to_json()


def test_reading_never_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "never_read_me.py").write_text("raise SystemExit('imported')\ndef f(x): return x\nclass Part: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    for data in (
        {"kind": "never_read_me:Part"},
        {"kind": "never_read_me.Part"},
        {"function": "never_read_me:f"},
        {"kind": "losses.Huber", "threshold": {"function": "never_read_me:f"}},
    ):
        with pytest.raises(ValueError, match=r"is not known here|pass the function itself"):
            from_dict(data)
    assert set(sys.modules) == before


def test_reading_does_not_look_into_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules may import on attribute access (`scipy.datasets`): nothing that a file names is looked up in one."""
    lazy, asked = types.ModuleType("lazy_for_the_test"), []

    def wake(name: str) -> Callable[[float], float]:
        asked.append(name)
        return doubled

    lazy.__getattr__ = wake  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy_for_the_test", lazy)
    with pytest.raises(ValueError, match="pass the function itself"):
        from_dict({"function": "lazy_for_the_test:anything"})
    assert asked == []


@pytest.mark.parametrize(
    "name",
    [
        *(
            "os:system",
            "builtins:eval",
            "site:main",
            "banditboost.learners.wrapped:least_squares",
            "",
            ":",
            None,
            3,
            [],
        ),
        *(f"{__name__}:doubled", f"{__name__}:Bag", f"{__name__}:absent"),
    ],
)
def test_no_function_is_found_by_its_name(name: Any) -> None:
    with pytest.raises(ValueError, match="pass the function itself"):
        from_dict({"function": name})


def test_two_specs_under_one_kind_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"kind must be different for every spec: .*Huber and .*Huber both have"):
        type("Huber", (Spec,), {"__module__": "banditboost.elsewhere"}, kind="losses.Huber")
    assert _KINDS["losses.Huber"] is losses.Huber
    with pytest.raises(ValueError, match=r"kind must contain a colon, as in 'package:Own', got 'learners\.Own'"):
        type("Own", (Spec,), {"__module__": "acme"}, kind="learners.Own")


def test_a_class_may_be_defined_again() -> None:
    def cell(default: float) -> type[Spec]:
        @dataclass(frozen=True)
        class Again(Spec):
            value: float = default

        return Again

    first, second = cell(1.0), cell(2.0)
    assert first.kind == second.kind == f"{__name__}:test_a_class_may_be_defined_again.<locals>.cell.<locals>.Again"
    assert type(from_dict({"kind": first.kind})) is second


@dataclass(frozen=True, slots=True)
class Slim(Spec, kind="acme:Slim"):
    value: float = 1.0


class Heir(Slim):
    pass


def test_a_kind_of_ones_own_is_kept_by_dataclasses_with_slots() -> None:
    assert Slim.kind == "acme:Slim"
    assert from_dict({"kind": "acme:Slim", "value": 2.0}) == Slim(2.0)
    assert Heir.kind == f"{__name__}:Heir"


def test_every_spec_of_the_library_declares_its_kind() -> None:
    # Imports everything, in a process of its own: a kind that two classes declare is an error there.
    program = (
        "import importlib, inspect, json, pkgutil, sys, banditboost\n"
        "from banditboost._core.spec import Spec, _KINDS\n"
        "for module in pkgutil.walk_packages(banditboost.__path__, 'banditboost.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        try: importlib.import_module(module.name)\n"
        "        except ModuleNotFoundError as error:\n"
        "            if 'banditboost' in str(error): raise\n"
        "waiting, found = Spec.__subclasses__(), []\n"
        "while waiting:\n"
        "    part = waiting.pop(); waiting += part.__subclasses__()\n"
        "    if not inspect.isabstract(part): found.append((part.__qualname__, part.kind, _KINDS[part.kind] is part))\n"
        "json.dump(found, sys.stdout)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {"losses.Huber", "experiments.table2.Run", "experiments.feedback.Run"} <= {kind for _, kind, _ in found}
    derived = [name for name, kind, _ in found if ":" in kind]
    assert derived == [], "these say no kind in their class statement"
    assert all(registered for _, _, registered in found)
    assert len({kind for _, kind, _ in found}) == len(found)

"""Boosters that have learned before a service has them: model files that it takes in when it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from banditboost.booster import Booster
from banditboost.serve.catalog import LOCAL, Catalog, check_name
from banditboost.serve.kept import Kept


class Given(NamedTuple):
    """A model file, and whose booster it becomes."""

    tenant: str
    name: str
    path: Path


def given(text: str) -> Given:
    """Return what ``name=file``, or ``tenant/name=file``, says.

    Examples
    --------
    >>> given("shop=model.bb")
    Given(tenant='local', name='shop', path=PosixPath('model.bb'))
    >>> given("acme/shop=model.bb").tenant
    'acme'
    """
    name, equals, path = text.partition("=")
    tenant, slash, rest = name.partition("/")
    if not equals or not path:
        raise ValueError(f"model must be NAME=FILE, such as shop=model.bb, got {text!r:.200}.")
    who, what = (tenant, rest) if slash else (LOCAL, name)
    return Given(check_name("tenant", who), check_name("the name of a model", what), Path(path))


def take_in(data: Path, models: Sequence[Given], say: Callable[..., None]) -> None:
    """Make boosters of model files, each under its name; one that is there already goes on as it is."""
    catalog = Catalog(data)
    try:
        new: dict[Given, Booster] = {}
        for one in models:
            if catalog.folder(one.tenant, one.name) is None:
                new[one] = _read(one.path)
            else:
                say(
                    "model not needed",
                    tenant=one.tenant,
                    booster=one.name,
                    text="The booster is there, and goes on as it is.",
                )
        for one, booster in new.items():
            _keep(catalog, one, booster)
            said: Mapping[str, Any] = {"tenant": one.tenant, "booster": one.name, "rounds": booster.rounds}
            say("model taken in", **said)
    finally:
        catalog.close()


def _read(path: Path) -> Booster:
    booster = Booster.load(path)
    if "table" in booster.extra:
        raise ValueError(
            f"{path} must be a booster that takes contexts as they are asked, got a model of a table, whose columns "
            "`banditboost run` has encoded: `banditboost predict` applies it."
        )
    return booster


def _keep(catalog: Catalog, one: Given, booster: Booster) -> None:
    folder = catalog.begin()
    try:
        Kept.take_in(folder, booster)
        catalog.finish(one.tenant, one.name, folder)
    except BaseException:
        catalog.sweep_one(folder)
        raise

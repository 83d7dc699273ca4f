"""The shop of the gallery as a client of a running service earns what it earns in one process, to the last digit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np

import banditboost as bb
from tests.serve.common import ROOT, running

ROUNDS = 60


def gallery() -> dict[str, Any]:
    """The names of the example, up to where it begins to run shops."""
    matplotlib.use("Agg")
    text = (ROOT / "docs" / "gallery" / "plot_pricing.py").read_text()
    names: dict[str, Any] = {}
    exec(text.partition("\nchosen = {}\n")[0], names)
    return names


def test_the_gallery_example_earns_the_same_to_the_last_digit(tmp_path: Path) -> None:
    names = gallery()
    with running(tmp_path / "data") as service, bb.Client(service.url) as client:

        def remote(**parts: Any) -> Any:
            """A booster behind the service in place of one in this process."""
            return client.create(f"shop-{len(client.boosters())}", bb.BoosterSpec(**parts))

        for name, (scale, delta) in {"Surrogate": (0.3, 2.0), "true gradients": (0.1, 2.0)}.items():
            names["bb"] = bb
            recipe = names["shops"][name](scale, delta)
            _, *here = names["open_shop"](recipe, 0, ROUNDS)
            names["bb"] = SimpleNamespace(Booster=remote)
            booster, *there = names["open_shop"](recipe, 0, ROUNDS)
            assert booster.info()["rounds"] == ROUNDS
            for ours, theirs in zip(here, there, strict=True):
                np.testing.assert_array_equal(ours, theirs)

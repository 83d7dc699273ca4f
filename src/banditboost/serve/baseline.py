"""Baselines: frozen policies that a guard gives some rounds to, and all where the booster is worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost.booster import Booster, BoosterSpec
from banditboost.booster.limits import limits_of
from banditboost.serve import naming

MODELS = "baseline-*.bb"
"""The files of frozen models, in the folder of their booster."""


def model_file(folder: Path, digest: str) -> Path:
    """Return where a frozen model is; its name says which, so that a crash never leaves one under the name of another."""
    return folder / MODELS.replace("*", digest[:16])


def with_numbers(names: Sequence[str], plain: Any, shape: tuple[int, ...]) -> Any:
    """Return a baseline whose decisions were given by name with numbers in order.

    Examples
    --------
    >>> with_numbers(("price", "discount"), {"discount": 0.1, "price": 9.5}, (2,))
    [9.5, 0.1]
    """
    if not names or not isinstance(plain, Mapping):
        return plain
    if set(plain) == {"offset", "weights"} != set(names):
        return {part: naming.read(names, f"baseline.{part}", value, shape) for part, value in plain.items()}
    return plain if set(plain) == {"snapshot"} != set(names) else naming.read(names, "baseline", dict(plain), shape)


def by_name(names: Sequence[str], plain: Any) -> Any:
    """Return a baseline with its decision by name, where decisions have names.

    Examples
    --------
    >>> by_name(("price", "discount"), [9.5, 0.1]), by_name(("price",), {"snapshot": 3})
    ({'price': 9.5, 'discount': 0.1}, {'snapshot': 3})
    """
    if not isinstance(plain, Mapping):
        return naming.shown(names, plain)
    return {**plain, "offset": naming.shown(names, plain["offset"])} if "offset" in plain else plain


class Baseline:
    """A policy that never learns.

    Parameters
    ----------
    plain
        A number or a list of numbers, which is played always; ``{"offset": ..., "weights": ...}``, a line in the features, one row
        of weights for every number of a decision; or ``{"snapshot": n}``, the model as it was then.
    spec
        The booster whose rounds it plays.
    folder
        Where the frozen model is; None where it is not written yet. A snapshot then has a ``digest``, too, that of its booster.
    """

    def __init__(self, plain: Any, spec: BoosterSpec, folder: Path | None = None) -> None:
        self.plain, self._spec, self._model = plain, spec, None
        self._offset: Array | None = None
        self._weights: Array | None = None
        if isinstance(plain, Mapping) and set(plain) == ({"snapshot"} if folder is None else {"snapshot", "digest"}):
            checks.count("baseline.snapshot", plain["snapshot"])
            self._model = None if folder is None else Booster.load(model_file(folder, plain["digest"]))
        elif isinstance(plain, Mapping):
            if set(plain) != {"offset", "weights"}:
                raise ValueError("baseline must be a decision, or have offset and weights, or a snapshot.")
            self._offset = checks.finite("baseline.offset", plain["offset"], spec.space.shape)
            self._weights = np.atleast_2d(checks.finite("baseline.weights", plain["weights"]))
            if self._weights.ndim != 2 or len(self._weights) != spec.space.size:
                raise ValueError(
                    f"baseline.weights must have {spec.space.size} rows, one for every number of a decision."
                )
        else:
            self._offset = checks.finite("baseline", plain, spec.space.shape)
            if not spec.space.contains(self._offset):
                raise ValueError(f"baseline must lie in the space {spec.space!r:.200}, got {plain!r:.100}.")
        limits_of(spec, spec.space)  # a booster that cannot keep to limits cannot be guarded

    @property
    def frozen(self) -> bool:
        """Whether this is a model that was frozen."""
        return isinstance(self.plain, Mapping) and "snapshot" in self.plain

    def check_features(self, booster: Booster) -> None:
        """Raise where a line cannot fit the contexts of a booster."""
        if self._weights is None:
            return
        if booster.spec.encoder is not None:
            raise ValueError(
                "baseline must be a decision or a snapshot where contexts have names: weights of a line need a fixed order."
            )
        contextual, known = booster.spec.learner.contextual, booster.bank is not None
        features = booster.features if known and contextual else None if contextual else 0
        if features not in (None, self._weights.shape[1]):
            raise ValueError(
                f"baseline.weights must be {features} for every number of a decision, one for each feature."
            )

    def check(self, context: Any) -> None:
        """Raise where a context does not fit a line."""
        if self._weights is not None and (context is None or np.shape(context) != self._weights.shape[1:]):
            raise ValueError(f"context must have the {self._weights.shape[1]} features of the baseline's weights.")

    def action(self, context: Any, space: Any) -> Array:
        """Return what is played in a context, within the limits of one request."""
        limits = limits_of(self._spec, self._spec.space if space is None else space)
        if self._model is not None:
            found = np.asarray(self._model.predict(context))
        else:
            assert self._offset is not None
            found = self._offset
            if self._weights is not None:
                self.check(context)
                found = found + (self._weights @ np.asarray(context)).reshape(np.shape(found))
        return np.asarray(limits.clip(found) + 0.0)

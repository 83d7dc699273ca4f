"""Baselines: frozen policies that a guard gives some rounds to, and all where the booster is worse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost.booster import Booster, BoosterSpec
from banditboost.booster.limits import limits_of

MODELS = "baseline-*.bb"
"""The files of frozen models, in the folder of their booster."""


def model_file(folder: Path, digest: str) -> Path:
    """Return where a frozen model is; its name says which, so that a crash never leaves one under the name of another."""
    return folder / MODELS.replace("*", digest[:16])


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

    def action(self, context: Any, space: Any) -> Array:
        """Return what is played in a context, within the limits of one request."""
        limits = limits_of(self._spec, self._spec.space if space is None else space)
        if self._model is not None:
            found = np.asarray(self._model.predict(context))
        else:
            assert self._offset is not None
            found = self._offset
            if self._weights is not None:
                if context is None or np.shape(context) != self._weights.shape[1:]:
                    raise ValueError(
                        f"context must have the {self._weights.shape[1]} features of the baseline's weights."
                    )
                found = found + (self._weights @ np.asarray(context)).reshape(np.shape(found))
        return np.asarray(limits.clip(found) + 0.0)

"""What the two estimators of scikit-learn share: how tables are read, played and remembered, and how estimators are kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from banditboost._core.checks import Array, count
from banditboost._core.spec import Spec, from_dict
from banditboost.booster import Booster
from banditboost.encoder import Encoder, chosen
from banditboost.evaluate import progressive
from banditboost.interop import keeping, weights
from banditboost.interop.growing import stretched
from banditboost.interop.recipes import Recipe, loss_of, noise_of
from banditboost.interop.tables import Missing, Named, has_names
from banditboost.losses import Loss
from banditboost.spaces import Space
from banditboost.worlds import Supervised

TABLES = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
"""The form that tables of features are converted to."""
NUMBERS = {"ensure_all_finite": "allow-nan"}
"""NaN is a number that is missing."""


class Rows(NamedTuple):
    """Rows and labels that were checked, and how rows are read from now on."""

    X: Any
    y: NDArray[Any]
    weights: Array | None
    reader: Missing | Named


class EstimatorBase(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The common part of both estimators."""

    booster_: Booster
    encoder_: Encoder | None
    encoder_columns_: NDArray[np.int64]
    missing_columns_: NDArray[np.int64]

    def _recipe(self, losses: Collection[str]) -> Recipe:
        """Return the checked parameters, or raise before anything has changed."""
        count("passes", self.passes)
        noise_of(self.noise)
        chosen = self.random_state
        known = isinstance(chosen, int | np.integer) and not isinstance(chosen, bool) and chosen >= 0
        return Recipe(
            self.learner,
            self.copies,
            self.answers,
            self.chain,
            loss_of(self.loss, losses),
            self.feedback,
            self.curvature,
            int(chosen) if known else int(check_random_state(chosen).randint(2**31 - 1)),
        )

    def _begin(self, recipe: Recipe, space: Space, rows: Rows) -> None:
        self._keep(rows.reader)
        self.booster_ = Booster.from_spec(recipe.spec(space), rows.X.shape[1])
        self.n_samples_seen_, self.progressive_loss_ = 0, 0.0

    def _go_on(self, rows: Rows) -> None:
        """Make room for the columns that are new."""
        if rows.X.shape[1] > self.booster_.features:
            larger = stretched(self.booster_, rows.X.shape[1])
            if larger is None:
                raise ValueError(
                    f"X must have the missing values and words of the first call with the learner {self.learner!r:.100}, whose "
                    "copies cannot take more features."
                )
            self.booster_ = larger
        self._keep(rows.reader)

    def _keep(self, reader: Missing | Named) -> None:
        """Keep how rows are read, as plain arrays."""
        if isinstance(reader, Named):
            self.encoder_, self.encoder_columns_ = reader.encoder, reader.columns
            return
        self.encoder_ = None
        self.missing_columns_, self._missing = reader.columns, (reader.sums, reader.counts, reader.fills)

    @property
    def _reader(self) -> Missing | Named:
        if getattr(self, "encoder_", None) is not None or hasattr(self, "encoder_columns_"):
            encoder = getattr(self, "encoder_", None) or chosen(self.encoder)  # earlier versions kept no encoder
            assert encoder is not None
            return Named(encoder, self.encoder_columns_)
        if not hasattr(self, "_missing"):
            return Missing.none(self.n_features_in_)
        sums, counts, fills = self._missing
        return Missing(sums, counts, self.missing_columns_, fills)

    def _learn(self, world: Supervised) -> None:
        """Play a world's rounds, and update the mean loss of predictions made before their row was learned from."""
        losses = progressive(self.booster_, world).losses
        before, self.n_samples_seen_ = self.n_samples_seen_, self.n_samples_seen_ + len(losses)
        self.progressive_loss_ = float(self.progressive_loss_ * before + losses.sum()) / self.n_samples_seen_

    def _learn_all(self, rows: Rows, loss: Loss) -> None:
        """Play several passes; the mean loss counts the first alone, in which every row is new."""
        X, y = rows.X, rows.y
        if rows.weights is not None:
            often = weights.times(rows.weights, np.random.default_rng(self._draw()), relative=True)
            if not often.any():
                often[int(rows.weights.argmax())] = 1
            X, y = X[np.repeat(np.arange(len(y)), often)], np.repeat(y, often)
        world = self._world(X, y, loss)
        for k in range(self.passes):
            played = world
            if self.shuffle:
                order = weights.row_order(X, y, self._draw())
                played = world.shuffled(self._draw()) if order is None else self._world(X[order], y[order], loss)
            if k == 0:
                self._learn(played)
            else:
                progressive(self.booster_, played)

    def _learn_more(self, rows: Rows, loss: Loss) -> None:
        """Play rows in their order, each as often as its weight says."""
        X, y = rows.X, rows.y
        if rows.weights is not None:
            often = weights.times(rows.weights, np.random.default_rng(self._draw()), relative=False)
            X, y = X[np.repeat(np.arange(len(y)), often)], np.repeat(y, often)
        if len(y):
            self._learn(self._world(X, y, loss))

    @abstractmethod
    def _world(self, X: Any, y: NDArray[Any], loss: Loss) -> Supervised:
        """Return rows as a world."""

    def _draw(self) -> int:
        """Return a seed that differs from call to call, so that no two pieces of data share their noise."""
        return int(np.random.SeedSequence([self.booster_.spec.seed, self.booster_.rounds]).generate_state(1)[0])

    def _labelled(
        self, recipe: Recipe, X: Any, y: Any, sample_weight: Any, reset: bool = True, y_numeric: bool = False
    ) -> Rows:
        """Return validated rows and labels, without those of weight zero."""
        reader: Missing | Named
        encoder = self._encoder_for(X) if reset else getattr(self._reader, "encoder", None)
        if encoder is not None:
            named = Named(encoder) if reset else self._reader
            assert isinstance(named, Named)
            table = self._named_table(encoder, X, reset)
            table, y = check_X_y(table, y, accept_sparse="csr", y_numeric=y_numeric)
            table, y, kept = _weighed(table, y, sample_weight)
            reader = named.with_rows(table, recipe.most_features(None if reset else self.booster_.features))
            table = reader.rows(table)
            if reset and not hasattr(X, "columns"):
                self.n_features_in_ = table.shape[1]
            return Rows(table, y, kept, reader)
        X, y = validate_data(self, X, y, **TABLES, **NUMBERS, reset=reset, y_numeric=y_numeric)
        X, y, kept = _weighed(X, y, sample_weight)
        missing = Missing.none(X.shape[1]) if reset else self._reader
        assert isinstance(missing, Missing)
        reader = missing.with_rows(X)
        X = reader.filled(X)
        if isinstance(X, np.ndarray) and not X.flags.writeable:
            X = X.copy()  # compiled loops are compiled for writable arrays
        return Rows(X, y, kept, reader)

    def _encoder_for(self, X: Any) -> Encoder | None:
        """Return the encoder for a table: the one that was given, or the usual one where there are columns that are not numbers."""
        if self.encoder is None:
            return chosen(True) if has_names(X) else None
        return chosen(self.encoder)

    def _named_table(self, encoder: Encoder, X: Any, reset: bool) -> Any:
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        return encoder.table(X)

    def _predict_many(self, X: Any, staged: bool = False) -> Array:
        check_is_fitted(self)
        reader = self._reader
        if isinstance(reader, Named):
            return self.booster_.predict_many(reader.rows(self._named_table(reader.encoder, X, False)), staged)
        X = validate_data(self, X, reset=False, **TABLES, **NUMBERS)
        return self.booster_.predict_many(reader.filled(X), staged)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        if self.encoder:
            tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        booster, specs = state.pop("booster_", None), {}
        for name, value in list(state.items()):
            if isinstance(value, Spec) and (data := keeping.plain(value)) is not None:
                specs[name] = data
                del state[name]
        return {"plain": state, "specs": specs, "booster": None if booster is None else keeping.packed(booster)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        whole = state["plain"] | {name: from_dict(data) for name, data in state["specs"].items()}
        if state["booster"] is not None:
            whole["booster_"] = keeping.unpacked(state["booster"])
        super().__setstate__(whole)


def _weighed(X: Any, y: NDArray[Any], sample_weight: Any) -> tuple[Any, NDArray[Any], Array | None]:
    """Return rows, labels and weights without those of weight zero."""
    given = weights.checked(sample_weight, len(y))
    if given is None:
        return X, y, None
    kept = np.flatnonzero(given > 0)
    return X[kept], y[kept], given[kept]

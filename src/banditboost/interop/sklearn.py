"""Boosters as estimators of scikit-learn: `BoostedRegressor` and `BoostedClassifier`.

An estimator here is an honest simulation. With ``feedback="bandit"`` its booster is told no label, though a few squared losses
would show it: the estimator computes the losses of the points that the booster asks about, adds `noise` where that is given, and
tells the booster these numbers. Apart from losses, labels decide where predictions may lie: the range of the labels
(`banditboost.interop.targets`, or ``target_range=``), or the number of classes.

``fit`` starts afresh; ``partial_fit`` goes on, in the order of the rows. A row is played as often as its weight says
(`banditboost.interop.weights`). Missing numbers, words, dates and categories are features (`banditboost.interop.tables`).

Saving: pickle, joblib, copy and skops all see plain arrays and JSON in place of a booster. skops must be told to trust one type,
the estimator's own class; for a booster around foreign models (`learners.Wrapped`) skops lists the other types in it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state, check_X_y
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ImportError(
        "banditboost.interop.sklearn needs the extra 'sklearn': pip install 'banditboost[sklearn]'."
    ) from None

from banditboost._core.checks import Array, count
from banditboost._core.spec import Spec, from_dict
from banditboost.algorithms.names import LOSSES_OF_CLASSES, LOSSES_OF_NUMBERS
from banditboost.booster import Booster
from banditboost.chains import Chain
from banditboost.encoder import Encoder, chosen
from banditboost.evaluate import progressive
from banditboost.interop import keeping, weights
from banditboost.interop.growing import stretched, widened
from banditboost.interop.recipes import Recipe, loss_of, noise_of
from banditboost.interop.tables import Missing, Named, has_names
from banditboost.interop.targets import Targets
from banditboost.learners import Learner
from banditboost.losses import Loss
from banditboost.noise import Noise
from banditboost.spaces import Simplex, Space
from banditboost.worlds import Classification, Supervised

__all__ = ["BoostedClassifier", "BoostedRegressor"]

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


class _Boosted(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
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

    def _labelled(self, X: Any, y: Any, sample_weight: Any, reset: bool = True, y_numeric: bool = False) -> Rows:
        """Return validated rows and labels, without those of weight zero."""
        reader: Missing | Named
        encoder = self._encoder_for(X) if reset else getattr(self._reader, "encoder", None)
        if encoder is not None:
            named = Named(encoder) if reset else self._reader
            assert isinstance(named, Named)
            table = self._named_table(encoder, X, reset)
            table, y = check_X_y(table, y, accept_sparse="csr", y_numeric=y_numeric)
            table, y, kept = _weighed(table, y, sample_weight)
            reader = named.with_rows(table)
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


class BoostedRegressor(RegressorMixin, _Boosted):  # type: ignore[misc]
    """Online boosting that learns a number from loss values (or gradients) alone.

    Parameters
    ----------
    learner, copies, answers, chain, feedback, curvature
        As for `banditboost.interop.recipes.Recipe`: by default 30 copies, a linear one and then trees, which ask for 30 loss
        values a row. The default keeps (features)² numbers and trees with room for all features: choose ``learner="coin"``
        for wide sparse tables.
    loss
        ``"squared"``, ``"absolute"``, ``"huber"``, ``"quantile"`` (the median), or any `Loss`.
    noise
        Noise that is added to each loss value: the bound of uniform noise, any `Noise`, or None.
    target_range
        ``(low, high)``: the range of predictions. When not given, it is found from the labels and grows with them; see
        `banditboost.interop.targets`.
    passes
        Number of times that `fit` goes through the rows.
    shuffle
        Whether `fit` shuffles the rows anew in every pass; `partial_fit` never shuffles.
    random_state
        As elsewhere in scikit-learn; a whole number is the booster's seed.
    encoder
        How words, lists of words, dates, truth values and categories become features: True, `banditboost.encoder.Encoder`, or
        False for numbers alone. When not given, there is an encoder where X is a frame of pandas or polars with columns that are
        not numbers, or a list of dictionaries. There are at most 512 features: of the first call those that occur most often, and
        then new ones as they come. In tables of numbers NaN is a missing value.

    Attributes
    ----------
    booster_
        The `Booster`.
    encoder_, encoder_columns_
        The encoder, or None, and its indices that are features.
    missing_columns_
        The columns of a table of numbers that have an indicator of missing values, behind all others.
    target_range_, target_middle_
        The present range of predictions, and the number that is subtracted from labels before losses are computed.
    progressive_loss_, n_samples_seen_
        Mean loss of predictions made before their row was learned from, and their number. `fit` counts its first pass alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])
    >>> model = BoostedRegressor(noise=0.1, random_state=0)
    >>> print(f"{cross_val_score(model, X, y, cv=2).mean():.2f}")
    0.97

    Rows may come in pieces:

    >>> for begin in range(0, 2000, 500):
    ...     model = model.partial_fit(X[begin : begin + 500], y[begin : begin + 500])
    >>> model.n_samples_seen_, round(float(model.predict([[0.5, -0.7, 0.0]])[0]), 1)
    (2000, -0.7)
    """

    def __init__(
        self,
        *,
        learner: str | Learner = "boosted",
        copies: int = 30,
        answers: int | None = None,
        chain: Chain | None = None,
        loss: str | Loss = "squared",
        feedback: str = "bandit",
        noise: float | Noise | None = None,
        target_range: tuple[float, float] | None = None,
        curvature: float | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        encoder: bool | Encoder | None = None,
    ) -> None:
        self.learner = learner
        self.copies = copies
        self.answers = answers
        self.chain = chain
        self.loss = loss
        self.feedback = feedback
        self.noise = noise
        self.target_range = target_range
        self.curvature = curvature
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.encoder = encoder

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start afresh and learn from all rows, each as often as its weight says; weights that are not whole are relative."""
        recipe = self._recipe(LOSSES_OF_NUMBERS)
        rows = self._labelled(X, y, sample_weight, y_numeric=True)
        targets = Targets.begin(self.target_range, recipe.loss, rows.y)
        self._begin(recipe, targets.space, rows)
        self._note(targets)
        self._learn_all(rows, recipe.loss)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning, or begin. Labels beyond the range found so far widen it, and what was learned is kept."""
        first = not hasattr(self, "booster_")
        recipe = self._recipe(LOSSES_OF_NUMBERS)
        rows = self._labelled(X, y, sample_weight, reset=first, y_numeric=True)
        if first:
            targets = Targets.begin(self.target_range, recipe.loss, rows.y)
            self._begin(recipe, targets.space, rows)
        else:
            known = Targets(*self.target_range_, self.target_middle_, self.target_range is not None)
            targets = known.holding(rows.y)
            self._go_on(rows)
            if targets is not known:
                self.booster_ = widened(self.booster_, targets.space)
        self._note(targets)
        self._learn_more(rows, recipe.loss)
        return self

    def _note(self, targets: Targets) -> None:
        self.target_range_, self.target_middle_ = (targets.low, targets.high), targets.middle

    def _world(self, X: Any, y: Array, loss: Loss) -> Supervised:
        return Supervised(X, y - self.target_middle_, loss, noise_of(self.noise), self._draw())

    def predict(self, X: Any) -> Array:
        """Return a number for every row."""
        return self._predict_many(X) + self.target_middle_

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions of the first copy, then of the first two, ..., then of all."""
        yield from self._predict_many(X, staged=True) + self.target_middle_


class BoostedClassifier(ClassifierMixin, _Boosted):  # type: ignore[misc]
    """Online boosting that learns probabilities of classes from loss values (or gradients) alone.

    Parameters
    ----------
    learner, copies, answers, chain, feedback, noise, curvature, passes, shuffle, random_state, encoder
        As for `BoostedRegressor`.
    loss
        ``"brier"`` (or ``"squared"``): the squared distance of the probabilities from the true class; ``"log"``: -log p, linear
        below p = 0.05; or any `Loss`.

    Attributes
    ----------
    classes_
        All classes, sorted, in the order of the columns of probabilities.
    booster_, progressive_loss_, n_samples_seen_
        As for `BoostedRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{cross_val_score(BoostedClassifier(passes=3, random_state=0), X, y).mean():.2f}")
    0.94
    """

    def __init__(
        self,
        *,
        learner: str | Learner = "boosted",
        copies: int = 30,
        answers: int | None = None,
        chain: Chain | None = None,
        loss: str | Loss = "brier",
        feedback: str = "bandit",
        noise: float | Noise | None = None,
        curvature: float | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        encoder: bool | Encoder | None = None,
    ) -> None:
        self.learner = learner
        self.copies = copies
        self.answers = answers
        self.chain = chain
        self.loss = loss
        self.feedback = feedback
        self.noise = noise
        self.curvature = curvature
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.encoder = encoder

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start afresh and learn from all rows, each as often as its weight says; the classes are those found in y."""
        recipe = self._recipe(LOSSES_OF_CLASSES)
        rows = self._labelled(X, y, sample_weight)
        check_classification_targets(rows.y)
        classes = _classes("y", np.unique(rows.y))
        self._begin(recipe, Simplex(len(classes)), rows)
        self.classes_ = classes
        self._learn_all(rows, recipe.loss)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning, or begin; all classes must be given with the first rows."""
        first = not hasattr(self, "booster_")
        if first and classes is None:
            raise ValueError("classes must be given with the first call of partial_fit.")
        named = self.classes_ if classes is None else _classes("classes", unique_labels(classes))
        if not first and not np.array_equal(named, self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()}, got {named.tolist()}."
            )
        recipe = self._recipe(LOSSES_OF_CLASSES)
        rows = self._labelled(X, y, sample_weight, reset=first)
        check_classification_targets(rows.y)
        strange = np.setdiff1d(rows.y, named)
        if len(strange):
            raise ValueError(f"y must hold classes of {named.tolist()}, got {strange[0].item()!r}.")
        if first:
            self._begin(recipe, Simplex(len(named)), rows)
            self.classes_ = named
        else:
            self._go_on(rows)
        self._learn_more(rows, recipe.loss)
        return self

    def _world(self, X: Any, y: NDArray[Any], loss: Loss) -> Classification:
        codes = np.searchsorted(self.classes_, y)
        names = np.arange(len(self.classes_))
        return Classification(X, codes, loss, noise_of(self.noise), self._draw(), names)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class for every row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class for every row."""
        return self._predict_many(X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predictions of the first copy, then of the first two, ..., then of all."""
        for probabilities in self.staged_predict_proba(X):
            yield np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield the probabilities of the first copy, then of the first two, ..., then of all."""
        yield from self._predict_many(X, staged=True)


def _weighed(X: Any, y: NDArray[Any], sample_weight: Any) -> tuple[Any, NDArray[Any], Array | None]:
    """Return rows, labels and weights without those of weight zero."""
    given = weights.checked(sample_weight, len(y))
    if given is None:
        return X, y, None
    kept = np.flatnonzero(given > 0)
    return X[kept], y[kept], given[kept]


def _classes(name: str, found: NDArray[Any]) -> NDArray[Any]:
    if len(found) < 2:
        raise ValueError(f"{name} must hold two classes or more, got {len(found)} class.")
    return found

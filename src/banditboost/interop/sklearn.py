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

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

try:
    from sklearn.base import ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
except ImportError:
    raise ImportError(
        "banditboost.interop.sklearn needs the extra 'sklearn': pip install 'banditboost[sklearn]'."
    ) from None

from banditboost._core.checks import Array
from banditboost.algorithms.names import LOSSES_OF_CLASSES, LOSSES_OF_NUMBERS
from banditboost.chains import Chain
from banditboost.encoder import Encoder
from banditboost.interop.growing import widened
from banditboost.interop.recipes import noise_of
from banditboost.interop.sklearn_base import EstimatorBase
from banditboost.interop.targets import Targets
from banditboost.learners import Learner
from banditboost.losses import Loss
from banditboost.noise import Noise
from banditboost.spaces import Simplex
from banditboost.worlds import Classification, Supervised

__all__ = ["BoostedClassifier", "BoostedRegressor"]


class BoostedRegressor(RegressorMixin, EstimatorBase):  # type: ignore[misc]
    """Online boosting that learns a number from loss values (or gradients) alone.

    Parameters
    ----------
    learner
        ``"boosted"``, as `banditboost.algorithms.boosted`; another name of `banditboost.algorithms.names.LEARNERS`, such
        as ``"trees"`` or ``"coin"``; or any learner that takes contexts.
    copies
        Number of weak learners.
    answers
        How many loss values are asked for each row, around the prediction; as many as copies when not given.
    chain
        How plays become one prediction. When not given, they add up where copies fit what those before them left over, as
        trees do, and are averaged else.
    feedback
        ``"bandit"``: the booster is told loss values alone; ``"full"``: it is told the gradient of the loss at its prediction.
    curvature
        The second derivative of the loss, roughly, with ``feedback="full"`` and a loss that does not know its own; else left out.
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
        not numbers, or a list of dictionaries. Copies that take sparse contexts, as those of ``"boosted"``, have a feature for
        every name and word, up to 262,144; others for at most 512, of the first call those that occur most often, and then new
        ones as they come. In tables of numbers NaN is a missing value.

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
        rows = self._labelled(recipe, X, y, sample_weight, y_numeric=True)
        targets = Targets.begin(self.target_range, recipe.loss, rows.y)
        self._begin(recipe, targets.space, rows)
        self._note(targets)
        self._learn_all(rows, recipe.loss)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning, or begin. Labels beyond the range found so far widen it, and what was learned is kept."""
        first = not hasattr(self, "booster_")
        recipe = self._recipe(LOSSES_OF_NUMBERS)
        rows = self._labelled(recipe, X, y, sample_weight, reset=first, y_numeric=True)
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


class BoostedClassifier(ClassifierMixin, EstimatorBase):  # type: ignore[misc]
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
        rows = self._labelled(recipe, X, y, sample_weight)
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
        rows = self._labelled(recipe, X, y, sample_weight, reset=first)
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


def _classes(name: str, found: NDArray[Any]) -> NDArray[Any]:
    if len(found) < 2:
        raise ValueError(f"{name} must hold two classes or more, got {len(found)} class.")
    return found

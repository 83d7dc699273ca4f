"""Boosters as models of River: `BoostedRegressor` and `BoostedClassifier`.

``learn_one(x, y)`` is a whole round: the booster asks, the model computes the losses of the points asked about from y, adds `noise`
where that is given, and tells the booster these numbers; y itself is not told, though a few squared losses would show it. Labels
may come late, since the booster is asked only when the label is there.

Features have names and columns:

- A name gets a column when it is first learned from, and keeps it; a feature that is missing counts as zero. The first example
  decides the number of columns. When names outnumber columns, the number of columns doubles, and copies that can take more features
  keep all they know (`banditboost.interop.growing`). Other copies start again, on the last `memory` examples.
- Names beyond `max_features` are ignored, in learning and in predicting, so that memory stays bounded.
- Words, lists of words, dates, None and NaN are features as `banditboost.encoder.Encoder` says: an indicator for every word, and
  one for what is missing. With an `encoder` names are its indices; without one they are kept as they are, and numbers are columns
  of their own name. A feature that is absent counts as zero.

The range of predictions of a regressor is found by the rule of `banditboost.interop.targets`. Classes may be new at any time: there
is room for two at first, and when a class finds no room, the model starts again with twice the room, on the last `memory` examples;
`classes` reserves room for all from the start.

`banditboost.learners.Wrapped` is the other direction: models of River as weak learners of a booster.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

try:
    from river import base
except ImportError:
    raise ImportError("banditboost.interop.river needs the extra 'river': pip install 'banditboost[river]'.") from None

from banditboost._core.checks import Array, count, number
from banditboost._core.sparse_row import SparseRow
from banditboost._core.streams import stream
from banditboost.algorithms.names import LOSSES_OF_CLASSES, LOSSES_OF_NUMBERS, MOST_DENSE, most_features
from banditboost.booster import Booster
from banditboost.booster.named import MOST_COLUMNS
from banditboost.chains import Chain
from banditboost.encoder import Encoder, chosen
from banditboost.encoder.encoder import stacked
from banditboost.evaluate import progressive
from banditboost.interop import keeping
from banditboost.interop.growing import stretched, widened
from banditboost.interop.recipes import Recipe, loss_of, noise_of
from banditboost.interop.targets import Targets
from banditboost.learners import Learner
from banditboost.losses import Loss
from banditboost.noise import Noise
from banditboost.spaces import Simplex, Space
from banditboost.worlds import Supervised

__all__ = ["BoostedClassifier", "BoostedRegressor"]

Example = Mapping[Any, Any]


class _Boosted:
    """The common part of both models: columns for names, and a round for every example."""

    def _start(self, losses: Collection[str]) -> None:
        """Check the parameters and set up an empty state."""
        own: Any = self
        parts = (
            own.learner,
            own.copies,
            own.answers,
            own.chain,
            loss_of(own.loss, losses),
            own.feedback,
            own.curvature,
        )
        self._recipe = Recipe(*parts, count("seed", own.seed, least=0))
        self._noise = noise_of(own.noise)
        self._noise_stream = stream(own.seed, "noise")
        if own.max_features is not None:
            count("max_features", own.max_features)
        self._encoder = chosen(own.encoder)
        self._recent: deque[tuple[dict[Any, float], Any]] = deque(maxlen=count("memory", own.memory, least=0))
        self._columns: dict[Any, int] = {}
        self._booster: Booster | None = None

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the state where an example could not be learned from; dictionaries only ever get more names."""
        kept = dict(self.__dict__)
        sizes = {name: len(value) for name, value in kept.items() if isinstance(value, dict)}
        try:
            yield
        except BaseException:
            self.__dict__.update(kept)
            for name, size in sizes.items():
                while len(kept[name]) > size:
                    kept[name].popitem()
            raise

    def _make_columns(self, numbers: dict[Any, float], space: Space) -> Booster:
        """Return a booster with a column for every name, up to `max_features`."""
        new = [name for name in numbers if name not in self._columns]
        new.sort(key=lambda name: (type(name).__name__, str(name)))
        most = self._most()
        for name in new[: max(0, most - len(self._columns))]:
            self._columns[name] = len(self._columns)
        booster, needed = self._booster, max(1, len(self._columns))
        if booster is None:
            booster = self._anew(space, needed)
        elif needed > booster.features:
            # Rows stay narrow as long as that will do.
            most = most if needed > MOST_COLUMNS else min(most, MOST_COLUMNS)
            width = max(needed, min(2 * booster.features, most))
            booster = stretched(booster, width) or self._anew(space, width)
        self._booster = booster
        return booster

    def _most(self) -> int:
        """Return how many names have a column: as many as was said, or as copies take without forgetting."""
        own: Any = self
        if own.max_features is not None:
            return int(own.max_features)
        booster = self._booster
        known = None if booster is None else most_features(booster.spec.learner, booster.features)
        found = known or self._recipe.most_features()
        return found if found > MOST_DENSE else MOST_COLUMNS

    def _anew(self, space: Space, features: int) -> Booster:
        """Return a fresh booster that has learned from the examples in memory."""
        booster = Booster.from_spec(self._recipe.spec(space), features)
        if self._recent:
            rows = [self._row(numbers, booster) for numbers, _ in self._recent]
            X: Any = stacked(rows, features) if isinstance(rows[0], SparseRow) else np.array(rows)
            labels = np.array([self._label(y, space) for _, y in self._recent])
            seed = int(np.random.SeedSequence([self._recipe.seed, len(self._columns), space.size]).generate_state(1)[0])
            progressive(booster, Supervised(X, labels, self._recipe.loss, self._noise, seed))
        return booster

    @abstractmethod
    def _label(self, y: Any, space: Space) -> Array:
        """Return a label as a point of the booster's space."""

    def _row(self, numbers: dict[Any, float], booster: Booster) -> Any:
        found = {self._columns[name]: value for name, value in numbers.items() if value and name in self._columns}
        columns = sorted(found)
        row = SparseRow(np.array(columns, dtype=np.int64), np.array([found[k] for k in columns]), booster.features)
        return row if booster.spec.learner.thin(booster.features) else np.asarray(row)

    def _round(self, booster: Booster, numbers: dict[Any, float], y: Any) -> None:
        """Ask, compute the answers from the label, and tell them."""
        label, loss, gradient = self._label(y, booster.spec.space), self._recipe.loss, booster.spec.gradient

        def answers(queries: Array) -> ArrayLike:
            with np.errstate(over="ignore"):  # the booster raises where answers overflow
                told = loss.value(queries, label) if gradient.asks == "values" else loss.gradient(queries, label)
            return told + self._noise.sample(self._noise_stream, told.shape) if gradient.noisy else told

        booster.step(self._row(numbers, booster), answers)
        self._recent.append((numbers, y))

    def _predict(self, x: Example) -> Array | None:
        booster = self._booster
        numbers = self._numbers(x)
        return None if booster is None else booster.predict(self._row(numbers, booster))

    def _numbers(self, x: Example) -> dict[Any, float]:
        """Return the features of an example as floats, or raise before anything is learned."""
        if self._encoder is None:
            return _numbers(x)
        row = self._encoder.encode(x)
        return dict(zip(row.indices.tolist(), row.values.tolist(), strict=True))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_booster"] = None if self._booster is None else keeping.packed(self._booster)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state["_booster"]
        self.__dict__.update(state, _booster=None if kept is None else keeping.unpacked(kept))


PLAIN = Encoder()
"""Says what words, dates and missing values become where no encoder is given."""


def _numbers(x: Example) -> dict[Any, float]:
    """Return the features of an example as floats, or raise before anything is learned.

    Examples
    --------
    >>> _numbers({"age": 41, "city": "Rom", "note": None})
    {'age': 41.0, ('city=Rom',): 1.0, ('note is missing',): 1.0}
    """
    found: dict[Any, float] = {}
    for name, value in x.items():
        try:
            found[name] = number("x", value)
            continue
        except ValueError:
            if isinstance(value, Real) and value == value:
                raise ValueError(f"x must hold finite numbers, got {value!r:.60} as {name!r:.60}.") from None
        made = PLAIN.pairs({name if isinstance(name, str | int) else str(name): value})
        # A tuple is no name that a number could have.
        found |= {(text,): amount for text, amount in zip(made.texts, made.values.tolist(), strict=True)}
    return found


def _class(y: Any) -> Any:
    """Return a class as a dictionary key, or raise: None is not a class, and NaN, which equals nothing, would always be new."""
    y = y.item() if isinstance(y, np.generic) else y
    if y is None or not isinstance(y, Hashable) or y != y:
        raise ValueError(f"y must be a class, such as a word or a number, got {y!r}.")
    return y


class BoostedRegressor(_Boosted, base.Regressor):
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
    max_features
        Most features; names beyond are ignored. When not given, 262,144 for copies that take sparse contexts and remember rounds,
        as those of ``"boosted"``, and 256 for others.
    memory
        Number of examples that are kept for copies that must start again.
    seed
        Seed of all random numbers.
    encoder
        True, or `banditboost.encoder.Encoder`: names and words become indices of a space of fixed size. When not given, they are
        kept by name. Words, lists of words, dates, None and NaN are features in both cases.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> error = evaluate.progressive_val_score(datasets.TrumpApproval(), BoostedRegressor(), metrics.MAE())
    >>> print(f"{error.get():.1f}")
    0.4
    """

    def __init__(
        self,
        learner: str | Learner = "boosted",
        copies: int = 30,
        answers: int | None = None,
        chain: Chain | None = None,
        loss: str | Loss = "squared",
        feedback: str = "bandit",
        noise: float | Noise | None = None,
        target_range: tuple[float, float] | None = None,
        curvature: float | None = None,
        max_features: int | None = None,
        memory: int = 1000,
        seed: int = 0,
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
        self.max_features = max_features
        self.memory = memory
        self.seed = seed
        self.encoder = encoder
        self._start(LOSSES_OF_NUMBERS)
        self._targets: Targets | None = None
        if target_range is not None:
            self._targets = Targets.given(target_range, self._recipe.loss)

    def learn_one(self, x: Example, y: Any) -> None:
        """Learn from one example by playing a round."""
        numbers, label = self._numbers(x), number("y", y)
        known = self._targets
        targets = Targets.begin(None, self._recipe.loss, label) if known is None else known.holding(label)
        with self._all_or_nothing():
            self._targets = targets
            if self._booster is not None and targets is not known:
                self._booster = widened(self._booster, targets.space)
            self._round(self._make_columns(numbers, targets.space), numbers, label)

    def _label(self, y: Any, space: Space) -> Array:
        assert self._targets is not None
        return np.asarray(y - self._targets.middle)

    def predict_one(self, x: Example) -> float:
        """Return the prediction; before anything is learned, the middle of the range, or zero where the range is not known."""
        prediction, targets = self._predict(x), self._targets
        middle = 0.0 if targets is None else targets.middle
        if prediction is None:
            return 0.5 * targets.low + 0.5 * targets.high if targets is not None else middle
        return float(prediction) + middle


class BoostedClassifier(_Boosted, base.Classifier):
    """Online boosting that learns probabilities of classes from loss values (or gradients) alone.

    Parameters
    ----------
    learner, copies, answers, chain, feedback, noise, curvature, max_features, memory, seed, encoder
        As for `BoostedRegressor`.
    loss
        ``"brier"`` (or ``"squared"``): the squared distance of the probabilities from the true class; ``"log"``: -log p, linear
        below p = 0.05; or any `Loss`.
    classes
        All classes, where they are known in advance: the model then never starts again because of a new class.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> accuracy = evaluate.progressive_val_score(datasets.Phishing(), BoostedClassifier(), metrics.Accuracy())
    >>> print(f"{accuracy.get():.1f}")
    0.9
    """

    def __init__(
        self,
        learner: str | Learner = "boosted",
        copies: int = 30,
        answers: int | None = None,
        chain: Chain | None = None,
        loss: str | Loss = "brier",
        feedback: str = "bandit",
        noise: float | Noise | None = None,
        classes: tuple[Any, ...] | None = None,
        curvature: float | None = None,
        max_features: int | None = None,
        memory: int = 1000,
        seed: int = 0,
        encoder: bool | Encoder | None = None,
    ) -> None:
        self.learner = learner
        self.copies = copies
        self.answers = answers
        self.chain = chain
        self.loss = loss
        self.feedback = feedback
        self.noise = noise
        self.classes = classes
        self.curvature = curvature
        self.max_features = max_features
        self.memory = memory
        self.seed = seed
        self.encoder = encoder
        self._start(LOSSES_OF_CLASSES)
        self._places: dict[Any, int] = {}
        if classes is not None:
            self._places = {name: place for place, name in enumerate(classes)}
            if len(self._places) < 2 or len(self._places) != len(classes):
                raise ValueError(f"classes must be two or more, each once, got {classes!r}.")

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Example, y: Any) -> None:
        """Learn from one example by playing a round."""
        numbers = self._numbers(x)
        y = _class(y)
        if self.classes is not None and y not in self._places:
            raise ValueError(f"y must be one of the classes {list(self._places)}, got {y!r}.")
        with self._all_or_nothing():
            self._places.setdefault(y, len(self._places))
            booster = self._booster
            room = max(2, len(self._places)) if booster is None else booster.spec.space.size
            if booster is not None and len(self._places) > room:
                room *= 2
                self._booster = self._anew(Simplex(room), booster.features)
            self._round(self._make_columns(numbers, Simplex(room)), numbers, y)

    def _label(self, y: Any, space: Space) -> Array:
        label = np.zeros(space.shape)
        label[self._places[y]] = 1.0
        return label

    def predict_proba_one(self, x: Example, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of every class seen or given; an empty dictionary where no class is known yet."""
        prediction = self._predict(x)
        if not self._places:
            return {}
        shares = np.ones(len(self._places)) if prediction is None else prediction[: len(self._places)]
        # Places without a class have a share too, which is divided among the classes.
        shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(shares), 1 / len(shares))
        return dict(zip(self._places, shares.tolist(), strict=True))

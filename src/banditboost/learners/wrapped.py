"""Foreign models as weak learners: any regressor of River or scikit-learn that learns from one example at a time.

Idea: a regressor cannot be trained on linear losses, but it can learn to predict their negative gradients. Every copy has a model
of its own for each coordinate of its play, which is trained in each round on the example

    (x, -g_i/c)          c: `curvature`

A model that minimises squared errors then minimises (c/2) ‖a + g_i/c‖² = g_i·a + (c/2) ‖a‖² + const: the linear loss plus a
curvature c that keeps plays bounded. The guarantees of weak learners become a condition on the model's squared errors: if their sum
exceeds that of the best f in its class by at most R(T), then

    Σ g·a  ≤  Σ g·f(x)  +  (c/2) Σ (‖f(x)‖² - ‖a‖²)  +  (c/2) R(T)

which is the weak-learning condition (Definition 6) up to the term in the middle. A small c makes that term small, and the targets
-g/c, with them R(T), large.

Neither library is imported: a model is whatever has `predict_one(x)` and `learn_one(x, y)` on dictionaries of features, as River's
have, or `predict(X)` and `partial_fit(X, y)` on tables, as some of scikit-learn's have.

References
----------
Friedman (2001), "Greedy function approximation", Algorithm 1, line 4: fit the negative gradient by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, all_finite, positive
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.learners.foreign import check_model, maker
from banditboost.spaces import Space

METHODS = (("predict_one", "learn_one"), ("predict", "partial_fit"))
"""What a model has: River's methods, or those of scikit-learn."""
OBJECT = 32
"""How many numbers a model counts as before it is made: what its arrays hold is known only afterwards."""


@dataclass(frozen=True)
class Wrapped(Learner, kind="learners.Wrapped"):
    """N copies of a foreign regressor.

    A booster with such copies can be saved only where models keep all of their state in arrays of fixed shape, which a method
    ``arrays() -> dict[str, array]`` returns, and where `model` is a function or class with a name (`banditboost.Named` gives one to
    a lambda). The file holds that name only: pass the function in `parts` when it is read. Other models play and learn, but cannot
    be written to a file: train such a booster anew, or pickle the models yourself.

    Parameters
    ----------
    model
        A fresh model, which is copied for every copy and coordinate; or a function or class that makes one, either without
        arguments or from a whole number, which differs from copy to copy and may serve as random state.
    curvature
        c: models learn -g/c. Use the second derivative of the loss where it is known (2 for the squared loss).

    Examples
    --------
    >>> class Mean:
    ...     total, seen = 0.0, 0
    ...     def predict_one(self, x):
    ...         return self.total / max(1, self.seen)
    ...     def learn_one(self, x, y):
    ...         self.total, self.seen = self.total + y, self.seen + 1
    >>> from banditboost.spaces import Interval
    >>> bank = Wrapped(Mean()).start(copies=2, space=Interval(0, 1), features=1, rng=np.random.default_rng(0))
    >>> for t, y in enumerate([0.3, 0.5, 0.7], start=1):
    ...     bank.update(np.array([1.0]), np.array([-2 * y, 0.0]), t)
    >>> bank.play(np.array([1.0])).tolist()
    [0.5, 0.0]
    """

    model: Any
    curvature: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("curvature", self.curvature)
        check_model(self.model, METHODS)

    @classmethod
    def examples(cls) -> tuple[Wrapped, ...]:
        """Give a model that can be saved."""
        return (cls(least_squares),)

    @property
    def fits_residuals(self) -> bool:
        """True: a model learns the negative gradient at what the copies before it have made."""
        return True

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> WrappedBank:
        """Make a model for every copy and coordinate."""
        return WrappedBank(self, self.draw(copies, space.size, rng), space.shape)

    def draw(self, copies: int, coordinates: int, rng: np.random.Generator) -> list[list[Any]]:
        """Make fresh models, each from a random seed of its own, by copy and coordinate."""
        seeds, make = rng.integers(2**31 - 1, size=(copies, coordinates)).tolist(), maker(self.model, METHODS)
        return [[make(seed) for seed in row] for row in seeds]

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return how many numbers the models take at least: an object of Python takes as much memory as some dozens."""
        return OBJECT * copies * space.size


class WrappedBank(Bank):
    """Models by copy and coordinate."""

    def __init__(self, spec: Wrapped, models: list[list[Any]], shape: tuple[int, ...]) -> None:
        self.spec, self.models, self.shape = spec, models, shape
        self.told = np.zeros(1)
        """Number of examples that every model has learned from: models of scikit-learn cannot predict before the first."""
        self.by_one = hasattr(models[0][0], "predict_one")

    def play(self, context: Array | None) -> Array:
        """Return the models' predictions; zero before they have learned anything."""
        assert context is not None  # the loop gives contextual learners a context
        if not self.told[0]:
            return np.zeros((len(self.models), *self.shape))
        if self.by_one:
            plays = [[model.predict_one(_named(context)) for model in row] for row in self.models]
        else:
            plays = [[np.ravel(model.predict(context[np.newaxis]))[0] for model in row] for row in self.models]
        result = np.array(plays, dtype=np.float64).reshape(len(self.models), *self.shape)
        if not all_finite(result):
            name = type(self.models[0][0]).__name__
            raise ValueError(f"learner must predict finite numbers, got NaN or infinity from the wrapped model {name}.")
        return result

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Train every model on its negative gradient."""
        assert context is not None
        targets = (-gradients / self.spec.curvature).reshape(len(self.models), -1)
        for row, wanted in zip(self.models, targets.tolist(), strict=True):
            for model, target in zip(row, wanted, strict=True):
                if self.by_one:
                    model.learn_one(_named(context), target)
                else:
                    model.partial_fit(context[np.newaxis], np.array([target]))
        self.told += 1

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Replace the models of these copies by fresh ones, which play what they predict before they have learned anything."""
        if not self.by_one:
            raise TypeError(
                f"The copies of a {self.kind} learner cannot be reset where models have predict and partial_fit: "
                "such a model cannot predict before it has learned."
            )
        fresh = self.spec.draw(len(copies), len(self.models[0]), rng)
        for i, row in zip(copies.tolist(), fresh, strict=True):
            self.models[i] = row

    def stretched(self, features: int, rng: np.random.Generator) -> None:
        """Return None: a foreign model takes the number of features that it began with."""
        return

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: what foreign models have learned is not known here."""
        return [Learned(self.kind, len(self.models))]

    @property
    def shared(self) -> frozenset[str]:
        """All arrays: the first axis of a model's own array is not the copy."""
        return frozenset(self.arrays())

    def arrays(self) -> dict[str, Any]:
        """Return the models' own arrays, each under the numbers of its copy and coordinate."""
        found: dict[str, Any] = {"told": self.told}
        for i, row in enumerate(self.models):
            for j, model in enumerate(row):
                if not hasattr(model, "arrays"):
                    raise TypeError(
                        f"A {type(model).__name__} cannot be saved: only foreign models that show their state by a method "
                        "arrays() can be written to a file."
                    )
                found |= {f"{i}.{j}.{name}": array for name, array in model.arrays().items()}
        return found


def _named(context: Array) -> dict[str, float]:
    """Return features as River takes them, in a new dictionary for every model, since some models keep it."""
    return {f"x{k}": value for k, value in enumerate(context.tolist())}


class LeastSquares:
    """Normalised least mean squares (Widrow, Hoff 1960): a minimal model with the methods that `Wrapped` needs."""

    def __init__(self, step: float = 0.5) -> None:
        self.step = step
        self.weights = np.zeros(2)

    def predict_one(self, x: dict[str, float]) -> float:
        """Return a + b·(sum of the features)."""
        return float(self.weights @ self._seen(x))

    def learn_one(self, x: dict[str, float], y: float) -> None:
        """Move the prediction a part of the way towards the target."""
        seen = self._seen(x)
        self.weights += self.step * (y - self.predict_one(x)) * seen / (seen @ seen)

    def arrays(self) -> dict[str, Array]:
        """Return the two weights."""
        return {"weights": self.weights}

    @staticmethod
    def _seen(x: dict[str, float]) -> Array:
        return np.array([1.0, sum(x.values())])


def least_squares() -> LeastSquares:
    """Make a model that can be saved: an example."""
    return LeastSquares()

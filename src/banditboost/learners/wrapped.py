"""Foreign models as weak learners: any regressor of River or scikit-learn that learns from one example at a time.

Idea: a regressor knows nothing of linear losses, but can be asked to predict where they point. Every copy has a model of its own
for each coordinate of its play, which is trained, each round, on the example

    (x, -g_i/c)          c: `curvature`

A model that minimises squared errors then works on (c/2) ‖a + g_i/c‖² = g_i·a + (c/2) ‖a‖² + const: the linear loss, and a
curvature c that keeps plays bounded. What the library's guarantees ask of a weak learner becomes a demand on the model's squared
errors: if they exceed those of the best f in its class by at most R(T) in all, then

    Σ g·a  ≤  Σ g·f(x)  +  (c/2) Σ (‖f(x)‖² - ‖a‖²)  +  (c/2) R(T)

which is the weak-learning condition (Definition 5) up to the term in the middle. A small c makes that term small, and the targets
-g/c, with them R(T), large.

Neither library is imported: a model is whatever has `predict_one(x)` and `learn_one(x, y)` on dictionaries of features, as River's
have, or `predict(X)` and `partial_fit(X, y)` on tables, as some of scikit-learn's have.

References
----------
Friedman (2001), "Greedy function approximation", Algorithm 1, line 4: fit the negative gradient by least squares.
"""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, all_finite, positive
from banditboost.learners.base import Bank, Learner
from banditboost.spaces import Space


@dataclass(frozen=True)
class Wrapped(Learner, kind="learners.Wrapped"):
    """N copies of a foreign regressor.

    A booster around one can be saved only where the models keep all they know in arrays of fixed shape and show them by a method
    ``arrays() -> dict[str, array]``, and where `model` is a function or class with a name (`banditboost.Named` gives one to a
    lambda). The file holds that name only: pass the function in `parts` when it is read. Others play and learn, but cannot be
    written to a file: train such a booster anew, or pickle the models yourself.

    Parameters
    ----------
    model
        A fresh model, which is copied for every copy and coordinate; or a function (or class) that makes one, without arguments
        or from a whole number, which differs from copy to copy and may serve as its random state.
    curvature
        c: models learn -g/c. That of the loss, where it is known (2 for the squared).

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
        if not (_is_model(self.model) or callable(self.model)):
            raise ValueError(
                "model must have predict_one and learn_one, or predict and partial_fit, or be a function that makes such a model; "
                f"got {self.model!r}."
            )

    @classmethod
    def examples(cls) -> tuple[Wrapped, ...]:
        """A model that can be saved."""
        return (cls(least_squares),)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> WrappedBank:
        """Make a model for every copy and coordinate."""
        seeds = rng.integers(2**31 - 1, size=(copies, space.size)).tolist()
        models = [[_make(self.model, seed) for seed in row] for row in seeds]
        return WrappedBank(models, self.curvature, space.shape)


class WrappedBank(Bank):
    """Models by copy and coordinate."""

    def __init__(self, models: list[list[Any]], curvature: float, shape: tuple[int, ...]) -> None:
        self.models, self.curvature, self.shape = models, curvature, shape
        self.told = np.zeros(1)
        """How many examples every model has learned: models of scikit-learn cannot predict before the first."""
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
        """Let every model learn where its linear loss points."""
        assert context is not None
        targets = (-gradients / self.curvature).reshape(len(self.models), -1)
        for row, wanted in zip(self.models, targets.tolist(), strict=True):
            for model, target in zip(row, wanted, strict=True):
                if self.by_one:
                    model.learn_one(_named(context), target)
                else:
                    model.partial_fit(context[np.newaxis], np.array([target]))
        self.told += 1

    def arrays(self) -> dict[str, Any]:
        """Return the models' own arrays, each under its copy and coordinate."""
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
    """Features as River wants them; a dictionary of its own for every model, since some keep it."""
    return {f"x{k}": value for k, value in enumerate(context.tolist())}


def _is_model(candidate: Any) -> bool:
    pairs = (("predict_one", "learn_one"), ("predict", "partial_fit"))
    if isinstance(candidate, type):  # a class has the methods too, but is not a model
        return False
    return any(all(callable(getattr(candidate, name, None)) for name in pair) for pair in pairs)


def _make(model: Any, seed: int) -> Any:
    if _is_model(model):
        return copy.deepcopy(model)
    try:
        takes = list(inspect.signature(model).parameters.values())
    except ValueError:  # built-in classes do not say
        takes = []
    needed = [p for p in takes if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    made = model(seed) if needed else model()
    if not _is_model(made):
        raise ValueError(
            f"model must make something with predict_one and learn_one, or predict and partial_fit; it made {made!r}."
        )
    return made


class LeastSquares:
    """Normalised least mean squares (Widrow, Hoff 1960): the smallest model with the methods that `Wrapped` needs."""

    def __init__(self, step: float = 0.5) -> None:
        self.step = step
        self.weights = np.zeros(2)

    def predict_one(self, x: dict[str, float]) -> float:
        """Return a + b·(sum of the features)."""
        return float(self.weights @ self._seen(x))

    def learn_one(self, x: dict[str, float], y: float) -> None:
        """Go a part of the way to what would have been right."""
        seen = self._seen(x)
        self.weights += self.step * (y - self.predict_one(x)) * seen / (seen @ seen)

    def arrays(self) -> dict[str, Array]:
        """Return the two weights."""
        return {"weights": self.weights}

    @staticmethod
    def _seen(x: dict[str, float]) -> Array:
        return np.array([1.0, sum(x.values())])


def least_squares() -> LeastSquares:
    """Make a model that can be saved, to show how."""
    return LeastSquares()

"""A batch model that is fitted anew on remembered rounds: LightGBM, XGBoost, CatBoost or any regressor of scikit-learn.

Idea: as `Grown`, with a model of another library in place of our own trees. Rounds are kept, each with its context and with where
the loss would have been least (a pseudo-label), and the model is fitted on all of them whenever their number has grown by 30 %:

    z_t = y_t - g_t / 2           g_t the gradient at y_t, of a loss whose curvature is 2

What is played is what the model says, or the mean of all pseudo-labels, whichever has erred less on rounds that the model had not
seen; rounds before each fit weigh half. Memory is bounded in bytes: where it is full, a new round takes the place of one drawn at
random.

Nothing of a model is ever written to a file. The rows that it was fitted on are, and the number that it was made from: a booster
that is loaded fits its models again, which gives the same models where fitting is reproducible.

References
----------
Aggarwal (2006), "On biased reservoir sampling in the presence of stream evolution".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, all_finite, count, number, room
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.learners.foreign import check_model, maker
from banditboost.learners.forgotten import Erased, overwrite
from banditboost.learners.grown import FAR, MOST_ROWS
from banditboost.spaces import Space

SEEN, ROWS, NEXT, FITTED, FITS = range(5)
"""Columns of a bank's clock: rounds seen, rows kept, the round of the next fit, rows of the last fit, and fits so far."""
METHODS = (("fit", "predict"),)
"""What a model has, as those of scikit-learn and of libraries that go with it."""
LARGEST = 3e38
"""Largest number that a row may have: rows are kept in single precision."""


@dataclass(frozen=True)
class Refit(Learner, kind="learners.Refit"):
    """One prediction from a foreign model that is fitted anew on remembered rounds.

    Parameters
    ----------
    model
        A fresh model with ``fit(X, y)`` and ``predict(X)``, which is copied for every copy and coordinate; or a function or class
        that makes one, either without arguments or from a whole number, which may serve as random state. With a model, the booster
        cannot be saved: files hold the names of functions and classes, and never a model.
    first, growth
        The model is fitted after `first` rounds, and whenever the number of rounds has grown by the factor `growth`.
    memory
        Most bytes of the rounds remembered, and of those that the model in use was fitted on.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Refit(Line, first=20).start(1, Interval(0, 1), 1, np.random.default_rng(0))
    >>> for x in np.random.default_rng(1).uniform(size=(100, 1)):
    ...     bank.remember(x, np.array([0.5]), np.array([2.0 * (0.5 - 0.8 * x[0])]))
    >>> [round(float(bank.play(np.array([x]))[0]), 2) for x in (0.25, 0.75)]
    [0.2, 0.6]
    """

    model: Any
    first: int = 50
    growth: float = 1.3
    memory: int = 2**25

    def __post_init__(self) -> None:
        super().__post_init__()
        count("first", self.first, least=2)
        count("memory", self.memory)
        if number("growth", self.growth) <= 1:
            raise ValueError(f"growth must be above 1, got {self.growth!r}.")
        check_model(self.model, METHODS)

    @classmethod
    def examples(cls) -> tuple[Refit, ...]:
        """Give a model that any booster can be saved with, fitted early and on few rows."""
        return (cls(Line, first=4, memory=2000),)

    @property
    def branches(self) -> bool:
        """True: the model may."""
        return True

    @property
    def remembers(self) -> bool:
        """True."""
        return True

    @property
    def fits_residuals(self) -> bool:
        """True: copies before it are not averaged with it, but mixed by the chain."""
        return True

    def most_rows(self, features: int, outputs: int) -> int:
        """Return how many rounds are remembered."""
        return max(min(self.memory // (2 * (4 * features + 8 * outputs)), MOST_ROWS), self.first)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: mostly those of the rounds remembered."""
        d = space.size
        return copies * (2 * self.most_rows(features, d) * (features + d) + 7 + 2 * d)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> RefitBank:
        """Remember nothing, and play the centre of the space."""
        room(f"the rounds of a model with {features} features", self.n_floats(copies, space, features))
        n, d = self.most_rows(features, space.size), space.size
        clock = np.zeros((copies, 5), dtype=np.int64)
        clock[:, NEXT] = self.first
        memory = {
            "clock": clock,
            "rows": np.zeros((copies, n, features), dtype=np.float32),
            "targets": np.zeros((copies, n, d)),
            "fitted_rows": np.zeros((copies, n, features), dtype=np.float32),
            "fitted_targets": np.zeros((copies, n, d)),
            "mean": np.tile(np.ravel(space.inner_centre).astype(np.float64), (copies, 1)),
            "errors": np.zeros((copies, 2)),
            "seeds": rng.integers(2**31 - 1, size=(copies, d)),
        }
        return RefitBank(self, space, memory)


class RefitBank(Bank):
    """What copies remember, and the models that were fitted on it."""

    def __init__(self, spec: Refit, space: Space, memory: dict[str, Any]) -> None:
        self.spec, self.space, self.memory = spec, space, memory
        centre = np.ravel(space.inner_centre)
        self.ends = centre - FAR * space.extents, centre + FAR * space.extents
        self.models: list[list[Any]] = [[] for _ in memory["clock"]]
        self.fits = [0] * len(
            self.models
        )  # which fit the models are of; where the clock says another, they are made again

    def play(self, context: Array | None) -> Array:
        """Return what has erred less so far, the model or the mean, for every copy."""
        assert context is not None  # the loop gives contextual learners a context
        return self.play_many(context[np.newaxis])[:, 0]

    def play_many(self, contexts: Array) -> Array:
        """Return the same for every row."""
        X, memory = _rows(contexts), self.memory
        said = np.empty((len(self.models), len(X), self.space.size))
        for i, (of_mean, of_model) in enumerate(memory["errors"].tolist()):
            said[i] = self._said(i, X) if memory["clock"][i, FITS] and of_model < of_mean else memory["mean"][i]
        return said.reshape(*said.shape[:2], *self.space.shape)

    def _said(self, i: int, X: NDArray[np.float32]) -> Array:
        """Return what the models of a copy say, shape (rows, d)."""
        made = self.memory["clock"][i, FITS]
        if self.fits[i] != made:
            n = self.memory["clock"][i, FITTED]
            if not 0 < n <= self.memory["rows"].shape[1]:
                raise ValueError("What is remembered is damaged: its model was fitted on rows that are not there.")
            rows, targets = self.memory["fitted_rows"][i, :n], self.memory["fitted_targets"][i, :n]
            make = maker(self.spec.model, METHODS)
            models = [make(int(seed)) for seed in self.memory["seeds"][i]]
            for j, model in enumerate(models):
                model.fit(rows.copy(), targets[:, j].copy())
            self.models[i], self.fits[i] = models, int(made)
        return np.asarray(np.clip(np.column_stack([_predicted(model, X) for model in self.models[i]]), *self.ends))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Do nothing: what is learned is learned by `remember`."""

    def remember(self, context: Array | None, anchors: Array, gradients: Array) -> None:
        """Judge the model and the mean by where the loss would have been least, remember it, and fit anew where it is time."""
        assert context is not None
        targets = (anchors - 0.5 * np.asarray(gradients)).reshape(len(self.models), -1)
        x, targets = _rows(context[np.newaxis]), np.clip(targets, *self.ends)
        clock, memory = self.memory["clock"], self.memory
        # Models come first: they may raise, and nothing must have changed then.
        said = [self._said(i, x)[0] if clock[i, FITS] else memory["mean"][i].copy() for i in range(len(targets))]
        for i, target in enumerate(targets):
            memory["errors"][i] += np.square(memory["mean"][i] - target).sum(), np.square(said[i] - target).sum()
            clock[i, SEEN] += 1
            memory["mean"][i] += (target - memory["mean"][i]) / clock[i, SEEN]
            place = self._place(i)
            memory["rows"][i, place], memory["targets"][i, place] = x[0], target
            if clock[i, SEEN] >= clock[i, NEXT]:
                self._fit(i)

    def forget(self, erased: Erased) -> int:
        """Overwrite remembered rows, by their numbers, and those that models were fitted on: models are fitted again."""
        total, clock = 0, self.memory["clock"]
        for i in range(len(self.models)):
            for name, held in (("", int(clock[i, ROWS])), ("fitted_", int(clock[i, FITTED]))):
                rows, targets = self.memory[f"{name}rows"][i], self.memory[f"{name}targets"][i]
                same = (rows[:held, np.newaxis] == _rows(erased.contexts)).all(axis=2).any(axis=1)
                overwrite(np.flatnonzero(same), held, rows, targets)
                total += int(same.sum())
            self.models[i], self.fits[i] = [], 0
        return total

    def _place(self, i: int) -> int:
        """Return where a new round is kept: at the end, or where memory is full in the place of one drawn at random."""
        clock, most = self.memory["clock"], self.memory["rows"].shape[1]
        if 0 <= clock[i, ROWS] < most:
            clock[i, ROWS] += 1
            return int(clock[i, ROWS]) - 1
        return int(np.random.default_rng([int(self.memory["seeds"][i, 0]), int(clock[i, SEEN])]).integers(most))

    def _fit(self, i: int) -> None:
        """Take the rows kept for those to fit on; the models are made when they are next asked."""
        clock, n = self.memory["clock"], self.memory["clock"][i, ROWS]
        for name in ("rows", "targets"):
            self.memory[f"fitted_{name}"][i, :n] = self.memory[name][i, :n]
        clock[i, FITTED], clock[i, NEXT] = n, min(np.ceil(clock[i, SEEN] * self.spec.growth), 2**62)
        clock[i, FITS] += 1
        self.memory["errors"][i] *= 0.5

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Let these copies forget all rounds, and play the centre of the space again."""
        fresh = self.spec.start(len(copies), self.space, self.memory["rows"].shape[2], rng).memory
        for name, array in self.memory.items():
            array[copies] = fresh[name]
        for i in copies.tolist():
            self.models[i], self.fits[i] = [], 0

    def stretched(self, features: int, rng: np.random.Generator) -> RefitBank:
        """Return a bank whose rows have more features, which were zero; where memory is short, the last rows are left out."""
        larger = self.spec.start(len(self.models), self.space, features, rng)
        most = min(larger.memory["rows"].shape[1], self.memory["rows"].shape[1])
        for name, array in larger.memory.items():
            before = self.memory[name]
            if name.endswith("rows"):
                array[:, :most, : before.shape[2]] = before[:, :most]
            elif name.endswith("targets"):
                array[:, :most] = before[:, :most]
            else:
                array[...] = before
        for column in (ROWS, FITTED):
            larger.memory["clock"][:, column] = np.minimum(larger.memory["clock"][:, column], most)
        return larger

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: what foreign models have learned is not known here."""
        return [Learned(self.kind, len(self.models))]

    def arrays(self) -> dict[str, Array]:
        """Return what is remembered; models are fitted on it again where it has changed."""
        return self.memory


def _rows(contexts: Array) -> NDArray[np.float32]:
    return np.clip(contexts, -LARGEST, LARGEST).astype(np.float32)


def _predicted(model: Any, X: NDArray[np.float32]) -> Array:
    """Return what a model says of every row; raise where it says anything but a finite number of each."""
    name, made = type(model).__name__, model.predict(X.copy())
    try:
        said = np.asarray(made, dtype=np.float64)
    except (TypeError, ValueError):
        said = np.empty(0)
    if said.size != len(X):
        raise ValueError(f"learner must predict one number a row, got {made!r:.100} from the refitted model {name}.")
    if not all_finite(said):
        raise ValueError(f"learner must predict finite numbers, got NaN or infinity from the refitted model {name}.")
    return said.reshape(-1)


class Line:
    """Ridge regression on standardised features: a minimal model with the methods that `Refit` needs."""

    def __init__(self, ridge: float = 1.0) -> None:
        self.ridge = ridge

    def fit(self, X: Array, y: Array) -> None:
        """Find the line."""
        X = np.asarray(X, dtype=np.float64)
        self.mean, self.level, spread = X.mean(axis=0), float(y.mean()), X.std(axis=0)
        self.unit = np.where(spread > 0, spread, 1.0)
        Z = (X - self.mean) / self.unit
        self.weights = np.linalg.solve(Z.T @ Z + self.ridge * np.eye(Z.shape[1]), Z.T @ (y - self.level))

    def predict(self, X: Array) -> Array:
        """Return where it lies."""
        return np.asarray(self.level + (np.asarray(X, dtype=np.float64) - self.mean) / self.unit @ self.weights)

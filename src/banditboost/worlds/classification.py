"""Classification as bandit feedback: predictions are probabilities, and the class is never revealed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray, spmatrix

from banditboost._core.checks import count
from banditboost.losses import Loss
from banditboost.noise import Noise
from banditboost.spaces import Simplex
from banditboost.worlds.supervised import Supervised


class Classification(Supervised):
    """Round t shows the context x_t and charges ℓ(p, e_c) for probabilities p; the class c (unit vector e_c) is never revealed.

    Parameters
    ----------
    contexts
        As for `Supervised`.
    classes
        The class of every row: numbers or strings, shape (T,).
    loss
        The loss of a prediction; by default Brier's score ‖p - e_c‖², which is exactly quadratic. The loss
        ``losses.Bregman("entropy", floor)`` is -log p_c where p_c is at least the floor, and is continued as a line below it.
    noise, seed
        As for every world.
    names
        All classes, in the order of the coordinates of predictions; needed where not every class occurs in the rows. By default
        the classes that occur, sorted.

    References
    ----------
    Brier (1950), "Verification of forecasts expressed in terms of probability".

    Examples
    --------
    >>> world = Classification([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> world.names, world.labels().tolist(), world.space
    (('no', 'yes'), [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], Simplex(dimension=2, total=1.0, floor=0.0))
    >>> world.values(1, np.array([[0.25, 0.75], [1.0, 0.0]])).tolist()
    [0.125, 2.0]
    >>> round(world.accuracy([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]), 4)
    0.6667
    """

    def __init__(
        self,
        contexts: ArrayLike | sparray | spmatrix,
        classes: ArrayLike,
        loss: Loss | None = None,
        noise: Noise | None = None,
        seed: int = 0,
        names: ArrayLike | None = None,
    ) -> None:
        self._names, self._codes = _coded(np.asarray(classes), None if names is None else np.asarray(names))
        super().__init__(contexts, np.eye(len(self._names))[self._codes], loss, noise, seed)

    @property
    def names(self) -> tuple[Any, ...]:
        """All classes, in the order of the coordinates of predictions."""
        return tuple(self._names.tolist())

    @property
    def space(self) -> Simplex:
        """The simplex in which predictions lie."""
        return Simplex(len(self._names))

    def classes(self, begin: int = 0, end: int | None = None) -> NDArray[np.intp]:
        """Return the classes of rounds begin ... end-1 as indices into `names`, for comparators and not for learners."""
        return self._codes[self._order[begin:end]]

    def hits(self, predictions: ArrayLike) -> NDArray[np.bool_]:
        """Say for every round whether its class had the largest probability in the prediction (the first among equals).

        Parameters
        ----------
        predictions
            Shape (T, K): ``trace.predictions`` of a run on this world.
        """
        guesses, shape = np.asarray(predictions), (len(self), len(self._names))
        if guesses.shape != shape:
            raise ValueError(f"predictions must have shape {shape}, one for every round, got {guesses.shape}.")
        return np.asarray(guesses.argmax(axis=1) == self.classes())

    def accuracy(self, predictions: ArrayLike, since: int = 0) -> float:
        """Return the fraction of hits from round `since` on, where the first round is 0."""
        if count("since", since, least=0) >= len(self):
            raise ValueError(f"since must be below the {len(self)} rounds of this world, got {since}.")
        return float(self.hits(predictions)[since:].mean())


def _coded(classes: NDArray[Any], names: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return all classes, and for every row the index of its class among them."""
    if classes.ndim != 1:
        raise ValueError(f"classes must have one axis, got shape {classes.shape}.")
    found, codes = np.unique(classes, return_inverse=True)
    if names is None:
        names = found
    if names.ndim != 1 or len(np.unique(names)) != len(names):
        raise ValueError(f"names must list every class once, got {names.tolist()}.")
    if len(names) < 2:
        raise ValueError(
            f"classes must have two or more different values, got {len(names)}: list all classes in names."
        )
    order = np.argsort(names)
    places = np.minimum(np.searchsorted(names, found, sorter=order), len(names) - 1)
    if (names[order[places]] != found).any():
        strange = found[names[order[places]] != found]
        raise ValueError(f"classes must be among names, got {strange[0].item()!r}.")
    return names, np.asarray(order[places][codes], dtype=np.intp)

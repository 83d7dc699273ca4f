"""Labelled data as bandit feedback: contexts are shown, and labels are never revealed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, sparray, spmatrix

from banditboost._core.checks import Array, count, finite
from banditboost._core.shown import Shown
from banditboost._core.streams import stream
from banditboost.encoder import Encoder
from banditboost.losses import Loss, Squared
from banditboost.noise import Noise
from banditboost.spaces import Space
from banditboost.worlds.base import World, WorldBlock

if TYPE_CHECKING:
    from banditboost.worlds.from_file import FromFile


class Supervised(World):
    """Round t shows the context x_t and charges ℓ(ŷ, y_t) for a label y_t that is never revealed.

    Parameters
    ----------
    contexts
        Shape (T, features): an array, or any of SciPy's sparse arrays and matrices, which are kept as CSR and never made dense.
        Both give the same rounds.
    labels
        Shape (T,) or (T, *shape).
    loss
        The loss of a prediction; by default the squared loss.
    noise, seed
        As for every world.

    Examples
    --------
    >>> from banditboost.noise import Uniform
    >>> world = Supervised([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0], noise=Uniform(0.1))
    >>> tuning, testing = world.shuffled(seed=0).halves()
    >>> len(tuning), len(testing), world.values(2, np.array([3.0, 4.0])).tolist()
    (2, 2, [1.0, 0.0])
    >>> sparse = Supervised(csr_array(world.contexts()), world.labels())
    >>> sparse.sparse, sparse.contexts(1, 3).nnz, sparse.context(2).tolist()
    (True, 2, [2.0])
    """

    def __init__(
        self,
        contexts: ArrayLike | sparray | spmatrix,
        labels: ArrayLike,
        loss: Loss | None = None,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(noise, seed)
        self.loss = Squared() if loss is None else loss
        if isinstance(contexts, sparray | spmatrix):
            self._contexts: Array | csr_array = _canonical(contexts)
        else:
            self._contexts = finite("contexts", contexts, copy=False)
        self._labels = finite("labels", labels, copy=False)
        shape = self._contexts.shape
        if len(shape) != 2:
            raise ValueError(f"contexts must have shape (rounds, features), got {shape}.")
        if shape[0] == 0:
            raise ValueError("contexts must have at least one row, got none.")
        if self._labels.ndim == 0 or len(self._labels) != shape[0]:
            raise ValueError(f"labels must be as many as contexts, got {self._labels.shape} for {shape[0]} contexts.")
        self._order: NDArray[np.intp] = np.arange(shape[0])

    @classmethod
    def scan(
        cls,
        path: str | os.PathLike[str],
        target: str = "label",
        features: Sequence[str] | None = None,
        loss: Loss | None = None,
        noise: Noise | None = None,
        seed: int = 0,
        encoder: bool | Encoder | None = None,
    ) -> FromFile:
        """Return a `FromFile`, a world that reads its rounds from a file as they are played."""
        from banditboost.worlds.from_file import FromFile

        if cls not in (Supervised, FromFile):
            raise ValueError(f"scan must be called on Supervised, got {cls.__name__}.")
        return FromFile(path, target, features, loss, noise, seed, encoder)

    def __len__(self) -> int:
        return len(self._order)

    @property
    def features(self) -> int:
        """Length of a context."""
        return int(self._contexts.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a label."""
        return self._labels.shape[1:]

    @property
    def sparse(self) -> bool:
        """True where contexts are kept as a sparse CSR array."""
        return isinstance(self._contexts, csr_array)

    def contexts(self, begin: int = 0, end: int | None = None) -> Any:
        """Return the contexts of rounds begin ... end-1 as one array; as CSR where the world is sparse."""
        return self._contexts[self._order[begin:end]]

    def stored(self, begin: int = 0, end: int | None = None) -> tuple[Array | csr_array, NDArray[np.intp]]:
        """Return all contexts as they are stored, and the indices of rounds begin ... end-1 in them, without a copy."""
        return self._contexts, self._order[begin:end]

    def labels(self, begin: int = 0, end: int | None = None) -> Array:
        """Return the labels of rounds begin ... end-1 as one array, for comparators and not for learners."""
        return self._labels[self._order[begin:end]]

    def context(self, t: int) -> Array:
        """Return x_t as a dense array."""
        row = self._order[t]
        if not isinstance(self._contexts, csr_array):
            return np.asarray(self._contexts[row])
        part = slice(self._contexts.indptr[row], self._contexts.indptr[row + 1])
        x = np.zeros(self.features)
        x[self._contexts.indices[part]] = self._contexts.data[part]
        return x

    def values(self, t: int, points: Array) -> Array:
        """Return ℓ(point, y_t)."""
        return self.loss.value(points, self._labels[self._order[t]])

    def gradients(self, t: int, points: Array) -> Array:
        """Return ∇ℓ(point, y_t)."""
        return self.loss.gradient(points, self._labels[self._order[t]])

    def compiled_block(self, begin: int, end: int) -> WorldBlock:
        """Return contexts where they are kept, labels, and the loss."""
        table, rows = self.stored(begin, end)  # may raise, where a file is read
        labels = self.labels(begin, end)
        return WorldBlock(Shown(table, rows), labels.reshape(len(labels), -1), self.loss.compiled_form())

    def why_not_compiled(self, space: Space) -> str | None:
        """Return why the loss cannot be compiled, or that labels and decisions have different shapes."""
        if self.shape != space.shape:
            return f"labels have shape {self.shape} and the space has shape {space.shape}"
        return super().why_not_compiled(space) or self.loss.why_not_compiled()

    def shuffled(self, seed: int) -> Self:
        """Return the same rounds in a random order; the seed also becomes that of the noise, and no data is copied."""
        seed = count("seed", seed, least=0)
        return self._reordered(stream(seed, "shuffling").permutation(self._order), seed)

    def halves(self) -> tuple[Self, Self]:
        """Return the first half of the rounds and the rest, for example to tune on one and to test on the other."""
        if len(self) < 2:
            raise ValueError(f"the world must have at least two rounds to be halved, got {len(self)}.")
        middle = len(self) // 2
        # Every half has its own noise, which it shares with no half of a world that has another seed.
        return (
            self._reordered(self._order[:middle], 2 * self.seed),
            self._reordered(self._order[middle:], 2 * self.seed + 1),
        )

    def head(self, rounds: int) -> Self:
        """Return the first `rounds` rounds, or all of them where there are fewer."""
        return self._reordered(self._order[: count("rounds", rounds, least=0)], self.seed)

    def _reordered(self, order: NDArray[np.intp], seed: int) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, _order=order, seed=seed)
        return copy


def _canonical(contexts: Any) -> csr_array:
    """Return a CSR array of floats whose column indices ascend in every row without duplicates; copy only where needed."""
    if contexts.ndim != 2:
        raise ValueError(f"contexts must have shape (rounds, features), got {contexts.shape}.")
    rows = csr_array(contexts)
    rows = csr_array((finite("contexts", rows.data, copy=False), rows.indices, rows.indptr), shape=rows.shape)
    try:
        # Compiled loops do not check indices, so none may lie outside the array.
        rows.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"contexts must be a well-formed sparse array, got one in which {error}.") from None
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's array stays unchanged
        rows.sum_duplicates()
        finite("contexts", rows.data, copy=False)
    return rows

"""Worlds that change: the relation between context and label, or where contexts come from, is not the same for ever.

The label of round t is w_t·x_t + e_t. The worlds differ in how the weights w_t move (Gama, Žliobaitė, Bifet, Pechenizkiy,
Bouchachia 2014, Section 2): abruptly, gradually, incrementally, back and forth, or not at all while contexts do. They know the
weights of every round, hence what is lost by one who knows them, too, and the rounds at which something changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditboost._core.checks import Array, at_least_zero, count, finite, positive
from banditboost._core.streams import stream
from banditboost.noise import Noise
from banditboost.spaces import Space
from banditboost.spaces.base import norms
from banditboost.worlds.supervised import Supervised

LONGEST = 100_000
"""Most diameters of the space that a path may be long: its corners are drawn one by one."""


class Drift(Supervised):
    """Labels w_t·x_t + e_t under the squared loss, with weights w_t of every round.

    Parameters
    ----------
    contexts
        x_t, shape (T, features).
    weights
        w_t, shape (T, features), or (T, *shape, features) for labels of a shape.
    residuals
        e_t, the shape of the labels, or a number for all.
    changes
        The rounds, ascending, at each of which something differs from the round before, for good or for a while.
    noise, seed
        As for every world: this noise is added to answers, and no part of the labels.

    Examples
    --------
    >>> world = Drift([[1.0], [2.0], [3.0]], [[1.0], [1.0], [-1.0]], 0.5, changes=(2,))
    >>> world.labels().tolist(), world.best_losses.tolist(), world.changes, world.path_length
    ([1.5, 2.5, -2.5], [0.25, 0.25, 0.25], (2,), 2.0)
    """

    def __init__(
        self,
        contexts: ArrayLike,
        weights: ArrayLike,
        residuals: ArrayLike = 0.0,
        changes: Sequence[int] = (),
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        rows, found = finite("contexts", contexts, copy=False), finite("weights", weights, copy=False)
        if found.ndim < 2 or rows.ndim != 2 or (found.shape[0], found.shape[-1]) != rows.shape:
            raise ValueError(
                f"weights must have shape (rounds, ..., features) for contexts of shape {rows.shape}, got {found.shape}."
            )
        clean, left = np.einsum("tn,t...n->t...", rows, found), finite("residuals", residuals)
        if left.shape not in ((), clean.shape):
            raise ValueError(f"residuals must have the shape of the labels, {clean.shape}, got {left.shape}.")
        super().__init__(rows, clean + left, None, noise, seed)
        self._weights, self._clean = found, clean
        self._changes = _rising("changes", changes, len(rows))

    @property
    def weights(self) -> Array:
        """The weights of every round, shape (T, *shape, features)."""
        return self._weights[self._order]

    @property
    def best_losses(self) -> Array:
        """The loss in every round of one who knows its weights: that of the residuals alone."""
        return self.loss.value(self._clean[self._order], self.labels(), len(self.shape))

    @property
    def path_length(self) -> float:
        """The length Σ‖w_t - w_{t-1}‖ of the path of the weights (Zinkevich 2003, Section 2.2)."""
        return float(norms(np.diff(self.weights, axis=0), self._weights.ndim - 1).sum())

    @property
    def changes(self) -> tuple[int, ...]:
        """The rounds at which the world changes, counted from 0; none where rounds do not follow each other as they were made.

        In a shuffled world every round comes from the same mixture, so that nothing changes.
        """
        if np.any(np.diff(self._order) != 1) or len(self) == 0:
            return ()
        first, last = int(self._order[0]), int(self._order[-1])
        return tuple(change - first for change in self._changes if first < change <= last)


class Flip(Drift):
    """Abrupt change: a linear relation whose sign flips.

    Parameters
    ----------
    rounds
        T, the number of rounds.
    features
        Length of a context, drawn uniformly from [-1, 1].
    at
        The rounds from which the sign is another one; by default the middle.
    spread
        Largest residual of a label; residuals are uniform, so that nobody's mean loss is below a third of its square for long.
    norm
        Norm of the weights; by default the square root of the number of features.
    noise, seed
        As for every world.

    Examples
    --------
    >>> world = Flip()
    >>> len(world), world.features, world.changes, bool(np.all(world.weights[4999] == -world.weights[5000]))
    (10000, 6, (5000,), True)
    >>> print(f"{world.best_losses.mean():.3f}")
    0.030
    """

    def __init__(
        self,
        rounds: int = 10_000,
        features: int = 6,
        at: Sequence[int] | None = None,
        spread: float = 0.3,
        norm: float | None = None,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        draw = _Draws(rounds, features, spread, norm, seed)
        changes = _rising("at", (rounds // 2,) if at is None else at, rounds)
        signs = 1.0 - 2.0 * (_stretches(changes, rounds) % 2)
        weights = signs[:, np.newaxis] * draw.concepts(1)
        super().__init__(draw.contexts(), weights, draw.residuals(), changes, noise, seed)


class Recurring(Drift):
    """Concepts that come back: A, B, A, B, ...

    Parameters
    ----------
    rounds, features, spread, norm, noise, seed
        As for `Flip`.
    every
        For how many rounds a concept stays.
    concepts
        How many there are, drawn independently; after the last comes the first.

    Examples
    --------
    >>> world = Recurring(rounds=1000, every=250)
    >>> world.changes, bool(np.all(world.weights[0] == world.weights[500])), len(np.unique(world.weights, axis=0))
    ((250, 500, 750), True, 2)
    """

    def __init__(
        self,
        rounds: int = 10_000,
        features: int = 6,
        every: int = 2500,
        concepts: int = 2,
        spread: float = 0.3,
        norm: float | None = None,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        draw = _Draws(rounds, features, spread, norm, seed)
        drawn = draw.concepts(count("concepts", concepts, least=2))
        changes = tuple(range(count("every", every), rounds, every))
        weights = drawn[_stretches(changes, rounds) % concepts]
        super().__init__(draw.contexts(), weights, draw.residuals(), changes, noise, seed)


class Gradual(Drift):
    """Gradual change: over a stretch, a round belongs to the new concept with a probability that rises from 0 to 1.

    `best_losses` are of one who knows to which concept a round belongs; in the stretch nobody can know that who only sees contexts.

    Parameters
    ----------
    rounds, features, spread, norm, noise, seed
        As for `Flip`.
    begin, end
        The first round of the stretch, and the first round after it; by default the middle fifth.

    Examples
    --------
    >>> world = Gradual(rounds=1000, begin=400, end=600)
    >>> new = np.all(world.weights == world.weights[-1], axis=1)
    >>> world.changes, [int(new[begin:end].sum()) for begin, end in ((0, 400), (400, 500), (500, 600), (600, 1000))]
    ((400,), [0, 25, 70, 400])
    """

    def __init__(
        self,
        rounds: int = 10_000,
        features: int = 6,
        begin: int | None = None,
        end: int | None = None,
        spread: float = 0.3,
        norm: float | None = None,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        draw = _Draws(rounds, features, spread, norm, seed)
        first, last = _stretch(begin, end, rounds)
        old, new = draw.concepts(2)
        moved = draw.rng.random(rounds) < _share(first, last, rounds)
        weights = np.where(moved[:, np.newaxis], new, old)
        super().__init__(draw.contexts(), weights, draw.residuals(), (first,), noise, seed)


class Incremental(Drift):
    """Incremental change: over a stretch, the weights move from the old concept to the new one on a straight line.

    Parameters
    ----------
    rounds, features, spread, norm, noise, seed
        As for `Flip`.
    begin, end
        The first round of the stretch, and the first round after it; by default the middle fifth.

    Examples
    --------
    >>> world = Incremental(rounds=1000, begin=400, end=600)
    >>> old, middle, new = world.weights[[0, 500, 999]]
    >>> world.changes, bool(np.allclose(middle, 0.5 * (old + new))), bool(np.isclose(world.path_length, np.linalg.norm(new - old)))
    ((400,), True, True)
    """

    def __init__(
        self,
        rounds: int = 10_000,
        features: int = 6,
        begin: int | None = None,
        end: int | None = None,
        spread: float = 0.3,
        norm: float | None = None,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        draw = _Draws(rounds, features, spread, norm, seed)
        first, last = _stretch(begin, end, rounds)
        old, new = draw.concepts(2)
        share = _share(first, last, rounds)[:, np.newaxis]
        weights = (1 - share) * old + share * new
        super().__init__(draw.contexts(), weights, draw.residuals(), (first,), noise, seed)


class Virtual(Drift):
    """Virtual change: contexts come from elsewhere, and the relation between context and label stays what it is.

    Contexts are uniform on a cube of side 1 in one corner of [-1, 1]^n, and from the rounds `at` on in the opposite corner. Who
    forgets what was learned before has lost something.

    Parameters
    ----------
    rounds, features, at, spread, norm, noise, seed
        As for `Flip`.

    Examples
    --------
    >>> world = Virtual(rounds=1000)
    >>> x = world.contexts()
    >>> world.changes, world.path_length, bool(np.all(np.sign(x[0]) == -np.sign(x[999])))
    ((500,), 0.0, True)
    """

    def __init__(
        self,
        rounds: int = 10_000,
        features: int = 6,
        at: Sequence[int] | None = None,
        spread: float = 0.3,
        norm: float | None = None,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        draw = _Draws(rounds, features, spread, norm, seed)
        changes = _rising("at", (rounds // 2,) if at is None else at, rounds)
        signs = 1.0 - 2.0 * (_stretches(changes, rounds) % 2)
        corner = draw.rng.choice([-1.0, 1.0], features)
        weights = np.broadcast_to(draw.concepts(1), (rounds, features))
        contexts = 0.5 * (draw.contexts() + signs[:, np.newaxis] * corner)
        super().__init__(contexts, weights, draw.residuals(), changes, noise, seed)


class Wandering(Drift):
    """A changing optimum: the loss of round t is ‖y - c_t - e_t‖², and c_t walks through a space on a path of a given length.

    The context is always the number 1, so that learners with contexts can play, and compiled loops can be used. The path goes from
    one random point of the space straight to the next, at constant speed. It never stops, whence `changes` is empty.

    Parameters
    ----------
    space
        The set of decisions, such as a ball or a box.
    rounds
        T, the number of rounds.
    length
        The length of the path, at most 100,000 diameters of the space; `path_length` is at most that, since rounds cut corners.
    spread
        Largest residual in each coordinate.
    noise, seed
        As for every world.

    Examples
    --------
    >>> from banditboost.spaces import Ball
    >>> world = Wandering(Ball(3), rounds=500, length=4.0)
    >>> world.shape, bool(world.space.contains(world.labels()).all()), world.best_losses.sum().item()
    ((3,), True, 0.0)
    >>> print(f"{world.path_length:.2f}")
    3.98
    """

    def __init__(
        self,
        space: Space,
        rounds: int = 10_000,
        length: float = 10.0,
        spread: float = 0.0,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(space, Space):
            raise ValueError(f"space must be a Space, such as Ball(2), got {space!r:.100}.")
        if at_least_zero("length", length) > LONGEST * space.diameter:
            raise ValueError(
                f"length must be at most {LONGEST:,} diameters of the space, {LONGEST * space.diameter:g}, got {length:g}."
            )
        rng = stream(count("seed", seed, least=0), "world")
        path = _walk(space, count("rounds", rounds), length, rng)
        residuals = rng.uniform(-1.0, 1.0, path.shape) * at_least_zero("spread", spread)
        super().__init__(np.ones((rounds, 1)), path[..., np.newaxis], residuals, (), noise, seed)
        self.space = space


class _Draws:
    """What a linear world draws, each from where the world's random stream stands."""

    def __init__(self, rounds: int, features: int, spread: float, norm: float | None, seed: int) -> None:
        self.rounds, self.features = count("rounds", rounds), count("features", features)
        self.spread = at_least_zero("spread", spread)
        self.norm = float(np.sqrt(features)) if norm is None else positive("norm", norm)
        self.rng = stream(count("seed", seed, least=0), "world")

    def concepts(self, how_many: int) -> Array:
        """Return weights of a given norm, one row for each concept."""
        drawn = self.rng.standard_normal((how_many, self.features))
        return np.asarray(drawn * (self.norm / np.linalg.norm(drawn, axis=1, keepdims=True)))

    def contexts(self) -> Array:
        return self.rng.uniform(-1.0, 1.0, (self.rounds, self.features))

    def residuals(self) -> Array:
        return self.rng.uniform(-1.0, 1.0, self.rounds) * self.spread


def _rising(name: str, values: Sequence[int], rounds: int) -> tuple[int, ...]:
    """Return rounds that ascend and lie in 1 ... T-1, checked."""
    if not np.iterable(values):
        raise ValueError(f"{name} must be a sequence of rounds, got {values!r:.100}.")
    found = tuple(count(name, value) for value in values)
    if list(found) != sorted(set(found)) or (found and found[-1] >= rounds):
        raise ValueError(
            f"{name} must be ascending rounds below the number of rounds, {rounds}, got {tuple(values)!r}."
        )
    return found


def _stretches(changes: Sequence[int], rounds: int) -> NDArray[np.intp]:
    """Return for every round how many changes came before it or with it."""
    return np.searchsorted(np.asarray(changes, dtype=np.intp), np.arange(rounds), side="right")


def _stretch(begin: int | None, end: int | None, rounds: int) -> tuple[int, int]:
    """Return the rounds between which something changes, checked."""
    first = 2 * rounds // 5 if begin is None else begin
    last = max(first + 1, 3 * rounds // 5) if end is None else end
    if not 1 <= count("begin", first) < count("end", last) <= rounds:
        raise ValueError(
            f"begin and end must ascend between 1 and the number of rounds, {rounds}, got {first} and {last}."
        )
    return first, last


def _share(begin: int, end: int, rounds: int) -> Array:
    """Return the share of the new concept in every round: 0 up to `begin`, 1 from `end` on, a line between."""
    return np.clip((np.arange(rounds) - begin) / (end - begin), 0.0, 1.0)


def _walk(space: Space, rounds: int, length: float, rng: np.random.Generator) -> Array:
    """Return points of the space, one for each round, on a path of a given length through random points half way to the border."""
    points, walked = [_half_way(space, rng)], [0.0]
    while walked[-1] < length:
        points.append(_half_way(space, rng))
        walked.append(walked[-1] + norms(points[-1] - points[-2], len(space.shape)).item())
    corners = np.reshape(points, (len(points), -1))
    now = np.linspace(0.0, length, rounds)
    return np.stack([np.interp(now, walked, corners[:, j]) for j in range(corners.shape[1])], axis=1).reshape(
        rounds, *space.shape
    )


def _half_way(space: Space, rng: np.random.Generator) -> Array:
    return np.asarray(0.5 * (space.inner_centre + space.minimize(rng.standard_normal(space.shape))))

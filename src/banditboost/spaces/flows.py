"""The nearest flow in a network: the projection that the Birkhoff polytope and the path polytope share.

A flow x >= 0 on the edges of a network sends `supply[v]` out of each node v (negative: into it). Doubly stochastic matrices
are the flows from n rows to n columns; mixtures of paths are the flows of one unit from source to sink.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from banditboost._core.checks import Array

Indices = NDArray[np.intp]

ROUNDS = 500
"""Largest number of Newton steps of a projection (a few dozen are usual); beyond it the projection raises an error."""

TOLERANCE = 1e-12
"""Largest error of a node's balance at which the Newton steps stop."""

FAR = 30.0
"""Points with a coordinate beyond this are far: their prices start from those of a tenth of the point, and so on."""


@dataclass(frozen=True, eq=False)
class Network:
    """The flows {x >= 0, out(v) - in(v) = supply(v) for each node v} of a connected network.

    The projection of z solves the dual: with a price per node, x = max(0, z + price[tail] - price[head]), and the prices minimise
    φ = ½‖x‖² - supply·price, which is convex, piecewise quadratic, and has the imbalance of x as its gradient. Each step is a
    Newton step (the Laplacian of the edges in use, plus a vanishing ridge), followed by an exact line search. When it stops, x is
    non-negative and exactly the nearest flow for its own balances, which differ from `supply` by at most `TOLERANCE` and
    round-off. A last step on the flows makes the balances exact to the round-off of numbers near 1, however far z is.

    References
    ----------
    Li, Sun, Toh, *On the efficient computation of a generalized Jacobian of the projector over the Birkhoff polytope*,
    Mathematical Programming 179 (2020), for the semismooth Newton method on this dual; here its line search is exact.

    Examples
    --------
    >>> network = Network(np.array([0, 0]), np.array([1, 1]), np.array([1.0, -1.0]))
    >>> network.nearest(np.array([[1.0, 0.6], [5.0, 0.0]])).round(9).tolist()
    [[0.7, 0.3], [1.0, 0.0]]
    """

    tail: Indices
    head: Indices
    supply: Array

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.supply)

    @cached_property
    def incidence(self) -> sparse.csr_array[np.float64]:
        """Matrix of nodes by edges: +1 where an edge leaves a node, -1 where it enters."""
        edges = np.arange(len(self.tail))
        rows, columns = np.concatenate([self.tail, self.head]), np.concatenate([edges, edges])
        signs = np.repeat([1.0, -1.0], len(edges))
        return sparse.csr_array((signs, (rows, columns)), shape=(self.nodes, len(edges)))

    @cached_property
    def _laplacians(self) -> sparse.csr_array[np.float64]:
        # Maps the 0/1 vector of edges in use to the entries of their Laplacian, for all points by one sparse product.
        n, edges = self.nodes, np.arange(len(self.tail))
        pairs = [(self.tail, self.tail), (self.head, self.head), (self.tail, self.head), (self.head, self.tail)]
        rows = np.concatenate([row * n + column for row, column in pairs])
        signs = np.repeat([1.0, 1.0, -1.0, -1.0], len(edges))
        return sparse.csr_array((signs, (rows, np.tile(edges, 4))), shape=(n * n, len(edges)))

    def imbalance(self, flows: Array) -> Array:
        """Return by how much the outflow of each node exceeds its supply; flows are rows."""
        return np.asarray((self.incidence @ flows.T).T - self.supply)

    def drop(self, prices: Array) -> Array:
        """Return the price differences along the edges; prices are rows."""
        return np.asarray(prices[:, self.tail] - prices[:, self.head])

    def nearest(self, points: Array) -> Array:
        """Project the rows of a matrix."""
        reduced = points + self.drop(self._prices(points))
        flows, used = np.maximum(reduced, 0.0), reduced > 0
        # Prices of far points are large and lose digits; a last step on the flows themselves restores the balances.
        return np.maximum(flows + used * self.drop(self._solve(used, -self.imbalance(flows), 1e-10)), 0.0)

    def _prices(self, points: Array) -> Array:
        size = np.abs(points).max(axis=1, initial=0.0)
        prices = np.zeros((len(points), self.nodes))
        # Newton steps converge slowly for far points. A tenth of the point has about a tenth of the prices: start from those.
        far = np.flatnonzero(size > FAR)
        if len(far):
            prices[far] = 10 * self._prices(points[far] / 10)
        live = np.arange(len(points))
        for step in range(ROUNDS):
            reduced = points[live] + self.drop(prices[live])
            missing = -self.imbalance(np.maximum(reduced, 0.0))
            worst = np.abs(missing).max(axis=1)
            going = worst > TOLERANCE + 2e-15 * (size[live] + np.abs(prices[live]).max(axis=1))
            live, reduced, missing, worst = live[going], reduced[going], missing[going], worst[going]
            if not len(live):
                return prices
            # An edge whose flow is just about zero counts as in use: leaving it out could cut the network in two, and round-off
            # in the part cut off would grow. The first step uses every edge, which projects onto the affine hull: a good start.
            verge = np.where((step == 0) & (size[live] <= FAR), -np.inf, -1e-10)
            used = reduced > verge[:, None]
            # The ridge keeps the system solvable where the edges in use are not connected; it vanishes with the imbalance.
            direction = self._solve(used, missing, 1e-10 + np.minimum(1e-3, 1e-2 * worst)[:, None])
            prices[live] += self._length(reduced, missing, worst, direction)[:, None] * direction
        if (worst > 1e-9 * (1 + size[live])).any():
            raise RuntimeError(
                f"The nearest flow was not found in {ROUNDS} steps: the balance of a node was off by {worst.max():g}."
            )
        return prices

    def _length(self, reduced: Array, missing: Array, worst: Array, direction: Array) -> Array:
        slope = self.drop(direction)
        lengths = _line_search(reduced, slope, -(missing * direction).sum(axis=1))
        # Near the solution round-off hides the minimum from the line search: a full step that halves the imbalance is taken.
        after = np.abs(self.imbalance(np.maximum(reduced + slope, 0.0))).max(axis=1)
        return np.where((worst < 1e-6) & (after < 0.5 * worst), 1.0, lengths)

    def _solve(self, used: NDArray[np.bool_], missing: Array, ridge: Array | float) -> Array:
        """Return the Newton directions: prices whose differences along the edges in use would send the missing flow."""
        nodes = np.arange(self.nodes)
        laplacian = np.asarray((self._laplacians @ used.T.astype(np.float64)).T).reshape(-1, self.nodes, self.nodes)
        laplacian[:, nodes, nodes] += ridge
        return np.asarray(np.linalg.solve(laplacian, missing[..., None])[..., 0])


def _line_search(reduced: Array, slope: Array, descent: Array) -> Array:
    """Return the t >= 0 where φ'(t) = Σ slope · max(0, reduced + t·slope) + constant crosses zero, for each row.

    φ' is piecewise linear and increasing, and `descent` is φ'(0) < 0. An edge that comes into use or drops out of use, at
    t = -reduced/slope, changes the line by ± slope·(reduced + t·slope): sorting these t gives every piece by two cumulative sums.
    """
    used = reduced > 0
    changes = np.where(used, slope < 0, slope > 0)
    times = np.divide(-reduced, slope, out=np.full_like(reduced, np.inf), where=changes)
    order = np.argsort(times, axis=1)
    times = np.take_along_axis(times, order, axis=1)
    sign = np.take_along_axis(np.where(changes, np.where(used, -1.0, 1.0), 0.0), order, axis=1)
    slope_at, reduced_at = np.take_along_axis(slope, order, axis=1), np.take_along_axis(reduced, order, axis=1)
    rows = len(reduced)
    # Piece k of φ' is offset[k] + t·rise[k], from times[k-1] to times[k].
    offset = descent[:, None] + np.hstack([np.zeros((rows, 1)), np.cumsum(sign * slope_at * reduced_at, axis=1)])
    rise = np.hstack([np.zeros((rows, 1)), np.cumsum(sign * np.square(slope_at), axis=1)])
    rise += (np.square(slope) * used).sum(axis=1)[:, None]
    start = np.hstack([np.zeros((rows, 1)), times])
    stop = np.hstack([times, np.full((rows, 1), np.inf)])
    ends = np.isfinite(stop)
    height = offset + np.where(ends, stop, 0.0) * rise
    piece = np.argmax((height >= 0) | ~ends, axis=1)[:, None]
    low, high, offset, rise = (np.take_along_axis(part, piece, axis=1)[:, 0] for part in (start, stop, offset, rise))
    crossing = np.divide(-offset, rise, out=np.where(np.isfinite(high), high, low), where=rise > 0)
    return np.asarray(np.clip(crossing, low, high))

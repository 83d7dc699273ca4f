"""The path polytope: mixtures of the routes from a source to a sink."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array, finite
from banditboost.spaces.base import Space
from banditboost.spaces.flows import Indices, Network
from banditboost.spaces.shrunk import Shrunk

Node = int | str


class Route(NamedTuple):
    """One path of a mixture: its weight, the nodes it visits, and the positions of its edges."""

    weight: float
    nodes: tuple[Node, ...]
    edges: tuple[int, ...]


@dataclass(frozen=True)
class Paths(Space, kind="spaces.Paths"):
    """The unit flows from `source` to `sink` in a network without cycles, with one number per edge: the share of paths that use it.

    Vertices of the set are the paths. The linear oracle is the shortest path by dynamic programming over a topological order,
    so that costs may be negative. The tangent space is the circulations: flows that balance at every node. The centre is the
    mean, over the E edges, of a random walk through that edge, which goes back to the source and on to the sink by uniform
    steps. Every edge carries at least 1/E of this mean, so that the inner radius is at least 1/E. Diameter and inner radius are
    exact.

    Parameters
    ----------
    edges
        Pairs (from, to) of nodes, which are whole numbers or strings. Parallel edges are different edges. Every edge must lie
        on a path from source to sink, and there must be at least two paths.
    source, sink
        The nodes where paths start and end.

    References
    ----------
    György, Linder, Lugosi, Ottucsák, *The on-line shortest path problem under partial monitoring*, Journal of Machine Learning
    Research 8 (2007), for the setting. Projection: semismooth Newton on the dual, see `banditboost.spaces.flows`.

    Examples
    --------
    >>> space = Paths((("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t")), "s", "t")
    >>> space.minimize(np.array([1.0, 3.0, 1.0, 4.0, 1.0])).tolist()
    [1.0, 0.0, 1.0, 0.0, 1.0]
    >>> space.inner_centre.round(6).tolist()
    [0.7, 0.3, 0.4, 0.3, 0.7]
    >>> space.project(np.array([1.0, 0.0, 0.0, 0.0, 1.0])).round(6).tolist()
    [0.75, 0.25, 0.5, 0.25, 0.75]
    >>> for route in space.decompose(space.inner_centre):
    ...     print(round(route.weight, 6), "-".join(map(str, route.nodes)))
    0.4 s-a-b-t
    0.3 s-b-t
    0.3 s-a-t
    """

    edges: tuple[tuple[Node, Node], ...]
    source: Node
    sink: Node

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.edges or not all(isinstance(edge, tuple) and len(edge) == 2 for edge in self.edges):
            raise ValueError(f"edges must be pairs of nodes, got {self.edges!r}.")
        for node in (self.source, self.sink, *(node for edge in self.edges for node in edge)):
            if isinstance(node, bool) or not isinstance(node, int | str):
                raise ValueError(f"edges, source and sink must name nodes by whole numbers or strings, got {node!r}.")
        before = _reached(self.source, self.edges)
        after = _reached(self.sink, tuple((head, tail) for tail, head in self.edges))
        for edge in self.edges:
            if edge[0] not in before or edge[1] not in after:
                raise ValueError(f"edges must lie on paths from {self.source!r} to {self.sink!r}, got {edge!r}.")
        try:
            TopologicalSorter(self._predecessors()).prepare()
        except CycleError as error:
            cycle = " -> ".join(map(str, error.args[1]))
            raise ValueError(f"edges must not form a cycle, got {cycle}.") from None
        if self.rank < 1:
            raise ValueError(f"edges must form at least two paths from source to sink, got {self.edges!r}.")

    @classmethod
    def examples(cls) -> tuple[Paths, ...]:
        """Give parallel edges, a Wheatstone bridge, and a small grid behind an edge that every path takes."""
        grid = ((0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 5), (3, 6), (4, 7), (5, 7), (5, 8), (6, 8), (7, 9), (8, 9))
        return (
            cls((("home", "work"), ("home", "work"), ("home", "work")), "home", "work"),
            cls((("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t")), "s", "t"),
            cls(grid, 0, 9),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """One number per edge."""
        return (len(self.edges),)

    @property
    def rank(self) -> int:
        """Number of independent circulations: edges - nodes + 1."""
        return len(self.edges) - len({node for edge in self.edges for node in edge}) + 1

    @property
    def inner_centre(self) -> Array:
        """The mean over the edges of a uniform random walk through that edge."""
        return self._mean.copy()

    @cached_property
    def inner_radius(self) -> float:
        """Distance of the centre from the nearest facet x_e = 0: the smallest c_e / ‖tangent part of e‖."""
        lengths = np.sqrt(np.maximum(np.diag(self._circulations), 0.0))
        # An edge that every path takes has no tangent part, so it defines no facet.
        free = lengths > 1e-7
        return float(np.min(self._mean[free] / lengths[free]))

    @cached_property
    def diameter(self) -> float:
        """Square root of the largest number of edges in which two paths differ, by dynamic programming over pairs of nodes."""
        apart = np.zeros((self._graph.nodes, self._graph.nodes))
        for node, leaving in self._backward:
            heads = self._graph.head[leaving]
            # Of two walkers at different nodes the one behind moves on, so that they meet wherever their paths meet.
            apart[node, node + 1 :] = 1 + apart[heads, node + 1 :].max(axis=0)
            apart[node + 1 :, node] = apart[node, node + 1 :]
            parting = 2 + apart[np.ix_(heads, heads)]
            np.fill_diagonal(parting, apart[heads, heads])
            apart[node, node] = parting.max()
        return math.sqrt(float(apart[0, 0]))

    @cached_property
    def farthest(self) -> float:
        """Square root of the number of edges on the longest path."""
        return math.sqrt(self._longest)

    def tangent(self, vectors: Array) -> Array:
        """Return the nearest circulation to each vector."""
        # One product per vector: in one product of all, round-off would depend on how many vectors are drawn at a time.
        return np.asarray(np.matmul(self._circulations, np.asarray(vectors, dtype=np.float64)[..., None])[..., 0])

    def project(self, points: Array) -> Array:
        """Find the nearest flow; entries are exact to about 1e-12, and balances even more so."""
        points = np.asarray(points, dtype=np.float64)
        return self._graph.nearest(points.reshape(-1, self.size)).reshape(points.shape)

    def minimize(self, gradients: Array) -> Array:
        """Return the shortest path, for all gradients in one sweep over the nodes."""
        gradients = np.asarray(gradients, dtype=np.float64)
        costs = gradients.reshape(-1, self.size)
        rows = np.arange(len(costs))
        length = np.zeros((len(costs), self._graph.nodes))
        choice = np.zeros((len(costs), self._graph.nodes), dtype=np.intp)
        for node, leaving in self._backward:
            onward = costs[:, leaving] + length[:, self._graph.head[leaving]]
            best = np.argmin(onward, axis=1)
            length[:, node], choice[:, node] = onward[rows, best], leaving[best]
        flows, place = np.zeros_like(costs), np.zeros(len(costs), dtype=np.intp)
        for _ in range(self._longest):
            moving = np.flatnonzero(place < self._graph.nodes - 1)
            edge = choice[moving, place[moving]]
            flows[moving, edge] = 1.0
            place[moving] = self._graph.head[edge]
        return flows.reshape(gradients.shape)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say whether no flow is negative and every node balances, up to the tolerance per edge."""
        points = np.asarray(points, dtype=np.float64)
        flows = points.reshape(-1, self.size)
        degrees = np.bincount(np.concatenate([self._graph.tail, self._graph.head]))
        balanced = (np.abs(self._graph.imbalance(flows)) <= tolerance * degrees).all(axis=1)
        return np.asarray(balanced & (flows >= -tolerance).all(axis=1)).reshape(points.shape[:-1])

    def shrink(self, xi: float) -> Shrunk:
        """Return the set shrunk towards its centre."""
        return Shrunk(self, xi)

    def decompose(self, flow: Array) -> tuple[Route, ...]:
        """Split a flow into paths with weights that sum to 1, taking at each step the edges with the largest remaining flow.

        Every path exhausts one edge, hence there are at most as many paths as edges. Weights below 1e-9 are left out.
        """
        left = finite("flow", flow, self.shape)
        if not self.contains(left, 1e-6):
            raise ValueError(
                "flow must be a unit flow from source to sink, got one that is negative or does not balance."
            )
        out = dict(self._backward)
        routes = []
        for _ in range(self.size):
            place, taken = 0, []
            while place < self._graph.nodes - 1:
                edge = int(out[place][np.argmax(left[out[place]])])
                taken.append(edge)
                place = int(self._graph.head[edge])
            weight = float(left[taken].min())
            left[taken] -= weight
            if weight > 1e-9:
                nodes = (self.source, *(self.edges[edge][1] for edge in taken))
                routes.append(Route(weight, nodes, tuple(taken)))
        return tuple(routes)

    def _predecessors(self) -> dict[Node, list[Node]]:
        before: dict[Node, list[Node]] = {self.source: []}
        for tail, head in self.edges:
            before.setdefault(tail, [])
            before.setdefault(head, []).append(tail)
        return before

    @cached_property
    def _order(self) -> tuple[Node, ...]:
        """The nodes in a topological order: the source comes first, the sink last, since all others lie between them."""
        return tuple(TopologicalSorter(self._predecessors()).static_order())

    @cached_property
    def _graph(self) -> Network:
        position = {node: place for place, node in enumerate(self._order)}
        tail = np.array([position[tail] for tail, _ in self.edges], dtype=np.intp)
        head = np.array([position[head] for _, head in self.edges], dtype=np.intp)
        supply = np.zeros(len(position))
        supply[0], supply[-1] = 1.0, -1.0
        return Network(tail, head, supply)

    @cached_property
    def _backward(self) -> tuple[tuple[int, Indices], ...]:
        """The nodes from the last before the sink to the source, with the edges that leave each."""
        return tuple((node, np.flatnonzero(self._graph.tail == node)) for node in range(self._graph.nodes - 2, -1, -1))

    @cached_property
    def _longest(self) -> int:
        """The number of edges on the longest path."""
        steps = np.zeros(self._graph.nodes, dtype=int)
        for node, leaving in self._backward:
            steps[node] = 1 + steps[self._graph.head[leaving]].max()
        return int(steps[0])

    @cached_property
    def _mean(self) -> Array:
        tail, head, edges = self._graph.tail, self._graph.head, len(self.edges)
        onward, back = np.zeros(edges), np.zeros(edges)
        for node in range(1, self._graph.nodes - 1):
            entering, leaving = head == node, tail == node
            onward[leaving] = (1 / edges + onward[entering]).sum() / leaving.sum()
        for node in range(self._graph.nodes - 2, 0, -1):
            entering, leaving = head == node, tail == node
            back[entering] = (1 / edges + back[leaving]).sum() / entering.sum()
        return np.asarray(1 / edges + onward + back)

    @cached_property
    def _circulations(self) -> Array:
        """The matrix that projects on the flows which balance at every node."""
        incidence = self._graph.incidence.toarray()
        return np.asarray(np.eye(len(self.edges)) - np.linalg.pinv(incidence) @ incidence)


def _reached(start: Node, edges: tuple[tuple[Node, Node], ...]) -> set[Node]:
    onward: dict[Node, list[Node]] = {}
    for tail, head in edges:
        onward.setdefault(tail, []).append(head)
    found, waiting = {start}, [start]
    while waiting:
        new = [node for node in onward.get(waiting.pop(), []) if node not in found]
        found.update(new)
        waiting.extend(new)
    return found

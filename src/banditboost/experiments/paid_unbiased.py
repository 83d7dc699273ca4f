"""Unbiasedness by quadrature: what slopes from memory are on average over the law of actions, against the gradients they stand for.

A round of `gradients.Remembered` is played at every node of a product rule of Gauss and Legendre over the law, so that the mean of
its slope is a sum and no draw is random. Integrands are polynomials between the kinks of a loss, and rules are cut there: sums are
exact but for rounding. What they are compared with does not know the estimate: gradients in closed form, averaged with the kernel

    K(v) = (q + 1) (w^q - |v|^q) / (2q w^(q+1)),    |v| ≤ w,

along their own coordinate, and over the law along the others. With a density proportional to |u|^(ρ-1), integrating by parts
gives q = ρ + 1 for answers times displacements (the law's Stein kernel), and q = ρ - 1 for differences of pairs over their
distance, which is what the default does on the line. That is the gradient about the law's centre; the critic's curvature moves it
to the prediction.

Two leaks are planted: a critic that has seen the round's own answers, and a law whose offset m from the prediction is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Literal, NamedTuple

import numpy as np

from banditboost._compiled import critic
from banditboost._compiled import remembered as kernel
from banditboost._core.checks import Array
from banditboost.explore import Explore
from banditboost.gradients import Remembered
from banditboost.gradients.base import Questions
from banditboost.spaces import Box

Leak = Literal["", "saw the round", "m left out"]
SIDES = (10.0, 4.0, 1.0)
"""Sides of the box; the interval is its first."""
LEAST_WIDTH, MOST_WIDTH = 0.1, 0.15
"""Half-widths of the laws, over the sides: at most the second, in the open."""


class Shape(NamedTuple):
    """A loss of scaled decisions: its values, its gradient, and its curvature where that is one number a coordinate."""

    value: Callable[[Array], Array]
    gradient: Callable[[Array], Array]
    bends: float | None
    kinks: tuple[float, ...] = ()


LEAST = np.array([0.37, 0.55, 0.2])
"""Where the losses are least, over the sides."""


def _crossed(x: Array) -> Array:
    return np.asarray(3.0 * np.square(x - LEAST[: x.shape[-1]]).sum(axis=-1) + 2.0 * x[..., 0] * x[..., -1])


def _crossed_gradient(x: Array) -> Array:
    found = 6.0 * (x - LEAST[: x.shape[-1]])
    found[..., 0] += 2.0 * x[..., -1]
    found[..., -1] += 2.0 * x[..., 0]
    return np.asarray(found)


def _pinball(x: Array) -> Array:
    away = x - LEAST[: x.shape[-1]]
    return np.asarray(np.maximum(0.9 * away, -0.1 * away).sum(axis=-1))


SHAPES = {
    "squared": Shape(
        lambda x: 5.0 + 3.0 * np.square(x - LEAST[: x.shape[-1]]).sum(axis=-1),
        lambda x: 6.0 * (x - LEAST[: x.shape[-1]]),
        6.0,
    ),
    "crossed": Shape(_crossed, _crossed_gradient, None),
    "quartic": Shape(
        lambda x: 5.0 + 20.0 * ((x - LEAST[: x.shape[-1]]) ** 4).sum(axis=-1),
        lambda x: 80.0 * (x - LEAST[: x.shape[-1]]) ** 3,
        None,
    ),
    "absolute": Shape(
        lambda x: 5.0 + np.abs(x - LEAST[: x.shape[-1]]).sum(axis=-1),
        lambda x: np.sign(x - LEAST[: x.shape[-1]]),
        None,
        (0.0,),
    ),
    "pinball": Shape(_pinball, lambda x: np.where(x > LEAST[: x.shape[-1]], 0.9, -0.1), None, (0.0,)),
}
PLACES = {
    "open": (0.42, 0.5, 0.3),
    "border": (0.0, 1.0, 0.05),
    "limits": (0.42, 0.5, 0.3),
}
"""Predictions over the sides: in the open, on two borders and near a third, and within limits that hold for one round."""
LIMITS = ((0.4, 0.3, 0.25), (0.6, 0.55, 0.9))


@dataclass(frozen=True)
class Case:
    """One law, one critic and one loss.

    Examples
    --------
    >>> error(Case(1, 1, "border", "pinball")) < 1e-9, error(Case(1, 1, "border", "pinball"), "m left out") > 1e-3
    (True, True)
    """

    answers: int = 1
    dimensions: int = 1
    place: str = "open"
    loss: str = "squared"
    critic: Literal["right", "nonsense"] = "nonsense"
    unbiased: bool = True

    @property
    def space(self) -> Box:
        """The box, of which one dimension is the first side."""
        return Box((0.0,) * self.dimensions, SIDES[: self.dimensions])

    @property
    def point(self) -> Array:
        """The prediction, over the sides."""
        return np.array(PLACES[self.place][: self.dimensions])

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Where actions lie in this round."""
        low, high = (np.zeros(3), np.ones(3)) if self.place != "limits" else (np.array(end) for end in LIMITS)
        sides = np.array(SIDES)
        return (low * sides)[: self.dimensions], (high * sides)[: self.dimensions]


def remembered(case: Case) -> tuple[Remembered, dict[str, Array]]:
    """Return the gradient and a critic of seven rounds, which has the right curvature or remembers nonsense."""
    sides = np.array(SIDES[: case.dimensions])
    explore = Explore(least=tuple((LEAST_WIDTH * sides).tolist()), most=tuple((MOST_WIDTH * sides).tolist()))
    gradient = Remembered(case.answers, explore, unbiased=case.unbiased)
    memory, d = gradient.start(1, case.space), case.dimensions
    rng = np.random.default_rng(17)
    memory["facts"][:9] = [7.0, 3.0, 1.0, 2.0, 5.0, 1.5, 2.0, 2.0, 1.0]
    memory["bends"][:8] = rng.uniform(0.5, 2.0, (8, d))
    memory["bends"][critic.BEND] = SHAPES[case.loss].bends if case.critic == "right" else rng.uniform(2.0, 20.0, d)
    memory["bends"][critic.EDGE] = rng.uniform(-3.0, 3.0, d)
    memory["facts"][critic.LEVEL] = rng.uniform(-5.0, 5.0)
    memory["facts"][critic.CURVATURE] = memory["bends"][critic.BEND].mean()
    memory["bends"][8:13] = rng.uniform(0.5, 2.0, (5, d))
    memory["bends"][critic.REACH] = rng.uniform(0.5, 2.0, d)
    memory["bends"][critic.TREND] = rng.uniform(-3.0, 3.0, d)
    memory["levels"][:, -1] = rng.uniform(-2.0, 2.0, len(memory["levels"]))
    memory["facts"][critic.REGRESSED] = rng.uniform(2.0, 20.0)
    return gradient, memory


def rule(width: float, breaks: Sequence[float], density: Callable[[Array], Array], nodes: int) -> tuple[Array, Array]:
    """Return nodes on [-width, width], symmetric, and their weights under a density; the rule is cut at 0 and at ± the breaks."""
    if width == 0.0:
        return np.zeros(1), np.ones(1)
    cuts = np.unique([0.0, width, *(abs(b) for b in breaks if abs(b) < width)])
    x, w = np.polynomial.legendre.leggauss(nodes)
    half = np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * x for a, b in pairwise(cuts)])
    weights = np.concatenate([0.5 * (b - a) * w for a, b in pairwise(cuts)]) * density(half)
    return np.concatenate([-half[::-1], half]), np.concatenate([weights[::-1], weights])


def law_density(width: float, rim: float) -> Callable[[Array], Array]:
    """Return the density of one coordinate, proportional to |u|^(rim - 1)."""
    return lambda u: rim / (2 * width**rim) * np.abs(u) ** (rim - 1)


def kernel_density(width: float, power: float) -> Callable[[Array], Array]:
    """Return the kernel by which gradients are averaged."""
    return lambda v: (power + 1) / (2 * power * width ** (power + 1)) * (width**power - np.abs(v) ** power)


def grid(rules: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return all points of a product rule, shape (n, d), and their weights."""
    points = np.array(list(product(*(nodes for nodes, _ in rules))))
    return points, np.array([np.prod(weights) for weights in product(*(weights for _, weights in rules))])


class Setup(NamedTuple):
    """A round before it is asked: the kernel's form, the law, and where its centre lies, over the sides."""

    form: Any
    law: Array
    point: Array
    centre: Array
    breaks: list[list[float]]


def set_up(case: Case) -> Setup:
    """Let the kernel write the law of the case."""
    gradient, memory = remembered(case)
    nothing = Questions(np.empty((0, 0, 0)), np.empty((0, 0), dtype=np.bool_), np.empty((0, 0)))
    form = gradient.compiled_form(1, case.space, memory, nothing)
    point, law = (case.point * form.rules.extent).reshape(1, -1), np.empty((4, case.dimensions))
    kernel.begin(form.rules, form.memory, point, *case.bounds, law)
    centre = case.point + law[0]
    kinks = SHAPES[case.loss].kinks
    return Setup(form, law, point, centre, [[LEAST[j] + k - centre[j] for k in kinks] for j in range(case.dimensions)])


def expected_slope(case: Case, leak: Leak = "", nodes: int = 5) -> Array:
    """Return the mean of the round's slope over its law, over the sides: one play of the kernel a node."""
    form, law, point, centre, breaks = set_up(case)
    rules, d, pairs = form.rules, case.dimensions, case.answers // 2
    coordinates = [rule(law[1, j], breaks[j], law_density(law[1, j], rules.rim), nodes) for j in range(d)]
    points, weights = grid(coordinates)
    values = [SHAPES[case.loss].value(centre + side * points) for side in (1.0, -1.0)]
    shown, lesson = law.copy(), form.lesson
    shown[0] *= 0.0 if leak == "m left out" else 1.0
    missed = law[0] if leak == "m left out" and pairs == 0 else 0.0
    answers, anchors, total = np.empty(case.answers), point.copy(), np.zeros(d)
    for index, weight in _rounds(weights, pairs, case.answers % 2):
        for q, n in enumerate(index):
            lesson.u[q] = points[n] + missed
            for side in range(2 if q < pairs else 1):
                answers[2 * q + side] = values[side][n]
        memory = form.memory
        if leak == "saw the round":
            memory = copy.deepcopy(memory)
            kernel.end(rules, memory, shown, answers, lesson, point)
        kernel.study(rules, memory, shown, answers, lesson, point, point, anchors, np.empty_like(anchors))
        total += weight * lesson.slope
    return total


def _rounds(weights: Array, pairs: int, single: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Give the nodes of all directions of a round, and their weight; a pair and its mirror image are one round."""
    n = len(weights)
    half = range((n + 1) // 2)
    for index in product(*[half] * pairs, *[range(n)] * single):
        weight = 1.0
        for q, i in enumerate(index):
            weight *= weights[i] * (2.0 if q < pairs and n - 1 - i != i else 1.0)
        yield index, weight


def wanted_slope(case: Case, nodes: int = 9) -> Array:
    """Return the gradient averaged with the kernel about the law's centre, moved to the prediction by the critic's curvature."""
    form, law, _, centre, breaks = set_up(case)
    rim, d = form.rules.rim, case.dimensions
    powers = {rim + 1.0: 1.0}
    if not case.unbiased and case.answers > 1:
        powers = {rim - 1.0: 1.0} if case.answers == 2 else {rim - 1.0: 2 / 3, rim + 1.0: 1 / 3}
    found = np.zeros(d)
    for j in range(d):
        for power, share in powers.items():
            own = [kernel_density(law[1, i], power) if i == j else law_density(law[1, i], rim) for i in range(d)]
            points, weights = grid([rule(law[1, i], breaks[i], own[i], nodes) for i in range(d)])
            found[j] += share * (weights @ SHAPES[case.loss].gradient(centre + points)[:, j])
    return np.asarray(found - form.memory.bends[critic.BEND] * law[0])


def error(case: Case, leak: Leak = "") -> float:
    """Return how far the mean slope is from what is wanted, over the largest slope wanted or one."""
    wanted = wanted_slope(case)
    nodes = 3 if case.answers == 3 and case.dimensions == 3 else 5
    return float(np.abs(expected_slope(case, leak, nodes) - wanted).max() / max(np.abs(wanted).max(), 1.0))


NONSENSE = ("crossed", "quartic", "absolute", "pinball")
"""Losses whose curvature no critic could know."""
CASES = (
    *(Case(k, d, place, loss) for k in (1, 2) for d in (1, 3) for place in PLACES for loss in NONSENSE),
    *(Case(3, 1, place, loss) for place in PLACES for loss in NONSENSE),
    *(Case(3, 3, place, "crossed") for place in PLACES),
    *(Case(k, 1, place, loss, unbiased=False) for k in (1, 2, 3) for place in PLACES for loss in NONSENSE),
    *(Case(k, 3, place, "squared", "right", unbiased=False) for k in (1, 2, 3) for place in PLACES),
)
"""What is checked. The critic remembers nonsense, but for the default in three dimensions, whose slopes are exact on quadratics."""
PLANTED: tuple[tuple[Case, Leak], ...] = tuple(
    (Case(k, d, "border", "squared"), leak)
    for k in (1, 2, 3)
    for d in (1, 3)
    for leak in ("saw the round", "m left out")
    if (k, d) != (3, 3)
)
"""Leaks that must show."""


def rows(quick: bool = False) -> list[dict[str, Any]]:
    """Return one row for every case and every planted leak: what it is, and the error of its mean slope.

    Parameters
    ----------
    quick
        True: on the line only.
    """
    known: list[tuple[Case, Leak]] = [(case, "") for case in CASES]
    return [
        {
            "answers": case.answers,
            "dimensions": case.dimensions,
            "place": case.place,
            "by_loss": case.loss,
            "critic": case.critic,
            "unbiased": case.unbiased,
            "leak": leak,
            "error": float(f"{error(case, leak):.3g}"),
        }
        for case, leak in [*known, *PLANTED]
        if case.dimensions == 1 or not quick
    ]

"""The parts of the default, `boosted`, and the numbers in them.

Some numbers depend on the space. The rules give intervals the values that suit them, and were chosen on the first half of letter's
26 classes:

- δ of models that are fitted to one round's answers is a quarter of the diameter. For intervals and balls that is half the inner
  radius; on a simplex the inner radius (0.04 for 26 classes) does not limit how far queries may go, since they are projected.
- The ridge of the fitted model grows like the rank r: r slopes share the variation of one loss, so that noise weighs more in each.
- Where a split gains nothing, c · gain is 1 ± √(2/r) times the variance of gradients of rank r, a mean of r squared normal
  numbers: 4 on an interval is as many deviations above 1 as 1 + 3/√r is on a space of rank r. Leaves also have a smaller prior, and
  trees have more of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import count, finite, one_of
from banditboost.chains import Mix, Trusted
from banditboost.explore import Explore
from banditboost.gradients import Budget, Fitted, Gradient, Remembered, Stochastic
from banditboost.gradients.fitted import ENOUGH
from banditboost.learners import (
    ByWidth,
    Forgetting,
    Grown,
    InUnits,
    Learner,
    Level,
    Mixed,
    Screened,
    SecondOrder,
    Standardized,
    Steady,
    Tree,
    Wide,
)
from banditboost.spaces import Space

Numbers = Mapping[str, float]
"""Numbers of a learner that a user has chosen, by name."""
MEMORY = 2**25
"""Most bytes in which the default remembers rounds."""
MOST_NUMBERS = 8
"""Decisions of more numbers are made without memory by default: a forest takes so many times as long to grow."""


def remembered(
    memory: int | Learner | Literal["auto"] | None,
    space: Space,
    copies: int,
    gradient: Gradient | None,
    curvature: float | None,
) -> int | Learner | None:
    """Return how rounds are remembered where that is left to the default: only where forests pay, and gradients suit them."""
    if memory != "auto":
        return memory
    suits = gradient is None or (isinstance(gradient, Stochastic) and curvature in (None, 2.0))
    small = len(space.shape) < 2 and space.size <= MOST_NUMBERS
    return MEMORY if suits and small and copies >= FEWEST else None


def adapts(adaptive: bool | None, memory: int | Learner | None) -> bool:
    """Return whether a booster follows a world that changes; wherever rounds are remembered when nothing is said."""
    if adaptive is not None and not isinstance(adaptive, bool):
        raise ValueError(f"adaptive must be True or False, got {adaptive!r}.")
    if adaptive and memory is None:
        raise ValueError("adaptive must be left out, or False, where no rounds are remembered.")
    return memory is not None if adaptive is None else adaptive


def wary(gradient: Remembered, space: Space, adaptive: bool) -> Remembered:
    """Return the default's gradient as it is where rounds are remembered."""
    return replace(gradient, lasting=LASTING, wary=WARY, levels=tells_level(gradient, space), changes=adaptive)


def tells_level(gradient: Gradient | None, space: Space) -> bool:
    """Return whether a gradient has one noisy answer a round, from which it can tell the first copy where the level lies."""
    return isinstance(gradient, Remembered) and gradient.answers == 1 and space.bounds is not None


def forest_for(
    memory: int | Learner | None,
    categories: Sequence[tuple[int, int]],
    adaptive: bool,
    space: Space,
    start: ArrayLike | None,
) -> int | Learner | None:
    """Return the learner that remembers, with the categories, which starts where the booster does; what is no memory as it is."""
    forest = memory
    if isinstance(memory, int | np.integer) and not isinstance(memory, bool):
        forest = Grown(memory=int(memory), renews=adaptive, categories=tuple(categories))
    if start is not None and isinstance(forest, Grown) and forest.initial is None:
        begin = finite("start", start).ravel()
        if len(begin) == space.size:  # any other number of them is refused by the booster
            forest = replace(forest, initial=tuple((begin / np.array(units(space))).tolist()))
    if len(categories) and not isinstance(memory, int | np.integer):
        raise ValueError(
            "categories must be left out where memory is not a number of bytes: Grown(categories=...) as memory has them."
        )
    return forest


def copies_of(
    space: Space,
    curvature: float,
    copies: int,
    memory: int | Learner | None,
    gradient: Gradient | None = None,
    adaptive: bool = False,
    numbers: Numbers | None = None,
) -> Learner:
    """Return the default's copies: a linear one, then trees; where rounds are remembered, a level first and a forest last."""
    chosen = {} if numbers is None else numbers
    leaves = int(chosen["leaves"]) if "leaves" in chosen else None
    trees = tree_part(space, curvature, chosen.get("evidence"), leaves, adaptive)
    if memory is None:
        ridge = chosen.get("ridge", 1.0)
        narrow = steady(linear_part(curvature, ridge), trees, copies)
        return by_width(narrow, (Wide(ridge, curvature, wary=True),), trees, None, copies)
    if copies < FEWEST:
        raise ValueError(f"copies must be at least {FEWEST} where rounds are remembered, got {copies}.")
    whole = isinstance(memory, int | np.integer) and not isinstance(memory, bool)
    if not (memory.remembers if isinstance(memory, Learner) else whole):
        raise ValueError(
            "memory must be a number of bytes, or a learner that remembers rounds, such as learners.Refit(model), got "
            f"{memory!r:.100}."
        )
    last = memory if isinstance(memory, Learner) else Grown(memory=int(memory), renews=adaptive)
    told = isinstance(gradient, Remembered) and gradient.levels
    level = Level(latest=True) if told else Level(curvature=curvature)
    ridge = chosen.get("ridge", RIDGE)
    linear = linear_part(curvature, ridge, adaptive)
    narrow = Steady(Mixed((level, linear, trees, last), (1, 1, copies - 3, 1)))
    return by_width(narrow, (level, Wide(ridge * WIDE_RIDGE, curvature, wary=True)), trees, last, copies)


def by_width(narrow: Learner, first: tuple[Learner, ...], trees: Tree, last: Learner | None, copies: int) -> Learner:
    """Return the default's copies with others in their place for wide contexts: few features are shown to trees and forest."""
    if copies == len(first):
        return ByWidth(narrow, first[0], MOST)
    rest, number = copies - len(first), len(first)
    light = replace(trees, subset=0.2, bins=8, grace=80, max_leaves=min(trees.max_leaves, 16))
    within: Learner = light
    if last is not None:
        if isinstance(last, Grown):  # what a user has chosen stays as it is
            usual = {name: value for name, value in WIDE_FOREST.items() if getattr(last, name) == getattr(Grown, name)}
            last = replace(last, categories=(), **usual)
        within = Mixed((light, last), (rest - 1, 1))
    return ByWidth(
        narrow, Mixed((*first, Screened(Steady(within), PLACES, evidence=True)), (*(1,) * number, rest)), MOST
    )


def steady(linear: Learner, trees: Learner, copies: int) -> Learner:
    """Return one linear copy and trees after it, which see features in the units in which they first came."""
    return Steady(linear if copies == 1 else Mixed((linear, trees), (1, copies - 1)))


def chain_for(
    space: Space,
    memory: int | Learner | None = None,
    gradient: Gradient | None = None,
    adaptive: bool = False,
    step: float = 0.2,
) -> Trusted:
    """Return the default's chain: steps that add up, and, where rounds are remembered, one towards what was grown from them."""
    if memory is None:
        return Trusted(step=step, first=1.0, units=units(space))
    chain = Mix(step=step, first=1.0, units=units(space), alone=1, recent=adaptive)
    return replace(chain, doubts=DOUBTS) if tells_level(gradient, space) else chain


def linear_part(curvature: float = 2.0, ridge: float = 1.0, adaptive: bool = False) -> Learner:
    """Return the default's first copy: second-order, linear, on standardised features."""
    if adaptive:
        return Standardized(Forgetting(ridge, curvature))
    return Standardized(SecondOrder(ridge, curvature, centre="zero"))


def tree_part(
    space: Space,
    curvature: float = 2.0,
    evidence: float | None = None,
    max_leaves: int | None = None,
    adaptive: bool = False,
) -> Tree:
    """Return the default's trees for a space; evidence and the most leaves of a tree depend on its rank when not given."""
    rank = space.rank
    return Tree(
        curvature=curvature,
        evidence=1 + 3 / math.sqrt(rank) if evidence is None else evidence,
        ridge=20 / math.sqrt(rank),
        max_leaves=max(64, min(5 * rank, 256)) if max_leaves is None else max_leaves,
        renews=adaptive,
    )


def in_units(learner: Learner, space: Space) -> Learner:
    """Return a learner for which the sides of a box are equally long; the learner itself where they are, or there are none."""
    found = units(space)
    return learner if len(found) == 1 else InUnits(learner, units=found)


def units(space: Space) -> tuple[float, ...]:
    """Return the sides of a box over the longest; a single 1 where they are equal, or the space is no box."""
    sides = space.extents
    if space.bounds is None or bool((sides == sides[0]).all()):
        return (1.0,)
    return tuple((sides / sides.max()).tolist())


def default_gradient(
    space: Space,
    copies: int = 30,
    answers: int | None = None,
    explore: Explore | None = None,
    loss: str | None = None,
) -> Gradient:
    """Return the default's way to make gradients from a number of loss values, as many as copies when not given.

    Intervals and boxes have `Remembered` for every number of answers; so has every other space of numbers for fewer than five,
    which a fit to one round's answers cannot learn from. Five answers or more there, and matrices, have `Fitted`, whose questions
    may lie further from the prediction than the inner radius of a simplex allows.
    """
    wanted = copies if answers is None else count("answers", answers)
    known = CURVATURES[one_of("loss", loss, CURVATURES)] if loss is not None else None
    if space.bounds is not None or (wanted < ENOUGH and len(space.shape) == 1):
        return Remembered(wanted, Explore() if explore is None else explore, known)
    if explore is not None:
        raise ValueError("explore must be left out here: with five answers or more it is for intervals and boxes.")
    if wanted > copies:
        raise ValueError(f"answers must be at most as many as copies ({copies}) on this space, got {wanted}.")
    fitted = fitted_to_round(space)
    return fitted if wanted == copies else Budget(fitted, wanted, exactly=True)


def fitted_to_round(space: Space) -> Fitted:
    """Return gradients of a model that is fitted to the answers of one round, with one question for each copy."""
    return Fitted(space.diameter / 4, ridge=max(1e-3, (space.rank - 1) / 250), scaled=True)


def scaled(gradient: Gradient, space: Space) -> Gradient:
    """Return gradients that are told, scaled by the curvature that they show; any other gradient as it is."""
    if isinstance(gradient, Stochastic) and len(space.shape) < 2:
        return replace(gradient, scaled=True)
    return gradient


FEWEST = 4
"""Fewest copies of a booster that remembers: a level, a linear one, a tree, and one that is grown anew."""
LASTING = 0.5
"""Least share of the curvature that a round leaves, where rounds are remembered: see `Remembered`."""
WARY = 2.0
"""How many errors of the curvature are on the safe side, where rounds are remembered: see `Remembered`."""
DOUBTS = (1.0, 4.0, 2.0)
"""How many variances are taken off what copies have gained where rounds are remembered and one answer is told: see `Mix`."""
RIDGE = 3.0
"""The ridge of the linear copy of a booster that remembers, whose level is another copy's: chosen on first halves."""
WIDE_RIDGE = 2 / 3
"""The ridge of the linear copy for wide contexts, whose features are mostly rare, as a share of that for narrow ones: chosen on
half of the sentences of `python -m benchmarks words`, the first half of census, and streams of other seeds than those measured."""
MOST = 256
"""Most features of a narrow context; beyond, matrices of all features and trees that test all of them cost too much."""
PLACES = 128
"""How many features of a wide context trees and forest are shown."""
WIDE_FOREST: Mapping[str, Any] = {"trees": 50, "leaves": 31, "rate": 0.2, "frugal": True}
"""What the forest of wide contexts is: chosen, as were the trees before it, by loss and time on the first half of census and on
sparse streams, which have little use for a forest and should pay little for it."""
CURVATURES: Mapping[str, float | None] = {"squared": 2.0, "absolute": None, "huber": None, "quantile": None}
"""Losses that may be declared, and their second derivative where they have one."""

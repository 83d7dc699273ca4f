"""The default: trees after a linear model, boosted from loss values alone, with nothing to tune.

Idea: every part is the one that did best on the first halves of four data sets (docs/beyond.md shows the ablation).

- learner: a second-order linear copy on standardised features, then streaming trees, each on half the features, fit the residuals;
  all see features in the units in which they first came;
- chain: plays add up, y^i = Π(y^{i-1} + η a_i), with η = 1 for the linear copy and η = 0.2 for the trees, times the trust that
  trees have earned;
- memory, where it is asked for: a forest that is grown anew on remembered rounds, and followed as far as it has proven better;
  the first copy is then the level alone, and the others are shrunk towards it until they have shown more than noise;
- gradient: the slope of a local model of the loss around the prediction, from one noisy loss value or many, at points that never
  leave the space;
- decisions are measured by the extents of the space, so that boxes with unequal sides behave like cubes.

Some numbers depend on the space. The rules give intervals the values that suit them, and were chosen on the first half of letter's
26 classes:

- δ of models that are fitted to one round's answers is a quarter of the diameter. For intervals and balls that is half the inner
  radius; on a simplex the inner radius (0.04 for 26 classes) does not limit how far queries may go, since they are projected.
- The ridge of the fitted model grows like the rank r: r slopes share the variation of one loss, so that noise weighs more in each.
- Where a split gains nothing, c · gain is 1 ± √(2/r) times the variance of gradients of rank r, a mean of r squared normal
  numbers: 4 on an interval is as many deviations above 1 as 1 + 3/√r is on a space of rank r. Leaves also have a smaller prior, and
  trees have more of them.

References
----------
Beygelzimer, Hazan, Kale, Luo (2015), "Online Gradient Boosting", Algorithm 1, without its shrinkage; Friedman (2001), Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import count, one_of
from banditboost.bands import Conformal
from banditboost.booster import Booster
from banditboost.chains import Mix, Trusted
from banditboost.explore import Explore
from banditboost.gradients import Budget, Fitted, Gradient, Remembered, Stochastic
from banditboost.gradients.fitted import ENOUGH
from banditboost.learners import Grown, InUnits, Learner, Level, Mixed, SecondOrder, Standardized, Steady, Tree
from banditboost.spaces import Space


def boosted(
    space: Space,
    *,
    copies: int = 30,
    answers: int | None = None,
    gradient: Gradient | None = None,
    explore: Explore | None = None,
    loss: str | None = None,
    curvature: float | None = None,
    seed: int = 0,
    start: ArrayLike | None = None,
    maximize: bool = False,
    memory: int | Learner | None = None,
    categories: Sequence[tuple[int, int]] = (),
    bands: bool | Conformal = False,
) -> Booster:
    """Build the booster to try first: non-linear, for contexts of any scale, from noisy loss values.

    Parameters
    ----------
    space
        Where predictions must land. Queries stay there too.
    copies
        Number of copies (N).
    answers
        Number of loss values asked a round, from 1 on; as many as copies when not given. All copies learn from all of them. With 1,
        the point asked about is the decision that is played (`Ticket.action`), and its loss is what is paid.
    gradient
        How answers become gradients. When not given, `Remembered` on intervals and boxes (see `default_gradient`), for which the
        units of the loss do not matter; with `Exact()` the booster is told gradients, which are scaled by the curvature that they
        show.
    explore
        How far from the prediction to ask, and with what limits; with one answer as far as exploring pays.
    loss
        The loss, where it is known: "squared" saves the booster from having to learn the curvature.
    curvature
        Approximate second derivative of the loss, for gradients that are not scaled: 2 for the squared loss.
    seed
        Makes the run reproducible.
    start
        What is predicted before anything is learned; the centre of the space when not given.
    maximize
        Whether what is told are rewards, which are wanted high: see `Booster.tell`.
    memory
        Most bytes in which rounds are remembered; the last copy is then a forest that is grown anew on all of them whenever their
        number has grown by 30 % (`learners.Grown`), and is followed as far as it has proven better (`chains.Mix`). This takes
        several times as long a round, and the losses of streams of some thousand rounds come close to, or below, those of a batch
        model that is refitted. Without it no round is remembered. A learner in its place is the last copy: `learners.Grown` with
        other settings, such as ``Grown(lag=0.1, background=True)``, whose forests a thread grows so that no `tell` waits for one;
        or `learners.Refit` with a model of LightGBM, XGBoost, CatBoost or scikit-learn.
    categories
        Columns of contexts that are the indicators of one category each, as pairs of the first column and the one after the last:
        the forest of a booster that remembers then tests sets of levels (`learners.Grown`).
    bands
        Whether to learn, beside all else, between which values the losses of a round will lie (`Booster.predict_loss`): True, or
        `bands.Conformal` with other settings.

    Examples
    --------
    >>> import banditboost as bb
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])
    >>> world = bb.worlds.Supervised(X, y, noise=bb.noise.Uniform(0.1))
    >>> trace = bb.evaluate.progressive(boosted(bb.spaces.Interval(-1, 1)), world)
    >>> print(f"{trace.losses[2000:].mean():.2f} against {bb.evaluate.best_linear(world)[2000:].mean():.2f}")
    0.03 against 0.32

    Three classes, with probabilities as predictions; the booster is told losses, and no class:

    >>> world = bb.worlds.Classification(X, (X[:, 0] > 0) + 1 * (X[:, 1] > X[:, 2]), noise=bb.noise.Uniform(0.1))
    >>> trace = bb.evaluate.progressive(boosted(world.space), world)
    >>> print(f"{world.accuracy(trace.predictions, since=2000):.2f}")
    0.92
    """
    count("copies", copies)
    if not isinstance(space, Space):
        raise ValueError(f"space must be a Space, such as Interval(0, 1), got {space!r}.")
    last = with_categories(memory, categories)
    if gradient is None:
        gradient = default_gradient(space, copies, answers, explore, loss)
        if memory is not None and isinstance(gradient, Remembered):
            gradient = replace(gradient, lasting=LASTING)
    elif answers is not None or explore is not None or loss is not None:
        raise ValueError("answers, explore and loss must be left out where gradient is given.")
    elif curvature is None:
        gradient = scaled(gradient, space)
    bend = 2.0 if curvature is None else curvature
    return Booster(
        learner=in_units(copies_of(space, bend, copies, last), space),
        copies=copies,
        chain=chain_for(space, memory),
        gradient=gradient,
        space=space,
        seed=seed,
        start=space.inner_centre if start is None else start,
        maximize=maximize,
        bands=bands,
    )


def with_categories(memory: int | Learner | None, categories: Sequence[tuple[int, int]]) -> int | Learner | None:
    """Return the learner that remembers and knows the categories; what was given where there are none."""
    if not len(categories):
        return memory
    if memory is None or isinstance(memory, Learner):
        raise ValueError(
            "categories must be left out where memory is not a number of bytes: Grown(categories=...) as memory has them."
        )
    return Grown(memory=int(memory), categories=tuple(categories))


def copies_of(space: Space, curvature: float, copies: int, memory: int | Learner | None) -> Learner:
    """Return the default's copies: a linear one, then trees; where rounds are remembered, a level first and a forest last."""
    if memory is None:
        return steady(linear_part(curvature), tree_part(space, curvature), copies)
    if copies < FEWEST:
        raise ValueError(f"copies must be at least {FEWEST} where rounds are remembered, got {copies}.")
    whole = isinstance(memory, int | np.integer) and not isinstance(memory, bool)
    if not (memory.remembers if isinstance(memory, Learner) else whole):
        raise ValueError(
            "memory must be a number of bytes, or a learner that remembers rounds, such as learners.Refit(model), got "
            f"{memory!r:.100}."
        )
    last = memory if isinstance(memory, Learner) else Grown(memory=int(memory))
    first = Level(curvature=curvature), linear_part(curvature, RIDGE)
    return Steady(Mixed((*first, tree_part(space, curvature), last), (1, 1, copies - 3, 1)))


def steady(linear: Learner, trees: Learner, copies: int) -> Learner:
    """Return one linear copy and trees after it, which see features in the units in which they first came."""
    return Steady(linear if copies == 1 else Mixed((linear, trees), (1, copies - 1)))


def chain_for(space: Space, memory: int | Learner | None = None) -> Trusted:
    """Return the default's chain: steps that add up, and, where rounds are remembered, one towards what was grown from them."""
    if memory is None:
        return Trusted(step=0.2, first=1.0, units=units(space))
    return Mix(step=0.2, first=1.0, units=units(space), alone=1)


def linear_part(curvature: float = 2.0, ridge: float = 1.0) -> Learner:
    """Return the default's first copy: second-order, linear, on standardised features."""
    return Standardized(SecondOrder(ridge, curvature, centre="zero"))


def tree_part(
    space: Space, curvature: float = 2.0, evidence: float | None = None, max_leaves: int | None = None
) -> Tree:
    """Return the default's trees for a space; evidence and the most leaves of a tree depend on its rank when not given."""
    rank = space.rank
    return Tree(
        curvature=curvature,
        evidence=1 + 3 / math.sqrt(rank) if evidence is None else evidence,
        ridge=20 / math.sqrt(rank),
        max_leaves=max(64, min(5 * rank, 256)) if max_leaves is None else max_leaves,
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
RIDGE = 3.0
"""The ridge of the linear copy of a booster that remembers, whose level is another copy's: chosen on first halves."""
CURVATURES: Mapping[str, float | None] = {"squared": 2.0, "absolute": None, "huber": None, "quantile": None}
"""Losses that may be declared, and their second derivative where they have one."""

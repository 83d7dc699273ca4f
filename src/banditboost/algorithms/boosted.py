"""The default: trees after a linear model, boosted from loss values alone, with nothing to tune.

Idea: every part is the one that did best on the first halves of four data sets (docs/beyond.md shows the ablation).

- learner: a second-order linear copy on standardised features, then streaming trees, each on half the features, fit the residuals;
- chain: plays add up, y^i = Π(y^{i-1} + η a_i), with η = 1 for the linear copy and η = 0.2 for the trees;
- gradient: the slope of a quadratic fitted to the round's noisy loss values, at points that never leave the space.

Some numbers depend on the space. The rules give intervals the values that suit them, and were chosen on the first half of letter's
26 classes:

- δ is a quarter of the diameter. For intervals and balls that is half the inner radius; on a simplex the inner radius (0.04 for 26
  classes) does not limit how far queries may go, since they are projected.
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

from numpy.typing import ArrayLike

from banditboost._core.checks import count
from banditboost.booster import Booster
from banditboost.chains import Trusted
from banditboost.explore import Explore
from banditboost.gradients import Fitted, Gradient, Remembered
from banditboost.learners import Learner, Mixed, SecondOrder, Standardized, Tree
from banditboost.spaces import Space


def boosted(
    space: Space,
    *,
    copies: int = 30,
    answers: int | None = None,
    gradient: Gradient | None = None,
    explore: Explore | None = None,
    loss: str | None = None,
    curvature: float = 2.0,
    seed: int = 0,
    start: ArrayLike | None = None,
    maximize: bool = False,
) -> Booster:
    """Build the booster to try first: non-linear, for contexts of any scale, from noisy loss values.

    Parameters
    ----------
    space
        Where predictions must land. Queries stay there too.
    copies
        Number of copies (N).
    answers
        Number of loss values asked a round, at most as many as copies; as many when not given. All copies learn from all of them.
    gradient
        How answers become gradients. When not given, `Fitted` with scaling, so that the units of the loss do not matter; with
        `Exact()` the booster is told gradients.
    curvature
        Approximate second derivative of the loss, for gradients that are not scaled: 2 for the squared loss.
    seed
        Makes the run reproducible.
    start
        What is predicted before anything is learned; the centre of the space when not given.
    maximize
        Whether what is told are rewards, which are wanted high: see `Booster.tell`.

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

    Three classes, with probabilities as predictions; the booster never sees a label:

    >>> world = bb.worlds.Classification(X, (X[:, 0] > 0) + 1 * (X[:, 1] > X[:, 2]), noise=bb.noise.Uniform(0.1))
    >>> trace = bb.evaluate.progressive(boosted(world.space), world)
    >>> print(f"{world.accuracy(trace.predictions, since=2000):.2f}")
    0.93
    """
    count("copies", copies)
    if not isinstance(space, Space):
        raise ValueError(f"space must be a Space, such as Interval(0, 1), got {space!r}.")
    linear, trees = linear_part(curvature), tree_part(space, curvature)
    if gradient is None:
        known = {"squared": 2.0}.get(loss or "")
        gradient = Remembered(copies if answers is None else count("answers", answers), explore or Explore(), known)
    elif answers is not None:
        raise ValueError(f"answers must be left out where gradient is given, got {answers!r}.")
    return Booster(
        learner=linear if copies == 1 else Mixed((linear, trees), (1, copies - 1)),
        copies=copies,
        chain=Trusted(step=0.2, first=1.0),
        gradient=gradient,
        space=space,
        seed=seed,
        start=space.inner_centre if start is None else start,
        maximize=maximize,
    )


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


def default_gradient(space: Space) -> Fitted:
    """Return the default's way to make gradients from loss values, for a space."""
    return Fitted(space.diameter / 4, ridge=max(1e-3, (space.rank - 1) / 250), scaled=True)

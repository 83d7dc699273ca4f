"""The default: trees after a linear model, boosted from loss values alone, with nothing to tune.

Idea: every part is the one that did best on the first halves of four data sets (docs/beyond.md shows the ablation).

- learner: a second-order linear copy on standardised features takes the bulk, streaming trees on half the features the rest;
- chain: plays add up, y^i = Π(y^{i-1} + η a_i), the linear copy's as it is and the trees' with η = 0.2;
- gradient: the slope of a quadratic fitted to the round's noisy values, at points that never leave the space.

References
----------
Beygelzimer, Hazan, Kale, Luo (2015), "Online Gradient Boosting", Algorithm 1, without its shrinkage; Friedman (2001), Algorithm 1.
"""

from __future__ import annotations

from banditboost.booster import Booster
from banditboost.chains import Additive
from banditboost.gradients import Fitted, Gradient
from banditboost.learners import Learner, Mixed, SecondOrder, Standardized, Tree
from banditboost.require import count
from banditboost.spaces import Space


def boosted(
    space: Space,
    *,
    copies: int = 30,
    gradient: Gradient | None = None,
    curvature: float = 2.0,
    seed: int = 0,
) -> Booster:
    """Build the booster to try first: non-linear, for contexts of any scale, from `copies` noisy loss values a round.

    Parameters
    ----------
    space
        Where predictions must land. Queries stay there too.
    copies
        Number of copies (N), and of loss values asked a round.
    gradient
        `Fitted` when not given: scaled, so that the units of the loss do not matter. `Exact()` learns from gradients.
    curvature
        Second derivative of the loss, about, for gradients that are not scaled: 2 for the squared loss.
    seed
        Makes the run reproducible.

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
    """
    count("copies", copies)
    linear: Learner = Standardized(SecondOrder(curvature=curvature, around="zero"))
    trees = Tree(curvature=curvature)
    return Booster(
        learner=linear if copies == 1 else Mixed((linear, trees), (1, copies - 1)),
        copies=copies,
        chain=Additive(step=0.2, first=1.0),
        gradient=gradient or Fitted(space.inner_radius / 2, scaled=True),
        space=space,
        seed=seed,
    )

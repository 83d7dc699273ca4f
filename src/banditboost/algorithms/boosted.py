"""The default: trees after a linear model, boosted from loss values alone, with nothing to tune.

Idea: every part is the one that did best on the first halves of four data sets (docs/beyond.md shows the ablation).

- learner: a second-order linear copy on standardised features, then streaming trees, each on half the features, fit the residuals;
  all see features in the units in which they first came;
- chain: plays add up, y^i = Π(y^{i-1} + η a_i), with η = 1 for the linear copy and η = 0.2 for the trees, times the trust that
  trees have earned;
- memory: a forest that is grown anew on remembered rounds, and followed as far as it has proven better; the first copy is then
  the level alone, and the others are shrunk towards it until they have shown more than noise;
- drift: the linear copy has several memories, forests and trees that have gone stale are replaced, and late rounds may overrule
  all rounds, each only where gradients show more than chance;
- wide contexts: with more than 256 features the linear copy is `learners.Wide`, whose cost grows with non-zeros alone, and trees
  and a smaller forest are shown 128 features (`learners.Screened`): three quarters of them are those that came often first, and the
  others those that gradients tell most of;
- gradient: the slope of a local model of the loss around the prediction, from one noisy loss value or many, at points that never
  leave the space;
- decisions are measured by the extents of the space, so that boxes with unequal sides behave like cubes.

References
----------
Beygelzimer, Hazan, Kale, Luo (2015), "Online Gradient Boosting", Algorithm 1, without its shrinkage; Friedman (2001), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from numpy.typing import ArrayLike

from banditboost._core.checks import count
from banditboost.algorithms import default_parts as parts
from banditboost.bands import Conformal
from banditboost.booster import Booster
from banditboost.drifts import Detector
from banditboost.encoder import Encoder
from banditboost.explore import Explore
from banditboost.gradients import Gradient, Remembered
from banditboost.learners import Learner
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
    memory: int | Learner | Literal["auto"] | None = "auto",
    categories: Sequence[tuple[int, int]] = (),
    bands: bool | Conformal = False,
    drifts: bool | Detector = False,
    adaptive: bool | None = None,
    encoder: bool | Encoder = False,
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
        number has grown by 30 % (`learners.Grown`), and is followed as far as it has proven better (`chains.Mix`). ``"auto"``: 32
        MiB, where decisions have at most eight numbers, there are at least four copies, and gradients are those of the default, or
        told; else none. None: no round is remembered, which takes less time a round and, on streams of some thousand rounds, has
        larger losses. A learner in its place is the last copy: `learners.Grown` with other settings, such as
        ``Grown(lag=0.1, background=True)``, whose forests a thread grows so that no `tell` waits for one; or `learners.Refit` with
        a model of LightGBM, XGBoost, CatBoost or scikit-learn.
    categories
        Columns of contexts that are the indicators of one category each, as pairs of the first column and the one after the last:
        the forest of a booster that remembers then tests sets of levels (`learners.Grown`).
    bands
        Whether to learn, beside all else, between which values the losses of a round will lie (`Booster.predict_loss`): True, or
        `bands.Conformal` with other settings.
    drifts
        Whether to raise alarms where the world has changed (`Booster.drifts`): True, or `drifts.Detector` with other settings.
    adaptive
        Whether what was learned is given up where the world has changed; when not given, wherever rounds are remembered. It needs
        memory. Where nothing changes it costs next to nothing.
    encoder
        Whether contexts have names, as in ``ask({"city": "Rom", "age": 41})``: True, or `encoder.Encoder` with other settings.

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
    0.01 against 0.32

    Three classes, with probabilities as predictions; the booster is told losses, and no class:

    >>> world = bb.worlds.Classification(X, (X[:, 0] > 0) + 1 * (X[:, 1] > X[:, 2]), noise=bb.noise.Uniform(0.1))
    >>> trace = bb.evaluate.progressive(boosted(world.space), world)
    >>> print(f"{world.accuracy(trace.predictions, since=2000):.2f}")
    0.96
    """
    count("copies", copies)
    if not isinstance(space, Space):
        raise ValueError(f"space must be a Space, such as Interval(0, 1), got {space!r}.")
    if gradient is not None and (answers is not None or explore is not None or loss is not None):
        raise ValueError("answers, explore and loss must be left out where gradient is given.")
    kept = parts.remembered(memory, space, copies, gradient, curvature)
    follows = parts.adapts(adaptive, kept)
    asked = parts.default_gradient(space, copies, answers, explore, loss) if gradient is None else gradient
    if gradient is not None and curvature is None:
        asked = parts.scaled(gradient, space)
    elif gradient is None and kept is not None and isinstance(asked, Remembered):
        asked = parts.wary(asked, space, follows)
    last = parts.forest_for(kept, categories, follows, space, start)
    bend = 2.0 if curvature is None else curvature
    return Booster(
        learner=parts.in_units(parts.copies_of(space, bend, copies, last, asked, follows), space),
        copies=copies,
        chain=parts.chain_for(space, kept, asked, follows),
        gradient=asked,
        space=space,
        seed=seed,
        start=space.inner_centre if start is None else start,
        maximize=maximize,
        bands=bands,
        drifts=drifts,
        encoder=encoder,
    )

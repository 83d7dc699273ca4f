"""Gradients from memory: questions stand around the prediction, and one local model of the loss serves all copies.

The loss around the prediction p is modelled as c(v) = b(p) + s·v + ½ v'Hv, which is learned over rounds: the *critic*. Its level b
is a quadratic function of the prediction, since losses are larger where predictions are less certain, and depends on the context
through it alone; its slope s is the mean slope of late, and another one at borders. An action a = p + v is drawn from a continuous
law (`Explore`) with mean m and covariance Σ, and

    g = Σ⁻¹ [ (loss - c(v)) (v - m) + Cov(v, c(v)) ]

is the slope at the law's centre, from one answer. Its mean does not depend on the critic, as long as the critic comes from earlier
rounds: it is the gradient averaged with the law's own kernel. Moved back by H m it is the slope at p, and

    z = p - H⁻¹ g

is where the loss would be least. Every copy's gradient is 2 (yⁱ - z), as if z were a label and the loss a squared distance: the
steps of learners that assume the curvature 2 suit every loss, whatever its units.

With two answers or more, actions come in pairs p + m ± u, whose difference shows the slope without the level, which varies most
from round to round. An answer without a partner is compared with the model that the pairs of its round make.

The curvature turns slopes into steps, and with one answer it shows only through u². It is found by a regression of answers on
½(u² - E u²): since the law is known, this variable has nothing to do with anything that was known before the round. With three
answers or more the round's answers are compared with each other; with fewer, the round is compared with earlier ones. The first
rounds are wide and teach the critic alone, until the curvature is known to a third of itself, or for sixty rounds.

A parabola with slope s and curvature h falls by s²/2h, and losses do not fall below their lowest values. The curvature in use is
therefore at least the mean of s² over twice the height of the losses above those, or half of that with two answers or more, but
no more than ten times what the regression finds. With one answer, s² shows as the growth of squared surprises with u². So steps
stay as short as errors are where slopes do not shrink with them, as for the absolute loss.

Losses may come in other units from some round on. All that is remembered then grows with them (`_compiled/loss_units.py`), which is
noticed by how much losses differ, within a round or from one to the next. No target lies further from the prediction than eight
times what is usual, so that a few rounds in the wrong units do little harm; answers that have been one number for long say nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.explore import Explore
from banditboost.gradients import action_laws
from banditboost.gradients.base import CAP, Aim, Gradient, Limits, Moment, Probe, Questions, Streams
from banditboost.gradients.sphere import everyone, numbered
from banditboost.noise import Noise
from banditboost.spaces import Space

CLIP = 10.0
"""Surprises above so many times their usual size are cut, unless `unbiased`: outliers then turn no prediction around."""
EVERY = 32
"""With two answers, one round in so many is wider than the others: it shows the curvature, which a narrow pair hides."""
WIDER = 3.0
"""How much wider such a round is."""
SETTLED = 100.0
"""Rounds that teach the critic alone count no further than this: copies know no more than before, and exploration, which narrows
with the rounds, stays as wide as what they do not know."""
EXACT = 1e-9
"""Weights of rows that differ by less from one are one: the action was drawn from the law that this booster would draw from."""
LEVELLED = 16
"""Boxes of at most so many dimensions have a level that depends on the prediction; its regression costs their square a round."""


@dataclass(frozen=True)
class Remembered(Gradient, kind="gradients.Remembered"):
    """Gradients from a few answers around the prediction, or one, and from what earlier rounds have taught about the loss.

    Parameters
    ----------
    answers
        Loss values asked a round (k).
    explore
        How far from the prediction to ask.
    curvature
        The second derivative of the loss where it is known, 2 for the squared loss; learned when not given.
    unbiased
        True: the estimate in the module's first formula for every number of answers, with nothing cut. False, the default: pairs
        count by the squares of their distances, and the surprise at a single answer is cut at ten times its usual size. With pairs
        both are unbiased; the default has the smaller variance. Rounds with limits of their own count less in the default, as their
        law is narrower; in the unbiased form they count whole.
    lasting
        With one answer: the least share of the curvature found so far that a single round leaves of it, from 0 to 1. A loss far
        above all others, close to the prediction, otherwise makes the losses look flat, and on flat losses exploring costs nothing:
        queries then go anywhere for hundreds of rounds.
    wary
        With one answer: how many times its error the curvature in use is at least, and how many errors are taken off what slopes
        tell of it. A curvature that is far too small by chance sends all predictions to a border within some dozen rounds; nothing
        varies there, so that exploring, which must pay, becomes narrow, and the error is never found out.
    levels
        With one answer, on intervals and boxes: True where the first copy is `Level(latest=True)`. It is told where the best
        constant lies by all rounds, each weighted by how much it says, instead of where the loss of this one is least.
    changes
        Whether losses that grow several times as large may mean that predictions have become wrong, since the world has changed,
        and not that losses come in other units. Slopes tell: those of losses that have grown fourfold are twice as steep where
        predictions are wrong, and four times where units are others. With one answer slopes are not seen well enough: losses that
        are no larger than wrong predictions would make them are taken for a world that has changed.

    References
    ----------
    Flaxman, Kalai, McMahan (2005), Lemma 2.1, for one answer; Agarwal, Dekel, Xiao (2010), for pairs; Greensmith, Bartlett, Baxter
    (2004), for control variates that are learned.

    Examples
    --------
    >>> import banditboost as bb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> world = bb.worlds.Supervised(X, X[:, 0] + 0.3 * rng.standard_normal(4000))
    >>> trace = bb.evaluate.progressive(bb.algorithms.boosted(bb.spaces.Interval(-2, 2), answers=1), world)
    >>> print(f"{trace.losses[2000:].mean():.2f} predicted, {trace.paid[2000:].mean():.2f} paid, a constant 0.42")
    0.09 predicted, 0.11 paid, a constant 0.42
    """

    answers: int = 1
    explore: Explore = field(default_factory=Explore)
    curvature: float | None = None
    unbiased: bool = False
    lasting: float = 0.0
    wary: float = 0.0
    levels: bool = False
    changes: bool = False

    asks: ClassVar[Literal["values", "gradients"]] = "values"
    limited: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.count("answers", self.answers)
        if self.curvature is not None:
            checks.positive("curvature", self.curvature)
        if not 0 <= checks.number("lasting", self.lasting) <= 1:
            raise ValueError(f"lasting must be at least 0 and at most 1, got {self.lasting!r}.")
        checks.at_least_zero("wary", self.wary)
        if not isinstance(self.changes, bool):
            raise ValueError(f"changes must be True or False, got {self.changes!r}.")
        if not isinstance(self.explore, Explore):
            raise ValueError(f"explore must be an Explore, got {self.explore!r}.")

    @classmethod
    def examples(cls) -> tuple[Remembered, ...]:
        """Give one answer, two, five, the unbiased form with a known curvature, and one and two answers in worlds that change."""
        changing = (cls(changes=True), cls(2, changes=True))
        return (cls(), cls(2), cls(5), cls(3, unbiased=True, curvature=2.0), *changing)

    @property
    def lines(self) -> int:
        """Number of directions (D): one for each pair, and one for an answer without a partner."""
        return (self.answers + 1) // 2

    def count(self, copies: int) -> int:
        """Return the number of answers, which does not depend on the copies."""
        return self.answers

    def check(self, copies: int, space: Space) -> None:
        """Raise an error where decisions are matrices, or limits do not fit."""
        if len(space.shape) > 1:
            raise ValueError(
                "gradient must not be Remembered where decisions are matrices; choose Fitted or Surrogate."
            )
        self.explore.check(space)

    def start(self, copies: int, space: Space) -> Memory:
        """Return the critic before the first round: nothing is known."""
        terms = 2 * space.size + 1 if space.bounds is not None and space.size <= LEVELLED else 1
        facts = np.zeros(30 if self.changes else 27)
        # Late rounds are followed by the rule in `_compiled/falling.py`; boosters of earlier versions have zero, and do without.
        facts[22] = 1.0
        memory = {"facts": facts, "bends": np.zeros((20, space.size)), "levels": np.zeros((terms, terms + 2))}
        if self.curvature is not None:
            known = _declared(self, space)
            memory["bends"][2] = known
            memory["facts"][4] = known.mean()
        return memory

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Choose queries around the last anchor, with the memory of a first round."""
        return self.begin(Moment(anchors, anchors[-1], None, None), space, streams, self.start(len(anchors), space))

    def begin(self, moment: Moment, space: Space, streams: Streams, memory: Memory) -> Probe:
        """Choose queries around the prediction, within the round's limits."""
        from banditboost._compiled.remembered import begin, choose

        size, rules, law = space.size, _rules(self, space), np.empty((4, space.size))
        low, high = _bounds(space, moment.limits)
        point, critic = np.array(moment.prediction, dtype=float).reshape(1, size), _critic(memory, moment.waiting)
        drawn = self._directions(space, streams["directions"], 1)[0]
        if not rules.ball:
            queries, directions = np.empty((self.answers, size)), np.empty((self.lines, size))
            density = np.empty(self.answers)
            choose(rules, critic, point, low, high, drawn, law, queries, directions, density)
        else:
            begin(rules, critic, point, low, high, law)
            queries = point + rules.extent * action_laws.moves_of(law, drawn, self.answers)
            # What is learned from is the action: where another process is told it and nothing else, it learns the same.
            directions = action_laws.directions_within(law, (queries[::2] - point) / rules.extent)
            density = np.repeat(action_laws.density_in(rules, law, directions), 2)[: self.answers]
        return Probe(
            queries.reshape(self.answers, *space.shape),
            directions.reshape(self.lines, *space.shape),
            numbered(self.answers),
            moment.anchors,
            everyone(self.lines),
            prediction=np.array(moment.prediction, dtype=float),
            law=law,
            density=density,
            weight=None if moment.limits is None or self.unbiased else self._weight(rules, memory, moment, space, law),
        )

    def foreign(
        self,
        moment: Moment,
        action: Array,
        density: float | None,
        space: Space,
        memory: Memory,
        aim: Aim | None = None,
    ) -> Probe:
        """Return the action as one of a law about this prediction, or about the other's aim; the round counts by its densities.

        The law is the one that would be drawn from now; where an aim is given, the uniform one with the aim's mean and variance.
        The round counts as often as the law would draw the action in place of the other, at most `CAP` times: with any density
        that is positive wherever the law is, and while nothing is capped, gradients have the mean that they have with actions of
        that law. Where neither density nor aim is known, and where the law would not draw the action, only the critic learns: what
        is lost at that point.
        """
        point = np.array(moment.prediction, dtype=float).reshape(1, space.size)
        rules, law = _rules(self, space), np.empty((4, space.size))
        if aim is None:
            self._lay(rules, memory, point, space, law)
        else:
            point, law = action_laws.law_about(aim, rules)
        directions = action_laws.directions_within(law, (np.reshape(action, (1, space.size)) - point) / rules.extent)
        importance = 1.0 if aim is not None else 0.0
        if density is not None:
            importance = min(action_laws.likelihood_of(rules, law, directions, aim) / density, CAP)
        drawn_here = abs(importance - 1.0) <= EXACT and aim is None and self.answers == 1
        return Probe(
            np.reshape(action, (1, *space.shape)),
            directions.reshape(1, *space.shape),
            numbered(1),
            moment.anchors,
            np.array([importance > 0.0]),
            prediction=point.reshape(space.shape),
            law=law,
            importance=None if drawn_here else np.array([importance, float(aim is None)]),
        )

    def as_played(
        self, probe: Probe, actions: Array, answered: NDArray[np.bool_], answers: Array, space: Space
    ) -> tuple[Probe, Array]:
        """Return the actions that lie within the law as if they had been drawn from it: whole pairs, and one single action.

        An action that was rounded is hardly another one, and the law's variance is taken for its own: slopes are wrong by about the
        share of the law's width by which it was moved. Where all actions lie beyond the law, the critic alone learns, what was lost
        at the first.
        """
        law, size = self._law(probe, space), space.size
        moves = (actions.reshape(-1, size) - np.reshape(np.asarray(probe.prediction), (1, size))) / space.extents
        directions = action_laws.directions_within(law, moves)
        there = (np.abs(moves - law[0]) <= 1e-12) | (law[1] > 0)  # where limits leave one value, it was played
        usable = answered & action_laws.inside_each(_rules(self, space), directions) & there.all(axis=1)
        pairs = [q for q in range(0, self.answers - 1, 2) if usable[q] and usable[q + 1]]
        alone = [q for q in np.flatnonzero(usable).tolist() if q - q % 2 not in pairs][:1]
        kept = [q for first in pairs for q in (first, first + 1)] + alone
        lines = [0.5 * (directions[q] - directions[q + 1]) for q in pairs] + [directions[q] for q in alone]
        whole = len(kept) == self.answers
        if not kept:
            kept, lines = [int(np.argmax(answered))], [np.zeros(size)]
        found = probe._replace(
            queries=actions[kept],
            directions=np.array(lines).reshape(-1, *space.shape),
            draws=numbered(len(kept)),
            chosen=np.full(len(lines), bool(usable.any())),
            density=None,
            importance=None if whole else np.array([float(usable.any()), 1.0]),
        )
        return found, answers[[int(np.count_nonzero(answered[:q])) for q in kept]]

    def _law(self, probe: Probe, space: Space) -> Array:
        """Return a probe's law; raise where the probe comes from a file and is not what `begin` returned."""
        if probe.law is None or probe.law.shape != (4, space.size) or probe.prediction is None:
            raise ValueError("ticket must be what ask returned: its law does not fit this booster.")
        # What was loaded is read-only, and kernels would be compiled for that too.
        return probe.law if probe.law.flags.writeable and probe.law.flags.c_contiguous else np.array(probe.law)

    def _lay(self, rules: Any, memory: Memory, point: Array, space: Space, law: Array) -> None:
        """Write the law of a round in which nothing limits actions and no other round waits for its answers."""
        from banditboost._compiled import remembered as kernel

        low, high = _bounds(space, None)
        kernel.begin(rules, _critic(memory), point, low, high, law)

    def _weight(self, rules: Any, memory: Memory, moment: Moment, space: Space, law: Array) -> Array:
        """Return how much a round with limits counts: like the square of its width over that without them.

        The error of a slope is as large as the width is small. Where limits leave one value nothing is known of it; without weights
        a round whose limits are a little wider would be all error.
        """
        from banditboost._compiled import remembered as kernel

        free, (low, high) = np.empty_like(law), _bounds(space, None)
        point = np.array(moment.prediction, dtype=float).reshape(1, space.size)
        kernel.begin(rules, _critic(memory, moment.waiting), point, low, high, free)
        share = np.divide(law[1], free[1], out=np.ones_like(law[1]), where=free[1] > 0)
        return np.asarray(np.minimum(share, 1.0) ** 2)

    def _directions(self, space: Space, rng: np.random.Generator, rounds: int) -> Array:
        shape = (rounds, self.lines, space.size)
        if space.bounds is not None:
            return self.explore.directions(self.answers, space, rng.random(shape))
        # The first coordinates of a uniform direction with one coordinate more lie in the ball, mostly near its surface.
        normal = rng.standard_normal((rounds * self.lines, space.size + 1))
        inside = space.tangent(normal[:, :-1].reshape(-1, *space.shape)).reshape(-1, space.size)
        lengths = np.sqrt(np.square(inside).sum(axis=1) + np.square(normal[:, -1]))
        return np.asarray(inside / lengths[:, np.newaxis]).reshape(shape)

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Return 2 (yⁱ - z) for every anchor yⁱ."""
        return self._gradients(None, answers, probe, space, memory)

    def estimate_at(self, path: Array, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Return 2 (yⁱ - z) for today's anchors; once predictions have come as far as the loss can fall, z is no further away."""
        return self._gradients(path[-1], answers, probe._replace(anchors=path[:-1]), space, memory)

    def _gradients(self, now: Array | None, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        from banditboost._compiled.remembered import study

        rules, critic, law, lesson = self._lesson(probe, space, memory)
        anchors = np.ascontiguousarray(probe.anchors, dtype=float).reshape(len(probe.anchors), space.size)
        point = np.array(probe.prediction, dtype=float).reshape(1, space.size)
        today = point if now is None else np.array(now, dtype=float).reshape(1, space.size)
        gradients = np.empty_like(anchors)
        study(rules, critic, law, answers, lesson, point, today, anchors, gradients)
        if np.count_nonzero(law[1]) < space.size:
            gradients[:, law[1] == 0] = 0.0  # where limits leave one value, an answer says nothing about the slope
        if probe.weight is not None:
            gradients[1 if rules.levels and self.answers == 1 and not rules.ball else 0 :] *= probe.weight
        if probe.importance is not None:
            gradients *= probe.importance[0]
        return gradients.reshape(probe.anchors.shape)

    def laws(self, predictions: Array, space: Space, memory: Memory) -> Array:
        """Return the laws of the next round for predictions of shape (n, *shape), as if each were the round's, shape (n, 4, d)."""
        from banditboost._compiled import remembered as kernel

        low, high = _bounds(space, None)
        points = np.ascontiguousarray(predictions, dtype=float).reshape(len(predictions), space.size)
        found = np.empty((len(points), 4, space.size))
        kernel.laws(_rules(self, space), _critic(memory), points, low, high, found)
        return found

    def density_of(self, actions: Array, predictions: Array, laws: Array, space: Space) -> Array:
        """Return with what density rounds that predict so and have such laws play actions, shape (n,)."""
        rules, size = _rules(self, space), space.size
        moved = (actions - predictions).reshape(len(laws), size) / rules.extent
        width = laws[:, 1]
        if not (width > 0).all():
            raise ValueError("booster must explore for its actions to have a density, but its law is a single point.")
        u = (moved - laws[:, 0]) / width
        if rules.ball:
            square = np.square(u).sum(axis=1)
            each = np.asarray(action_laws.density_on_ball(rules, width[:, 0], 1.0 - square))
            return np.where(square < 1.0, each, 0.0)
        each = rules.rim / 2 * np.abs(u) ** (rules.rim - 1) / (width * rules.extent)
        return np.asarray(np.where(np.abs(u) <= 1.0, each, 0.0).prod(axis=1))

    def draw_from(self, predictions: Array, laws: Array, space: Space, rng: np.random.Generator) -> Array:
        """Draw one action a row from such laws, shape (n, *shape)."""
        u = self._directions(space, rng, len(laws))[:, 0]
        moves = _rules(self, space).extent * (laws[:, 0] + laws[:, 1] * u)
        return np.asarray(predictions + moves.reshape(predictions.shape))

    @property
    def moves(self) -> bool:
        """True: one local model serves anchors wherever they are."""
        return True

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Let the critic learn from the round."""
        from banditboost._compiled.critic import ROUNDS
        from banditboost._compiled.remembered import end

        rules, critic, law, lesson = self._lesson(probe, space, memory)
        point = np.array(probe.prediction, dtype=float).reshape(1, space.size)
        if (
            probe.importance is not None
            and len(probe.queries) == 1
            and (probe.importance[0] == 0.0 or self.answers > 1)
        ):
            # What is lost at the action itself: nothing is known of a slope there, and rounds of several answers show it better.
            point, law = np.array(probe.queries, dtype=float).reshape(1, space.size), np.zeros_like(law)
            lesson.u[:] = 0.0
        end(rules, critic, law, answers, lesson, point)
        if not probe.chosen.any() and critic.facts[ROUNDS] > SETTLED:
            critic.facts[ROUNDS] -= 1.0

    def _lesson(self, probe: Probe, space: Space, memory: Memory) -> tuple[Any, Any, Array, Any]:
        from banditboost._compiled.critic import empty_lesson

        law, size, rules = self._law(probe, space), space.size, _rules(self, space)
        if probe.importance is not None and (self.answers > 1 or len(probe.queries) > 1):
            rules = rules._replace(answers=len(probe.queries), levels=rules.levels and self.answers == 1)
        lines = (rules.answers + 1) // 2
        if len(probe.directions) != lines:
            raise ValueError("ticket must be what ask returned: its law does not fit this booster.")
        if len(probe.queries) != rules.answers:  # as many answers as a kernel reads
            raise ValueError("ticket must be what ask returned: its queries do not fit this booster.")
        lesson = empty_lesson(lines, size)
        np.multiply(law[1], probe.directions.reshape(lines, size), out=lesson.u)
        if probe.importance is not None:
            lesson.importance[:] = probe.importance
        free = int(np.count_nonzero(law[1]))
        if 0 < free < size:  # limits leave some coordinates one value, and the slope lies along the others
            rules = rules._replace(rank=free)
        return rules, _critic(memory), law, lesson

    def resize(self, memory: Memory, old: Space, new: Space) -> None:
        """Measure everything by the new extents: a slope grows with its unit, a curvature with its square."""
        from banditboost._compiled import critic

        factor, bends = new.extents / old.extents, memory["bends"]
        powers = {
            critic.BENT: -4,
            critic.BENDING: -2,
            critic.BEND: 2,
            critic.EDGE: 1,
            critic.TREND: 1,
        }
        powers |= {critic.SQUARE: -2, critic.MEAN: -1, critic.VARIED: -2, critic.REACH: -1}
        powers |= {critic.STEEP: 2, critic.STEEPS: -4, critic.STEEPNESS: -2}
        powers |= {critic.AWAY: -1, critic.AWAYS: -2, critic.CUBES: -3, critic.SLOPED: -1}
        if memory["facts"][critic.CURVATURE] > 0.0:
            powers |= {critic.HEAVY: -2, critic.POINTED: -3}
        for row, power in powers.items():
            bends[row] *= factor**power
        for fact in (critic.CURVATURE, critic.REGRESSED):
            memory["facts"][fact] *= float(np.mean(factor**2))

    def draw(
        self, copies: int, space: Space, streams: Streams, rounds: int, noise: Noise, rng: np.random.Generator
    ) -> Questions:
        """Draw directions within the law, and the noise of every answer."""
        directions = self._directions(space, streams["directions"], rounds)
        return Questions(
            directions, np.ones((rounds, self.lines), dtype=np.bool_), noise.sample(rng, (rounds, self.answers))
        )

    def compiled_reader(self, space: Space, memory: Memory) -> Any:
        """Return the form in `banditboost._compiled.logged`."""
        from banditboost._compiled.critic import empty_lesson
        from banditboost._compiled.logged import Foreign

        rules, (low, high), d = _rules(self, space), _bounds(space, None), space.size
        return Foreign(
            rules=rules,
            single=rules if self.answers == 1 else rules._replace(answers=1, levels=False),
            memory=_critic(memory),
            low=low,
            high=high,
            law=np.zeros((4, d)),
            lesson=empty_lesson(1, d),
            answer=np.empty(1),
            direction=np.empty(d),
            point=np.empty((1, d)),
            sphere=action_laws.sphere(space.rank),
            cap=CAP,
            exact=EXACT,
            settled=SETTLED,
        )

    def compiled_form(self, copies: int, space: Space, memory: Memory, questions: Questions) -> Any:
        """Return the form in `banditboost._compiled.remembered`."""
        from banditboost._compiled import remembered as kernel
        from banditboost._compiled.critic import empty_lesson

        low, high = _bounds(space, None)
        return kernel.Remembered(
            rules=_rules(self, space),
            memory=_critic(memory),
            low=low,
            high=high,
            directions=questions.directions,
            noise=questions.noise,
            law=np.empty((4, space.size)),
            lesson=empty_lesson(self.lines, space.size),
            answers=np.empty(self.answers),
        )


def _critic(memory: Memory, waiting: int = 0) -> Any:
    """Return what decides a round's law: the critic, with rounds that wait for answers counted in, by which laws take turns.

    The wide rounds and the narrow ones alternate, and the curvature is seen where they do. Rounds that are told count them, so that
    without this all rounds that are asked before the next is told would be of one kind.
    """
    from banditboost._compiled.critic import ROUNDS, WAITING
    from banditboost._compiled.critic import Memory as Critic

    facts = memory["facts"]
    if waiting:
        facts = facts.copy()
        facts[ROUNDS] += waiting % (2 * EVERY)
        facts[WAITING] = waiting
    return Critic(facts, memory["bends"], memory["levels"])


@lru_cache(maxsize=64)
def _rules(gradient: Remembered, space: Space) -> Any:
    from banditboost._compiled.critic import Rules

    extent, k, explore = space.extents, gradient.answers, gradient.explore
    least, most = explore.limits(extent)
    return Rules(
        answers=k,
        ball=space.bounds is None,
        rank=space.rank,
        extent=extent,
        centre=np.array(space.inner_centre, dtype=float).reshape(-1) / extent,
        inner=float(space.inner_radius / extent[0]),
        budget=explore.share(k),
        patience=explore.steady(k),
        rim=explore.exponent(k),
        every=EVERY,
        wider=WIDER if k == 2 else 1.0,
        least=least,
        most=most,
        declared=np.zeros(space.size) if gradient.curvature is None else _declared(gradient, space),
        clip=math.inf if gradient.unbiased else CLIP,
        plain=gradient.unbiased,
        lasting=gradient.lasting,
        levels=gradient.levels,
        wary=gradient.wary,
        changes=gradient.changes,
    )


def _declared(gradient: Remembered, space: Space) -> Array:
    assert gradient.curvature is not None
    return np.asarray(gradient.curvature * space.extents**2)


def _bounds(space: Space, limits: Limits | None) -> tuple[Array, Array]:
    found = space.bounds if limits is None else limits
    return (np.empty(0), np.empty(0)) if found is None else found

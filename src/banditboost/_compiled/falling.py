"""How far a late round is followed: once predictions have come as far as the loss can fall, no further.

A target is reached where answers are late: when its round is told, many others that were asked at the same prediction have been
told, and all copies have gone where those say. For a loss that falls like |r|^q towards its least value, over the distance r,
the slope s and the height H above that value give r = qH/|s|. It is 2H/|s| for squares and H/|s| for the absolute loss, of which a
parabola with the mean curvature knows nothing: it sends every prediction equally far, beyond the target where that is near, and the
next rounds as far back. The power q shows in how slopes grow with heights, |s| ~ H^e with e = (q - 1)/q, and is followed over the
rounds. With one answer the round's own slope and height are mostly noise; their means over rounds are not, and the covariance of
both is half of that of the answer and the slope that is made from it.

Sums decide here how far rounds are followed, so that they are never reordered (`jit.strict`): code that was just compiled and code
from disk must agree.

Boosters that were begun by a version without this rule (`WEIGHED` is zero in what they remember) go on without it.
"""

from __future__ import annotations

from banditboost._compiled.critic import (
    CURVATURE,
    FALLS,
    HEIGHTS,
    LEVEL,
    LOW,
    PRODUCTS,
    SPREAD,
    SQUARES,
    STEEP,
    TREND,
    WEIGHED,
    Lesson,
    Memory,
    Rules,
    bent,
    curving,
)
from banditboost._compiled.jit import inlined, strict
from banditboost._core.checks import Array

BELIEVED = 30.0
"""So many rounds are taken to have shown the power 3/2 beforehand, halfway between a straight line and a square."""
KEPT = 0.998
"""What is left of a round's weight after another round."""
LARGEST = 10.0
"""Heights and slopes of a round count up to so many times the mean height of the losses."""
SOON = 0.5
"""Once predictions have come this share of the way that the loss can fall, late rounds are followed no further than that."""


@inlined
def mean_height(facts: Array) -> float:
    """Return how far the losses at predictions stand above the lowest ones, in the mean over rounds."""
    return max(facts[LEVEL] - facts[LOW], 0.5 * facts[SPREAD])  # type: ignore[no-any-return]


@strict
def round_height(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> float:
    """Return how far the loss at the prediction of a round stands above the lowest ones, by the pairs of its answers."""
    pairs, level = rules.answers // 2, 0.0
    for q in range(pairs):
        level += (0.5 * (answers[2 * q] + answers[2 * q + 1]) - curving(rules, memory, it.u, q)) / pairs
    for j in range(law.shape[1]):
        level -= (it.slope[j] + 0.5 * bent(rules, memory, j) * law[0, j]) * law[0, j]
    return max(level - memory.facts[LOW], 0.0)  # type: ignore[no-any-return]


@strict
def note_fall(rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson) -> None:
    """Follow how slopes grow with heights."""
    facts, bends, one = memory.facts, memory.bends, rules.answers == 1
    usual = mean_height(facts)
    if facts[WEIGHED] <= 0.0 or facts[CURVATURE] <= 0.0 or usual <= 0.0:
        return
    fall = moved = 0.0
    for j in range(law.shape[1]):
        other = bends[TREND, j] if one else it.slope[j]
        fall += it.slope[j] * other / bent(rules, memory, j) / usual
        moved += bends[TREND, j] * (law[0, j] + it.u[0, j]) / usual
    height = (answers[0] - facts[LOW] if one else round_height(rules, memory, law, answers, it)) / usual
    height, fall = min(max(height, -LARGEST), LARGEST), min(max(fall, -LARGEST), LARGEST)
    square = height * height - (min(moved * moved, LARGEST * LARGEST) if one else 0.0)
    facts[WEIGHED] = KEPT * facts[WEIGHED] + 1.0
    facts[HEIGHTS] = KEPT * facts[HEIGHTS] + height
    facts[FALLS] = KEPT * facts[FALLS] + fall
    facts[SQUARES] = KEPT * facts[SQUARES] + square
    facts[PRODUCTS] = KEPT * facts[PRODUCTS] + height * fall


@strict
def power(facts: Array) -> float:
    """Return the power q with which losses rise from their least value, between 1 and 2."""
    weight = max(facts[WEIGHED], 1.0)
    height, fall = facts[HEIGHTS] / weight, facts[FALLS] / weight
    if height <= 0.0 or fall <= 0.0:
        return 1.5
    believed = BELIEVED / weight * 0.25 * height * height
    varied = max(facts[SQUARES] / weight - height * height, 0.0) + believed
    together = facts[PRODUCTS] / weight - height * fall + believed * fall / height * (2.0 / 3.0)
    grows = min(max(0.5 * together * height / (varied * fall), 0.0), 0.5)
    return 1.0 / (1.0 - grows)  # type: ignore[no-any-return]


@strict
def share_left(
    rules: Rules, memory: Memory, law: Array, answers: Array, it: Lesson, point: Array, now: Array, i: int
) -> float:
    """Return the share of the way from the prediction point[i] to its target that is followed where now[i] is predicted today.

    All of it where nothing has changed, as at once; the nearer the prediction has come to where the loss can fall no further, the
    less lies beyond.
    """
    facts, bends = memory.facts, memory.bends
    if facts[WEIGHED] <= 0.0 or facts[CURVATURE] <= 0.0:
        return 1.0
    fall = length = moved = 0.0
    for j in range(law.shape[1]):
        step = it.slope[j] / bent(rules, memory, j)
        fall += it.slope[j] * step
        length += step * step
        moved += step * (point[i, j] - now[i, j]) / rules.extent[j]
    if rules.answers > 1:
        share = power(facts) * round_height(rules, memory, law, answers, it) / fall if fall > 0.0 else 1.0
    else:
        # The square of the mean slope is known without noise from many rounds, and with noise from the last ones: half of each.
        usual = 0.5 * max(facts[FALLS], 0.0) / max(facts[WEIGHED], 1.0) * mean_height(facts)
        for j in range(law.shape[1]):
            usual += (bends[STEEP, j] + 0.5 * bends[TREND, j] ** 2) / bent(rules, memory, j)
        share = power(facts) * mean_height(facts) / usual if usual > 0.0 else 1.0
    if share >= 1.0 or moved <= 0.0:
        return 1.0
    return 1.0 - (1.0 - share) * min(moved / max(SOON * share * length, 1e-300), 1.0)

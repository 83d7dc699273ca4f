"""Alarms where the world has changed: when losses became larger than chance explains, and since about when they are.

Idea: as long as nothing changes, the loss of a round is as likely to have one rank among the losses before it as any other. Bets
that it is among the largest lose in the long run, and win where losses have risen: whoever has won a million times his stake has
seen what chance shows once in a million rounds, or a change. Only ranks matter, so that losses may have any units and any tails. A
learner that improves makes losses smaller, against which nobody bets. The detector learns beside the booster and changes nothing
that it does.

References
----------
Vovk (2021), "Testing Randomness Online"; Volkhonskiy, Burnaev, Nouretdinov, Gammerman, Vovk (2017), "Inductive Conformal
Martingales for Change-Point Detection"; Shin, Ramdas, Rinaldo (2022), "E-detectors", Section 2; Page (1954), "Continuous
Inspection Schemes".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.spec import Memory, Spec

if TYPE_CHECKING:
    from banditboost._compiled import drifts as kernel

__all__ = ["Alarm", "Detector"]

MOST = 10**6
"""Largest window: every round moves half of it in the mean."""
FEWEST = 50
"""Shortest burn-in: with fewer losses to compare with, ranks say little. An alarm in so many rounds is the most there can be."""
WARNING = 100.0
"""A warning has so many times less evidence than an alarm."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A change of the world that was noticed.

    Examples
    --------
    >>> alarm = Alarm(round=4215, since=4200)
    >>> print(alarm)
    The world changed about round 4,200, as was noticed in round 4,215.
    """

    round: int
    """The round that raised the alarm: how many had been told, in the order of telling."""
    since: int
    """About when the change happened: how many rounds had been told before it, as `changes` of worlds says it."""

    def __str__(self) -> str:
        return f"The world changed about round {self.since:,}, as was noticed in round {self.round:,}."


@dataclass(frozen=True)
class Detector(Spec, kind="drifts.Detector"):
    """Bets on the ranks of losses, and an alarm where the bets have won too much.

    The p-value of a round's loss is the share of the losses of a window that are not smaller, itself counted; equal ones share it
    evenly. Four bets have densities proportional to max(p, 0.02)^(q - 1) with q = 0.2, 0.4, 0.6 and 0.8: the first wins most where
    few losses are very large, the last where many are somewhat larger. The wealth of a bet is multiplied by its density at the
    p-value and divided by 1 + `slack`, and begins again at one where it has fallen below; the round of the last beginning is when
    the change is believed to have happened. An alarm is raised where the mean wealth of the four has reached `every`. Then
    everything begins again, with the losses after the alarm.

    **What holds, and when.** Where no bet is paid more than 1 + `slack` in the mean in any round, given the rounds before, the mean
    number of rounds to a false alarm is at least `every`: the wealth is at most a Shiryaev-Roberts sum, which grows by no more than
    one a round in the mean (Shin, Ramdas and Rinaldo 2022, Section 2). Were p-values independent and uniform, as those of
    exchangeable losses among *all* losses before are (Vovk 2021), bets would be paid 1 in the mean. The slack is
    for what is not so here: a window holds some losses only, losses of a learner hang together, and rise a little for a while. So
    `every` is a promise for losses that keep to this, and no probability that an alarm is true; ``banditboost reproduce alarms``
    counts false ones. Losses that rise so slowly that a window follows them raise none, and neither do changes that leave losses as
    they were.

    Parameters
    ----------
    every
        The least mean number of rounds to a false alarm. A bet pays at most about seven, so that a million takes at least eight
        large losses.
    window
        How many losses are compared with, at most a million: the last so many before the latest half as many, which wait, so that
        losses after a change do not soon pass for usual ones.
    burn_in
        How many rounds at the start are left out, in which a booster learns most; and how many losses there must be to compare
        with, at the start and after an alarm. At least 50.
    slack
        What bets may gain a round, in the mean, without being evidence: 0.05 for a twentieth. With less, smaller changes are found,
        and more false alarms are raised where losses are not independent.

    Examples
    --------
    >>> import banditboost as bb
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(-7, 7), answers=2, drifts=Detector(every=1e5))
    >>> trace = bb.evaluate.progressive(booster, bb.worlds.Flip(noise=bb.noise.Uniform(0.1)))
    >>> [(4990 < alarm.since < 5010, 5000 < alarm.round < 5050) for alarm in trace.drifts]
    [(True, True)]
    """

    every: float = 1e6
    window: int = 1000
    burn_in: int = 200
    slack: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("every", self.every)
        if self.every < WARNING:
            raise ValueError(f"every must be at least {WARNING:g} rounds, got {self.every:g}.")
        checks.at_least_zero("slack", self.slack)
        checks.count("burn_in", self.burn_in, least=FEWEST)
        if checks.count("window", self.window, least=self.burn_in) > MOST:
            raise ValueError(f"window must be at most {MOST}, got {self.window}.")

    def start(self) -> Memory:
        """Return what is known before the first round."""
        from banditboost._compiled import drifts as kernel

        return {
            "facts": np.zeros(kernel.FACTS),
            "ring": np.zeros(self.window + self.window // 2 + 1),
            "order": np.zeros(self.window),
            "bets": np.zeros((kernel.ROWS, len(kernel.POWERS))),
            "alarms": np.zeros((kernel.KEPT, 2)),
        }

    def n_floats(self) -> int:
        """Return at least as many numbers as `start` returns, before they are made."""
        return 2 * self.window + self.window // 2 + 143

    def learn(self, memory: Memory, loss: float) -> None:
        """Learn from one round in which this was paid; NaN where nothing was told."""
        self.learn_rounds(memory, np.array([loss]))

    def learn_rounds(self, memory: Memory, losses: Array) -> None:
        """Learn from rounds in their order.

        Parameters
        ----------
        memory
            Changed in place.
        losses
            The mean of what was told in every round, shape (T,); NaN where nothing was, from which nothing is learned.
        """
        from banditboost._compiled import drifts as kernel

        rules = np.array([self.every, self.every / WARNING, self.burn_in, self.slack])
        kernel.learn_rounds(_memory(memory), losses, rules)

    def raised(self, memory: Memory) -> int:
        """Return how many alarms were raised, those that are no longer remembered among them."""
        from banditboost._compiled.drifts import RAISED

        return int(memory["facts"][RAISED]) if memory else 0

    def alarms(self, memory: Memory, after: int = 0) -> tuple[Alarm, ...]:
        """Return the alarms that were raised after the first so many, in their order; the last 64 are remembered."""
        count, rows = self.raised(memory), memory.get("alarms", np.zeros((1, 2)))
        first = max(after, count - len(rows))
        return tuple(Alarm(*map(int, rows[i % len(rows)])) for i in range(first, count))

    def warned_since(self, memory: Memory) -> int:
        """Return the round in which the present suspicion began, counted as `Alarm.since`; 0 where there is none.

        A suspicion has a hundredth of the evidence that raises an alarm, and about a hundred times as many are for nothing. It ends
        with an alarm, or where all evidence since its beginning is lost.
        """
        from banditboost._compiled.drifts import WARNED

        return int(memory["facts"][WARNED]) if memory else 0

    def check(self, memory: Memory) -> None:
        """Raise a ValueError where restored arrays cannot be what `learn` leaves."""
        if not _whole(_memory(memory)):
            raise ValueError("What alarms are raised by is damaged: its numbers contradict each other.")


def chosen(drifts: bool | Detector | None) -> Detector | None:
    """Return a detector that was asked for by a word, True or False, or as it is."""
    if drifts is None or isinstance(drifts, Detector):
        return drifts
    if isinstance(drifts, bool):
        return Detector() if drifts else None
    raise ValueError(f"drifts must be True, False, or drifts.Detector(), got {drifts!r:.100}.")


def _memory(memory: Memory) -> kernel.Memory:
    from banditboost._compiled import drifts as kernel

    return kernel.Memory(*(memory[name] for name in kernel.Memory._fields))


def _whole(memory: kernel.Memory) -> bool:
    """Return whether restored arrays can be what kernels leave: they do not check indices."""
    facts, held, window = memory.facts, len(memory.ring), len(memory.order)
    rounds, known, waiting, following, warned, raised = facts
    if (facts < 0).any() or (facts != np.floor(facts)).any() or rounds > 2**53:
        return False
    if known > window or waiting > window // 2 or known + waiting > rounds or max(warned, raised) > rounds:
        return False
    if following >= held:
        return False
    if (memory.bets < 0).any() or (memory.bets[1:] > rounds).any() or (memory.alarms < 0).any():
        return False
    if (memory.alarms != np.floor(memory.alarms)).any() or (memory.alarms > rounds).any():
        return False
    last = memory.ring[(int(following - waiting) - 1 - np.arange(int(known))) % held]
    return bool((np.sort(last) == memory.order[: len(last)]).all())

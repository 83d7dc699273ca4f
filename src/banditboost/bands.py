"""Bands for what will be paid: between which values the losses told in a round will lie, so often.

Idea: a booster never sees a label, but it is told what was paid. Two small online models of the context say where the mean of a
round's losses is expected and how far it usually lies from there. What is left, (loss - expected) / size, is compared with its own
last thousand values, and the shares that are cut off below and above are moved until bands miss as often as they may. Bands learn
beside the booster and change nothing that it does.

References
----------
Gibbs, Candès (2021), "Conformal Conformal Inference Under Distribution Shift", eq. 2 and Proposition 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.spec import Memory, Spec

if TYPE_CHECKING:
    from banditboost._compiled import bands as kernel

__all__ = ["Conformal", "LossBand", "OutcomeBand"]

LEVEL = 0.9
"""The level of bands in traces, and of those for which no other is asked."""
FEWEST = 20
"""Rounds that must be told before bands are finite."""
MOST = 10**6
"""Largest window: every round moves half of it in the mean."""


@dataclass(frozen=True, slots=True)
class LossBand:
    """Where the mean of the values told in a round is expected to lie.

    Examples
    --------
    >>> band = LossBand(low=0.1, high=0.75, level=0.9, rounds=500)
    >>> band.width, 0.3 in band
    (0.65, True)
    """

    low: float
    high: float
    """The ends, in the units in which values are told; rewards where the booster was made with ``maximize=True``."""
    level: float
    """The share of rounds that should lie in their bands."""
    rounds: int
    """How many rounds had been told."""

    @property
    def width(self) -> float:
        """How far the ends lie apart."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class OutcomeBand(LossBand):
    """Where the outcome of a round is expected to lie, in the units of decisions; the noise of pseudo-labels is in it."""


@dataclass(frozen=True)
class Conformal(Spec, kind="bands.Conformal"):
    """Bands by adaptive conformal inference (Gibbs and Candès 2021, eq. 2), both ends by themselves.

    What is calibrated are signed scores (loss - m(x)) / s(x), where m is a linear model of the context on standardised features and
    s a log-linear one, both learned online and blind to outliers. An end of a band cuts off a share α_t of the last scores; after
    every round α_{t+1} = α_t + γ(α - miss_t), where miss_t is 1 if the loss lay beyond that end and 0 if not, with γ = 0.08 α.
    Where misses have pulled α_t below α/2, the window knows less than what comes: the end moves outwards by α/2 over α_t, and is
    infinite at zero.

    **What holds, and when.** Whatever is told, by chance or by an adversary who sees every band beforehand, of the first T rounds
    after the twentieth the share whose loss lies beyond an end differs from α by at most (max(α, 1 - α) + γ) / (γT): their
    Proposition 4.1, with α_1 = α, which needs only that an end is infinite where α_t is zero or less, and that nothing lies within
    it where α_t is one or more. It holds for each end of the levels 0.99, 0.98, 0.95, 0.9, 0.8 and 0.5, whose α is (1 - level) / 2;
    others are interpolated. Where ends would cross, they meet, which only spares misses. The bound is on a mean over rounds: it
    says nothing about one context, nor about other actions than the booster's own.

    Parameters
    ----------
    window
        How many scores are kept: the last so many, at most a million.
    outcomes
        Whether to learn intervals for outcomes, too (`Booster.predict_outcome`): where the loss is declared squared, on an
        interval, with three answers a round or more. Compiled runs do not keep what that needs, so that such boosters are played in
        plain NumPy.

    Examples
    --------
    The spread of losses grows with the context:

    >>> import banditboost as bb
    >>> rng = np.random.default_rng(0)
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(-1, 1), answers=1, bands=True)
    >>> for x in rng.uniform(0, 1, size=(2000, 1)):
    ...     ticket = booster.ask(x)
    ...     booster.tell(ticket, (ticket.queries - 0.5) ** 2 + x * rng.normal(size=1))
    >>> narrow, wide = booster.predict_loss([0.1]), booster.predict_loss([0.9])
    >>> bool(narrow.width < 0.5 * wide.width), 0.3 in wide
    (True, True)
    """

    window: int = 1000
    outcomes: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks.count("window", self.window, least=FEWEST) > MOST:
            raise ValueError(f"window must be at most {MOST}, got {self.window}.")
        if not isinstance(self.outcomes, bool):
            raise ValueError(f"outcomes must be True or False, got {self.outcomes!r:.100}.")

    def start(self, features: int) -> Memory:
        """Return what is known before the first round, for contexts of a length."""
        from banditboost._compiled import bands as kernel

        made: Memory = {}
        for of in self.kinds:
            made |= {
                f"{of}facts": np.zeros(kernel.FACTS),
                f"{of}features": np.zeros((kernel.ROWS, features)),
                f"{of}ring": np.zeros(self.window),
                f"{of}order": np.zeros(self.window),
                f"{of}levels": np.array([kernel.TAILS, kernel.TAILS]),
            }
        return made

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the names of arrays begin with: nothing for losses, a word for outcomes."""
        return ("", "outcome.") if self.outcomes else ("",)

    def n_floats(self, features: int) -> int:
        """Return at least as many numbers as `start` returns, before they are made."""
        return len(self.kinds) * (2 * self.window + 6 * features + 18)

    def learn(self, memory: Memory, context: Array | None, loss: float, of: str = "") -> None:
        """Learn from one round in which this was paid, or, of outcomes, which lay so far beyond the prediction."""
        self.learn_rounds(memory, _row(context), np.array([loss]), np.empty((0, 2)), of)

    def learn_rounds(self, memory: Memory, contexts: Array, losses: Array, bands: Array, of: str = "") -> None:
        """Learn from rounds in their order, and write the band of each, made before it was learned from, to `bands`.

        Parameters
        ----------
        memory
            Changed in place.
        contexts
            Shape (T, features).
        losses
            What was paid, shape (T,); NaN where nothing was told, from which nothing is learned.
        bands
            Written, shape (T, 2), at the level 0.9; with (T, 4) what was expected and its size, too; an empty array where they are
            not wanted.
        of
            Which of `kinds`.
        """
        from banditboost._compiled import bands as kernel

        scratch = np.empty(contexts.shape[1])
        kernel.learn_rounds(_memory(memory, of), contexts, losses, (1.0 - LEVEL) / 2.0, scratch, bands)

    def band(
        self, memory: Memory, context: Array | None, level: float = LEVEL, of: str = ""
    ) -> tuple[float, float, int]:
        """Return both ends of the band for a context, and the number of rounds learned from; change nothing."""
        from banditboost._compiled import bands as kernel

        x, out = _row(context), np.empty((1, 2))
        kernel.band_of(_memory(memory, of), x, (1.0 - level) / 2.0, np.empty(x.shape[1]), out)
        return float(out[0, 0]), float(out[0, 1]), int(memory[f"{of}facts"][0])

    def check(self, memory: Memory) -> None:
        """Raise a ValueError where restored arrays cannot be what `learn` leaves."""
        if not all(_whole(_memory(memory, of)) for of in self.kinds):
            raise ValueError("The bands are damaged: their numbers contradict each other.")

    def stretched(self, memory: Memory, features: int) -> Memory:
        """Return what would be known had contexts been longer from the start, with zeros at their ends."""
        larger = self.start(features)
        for name, array in larger.items():
            known = memory[name]
            array[..., : known.shape[-1]] = known
        return larger


def chosen(bands: bool | Conformal | None) -> Conformal | None:
    """Return bands that were asked for by a word, True or False, or as they are."""
    if bands is None or isinstance(bands, Conformal):
        return bands
    if isinstance(bands, bool):
        return Conformal() if bands else None
    raise ValueError(f"bands must be True, False, or bands.Conformal(), got {bands!r:.100}.")


def _row(context: Array | None) -> Array:
    return np.zeros((1, 0)) if context is None else np.ascontiguousarray(context, dtype=float).reshape(1, -1)


def _memory(memory: Memory, of: str) -> kernel.Memory:
    from banditboost._compiled import bands as kernel

    return kernel.Memory(*(memory[f"{of}{name}"] for name in kernel.Memory._fields))


def _whole(memory: kernel.Memory) -> bool:
    """Return whether restored arrays can be what kernels leave: they do not check indices."""
    facts, rounds = memory.facts, memory.facts[0]
    counted = 0 <= rounds <= 2**53 and rounds == np.floor(rounds) and facts[2] >= 0
    if not counted or (memory.features[[1, 3, 5]] < 0).any() or (np.abs(memory.levels - 0.5) > 1).any():
        return False
    known = int(min(rounds, len(memory.ring)))
    return bool((np.sort(memory.ring[:known]) == memory.order[:known]).all())

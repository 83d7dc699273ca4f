"""Several memories with explicit matrices: A and B of every memory are kept, and weights are solved for when they are needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.learners import Forgetting

STRETCHES = (512, 64)


class Matrices:
    """One memory: A ← λ (A + c x xᵀ) and B ← λ (B - g xᵀ), and every eighth round one feature gets back ridge that it has lost."""

    def __init__(self, spec: Forgetting, kept: float, copies: int, d: int, p: int) -> None:
        self.spec, self.kept = spec, kept
        self.A, self.B = spec.ridge * np.eye(p), np.zeros((copies, d, p))

    def play(self, x: Array) -> Array:
        """The minimisers as if the round's features had been seen, and its gradient were zero."""
        return np.asarray(self.B @ np.linalg.solve(self.A + self.spec.curvature * np.outer(x, x), x))

    def bold(self, x: Array) -> Array:
        """The minimisers without the round's features, but no more than twice the play with them."""
        bold, play = self.B @ np.linalg.solve(self.A, x), self.play(x)
        return np.asarray(np.where(np.abs(bold) > 2 * np.abs(play), 2 * play, bold))

    def weights(self) -> Array:
        return np.asarray(np.linalg.solve(self.A, self.B[..., np.newaxis])[..., 0])

    def update(self, x: Array, g: Array, t: int) -> None:
        self.A = self.kept * (self.A + self.spec.curvature * np.outer(x, x))
        self.B = self.kept * (self.B - g[..., np.newaxis] * x)
        if self.kept < 1 and t % 8 == 0:
            p = len(self.A)
            self.A[t // 8 % p, t // 8 % p] += (1 - self.kept) * 8 * p * self.spec.ridge


def shrunk(gained: float, squares: float, variance: float) -> float:
    """How far to go, from nowhere to the whole way."""
    return float(np.clip((gained - 2 * variance / gained) / squares, 0, 1)) if gained > 0 and squares > 0 else 0.0


class Step:
    """What a step from one memory to the next has gained, for one copy."""

    def __init__(self) -> None:
        self.share, self.sums = 0.0, np.zeros(3)
        self.late: list[Array] = [np.zeros(3) for _ in STRETCHES]

    def judge(self, gain: float, square: float, t: int) -> bool:
        """Learn from a round; return whether late rounds ask for more than all rounds do."""
        seen = np.array([gain, square, (gain - self.share * square) ** 2])
        for sums, kept in ((self.sums, 1 - 2 / (t + 40)), *zip(self.late, (1 - 1 / n for n in STRETCHES), strict=True)):
            sums[:] = np.array([kept, kept, kept**2]) * sums + seen
        usual = self.share = shrunk(*self.sums.tolist())
        for n, sums in zip(STRETCHES, self.late, strict=True):
            if t > 2 * n and (sums[0] - self.share * sums[1]) ** 2 > 9 * sums[2]:
                self.share = shrunk(*sums.tolist())
        more = self.late[-1][0] - usual * self.late[-1][1]
        return bool(t > 2 * STRETCHES[-1] and more > 0 and more**2 > 9 * self.late[-1][2])


class SlowForgetting:
    """A bank."""

    def __init__(self, spec: Forgetting, copies: int, d: int, p: int) -> None:
        self.spec, self.size = spec, (copies, d, p)
        self.memories = [Matrices(spec, kept, *self.size) for kept in spec.memories if (1 - kept) * 2 * p <= 1]
        self.steps = [[Step() for _ in self.memories[1:]] for _ in range(copies)]
        self.fresh: Matrices | None = None
        self.new = [Step() for _ in range(copies)]
        self.began, self.ahead, self.variance = 0, 0.0, 0.0
        self.bolder = [Step() for _ in range(copies)]
        self.usual, self.far = 0.0, 0.0
        self.events: list[str] = []

    def _steps(self, i: int) -> list[Step]:
        return [*self.steps[i], self.new[i]] if self.fresh else self.steps[i]

    def _all(self) -> list[Matrices]:
        return [*self.memories, self.fresh] if self.fresh else self.memories

    def play(self, x: Array) -> Array:
        here, bold = (self._led([of(memory, x) for memory in self._all()]) for of in (Matrices.play, Matrices.bold))
        shares = np.array([step.share for step in self.bolder])[:, np.newaxis]
        return np.asarray((1 - shares) * here + shares * bold)

    def _led(self, plays: list[Array]) -> Array:
        here = plays[0].copy()
        for k, play in enumerate(plays[1:]):
            for i in range(len(here)):
                here[i] += self._steps(i)[k].share * (play[i] - here[i])
        return np.asarray(here)

    def update(self, x: Array, g: Array, t: int) -> None:
        plays, suspicious, c = [memory.play(x) for memory in self._all()], False, self.spec.curvature
        cautious, bold = self._led(plays), self._led([memory.bold(x) for memory in self._all()])
        worse = self._is_worse(float(np.square(self.play(x) + g / c).sum()), t)
        for i in range(len(g)):
            way = bold[i] - cautious[i]
            self.bolder[i].judge(-float((g[i] / c + cautious[i]) @ way), float(way @ way), t)
            here = plays[0][i].copy()
            for step, play in zip(self._steps(i), plays[1:], strict=True):
                way, share = play[i] - here, step.share
                suspicious |= step.judge(-float((g[i] / c + here) @ way), float(way @ way), t)
                here = here + share * way
            if self.fresh:
                # (old - z)² - (new - z)² with z = -g/c, where the loss would be least
                z = -g[i] / c
                better = float(np.square(plays[0][i] - z).sum() - np.square(plays[-1][i] - z).sum())
                self.ahead, self.variance = self.ahead + better, self.variance + better**2
        for memory in self._all():
            memory.update(x, g, t)
        if self.fresh and worse and t - self.began > 64:
            self.events.append("begun anew")
            self._begin(t)
        elif self.fresh:
            self._settle(t)
        elif suspicious or worse:
            self._begin(t)

    def _is_worse(self, error: float, t: int) -> bool:
        """Four far errors, less half of those that are not, after 128 rounds; far is four times a mean with outliers cut."""
        self.far = self.far + 1 if error > 4 * self.usual else max(self.far - 0.5, 0)
        if self.usual > 0:
            self.usual += ((min(error, 10 * self.usual) if t > 128 else error) - self.usual) / min(t, 400)
        else:
            self.usual = error
        if self.far < 4:
            return False
        self.far = 0.0
        return t > 128

    def _begin(self, t: int) -> None:
        self.fresh, self.new = Matrices(self.spec, 1.0, *self.size), [Step() for _ in self.steps]
        self.began, self.ahead, self.variance = t, 0.0, 0.0
        self.events.append("begun")

    def _settle(self, t: int) -> None:
        assert self.fresh is not None
        age, doubt, p = t - self.began, 3 * math.sqrt(self.variance), self.size[2]
        if self.ahead > doubt and age >= max(2 * p, 20):
            for memory in self.memories:
                if (1 - memory.kept) * age < 1:
                    memory.A, memory.B = self.fresh.A.copy(), self.fresh.B.copy()
            self.steps = [[Step() for _ in self.memories[1:]] for _ in self.steps]
            self.events.append("taken over")
            self._begin(t)
        elif (self.ahead < -doubt and age > 20 * p) or 2 * age > t:
            self.fresh = None
            self.events.append("given up")

    def shares(self) -> Any:
        """The shares of all steps, that of the fresh memory last, where there is one."""
        return [[step.share for step in self._steps(i)] for i in range(len(self.steps))]

"""What an evaluation of a policy on a log has found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple


class AtBandwidth(NamedTuple):
    """The estimate with one bandwidth."""

    bandwidth: tuple[float, ...]
    """One for each coordinate, in units of the decision."""
    value: float
    half_width: float
    """How far chance moves the estimate, at the level of the interval; the bias of the bandwidth is not in it."""
    effective: float
    """The effective sample size."""
    share: float = 0.0
    """Its share in the answer; shares sum to one, and may be negative."""


class Calibrated(NamedTuple):
    """Rows for which the critic predicted about the same loss, by models that had not seen them."""

    predicted: float
    observed: float
    rows: int


@dataclass(frozen=True)
class OffPolicy:
    """The value of a policy, estimated from a log that another policy wrote."""

    value: float
    """The estimate of the mean loss; of the mean reward where the log was read with rewards, as all values here are then."""
    interval: tuple[float, float]
    """From the bootstrap over rounds, widened by `bias` on either side."""
    bernstein: tuple[float, float]
    """The empirical Bernstein interval (Maurer, Pontil 2009), widened by `bias` on either side.

    The range of terms is the one observed.
    """
    bias: float
    """How large the bias of the bandwidths in use may be.

    Balanced: two standard deviations of what smooth curves of bias make of the shares. By SLOPE: as large as what chance does to
    the estimate, or as its difference from half the bandwidth and what chance does to that, whichever is larger. 0 where the
    bandwidth was given or none is needed.
    """
    level: float
    estimator: str
    effective: float
    """The effective sample size, (Σw)²/Σw² of the weights; the number of rows for the direct method."""
    unsupported: float
    """At least this share of what the policy would play has no support in the log: one minus the mean weight, less two standard
    errors, which chance may explain."""
    bandwidth: tuple[float, ...] | None
    """One for each coordinate, in units of the decision, in the mean by the sizes of their shares.

    None where the policy has a density, and for the direct method.
    """
    curve: tuple[AtBandwidth, ...]
    """Estimates with all bandwidths that were tried, the narrowest first."""
    rows: int
    """Rows that were used."""
    missing: int
    """Rows that were left out: their loss never came, or their density is not known and they were to be weighted."""
    logged: float
    """The mean loss in the log: the value of the policy that wrote it."""
    trust: str | None
    """Why this answer should not be trusted, in a sentence or two; None where nothing speaks against it."""
    calibration: tuple[Calibrated, ...] = ()
    """How the critic's predictions compare with losses, from low to high, where a critic was used."""
    notes: tuple[str, ...] = ()
    """What else is to be said, such as that the critic was fitted on a part of the rows."""
    rule: str | None = None
    """By what rule bandwidths have their shares, "balanced" or "slope"; None where the bandwidth was given or none is needed."""

    rewards: bool = False
    """Whether values are rewards, which are wanted high, and not losses."""

    @property
    def trusted(self) -> bool:
        """Whether nothing speaks against this answer: `trust` says what does."""
        return self.trust is None

    def as_rewards(self) -> OffPolicy:
        """Return the same with all losses turned into rewards."""
        return replace(
            self,
            value=-self.value,
            interval=(-self.interval[1], -self.interval[0]),
            bernstein=(-self.bernstein[1], -self.bernstein[0]),
            logged=-self.logged,
            curve=tuple(point._replace(value=-point.value) for point in self.curve),
            calibration=tuple(Calibrated(-p, -o, rows) for p, o, rows in self.calibration[::-1]),
            rewards=True,
        )

    def _support(self) -> str:
        """Say how much of what the policy plays the log has no support for: the same number as `trust` has."""
        if self.estimator == "direct":
            return "the critic answers for what the log has no support for"
        if self.unsupported == 0.0:
            return "support for all of the policy, as far as chance lets see"
        return f"no support for at least {self.unsupported:.1%} of what the policy plays"

    def __str__(self) -> str:
        (low, high), unit = self.interval, "reward " if self.rewards else ""
        answer = f"{unit}{self.value:.5g}, {self.level:.0%} interval {low:.5g} to {high:.5g} ({self.estimator})"
        head = f"OffPolicy: {answer}"
        if not self.trusted:  # who reads one line must not take this for a result
            head = f"OffPolicy: not to be trusted. {self.trust}\n  not to be trusted    {answer}"
        lines = [
            head,
            f"  empirical Bernstein  {self.bernstein[0]:.5g} to {self.bernstein[1]:.5g}",
            f"  the log's own mean   {self.logged:.5g} over {self.rows:,} rows"
            + (f", {self.missing:,} left out" if self.missing else ""),
            f"  effective sample     {self.effective:,.0f} of {self.rows:,} rows; {self._support()}",
        ]
        if self.bandwidth is not None:
            widths = ", ".join(f"{width:.4g}" for width in self.bandwidth)
            said = {"balanced": " in the mean of several", "slope": " by SLOPE", None: ""}[self.rule]
            bound = (
                f"; the bias is taken to be at most {self.bias:.3g}" if self.rule else ", whose bias is in no interval"
            )
            lines.append(f"  bandwidth            {widths}{said}{bound}")
        lines += [f"  note                 {note}" for note in self.notes]
        if self.trusted:
            lines.append("  trust                nothing speaks against this answer")
        return "\n".join(lines)

    __repr__ = __str__

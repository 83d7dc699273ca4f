"""Why an answer should not be trusted: what weights and densities say against themselves."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.evaluate.ope.sums import Sums
from banditboost.evaluate.ope.survey import Survey
from banditboost.spaces import Space

FEW = 50.0
"""An effective sample below this says little, in any dimension."""
LACKING = 0.05
"""So much of a policy may be without support."""
SURE = 4.0
"""So many standard errors from what it must be, a mean of weights is no chance."""
HEAVY = 0.1
"""One row may have this share of all weight."""


def doubts(
    sums: Sums, shares: Array, found: Survey, estimator: str, space: Space | None, *, log_only: bool
) -> str | None:
    """Return what speaks against the answer with these shares of bandwidths, in sentences; None where nothing does."""
    if log_only:
        return None
    if estimator == "direct":
        return "The direct method is as good as its critic, whose error is in no interval: compare it with dr."
    said = []
    if found.missing > LACKING * (found.rows + found.missing):
        share = found.missing / (found.rows + found.missing)
        said.append(
            f"{share:.0%} of the rows are left out, without a loss or a density, and may differ from the others."
        )
    effective, (weight, error) = sums.effective_of(shares), sums.mean_weight(shares)
    heaviest = float(np.abs(shares) @ sums.heaviest)
    if effective < FEW:
        said.append(
            f"The effective sample, {effective:.0f} of {sums.rows:,} rows, is below {FEW:.0f} rows: the log has hardly played what "
            "this policy plays."
        )
    if 1.0 - weight > LACKING + SURE * error:
        said.append(f"The log has no support for at least {sums.lacking(shares):.1%} of what this policy plays.")
    if weight - 1.0 > LACKING + SURE * error:
        said.append(f"The mean weight is {weight:.3g} where it must be 1: the densities in the log are too small.")
    if weight > 0 and heaviest > HEAVY * weight * sums.rows:
        share = min(
            heaviest / weight / sums.rows, 1.0
        )  # shares of bandwidths may be negative, and sums of their sizes above one
        said.append(f"One row has up to {share:.0%} of all weight.")
    said += _volumes(found, space)
    return " ".join(said) or None


def _volumes(found: Survey, space: Space | None) -> list[str]:
    """Return a sentence where densities cannot integrate to one: the mean of one over them is the volume that is drawn from."""
    if found.volume is None or space is None or space.bounds is None:
        return []
    volume, (mean, error) = float(np.prod(space.bounds[1] - space.bounds[0])), found.volume
    if mean - SURE * error > (1.0 + LACKING) * volume:
        return [
            f"The mean of one over the density is {mean:.3g}, more than the volume {volume:.3g} of the space: the densities in the "
            "log do not integrate to 1."
        ]
    return []

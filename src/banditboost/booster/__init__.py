"""The loop that every algorithm runs: `Booster`, its spec, and the tickets it hands out."""

from banditboost.booster.booster import Booster
from banditboost.booster.spec import BoosterSpec, Plan
from banditboost.booster.ticket import NotInFlightError, Ticket

__all__ = ["Booster", "BoosterSpec", "NotInFlightError", "Plan", "Ticket"]

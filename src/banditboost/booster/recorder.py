"""The calls that a booster makes to its journal: one before a call takes effect, and one when it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.booster.answers import Said
from banditboost.booster.ticket import Ticket
from banditboost.encoder import Pairs

if TYPE_CHECKING:
    from banditboost.booster.growing import Late
from banditboost.gradients import Aim, Limits


class Recorder(Protocol):
    """Records every call that changes a booster before it takes effect; where recording fails, the call fails."""

    tickets: dict[int, Ticket]
    """The tickets in flight, by number."""

    def asking(self, context: Array | None, limits: Limits | None = None) -> None:
        """Record that a ticket is about to be issued, in limits that hold for it alone where they are given."""

    def naming(self, named: Pairs, limits: Limits | None, columns: int) -> None:
        """Record the same for a context with names, after which there are so many columns."""

    def telling(self, number: int, said: Said) -> None:
        """Record what was said about a ticket in flight, which was checked and is about to be learned from."""

    def learning(
        self, context: Array | None, action: Array, answers: Array, density: float | None, aim: Aim | None
    ) -> None:
        """Record that an action which another has chosen is about to be learned from."""

    def learning_named(self, named: Pairs, columns: int, action: Array, answers: Array, density: float | None) -> None:
        """Record the same for a context with names, after which there are so many columns."""

    def forgetting(self, numbers: Sequence[int]) -> None:
        """Record that tickets in flight are about to be forgotten."""

    def limiting(self, limit: int) -> None:
        """Record that the limit of tickets in flight is about to change."""

    def resetting(self, copies: NDArray[np.intp]) -> None:
        """Some copies are about to begin again."""

    def growing(self, news: Sequence[Late]) -> None:
        """Record which growths in the background are late from the next round on, and which no longer."""

    def rewriting(self) -> None:
        """Let the present state take the place of all that was recorded: some of it was erased, and must stand nowhere."""

    def done(self, issued: Ticket | None = None) -> None:
        """Note that the call recorded last has taken effect, and which ticket it has issued, if any."""

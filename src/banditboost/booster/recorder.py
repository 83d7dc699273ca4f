"""What a booster tells its journal, and when: before anything changes, and once it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from banditboost._core.checks import Array
from banditboost.booster.ticket import Ticket


class Recorder(Protocol):
    """Writes down every call that changes a booster before it takes effect. Where writing fails the call does."""

    tickets: dict[int, Ticket]
    """Those in flight, by number."""

    def asking(self, context: Array | None) -> None:
        """A ticket is about to be issued."""

    def telling(self, number: int, answers: Any) -> None:
        """Answers about a ticket in flight were found good and are about to be learned from."""

    def forgetting(self, numbers: Sequence[int]) -> None:
        """Tickets in flight are about to be forgotten."""

    def limiting(self, limit: int) -> None:
        """The most tickets in flight is about to change."""

    def done(self, issued: Ticket | None = None) -> None:
        """What was written last has taken effect, and has issued a ticket perhaps."""

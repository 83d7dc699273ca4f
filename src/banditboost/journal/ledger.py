"""What the owner of a journal keeps beside a booster, in the same record: a service keeps there which answers it has been given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from banditboost._storage.array_table import ArrayTable
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket


class Ledger(Protocol):
    """Hears of every call that took effect, when it is made and when it is made again from the journal, and is in every snapshot.

    Its content follows from the calls, the notes beside some (`Journal.annotate`), remarks (`Journal.remark`) and the tickets in
    flight alone, so that a replay gives it back.
    """

    def happened(self, kind: int, payload: bytes, note: bytes, issued: Ticket | None) -> None:
        """Note a call: its kind and payload as in its record, the note beside it, and the ticket that it has issued, if any."""

    def to_plain(self, table: ArrayTable) -> dict[str, Any]:
        """Return the content as plain data, and put its arrays into a table."""

    def restore(self, plain: Mapping[str, Any] | None, arrays: list[Any]) -> None:
        """Take over what `to_plain` has returned; None begins anew. Raise ValueError where it does not fit."""

    def attend(self, booster: Booster, tickets: Mapping[int, Ticket]) -> None:
        """Hear on which booster calls are made from now on, and which of its tickets are in flight."""

"""The kinds of records in a journal, and which versions of each are read."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """What a record holds. Numbers are never reused."""

    SNAPSHOT = 1
    """The state that a journal begins with."""
    ASK = 2
    TELL = 3
    FORGET = 4
    LIMIT = 5
    MARK = 6
    """A digest of the state."""
    RESET = 7
    ASK_WITHIN = 8
    TICKET = 9
    """A ticket in flight; those of the snapshot follow it."""
    SUPERSEDED = 10
    """The journal went on in another file, which has the name in this record."""
    GROWTH = 11
    """Growths in the background that are late from now on, or no longer."""
    ASK_NAMED = 12
    """An ask in a context with names, and within limits where there are any."""
    NOTE = 13
    """What the owner of a journal notes beside the call that follows."""
    LEARN = 14
    """An action that another has chosen, and its loss."""
    TELL_AS = 15
    """A tell about other actions than were asked about, or with answers that are missing."""
    REMARK = 17
    """What the owner of a journal decides between calls: the ledger hears it, and the booster does not."""
    LEARN_NAMED = 16
    """An action that another has chosen in a context with names, and its loss."""


KNOWN = frozenset((int(kind), 1) for kind in Kind)
"""The kinds and versions that are read; a record of any other stops the reading, and the file stays as it is."""
ASKS = frozenset((Kind.ASK, Kind.ASK_WITHIN, Kind.ASK_NAMED))
LEARNS = frozenset((Kind.LEARN, Kind.LEARN_NAMED))
NOTED = ASKS | LEARNS
"""Calls beside which the owner of a journal may note something."""
CALLS = NOTED | {Kind.TELL, Kind.TELL_AS, Kind.FORGET, Kind.LIMIT, Kind.RESET, Kind.GROWTH, Kind.REMARK}

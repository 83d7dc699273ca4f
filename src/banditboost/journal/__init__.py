"""The durable record of every call on a booster: its format on disk, its replay, and the lock of its one writer."""

from banditboost.journal.journal import Journal
from banditboost.journal.recording import JournalWarning

__all__ = ["Journal", "JournalWarning"]

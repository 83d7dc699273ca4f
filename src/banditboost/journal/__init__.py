"""The durable record of every call on a booster: its format on disk, how it is replayed, and who may write it."""

from banditboost.journal.journal import Journal

__all__ = ["Journal"]

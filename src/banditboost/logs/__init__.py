"""Decisions on record: what was shown, to whom, and what came of it; read, written and joined in blocks of rows."""

from banditboost.logs.block import LogBlock
from banditboost.logs.log import Log
from banditboost.logs.writer import LogWriter

__all__ = ["Log", "LogBlock", "LogWriter"]

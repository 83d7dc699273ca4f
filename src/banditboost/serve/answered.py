"""Answers in JSON."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

encoded = json.JSONEncoder(allow_nan=False, check_circular=False).encode


class Answered(Response):
    """An answer in JSON; numbers are written so that they are read as the same numbers."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return encoded(content).encode()

"""What goes wrong, as callers see it: one sentence and a status, in the form of RFC 9457."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any


class Problem(Exception):  # noqa: N818 - the name of RFC 9457
    """A request that is turned away, with the status and the sentence that its caller gets.

    Examples
    --------
    >>> Problem(404, "There is no booster of this name.").document()
    {'type': 'about:blank', 'title': 'Not Found', 'status': 404, 'detail': 'There is no booster of this name.'}
    """

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more

    def __reduce__(self) -> Any:
        return _problem, (self.status, self.detail, self.more)

    @property
    def headers(self) -> dict[str, str]:
        """Headers that the status asks for."""
        if self.status == 401:
            return {"www-authenticate": "Bearer"}
        return {"retry-after": "1"} if self.status in (429, 503) else {}

    def document(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        title = HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, **self.more}


def _problem(status: int, detail: str, more: dict[str, Any]) -> Problem:
    return Problem(status, detail, **more)

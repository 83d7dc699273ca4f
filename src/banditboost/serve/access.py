"""Who may do what, and how often."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable

from banditboost.serve.catalog import ANYONE, Catalog, Key
from banditboost.serve.problems import Problem

LOOK_AGAIN = 1.0
"""Seconds after which a key that was revoked by another process is no longer taken."""
MOST_REMEMBERED = 10_000
"""Most keys and callers that are kept in memory; all are looked up again when there are more."""
HOST = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
"""The names of this machine, with a port or without."""


class Access:
    """Looks keys up, and counts requests."""

    def __init__(self, catalog: Catalog, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._catalog, self._rate, self._clock = catalog, rate, clock
        self._known: dict[bytes, Key] = {}
        self._left: dict[str, tuple[float, float]] = {}
        self._version, self._looked = -1, -LOOK_AGAIN
        self.open = False
        """Whether there is no key, so that everybody on this machine is served."""

    def caller(self, authorization: str, host: str, address: str) -> Key:
        """Return who calls; raise where they may not, or call too often.

        Parameters
        ----------
        authorization
            The header of that name; empty where there is none.
        host
            The header of that name. Where there is no key, it must name this machine: a page in a browser that has led another name
            to this address is turned away.
        address
            The address of the caller, which stands for callers without a key.
        """
        self._look_again()
        if self.open:
            if HOST.fullmatch(host) is None:
                raise Problem(421, "Without keys the service answers to localhost and 127.0.0.1 alone.")
            key = ANYONE
        else:
            key = self._key(authorization)
        self._count(key.id or address, key.rate or self._rate)
        return key

    def needs_key(self) -> bool:
        """Return whether callers need a key."""
        self._look_again()
        return not self.open

    def _key(self, authorization: str) -> Key:
        kind, _, text = authorization.partition(" ")
        if kind.lower() != "bearer" or not text:
            raise Problem(401, "A key is needed: send it as 'Authorization: Bearer KEY'.")
        place = hashlib.sha256(text.encode(errors="replace")).digest()
        found = self._known.get(place) or self._catalog.find_key(text.strip())
        if found is None:
            raise Problem(401, "The key is not known.")
        self._known[place] = found
        return found

    def _look_again(self) -> None:
        now = self._clock()
        if now - self._looked < LOOK_AGAIN:
            return
        self._looked, version = now, self._catalog.version()
        if version != self._version or len(self._known) > MOST_REMEMBERED:
            self._version = version
            self._known.clear()
            self.open = not self._catalog.all_keys()
        if len(self._left) > MOST_REMEMBERED:
            self._left.clear()

    def _count(self, who: str, rate: float | None) -> None:
        """Take one from what a caller has left: as many requests as come in a second, filled up evenly."""
        if rate is None:
            return
        now, most = self._clock(), max(rate, 1.0)
        left, since = self._left.get(who, (most, now))
        left = min(most, left + (now - since) * rate)
        self._left[who] = (left - 1.0 if left >= 1.0 else left), now
        if left < 1.0:
            raise Problem(429, f"At most {rate:g} requests a second are answered: try again in a second.")

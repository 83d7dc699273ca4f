"""Names, tenants and keys, in SQLite: all else about a booster is in its journal.

A folder that is being made or removed stands in a table of its own until that is done, so that a crash leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

ROLES = ("read", "decide", "admin")
"""What a key may do, each all that those before it may: predict and look; ask, tell and forget; create, roll back and delete."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LOCAL = "local"
"""The tenant of callers without a key, who are served only as long as there is none and only on this machine."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, hash BLOB NOT NULL, tenant TEXT NOT NULL, role TEXT NOT NULL,
  rate REAL, made REAL NOT NULL);
CREATE TABLE IF NOT EXISTS boosters (tenant TEXT NOT NULL, name TEXT NOT NULL, folder TEXT NOT NULL UNIQUE, made REAL NOT NULL,
  PRIMARY KEY (tenant, name));
CREATE TABLE IF NOT EXISTS unfinished (folder TEXT PRIMARY KEY);
"""


class Key(NamedTuple):
    """Who calls, and what they may do."""

    id: str
    tenant: str
    role: str
    rate: float | None = None
    """Most requests a second; None for no limit of its own."""

    def may(self, role: str) -> bool:
        """Return whether this key has a role, or one above it."""
        return ROLES.index(self.role) >= ROLES.index(role)


ANYONE = Key("", LOCAL, "admin")
"""Whoever calls while there is no key."""


def check_name(what: str, name: str) -> str:
    """Return a name of letters, digits, dots, hyphens and underscores; raise where it has anything else in it."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(
            f"{what} must be 1 to 64 letters, digits, dots, hyphens and underscores, the first a letter or a digit."
        )
    return name


class Catalog:
    """The SQLite file of a service's folder; several threads and processes may use it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = threading.Lock()
        self._base = sqlite3.connect(data / "catalog.sqlite", check_same_thread=False, timeout=10.0)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = FULL")
        with self._lock, self._base:
            self._base.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def _all(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._base.execute(query, values).fetchall()

    # Keys.

    def add_key(self, tenant: str, role: str, rate: float | None = None) -> str:
        """Make a key and return it; it is shown once, and only its hash is kept.

        A key has 256 random bits, so that nobody finds it by trying, and a fast hash keeps it as safe as a slow one would: slow
        hashes protect passwords that people choose. A fast one lets every request be checked, and gives no one a way to keep the
        service busy with wrong keys.
        """
        check_name("tenant", tenant)
        if role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r:.50}.")
        name, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        with self._lock, self._base:
            row = (name, _hashed(secret), tenant, role, rate, time.time())
            self._base.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)", row)
        return f"bb_{name}_{secret}"

    def revoke_key(self, name: str) -> bool:
        """Remove a key by the name in its middle; return whether there was one."""
        with self._lock, self._base:
            return self._base.execute("DELETE FROM keys WHERE id = ?", (name,)).rowcount == 1

    def all_keys(self) -> list[Key]:
        """Return all keys, the oldest first."""
        return [Key(*row) for row in self._all("SELECT id, tenant, role, rate FROM keys ORDER BY made")]

    def find_key(self, text: str) -> Key | None:
        """Return what a key stands for; None where there is no such key."""
        begin, _, rest = text.partition("_")
        name, _, secret = rest.partition("_")
        rows = self._all("SELECT id, tenant, role, rate, hash FROM keys WHERE id = ?", name) if begin == "bb" else []
        known = rows[0][-1] if rows else bytes(32)
        return Key(*rows[0][:-1]) if hmac.compare_digest(_hashed(secret), known) and rows else None

    def version(self) -> int:
        """Return a number that changes when another connection has changed the file."""
        return int(self._all("PRAGMA data_version")[0][0])

    # Boosters.

    def boosters(self, tenant: str | None = None) -> list[tuple[str, str, Path]]:
        """Return the tenant, the name and the folder of all boosters, or of those of one tenant, in the order of their names."""
        rows = self._all("SELECT tenant, name, folder FROM boosters ORDER BY tenant, name")
        return [(owner, name, self.data / folder) for owner, name, folder in rows if tenant in (None, owner)]

    def folder(self, tenant: str, name: str) -> Path | None:
        """Return the folder of a booster; None where there is no such booster."""
        rows = self._all("SELECT folder FROM boosters WHERE tenant = ? AND name = ?", tenant, name)
        return self.data / rows[0][0] if rows else None

    def begin(self) -> Path:
        """Return the folder of a booster that is to be made; its name is random, whatever the booster's is."""
        folder = f"booster-{secrets.token_hex(8)}"
        with self._lock, self._base:
            self._base.execute("INSERT INTO unfinished VALUES (?)", (folder,))
        return self.data / folder

    def finish(self, tenant: str, name: str, folder: Path) -> bool:
        """Give a booster that was made its name; return False where the name is taken."""
        with self._lock, self._base:
            done = self._base.execute(
                "INSERT OR IGNORE INTO boosters VALUES (?, ?, ?, ?)", (tenant, name, folder.name, time.time())
            )
            if done.rowcount:
                self._base.execute("DELETE FROM unfinished WHERE folder = ?", (folder.name,))
            return done.rowcount == 1

    def remove(self, tenant: str, name: str) -> None:
        """Take a booster's name away; its folder is then to be removed."""
        with self._lock, self._base:
            where = "FROM boosters WHERE tenant = ? AND name = ?"
            self._base.execute(f"INSERT OR IGNORE INTO unfinished SELECT folder {where}", (tenant, name))
            self._base.execute(f"DELETE {where}", (tenant, name))

    def sweep_one(self, folder: Path) -> None:
        """Remove the folder of a booster that has no name any more."""
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            with self._lock, self._base:
                self._base.execute("DELETE FROM unfinished WHERE folder = ?", (folder.name,))

    def sweep(self) -> None:
        """Remove folders that a crash has left while they were made or removed."""
        for (name,) in self._all("SELECT folder FROM unfinished"):
            self.sweep_one(self.data / name)


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()

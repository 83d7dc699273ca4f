"""Which process of a cluster a booster belongs to."""

from __future__ import annotations

import hashlib


def shard_of(tenant: str, name: str, shards: int) -> int:
    """Return the number of the shard, which follows from the booster's name alone, whatever else there is.

    Examples
    --------
    >>> [shard_of("local", name, 2) for name in ("shop", "bidder", "ward")]
    [1, 1, 0]
    """
    return int.from_bytes(hashlib.blake2b(f"{tenant}/{name}".encode(), digest_size=8).digest(), "big") % shards

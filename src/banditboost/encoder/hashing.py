"""The hash of a feature, written down so that every machine, process and version gives the same.

A feature is a kind (one letter), a name, and for words the word. Its hash is BLAKE2b (RFC 7693) with a digest of 8 bytes and the
encoder's seed, as 16 bytes in little-endian order, as salt, of: the letter, the number of bytes of the name as 4 bytes in
little-endian order, the name and the word, both in UTF-8. The digest is read as a whole number in little-endian order. The lowest b
bits are the index in a space of 2^b, and the highest bit is the sign where signs are wanted. ``tests/encoder/vectors.json`` has
values that never change.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b

LONGEST = 2**16
"""Most bytes of a name, or of a word."""


class Kind(StrEnum):
    """What a feature is. Letters are never reused, since hashes depend on them."""

    NUMBER = "n"
    """A number under a name."""
    WORD = "w"
    """The indicator of a word under a name, or how often a list has the word."""
    MISSING = "m"
    """The indicator that the value of a name is missing."""
    MOMENT = "t"
    """A number that a date or a time gives; the word says which."""


def salt_of(seed: int) -> bytes:
    """Return a seed as the salt of the hash."""
    return seed.to_bytes(16, "little")


def hashed(salt: bytes, kind: str, name: bytes, word: bytes = b"") -> int:
    """Return the 64-bit hash of a feature.

    Examples
    --------
    >>> hex(hashed(salt_of(0), Kind.WORD, b"city", b"Rom"))
    '0xe3f01694e410ebcd'
    """
    text = kind.encode() + len(name).to_bytes(4, "little") + name + word
    return int.from_bytes(blake2b(text, digest_size=8, salt=salt).digest(), "little")


def encoded(what: str, text: str) -> bytes:
    """Return a name or a word as UTF-8, or raise where it has none or is too long."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"x must hold text that can be written in UTF-8, got a {what} that cannot: {text!a:.60}."
        ) from None
    if len(data) > LONGEST:
        raise ValueError(
            f"x must hold texts of at most {LONGEST:,} bytes, got a {what} of {len(data):,}: {text[:40]!r}..."
        )
    return data


def shown(kind: str, name: str, word: str) -> str:
    """Return a feature as people read it.

    Examples
    --------
    >>> [shown("n", "age", ""), shown("w", "city", "Rom"), shown("m", "note", ""), shown("t", "when", "hour, sine")]
    ['age', 'city=Rom', 'note is missing', 'when: hour, sine']
    """
    if kind == Kind.WORD:
        return f"{name}={word}"
    if kind == Kind.MISSING:
        return f"{name} is missing"
    return f"{name}: {word}" if word else name

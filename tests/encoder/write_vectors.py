"""Writes the hashes that must never change: run once, when the hash was chosen; a second file needs a second hash."""

from __future__ import annotations

import json
from pathlib import Path

from banditboost.encoder.hashing import Kind, hashed, salt_of

PATH = Path(__file__).with_name("vectors.json")
FEATURES = (
    ("n", "age", ""),
    ("n", "", ""),
    ("w", "city", "Rom"),
    ("w", "cit", "yRom"),
    ("w", "Straße", "日本"),
    ("w", "basket", "a17"),
    ("m", "note", ""),
    ("t", "when", "hour, sine"),
    ("n", "x" * 1000, ""),
)


def main() -> None:
    """Write the file."""
    found = [
        {"kind": kind, "name": name, "word": word, "seed": seed}
        | {"hash": hashed(salt_of(seed), Kind(kind), name.encode(), word.encode())}
        for seed in (0, 1, 2**64 - 1)
        for kind, name, word in FEATURES
    ]
    PATH.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

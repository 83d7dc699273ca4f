"""Renew the golden trajectories, or say which have changed."""

from __future__ import annotations

import argparse
import json
import sys

from banditboost._storage.atomic_file import atomic
from tests.golden import FILE, all_trajectories, kept


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep what is played now")
    now, before = all_trajectories(), kept() if FILE.is_file() else {}
    changed = [name for name in sorted(now | before) if now.get(name) != before.get(name)]
    print(f"{len(now)} recipes, {len(changed)} not bit for bit as on file: {', '.join(changed) or 'none'}")
    if parser.parse_args().write:
        with atomic(FILE) as file:
            file.write(json.dumps(now, indent=0).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

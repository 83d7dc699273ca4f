"""Renew the golden trajectories and the surface of all parts, or say which trajectories have changed."""

from __future__ import annotations

import argparse
import json
import sys

from banditboost._storage.atomic_file import atomic
from tests.golden import FILE, all_trajectories, kept, surface


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep what is played now")
    now, before = all_trajectories(), kept() if FILE.is_file() else {}
    changed = [name for name in sorted(now | before) if now.get(name) != before.get(name)]
    print(f"{len(now)} recipes, {len(changed)} not bit for bit as on file: {', '.join(changed) or 'none'}")
    if parser.parse_args().write:
        for path, what in ((FILE, now), (surface.FILE, surface.now())):
            with atomic(path) as file:
                file.write(json.dumps(what, indent=0).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

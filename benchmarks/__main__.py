"""`make bench`: every timing is a ratio between things measured in one run, each the best of several repetitions.

`python -m benchmarks NAME ...` runs some parts only and leaves the others' results as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from banditboost.archive import atomic
from benchmarks import gradients, journal, loop, matrices, projection_free, sparse

PARTS: dict[str, Any] = {
    "loop": loop,
    "gradients": gradients,
    "sparse": sparse,
    "projection_free": projection_free,
    "matrices": matrices,
    "journal": journal,
}
FILE = Path(__file__).parent / "results.json"
FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def main() -> None:
    out = Console(width=None if sys.stdout.isatty() else 132)
    unknown = sorted(set(sys.argv[1:]) - set(PARTS))
    if unknown:
        sys.exit(f"There is no benchmark named {', '.join(unknown)}: choose from {', '.join(PARTS)}.")
    results: dict[str, Any] = json.loads(FILE.read_text()) if FILE.is_file() else {}
    for name in sys.argv[1:] or PARTS:
        results[name] = PARTS[name].measure()
        out.print(PARTS[name].table(results[name]))
        if hasattr(PARTS[name], "figure"):
            FIGURES.mkdir(parents=True, exist_ok=True)
            PARTS[name].figure(results[name], FIGURES / f"{name}.png")
        with atomic(FILE) as handle:
            handle.write(json.dumps(results, indent=1).encode())
    out.print(f"Results: benchmarks/{FILE.name}")


if __name__ == "__main__":
    main()

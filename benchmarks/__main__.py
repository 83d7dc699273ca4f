"""`make bench`: every timing is a ratio between things measured in one run, each the best of several repetitions."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from banditboost.archive import atomic
from benchmarks import loop


def main() -> None:
    out = Console()
    results = {"loop": loop.measure()}
    out.print(loop.table(results["loop"]))
    file = Path(__file__).parent / "results.json"
    with atomic(file) as handle:
        handle.write(json.dumps(results, indent=1).encode())
    out.print(f"Results: {file.name}")


if __name__ == "__main__":
    main()

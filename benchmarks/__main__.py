"""`make bench`: every timing is a ratio between things measured in one run, each the best of several repetitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from banditboost.archive import atomic
from benchmarks import loop, projection_free


def main() -> None:
    out = Console()
    results: dict[str, Any] = {}
    for name, part in (("loop", loop), ("projection_free", projection_free)):
        results[name] = part.measure()
        out.print(part.table(results[name]))
    file = Path(__file__).parent / "results.json"
    with atomic(file) as handle:
        handle.write(json.dumps(results, indent=1).encode())
    out.print(f"Results: benchmarks/{file.name}")


if __name__ == "__main__":
    main()

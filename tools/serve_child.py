"""Processes that load and crash tests start: the service, with a slow disk if wanted, and a route that does nothing."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path


def slow_down(seconds: float) -> None:
    """Let every wait for the disk take longer."""
    plain = os.fsync

    def slow(handle: int) -> None:
        time.sleep(seconds)
        plain(handle)

    os.fsync = slow


def empty(port: int) -> None:
    """Serve a route that reads a context and answers with a ticket's worth of JSON, and does nothing else."""
    import uvicorn
    from fastapi import FastAPI

    from banditboost.serve.app import Answered
    from banditboost.serve.forms import Question

    app = FastAPI()

    @app.post("/nothing")
    async def nothing(question: Question) -> Answered:
        return Answered({"ticket": "0-1", "prediction": 0.5, "queries": [0.25], "action": 0.25, "density": [1.0]})

    # The same server as the service has, whatever else is installed here.
    uvicorn.run(
        app, host="127.0.0.1", port=port, log_level="error", access_log=False, http="h11", loop="asyncio", ws="none"
    )


def main() -> None:
    """Run one of them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--empty", action="store_true")
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--data", type=Path)
    options.add_argument("--durability", default="group")
    options.add_argument("--sync", type=float, default=0.0, help="seconds that every wait for the disk takes longer")
    given = options.parse_args()
    if given.empty:
        empty(given.port)
        return
    from banditboost.serve.app import Settings
    from banditboost.serve.server import serve

    if given.sync:
        slow_down(given.sync)
    serve(Settings(given.data, given.durability), "127.0.0.1", given.port)


if __name__ == "__main__":
    sys.exit(main())

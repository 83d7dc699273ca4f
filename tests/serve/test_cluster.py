"""Two shards on a local cluster of Ray, one killed in mid-stream: nothing is lost, and digests are those of one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import banditboost as bb
from banditboost.serve.client import ServiceError
from banditboost.serve.shards import shard_of
from tests.serve.common import free_port

pytestmark = pytest.mark.ray
SPACE = bb.spaces.Interval(0, 20)
ROUNDS, KILLS = 60, (15, 30, 45)


FORGETFUL = """
import importlib.util, sys


class Spoiled:
    def find_spec(self, name, path, target=None):
        if name != "banditboost.serve.kept":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        plain = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (plain(module), spoil(module.Kept))
        return spec


def spoil(kept):
    from banditboost.journal.framing import parse

    plain = kept.open

    def open_without_replay(self):
        path = self.folder / "booster.journal"
        data = path.read_bytes()
        path.write_bytes(data[: parse(data, 0).end])
        plain(self)

    kept.open = open_without_replay


sys.meta_path.insert(0, Spoiled())
"""
"""What every process of a broken cluster runs first: a booster that is opened forgets all calls after its last snapshot."""


@contextmanager
def cluster(data: Path, broken: bool = False) -> Iterator[str]:
    """A service on a cluster, as a user starts it; where it is broken, shards do not replay their journals."""
    port, log = free_port(), data.parent / "cluster.log"
    command = [sys.executable, "-m", "banditboost", "serve", "--data", str(data), "--port", str(port), "--cluster"]
    with log.open("ab") as said:
        settings = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        if broken:
            (data.parent / "sitecustomize.py").write_text(FORGETFUL)
            settings["PYTHONPATH"] = str(data.parent)
        process = subprocess.Popen(command, stdout=said, stderr=said, env=settings)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                if httpx.get(f"{url}/ready").status_code == 200:
                    break
            except httpx.TransportError:
                assert process.poll() is None, log.read_text()
            time.sleep(0.5)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()[-3000:]


def shards_of(url: str) -> list[int]:
    """The processes of the shards, as the cluster's own tool names them."""
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in found.splitlines() if "ray::Shard" in line]


def context(name: str, k: int) -> list[float]:
    return list(map(float, np.random.default_rng([ord(name[-1]), k]).uniform(0, 1, 3)))


def loss(x: list[float], action: Any) -> float:
    return float((action - 5.0 - 3.0 * x[0]) ** 2)


def played(url: str, name: str, killed: threading.Event, errors: list[BaseException]) -> None:
    """All rounds of one booster, each told one round late, every tell twice."""
    try:
        with bb.Client(url, patience=60.0) as client:
            booster = client.create(name, "boosted", SPACE, answers=1)
            waiting: list[tuple[Any, float]] = []
            for k in range(ROUNDS):
                x = context(name, k)
                ticket = booster.ask(x)
                waiting.append((ticket, loss(x, ticket.action)))
                if len(waiting) > 1:
                    late, paid = waiting.pop(0)
                    for _ in range(2):
                        booster.tell(late, losses=[paid])
                if k in KILLS:
                    killed.set()
    except BaseException as error:
        errors.append(error)


def alone(name: str) -> str:
    """The digest after the same calls in this process."""
    booster = bb.algorithms.boosted(SPACE, answers=1)
    booster.limit_in_flight(10_000)
    waiting: list[tuple[bb.Ticket, float]] = []
    for k in range(ROUNDS):
        x = context(name, k)
        ticket = booster.ask(x)
        waiting.append((ticket, loss(x, ticket.action)))
        if len(waiting) > 1:
            late, paid = waiting.pop(0)
            booster.tell(late, losses=[paid])
    return booster.digest()


NAMES = [f"shop-{letter}" for letter in "abcd"]


def with_kills(url: str, names: list[str]) -> list[BaseException]:
    """Play all rounds of some boosters while shards are killed; return what callers met with."""
    errors, killed, kills = list[BaseException](), threading.Event(), 0
    threads = [threading.Thread(target=played, args=(url, name, killed, errors)) for name in names]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if killed.wait(0.2) and kills < 3:
            killed.clear()
            there = shards_of(url)
            if there:
                os.kill(there[kills % len(there)], signal.SIGKILL)
                kills += 1
    assert errors or kills == 3
    return errors


def test_a_shard_that_does_not_replay_its_journal_is_noticed(tmp_path: Path) -> None:
    name = NAMES[0]
    with cluster(tmp_path / "data", broken=True) as url:
        errors = with_kills(url, [name])
        with bb.Client(url, patience=60.0) as client:
            found = client.booster(name).info(digest=True)
    assert found["digest"] != alone(name)
    assert all(isinstance(error, ServiceError) for error in errors), errors  # tickets that nobody knows any more


def test_a_shard_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    names, data = NAMES, tmp_path / "data"
    assert {shard_of("local", name, 2) for name in names} == {0, 1}
    with cluster(data) as url:
        errors = with_kills(url, names)
        assert not errors, errors
        with bb.Client(url, patience=60.0) as client:
            digests = {name: client.booster(name).info(digest=True) for name in names}
            (block,) = client.booster(names[0]).log(tmp_path / "log.parquet").blocks()
            assert len(block.losses) == ROUNDS - 1
            assert client.booster(names[0]).erase("nobody")["rounds"] == 0
    assert len({alone(name) for name in names}) == len(names)  # each has a state of its own
    for name in names:
        assert (digests[name]["rounds"], digests[name]["in_flight"]) == (ROUNDS - 1, 1)
        assert digests[name]["digest"] == alone(name)
    for path in data.glob("booster-*/booster.journal"):  # what was closed is read on one machine
        assert bb.Journal.replay(path).booster.digest() in {found["digest"] for found in digests.values()}


def test_guards_events_and_the_live_page_reach_the_shards(tmp_path: Path) -> None:
    recipe = {"encoder": True, "decision": ["price"], "answers": 1}
    with cluster(tmp_path / "data") as url:
        with bb.Client(url, patience=60.0) as client:
            shop = client.create("shop", "boosted", SPACE, **recipe, guard={"baseline": {"price": 9.5}, "share": 0.5})
            for k in range(20):
                ticket = shop.ask({"city": f"city {k % 3}"}, subject="ida" if k == 4 else None)
                assert (ticket.decision == {"price": 9.5}) == (ticket.policy == "baseline")
                shop.tell(ticket, losses=[1.0])
            number = shop.snapshot("now")
            assert shop.guard(baseline={"snapshot": number}, share=0.5)["baseline"]["snapshot"] == number
            assert shop.fall_back()["state"] == "fallen back"
            assert [event["event"] for event in shop.events()] == ["guard set", "fall-back"]
            assert shop.erase("ida")["rounds"] == 1
            (block,) = shop.log(tmp_path / "log.parquet").blocks()
            assert len(block.losses) == 19
            with pytest.raises(ServiceError, match="exactly the names"):
                shop.guard(baseline={"cost": 3})
        with httpx.stream("GET", f"{url}/v1/live", timeout=30.0) as lines:
            line = next(line for line in lines.iter_lines() if line)
        shown = json.loads(line.removeprefix("data: "))
        assert (shown["chosen"], shown["booster"]["state"], len(shown["booster"]["latest"])) == (
            "shop",
            "fallen back",
            19,
        )
        assert "text/html" in httpx.get(url).headers["content-type"]
        assert 'fallen_back{booster="shop"} 1.0' in httpx.get(f"{url}/metrics").text

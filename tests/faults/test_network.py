"""Nothing here reaches for the network, and tests could not."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.conftest import OutsideError

WATCH = """
import sys
def hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "urllib.Request"):
        raise SystemExit(f"{event} {arguments}")
sys.addaudithook(hook)
import pkgutil, importlib, banditboost
for module in pkgutil.walk_packages(banditboost.__path__, "banditboost."):
    importlib.import_module(module.name)
print("quiet")
"""


def test_connections_to_other_machines_are_refused() -> None:
    with socket.socket() as link, pytest.raises(OutsideError, match=r"tried to connect to 192\.0\.2\.1"):
        link.connect(("192.0.2.1", 80))
    with pytest.raises(OutsideError, match="tried to look up"):
        urllib.request.urlopen("http://banditboost.invalid/", timeout=1)


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()


def test_importing_everything_reaches_for_nothing() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", WATCH], capture_output=True, text=True)
    assert done.stdout.strip() == "quiet", done.stdout + done.stderr

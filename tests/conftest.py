"""No test reaches beyond this machine: connections and look-ups of names that leave it are refused as soon as they are tried."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import socket
import sys
from typing import Any

import pytest

HERE = {"", "localhost", socket.gethostname()}


class OutsideError(RuntimeError):
    """A test tried to reach another machine; not an OSError, so that no code takes it for a network that is down."""


def is_here(host: object) -> bool:
    """Say whether a host is this machine."""
    name = host.decode() if isinstance(host, bytes) else host
    if name is None or name in HERE:
        return True
    try:
        return ipaddress.ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: the interpreter calls it before it connects or looks up a name, whatever library asks."""
    if event == "socket.connect":
        link, address = arguments
        # Datagrams are spared: "connecting" them sends nothing, and some libraries find their own address that way.
        streams = link.family in (socket.AF_INET, socket.AF_INET6) and link.type & socket.SOCK_STREAM
        if streams and not is_here(address[0]):
            raise OutsideError(f"A test tried to connect to {address[0]}.")
    elif event == "socket.getaddrinfo" and not is_here(arguments[0]):
        try:
            ipaddress.ip_address(str(arguments[0]))  # a number needs no look-up
        except ValueError:
            raise OutsideError(f"A test tried to look up {arguments[0]!r}.") from None


sys.addaudithook(refuse)

# Where tests are started in the background of a shell, Ctrl-C is ignored, also by what they start: some of them press it.
with contextlib.suppress(ValueError):  # not in the main thread
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let targets that exist for a few tests fail where these were skipped."""
    parser.addoption("--no-skips", action="store_true", help="fail where a test is skipped")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run that was to skip nothing and did."""
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--no-skips") and reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line(f"{len(reporter.stats['skipped'])} skipped, and none may be.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

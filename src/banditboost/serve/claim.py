"""What a service needs for itself before it starts: its folder and its port, each refused in a sentence where another has it."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from banditboost.journal.lock import lock_name

NAME = "service"
"""The lock of a folder is the file of this name that ends in ``.lock``."""
BACKLOG = 2048
"""Most connections that wait to be accepted."""


@contextmanager
def folder(data: Path) -> Iterator[None]:
    """Keep a folder from other services; raise where one has it. The system lets it go when this process ends, however it ends."""
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        lock = lock_name(data / NAME)
    except BlockingIOError:
        raise ValueError(
            f"data must be a folder that no other service uses, got {data}, in which one runs: stop that one, or choose another "
            "folder."
        ) from None
    try:
        yield
    finally:
        os.close(lock)


def sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at an address; raise where another program does, or where it is none of this machine."""
    found = list[socket.socket]()
    try:
        for family, kind, protocol, _, address in set(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        ):
            found.append(one := socket.socket(family, kind, protocol))
            if os.name == "posix":
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
            one.listen(BACKLOG)
    except OSError as error:
        for one in found:
            one.close()
        raise ValueError(_why(error, host, port)) from None
    return found


def check_port(host: str, port: int) -> None:
    """Raise where an address cannot be listened at, for a service whose sockets another library opens."""
    for one in sockets(host, port):
        with closing(one):
            continue


def _why(error: OSError, host: str, port: int) -> str:
    """Return what to write in place of an address that cannot be listened at."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"port must be one that no other program listens at, got {port}, which is in use: choose another by --port."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port must be one that this user may listen at, got {port}: those from 1024 on are open to everybody."
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"host must be an address of this machine, got {host!r:.100}."
    return f"port must be one that can be listened at, got {port} at {host}: {error.strerror or error}."

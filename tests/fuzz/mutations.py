"""Ways to spoil a file."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from banditboost._core.spec import _KINDS
from banditboost._storage import model_file, strict_npz

NUMBERS: tuple[Any, ...] = (
    *(
        0,
        1,
        -1,
        2,
        3,
        7,
        16,
        50,
        51,
        255,
        3000,
        10**5,
        10**6,
        10**7,
        2**31,
        2**53,
        2**63 - 1,
        2**63,
        -(2**63),
        2**64,
        10**12,
        10**30,
        10**400,
    ),
    *(0.0, -0.0, 0.5, -0.5, 1e-320, 1e-300, 1e-30, 1e30, 1e150, 1e300, 1.7e308, float("inf"), float("nan")),
)
TRAPS = ("site:sprung", "tests.fuzz.mutations:sprung")
"""Functions that leave a trace when they are called: one of an installed module, one of a user's."""
CALLED = ("learner", "model", "oracle", "projection", "membership")
"""Fields that hold a function, or a part that may have one."""
WORDS: tuple[str, ...] = (
    *("", "a", "kind", "function", "é", "\x00", "x" * 300, "../x", "auto", "entropic", "gaussian", "1"),
    *(
        *TRAPS,
        "os:system",
        "shutil:rmtree",
        "builtins:eval",
        "pytest:main",
        "banditboost.learners.wrapped:least_squares",
    ),
)
PICKLE = b"cos\nsystem\n(S'touch sprung'\ntR."
CHUNKS = (
    *(b"", b"\x00", b"\xff\xff\xff\xff", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY"),
    *(b",", b"\n", b'"', b"{", b"[", b"1e999", PICKLE),
)


def spoil_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, cut, double, insert, one to four times."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made) + 1)
        length = min(len(made) - at, rng.choice((1, 1, 2, 4, 8, 64, 512)))
        match rng.randrange(6):
            case 0 if at < len(made):
                made[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(made):
                made[at] = rng.randrange(256)
            case 2:
                del made[at : at + length]
            case 3:
                made[at:at] = made[at : at + length]
            case 4:
                made[at : at + length] = rng.choice(CHUNKS)
            case _:
                other = rng.randrange(len(made) + 1)
                made[at : at + length] = made[other : other + length]
    return bytes(made)


def spoil_text(data: bytes, rng: random.Random) -> bytes:
    """Repeat or drop values, lines, quotation marks and escape sequences of a text."""
    piece = rng.choice((b",", b";", b"\n", b'"', b" "))
    parts = data.split(piece)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(parts))
        match rng.randrange(4):
            case 0:
                parts[at:at] = [parts[at][:20]] * rng.choice((1, 2, 50, 100))
            case 1:
                parts[at] = rng.choice(
                    (b"", b"nan", b"1e400", b"\x1b[31m", "\u202e".encode(), b"9" * 400, b'"', b"2024-13-45")
                )
            case 2 if len(parts) > 1:
                del parts[at]
            case _:
                parts[at] = parts[at][:20] * rng.choice((2, 100))
    return piece.join(parts)[: 2**20]


def spoil_json(value: Any, rng: random.Random) -> Any:
    """Change one to three places of plain data, in place where possible."""
    holder = {"": copy.deepcopy(value)}
    for _ in range(rng.randint(1, 3)):
        places = list(_places(holder))
        where, key = rng.choice(places)
        match rng.randrange(8):
            case 0 | 1:
                where[key] = rng.choice(NUMBERS)
            case 2:
                where[key] = rng.choice((None, True, [], {}, [[]], rng.choice(WORDS), {"function": rng.choice(WORDS)}))
            case 3 if isinstance(where, dict) and len(where) > 1:
                del where[key]
            case 4:
                other, name = rng.choice(places)
                where[key] = copy.deepcopy(other[name]) if name in other or isinstance(other, list) else None
            case 5:
                kind = {"kind": rng.choice(list(_KINDS))}
                where[key] = kind | {rng.choice(("learner", "space", "gradient", "x")): where[key]}
            case 6:  # where a reader that looks functions up would call one
                wanted = [(inner, name) for inner, name in places if name in CALLED]
                where, key = rng.choice(wanted or places)
                trap = {"function": rng.choice(TRAPS)}
                where[key] = {"kind": "learners.Wrapped", "model": trap} if key == "learner" else trap
            case _:
                for _ in range(rng.choice((1, 3, 60))):
                    where[key] = [where[key]]
    return holder[""]


def _places(value: Any) -> Any:
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def spoil_json_text(data: bytes, rng: random.Random) -> bytes:
    """The same on its text."""
    return json.dumps(spoil_json(json.loads(data), rng)).encode()


def spoil_members(data: bytes, rng: random.Random) -> bytes:
    """Change a zip's members, names or ways to be stored, and write a zip that is well made but for that."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = [(name, file.read(name)) for name in file.namelist()]
    at = rng.randrange(len(members))
    name, content = members[at]
    method = zipfile.ZIP_STORED
    match rng.randrange(6):
        case 0 | 1:
            members[at] = name, spoil_bytes(content, rng)
        case 2:
            members[at] = rng.choice(WORDS) + rng.choice((".npy", "", name)), content
        case 3:
            members.append((rng.choice((name, "array.more.npy", "../sprung")), content))
        case 4:
            members[at] = name, _npy(rng)
        case _:
            method = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w") as file:
        for name, content in members:
            info = zipfile.ZipInfo(name.replace("\x00", "0") or "empty")
            info.external_attr = rng.choice((0, 0o120777 << 16))  # a link, sometimes
            file.writestr(info, content, method)
    return room.getvalue()


def _npy(rng: random.Random) -> bytes:
    shape = rng.choice(((), (3,), (0,), (2, 3), (1, 1, 1)))
    array = np.zeros(shape, dtype=rng.choice(("<f8", ">f8", "<i8", "|u1", "O", "<c16", "U3", "M8[s]", "|b1")))
    room = io.BytesIO()
    np.lib.format.write_array(room, array, allow_pickle=True)
    return room.getvalue() + rng.choice((b"", b"", bytes(8), PICKLE))


def spoil_model(data: bytes, rng: random.Random) -> bytes:
    """Change header or arrays, and give the file the checksum that goes with them."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        held = {name.removesuffix(".npy"): strict_npz._array(file.read(name)) for name in file.namelist()}
    header = json.loads(held.pop("header").tobytes())
    held.pop("checksum", None)
    if rng.random() < 0.6:
        header = spoil_json(header, rng)
    elif held:
        name = rng.choice(list(held))
        array = held[name] = held[name].copy()
        if array.size:
            with np.errstate(all="ignore"):
                values = np.array(rng.choice(NUMBERS[:21] + NUMBERS[24:]), dtype=np.float64)
                flat = array.reshape(-1)
                flat[rng.randrange(array.size) if rng.random() < 0.5 else slice(None)] = values.astype(array.dtype)
    text = json.dumps(header).encode()
    marks = {
        "header": np.frombuffer(text, np.uint8),
        "checksum": np.frombuffer(model_file._checksum(text, held), np.uint8),
    }
    room = io.BytesIO()
    strict_npz.write(room, marks | held)
    return room.getvalue()


Mutation = Callable[[bytes, random.Random], bytes]

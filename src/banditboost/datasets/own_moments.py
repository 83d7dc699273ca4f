"""Dates and times as people write them, and the numbers that they become: days, and sine and cosine of week, year and hour.

The numbers are those of `banditboost.encoder.moments`, for whole columns. The clock is taken as it is written: an offset such as
+02:00 is not applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.encoder.moments import YEAR

if TYPE_CHECKING:
    import polars as pl

MONTHS = {
    1: "january jan januar jänner janvier janv enero ene gennaio gen",
    2: "february feb februar feber février févr fevrier febrero febbraio",
    3: "march mar märz mär mrz maerz mars marzo",
    4: "april apr avril avr abril abr aprile",
    5: "may mai mayo maggio mag",
    6: "june jun juni juin junio giugno giu",
    7: "july jul juli juillet juil julio luglio lug",
    8: "august aug août aout agosto ago",
    9: "september sep sept septembre septiembre settembre set",
    10: "october oct oktober okt octobre octubre ottobre ott",
    11: "november nov novembre noviembre",
    12: "december dec dezember dez décembre déc decembre diciembre dic dicembre",
}
MONTH_OF = {word: month for month, words in MONTHS.items() for word in words.split()}
CLOCK = (
    r"(?:[T ,]+(?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?"
    r"(?: ?(?:Z|UTC|GMT|Uhr|[+-][0-9]{2}:?(?:[0-9]{2})?))?)?$"
)
"""Pattern of a time of day behind a date."""
FORMS = (
    r"^(?P<y>[0-9]{4})(?P<s>[-/.])(?P<m>[0-9]{1,2})(?P<s2>[-/.])(?P<d>[0-9]{1,2})" + CLOCK,
    r"^(?P<a>[0-9]{1,2})(?P<s>[-/.])(?P<b>[0-9]{1,2})(?P<s2>[-/.])(?P<y>[0-9]{4})" + CLOCK,
    r"^(?P<a>[0-9]{2})(?P<s>[-/.])(?P<b>[0-9]{2})(?P<s2>[-/.])(?P<y>[0-9]{2})" + CLOCK,
    r"^(?:\p{L}{2,10}\.?,? )?(?P<d>[0-9]{1,2})(?:st|nd|rd|th|\.)?[ -]+(?P<n>\p{L}{3,10})\.?,?[ -]+(?P<y>[0-9]{4}|[0-9]{2})"
    + CLOCK,
    r"^(?:\p{L}{2,10}\.?,? )?(?P<n>\p{L}{3,10})\.? (?P<d>[0-9]{1,2})(?:st|nd|rd|th)?,? (?P<y>[0-9]{4})" + CLOCK,
    r"^(?P<y>[0-9]{4})-(?P<m>[0-9]{2})" + CLOCK,
)
"""Patterns of dates: year first; day or month first, with a year of four or two digits; with a month's name; year and month."""
PARTS = ("y", "m", "d", "a", "b", "s", "s2", "n", "H", "M", "S", "f", "p")
DAY = 86_400_000_000  # microseconds
NAMES = ("week, sine", "week, cosine", "year, sine", "year, cosine", "hour, sine", "hour, cosine")


class Dated(NamedTuple):
    """The parts of texts that may be dates, in columns that are null where a text has no such part."""

    parts: pl.DataFrame

    @property
    def orders(self) -> tuple[int, int, int]:
        """How many dates can only have the day first, how many only the month, and how many are like 05/06/2023."""
        import polars as pl

        a, b = pl.col("a"), pl.col("b")
        open_ = pl.col("s") != "."  # with points the day comes first
        counts = self.parts.select(
            (open_ & (a > 12) & (b <= 12)).sum().alias("day"),
            (open_ & (a <= 12) & (b > 12)).sum().alias("month"),
            (open_ & (a <= 12) & (b <= 12) & (a != b)).sum().alias("open"),
        ).row(0)
        return int(counts[0] or 0), int(counts[1] or 0), int(counts[2] or 0)

    @property
    def clocks(self) -> bool:
        """Whether any has a time of day other than midnight."""
        import polars as pl

        found = self.parts.select(
            (pl.sum_horizontal(pl.col("H", "M", "S").fill_null(0)) + pl.col("p").is_not_null().cast(pl.Int64) > 0).any()
        )
        return bool(found.item() or False)


def date_parts(words: pl.Series) -> Dated:
    """Take texts apart: year, month and day, or the two numbers of which one is the day; and the time of day."""
    import polars as pl

    text = (
        words.alias("text").to_frame().select(pl.col("text").str.replace_all("[\u00a0\u202f]", " ").str.strip_chars())
    )
    frames = []
    for form in FORMS:
        found = text.select(pl.col("text").str.extract_groups(form).alias("it")).unnest("it")
        frames.append(
            found.select(
                found[name] if name in found.columns else pl.lit(None, pl.String).alias(name) for name in PARTS
            )
        )
    # Every text fits one form at most, so that at most one frame has its parts.
    joined = pl.DataFrame(
        {name: pl.select(pl.coalesce([frame[name] for frame in frames])).to_series() for name in PARTS}
    )
    month = pl.col("n").str.to_lowercase().replace_strict(MONTH_OF, default=None, return_dtype=pl.Int64)
    same = pl.col("s").is_null() | (pl.col("s") == pl.col("s2"))
    numbers = joined.select(
        *(pl.col(name).cast(pl.Int64, strict=False) for name in ("m", "d", "a", "b", "H", "M", "S")),
        *(pl.col(name) for name in ("s", "f")),
        y=_year(pl.col("y")),
        p=pl.col("p").str.to_lowercase(),
        n=month,
        ok=pl.col("y").is_not_null() & same & (pl.col("n").is_null() | month.is_not_null()),
    )
    return Dated(numbers)


def _year(text: pl.Expr) -> pl.Expr:
    """Return a year; those of two digits lie between 1969 and 2068."""
    import polars as pl

    year = text.cast(pl.Int64, strict=False)
    short = pl.when(year >= 69).then(year + 1900).otherwise(year + 2000)
    return pl.when(text.str.len_chars() == 2).then(short).otherwise(year)


def moments_of(dated: Dated, day_first: bool, mixed: bool = False) -> NDArray[np.int64]:
    """Return dates as microseconds since 1970-01-01, with the smallest number where there is none.

    With `mixed`, dates such as 05/06/2023 are none, since their order is not known.
    """
    import polars as pl

    a, b, dotted = pl.col("a"), pl.col("b"), pl.col("s") == "."
    first = dotted if not day_first else pl.lit(True)
    day = pl.coalesce(pl.when(first).then(a).otherwise(b), pl.col("d"), pl.lit(1))
    month = pl.coalesce(pl.when(first).then(b).otherwise(a), pl.col("m"), pl.col("n"))
    hour = pl.col("H").fill_null(0)
    half = pl.col("p")
    good = pl.col("ok") & (half.is_null() | hour.is_between(1, 12))
    if mixed:
        good = good & ~(pl.col("a").is_not_null() & ~dotted & (a <= 12) & (b <= 12) & (a != b))
    hour = pl.when(half == "p").then(hour % 12 + 12).when(half == "a").then(hour % 12).otherwise(hour)
    two = [
        part.cast(pl.String).str.zfill(2)
        for part in (month, day, hour, pl.col("M").fill_null(0), pl.col("S").fill_null(0))
    ]
    text = pl.format(
        "{}-{}-{} {}:{}:{}.{}",
        pl.col("y").cast(pl.String).str.zfill(4),
        *two,
        pl.col("f").fill_null("0").str.slice(0, 6),
    )
    moment = pl.when(good).then(text).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    found = dated.parts.select(moment.to_physical().fill_null(np.iinfo(np.int64).min)).to_series()
    return found.to_numpy().astype(np.int64)


def native_moments(series: pl.Series) -> NDArray[np.int64]:
    """Return a column with a type for dates as microseconds since 1970-01-01, with the smallest number where a date is missing."""
    import polars as pl

    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    found = series.cast(pl.Datetime("us")).to_physical().fill_null(np.iinfo(np.int64).min)
    return found.to_numpy().astype(np.int64)


def numbers_of_moments(moments: NDArray[np.int64]) -> Array:
    """Return days since 1970-01-01 and the sines and cosines of `NAMES`, shape (rows, 7); NaN where there is no moment.

    Examples
    --------
    >>> from banditboost.encoder.moments import FIRST, numbers_of
    >>> from datetime import datetime
    >>> clock = datetime(2026, 5, 1, 13, 30)
    >>> made = numbers_of_moments(np.array([(clock - FIRST).total_seconds() * 1e6], dtype=np.int64))
    >>> bool(np.allclose(made[0], [number for _, number in numbers_of(clock)]))
    True
    """
    none = moments == np.iinfo(np.int64).min
    at = np.where(none, 0, moments)
    days = at / DAY
    year = (
        (at - at.astype("datetime64[us]").astype("datetime64[Y]").astype("datetime64[us]").astype(np.int64))
        / DAY
        / YEAR
    )
    turns = np.column_stack([((days + 3) % 7) / 7, year, (at % DAY) / DAY])
    angles = 2 * np.pi * turns
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(len(at), 6)
    made = np.column_stack([days, waves])
    made[none] = np.nan
    return made

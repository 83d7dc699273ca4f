"""Dates and times as numbers: days, and sine and cosine of what comes again.

The hour of the day, the day of the week and the season are angles, so that 23:00 lies beside 0:00 and December beside January. The
clock is taken as it is written: an offset such as +02:00 is not applied, because shops open by the clock on the wall.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

YEAR = 365.2425
"""Days of a mean year of the Gregorian calendar."""
ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
"""Texts that are dates, or dates with a time of day."""
FIRST = datetime(1970, 1, 1)


def moment_of(text: str) -> date | datetime | None:
    """Return the date, or the date and time, that a text in the form of ISO 8601 says; None where it says none.

    Examples
    --------
    >>> moment_of("2026-05-01"), moment_of("2026-05-01T13:00"), moment_of("2026-02-30"), moment_of("Rom")
    (datetime.date(2026, 5, 1), datetime.datetime(2026, 5, 1, 13, 0), None, None)
    """
    if len(text) < 10 or text[4] != "-" or not ISO.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        return None


def numbers_of(moment: date | datetime | time) -> Iterator[tuple[str, float]]:
    """Give the features of a moment by name.

    Examples
    --------
    >>> for name, number in numbers_of(datetime(1970, 1, 1, 6, 0)):
    ...     print(f"{name} {number:.2f}")
    days 0.25
    week, sine 0.22
    week, cosine -0.97
    year, sine 0.00
    year, cosine 1.00
    hour, sine 1.00
    hour, cosine 0.00
    """
    if isinstance(moment, time):
        yield from _circle("hour", _hours(moment) / 24)
        return
    clock = datetime.combine(moment, moment.time() if isinstance(moment, datetime) else time())
    days = (clock - FIRST) / timedelta(days=1)
    yield "days", days
    yield from _circle("week", ((days + 3) % 7) / 7)  # 1970-01-01 was a Thursday; weeks begin with a Monday
    yield from _circle(
        "year",
        (clock - clock.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)) / timedelta(days=YEAR),
    )
    if isinstance(moment, datetime):
        yield from _circle("hour", _hours(moment.time()) / 24)


def _hours(clock: time) -> float:
    return clock.hour + clock.minute / 60 + (clock.second + clock.microsecond / 1e6) / 3600


def _circle(name: str, turn: float) -> Iterator[tuple[str, float]]:
    yield f"{name}, sine", math.sin(2 * math.pi * turn)
    yield f"{name}, cosine", math.cos(2 * math.pi * turn)

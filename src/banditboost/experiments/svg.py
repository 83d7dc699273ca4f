"""Charts of reports as SVG inside the page: sharp on paper, readable on a telephone, and in the colours of the page, light or dark.

A chart is 480 units wide, so that its letters are readable where the page is 400 pixels wide. Everything that is drawn comes as
numbers and text; text is escaped, so that a name of a column is a name and nothing else.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from banditboost._core.checks import Array

WIDTH, HEIGHT = 480.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 14.0, 28.0, 42.0
"""Room for numbers and names around what is drawn."""
LETTER = 7.6
"""Width of a letter, nearly."""
ROW = 26.0
"""Height of one bar."""


@dataclass(frozen=True, eq=False)
class Line:
    """A curve, with a band around it where both limits are given."""

    name: str
    x: Array
    y: Array
    style: str
    """The class of the style sheet that gives it a colour: s0 to s6; with `dashed` or `thick` after it."""
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True)
class Scale:
    """From numbers to places on the page, along one axis."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, values: Array | float) -> Array:
        """Return places of values; those outside stay at the border."""
        found = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        low, high = (np.log(self.low), np.log(self.high)) if self.logarithmic else (self.low, self.high)
        found = np.log(found) if self.logarithmic else found
        share = (found - low) / (high - low) if high > low else np.full_like(found, 0.5)
        return np.asarray(self.begin + share * (self.end - self.begin))

    @property
    def ticks(self) -> list[float]:
        """Round numbers within the limits."""
        if self.logarithmic:
            powers = range(int(np.ceil(np.log10(self.low) - 1e-9)), int(np.floor(np.log10(self.high) + 1e-9)) + 1)
            return [10.0**power for power in powers]
        return round_numbers(self.low, self.high)


def round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most so many multiples of 1, 2 or 5 times a power of ten between two limits.

    Examples
    --------
    >>> round_numbers(0.0, 10.4), round_numbers(0.12, 0.19), round_numbers(3.0, 3.0)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [0.12, 0.14, 0.16, 0.18], [3.0])
    """
    if not high > low:
        return [float(low)]
    power = 10.0 ** np.floor(np.log10((high - low) / most))
    step = next(power * unit for unit in (1, 2, 5, 10, 20) if (high - low) / (power * unit) <= most - 0.5)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def text_of(value: float) -> str:
    """Return a number as it stands beside an axis.

    Examples
    --------
    >>> [text_of(value) for value in (0.0, 0.25, 12000.0, 3.4e7, -2.0, 1e-7)]
    ['0', '0.25', '12,000', '34M', '-2', '1e-07']
    """
    if 1e6 <= abs(value) < 1e9:
        return (
            f"{value / 1e6:.4g}M"  # millions, all of them in the same form: 5,000,000 beside 1e+07 would need more room
        )
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"  # 1990 may be a year
    return f"{value:.3g}"


@dataclass
class Chart:
    """One picture: a frame with axes, into which curves, points, marks and bars are drawn."""

    about: str
    """What somebody who cannot see the picture reads instead."""
    across: Scale
    up: Scale
    x_name: str = ""
    y_name: str = ""
    height: float = HEIGHT
    parts: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        about: str,
        x: tuple[float, float],
        y: tuple[float, float],
        x_name: str,
        y_name: str,
        logarithmic: bool = False,
    ) -> Chart:
        """Return an empty chart for numbers within limits."""
        across = Scale(*wide_enough(x), LEFT, WIDTH - RIGHT, logarithmic)
        return cls(about, across, Scale(*wide_enough(y), HEIGHT - BOTTOM, TOP), x_name, y_name)

    def line(self, line: Line) -> None:
        """Draw a curve, and its band below it."""
        x = self.across(line.x)
        if line.low is not None and line.high is not None:
            there = np.isfinite(line.low) & np.isfinite(line.high)
            upper, lower = self.up(line.high[there]), self.up(line.low[there])
            around = _path(np.concatenate([x[there], x[there][::-1]]), np.concatenate([upper, lower[::-1]]))
            self.parts.append(f'<path class="band {line.style.split()[0]}" d="{around}Z"/>')
        there = np.isfinite(line.y)
        self.parts.append(f'<path class="line {line.style}" d="{_path(x[there], self.up(line.y[there]))}"/>')

    def points(self, x: Array, y: Array, style: str, radius: float = 1.8, joined: bool = False) -> None:
        """Draw points; one path with round ends, which stays small for thousands of them."""
        across, up = self.across(x), self.up(y)
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(across, up, strict=True))
        self.parts.append(f'<path class="dots {style}" stroke-width="{2 * radius:g}" d="{dots}"/>')
        if joined:
            self.parts.append(f'<path class="line {style}" d="{_path(across, up)}"/>')

    def whiskers(self, x: Array, low: Array, high: Array, style: str) -> None:
        """Draw vertical bars of uncertainty."""
        places = zip(self.across(x), self.up(low), self.up(high), strict=True)
        self.parts.append(
            f'<path class="line {style}" d="{"".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in places)}"/>'
        )

    def mark(self, x: float) -> None:
        """Draw a vertical dotted line."""
        at = float(self.across(x))
        self.parts.append(
            f'<path class="mark" d="M{at:.1f} {self.up.begin:.1f}V{self.up.end:.1f}"><title>{text_of(x)}</title></path>'
        )

    def diagonal(self) -> None:
        """Draw where both axes have the same number."""
        low, high = max(self.across.low, self.up.low), min(self.across.high, self.up.high)
        ends = np.array([low, high])
        self.parts.append(f'<path class="line s0 dashed" d="{_path(self.across(ends), self.up(ends))}"/>')

    def __str__(self) -> str:
        return _svg(self.about, self.height, self._frame() + "".join(self.parts))

    def _frame(self) -> str:
        bottom, left, right = self.up.begin, self.across.begin, self.across.end
        drawn = []
        for value in self.up.ticks:
            at = float(self.up(value))
            drawn.append(f'<path class="grid" d="M{left:g} {at:.1f}H{right:g}"/>')
            drawn.append(_text(left - 6, at + 4.5, text_of(value), "end"))
        for value in self.across.ticks:
            drawn.append(_text(float(self.across(value)), bottom + 17, text_of(value)))
        drawn.append(f'<path class="axis" d="M{left:g} {bottom:g}H{right:g}"/>')
        drawn.append(_text((left + right) / 2, self.height - 6, self.x_name))
        if self.y_name:
            drawn.append(_text(4, 14, self.y_name, "start"))
        return "".join(drawn)


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its length, the style of its colour, what is written at its end, and a paler, longer one behind it."""

    name: str
    length: float
    style: str
    said: str
    pale: float | None = None


def bars(about: str, rows: Sequence[Bar], mark: float | None = None, scale: float | None = None) -> str:
    """Return horizontal bars, each under its name, so that names of any length have room on a narrow page."""
    longest = max([abs(row.length) for row in rows] + [abs(row.pale or 0.0) for row in rows] + [mark or 0.0])
    across = Scale(0.0, scale or longest or 1.0, 8.0, WIDTH - 175.0)
    drawn, at = [], 0.0
    for row in rows:
        drawn.append(_text(8, at + 15, _short(row.name, int((WIDTH - 16) / LETTER)), "start"))
        at += 20.0
        drawn += [
            f'<rect class="{style}" x="8" y="{at:g}" width="{max(1.0, float(across(length)) - 8):.1f}" height="14" rx="2"/>'
            for length, style in ((row.pale, f"pale {row.style}"), (row.length, f"bar {row.style}"))
            if length is not None and np.isfinite(length)
        ]
        if mark is not None:
            drawn.append(f'<path class="mark" d="M{float(across(mark)):.1f} {at - 1:g}v16"/>')
        end = max(float(across(row.length)), float(across(row.pale or 0.0)))
        drawn.append(_text(end + 6, at + 12, row.said, "start"))
        at += ROW - 4
    return _svg(about, at + 4, "".join(drawn))


def key(lines: Sequence[tuple[str, str]]) -> str:
    """Return the names of styles as a list below a chart, where they can wrap."""
    shown = "".join(
        '<li><svg class="swatch" viewBox="0 0 24 10" aria-hidden="true">'
        f'<path class="line {html.escape(style)}" d="M1 5H23"/></svg>'
        f"{html.escape(name)}</li>"
        for name, style in lines
    )
    return f'<ul class="key">{shown}</ul>'


def chart_of_lines(
    about: str,
    lines: Sequence[Line],
    x_name: str,
    y_name: str,
    *,
    logarithmic: bool = False,
    y: tuple[float, float] | None = None,
    marks: Sequence[float] = (),
    also: Callable[[Chart], None] | None = None,
) -> str:
    """Return curves in one chart, with their names below it."""
    across = np.concatenate([line.x for line in lines])
    up = np.concatenate(
        [part[np.isfinite(part)] for line in lines for part in (line.y, line.low, line.high) if part is not None]
    )
    limits = (float(up.min()), float(up.max())) if y is None else y
    chart = Chart.of(about, (float(across.min()), float(across.max())), limits, x_name, y_name, logarithmic)
    for line in lines:
        chart.line(line)
    for place in marks:
        chart.mark(place)
    if also is not None:
        also(chart)
    names = [(line.name, line.style) for line in lines if line.name]
    return str(chart) + (key(names) if names else "")


def wide_enough(limits: tuple[float, float]) -> tuple[float, float]:
    """Return limits that differ, since everything may be at one place."""
    low, high = limits
    if high > low:
        return low, high
    half = 0.5 * abs(low) or 0.5
    return low - half, high + half


def _path(x: Array, y: Array) -> str:
    if len(x) == 0:
        return "M0 0"
    inner = "".join(f"L{a:.1f} {b:.1f}" for a, b in zip(x[1:], y[1:], strict=True))
    return f"M{x[0]:.1f} {y[0]:.1f}{inner}"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _short(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _svg(about: str, height: float, inside: str) -> str:
    said = html.escape(about)
    return (
        f'<svg class="chart" role="img" aria-label="{said}" viewBox="0 0 {WIDTH:g} {height:g}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{said}</title>{inside}</svg>'
    )


def stretches(rounds: int, most: int = 40) -> list[slice]:
    """Return a run cut into stretches of nearly equal length.

    Examples
    --------
    >>> stretches(10, most=4)
    [slice(0, 2, None), slice(2, 5, None), slice(5, 7, None), slice(7, 10, None)]
    """
    edges = np.linspace(0, rounds, min(most, rounds) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]

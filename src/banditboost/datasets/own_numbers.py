"""Numbers as people write them: with currency signs, percent, units, and several styles of thousands and decimals.

A column has one style, which is found from its values: a comma with other than three digits behind it is a decimal comma, and a
point that comes twice separates thousands. Texts that fit the style are read, and all others are not numbers: nothing is guessed
for a single value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, one_of
from banditboost._core.spec import Spec
from banditboost.datasets.own_values import HUGE

if TYPE_CHECKING:
    import polars as pl

SAME = {
    "€": ("eur", "euro"),
    "$": ("usd", "us$"),
    "£": ("gbp",),
    "¥": ("jpy",),
    "₹": ("inr", "rs", "rs."),
    "CHF": ("chf", "fr.", "sfr."),
    "₽": ("rub",),
    "₩": ("krw",),
    "₺": ("try",),
    "zł": ("pln",),
}
"""Other ways to write a currency."""
NAMED = {other: sign for sign, others in SAME.items() for other in (*others, sign.lower())}
SIGNS = r"[$€£¥₹₽₩₪₺₫฿₴₦₱₡₲₵₸₼₾]|[A-Z]{1,2}\$|[A-Z]{3}|Fr\.|SFr\.|Rs\.?|kr\.?|zł|Euro"
"""What may stand before a number."""
UNITS = r"%|[\p{L}°µ$€£¥₹₽₩₪₺₫฿₴₦₱₡₲₵₸₼₾][\p{L}²³$./]{0,9}"
"""What may stand behind a number: percent, a currency, or any unit, such as kg."""
WHOLE = (
    rf"^(?P<open>\()?\s*(?P<first>[+-])?\s*(?P<before>{SIGNS})?\s*(?P<second>[+-])?\s*(?P<body>[0-9.,'][0-9.,' ]*)"
    rf"(?P<power>[eE][+-]?[0-9]+)?\s*(?P<behind>{UNITS})?\s*(?P<last>-)?\s*(?P<close>\))?$"
)
"""Pattern of everything that may be a number."""
CERTAIN = 0.8
"""The decimal sign of another table is its own where at least this share of the values that have such a sign can only have it."""
UNCLEAR = r"^[1-9][0-9]{0,2}[.,][0-9]{3}$"
"""Pattern of numbers such as 1,234, which is either about a thousand or about one."""


@dataclass(frozen=True)
class NumberStyle(Spec, kind="datasets.NumberStyle"):
    """How the numbers of a column are written.

    Parameters
    ----------
    decimal
        The decimal sign, a point or a comma.
    groups
        The signs that may stand between groups of three digits.
    unit
        The currency, ``%``, or another unit, which every number has; where it is not percent, a number may lack it.
    mixed
        True where some values of the column have the other decimal sign: numbers such as 1,234 are then not read, since they may
        mean either.

    Examples
    --------
    >>> import polars as pl
    >>> german = NumberStyle(",", ". ", "€")
    >>> read_numbers(pl.Series(["1.132,43", "7 €", "-2.000 EUR", "3.5", "$4"]), german).tolist()
    [1132.43, 7.0, -2000.0, nan, nan]
    """

    decimal: str = "."
    groups: str = ""
    unit: str = ""
    mixed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("decimal", self.decimal, (".", ","))
        texts = isinstance(self.groups, str) and isinstance(self.unit, str) and isinstance(self.mixed, bool)
        if not texts or not set(self.groups) <= set(",.' ") - {self.decimal} or len(self.unit) > 20:
            raise ValueError(f"groups, unit and mixed must describe how numbers are written, got {self!r:.200}.")

    @property
    def plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        return self.decimal == "." and not self.unit and not self.mixed

    def here(self, words: pl.Series) -> NumberStyle:
        """Return this style, with the other decimal sign where the values of another table can only have that.

        Examples
        --------
        >>> import polars as pl
        >>> NumberStyle().here(pl.Series(["0,5", "12"])).decimal, NumberStyle().here(pl.Series(["0,5", "1,234"])).decimal
        (',', '.')
        """
        if not words.str.contains("[.,]").any():
            return self
        parts = number_parts(words)
        votes = votes_of(parts.body.filter(parts.power == ""))
        ours, theirs = (votes.point, votes.comma) if self.decimal == "." else (votes.comma, votes.point)
        if ours or self.mixed or theirs < CERTAIN * sum(votes) or not theirs:
            return self
        other = "," if self.decimal == "." else "."
        return replace(self, decimal=other, groups="".join(sign for sign in ",.' " if sign != other))


class Parts(NamedTuple):
    """The parts of texts that may be numbers; null where a text is none."""

    body: pl.Series
    """Digits with signs between them, without the sign of the number."""
    negative: NDArray[np.bool_]
    power: pl.Series
    unit: pl.Series
    """Currencies have one name each; the empty text where there is no unit."""


def number_parts(words: pl.Series) -> Parts:
    """Take texts apart: sign, digits, power of ten, unit."""
    import polars as pl

    text = pl.col("text")
    for pattern, plain in (
        ("[\u00a0\u2007\u2009\u202f]", " "),
        ("[−–‐‑]", "-"),
        ("[’‘´`]", "'"),
        (r"([0-9])[.,][-—]{1,2}$", "$1"),
    ):
        text = text.str.replace_all(pattern, plain)
    found = (
        words.alias("text").to_frame().select(text.str.strip_chars().str.extract_groups(WHOLE).alias("it")).unnest("it")
    )
    signs = pl.concat_str([pl.col(name).fill_null("") for name in ("first", "second", "last")])
    units = pl.concat_str([pl.col("before").fill_null(""), pl.col("behind").fill_null("")])
    # Brackets come in pairs, and a number has one sign and one unit at most.
    whole = (
        (pl.col("open").is_null() == pl.col("close").is_null())
        & (signs.str.len_chars() + pl.col("open").is_not_null().cast(pl.Int64) <= 1)
        & (pl.col("before").is_null() | pl.col("behind").is_null())
        & pl.col("body").str.contains("[0-9]")
    )
    frame = found.select(
        body=pl.when(whole).then(pl.col("body").str.strip_chars()),
        negative=whole & ((signs == "-") | pl.col("open").is_not_null()),
        power=pl.when(whole).then(pl.col("power").fill_null("")),
        unit=pl.when(whole).then(
            units.replace_strict(
                list(NAMED),
                list(NAMED.values()),
                default=units.str.to_lowercase().replace(list(NAMED), list(NAMED.values())),
            )
        ),
    )
    return Parts(frame["body"], frame["negative"].fill_null(False).to_numpy(), frame["power"], frame["unit"])


def read_numbers(words: pl.Series, style: NumberStyle, parts: Parts | None = None) -> Array:
    """Return texts as numbers, NaN where a text does not fit the style or is beyond `HUGE`; `parts` are its own, where known."""
    import polars as pl

    parts = number_parts(words) if parts is None else parts
    frame = pl.DataFrame({"body": parts.body, "power": parts.power, "unit": parts.unit})
    body, power, unit = pl.col("body"), pl.col("power"), pl.col("unit")
    fits = body.str.contains(_pattern(style)) & ((power == "") | body.str.contains(f"^[0-9]*[{style.decimal}]?[0-9]*$"))
    bare = unit == ""
    if style.unit == "%":
        bare = bare & ~body.str.contains("[1-9]")  # zero is zero in every unit
    fits = fits & (bare | (unit == style.unit) if style.unit else bare)
    if style.mixed:
        fits = fits & ~body.str.contains(UNCLEAR)
    digits = body.str.replace_all(r"[^0-9" + style.decimal + "]", "").str.replace(style.decimal, ".", literal=True)
    number = pl.concat_str([digits, power]).cast(pl.Float64, strict=False)
    values = frame.select(pl.when(fits).then(number)).to_series().to_numpy().astype(np.float64)
    values = np.where(parts.negative, -values, values)
    return np.where(np.abs(values) <= HUGE, values, np.nan)


def _pattern(style: NumberStyle) -> str:
    """Return the pattern of the digits of a number."""
    sign = "\\" + style.decimal
    forms = [rf"[0-9]+(?:{sign}[0-9]*)?", rf"{sign}[0-9]+"]
    for group in style.groups:
        group = "\\" + group if group == "." else group
        forms.append(rf"[0-9]{{1,3}}(?:{group}[0-9]{{3}})+(?:{sign}[0-9]*)?")
        if group == ",":  # as in India: 12,34,567
            forms.append(rf"[0-9]{{1,2}}(?:,[0-9]{{2}})+,[0-9]{{3}}(?:{sign}[0-9]*)?")
    return f"^(?:{'|'.join(forms)})$"


class Votes(NamedTuple):
    """What the values of a column say about its decimal sign."""

    point: int
    """How many can only have a decimal point."""
    comma: int
    """How many can only have a decimal comma."""
    unclear_point: int
    """How many are like 1.234."""
    unclear_comma: int
    """How many are like 1,234."""

    def __add__(self, other: object) -> Votes:
        """Count the votes of two columns together."""
        assert isinstance(other, Votes)
        return Votes(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def decimal(self) -> str | None:
        """The decimal sign that more values have; None where none says."""
        return None if self.point == self.comma else "." if self.point > self.comma else ","


def votes_of(body: pl.Series) -> Votes:
    r"""Count what the digits of numbers say about the decimal sign.

    Examples
    --------
    >>> import polars as pl
    >>> votes_of(pl.Series(["1,5", "1,234", "1.234,5", "1.234.567", "12", "1,234.5", None]))
    Votes(point=1, comma=3, unclear_point=0, unclear_comma=1)
    """
    import polars as pl

    text = pl.col("text")
    points, commas = text.str.count_matches(r"\."), text.str.count_matches(",")
    last = text.str.extract(r"([.,])[^.,]*$")
    unclear = text.str.contains(UNCLEAR)
    point = ((points == 1) & ~unclear & (last == ".")) | ((commas > 1) & (points == 0))
    comma = ((commas == 1) & ~unclear & (last == ",")) | ((points > 1) & (commas == 0))
    counted = [point, comma, unclear & (last == "."), unclear & (last == ",")]
    frame = body.drop_nulls().alias("text").to_frame().select(v.sum().alias(str(k)) for k, v in enumerate(counted))
    return Votes(*(int(frame[name][0] or 0) for name in frame.columns))


def style_of(parts: Parts, votes: Votes, usual: str | None, semicolons: bool) -> tuple[NumberStyle, str]:
    """Return the style of a column, and a phrase for reports where it was not certain.

    Parameters
    ----------
    parts, votes
        The column's values, and what they say.
    usual
        The decimal sign that the other columns of the file have, where they say.
    semicolons
        Whether the values of the file are separated by semicolons, as is usual where commas are decimal signs.
    """
    units = parts.unit.drop_nulls()
    named = (
        units.filter(units != "")
        .alias("unit")
        .value_counts(name="times")
        .sort(["times", "unit"], descending=[True, False])
    )
    unit = str(named["unit"][0]) if len(named) else ""
    said = ""
    decimal, mixed, sure = votes.decimal, bool(votes.point and votes.comma), votes.decimal is not None
    if decimal is None and (votes.unclear_point or votes.unclear_comma):
        decimal, sure = usual, usual is not None
        if decimal is None:
            decimal = "," if votes.unclear_comma and semicolons and not votes.unclear_point else "."
        if votes.unclear_comma or decimal == ",":
            first = str(parts.body.filter(parts.body.str.contains(UNCLEAR))[0])
            read, other = re.sub("[,.]", "", first), first.replace(",", ".")
            read, other = (other, read) if decimal in first else (read, other)
            why = ", as other columns show" if sure else f", but could be {other}"
            said = f"'{first}' is read as {read}{why}"
    decimal = decimal or "."
    groups = "".join(sign for sign in ",.' " if sign != decimal)
    if not sure:  # what was not seen is not known to be a sign between thousands
        seen = parts.body.drop_nulls()
        groups = "".join(sign for sign in groups if seen.str.contains(sign, literal=True).any())
    if mixed:
        few = min(votes.point, votes.comma)
        said = f"{few:,} {'has' if few == 1 else 'have'} another decimal sign than the rest"
    return NumberStyle(decimal, groups, unit, mixed), said

"""What the experiment on paid losses has to show, line by line: the number, its target, and whether it holds.

Every line is judged from the tables alone. Lines that are marked as headline decide whether a show holds: those without noise, and
for shows 2 and 5 with the squared loss. The others are the same numbers with noise and with the absolute loss, and decide whether
it holds everywhere. A line whose rows are missing (a peer that is not installed) holds neither way: its value is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Line = dict[str, Any]

RELATIVE = ("abalone", "adult", "letter")
"""Data sets on which exploring pays; census has a show of its own."""
LADDER = (1, 2, 3, 4, 5, 10, 30)
"""Numbers of answers."""
TITLES = {
    1: "Slopes from memory are unbiased, by quadrature",
    2: "Predictions and paid losses as answers get fewer",
    3: "One answer against --cats at its best in hindsight",
    4: "The shop, at prices shown",
    5: "Thirty answers are paid at the prediction's loss",
    6: "Boxes with unequal sides behave like cubes",
}


def find(rows: Iterable[Row], **wanted: Any) -> Row | None:
    """Return the first row whose fields are as wanted; None where there is none."""
    return next((row for row in rows if all(row.get(key) == value for key, value in wanted.items())), None)


def at_most(show: int, what: str, where: str, value: float | None, limit: float, headline: bool = True) -> Line:
    """Return a line that holds where a value is at most a limit.

    Examples
    --------
    >>> at_most(5, "paid / predicted", "abalone", 1.2, 1.15)["holds"], at_most(5, "paid / predicted", "letter", None, 1.15)["holds"]
    (False, None)
    """
    return _line(show, what, where, value, f"at most {limit:g}", headline, lambda v: v <= limit)


def at_least(show: int, what: str, where: str, value: float | None, limit: float) -> Line:
    """Return a line that holds where a value is at least a limit."""
    return _line(show, what, where, value, f"at least {limit:g}", True, lambda v: v >= limit)


def below(show: int, what: str, where: str, value: float | None, limit: float, headline: bool = True) -> Line:
    """Return a line that holds where a value is below a limit."""
    return _line(show, what, where, value, f"below {limit:g}", headline, lambda v: v < limit)


def _line(
    show: int, what: str, where: str, value: float | None, target: str, headline: bool, test: Callable[[float], bool]
) -> Line:
    holds = None if value is None else bool(test(value))
    shown = None if value is None else float(f"{value:.5g}")
    return {
        "show": show,
        "what": what,
        "where": where,
        "value": shown,
        "target": target,
        "headline": headline,
        "holds": holds,
    }


def ratio(upper: Row | None, key: str, lower: Row | None, other: str | None = None) -> float | None:
    """Return the ratio of one row's number to another's; None where a row is missing."""
    if upper is None or lower is None:
        return None
    return float(upper[key] / lower[other or key])


def unbiased(tables: Tables) -> list[Line]:
    """Show 1: errors of mean slopes in units of the slope, and those of planted leaks, which must show."""
    errors: dict[tuple[str, str], list[float]] = {}
    for row in tables.get("unbiased", []):
        where = f"{row['answers']} answer(s), {row['dimensions']} dimension(s)"
        errors.setdefault((where, row["leak"]), []).append(row["error"])
    return [
        at_least(1, f"error of a planted leak, {leak}", where, min(found), 0.1)
        if leak
        else at_most(1, "largest error of a mean slope", where, max(found), 1e-9)
        for (where, leak), found in errors.items()
    ]


def games(tables: Tables) -> list[tuple[str, str, float]]:
    """Return data set, loss and noise of all games in the tables."""
    return list(dict.fromkeys((row["dataset"], row["by_loss"], row["noise"]) for row in tables["ours"]))


def _where(game: tuple[str, str, float]) -> tuple[str, dict[str, Any]]:
    dataset, loss, noise = game
    text = f"{dataset}, {loss}{', noise' if noise else ''}"
    return text, {"dataset": dataset, "by_loss": loss, "noise": noise}


def few_answers(tables: Tables) -> list[Line]:
    """Show 2: what is lost as answers get fewer."""
    lines: list[Line] = []
    for game in games(tables):
        where, same = _where(game)
        headline = game[1] == "squared" and not game[2]
        mean = find(tables["peers"], who="running_mean", **same)
        one = find(tables["ours"], answers=1, declared="", **same)
        if game[0] not in RELATIVE:
            told = ratio(one, "predicted_late", mean)
            lines.append(below(2, "one answer, predictions / running mean", where, told, 1.0, headline))
            lines.append(
                at_most(2, "one answer, paid / running mean", where, ratio(one, "paid_late", mean), 1.1, headline)
            )
            continue
        ladder = [row for k in LADDER if (row := find(tables["ours"], answers=k, declared="", **same))]
        lines.append(at_most(2, "worst step as answers grow", where, _worst_step(ladder), 1.03, headline))
        lines += _two_and_one(tables, same, where, headline)
        lines.append(
            at_most(
                2,
                "one answer, paid / predictions",
                where,
                ratio(one, "paid_late", one, "predicted_late"),
                1.6,
                headline,
            )
        )
        lines.append(
            below(2, "one answer, worst quarter paid / the one before", where, _worst_quarter(one), 1.0, headline)
        )
        lines.append(below(2, "one answer, paid / running mean", where, ratio(one, "paid_late", mean), 1.0, headline))
    return lines


def _two_and_one(tables: Tables, same: dict[str, Any], where: str, headline: bool) -> list[Line]:
    """Return how far two answers and one are from the better of gradients told and thirty answers."""
    known = [find(tables["ours"], answers=k, declared="", **same) for k in (0, 30)]
    best = min((row for row in known if row), key=lambda row: float(row["predicted_late"]), default=None)
    two = find(tables["ours"], answers=2, declared="", **same)
    one = find(tables["ours"], answers=1, declared="", **same)
    lines = [
        at_most(2, "two answers, predictions / best", where, ratio(two, "predicted_late", best), 1.03, headline),
        at_most(
            2, "two answers, paid / predictions", where, ratio(two, "paid_late", two, "predicted_late"), 1.15, headline
        ),
        at_most(2, "one answer, predictions / best", where, ratio(one, "predicted_late", best), 1.3, headline),
    ]
    declared = find(tables["ours"], answers=1, declared=same["by_loss"], **same)
    if declared or headline:
        what = "one answer, loss declared, predictions / best"
        lines.append(at_most(2, what, where, ratio(declared, "predicted_late", best), 1.2, headline))
    return lines


def _worst_step(ladder: Sequence[Row]) -> float | None:
    """Return the largest ratio of a number of answers to the best of the smaller ones."""
    losses = [float(row["predicted_late"]) for row in ladder]
    return max((after / min(losses[:k]) for k, after in enumerate(losses) if k), default=None)


def _worst_quarter(row: Row | None) -> float | None:
    """Return the largest ratio of a quarter's paid loss to that of the quarter before."""
    if row is None:
        return None
    quarters = np.array(row["paid_quarters"])
    return float((quarters[1:] / quarters[:-1]).max())


def against_cats(tables: Tables) -> list[Line]:
    """Show 3: paid losses over all rounds, and over their second half, as multiples of those of CATS."""
    lines: list[Line] = []
    for key, title in (("paid", "all rounds"), ("paid_late", "second half")):
        for noisy in (False, True):
            found: list[float | None] = []
            for game in games(tables):
                if bool(game[2]) is not noisy:
                    continue
                where, same = _where(game)
                theirs = find(tables["peers"], who="cats", chosen="in hindsight", **same)
                one = find(tables["ours"], answers=1, declared="", **same)
                found.append(ratio(one, key, theirs))
                lines.append(below(3, f"paid / CATS, {title}", where, found[-1], 1.0, not noisy))
            if found:
                kept = None if None in found else float(np.exp(np.mean(np.log(np.array(found, dtype=float)))))
                where = f"all games {'with' if noisy else 'without'} noise"
                lines.append(at_most(3, f"geometric mean of paid / CATS, {title}", where, kept, 0.6, not noisy))
    return lines


def selling(tables: Tables) -> list[Line]:
    """Show 4: shares of the best revenue."""
    rows = {row["way"]: row for row in tables["shop"]}
    boosted, pricing, logistic = (rows.get(way) for way in ("boosted", "pricing", "logistic"))

    def share(row: Row | None, key: str = "share") -> float | None:
        return None if row is None else float(row[key])

    behind = None if pricing is None or logistic is None else float(logistic["share"] - pricing["share"])
    return [
        at_least(4, "boosted(answers=1), all rounds", "shop", share(boosted), 0.91),
        at_least(4, "boosted(answers=1), last tenth", "shop", share(boosted, "share_tenth"), 0.94),
        at_least(4, "pricing, all rounds", "shop", share(pricing), 0.95),
        at_least(4, "pricing, last tenth", "shop", share(pricing, "share_tenth"), 0.97),
        at_most(4, "refitted logistic model minus pricing", "shop", behind, 0.01),
    ]


def thirty_answers(tables: Tables) -> list[Line]:
    """Show 5: what thirty answers cost, and whether predictions are as good as they were."""
    lines: list[Line] = []
    for game in games(tables):
        if game[0] in RELATIVE:
            where, same = _where(game)
            headline = game[1] == "squared" and not game[2]
            many = find(tables["ours"], answers=30, declared="", **same)
            was = find(tables["peers"], who="former", **same)
            paid = ratio(many, "paid_late", many, "predicted_late")
            lines.append(at_most(5, "thirty answers, paid / predictions", where, paid, 1.15, headline))
            kept = ratio(many, "predicted_late", was)
            lines.append(at_most(5, "thirty answers, predictions / as they were", where, kept, 1.0, headline))
    return lines


def boxes(tables: Tables) -> list[Line]:
    """Show 6: boxes against cubes, and one answer in three dimensions against the best fixed point."""
    lines: list[Line] = []
    for dimensions in dict.fromkeys(row["dimensions"] for row in tables["boxes"]):
        headline = dimensions == 3
        for answers in (1, 5, 30):
            box, cube = (find(tables["boxes"], dimensions=dimensions, answers=answers, cube=c) for c in (False, True))
            for key in ("predicted_late", "paid_late"):
                apart = ratio(box, key, cube)
                off = None if apart is None else max(apart, 1 / apart)
                what = f"{answers} answer(s), box / cube or its inverse, {key.removesuffix('_late')}"
                lines.append(at_most(6, what, f"{dimensions} dimensions", off, 1.1, headline))
        one = find(tables["boxes"], dimensions=dimensions, answers=1, cube=False)
        paid = ratio(one, "paid_tenth", one, "fixed_tenth")
        lines.append(
            below(6, "1 answer, paid / best fixed point, last tenth", f"{dimensions} dimensions", paid, 1.0, headline)
        )
    return lines


def shows(tables: Tables) -> dict[str, dict[str, Any]]:
    """Return every show by its number: its title, whether it holds, and its lines."""
    lines = [
        *unbiased(tables),
        *few_answers(tables),
        *against_cats(tables),
        *selling(tables),
        *thirty_answers(tables),
        *boxes(tables),
    ]
    found: dict[str, dict[str, Any]] = {}
    for number, title in TITLES.items():
        mine = [line for line in lines if line["show"] == number]
        found[str(number)] = {
            "title": title,
            "holds": together(line["holds"] for line in mine if line["headline"]),
            "holds_everywhere": together(line["holds"] for line in mine),
            "lines": mine,
        }
    return found


def together(held: Iterable[bool | None]) -> bool | None:
    """Return False where one does not hold, None where one is missing or there is none, and True otherwise.

    Examples
    --------
    >>> together([True, True]), together([True, None]), together([None, False]), together([])
    (True, None, False, None)
    """
    found = list(held)
    if False in found:
        return False
    return None if None in found or not found else True

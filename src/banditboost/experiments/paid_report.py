"""The presentation of the experiment on paid losses: tables for the terminal and for pages, pictures, and a report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments import paid_shop
from banditboost.experiments.html import picture, sections, write
from banditboost.experiments.paid_choice import HINDSIGHT, TUNED
from banditboost.experiments.paid_peers import GRIDS, TITLES
from banditboost.experiments.paid_pictures import against_peers, by_answers, by_quarter
from banditboost.experiments.paid_shows import LADDER, find, games
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]

OTHERWISE = (
    "<b>What could have come out otherwise.</b> These are so by construction: the running mean and the best constant know "
    "labels and never explore, so that they pay what they predict; gradients told pay what they predict, since nothing is "
    "asked; a setting chosen in hindsight pays no more than the tuned one, which is among those it is chosen from; "
    "nobody earns more than the best prices. Everything else could have failed, and did where the last table says NO: a "
    "peer may pay less than ours (each has a grid, and the best of it), fewer answers may predict worse or better than "
    "more, a box may differ from its cube, and one answer may cost more than a constant does."
)
"""Which rows are measured and which are so by construction."""


def names_of(results: Results) -> list[str]:
    """Return the data sets."""
    return list(dict.fromkeys(row["dataset"] for row in results["tables"]["ours"]))


def spread(row: dict[str, Any] | None, key: str) -> str:
    """Return a mean over runs with its deviation."""
    if row is None:
        return "-"
    runs = row[f"{key}_runs"]
    return f"{row[key]:.4g} ±{deviation(runs):.2g}" if len(runs) > 1 else f"{row[key]:.4g}"


def both(row: dict[str, Any] | None, key: str = "late") -> str:
    """Return what was paid, and in brackets the loss at predictions where it differs."""
    if row is None:
        return "-"
    paid, predicted = row[f"paid_{key}"], row[f"predicted_{key}"]
    return spread(row, f"paid_{key}") + ("" if paid == predicted else f" ({predicted:.4g})")


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of tables whose columns are data sets."""
    return ("paid (at predictions)", *names_of(results))


def contestants_of(results: Results, loss: str, noise: bool) -> Rows:
    """Return what everybody paid in the second half of the rounds; comparators that know more are secondary."""
    tables, names = results["tables"], names_of(results)
    width = max((game[2] for game in games(tables)), default=0.0) if noise else 0.0
    same = {"by_loss": loss, "noise": width}
    rows: Rows = []
    for title, wanted in (
        ("ours, one answer", {"answers": 1, "declared": ""}),
        ("ours, one answer, loss declared", {"answers": 1, "declared": loss}),
        ("ours, two answers", {"answers": 2, "declared": ""}),
        ("ours, 30 answers", {"answers": 30, "declared": ""}),
    ):
        rows.append((False, [title, *(both(find(tables["ours"], dataset=n, **same, **wanted)) for n in names)]))
    for peer in GRIDS:
        for way in (HINDSIGHT, TUNED):
            found = [find(tables["peers"], dataset=n, who=peer, chosen=way, **same) for n in names]
            rows.append((False, [f"{TITLES[peer]}, {way}", *map(both, found)]))
    for who in ("former", "running_mean", "best_constant"):
        known = [find(tables["peers"], dataset=n, who=who, **same) for n in names]
        rows.append((True, [TITLES[who], *map(both, known)]))
    told = [find(tables["ours"], dataset=n, answers=0, **same) for n in names]
    rows.append((True, ["ours, gradients told", *map(both, told)]))
    return [row for row in rows if set(row[1][1:]) != {"-"}]


def ladder_of(results: Results, loss: str = "squared") -> Rows:
    """Return paid losses and predictions for every number of answers, without noise."""
    tables, names = results["tables"], names_of(results)
    rows: Rows = []
    for k in (0, *LADDER):
        mine = [find(tables["ours"], dataset=n, by_loss=loss, noise=0.0, answers=k, declared="") for n in names]
        title = "gradients told" if k == 0 else f"{k} answer{'s' if k > 1 else ''}"
        rows.append((k == 0, [title, *map(both, mine)]))
    return rows


def shop_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the shop's table."""
    return ("who shows the prices", "share of the best revenue", "first quarter", "last quarter", "last tenth")


def shop_of(results: Results) -> Rows:
    """Return shares of the best revenue."""
    rows: Rows = []
    for way, title in (paid_shop.OURS | paid_shop.THEIRS).items():
        row = find(results["tables"]["shop"], way=way)
        if row is not None:
            texts = [row["share"], row["share_quarters"][0], row["share_quarters"][-1], row["share_tenth"]]
            rows.append((way == "best_price", [title, *(f"{share:.1%}" for share in texts)]))
    return rows


def box_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the boxes' table."""
    return ("sides", "answers", "box, paid", "cube, paid", "box, predictions", "cube, predictions", "best fixed point")


def boxes_of(results: Results) -> Rows:
    """Return losses on boxes beside those on cubes, in the second half of the rounds."""
    rows: Rows = []
    for row in results["tables"]["boxes"]:
        cube = find(results["tables"]["boxes"], dimensions=row["dimensions"], answers=row["answers"], cube=True)
        if row["cube"] or cube is None:
            continue
        sides = " x ".join(f"{side:g}" for side in row["sides"])
        numbers = (
            row["paid_late"],
            cube["paid_late"],
            row["predicted_late"],
            cube["predicted_late"],
            row["fixed_late"],
        )
        told = row["answers"] == 0
        rows.append((told, [sides, "told" if told else str(row["answers"]), *(f"{n:.4g}" for n in numbers)]))
    return rows


def shows_headings(results: Results) -> tuple[str, ...]:
    """Return the headings of the table of what had to be shown."""
    return ("show", "what", "where", "measured", "target", "holds")


def shows_of(results: Results, everything: bool = True) -> Rows:
    """Return every line that had to be shown; those that decide nothing are secondary, or left out."""
    words = {True: "yes", False: "NO", None: "not run"}
    rows: Rows = []
    for number, show in results["shows"].items():
        for line in show["lines"]:
            if line["headline"] or everything:
                value = "-" if line["value"] is None else f"{line['value']:.4g}"
                texts = [number, line["what"], line["where"], value, line["target"], words[line["holds"]]]
                rows.append((not line["headline"], texts))
    return rows


Headings = Callable[[Results], tuple[str, ...]]


def tables_of(results: Results, everything: bool = True) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table that has rows."""
    made: list[tuple[str, Headings, Callable[[Results], Rows]]] = [
        (
            f"{loss.capitalize()} loss paid in the second half of the rounds, {'with' if noise else 'no'} noise",
            headings_of,
            partial(contestants_of, loss=loss, noise=noise),
        )
        for loss in ("squared", "absolute")
        for noise in (False, True)
    ]
    made += [
        ("Squared loss by the number of answers, no noise", headings_of, ladder_of),
        ("Absolute loss by the number of answers, no noise", headings_of, partial(ladder_of, loss="absolute")),
        ("The shop", shop_headings, shop_of),
        ("Boxes with unequal sides, and unit cubes", box_headings, boxes_of),
        ("What had to be shown", shows_headings, partial(shows_of, everything=everything)),
    ]
    return [(title, headings(results), rows) for title, headings, make in made if (rows := make(results))]


def terminal_tables(results: Results) -> list[Table]:
    """Return the tables for the terminal."""
    left = ("paid (at predictions)", "who shows the prices", "sides", "what", "where", "target")
    return [terminal_table(*table, left=left) for table in tables_of(results, everything=False)]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    protocol = results["protocol"]
    tried = ", ".join(
        f"{TITLES[peer]} {n} on {protocol['scouts'][peer]} shuffle(s)" for peer, n in protocol["settings_tried"].items()
    )
    body = [
        "<h1>Paid where it is played</h1>",
        f"<p>Mean ± standard deviation over {protocol['runs']} shuffled run(s), at most {protocol['rows']:,} rounds each, in the "
        "data's own units. Numbers are true losses at the actions played, and in brackets at the actions that a contestant holds "
        "to be best. Ours have nothing tuned. Peers get one answer a round, and are shown at their best in hindsight (for the "
        "second half by itself) and tuned on the first half of shuffle 0. "
        f"Settings among which the best in hindsight was looked for: {tried or 'none'}.</p>",
        f"<p>{OTHERWISE}</p>",
        *(f"<p>{note}</p>" for note in results["notes"]),
        "<h2>Who pays how much</h2>",
        picture(against_peers(results), "Losses paid in the second half of the rounds, ours and peers'"),
        "<h2>By the number of answers</h2>",
        picture(by_answers(results), "Loss against the number of answers"),
        "<h2>From quarter to quarter</h2>",
        picture(by_quarter(results), "Loss paid in every quarter of the rounds"),
        *sections(tables_of(results)),
    ]
    return write(folder / "paid.html", "banditboost: paid where it is played", body)

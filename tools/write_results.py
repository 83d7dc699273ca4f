"""Write the committed results into README.md and the docs, between their markers: `python tools/write_results.py`.

Every table in a page stands between ``<!-- name -->`` and ``<!-- /name -->`` and is made here from ``results/*.json`` or
``benchmarks/results.json`` (until a file of results exists, words between ``<!-- once name -->`` and ``<!-- /once -->`` stand in
the place of a table), and numbers in sentences stand between comments of their own (see ``claims.py``), so that no number in
a page is typed by hand. What README's numbers come from is written to ``docs/claims.md``. With ``--check`` nothing is written, and
the exit code says whether pages are up to date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import claims
import claims_page
from compare_versions import ratio

from banditboost.experiments import (
    alarms_report,
    bands_report,
    beyond_report,
    bounds_report,
    classification_report,
    drift_pictures,
    drift_report,
    drift_stationary_report,
    fair_report,
    feedback_report,
    guards_report,
    hidden_report,
    memory_report,
    off_policy_report,
    paid_pictures,
    paid_report,
    small_report,
    table1_report,
    table2_report,
    torture_report,
    warm_report,
)
from banditboost.experiments.cells import present_names
from banditboost.experiments.table2_says import says
from banditboost.experiments.terminal import Rows

ROOT = Path(__file__).parent.parent
README, CLAIMS = ROOT / "README.md", ROOT / "docs" / "claims.md"


def read(file: str) -> dict[str, Any]:
    """Return the results in a file, under the names that results have now."""
    results: dict[str, Any] = present_names(json.loads((ROOT / file).read_text()))
    return results


def markdown(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(headings) + " |"]
    lines.append("|---" * len(list(headings)) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def table2(results: dict[str, Any]) -> str:
    """Table 2, the deviations beside the means."""
    rows = []
    lines = [row for _, row in table2_report.cells_of(results)]
    missing = [line for line in lines if line[1].startswith("not run")]
    lines = [line for line in lines if line not in missing]
    for means, spreads, paper in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        rows.append([means[0], *(f"{m} {s}".strip() for m, s in zip(means[1:], spreads[1:], strict=True))])
        rows.append([f"*{paper[0].strip()}*", *(f"*{text}*" if text else "" for text in paper[1:])])
    rows += missing
    main, runs = table2_report.main_readings(results), results["protocol"]["runs"]
    note = (
        f"The table shows the mean squared loss on second halves over {runs} shuffled runs, tuned on first halves; "
        f"its half with full information is reading {main['full']}, its bandit half reading {main['bandit']}.\n"
        "Numbers in *italics* are quoted from the paper."
    )
    return f"{note}\n\n{markdown(table2_report.headings_of(results), rows)}"


def table2_says(results: dict[str, Any]) -> str:
    """What holds under which reading, one sentence a line."""
    return "\n".join(f"- {sentence}" for sentence in says(results))


def table2_short(results: dict[str, Any]) -> str:
    """The decreases under the readings that the README names."""
    told = results["protocol"]["readings"]
    few = results["protocol"] | {"readings": {key: told[key] for key in ("D", "A", "C")}}
    return report_table(table2_report.decrease_headings, table2_report.decreases_of)(results | {"protocol": few})


def table1(results: dict[str, Any]) -> str:
    """Table 1: exponents, calls, times, and regret at equal cost."""
    return markdown(table1_report.HEADINGS, table1_report.lines(results))


def bounds(results: dict[str, Any]) -> str:
    """How the bounds are judged, and all tables but that of the growth of regret."""
    parts = [bounds_report.protocol(results).replace(". ", ".\n")]
    for title, headings, lines in bounds_report.tables(results)[:-1]:
        parts += [f"**{title}**", markdown(headings, lines)]
    return "\n\n".join(parts)


def exponents(results: dict[str, Any]) -> str:
    """The growth of regret."""
    return markdown(bounds_report.EXPONENT_HEADINGS, bounds_report.exponents(results))


def report_table(headings: beyond_report.Headings, rows: Callable[[dict[str, Any]], Rows]) -> Callable[[Any], str]:
    """A report's table, its secondary rows in italics."""

    def make(results: dict[str, Any]) -> str:
        lines = [[f"*{text}*" if text and secondary else text for text in row] for secondary, row in rows(results)]
        return markdown(headings(results), lines)

    return make


def torture_above(results: dict[str, Any]) -> str:
    """Cells that had to be lower, or how high the highest ones are."""
    if torture_report.above_of(results):
        return report_table(lambda _: torture_report.ABOVE_HEADINGS, torture_report.above_of)(results)
    ratio, worst = (max(row[key] for row in results["rows"]) for key in ("ratio", "worst"))
    return (
        f"None of {len(results['rows'])} cells: the largest ratio is {ratio:.2f}, and in its worst part no run has more than "
        f"{worst:.2f} of the running mean's loss."
    )


def serve_load(results: dict[str, Any]) -> str:
    """Latencies of the service at some rates, from `make load-serve`."""
    rows = [
        [
            row["setting"],
            f"{row['rate']:,.0f}",
            f"{row['achieved']:,.0f}",
            *(f"{row[key]:,.1f}" for key in ("p50", "p99", "max")),
            f"{row['generator']:.0%}",
        ]
        for row in results["rows"]
    ]
    headings = ("durability", "due a second", "answered a second", "p50, ms", "p99, ms", "longest, ms", "generator")
    return markdown(headings, rows)


def serve_throughput(results: dict[str, Any]) -> str:
    """Throughput of the service beside the bare library and an empty route, from `make load-serve`."""
    found = results["throughput"]
    names = {"service": "the service", "empty_route": "a route that does nothing", "library": "the bare library"}
    rows = [[label, f"{found[name]:,.0f}", f"{found[f'{name}_cpu_ms']:.3f}"] for name, label in names.items()]
    table = markdown(("", "calls a second", "processor, ms a call"), rows)
    return (
        f"{table}\n\nMedians of {found['turns']} turns with {found['callers']} callers on {results['cpus']} processors, which "
        f"other programs shared (load average {results['load_average']:.1f} when it was measured): the service answers "
        f"{found['ratio']:.2f} times as many requests a second as the empty route, and by the processor's time a request "
        f"{found['cpu_ratio']:.2f} times as many."
    )


def serve_crash(results: dict[str, Any]) -> str:
    """What `make crash-serve` has counted."""
    ways = {
        "timer": "killed by a timer",
        "call": "killed in a system call of a journal",
        "power": "killed, and what no sync had covered cut off",
    }
    headings = {
        "kills": "times",
        "acknowledged": "acknowledged calls",
        "lost": "lost",
        "twice": "done twice",
        "other digests": "digests unlike a replay's",
        "rows missing": "rounds missing in the log",
        "erasures": "people erased",
        "found again": "numbers of theirs found again",
    }
    known = {key: said for key, said in headings.items() if key in results["rows"][0]}
    rows = [[ways[row["way"]], *(f"{row[key]:,}" for key in known)] for row in results["rows"]]
    return markdown(("the service was", *known.values()), rows)


def serve_safety(results: dict[str, Any]) -> str:
    """The statuses that came in attempts to do harm, from `make safety-serve`."""
    rows = [[row["attempt"], ", ".join(map(str, row["statuses"]))] for row in results["rows"]]
    return markdown(("what was tried", "statuses that came"), rows)


def crash(results: dict[str, Any]) -> str:
    """What `make crash` has counted."""
    keys = ("points", "places", "lost", "between", "silent", "refused")
    rows = [[row["way"], *(f"{row[key]:,}" for key in keys)] for row in results["rows"]]
    headings = (
        "the run, or its file, was",
        "times",
        "different places",
        "answers lost",
        "states between",
        "silent",
        "refused",
    )
    return markdown(headings, rows)


def journal(results: dict[str, Any]) -> str:
    """What a journal costs."""
    rows, first = results["journal"], results["journal"][0]["per_second"]
    lines = [[row["way"], f"{row['per_second']:,.0f}", f"{first / row['per_second']:.2f}"] for row in rows]
    return markdown(("journal", "rounds a second", "without / with"), lines)


def matrices(key: str, columns: dict[str, tuple[str, str]]) -> Callable[[dict[str, Any]], str]:
    """One of the matrix benchmarks, by columns: heading, key and format."""

    def make(results: dict[str, Any]) -> str:
        rows = results[key] if key in results else results["matrices"][key]
        return markdown(columns, [[format(row[name], form) for name, form in columns.values()] for row in rows])

    return make


def streaming(results: dict[str, Any]) -> str:
    """Time and memory of rounds that are read from disk."""
    headings = (
        "file",
        "MB on disk",
        "rounds",
        "features",
        "copies",
        "s to open",
        "s to play",
        "µs per round",
        "peak MB",
    )
    rows = [
        [
            {"parquet": "Parquet", "csv": "CSV"}[row["file"]],
            f"{row['file MB']:.0f}",
            f"{row['rounds']:,}",
            str(row["features"]),
            str(row["copies"]),
            *(f"{row[key]:.1f}" for key in ("opening", "seconds")),
            f"{row['microseconds']:.2f}",
            f"{row['peak MB']:.0f}",
        ]
        for row in results["streaming"]
    ]
    return markdown(headings, rows)


def logs(results: dict[str, Any]) -> str:
    """Speed and memory of reading, evaluating and learning from a log."""
    names = {
        "write": "`LogWriter.write`",
        "read": "`Log.check`",
        "off_policy, snips": '`off_policy`, "snips"',
        "off_policy, dr": '`off_policy`, "dr"',
        "learn_from": "`learn_from`",
        "learn_from, row by row": "`learn_from`, row by row",
    }
    rows = [
        [
            names[row["what"]],
            f"{row['rows']:,}",
            f"{row['seconds']:.1f}",
            f"{row['rows'] / row['seconds']:,.0f}",
            f"{row['peak MB']:.0f}",
        ]
        for row in results["logs"]
    ]
    return markdown(("what", "rows", "s", "rows a second", "peak MB"), rows)


def loop(results: dict[str, Any]) -> str:
    """Microseconds per round of the compiled loop."""
    headings = ("features", "copies", "NumPy loop, µs", "ours, plain", "ours, compiled", "NumPy / compiled")
    rows = [
        [
            str(row["features"]),
            str(row["copies"]),
            *(f"{row[key]:.2f}" for key in ("numpy", "plain", "compiled")),
            f"{row['ratio']:.0f}x",
        ]
        for row in results["loop"]
    ]
    return markdown(headings, rows)


def gradient_times(results: dict[str, Any]) -> str:
    """What each gradient adds to a round."""
    rows = results["gradients"]
    names = [name for name in rows[0] if name not in ("features", "copies", "OnePoint")]
    ratios = [[f"{row[name] / row['OnePoint']:.2f}x" for name in names] for row in rows]
    sizes = [[str(row["features"]), str(row["copies"]), f"{row['OnePoint']:.2f}"] for row in rows]
    lines = [size + ratio for size, ratio in zip(sizes, ratios, strict=True)]
    return markdown(("features", "copies", "OnePoint, µs", *names), lines)


def measured(results: dict[str, Any], part: str) -> str:
    """Say when a part was measured and with what."""
    about = results["about"][part]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return f"Measured on {about['date']} ({about['machine']}; {versions})."


def verdict(met: bool) -> str:
    """Say whether a target is met."""
    return "met" if met else "**missed**"


def speed(results: dict[str, Any]) -> str:
    """Rivals' times as multiples of ours, then the times themselves."""
    part = results["speed"]
    rows, targets = part["settings"], part["targets"]
    settings = [row["setting"] for row in rows]
    ratios, times = [], []
    for name, label in part["labels"].items():
        if name in rows[0]["ratios"]:
            cells = [row["ratios"][name] for row in rows]
            shown = (f"{c['ratio']:.1f}x" + (f", {verdict(c['met'])}" if c["target"] else "") for c in cells)
            ratios.append([label, *shown, f"≥ {targets[name]:.0f}x" if name in targets else ""])
    for name, label in ({"ours": f"ours, compiled, N = {part['copies']}"} | part["labels"]).items():
        if name in rows[0]["times"]:
            taken = (row["times"][name] for row in rows)
            times.append([label, *(f"{time['microseconds']:.2f} ({time['noise']:.2f})" for time in taken)])
    return "\n\n".join(
        [
            measured(results, "speed")
            + "\nThe table shows how many times as long as our compiled round a rival's round takes:",
            markdown(["rival", *settings, "target"], ratios),
            "The next table shows microseconds a round; in brackets, the time of the median repetition divided by the fastest:",
            markdown(["contestant", *settings], times),
            *part["left_out"],
        ]
    )


def growth(results: dict[str, Any]) -> str:
    """Slopes, and the time of every point."""
    rows = []
    for row in results["growth"]:
        points, target = row["points"], row["target"]
        aim = f"{target[0]} to {target[1]}: {verdict(row['met'])}" if target else ""
        times = ", ".join(f"{point['milliseconds']:.3g}" for point in points)
        sizes = ", ".join(f"{point['size']}" for point in points)
        rows.append([row["variable"], row["setting"], sizes, times, f"{row['slope']:.2f}", f"{row['upper']:.2f}", aim])
    headings = ("variable", "setting", "sizes", "milliseconds of a run", "slope", "slope, upper half", "target")
    return f"{measured(results, 'growth')}\n\n{markdown(headings, rows)}"


def words(results: dict[str, Any]) -> str:
    """Losses and times on sentences, by their words."""
    part, rows = results["words"], []
    for row in part["rows"]:
        mean = sum(row["losses"]) / len(row["losses"])
        ends = f"{min(row['losses']):.3f} to {max(row['losses']):.3f}"
        unseen = f"{sum(row['unseen']) / len(row['unseen']):.3f}"
        rows.append([row["learner"], f"{mean:.3f}", ends, unseen, f"{row['microseconds']:.1f}"])
    size = f"{part['sentences']:,} sentences, {part['words']:,} different words; {part['unseen']:,} are the other half."
    headings = ("learner", "loss over the variance", "over the shuffles", "on the other half alone", "µs a round")
    shown = markdown(headings, rows)
    return f"{measured(results, 'words')}\n{size}\n\n{shown}"


def screening(results: dict[str, Any]) -> str:
    """Losses where few of very many columns matter."""
    rows = []
    for row in results["screening"]["rows"]:
        whole, late = (sum(column) / len(column) for column in zip(*row["losses"], strict=True))
        ends = [late for _, late in row["losses"]]
        spread = f"{min(ends):.3f} to {max(ends):.3f}"
        rows.append([row["world"], row["learner"], f"{whole:.3f}", f"{late:.3f}", spread])
    headings = ("world", "learner", "loss", "second half", "over the seeds")
    return f"{measured(results, 'screening')}\n\n{markdown(headings, rows)}"


def wide(results: dict[str, Any]) -> str:
    """Losses and times on wide, sparse contexts, and how time grows."""
    part = results["wide"]
    names = ("vowpal wabbit", "30 answers", "2 answers")
    rows = []
    for row in part["rows"]:
        means = {name: sum(row[name]) / len(row[name]) for name in names}
        losses = [f"{means[name]:.3f}" for name in names]
        times = [f"{row['microseconds'][name]:.1f}" for name in names[:2]]
        aims = [f"{row['times'][name]:.1f}, {verdict(row['times'][name] <= 10)}" for name in names[1:]]
        rows.append([f"{row['features']:,}", *losses, *times, *aims, f"{row['MB']:.0f}"])
    headings = (
        "features",
        "VW: loss",
        "ours, 30 answers",
        "ours, two answers",
        "VW: µs",
        "ours, 30 answers: µs",
        "times (≤ 10)",
        "two answers: times (≤ 10)",
        "MB",
    )
    grown = []
    for curve, most in zip(part["growth"], (1.0, 0.1), strict=True):
        points = ", ".join(f"{point['size']:,}: {point['microseconds']:.1f}" for point in curve["points"])
        aim = f"≤ {most}: {verdict(curve['slope'] <= most)}"
        grown.append([curve["variable"], curve["setting"], points, f"{curve['slope']:.2f}", aim])
    curves = markdown(("variable", "setting", "µs a round, by size", "slope", "target"), grown)
    return f"{measured(results, 'wide')}\n\n{markdown(headings, rows)}\n\n{curves}"


def latency(results: dict[str, Any]) -> str:
    """What a user waits for."""
    part = results["latency"]
    a_round, process, targets = part["round"], part["process"], part["targets"]
    sizes = f"N = {a_round['copies']}, {a_round['features']} features"
    both, first = a_round["ask + tell"], process["first result"]["seconds"]
    rows = [
        [f"`ask`, {sizes}", f"{a_round['ask']:.1f} µs", ""],
        [f"`tell`, {sizes}", f"{a_round['tell']:.1f} µs", ""],
        ["both", f"{both:.1f} µs", f"≤ {targets['ask + tell']:.0f} µs: {verdict(both <= targets['ask + tell'])}"],
        ["a process that prints a line", f"{process['python']['seconds']:.2f} s", ""],
        ["... that imports banditboost first", f"{process['import']['seconds']:.2f} s", ""],
        [
            "... that plays 1,000 compiled rounds, too",
            f"{first:.2f} s",
            f"≤ {targets['first result']:.0f} s: {verdict(first <= targets['first result'])}",
        ],
    ]
    return f"{measured(results, 'latency')}\n\n{markdown(('what', 'time', 'target'), rows)}"


def following(results: dict[str, Any]) -> str:
    """What following a world that changes, and remembering rounds, costs a compiled round."""
    rows, target, limit = (results["drift"][name] for name in ("rows", "target", "limit"))
    shown = [
        [
            str(row["features"]),
            row["way"],
            f"{row['microseconds']:.0f}",
            f"{row['ratio']:.2f}",
            _aim(row, "ratio", target),
            f"{row['over no memory']:.1f}",
            _aim(row, "over no memory", limit),
        ]
        for row in rows
    ]
    headings = ("features", "booster", "µs a round", "over no drift handling", "target", "over no memory", "target")
    return f"{measured(results, 'drift')}\n\n{markdown(headings, shown)}"


def _aim(row: dict[str, Any], name: str, target: float) -> str:
    if row["way"] != "the default":
        return ""
    return f"≤ {target:g}: {'met' if row[name] <= target else '**missed**'}"


def background_verdict(row: dict[str, Any], plain: dict[int, float], targets: dict[str, float]) -> str:
    """Say whether what is grown in the background meets its targets."""
    if row["way"] != "in the background":
        return ""
    longest, ratio = row["longest"] <= targets["longest"], row["round"] / plain[row["features"]] <= targets["ratio"]
    return f"≤ {targets['longest']:.0f} ms: {verdict(longest)}; ≤ {targets['ratio']:.0f}: {verdict(ratio)}"


def background(results: dict[str, Any]) -> str:
    """How long a tell takes where forests are grown within it, or in the background."""
    rows, targets = results["background"]["rows"], results["background"]["targets"]
    plain = {row["features"]: row["round"] for row in rows if row["way"] == "no memory"}
    shown = [
        [str(row["features"]), row["way"]]
        + [f"{row[key]:.1f} ms" for key in ("longest", "longest, computing", "99.9 %")]
        + [f"{row['mean']:.2f} ms", f"{row['round'] / plain[row['features']]:.1f}"]
        + [background_verdict(row, plain, targets)]
        + [f"{len(row['late'])} of {row['forests']}" if row["forests"] else "", str(max(row["late"], default=""))]
        for row in rows
    ]
    headings = (
        "features",
        "forests grown",
        "longest `tell`",
        "... computing",
        "99.9 %",
        "mean",
        "a round over no memory",
        "target",
    )
    return f"{measured(results, 'background')}\n\n{markdown((*headings, 'late', 'rounds late, at most'), shown)}"


def cold(results: dict[str, Any]) -> str:
    """What the first use costs, and the kernels that take longest to compile."""
    rows = [
        [row["what"], f"{row['cold']:.1f} s", f"{row['warm']:.2f} s", str(row["compiled again"])]
        for row in results["cold"]
    ]
    longest = max(results["cold"], key=lambda row: len(row["kernels"]))["kernels"]
    named = ", ".join(f"`{name}` {seconds:.1f} s" for name, seconds, _ in longest[:8])
    total = sum(seconds for _, seconds, _ in longest)
    kernels = f"Of {len(longest)} functions compiled ({total:.1f} s) the longest are {named}."
    headings = ("the README's lines", "cold", "warm", "functions compiled again")
    return f"{measured(results, 'cold')}\n\n{markdown(headings, rows)}\n\n{kernels}"


def versions(results: dict[str, Any]) -> str:
    """Times of this version beside those of an older one."""
    rows = []
    for name, times in results["cases"].items():
        row = [name, f"{times['before']:.2f}", f"{times['now']:.2f}", f"{times['now'] / times['before']:.2f}", "", ""]
        if name in results["losses"]:
            mean, least, most = ratio(results["losses"][name])
            row[4:] = f"{mean:.3f}", f"{least:.3f} to {most:.3f}"
        rows.append(row)
    heads = ("compiled run", "before, µs a round", "now", "now / before", "loss, now / before", "over five orders")
    return markdown(heads, rows)


def swept(results: dict[str, Any]) -> str:
    """Sixty-four settings, together and one by one."""
    part = results["sweep"]
    rows = [[f"{row[key]:{form}}" for key, form in part["headings"].values()] for row in part["rows"]]
    first, targets = part["rows"][0], part["targets"]
    verdicts = (
        f"The targets at {first['features']} features are a ratio of {targets['ratio']:g} "
        f"({verdict(first['ratio'] >= targets['ratio'])}) and {targets['share']:.0%} of the peak "
        f"({verdict(first['share'] >= targets['share'])})."
    )
    return f"{measured(results, 'sweep')}\n{verdicts}\n\n{markdown(part['headings'], rows)}"


def profiled(results: dict[str, Any]) -> str:
    """Where a compiled round's time goes, and what it took before this was looked at."""
    before = {row["learner"]: row for row in json.loads((ROOT / "benchmarks" / "before.json").read_text())["profile"]}
    keys = ("whole", "loop", "drawing", "rest")

    def earlier(learner: str) -> str:
        return f"{before[learner]['whole']:.2f}" if learner in before else "no compiled loop"

    rows = [
        [row["learner"], earlier(row["learner"]), *(f"{row[key]:.2f}" for key in keys)] for row in results["profile"]
    ]
    headings = ("learner", "before, µs a round", "now", "of it the loop", "random numbers", "all else")
    return f"{measured(results, 'profile')}\n\n{markdown(headings, rows)}"


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "table1": ("results/table1.json", table1),
    "table2": ("results/table2.json", table2),
    "table2_paid": (
        "results/table2.json",
        report_table(lambda _: table2_report.PAID_HEADINGS, table2_report.paid_of),
    ),
    "table2_decreases": (
        "results/table2.json",
        report_table(table2_report.decrease_headings, table2_report.decreases_of),
    ),
    "table2_readings": (
        "results/table2.json",
        report_table(lambda _: table2_report.READING_HEADINGS, table2_report.readings_of),
    ),
    "table2_short": ("results/table2.json", table2_short),
    "table2_says": ("results/table2.json", table2_says),
    "bounds": ("results/bounds.json", bounds),
    "exponents": ("results/bounds.json", exponents),
    "feedback": (
        "results/feedback.json",
        report_table(lambda _: feedback_report.PRICE_HEADINGS, feedback_report.price_of),
    ),
    "one_answer": (
        "results/feedback.json",
        report_table(lambda _: feedback_report.ONE_ANSWER_HEADINGS, feedback_report.one_answer_of),
    ),
    "dimensions": (
        "results/feedback.json",
        report_table(lambda _: feedback_report.DIMENSION_HEADINGS, feedback_report.dimensions_of),
    ),
    "fair": ("results/fair.json", report_table(fair_report.headings_of, fair_report.squared_of)),
    "fair_short": ("results/fair.json", report_table(fair_report.headings_of, fair_report.short_of)),
    "fair_absolute": ("results/fair.json", report_table(fair_report.headings_of, fair_report.absolute_of)),
    "fair_further": ("results/fair.json", report_table(fair_report.further_headings, fair_report.further_of)),
    "fair_chosen": ("results/fair.json", report_table(fair_report.chosen_headings, fair_report.chosen_of)),
    "held_out": ("results/held_out.json", report_table(fair_report.further_headings, fair_report.further_of)),
    "held_out_refitted": ("results/held_out.json", report_table(fair_report.ratio_headings, fair_report.refitted_of)),
    "held_out_online": ("results/held_out.json", report_table(fair_report.ratio_headings, fair_report.online_of)),
    **{
        name: ("results/drift.json", report_table(headings, rows))
        for name, (_, headings, rows) in drift_report.TABLES_OF.items()
    },
    "drift_chosen": ("results/drift.json", report_table(drift_report.chosen_headings, drift_report.chosen_of)),
    "drift_stationary": (
        "results/drift_stationary.json",
        report_table(drift_stationary_report.headings_of, drift_stationary_report.rows_of),
    ),
    "warm": ("results/warm.json", report_table(warm_report.headings_of, warm_report.rows_of)),
    "memory": ("results/memory.json", report_table(memory_report.headings_of, memory_report.rows_of)),
    "off_policy": (
        "results/off_policy.json",
        report_table(lambda _: off_policy_report.SHOW_HEADINGS, off_policy_report.shown),
    ),
    "off_policy_settings": (
        "results/off_policy.json",
        report_table(lambda _: off_policy_report.HEADINGS, off_policy_report.settings_of),
    ),
    "small": ("results/small.json", report_table(small_report.headings_of, small_report.losses_of)),
    "small_ratios": ("results/small.json", report_table(small_report.ratio_headings, small_report.all_rounds_of)),
    "small_plain": ("results/small.json", report_table(small_report.ratio_headings, small_report.plain_of)),
    "small_late": ("results/small.json", report_table(small_report.ratio_headings, small_report.late_of)),
    "beyond_pays": ("results/beyond.json", report_table(beyond_report.pays_headings, beyond_report.pays_of)),
    "beyond_rates": ("results/beyond.json", report_table(beyond_report.rates_headings, beyond_report.rates_of)),
    "beyond_ablation": (
        "results/beyond.json",
        report_table(beyond_report.ablation_headings, beyond_report.ablation_of),
    ),
    "classes": (
        "results/classes.json",
        report_table(lambda _: classification_report.HEADINGS, classification_report.rows_of),
    ),
    **{
        f"paid_{loss}{'_noise' if noise else ''}": (
            "results/paid.json",
            report_table(paid_report.headings_of, partial(paid_report.contestants_of, loss=loss, noise=noise)),
        )
        for loss in ("squared", "absolute")
        for noise in (False, True)
    },
    "paid_ladder": ("results/paid.json", report_table(paid_report.headings_of, paid_report.ladder_of)),
    "paid_ladder_absolute": (
        "results/paid.json",
        report_table(paid_report.headings_of, partial(paid_report.ladder_of, loss="absolute")),
    ),
    "paid_shop": ("results/paid.json", report_table(paid_report.shop_headings, paid_report.shop_of)),
    "paid_boxes": ("results/paid.json", report_table(paid_report.box_headings, paid_report.boxes_of)),
    "paid_shows": (
        "results/paid.json",
        report_table(paid_report.shows_headings, partial(paid_report.shows_of, everything=False)),
    ),
    "hidden": ("results/hidden.json", report_table(hidden_report.headings_of, hidden_report.games_of)),
    "decoded": ("results/hidden.json", report_table(hidden_report.decoded_headings, hidden_report.decoded_of)),
    "coverage": ("results/hidden.json", report_table(hidden_report.coverage_headings, hidden_report.coverage_of)),
    "bands": ("results/bands.json", report_table(bands_report.headings_of, bands_report.rows_of)),
    "bands_doubled": ("results/bands.json", report_table(bands_report.doubled_headings, bands_report.doubled_of)),
    "guards_null": ("results/guards.json", report_table(guards_report.null_headings, guards_report.null_of)),
    "guards_worse": ("results/guards.json", report_table(guards_report.worse_headings, guards_report.worse_of)),
    "alarms_quiet": ("results/alarms.json", report_table(alarms_report.quiet_headings, alarms_report.quiet_of)),
    "alarms_rising": ("results/alarms.json", report_table(alarms_report.rising_headings, alarms_report.rising_of)),
    "alarms_changing": ("results/alarms.json", report_table(alarms_report.headings_of, alarms_report.rows_of)),
    "torture": ("results/torture.json", report_table(torture_report.headings_of, torture_report.rows_of)),
    "torture_absolute": (
        "results/torture.json",
        report_table(torture_report.headings_of, partial(torture_report.rows_of, by_loss="absolute")),
    ),
    "torture_above": (
        "results/torture.json",
        torture_above,
    ),
    "crash": ("results/crash.json", crash),
    "serve_load": ("results/serve.json", serve_load),
    "serve_throughput": ("results/serve.json", serve_throughput),
    "serve_crash": ("results/serve_crash.json", serve_crash),
    "serve_safety": ("results/serve_safety.json", serve_safety),
    "journal": ("benchmarks/results.json", journal),
    "gradient_times": ("benchmarks/results.json", gradient_times),
    "loop": ("benchmarks/results.json", loop),
    "speed": ("benchmarks/results.json", speed),
    "growth": ("benchmarks/results.json", growth),
    "wide": ("benchmarks/results.json", wide),
    "screening": ("benchmarks/results.json", screening),
    "words": ("benchmarks/results.json", words),
    "cold": ("benchmarks/results.json", cold),
    "versions": ("results/versions.json", versions),
    "latency": ("benchmarks/results.json", latency),
    "background": ("benchmarks/results.json", background),
    "following": ("benchmarks/results.json", following),
    "sweep": ("benchmarks/results.json", swept),
    "profile": ("benchmarks/results.json", profiled),
    "streaming": ("benchmarks/results.json", streaming),
    "logs": ("benchmarks/results.json", logs),
    "oracle": (
        "benchmarks/results.json",
        matrices(
            "oracle",
            {
                "size": ("size", "d"),
                "full SVD, ms": ("svd, noise", ".1f"),
                "ours, noise, ms": ("ours, noise", ".2f"),
                "ratio, noise": ("ratio, noise", ".0f"),
                "ratio, signal": ("ratio, signal", ".0f"),
                "relative shortfall": ("missing, noise", ".0e"),
            },
        ),
    ),
    "race": (
        "benchmarks/results.json",
        matrices(
            "race",
            {
                "size": ("size", "d"),
                "projected gradient descent": ("loss, projected", ".3f"),
                "online Frank-Wolfe": ("loss, one call", ".3f"),
                "Algorithm 1, N = 10": ("loss, algorithm 1", ".3f"),
            },
        ),
    ),
    "covariance": (
        "benchmarks/results.json",
        matrices(
            "covariance",
            {
                "size": ("size", "d"),
                "rounds": ("rounds", "d"),
                "copies": ("copies", "d"),
                "perturbations": ("perturbations", "s"),
                "leaders": ("leaders", "s"),
                "seconds": ("seconds", ".0f"),
                "of processor": ("processor", ".0f"),
                "peak GB": ("gigabytes", ".2f"),
                "mean loss": ("loss", ".5f"),
                "best fixed matrix": ("best", ".4f"),
            },
        ),
    ),
}


ONCE = re.compile(r"<!-- once (\w+) -->\n.*?<!-- /once -->", re.DOTALL)
"""What stands on a page in the place of a table until its results are there."""


def begun(text: str) -> str:
    """Return a page in which the markers of a table have taken the place of what stood there until its results were written."""
    there = {name for name, (file, _) in TABLES.items() if (ROOT / file).is_file()}
    return ONCE.sub(lambda found: f"<!-- {found[1]} -->\n<!-- /{found[1]} -->" if found[1] in there else found[0], text)


def filled(text: str) -> str:
    """Return a page with all its tables made anew."""
    text = begun(text)
    for name, (file, make) in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if pattern.search(text):
            table = make(read(file))
            text = pattern.sub(lambda match, table=table: f"{match[1]}\n{table}\n\n{match[2]}", text)  # type: ignore[misc]
    return claims.bound_in(text)


def pages() -> list[Path]:
    """Return the pages that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main() -> int:
    """Write, or only check."""
    stale = [page for page in pages() if filled(page.read_text()) != page.read_text()]
    if "--check" in sys.argv:
        wrong = [f"{page.name} is not up to date: run python tools/write_results.py" for page in stale]
        wrong += claims.problems(README.read_text(), CLAIMS.read_text())
        print("\n".join(wrong))
        return 1 if wrong else 0
    for page in stale:
        page.write_text(filled(page.read_text()))
        print(f"wrote {page.name}")
    list_claims()
    figures()
    return 0


def list_claims() -> None:
    """Write down where README's numbers come from, and complain about those that come from nowhere."""
    listed, text = claims_page.page(README.read_text(), TABLES), CLAIMS.read_text()
    text = re.sub(
        r"(<!-- claims -->\n).*(<!-- /claims -->)", lambda m: f"{m[1]}\n{listed}\n\n{m[2]}", text, flags=re.DOTALL
    )
    if text != CLAIMS.read_text():
        CLAIMS.write_text(text)
        print(f"wrote {CLAIMS.name}")
    for problem in claims.problems(README.read_text(), text):
        print(problem)


def figures() -> None:
    """Draw the curves that pages show."""
    results = read("results/feedback.json")
    for question, key, label in (("budget", "answers", "noisy values a round"), ("noise", "noise", "noise")):
        picture = feedback_report.curve(results, question, key, label)
        picture.savefig(ROOT / f"docs/figures/feedback_{question}.png", dpi=110)
    results = read("results/beyond.json")
    beyond_report.curve(results).savefig(ROOT / "docs/figures/beyond_copies.png", dpi=110)
    fair_report.against_peers(read("results/fair.json")).savefig(ROOT / "docs/figures/fair_peers.png", dpi=110)
    if (ROOT / "results/drift.json").is_file():
        drift_pictures.by_window(read("results/drift.json")).savefig(ROOT / "docs/figures/drift.png", dpi=110)
    if (ROOT / "results/paid.json").is_file():
        results = json.loads((ROOT / "results/paid.json").read_text())
        for draw in (paid_pictures.against_peers, paid_pictures.by_answers, paid_pictures.by_quarter):
            draw(results).savefig(ROOT / f"docs/figures/paid_{draw.__name__}.png", dpi=110)


if __name__ == "__main__":
    sys.exit(main())

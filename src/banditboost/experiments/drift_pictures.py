"""The picture of worlds that change: losses by window of rounds, ours and peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from banditboost.experiments import drift_ours
from banditboost.experiments.drift import KNOWN, PEERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = dict[str, Any]
DRAWN = ("flip", "gra", "gsg", "lea")
"""The streams that are drawn, as far as they were run."""
REDS = ("#e8a0a2", "#c44e52", "#7a1f23")
OTHERS = {
    "river_forest": "#4c72b0",
    "soknl": "#55a868",
    "sgbr": "#8172b3",
    "river_tree": "#64b5cd",
    "vw": "#ccb974",
    "forgetting_ridge": "#777777",
    "mean": "#000000",
}


def by_window(results: Results) -> Figure:
    """Draw the mean loss of every window, on a logarithmic scale: ours with 30 answers, others at their better setting."""
    from matplotlib.figure import Figure

    there = {row["stream"] for row in results["rows"]}
    names = [name for name in DRAWN if name in there] or sorted(there)[:4]
    figure = Figure(figsize=(3.2 * len(names) + 0.4, 4.4), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    most = max(drift_ours.ANSWERS)
    ours = {f"{name}_{most}": color for name, color in zip(drift_ours.VARIANTS, REDS, strict=False)}
    shown = drift_ours.everyone() | PEERS | KNOWN
    for ax, name in zip(axes, names, strict=True):
        for who, color in (ours | OTHERS).items():
            row = better(results, name, who)
            if row is not None:
                window = results["protocol"]["window"]
                ends = [window * (k + 1) / 1000 for k in range(len(row["windows"]))]
                style = "--" if who in KNOWN else "-"
                ax.plot(
                    ends, row["windows"], style, color=color, label=shown[who], linewidth=2.2 if who in ours else 1.2
                )
        ax.set(title=name, yscale="log", xlabel="thousand rounds")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("squared loss in the window")
    lines = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(lines.values()), list(lines), loc="outside lower center", ncols=4, fontsize="small", frameon=False
    )
    return figure


def better(results: Results, stream: str, who: str) -> dict[str, Any] | None:
    """Return the row of a learner on a stream with the lower loss, untuned or tuned; None where there is none."""
    rows = (row for row in results["rows"] if (row["stream"], row["who"]) == (stream, who) and "loss" in row)
    return min(rows, key=lambda row: float(row["loss"]), default=None)

"""The pictures of the experiment on paid losses, all with the squared loss and without noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from banditboost.experiments.paid_choice import HINDSIGHT
from banditboost.experiments.paid_peers import GRIDS, TITLES
from banditboost.experiments.paid_shows import LADDER, find

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = dict[str, Any]
PLAIN = {"by_loss": "squared", "noise": 0.0}
OURS, THEIRS, KNOWN = "#c44e52", "#9db3cc", "#777777"


def _panels(results: Results, width: float, height: float, **options: Any) -> tuple[Figure, dict[str, Axes]]:
    """Return a figure with a panel for every data set."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["dataset"] for row in results["tables"]["ours"]))
    figure = Figure(figsize=(width * len(names) + 2.2, height), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False, **options)[0]
    for ax, name in zip(axes, names, strict=True):
        ax.set(title=name)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, dict(zip(names, axes, strict=True))


def against_peers(results: Results) -> Figure:
    """Draw what was paid in the second half as bars, a dot where predictions are; long bars are cut, and all have numbers."""
    tables = results["tables"]
    played = [peer for peer in GRIDS if find(tables["peers"], who=peer)]
    figure, panels = _panels(results, 2.3, 3.0, sharey=True)
    for name, ax in panels.items():
        known = find(tables["peers"], dataset=name, who="running_mean", **PLAIN)
        bars = [find(tables["ours"], dataset=name, answers=k, declared="", **PLAIN) for k in (1, 2)]
        bars += [find(tables["peers"], dataset=name, who=peer, chosen=HINDSIGHT, **PLAIN) for peer in played]
        most = 2.2 * known["paid_late"] if known else 1.0
        for k, row in enumerate(bars):
            if row is not None:
                ax.barh(k, min(row["paid_late"], most), color=OURS if k < 2 else THEIRS)
                ax.plot(min(row["predicted_late"], most), k, "k.", markersize=5)
                ax.text(0.03 * most, k, f"{row['paid_late']:.3g}", va="center", fontsize="small")
        if known is not None:
            ax.axvline(known["paid_late"], linestyle="--", color="black", linewidth=1, label=TITLES["running_mean"])
        ax.set(xlim=(0, most), xlabel="squared loss paid")
        ax.locator_params(axis="x", nbins=4)
    first = next(iter(panels.values()))
    titles = ["ours, one answer", "ours, two answers", *(f"{TITLES[peer]}, {HINDSIGHT}" for peer in played)]
    first.set_yticks(range(len(titles)), labels=titles)
    first.invert_yaxis()
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower right", fontsize="small", frameon=False)
    return figure


def by_answers(results: Results) -> Figure:
    """Draw what is paid and what is predicted against the number of answers, beside gradients told."""
    figure, panels = _panels(results, 2.6, 3.0)
    for name, ax in panels.items():
        rows = {k: find(results["tables"]["ours"], dataset=name, answers=k, declared="", **PLAIN) for k in (0, *LADDER)}
        points = [(k, row) for k, row in rows.items() if row is not None and k]
        for key, style, title in (("paid_late", "-", "paid"), ("predicted_late", "--", "at predictions")):
            ax.plot([k for k, _ in points], [row[key] for _, row in points], style, color=OURS, marker="o", label=title)
        told, mean = rows[0], find(results["tables"]["peers"], dataset=name, who="running_mean", **PLAIN)
        if told is not None:
            ax.axhline(told["predicted_late"], color=KNOWN, linewidth=1, linestyle=":", label="gradients told")
        if mean is not None:
            ax.axhline(mean["paid_late"], color="black", linewidth=1, linestyle="--", label=TITLES["running_mean"])
        ax.set(xscale="log", xlabel="answers a round")
        ax.set_xticks(LADDER, labels=[str(k) for k in LADDER])
        ax.minorticks_off()
        ax.set_ylim(bottom=0)
    next(iter(panels.values())).set_ylabel("squared loss, second half")
    list(panels.values())[-1].legend(fontsize="x-small")
    return figure


def by_quarter(results: Results) -> Figure:
    """Draw what one answer pays in every quarter of the rounds, beside CATS and the running mean."""
    tables = results["tables"]
    figure, panels = _panels(results, 2.6, 3.0)
    for name, ax in panels.items():
        drawn = [
            (find(tables["ours"], dataset=name, answers=1, declared="", **PLAIN), "ours, one answer", OURS),
            (find(tables["peers"], dataset=name, who="cats", chosen=HINDSIGHT, **PLAIN), TITLES["cats"], THEIRS),
            (find(tables["peers"], dataset=name, who="running_mean", **PLAIN), TITLES["running_mean"], "black"),
        ]
        for row, title, color in drawn:
            if row is not None:
                ax.plot((1, 2, 3, 4), row["paid_quarters"], marker="o", color=color, label=title)
        ax.set(xlabel="quarter of the rounds")
        ax.set_xticks((1, 2, 3, 4))
        ax.set_ylim(bottom=0)
    next(iter(panels.values())).set_ylabel("squared loss paid")
    list(panels.values())[-1].legend(fontsize="x-small")
    return figure

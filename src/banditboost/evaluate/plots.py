"""Plots of a run: each is one method of ``trace.plot`` and returns the axes it drew on (needs the extra `cli`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, count, finite
from banditboost._core.spec import Spec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from banditboost.evaluate.noise import GradientNoise
    from banditboost.evaluate.snapshots import Snapshots
    from banditboost.evaluate.trace import Trace

Bound = Callable[[int], float] | ArrayLike
"""A bound on the regret: a function of the horizon, one number per round, or one number for the last round."""
SPAN = 1e6
"""Parts of an error more than this many times smaller than the largest part are not drawn."""
POINTS = 200
"""Largest number of horizons at which a bound that is a function is evaluated."""


PAID: dict[str, Any] = {"linewidth": 2.0}
PREDICTED: dict[str, Any] = {"linewidth": 0.9}
"""How curves are drawn: what was paid is thick, what the predictions would have cost is thin, in the same colour."""


CHANGED = "the world changed"
"""The name of marks where alarms were raised."""


class Plots:
    """Plots of a trace. Every method draws on `ax`, or on new axes where none are given.

    Methods that draw losses draw two curves of one colour: the loss paid at the points asked, thick, and that of the predictions,
    thin. ``paid=False`` leaves the first out, and so does a run that was told gradients, where both are one.
    Where alarms were raised (`Trace.drifts`), dotted lines mark about when the world changed.

    Examples
    --------
    >>> import banditboost as bb
    >>> from matplotlib.figure import Figure
    >>> trace = bb.evaluate.Trace(losses=np.array([4.0, 2.0, 0.0]), paid=np.array([5.0, 3.0, 1.0]), predictions=np.zeros(3))
    >>> trace.compare("always zero", np.ones(3))
    >>> ax = trace.plot.regret("always zero", bound=lambda t: 2 * t**0.5, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.get_lines()]
    ['regret, paid', 'regret, predicted', 'bound']
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __call__(
        self, comparator: str | None = None, ax: Axes | None = None, label: str | None = None, paid: bool = True
    ) -> Axes:
        """Draw the running mean losses, or the regrets against a comparator."""
        if comparator is not None:
            return self.regret(comparator, ax=ax, label=label or f"regret against {comparator}", paid=paid)
        return self.running(ax=ax, label=label, paid=paid)

    def regret(
        self,
        comparator: str,
        bound: Bound | None = None,
        ax: Axes | None = None,
        label: str | None = None,
        paid: bool = True,
    ) -> Axes:
        """Draw the regrets against a comparator, of the loss paid and of the predictions, and a bound on the latter.

        Parameters
        ----------
        comparator
            A name given to `Trace.compare`.
        bound
            A function of the horizon, such as ``lambda t: theory.ogd_regret(t, sigma, diameter)``; or one number per round; or
            one number, which bounds the regret of the last round and is drawn as a horizontal line.
        ax
            The axes to draw on; by default new ones.
        label
            Name of the run in the legend.
        paid
            Whether to draw the regret of the loss paid, too.
        """
        trace = self.trace
        predicted = trace.regret(comparator)  # errors are raised before a figure is opened
        promised = None if bound is None else _bound(bound, len(trace))
        ax, name, paid = _axes(ax), label or "regret", paid and not trace.told
        played = [trace.regret(comparator, paid=True)] if paid else None
        _curves(ax, trace, played, [predicted], (f"{name}, paid", f"{name}, predicted" if paid else name))
        mark_changes(ax, trace)
        if promised is not None:
            ax.plot(*promised, linestyle="--", color="black", linewidth=1, label="bound")
        return _finished(ax, "round", f"regret against {comparator}")

    def running(
        self, others: Sequence[Trace] = (), ax: Axes | None = None, label: str | None = None, paid: bool = True
    ) -> Axes:
        """Draw the mean losses so far, averaged over this trace and others, with a band from the smallest to the largest.

        Parameters
        ----------
        others
            Runs of the same length, such as those of other seeds.
        ax
            The axes to draw on; by default new ones.
        label
            Name of the runs in the legend.
        paid
            Whether to draw the loss paid, too.
        """
        runs = [self.trace, *others]
        lengths = sorted({len(run) for run in runs})
        if len(lengths) > 1:
            raise ValueError(f"others must be as long as this trace ({len(self.trace)} rounds), got {lengths}.")
        paid = paid and not any(run.told for run in runs)
        names = ("paid, at the points asked", "at the prediction")
        if label is not None:
            names = (f"{label}, paid", f"{label}, predicted" if paid else label)
        ax = _axes(ax)
        played = [run.running_paid for run in runs] if paid else None
        _curves(ax, self.trace, played, [run.running for run in runs], names)
        _comparators(ax, self.trace)
        mark_changes(ax, self.trace)
        return _finished(ax, "round", "mean loss so far")

    def bands(self, pieces: int = 60, ax: Axes | None = None) -> Axes:
        """Draw what was told and the bands made for it at the level 0.9, as means over pieces of the run.

        Parameters
        ----------
        pieces
            How many pieces the run is cut into; the first has no band where the booster had been told nothing before.
        ax
            The axes to draw on; by default new ones.
        """
        trace = self.trace
        columns = trace.told_and_bands()
        rows = np.array_split(np.arange(len(columns[0])), min(count("pieces", pieces), len(columns[0])))
        told, low, high = (np.array([column[part].mean() for part in rows]) for column in columns)
        ax, at = _axes(ax), np.array([part.mean() + 1 for part in rows])
        finite_ones = np.isfinite(low) & np.isfinite(high)
        color = ax.plot(at, told, **PAID, label="told")[0].get_color()
        ax.fill_between(at, low, high, finite_ones.tolist(), color=color, alpha=0.2, linewidth=0, label="bands, 90 %")
        mark_changes(ax, trace)
        return _finished(ax, "round", "mean of what was told")

    def copies(
        self,
        mine: int,
        others: Mapping[int, Trace | Sequence[Trace]],
        since: int = 0,
        ax: Axes | None = None,
        label: str | None = None,
        paid: bool = True,
    ) -> Axes:
        """Draw the mean losses against the number of copies N, with a bar from the smallest to the largest of several runs.

        Parameters
        ----------
        mine
            Number of copies of this trace.
        others
            Other traces, one or several for each number of copies.
        since
            The first round that counts, where the first round of all is 0.
        ax
            The axes to draw on; by default new ones.
        label
            Name of the runs in the legend.
        paid
            Whether to draw the loss paid, too.
        """
        if count("since", since, least=0) >= len(self.trace):
            raise ValueError(f"since must be below the number of rounds ({len(self.trace)}), got {since}.")
        runs = {count("others", n): list(t) if isinstance(t, Sequence) else [t] for n, t in others.items()}
        runs.setdefault(count("mine", mine), []).insert(0, self.trace)
        numbers = sorted(runs)
        ax, name = _axes(ax), label or "mean loss"
        paid = paid and not any(run.told for found in runs.values() for run in found)
        drawn = {line.get_label() for line in ax.get_lines()}
        color = None
        if paid:
            found = [np.array([run.paid[since:].mean() for run in runs[n]]) for n in numbers]
            color = _bars(ax, numbers, found, f"{name}, paid", None, PAID)
        found = [np.array([run.losses[since:].mean() for run in runs[n]]) for n in numbers]
        _bars(ax, numbers, found, f"{name}, predicted" if paid else name, color, PREDICTED if paid else {})
        for other, losses in self.trace.comparators.items():
            if other not in drawn:
                ax.axhline(float(losses[since:].mean()), linestyle="--", color="black", linewidth=1, label=other)
        ax.set_xscale("log")
        ax.set_xticks(numbers, labels=[str(n) for n in numbers])
        ax.minorticks_off()
        return _finished(ax, "copies N", "mean loss" if since == 0 else f"mean loss from round {since + 1} on")

    def noise(self, report: GradientNoise, ax: Axes | None = None) -> Axes:
        """Draw the parts of gradients' errors as found by `gradient_noise`: squared smoothing, squared bias and variance.

        Parameters
        ----------
        report
            The result of `gradient_noise` for the booster and the world of this run.
        ax
            The axes to draw on; by default new ones.
        """
        ax, rows = _axes(ax), report.rows
        parts = {
            "variance": [row.variance for row in rows],
            "bias²": [row.bias**2 for row in rows],
            "smoothing²": [row.smoothing**2 for row in rows],
        }
        places = np.arange(len(rows), dtype=np.float64)
        for k, (name, lengths) in enumerate(parts.items()):
            ax.barh(places + 0.27 * (k - 1), lengths, height=0.25, label=name)
        ax.set_yticks(places, labels=[_short(row.gradient) for row in rows])
        ax.invert_yaxis()
        most = max(length for lengths in parts.values() for length in lengths)
        if most > 0:
            ax.set_xscale("log")
            ax.set_xlim(most / SPAN, 2 * most)  # parts that are zero up to rounding get no bar
        _finished(ax, "part of a gradient's mean squared error", "")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
        return ax

    def weights(self, snapshots: Snapshots, of: int | None = None, ax: Axes | None = None) -> Axes:
        """Draw the copies' weights along this run, with the first copy darkest.

        Parameters
        ----------
        snapshots
            The snapshots of the weights.
        of
            Index of one of a copy's weights in the flattened array; by default the norm of all weights is drawn.
        ax
            The axes to draw on; by default new ones.
        """
        from_copies = snapshots.norms
        if of is not None:
            flat = snapshots.weights.reshape(*from_copies.shape, -1)
            if count("of", of, least=0) >= flat.shape[2]:
                raise ValueError(f"of must be below the number of a copy's weights ({flat.shape[2]}), got {of}.")
            from_copies = flat[:, :, of]
        ax = _axes(ax)
        from matplotlib import colormaps

        copies = from_copies.shape[1]
        colors = colormaps["viridis"](np.linspace(0.0, 0.9, copies))
        for i in range(copies):
            named = i in (0, copies - 1)
            ax.plot(snapshots.rounds, from_copies[:, i], color=colors[i], label=f"copy {i + 1}" if named else "_")
        return _finished(ax, "round", "norm of a copy's weights" if of is None else f"weight {of} of a copy")


def _axes(ax: Axes | None) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install 'banditboost[cli]'.") from None
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _rounds(trace: Trace) -> Array:
    return np.asarray(trace.rounds, dtype=np.float64)


def _curves(
    ax: Axes, trace: Trace, paid: Sequence[Array] | None, predicted: Sequence[Array], names: tuple[str, str]
) -> None:
    """Draw what was paid, where it is given, and what the predictions would have cost; several runs as a mean and a band."""
    rounds = _rounds(trace)
    color: Any = None
    for runs, name, style in ((paid, names[0], PAID), (predicted, names[1], PREDICTED if paid else {})):
        if runs is None:
            continue
        found = np.array(runs)
        (line,) = ax.plot(rounds, found.mean(axis=0), label=name, color=color, **style)
        color = line.get_color()
        if len(found) > 1:
            ax.fill_between(rounds, found.min(axis=0), found.max(axis=0), color=color, alpha=0.2, linewidth=0)


def _bars(ax: Axes, at: Sequence[int], found: Sequence[Array], name: str, color: Any, style: dict[str, Any]) -> Any:
    """Draw means of runs, with a bar from the smallest to the largest; return the colour."""
    means = np.array([runs.mean() for runs in found])
    spread = np.array([(runs.mean() - runs.min(), runs.max() - runs.mean()) for runs in found]).T
    drawn = ax.errorbar(at, means, yerr=spread, marker="o", capsize=3, label=name, color=color, **style)
    return drawn[0].get_color()


def _comparators(ax: Axes, trace: Trace) -> None:
    """Draw the comparators' running means, unless they are already on these axes."""
    drawn = {line.get_label() for line in ax.get_lines()}
    for name, losses in trace.comparators.items():
        if name not in drawn:
            ax.plot(_rounds(trace), trace.total(losses) / trace.rounds, linestyle="--", label=name)


def mark_changes(ax: Axes, trace: Trace) -> None:
    """Mark where the world has changed, as far as alarms say."""
    for alarm in trace.drifts or ():
        named = any(line.get_label() == CHANGED for line in ax.get_lines())
        ax.axvline(alarm.since + 1, linestyle=":", color="black", linewidth=1, label="_" if named else CHANGED)


def _finished(ax: Axes, across: str, up: str) -> Axes:
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.legend()
    return ax


def _bound(bound: Bound, rounds: int) -> tuple[Array, Array]:
    """Return the rounds at which a bound is known, and its values there."""
    if callable(bound):
        horizons = np.unique(np.geomspace(1, rounds, POINTS).round().astype(int))
        return horizons.astype(float), finite("bound", [bound(int(t)) for t in horizons])
    levels = finite("bound", bound)
    if levels.ndim == 0:
        return np.array([1.0, rounds]), np.full(2, float(levels))
    return np.arange(1.0, rounds + 1), finite("bound", levels, (rounds,))


def _short(part: Spec) -> str:
    """Return the class of a part and those of its fields that differ from their defaults."""
    changed = [f for f in fields(part) if getattr(part, f.name) != f.default]
    settings = ", ".join(f"{f.name}={getattr(part, f.name)}" for f in changed)
    return f"{type(part).__name__}({settings})" if settings else type(part).__name__

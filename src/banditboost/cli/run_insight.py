"""What a finished run shows about its model: predicted beside actual, calibration, which columns mattered and how.

Everything here looks at the model from outside, on the latest rounds, and is computed only where a report is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.cli.setting import Setting
from banditboost.datasets import Encoding, Prepared
from banditboost.datasets.own_columns import Flags, Moments, Numbers, OwnColumn, Words
from banditboost.evaluate import Trace, partial_dependence, permutation_importance
from banditboost.losses import Absolute, Quantile
from banditboost.worlds import Supervised

ROUNDS = 2000
"""Latest rounds on which columns are shuffled."""
MOST = 40
"""Most columns that are shuffled with care; of more, a quick look chooses them."""
LOOKED = 600
"""Of more features than this, a quick look is taken at those that are there most often; columns of a table are then left alone."""
SHOWN = 12
"""Most columns in the picture of what mattered."""
MOVED = 4
"""For so many columns the report draws how predictions move with them."""
POINTS = 1200
"""Most points of predicted beside actual."""
BINS = 10
"""Groups of predictions whose calibration is shown."""


@dataclass(frozen=True, eq=False)
class Moves:
    """How the mean prediction moves with a column: along numbers, or word by word."""

    name: str
    at: Array
    mean: Array
    words: tuple[str, ...] = ()
    """What the places stand for, where the column has words."""
    date: bool = False
    """True where numbers are years, with their fractions."""


@dataclass(frozen=True, eq=False)
class Mattered:
    """Which columns mattered, largest first, and how predictions move with the first of them."""

    names: tuple[str, ...]
    increases: Array
    errors: Array
    loss: float
    rounds: int
    moves: tuple[Moves, ...]
    features: int | None = None
    """How many features there are, where only those that are there most often were looked at."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Groups of rounds with similar predictions: the mean prediction, and what really came, with an interval."""

    predicted: Array
    actual: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Insight:
    """What the report draws about a model."""

    output: str
    """What is predicted, in words: the target, or the probability of a class."""
    predicted: Array
    actual: Array
    calibration: Calibration | None
    confusion: tuple[tuple[str, ...], NDArray[np.intp]] | None
    mattered: Mattered | None
    level: float | None = None
    """Which quantile of the labels a prediction should be; None where it should be their mean."""


def insight(booster: Booster, world: Supervised, table: Prepared, trace: Trace, setting: Setting) -> Insight:
    """Return what the last half of a run, and its model on the latest rounds, show."""
    played, half = world.head(len(trace)), len(trace) // 2
    classes = table.encoding.classes
    predicted, actual, confusion = np.zeros(0), np.zeros(0), None
    calibration: Calibration | None = None
    if len(trace.predictions):
        late, labels = trace.predictions[half:], played.labels(half)
        if classes is None:
            predicted, actual = late, labels
            calibration = _calibrated(late, labels, _level(played))
        else:
            chances = _probabilities(late, setting)
            codes = (labels > 0).astype(np.intp) if setting.loss == "logistic" else labels.argmax(axis=1)
            said = chances.argmax(axis=1)
            confusion = (tuple(classes), _counts(codes, said, len(classes)))
            calibration = _calibrated(chances.max(axis=1), (said == codes).astype(float), None)
    name, output = _output(table.encoding, setting, confusion)
    mattered = _mattered(booster, played, table.encoding, output)
    return Insight(name, predicted, actual, calibration, confusion, mattered, _level(played))


def _probabilities(predictions: Array, setting: Setting) -> Array:
    if setting.loss != "logistic":
        return predictions
    second = expit(predictions)
    return np.column_stack([1 - second, second])


def _output(
    encoding: Encoding, setting: Setting, confusion: tuple[tuple[str, ...], NDArray[np.intp]] | None
) -> tuple[str, Callable[[Array], Array]]:
    """Return the number of a prediction that charts show, in words and as a function."""
    classes = encoding.classes
    if classes is None:
        return encoding.target, lambda found: found
    place = 1 if len(classes) == 2 or confusion is None else int(confusion[1].sum(axis=1).argmax())
    place = min(place, len(classes) - 1)
    return f"probability of {classes[place]}", lambda found: _probabilities(found, setting)[..., place]


def _level(world: Supervised) -> float | None:
    """Return which quantile of the labels a prediction should be; None where it should be their mean."""
    if isinstance(world.loss, Absolute):
        return 0.5
    return world.loss.level if isinstance(world.loss, Quantile) else None


def _calibrated(predicted: Array, actual: Array, level: float | None) -> Calibration | None:
    """Cut rounds into groups of similar predictions, and return their mean predictions and what came: mean or quantile."""
    order = np.argsort(predicted, kind="stable")
    groups = [part for part in np.array_split(order, BINS) if len(part) >= 5]
    if len(groups) < 2:
        return None
    middle, low, high = [], [], []
    for part in groups:
        values = np.sort(actual[part])
        if level is None:
            centre = float(values.mean())
            error = 2 * float(values.std(ddof=1)) / np.sqrt(len(values))
            ends = centre - error, centre + error
        else:
            centre = float(np.quantile(values, level))
            # An interval for a quantile from the ranks of the labels: its binomial count within two deviations.
            spread = 2 * np.sqrt(level * (1 - level) / len(values))
            ends = tuple(np.quantile(values, np.clip([level - spread, level + spread], 0, 1)).tolist())
        middle.append(centre)
        low.append(ends[0])
        high.append(ends[1])
    found = np.array([predicted[part].mean() for part in groups])
    return Calibration(found, np.array(middle), np.array(low), np.array(high))


def _counts(codes: NDArray[np.intp], said: NDArray[np.intp], classes: int) -> NDArray[np.intp]:
    found = np.zeros((classes, classes), dtype=np.intp)
    np.add.at(found, (codes, said), 1)
    return found


def _mattered(
    booster: Booster, world: Supervised, encoding: Encoding, output: Callable[[Array], Array]
) -> Mattered | None:
    """Shuffle columns among the latest rounds; None where there are too many columns, or no round."""
    columns, features = _columns(encoding), None
    if len(columns) > LOOKED and world.sparse and not encoding.columns:
        features = len(columns)
        latest: Any = world.contexts(max(0, len(world) - ROUNDS))
        often = np.bincount(latest.tocsr().indices, minlength=world.features)
        columns = [columns[k] for k in np.sort(np.argsort(-often, kind="stable")[:LOOKED])]
    if not columns or len(columns) > LOOKED or world.features != len(encoding.features):
        return None
    groups, rounds = [list(range(begin, end)) for _, _, begin, end in columns], min(ROUNDS, len(world))
    chosen: Sequence[int] = range(len(columns))
    if len(columns) > MOST:
        quick = permutation_importance(booster.predict_many, world, groups, rounds=200, repeats=1)
        chosen = np.argsort(-quick.mean, kind="stable")[:MOST].tolist()
    found = permutation_importance(booster.predict_many, world, [groups[k] for k in chosen], rounds=rounds)
    order = np.argsort(-found.mean, kind="stable")[:SHOWN]
    best = [columns[chosen[k]] for k in order]
    moves = [_moves(booster, world, entry, encoding.scaled, output) for entry in best[: 2 * MOVED]]
    return Mattered(
        tuple(name for name, *_ in best),
        found.mean[order],
        found.error[order],
        found.loss,
        rounds,
        tuple(one for one in moves if one is not None)[:MOVED],
        features,
    )


Entry = tuple[str, OwnColumn | None, int, int]
"""The name of a column, how it became features, and its first feature and the one after its last."""


def _columns(encoding: Encoding) -> list[Entry]:
    """Return the columns of a table with their features; features themselves where there are no columns."""
    if not encoding.columns:
        return [(name, None, place, place + 1) for place, name in enumerate(encoding.features)]
    found: list[Entry] = []
    begin = 0
    for column in encoding.columns:
        end = begin + len(column.features)
        if end > begin:
            found.append((column.name, column, begin, end))
        begin = end
    return found


def _moves(
    booster: Booster,
    world: Supervised,
    entry: Entry,
    scaled: bool,
    output: Callable[[Array], Array],
) -> Moves | None:
    """Return how the mean prediction moves with a column whose values occur as they are set; None where that says nothing."""
    name, column, begin, end = entry
    latest: Any = world.contexts(max(0, len(world) - ROUNDS))
    if isinstance(column, Words) and world.sparse:
        return _moves_by_word(booster, world, entry, csr_array(latest.tocsr()[:, begin:end]), output)
    values = latest.tocsc()[:, begin:end].toarray() if world.sparse else np.asarray(latest)[:, begin:end]
    seen, times = np.unique(values, axis=0, return_counts=True)
    if len(seen) < 2:
        return None

    def mean(settings: Array, first: int = begin, last: int = end) -> Array:
        return partial_dependence(
            lambda rows: output(booster.predict_many(rows)), world, range(first, last), settings, rounds=500
        )

    if isinstance(column, Words):
        often = np.argsort(-times, kind="stable")[:8]
        words = tuple(_word(column, row) for row in seen[often])
        return Moves(name, np.arange(len(often), dtype=np.float64), mean(seen[often]), words)
    if isinstance(column, Flags):
        settings = np.column_stack([[0.0, 1.0], *[np.zeros(2)] * (end - begin - 1)])
        return Moves(name, np.arange(2.0), mean(settings), ("no", "yes"))
    if isinstance(column, Moments):
        first = begin + column.features.index(f"{name}: {'hour' if column.clock else 'year'}, sine")
        at = np.arange(24.0) if column.clock else np.arange(0.5, 12.5)
        turn = 2 * np.pi * at / (24 if column.clock else 12)
        angles = np.column_stack([np.sin(turn), np.cos(turn)])
        found = mean((angles + 1) / 2 if scaled else angles, first, first + 2)
        return Moves(f"{name}: {'hour of the day' if column.clock else 'month of the year'}", at, found)
    if isinstance(column, Numbers) or end - begin == 1:
        there = values[values[:, 1] == 0] if end - begin == 2 else values
        if len(np.unique(there[:, 0])) < 2:
            return None
        at = np.unique(np.quantile(there[:, 0], np.linspace(0.02, 0.98, 25), method="nearest"))
        settings = np.column_stack([at, *[np.zeros(len(at))] * (end - begin - 1)])
        shown = column.low + at * (column.high - column.low) if scaled and isinstance(column, Numbers) else at
        date = isinstance(column, Numbers) and column.date is not None
        return Moves(name, 1970 + shown / 365.2425 if date else shown, mean(settings), date=date)
    return None


def _moves_by_word(
    booster: Booster, world: Supervised, entry: Entry, values: csr_array, output: Callable[[Array], Array]
) -> Moves | None:
    """Return how the mean prediction moves with the commonest words of a column, of which there may be very many."""
    name, column, begin, end = entry
    assert isinstance(column, Words)
    words, times = np.unique(values.indices, return_counts=True)
    often = words[np.argsort(-times, kind="stable")[:8]]
    if len(often) < 2:
        return None
    settings = np.zeros((len(often), end - begin))
    settings[np.arange(len(often)), often] = 1.0
    found = partial_dependence(
        lambda rows: output(booster.predict_many(rows)), world, range(begin, end), settings, rounds=500
    )
    return Moves(name, np.arange(len(often), dtype=np.float64), found, tuple(_word(column, row) for row in settings))


def _word(column: Words, row: Array) -> str:
    """Return the word whose indicator is set."""
    place = int(row.argmax()) if row.any() else -1
    if place < 0:
        return "(none of them)"
    if place < len(column.levels):
        return column.levels[place]
    return "(other words)" if column.other and place == len(column.levels) else "(missing)"

"""From a file of examples to features and labels for `banditboost run`, and the same for another file later."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._core.checks import Array, count, one_of
from banditboost.datasets.blocks_examples import LABEL
from banditboost.datasets.example_lines import Format
from banditboost.datasets.examples import ExampleReader, read_examples
from banditboost.datasets.own_columns import words_that_differ
from banditboost.datasets.own_encoding import Encoding, Prepared
from banditboost.datasets.own_target import CLASSES, Task
from banditboost.encoder import Encoder
from banditboost.encoder.encoder import columns_of, most_used


@dataclass(frozen=True)
class ExampleEncoding(Encoding, kind="datasets.ExampleEncoding"):
    """How a file of examples becomes features and labels; a model file stores that of the file that it was trained on.

    Parameters
    ----------
    columns, target, classes, label_range, scaled, label
        As for `Encoding`; there are no columns, and values are never scaled.
    format
        That of the file.
    encoder
        How names become indices; of svmlight, features have no names.
    used
        The indices that are used, ascending.
    names
        What they stand for.
    """

    format: Format = "vw"
    encoder: Encoder = Encoder()  # noqa: RUF009 - specs are frozen
    used: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("format", self.format, ("vw", "svmlight"))
        if not isinstance(self.encoder, Encoder):
            raise ValueError(f"encoder must be an Encoder, got {self.encoder!r:.100}.")
        words_that_differ("names", self.names)
        whole = isinstance(self.used, tuple) and all(type(index) is int and 0 <= index < 2**31 for index in self.used)
        if not whole or len(self.used) != len(self.names) or list(self.used) != sorted(set(self.used)):
            raise ValueError("used must be ascending indices, with a name each.")

    @property
    def features(self) -> tuple[str, ...]:
        """What the indices that are used stand for."""
        return self.names

    def encode_examples(self, rows: csr_array) -> csr_array:
        """Return the features that are used."""
        return columns_of(rows, np.array(self.used, dtype=np.int64))

    def labels_of(self, labels: Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the labels (numbers, or classes as words) of the examples that have one, and a mask of these."""
        known = ~np.isnan(labels)
        if self.classes is None:
            return labels[known], known
        words = np.array([_word(label) for label in labels])
        known &= np.isin(words, self.classes)
        return words[known], known


def prepare_examples(
    path: str | os.PathLike[str], *, task: Task = "auto", encoder: Encoder | None = None, most: int | None = None
) -> Prepared:
    """Read a file of examples and make features and labels of it; those without a label are left out.

    Parameters
    ----------
    path
        A file in the format of Vowpal Wabbit or svmlight, by the end of its name.
    task
        ``"classes"`` where every label is a class; else labels are numbers.
    encoder
        How names become indices.
    most
        Most features that are used, those that occur in the most examples; all when not given.
    """
    one_of("task", task, ("auto", "numbers", "classes"))
    if most is not None:
        count("most", most)
    examples, reader = read_examples(path, encoder)
    name, known = os.fspath(path), ~np.isnan(examples.labels)
    notes = (
        [] if known.all() else [f"{int((~known).sum()):,} of {len(known):,} examples have no label and were left out."]
    )
    if examples.weighted:
        notes.append(f"{examples.weighted:,} examples have an importance other than 1, which is not used.")
    if known.sum() < 2:
        raise ValueError(f"{name} must have two examples or more with a label, got {int(known.sum())}.")
    rows, labels = examples.rows[np.flatnonzero(known)], examples.labels[known]
    classes = _classes(labels, name) if task == "classes" else None
    span = None if classes is not None else (float(labels.min()), float(labels.max()))
    used, what = _used(rows, reader, name, most)
    encoding = ExampleEncoding(
        target=LABEL,
        classes=classes,
        label_range=span,
        format=reader.format,
        encoder=reader.encoder,
        used=tuple(used.tolist()),
        names=_names(used, reader),
    )
    y = encoding.labels_of(labels)[0]
    return Prepared(columns_of(rows, used), y, encoding, ((LABEL, "target"), ("features", what)), tuple(notes))


def _used(rows: csr_array, reader: ExampleReader, name: str, most: int | None) -> tuple[NDArray[np.int64], str]:
    """Return the indices to use, and what is said of them."""
    met = np.unique(rows.indices)
    if not len(met):
        raise ValueError(f"{name} must have a feature that is not zero, got none.")
    what = f"{len(met):,} indices" if reader.names is None else str(reader.names.collisions)
    if most is None or len(met) <= most:
        return met.astype(np.int64), what
    return most_used(rows, most), f"{what}; the {most:,} that occur in the most examples are used"


def _names(used: NDArray[np.int64], reader: ExampleReader) -> tuple[str, ...]:
    """Return what indices stand for; each name once, since features that share an index may share their beginnings."""
    known = {} if reader.names is None else reader.names.explained()
    found: dict[str, None] = {}
    for index in used.tolist():
        text = " or ".join(known[index][:3])[:200] if index in known else f"feature {index}"
        found[text if text not in found else f"{text} ({index})"] = None
    return tuple(found)


def _classes(labels: Array, name: str) -> tuple[str, ...]:
    found = np.unique(labels)
    if not 2 <= len(found) <= CLASSES:
        raise ValueError(f"{name} must have labels of 2 to {CLASSES} kinds for the task 'classes', got {len(found):,}.")
    return tuple(_word(label) for label in found)


def _word(label: float) -> str:
    return f"{label:.0f}" if float(label).is_integer() else repr(float(label))

"""`banditboost predict`: apply a saved model to a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._storage.atomic_file import atomic
from banditboost.cli import warmed
from banditboost.cli.common import JsonOut, ModelFile, Quiet, Screen, TableFile, check_outputs, printable, tell
from banditboost.cli.model import Model, load, of_a_table
from banditboost.datasets import ExampleEncoding, format_of, read_examples, read_own
from banditboost.datasets.own_unread import Unread

if TYPE_CHECKING:
    import polars as pl

Labels = tuple[NDArray[Any], NDArray[np.bool_]]


def predict(
    model: ModelFile,
    file: TableFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", help="Write predictions to this .csv or .parquet file instead of printing them.", dir_okay=False
        ),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add one column for every class, with its probability.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a table with values or columns that cannot be read.")
    ] = False,
    json_file: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Predict every row of a table with a saved model; the model does not change."""
    if output is not None and output.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"output must end in .csv or .parquet, got '{output}'.")
    check_outputs({"output": output, "json": json_file}, [file, model])
    screen, (booster, known) = Screen(quiet, json_file), load(model)
    if probabilities and (known is None or known.encoding.classes is None):
        raise ValueError("probabilities must be left out: the model predicts numbers, not classes.")
    if known is None and (names := warmed.context_of(booster)):
        decided = warmed.predicted(booster, names, file)
        if strict:
            _refuse(file, decided.unread, decided.notes)
        _say(quiet, decided.notes, decided.unread)
        _deliver(decided.frame, output, screen)
        found = decided.frame.to_dict(as_series=False)
        rows = {"rows": decided.frame.height, "predictions": found.get("prediction", found)}
        read = {"notes": decided.notes, "unread": [row._asdict() for row in decided.unread]}
        screen.results({"command": "predict", "file": str(file)} | rows | read)
        return
    known = of_a_table(model, known)
    X, notes, unread, labels = _read(known, file)
    if strict:
        _refuse(file, unread, notes)
    raw = known.predict(X)
    frame = _frame(known, raw, probabilities)
    found = {} if labels is None else _score(known, *labels, raw)
    _say(quiet, notes, unread)
    if found and not quiet:
        said = f"'{known.encoding.target}' is in the table: mean {known.setting.loss} loss {found['mean_loss']:.5g}"
        said += f", {found['accuracy']:.1%} of classes hit" if "accuracy" in found else ""
        tell(f"{said} on {found['rows']:,} rows.")
    _deliver(frame, output, screen)
    if json_file is not None:
        results = {
            "command": "predict",
            "file": str(file),
            "target": known.encoding.target,
            "rows": frame.height,
            **found,
        }
        results |= {"notes": notes, "unread": [row._asdict() for row in unread]}
        screen.results(results | {"predictions": frame["prediction"].to_list()})


def _deliver(frame: pl.DataFrame, output: Path | None, screen: Screen) -> None:
    """Write predictions to a file, or to standard output where no results go there."""
    if output is not None:
        with atomic(output) as target:
            frame.write_parquet(target) if output.suffix.lower() == ".parquet" else frame.write_csv(target)
        screen.say(f"Predictions: {output}")
    elif not screen.aside:
        text = frame.write_csv()
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)  # a program gets the classes as they are


def _say(quiet: bool, notes: list[str], unread: tuple[Unread, ...]) -> None:
    """Print what was found in reading a table, beside the predictions."""
    if not quiet:
        for note in (*notes, *map(str, unread)):
            tell(note)


def _refuse(file: Path, unread: tuple[Unread, ...], notes: list[str]) -> None:
    """Raise where values, or whole columns, cannot be read."""
    absent = [note for note in notes if note.startswith("There is no column")]
    if absent:
        raise ValueError(f"{file} must have all columns that the model was trained on with --strict. {absent[0]}")
    if unread:
        more = f" Columns with such values: {len(unread)}." if len(unread) > 1 else ""
        first = unread[0]
        raise ValueError(
            f"{file} must have values that can be read with --strict, got {first.rows:,} in column '{first.column}' that are not "
            f"{first.wanted}, such as {first.where}.{more}"
        )


def _frame(model: Model, raw: Array, wanted: bool) -> pl.DataFrame:
    import polars as pl

    chances, classes = model.probabilities(raw), model.encoding.classes
    if chances is None or classes is None:
        return pl.DataFrame({"prediction": raw})
    columns: dict[str, Any] = {
        "prediction": pl.Series(np.array(classes)[chances.argmax(axis=1)].tolist(), dtype=pl.String)
    }
    if wanted:
        columns |= {f"probability of {name}": chances[:, place] for place, name in enumerate(classes)}
    return pl.DataFrame(columns)


def _read(model: Model, file: Path) -> tuple[Any, list[str], tuple[Unread, ...], Labels | None]:
    """Return the features of a file, notes, what could not be read, and labels with a mask of the rows that have one, if any."""
    encoding = model.encoding
    if isinstance(encoding, ExampleEncoding):
        if format_of(file) != encoding.format:
            raise ValueError(
                f"{file} must be in the format of the examples that the model was trained on, {encoding.format}."
            )
        examples, _ = read_examples(file, encoding.encoder)
        return encoding.encode_examples(examples.rows), [], (), encoding.labels_of(examples.labels)
    if format_of(file) is not None:
        raise ValueError(f"{file} must be a table with columns, as the model was trained on, got a file of examples.")
    table = read_own(file)
    if not set(table.frame.columns) & {column.name for column in encoding.columns}:
        raise ValueError(f"{file} must have columns that the model was trained on, got none of them.")
    encoded = encoding.encode(table)
    labels = encoding.labels(table) if encoding.target in table.frame.columns else None
    return encoded.X, [*table.notes, *encoded.notes], encoded.unread, labels


def _score(model: Model, labels: NDArray[Any], known: NDArray[np.bool_], raw: Array) -> dict[str, Any]:
    """Return the mean loss on rows that have a label; an empty dictionary where no row has one."""
    encoding = model.encoding
    if not known.any():
        return {}
    found: dict[str, Any] = {"rows": int(known.sum())}
    if encoding.classes is None:
        return found | {"mean_loss": float(model.loss.value(raw[known], labels, 0).mean())}
    codes = np.array([encoding.classes.index(label) for label in labels])
    chances = model.probabilities(raw)
    assert chances is not None
    found["accuracy"] = float((chances[known].argmax(axis=1) == codes).mean())
    told = 2.0 * codes - 1 if model.setting.loss == "logistic" else np.eye(len(encoding.classes))[codes]
    return found | {"mean_loss": float(model.loss.value(raw[known], told, told.ndim - 1).mean())}

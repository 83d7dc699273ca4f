"""`banditboost explain`: the parts of a saved model, what it has learned, and which bound covers it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from banditboost.booster import Booster
from banditboost.cli import warmed
from banditboost.cli.anatomy import asked, chain_weights, describe, memories
from banditboost.cli.common import JsonOut, ModelFile, Quiet, Screen, check_outputs
from banditboost.cli.model import Model, load
from banditboost.cli.promises import promises
from banditboost.datasets.blocks import few


def explain(
    model: ModelFile,
    top: Annotated[int, typer.Option("--top", min=1, help="How many features to show for each kind of copies.")] = 10,
    json_file: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Show the parts of a model, what it has learned, and which bound covers it."""
    check_outputs({"json": json_file}, [model])
    screen = Screen(quiet, json_file)
    booster, known = load(model)
    results = explained(booster, known) | {"file": str(model)}
    for name, value in results["parts"].items():
        screen.say(f"{name}: {value}")
    counts = results["chain_weights"]
    shown = ", ".join(f"{value:.3g}" for value in counts[:8]) + (", ..." if len(counts) > 8 else "")
    screen.say(f"weight of each copy in the prediction: {shown}")
    for name, value in results["memories"].items():
        numbers = value if isinstance(value, list) else [value]
        screen.say(f"{name}: {', '.join(f'{v:.4g}' for v in numbers[:8])}{', ...' if len(numbers) > 8 else ''}")
    for family in results["learned"]:
        _show(screen, family, top)
    screen.say(f"bound: {results['promise']['says']}")
    screen.results(results)


def explained(booster: Booster, model: Model | None) -> dict[str, Any]:
    """Return the parts of a booster, what it has learned, and its bound, as plain data."""
    spec = booster.spec
    names, outputs = _named(booster, model)
    parts: dict[str, Any] = {
        "learner": repr(spec.learner),
        "copies": spec.copies,
        "chain": repr(spec.chain),
        "gradient": repr(spec.gradient),
        "space": repr(spec.space),
        "rounds told": booster.rounds,
        "answers a round": asked(booster),
        "features": booster.features,
    }
    if spec.chain.projects:  # such chains add plays to their start
        parts["start of the chain"] = booster.geometry.chain_start.tolist()
    if decision := warmed.decision_of(booster):
        parts |= {"context": few(names) or "none", "decision": few(decision)}
        parts["answers are"] = "rewards" if spec.maximize else "losses"
    if model is not None:
        parts |= {"target": model.encoding.target, "loss": repr(model.loss)}
    return {
        "command": "explain",
        "parts": parts,
        "spec": spec.to_dict(),
        "chain_weights": chain_weights(booster).tolist(),
        "memories": memories(booster),
        "learned": describe(
            booster, names, outputs, "range" if model is not None and model.encoding.scaled else "unit"
        ),
        "promise": promises(booster, model),
    }


def _named(booster: Booster, model: Model | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what features, and the numbers of a prediction, are called."""
    size, features = booster.spec.space.size, booster.features
    if model is not None:
        names, outputs = model.encoding.features, model.encoding.classes
    else:
        names = warmed.context_of(booster) or tuple(f"x{k}" for k in range(features))
        if booster.names is not None:
            names = booster.names.column_names(features)
        outputs = warmed.decision_of(booster)
    if size == 1:
        return names, ("prediction",)
    return names, outputs or tuple(f"y{k}" for k in range(size))


def _show(screen: Screen, family: dict[str, Any], top: int) -> None:
    """Print what copies of one kind have learned: their largest weights, or the features that they test most often."""
    title = f"{family['copies']} {family['kind']} {'copies' if family['copies'] > 1 else 'copy'}"
    if "weights" in family:
        outputs = list(next(iter(family["weights"].values()), {"prediction": 0.0}))[:6]
        rows = [[name, *(f"{row[out]:+.4g}" for out in outputs)] for name, row in list(family["weights"].items())[:top]]
        if family["intercept"]:
            rows.append(["(intercept)", *(f"{family['intercept'][out]:+.4g}" for out in outputs)])
        screen.table(f"{title}: weights per {family['per']}", ("feature", *outputs), rows, ("feature",))
    elif "tests" in family:
        rows = [[name, f"{times:,}"] for name, times in list(family["tests"].items())[:top]]
        title = f"{title}, {family['leaves a tree']:.1f} leaves each: number of tests of each feature"
        screen.table(title, ("feature", "tests"), rows, ("feature",))
        if not rows:
            screen.say(f"{title}: none yet")
    else:
        screen.say(f"{title}: what they have learned cannot be shown feature by feature")

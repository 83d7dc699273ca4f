"""The settings of a run as they really were, and how its model is used afterwards, for the report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from banditboost.algorithms.names import FEEDBACK, GRADIENTS, LEARNERS, LOSSES
from banditboost.booster import Booster
from banditboost.booster.brief import brief
from banditboost.cli.setting import NUMBERS, Setting, defaults
from banditboost.datasets import format_of

NUMBER_WORDS = {
    "step": "step of every weak learner but the first",
    "rate": "step size",
    "radius": "bound on weights",
    "ridge": "ridge of linear weak learners",
    "evidence": "variances that a split must explain",
    "leaves": "most leaves of a tree",
}


def used(setting: Setting, booster: Booster) -> list[list[str]]:
    """Return what a run used, and what of it was given and is no default; nothing that had no part in it.

    Examples
    --------
    >>> from banditboost.cli.setting import booster_of
    >>> from banditboost.spaces import Interval
    >>> setting = Setting(copies=10, learner="trees", leaves=8)
    >>> for row in used(setting, booster_of(setting, Interval(0, 2)))[:4]:
    ...     print(row)
    ['loss', 'squared: the squared distance of prediction and label']
    ['feedback', 'bandit: loss values at the points asked about, and nothing else']
    ['learner', 'trees: ... (given)']
    ['weak learners (copies)', '10 (given)']
    """
    spec, plain = booster.spec, Setting()
    rows: list[list[str]] = []

    def add(name: str, value: str, given: bool) -> None:
        rows.append([name, f"{value} (given)" if given else value])

    add("loss", _said(setting.loss, LOSSES), setting.loss != plain.loss)
    if setting.loss == "quantile":
        add("quantile", f"{setting.level:g}", setting.level != plain.level)
    threshold = booster.extra.get("table", {}).get("loss", {}).get("threshold", setting.threshold)
    if setting.loss == "huber" and threshold is not None:
        add("threshold of the Huber loss", f"{threshold:g}", setting.threshold is not None)
    add("feedback", _said(setting.feedback, FEEDBACK), setting.feedback != plain.feedback)
    add("learner", _said(setting.learner, LEARNERS), setting.learner != plain.learner)
    add("weak learners (copies)", f"{spec.copies}", setting.copies != plain.copies)
    if setting.feedback == "bandit":
        asked = spec.gradient.count(spec.copies)
        add("loss values asked a round (answers)", f"{asked}", setting.answers is not None)
        by = LEARNERS[setting.learner].gradient if setting.gradient == "auto" else setting.gradient
        add("gradients from loss values", _said(by, GRADIENTS), setting.gradient != plain.gradient)
        add(
            "noise added to loss values",
            f"uniform within ±{setting.noise:g}" if setting.noise else "none",
            setting.noise != 0,
        )
    for name, value in (defaults(setting, spec.space) | setting.numbers).items():
        if name in NUMBERS:
            add(NUMBER_WORDS[name], f"{value:g}", name in setting.numbers)
    add("predictions lie in", brief(spec.space, whole=True), False)
    add("bands", "yes" if spec.bands else "no (--bands)", bool(spec.bands))
    add("alarms where the world changes", "yes" if spec.drifts else "no (--drifts)", bool(spec.drifts))
    add("seed", f"{setting.seed}", setting.seed != plain.seed)
    return rows


def _said(name: str, known: Any) -> str:
    entry = known[name]
    return f"{name}: {getattr(entry, 'help', entry)}"


def how_to_use(results: dict[str, Any], model: Path | None) -> tuple[str, str]:
    """Return the lines that use the saved model from the shell and from Python; both can be run as they stand.

    Examples
    --------
    >>> shell, python = how_to_use({"file": "sales.csv", "target": "price"}, Path("model.bb"))
    >>> print(shell)
    banditboost predict model.bb new.csv --output predictions.csv
    banditboost explain model.bb
    """
    path = "model.bb" if model is None else str(model)
    examples = format_of(results["file"]) is not None
    new = f"new{Path(results['file']).suffix}" if examples else "new.csv"
    target = [] if examples else ["--target", results["target"]]
    again = ["banditboost", "run", results["file"], *target, "--save", path]
    commands = [] if model is not None else [again]
    commands += [
        ["banditboost", "predict", path, new, "--output", "predictions.csv"],
        ["banditboost", "explain", path],
    ]
    reading = [f'features = model.encoding.encode(read_own("{new}")).X']
    first = "features[[0]]" if examples else "features[0]"
    if examples:
        reading = [
            f'examples, _ = read_examples("{new}", model.encoding.encoder)',
            "features = model.encoding.encode_examples(examples.rows)",
        ]
    python = [
        "from pathlib import Path",
        "",
        "from banditboost.cli.model import load_model",
        f"from banditboost.datasets import {'read_examples' if examples else 'read_own'}",
        "",
        f"# The booster, and how the {'file' if examples else 'table'} became features:",
        f"model = load_model(Path({path!r}))",
        *reading,
        "predictions = model.predict(features)  # one for every row; the model does not change",
        "",
        "# The booster goes on learning where the run has ended:",
        f"ticket = model.booster.ask({first})  # then model.booster.tell(ticket, losses of ticket.queries)",
    ]
    return "\n".join(map(shlex.join, commands)), "\n".join(python)

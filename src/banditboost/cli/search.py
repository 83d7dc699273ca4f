"""The search of `banditboost tune`: ranges, and trials one after the other, so that a resumed search is the same search."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from banditboost._core.checks import OverflowingError
from banditboost.cli.setting import Setting, booster_of, defaults
from banditboost.evaluate import progressive
from banditboost.learners.categories import Pairs
from banditboost.spaces import Interval, Space
from banditboost.worlds import Supervised

if TYPE_CHECKING:
    from optuna import Study, Trial

COPIES = (10, 20, 30, 60)
RANGES: dict[str, tuple[float, float]] = {
    "step": (0.05, 1.0),
    "ridge": (0.1, 100.0),
    "evidence": (1.0, 30.0),
    "leaves": (8, 256),
    "rate": (0.001, 5.0),
    "radius": (1.0, 100.0),
}
"""Ranges of the learners' numbers, all searched on a logarithmic scale."""


def suggest(trial: Trial, base: Setting) -> Setting:
    """Let a trial choose the numbers of a setting, rounded to four digits, so that they are short on a command line."""
    found: dict[str, Any] = {"copies": trial.suggest_categorical("copies", COPIES)}
    for name in defaults(base, Interval(-1.0, 1.0)):
        low, high = RANGES[name]
        if name == "leaves":
            found[name] = trial.suggest_int(name, int(low), int(high), log=True)
        else:
            found[name] = float(f"{trial.suggest_float(name, low, high, log=True):.4g}")
    return replace(base, **found)


def fare(setting: Setting, world: Supervised, space: Space, paid: bool = False, categories: Pairs = ()) -> float:
    """Return the mean progressive loss, of the predictions or paid; infinity where the run overflows."""
    try:
        trace = progressive(booster_of(setting, space, categories), world)
        return trace.mean_paid if paid else trace.mean
    except OverflowingError:
        return math.inf


def finished(study: Study) -> list[Any]:
    """Return the trials that have a loss, in order."""
    return [trial for trial in study.trials if trial.value is not None]


def search(
    study: Study,
    base: Setting,
    space: Space,
    judge: Callable[[Setting], float],
    trials: int,
    timeout: float | None,
    progress: Callable[[int, float], None],
) -> None:
    """Run trials until there are `trials` in all, or time is up. Each has its own random stream, so that stopping changes nothing.

    Parameters
    ----------
    study
        Where finished trials are kept.
    base
        The choices that are not searched.
    space
        Where predictions lie; the defaults, which the first trial takes, depend on it.
    judge
        Returns a setting's loss.
    trials
        The number of trials, those of earlier runs included.
    timeout
        Seconds after which no further trial begins.
    progress
        Called as ``progress(finished trials, least loss)``.
    """
    import optuna

    begun = time.monotonic()
    while (done := len(finished(study))) < trials:
        if timeout is not None and time.monotonic() - begun > timeout:
            return
        study.sampler = optuna.samplers.TPESampler(seed=1000 * base.seed + done)
        if done == 0:
            study.enqueue_trial({"copies": base.copies, **defaults(base, space)})
        trial = study.ask()
        try:
            study.tell(trial, judge(suggest(trial, base)))
        except BaseException:
            study.tell(trial, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)
            raise
        progress(done + 1, study.best_value)


@contextmanager
def opened(storage: str, name: str) -> Iterator[Study]:
    """Open a study, or create it where there is none, and close its database at the end."""
    try:
        import optuna
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        raise ImportError("tune needs Optuna: pip install 'banditboost[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = storage if "://" in storage else f"sqlite:///{storage}"
    try:
        kept = optuna.storages.RDBStorage(url)
    except (SQLAlchemyError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ValueError(
            f"storage must be a file or URL of a database for trials: {storage} failed with {reason}."
        ) from None
    try:
        yield optuna.create_study(storage=kept, study_name=name, load_if_exists=True, direction="minimize")
    finally:
        kept.remove_session()
        kept.engine.dispose()

"""What the results of Table 2 say, in sentences: each claim with the reading that it holds under, made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BASELINES = {"bandit": "N-FKM", "full": "OGD"}

EASY = (
    "What makes D easy: boosting perturbs one number, its prediction, and N-FKM all its weights, so that the variance of the "
    "baseline's gradients grows with the number of features. The paper says of its weak learners, too, that they are \"updated "
    'with FKM"; it does not say what they perturb.'
)


def percent(share: float, sign: str = "") -> str:
    """Return a share in percent, with another digit where it is small.

    Examples
    --------
    >>> percent(0.0834), percent(0.0012), percent(-0.0834, "+"), percent(0.0012, "+")
    ('8.3%', '0.12%', '-8.3%', '+0.12%')
    """
    return f"{share:{sign}.{1 if abs(share) >= 0.005 else 2}%}"


def verdict(decrease: dict[str, float]) -> str:
    """Say who is ahead, by a 95 % interval.

    Examples
    --------
    >>> verdict({"mean": 0.2, "low": 0.1, "high": 0.3}), verdict({"mean": 0.2, "low": -0.1, "high": 0.5})
    ('below', 'not told apart')
    """
    if decrease["low"] > 0:
        return "below"
    return "above" if decrease["high"] < 0 else "not told apart"


def says(results: dict[str, Any]) -> list[str]:
    """Return one sentence for each reading and half, and after D what makes it easy."""
    sentences = []
    for key, told in results["protocol"]["readings"].items():
        for half in ("bandit", "full"):
            found = {
                name: row["readings"][key][half]["decrease"]
                for name, row in results["rows"].items()
                if half in row["readings"].get(key, {})
            }
            if found:
                sentences.append(_sentence(key, told["title"], half, found))
                if key == "D":
                    sentences.append(EASY)
    return sentences


def _sentence(key: str, title: str, half: str, found: dict[str, dict[str, float]]) -> str:
    baseline = BASELINES[half]
    groups: dict[str, list[str]] = {}
    for name, decrease in found.items():
        low, high = sorted((abs(decrease["low"]), abs(decrease["high"])))
        kind, size = verdict(decrease), abs(decrease["mean"])
        if kind == "not told apart":
            groups.setdefault(kind, []).append(name)
        else:
            groups.setdefault(kind, []).append(f"on {name} by {percent(size)} ({percent(low)} .. {percent(high)})")
    parts = [f"{kind} {baseline}'s {listing(groups[kind])}" for kind in ("below", "above") if kind in groups]
    if "not told apart" in groups:
        parts.append(f"not told apart from it on {listing(groups['not told apart'])}")
    kind = " with full information" if half == "full" else ""
    return f"Under {key} ({title}) boosting's loss{kind} is {'; '.join(parts)}."


def listing(words: Sequence[str]) -> str:
    """Join words by commas and a last "and".

    Examples
    --------
    >>> listing(["a"]), listing(["a", "b"]), listing(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

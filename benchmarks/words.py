"""Words: ratings of 10,605 sentences of film reviews from the words in them, beside Vowpal Wabbit and River.

The sentences are in the source distribution vaderSentiment 0.5 of the package index (MIT licence; Hutto, Gilbert 2014), within an
archive in it, and were rated by twenty people each, from -4 to 4. ``pip download --no-deps --no-binary :all: vaderSentiment==0.5``
gets it, and it is looked for in the folder that BANDITBOOST_DATA names; it is read as text, and nothing in it is run.
A sentence is the bag of its words, in lower case; ratings are divided by their standard deviation. Peers are told ratings, ours is
told 30 values of the squared loss with noise, or two. Two numbers of wary weights (`banditboost.learners.Wide`) were chosen on one
half of the sentences, drawn at random; the other half, on which nothing was chosen, is played by itself, too.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb

FILE = "vaderSentiment-0.5.zip"
DIGEST = "5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a"
INNER = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
SENTENCES = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
SHUFFLES = range(5)
HALVES = 999
"""Seed of the order whose first half was used to choose numbers."""
ANSWERS = (30, 2)


def read() -> tuple[list[list[str]], Any]:
    """Return the words of every sentence, and its rating over the standard deviation of all."""
    path = Path(os.environ.get("BANDITBOOST_DATA", ".")) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: pip download --no-deps --no-binary :all: vaderSentiment==0.5 gets it."
        )
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != DIGEST:
        raise FileNotFoundError(f"{path} is not the file that was measured.")
    with zipfile.ZipFile(io.BytesIO(data)) as outer, tarfile.open(fileobj=io.BytesIO(outer.read(INNER))) as inner:
        file = inner.extractfile(SENTENCES)
        assert file is not None
        lines = file.read().decode("latin-1").splitlines()
    rows = [line.split("\t") for line in lines if line.count("\t") == 2]
    ratings = np.array([float(row[1]) for row in rows])
    words = [re.findall(r"[a-z']+", row[2].lower()) for row in rows]
    return words, (ratings - ratings.mean()) / ratings.std()


def ours(contexts: Any, labels: Any, answers: int, seed: int) -> tuple[float, float]:
    world = bb.worlds.Supervised(contexts, labels, noise=bb.noise.Uniform(0.1), seed=seed)
    booster = bb.algorithms.boosted(bb.spaces.Interval(-4.0, 4.0), answers=answers, seed=seed)
    begin = time.process_time()
    trace = bb.evaluate.progressive(booster, world, compiled=True)
    return float(trace.losses.mean()), time.process_time() - begin


def vowpal_wabbit(words: list[list[str]], labels: Any) -> tuple[float, float]:
    from vowpalwabbit import Workspace

    model, errors = Workspace("--quiet"), []
    texts = [
        f"{label} | " + " ".join(f"{word}:{found.count(word)}" for word in dict.fromkeys(found))
        for found, label in zip(words, labels.tolist(), strict=True)
    ]
    examples = [model.parse(text) for text in texts]
    begin = time.process_time()
    for example, label in zip(examples, labels, strict=True):
        model.learn(example)
        errors.append((example.get_simplelabel_prediction() - label) ** 2)
    taken = time.process_time() - begin
    for example in examples:
        model.finish_example(example)
    model.finish()
    return float(np.mean(errors)), taken


def river(words: list[list[str]], labels: Any, name: str) -> tuple[float, float]:
    from river import linear_model

    model = {"linear": linear_model.LinearRegression, "passive-aggressive": linear_model.PARegressor}[name]()
    bags = [{word: float(found.count(word)) for word in found} for found in words]
    errors, begin = [], time.process_time()
    for bag, label in zip(bags, labels.tolist(), strict=True):
        errors.append((model.predict_one(bag) - label) ** 2)
        model.learn_one(bag, label)
    return float(np.mean(errors)), time.process_time() - begin


def measure() -> dict[str, Any]:
    words, labels = read()
    contexts = bb.encoder.Encoder().table([{"words": found} for found in words])
    contestants: dict[str, Any] = {
        **{
            f"ours, {k} answers": lambda order, seed, k=k: ours(contexts[order], labels[order], k, seed)
            for k in ANSWERS
        },
        "Vowpal Wabbit": lambda order, seed: vowpal_wabbit([words[k] for k in order], labels[order]),
        "River, linear": lambda order, seed: river([words[k] for k in order], labels[order], "linear"),
        "River, passive-aggressive": lambda order, seed: river(
            [words[k] for k in order], labels[order], "passive-aggressive"
        ),
    }
    for answers in ANSWERS:  # compile
        ours(contexts[:200], labels[:200], answers, 0)
    everything = np.random.default_rng(HALVES).permutation(len(words))
    unseen, rows = everything[len(words) // 2 :], []
    for name, contestant in contestants.items():
        losses, seconds = played(contestant, np.arange(len(words)))
        row = {"learner": name, "losses": losses, "microseconds": 1e6 * min(seconds) / len(words)}
        rows.append(row | {"unseen": played(contestant, unseen)[0]})
    distinct = len({word for found in words for word in found})
    return {"sentences": len(words), "unseen": len(unseen), "words": distinct, "rows": rows}


def played(contestant: Any, sentences: Any) -> tuple[list[float], list[float]]:
    """Losses and seconds on some sentences, over the shuffles."""
    found = []
    for seed in SHUFFLES:
        order = sentences[np.random.default_rng(seed).permutation(len(sentences))]
        found.append(contestant(order, seed))
    return [loss for loss, _ in found], [taken for _, taken in found]


def table(results: dict[str, Any]) -> Table:
    title = (
        f"Ratings of {results['sentences']:,} sentences by {results['words']:,} words: squared loss over the variance, "
        f"{len(SHUFFLES)} shuffles, and microseconds a round"
    )
    headings = ("learner", "loss", "deviation", f"loss on {results['unseen']:,} alone", "µs a round")
    shown = Table(*headings, title=title, title_justify="left")
    for row in results["rows"]:
        losses, unseen = np.array(row["losses"]), np.mean(row["unseen"])
        spread = f"{losses.std():.3f}"
        shown.add_row(row["learner"], f"{losses.mean():.3f}", spread, f"{unseen:.3f}", f"{row['microseconds']:.2f}")
    return shown

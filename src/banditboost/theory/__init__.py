"""Regret bounds: every bound and every prescription of the paper as a function, with explicit constants.

The paper is Brukhim, Hazan, *Online Boosting with Bandit Feedback* (2020). Its definitions, lemmas, claims,
propositions and theorems are numbered by one shared counter, appendix included:

============== ====================================================== =====================================
Claim 11       the recursion behind every bound                       :func:`recursion_bound`
Lemma 10       one step of the chain; unrolled, it holds on every run :func:`unrolled_lemma`
Lemmas 7, 8    the smoothed loss and its gradient estimator           :func:`smoothed_smoothness`
Proposition 5  Algorithm 1, expected regret (Theorem 2)               :func:`projection_free_regret`
Proposition 13 Algorithm 1, with high probability (Theorem 3)         :func:`projection_free_regret`
Theorem 14     Algorithm 1 with bandit feedback                       :func:`projection_free_bandit_regret`
Theorem 9      Algorithm 2, bandit boosting                           :func:`boosting_regret`
============== ====================================================== =====================================

A regret bound that has an argument ``failure`` (ρ) holds in expectation when the argument is left out, and with
probability 1 - ρ when it is given.

>>> from banditboost import theory
>>> copies = theory.projection_free_copies(horizon=10_000, smoothness=1.0, diameter=2.0, sigma=2.0)
>>> learner = theory.ogd_regret(horizon=10_000, sigma=2.0, diameter=2.0)
>>> copies, theory.projection_free_regret(10_000, copies, 1.0, 2.0, learner_regret=learner)
(100, 1400.0)
"""

from banditboost.theory.boosting import boosting_regret, gradient_boosting_regret, weak_distance
from banditboost.theory.chain import chain_weights, recursion_bound, recursion_values, step_lengths
from banditboost.theory.mixing import leader_regret, mix_regret
from banditboost.theory.optimizers import (
    FrankWolfeParameters,
    entropic_range,
    euclidean_range,
    fpl_accuracy,
    fpl_adaptive_regret,
    fpl_inexact_factor,
    fpl_regret,
    fpl_scale,
    ftrl_rate,
    ftrl_regret,
    ogd_regret,
    online_frank_wolfe_parameters,
)
from banditboost.theory.projection_free import (
    martingale_price,
    optimizer_failure,
    projection_free_bandit_copies,
    projection_free_bandit_delta,
    projection_free_bandit_regret,
    projection_free_copies,
    projection_free_regret,
)
from banditboost.theory.smoothing import (
    shrinkage,
    shrinkage_price,
    smoothed_smoothness,
    smoothing_gap,
    sphere_gradient_bound,
)
from banditboost.theory.span import span_bandit_boosting_regret, span_boosting_regret, span_shrinkage_regret
from banditboost.theory.unrolled import UnrolledBracket, unrolled_bracket, unrolled_lemma, unrolled_span

__all__ = [
    "FrankWolfeParameters",
    "UnrolledBracket",
    "boosting_regret",
    "chain_weights",
    "entropic_range",
    "euclidean_range",
    "fpl_accuracy",
    "fpl_adaptive_regret",
    "fpl_inexact_factor",
    "fpl_regret",
    "fpl_scale",
    "ftrl_rate",
    "ftrl_regret",
    "gradient_boosting_regret",
    "leader_regret",
    "martingale_price",
    "mix_regret",
    "ogd_regret",
    "online_frank_wolfe_parameters",
    "optimizer_failure",
    "projection_free_bandit_copies",
    "projection_free_bandit_delta",
    "projection_free_bandit_regret",
    "projection_free_copies",
    "projection_free_regret",
    "recursion_bound",
    "recursion_values",
    "shrinkage",
    "shrinkage_price",
    "smoothed_smoothness",
    "smoothing_gap",
    "span_bandit_boosting_regret",
    "span_boosting_regret",
    "span_shrinkage_regret",
    "sphere_gradient_bound",
    "step_lengths",
    "unrolled_bracket",
    "unrolled_lemma",
    "unrolled_span",
    "weak_distance",
]

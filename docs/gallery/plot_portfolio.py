r"""
Online portfolio selection
==========================

An investor splits a fortune between assets every day and observes only gradients of the return of that split. No projection is
needed: the linear oracle of the simplex picks one asset, and Algorithm 1 mixes N such picks. The comparator is the best constantly
rebalanced portfolio in hindsight, computed to a certified gap.
"""

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

T, assets = 2000, 5
world = bb.worlds.market(rounds=T, assets=assets, seed=3)
best = world.best()
print(f"best rebalanced portfolio {best.point.round(2)}, certified to {best.gap:.1e} of {best.losses.sum():.2f}")

# %%
# The constants of the theorem hold for any market and are therefore cautious. The example compares two variants of Algorithm 1: the
# recipe with follow the perturbed leader, and FTRL with the entropy in its place, both with 40 copies.
space = world.space
recipes = {
    "perturbed leader": bb.algorithms.projection_free(
        space, horizon=T, smoothness=world.smoothness, sigma=world.sigma, copies=40
    ),
    "entropic FTRL": bb.Booster(
        learner=bb.learners.FTRL(sigma=1.2, horizon=T, regularizer="entropic"),
        copies=40,
        gradient=bb.gradients.Stochastic(),
        space=space,
    ),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, booster in recipes.items():
    trace = bb.evaluate.progressive(booster, world)
    trace.compare("best rebalanced portfolio", best.losses)
    regret = trace.regret("best rebalanced portfolio")
    print(f"{name}: regret {regret[-1]:.3f}, wealth x{np.exp(-trace.losses.sum()):.2f}")
    left.plot(np.exp(-trace.cumulative), label=name)
    right.plot(regret, label=name)
left.plot(np.exp(-np.cumsum(best.losses)), "k--", label="best rebalanced portfolio")
left.set(xlabel="day", ylabel="wealth", yscale="log", title="Wealth")
right.set(xlabel="day", ylabel="regret in log wealth", title="Regret against the best rebalanced portfolio")
for ax in (left, right):
    ax.legend()
plt.show()

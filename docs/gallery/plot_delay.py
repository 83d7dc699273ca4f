r"""
Answers that come late
======================

A bid is placed, and whether it paid off is known an hour later, when a hundred other bids have been placed. Every ``ask`` returns
a ticket, and tickets may be told whenever their answers arrive, in any order. This example measures what waiting costs: the same
stream is played with answers that arrive at once, after 10 rounds, after 100 rounds, and after a random delay between 0 and 200
rounds, so that later queries are often answered first.
"""

import heapq

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

T = 2000
world = bb.worlds.SyntheticLinear(rounds=T, features=4, spread=0.2, noise=bb.noise.Uniform(0.1), seed=2)
space = bb.spaces.Interval(-2.0, 2.0)


def late(booster, delays):
    """Play a world and tell ticket t after delays[t] more rounds; tickets that are due after the last round are never told."""
    losses, paid, predictions, waiting = np.empty(T), np.empty(T), np.empty(T), []
    rng, order = np.random.default_rng(0), []
    for t in range(T):
        ticket = booster.ask(world.context(t))
        predictions[t], losses[t] = ticket.prediction, world.values(t, ticket.prediction)
        paid[t] = world.values(t, ticket.queries).mean()
        heapq.heappush(waiting, (t + delays[t], t, ticket))
        while waiting and waiting[0][0] <= t:
            _, number, due = heapq.heappop(waiting)
            booster.tell(due, world.answer(number, due, True, rng))
            order.append(number)
    trace = bb.evaluate.Trace(losses, paid, predictions)
    trace.compare("best linear predictor", world.best_losses)
    return trace, np.mean(np.diff(order) < 0), len(waiting)


# %%
# There are two boosters: linear copies with a control variate, and the default. Learning rates depend on the number of rounds
# *told*, and a ticket carries its own plays and directions. A late answer therefore moves the present weights in a direction that
# was right when the ticket was asked.
ways = {
    "told at once": np.zeros(T, dtype=int),
    "10 rounds late": np.full(T, 10),
    "100 rounds late": np.full(T, 100),
    "0 to 200 rounds late": np.random.default_rng(5).integers(0, 201, T),
}
recipes = {
    "linear copies": lambda: bb.algorithms.bandit_boosting(space, copies=10, gradient=bb.gradients.Surrogate(0.5)),
    "the default": lambda: bb.algorithms.boosted(space, copies=10),
}
traces = {}
print(f"{'regret after':40} {'500':>6} {'2,000':>6}   out of order   never told")
for recipe, make in recipes.items():
    for name, delays in ways.items():
        trace, disorder, lost = late(make(), delays)
        traces[recipe, name] = trace
        regret = trace.regret("best linear predictor")
        print(f"{recipe + ', ' + name:40} {regret[499]:6.1f} {regret[-1]:6.1f} {disorder:14.0%} {lost:12}")

# %%
# Nothing is learned before the first answer arrives, so that a delay costs at least the loss of the rounds before it. With the
# default this is nearly the whole cost: after the first few hundred rounds the curves run in parallel, because on a stream that
# does not change a late answer is worth nearly as much as an early one. Linear copies continue to lose when answers are old. A
# likely reason is that a linear loss has no minimum of its own, so that the copies oscillate around the best line, and answers
# about an earlier point of the oscillation push in the wrong direction. On a stream that changes (see *When the world changes*)
# both boosters would lose more.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for ax, recipe in zip(axes, recipes, strict=True):
    for name in ways:
        traces[recipe, name].plot.regret("best linear predictor", ax=ax, label=name, paid=False)
    ax.set(title=recipe, xscale="log")
axes[1].set_ylabel("")
plt.show()

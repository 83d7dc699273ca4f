r"""
From last month's log to a policy in production
===============================================

A shop has a log of last month's prices, set by a rule that tried other prices now and then, with the density of each. Before it
switches to a booster it asks what the booster would have earned, on a log that the booster has not learned from; it switches if
the whole interval is better; and the booster goes on from there, writing a log of its own.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

folder, space = Path(tempfile.mkdtemp()), bb.spaces.Interval(0.0, 20.0)


def cost(x, price, rng):
    """Return minus the profit: the best price is 8 + 4 x."""
    return 0.1 * (price - 8.0 - 4.0 * x[:, 0]) ** 2 - 5.0 + rng.normal(size=len(x))


def month(seed, n=3000):
    """Return a month of the old rule: prices uniform within 4 of 9, whoever the customer is."""
    rng = np.random.default_rng(seed)
    x, price = rng.uniform(-1, 1, (n, 2)), rng.uniform(5.0, 13.0, n)
    return bb.Log.from_arrays(x, price, cost(x, price, rng), densities=np.full(n, 1 / 8))


last, this = month(0), month(1)

# %%
# A booster learns from last month, and is evaluated on this one.

booster = bb.algorithms.boosted(space, answers=1)
print(booster.learn_from(last))
found = bb.evaluate.off_policy(this, booster)
print(found)
rule = bb.evaluate.off_policy(this, 9.0, space=space)

# %%
# How the answer depends on the bandwidth, which SLOPE has chosen, and that of a fixed price beside it:

figure, ax = plt.subplots()
for result, name in ((found, "the booster"), (rule, "always 9")):
    widths = [point.bandwidth[0] for point in result.curve]
    ax.errorbar(widths, [p.value for p in result.curve], [p.half_width for p in result.curve], fmt="o-", label=name)
ax.axhline(found.logged, linestyle="--", color="grey", label="the rule that wrote the log")
ax.set(xscale="log", xlabel="bandwidth", ylabel="mean loss")
ax.legend()

# %%
# It is better beyond chance and bias, so it goes into production, and writes down what it does.

assert found.interval[1] < found.logged
rng = np.random.default_rng(2)
with bb.LogWriter(folder / "log.csv") as writer:
    booster.log_to(writer)
    for x in rng.uniform(-1, 1, (500, 1, 2)):
        ticket = booster.ask(x[0])
        booster.tell(ticket, cost(x, np.array([ticket.action]), rng))
    booster.log_to(None)
next_month = bb.Log.read(folder / "log.csv", action="action", density="density", ticket="ticket")
own = bb.evaluate.off_policy(next_month, "logging")
print(f"{next_month}: paid {own.value:.2f}, and the old rule paid {found.logged:.2f}")

r"""
Online routing
==============

In every round traffic is split over the paths of a network. The cost changes from round to round: every street has a load that it
carries best. The set of flows has exponentially many corners and no cheap projection; its linear oracle is a shortest path.
"""

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

# A grid of 4 x 4 crossings, streets leading right and down.
size, T = 4, 2000
edges = []
for row in range(size):
    for column in range(size):
        here = row * size + column
        if column + 1 < size:
            edges.append((here, here + 1))
        if row + 1 < size:
            edges.append((here, here + size))
space = bb.spaces.Paths(tuple(edges), source=0, sink=size * size - 1)
print(f"{len(edges)} edges, flows of dimension {space.rank}")

# %%
# In every round each edge has a preferred load, and the cost is quadratic in the deviation from it. The best fixed flow in
# hindsight is exactly the projection of the mean preferred load.
world = bb.worlds.stationary(space, rounds=T, spread=0.7, noise=bb.noise.Uniform(0.2), seed=1)
best = world.best()

figure, ax = plt.subplots(layout="constrained")
for copies in (1, 5, 20, 80):
    booster = bb.algorithms.projection_free(space, horizon=T, sigma=world.sigma, copies=copies)
    trace = bb.evaluate.progressive(booster, world)
    trace.compare("best fixed flow", best.losses)
    regret = trace.regret("best fixed flow")
    print(f"N = {copies:2}: regret per round {regret[-1] / T:.4f}")
    ax.plot(regret, label=f"N = {copies}")
ax.set(xlabel="round", ylabel="regret against the best fixed flow", title="More copies, closer to the convex hull")
ax.legend()
plt.show()

# %%
# The second picture draws the flow that the last booster has learned on the grid.
flow = booster.predict()
figure, ax = plt.subplots(layout="constrained")
for (a, b), load in zip(edges, flow, strict=True):
    (ra, ca), (rb, cb) = divmod(a, size), divmod(b, size)
    ax.plot([ca, cb], [-ra, -rb], color="tab:blue", linewidth=1 + 10 * load, alpha=0.7, solid_capstyle="round")
ax.plot(np.tile(np.arange(size), size), -np.repeat(np.arange(size), size), "k.")
ax.set(title="Traffic learned with N = 80", aspect="equal")
ax.axis("off")
plt.show()

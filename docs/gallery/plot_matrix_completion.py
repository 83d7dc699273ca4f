r"""
Online matrix completion
========================

Every round shows a few noisy entries of a matrix, and the whole matrix must be predicted before they are seen. Decisions lie in the
nuclear ball, the convex hull of rank-one matrices of bounded norm. Its linear oracle needs one pair of singular vectors, whereas a
projection would need all of them. Algorithm 1 mixes N such pairs. The comparator is the best fixed matrix in hindsight, computed to
a certified gap.
"""

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

# A picture of rank 3, of which every round shows 60 of its 2,400 points.
rows, columns, batch, T = 40, 60, 60, 400
y, x = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
picture = np.cos(2 * np.pi * y) * np.sin(3 * np.pi * x)
picture += 0.7 * np.sign(y - 0.5) * np.sign(np.sin(5 * np.pi * x))
picture += 0.5 * (np.abs(y - 0.5) < 0.2) * (np.abs(x - 0.5) < 0.3)

rng = np.random.default_rng(0)
places = rng.integers(rows, size=(T, batch)), rng.integers(columns, size=(T, batch))
observed = picture[places] + rng.uniform(-0.1, 0.1, (T, batch))
space = bb.spaces.NuclearBall(rows, columns, radius=float(np.linalg.norm(picture, "nuc")))
world = bb.worlds.MatrixCompletion(space, *places, observed)
best = world.best()
print(f"best fixed matrix: mean loss {best.losses.mean():.5f}, certified to {best.gap / T:.1e} a round")

# %%
# The bound on gradients that holds for every matrix of the ball is cautious: the gradients of the run are thirty times shorter. All
# methods get a tenth of the length of the first gradient as their ``sigma``, which suits each of them better than the bound.
print(
    f"gradients: at most {world.sigma:.2f} in theory, {np.linalg.norm(world.gradients(0, space.inner_centre)):.2f} at first"
)
sigma = 0.1 * float(np.linalg.norm(world.gradients(0, space.inner_centre)))
recipes = {
    "Algorithm 1, N = 10": bb.Booster(
        learner=bb.learners.FPL(sigma=sigma, horizon=T), copies=10, gradient=bb.gradients.Stochastic(), space=space
    ),
    "Algorithm 1, N = 3": bb.Booster(
        learner=bb.learners.FPL(sigma=sigma, horizon=T), copies=3, gradient=bb.gradients.Stochastic(), space=space
    ),
    "online Frank-Wolfe": bb.algorithms.online_frank_wolfe(space, horizon=T, gradient_bound=sigma),
}
figure, ax = plt.subplots(layout="constrained")
traces = {}
for name, booster in recipes.items():
    traces[name] = trace = bb.evaluate.progressive(booster, world)
    trace.compare("best fixed matrix", best.losses)
    print(f"{name}: regret {trace.regret('best fixed matrix')[-1]:.1f}, last loss {trace.losses[-100:].mean():.4f}")
    ax.plot(trace.running, label=name)
ax.plot(np.cumsum(best.losses) / np.arange(1, T + 1), "k--", label="best fixed matrix")
ax.set(xlabel="round", ylabel="mean loss so far", yscale="log", title="Half the mean squared error on entries to come")
ax.legend()
plt.show()

# %%
# The pictures show how the matrix is learned: the upper row shows the entries seen so far, the lower row the prediction.
moments = (10, 40, 150, T)
figure, grid = plt.subplots(2, len(moments) + 1, figsize=(13, 4.5), layout="constrained")
seen = np.full(space.shape, np.nan)
limits = {"vmin": picture.min(), "vmax": picture.max(), "cmap": "RdBu"}
for k, t in enumerate(moments):
    seen[places[0][:t], places[1][:t]] = observed[:t]
    guess = traces["Algorithm 1, N = 10"].predictions[t - 1]
    error = np.linalg.norm(guess - picture) / np.linalg.norm(picture)
    grid[0, k].imshow(seen, **limits)
    grid[0, k].set_title(f"seen in {t} rounds: {np.isfinite(seen).mean():.0%}")
    grid[1, k].imshow(guess, **limits)
    grid[1, k].set_title(f"predicted, error {error:.0%}")
grid[0, -1].imshow(best.point, **limits)
grid[0, -1].set_title("best fixed matrix")
grid[1, -1].imshow(picture, **limits)
grid[1, -1].set_title("the truth")
for ax in grid.flat:
    ax.axis("off")
plt.show()

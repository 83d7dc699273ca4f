r"""
What a trace can draw
=====================

Every picture is one call on ``trace.plot`` and returns the axes it drew on, so that several pictures can share one figure. This
example draws all of them for one question: how well does boosting linear models from loss values work, and what does each copy do?
"""

import matplotlib.pyplot as plt

import banditboost as bb

T = 4000
space = bb.spaces.Interval(-2.0, 2.0)


def world(seed):
    """Return a world with four features, a linear relation and noisy answers; its best linear predictor is known exactly."""
    return bb.worlds.SyntheticLinear(rounds=T, features=4, spread=0.3, noise=bb.noise.Uniform(0.1), seed=seed)


def run(copies, seed, gradient=None):
    """Run Algorithm 2 once and return the trace."""
    booster = bb.algorithms.bandit_boosting(space, copies=copies, seed=seed, gradient=gradient)
    trace = bb.evaluate.progressive(booster, world(seed))
    trace.compare("best linear predictor", world(seed).best_losses)
    return trace


# %%
# The first figure shows the regret with its bound, and the mean loss so far over five seeds. The bound is that of Theorem 9 for
# this setting, plus the cost of keeping queries in the space, as a function of the horizon; ``bound`` may also be one number or one
# number per round. Worst-case bounds are loose: this one is thousands of times too large, and the axis is therefore logarithmic.
# (The page *Bounds, measured* has a bound that is sharp on every run.) The thick curve is the regret of the loss *paid* at the
# points asked, the thin one that of the predictions, which the bound is about. ``paid=False`` leaves the thick curve out, as on the
# right, where the curve is the mean of five seeds and the band goes from the least to the most.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
runs = [run(10, seed) for seed in range(5)]
delta, away = 0.5, 2.0 + 0.5 + 2.3  # no query, and no point δ around the space, is farther than this from a label
sigma = bb.theory.sphere_gradient_bound(1, away**2, delta, noise_bound=0.1)


def bound(t):
    """Theorem 9. Copies descend at the rate 0.1/√t among weights 20 apart at most, along gradients of norm σ√5 at most."""
    own = (20.0**2 / (2 * 0.1) + 0.1 * 5 * sigma**2) * t**0.5
    legal = bb.theory.shrinkage_price(t, delta, space.inner_radius, 2 * away, space.diameter)
    return bb.theory.boosting_regret(t, 10, 1, 2 * away, space.diameter, delta, learner_regret=own) + legal


runs[0].plot.regret("best linear predictor", bound=bound, ax=left)
left.set(yscale="log", ylim=(1, None))
runs[0].plot.running(runs[1:], ax=right, label="five seeds", paid=False)
right.set_ylim(0, 0.5)
print(f"regret {runs[0].regret('best linear predictor')[-1]:.0f}, bound {bound(T):.0f}")

# %%
# The second figure shows the loss against the number of copies for two gradient estimators, and the bias and variance of several
# estimators, measured along a run. A chain of one copy asks at its start, far from its prediction, and therefore does not represent
# a single linear model fairly. The fair single model is ``algorithms.n_point_fkm``, which does as well here as the longest chain.
# The small bias in the picture is due to chance.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(1, 1.1), layout="constrained")
for name, make in (("OnePoint", bb.gradients.OnePoint), ("Surrogate", bb.gradients.Surrogate)):
    by_copies = {n: [run(n, seed, make(0.5)) for seed in range(5)] for n in (1, 3, 10, 30)}
    late = {n: sum(trace.losses[T // 2 :].mean() for trace in found) / 5 for n, found in by_copies.items()}
    print(f"{name:10}", ", ".join(f"N = {n}: {loss:.3f}" for n, loss in late.items()))
    first = by_copies[1].pop()
    first.plot.copies(1, by_copies, since=T // 2, ax=left, label=name, paid=False)
alone = [bb.evaluate.progressive(bb.algorithms.n_point_fkm(space, queries=30, seed=s), world(s)) for s in range(5)]
print(f"N-FKM      30 questions, one linear model: {sum(trace.losses[T // 2 :].mean() for trace in alone) / 5:.3f}")
booster = bb.algorithms.bandit_boosting(space, copies=10)
ways = [bb.gradients.OnePoint(0.5), bb.gradients.Baseline(0.5), bb.gradients.Surrogate(0.5), bb.gradients.Fitted(0.5)]
report = bb.evaluate.gradient_noise(booster, bb.worlds.SyntheticLinear(400, 4, noise=bb.noise.Uniform(0.1)), ways)
runs[0].plot.noise(report, ax=right)
print(report)

# %%
# The third figure shows how the weights of the copies move. ``Snapshots`` takes one whenever ``take`` is called in a loop of
# your own. Copies trained on linear losses do not agree with each other, and they need not, because the prediction is a weighted
# mean of them. With less noisy gradients their weights fluctuate less.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
place = world(0)
for ax, gradient in zip(axes, (bb.gradients.OnePoint(0.5), bb.gradients.Surrogate(0.5)), strict=True):
    booster = bb.algorithms.bandit_boosting(space, copies=10, gradient=gradient)
    snapshots = bb.evaluate.Snapshots(booster)
    for t in range(1000):
        booster.step(place.context(t), lambda queries, t=t: place.values(t, queries))
        if t % 10 == 9:
            snapshots.take()
    runs[0].plot.weights(snapshots, ax=ax)
    ax.set_title(type(gradient).__name__)
axes[1].set_ylabel("")
plt.show()

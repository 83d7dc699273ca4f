r"""
When the world changes
======================

A relation that was learned may cease to hold. In this example the label is linear in five features, and the weights change once,
half way through. A booster that averages over all rounds keeps predicting the old relation. The example compares three linear
weak learners under the same bandit feedback: one with a falling learning rate, one with a constant rate, and one that needs no
rate. The second part has no contexts and a target that never stops moving.
"""

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

T = 8000
rng = np.random.default_rng(3)
X = rng.uniform(-1, 1, (T, 5))
before = np.array([0.8, -0.5, 0.3, 0.0, 0.2])
after = np.array([-0.4, 0.7, 0.0, 0.6, -0.1])
y = np.where(np.arange(T) < T // 2, X @ before, X @ after) + rng.uniform(-0.1, 0.1, T)
world = bb.worlds.Supervised(X, y, noise=bb.noise.Uniform(0.1))
space = bb.spaces.Interval(-2.0, 2.0)

# %%
# All three learn from ten noisy loss values a round. There are two comparators. One is the best single linear function for all
# rounds in hindsight, which is a poor one here. The other is the best linear function before and after the change, which nobody
# can know in advance.
learners = {
    "falling rate": bb.learners.Linear(rate=bb.rates.Power(0.3, 1.0)),
    "constant rate": bb.learners.Linear(rate=bb.rates.Constant(0.03)),
    "no rate (Coin)": bb.learners.Coin(),
}
runs = {}
for name, learner in learners.items():
    gradient = bb.gradients.Surrogate(0.5)
    booster = bb.algorithms.bandit_boosting(space, copies=10, learner=learner, gradient=gradient)
    runs[name] = trace = bb.evaluate.progressive(booster, world)
    trace.compare("best line for all rounds", bb.evaluate.best_linear(world))
halves = [bb.evaluate.best_linear(bb.worlds.Supervised(X[part], y[part])) for part in (slice(T // 2), slice(T // 2, T))]
right_lines = np.concatenate(halves)

print(f"{'mean squared loss':26} first half  1,000 after the change  last 1,000")
rows = {name: trace.losses for name, trace in runs.items()}
rows |= {"best line for all rounds": runs["constant rate"].comparators["best line for all rounds"]}
rows |= {"right line, told": right_lines}
for name, losses in rows.items():
    print(
        f"{name:26} {losses[: T // 2].mean():10.3f} {losses[T // 2 :][:1000].mean():23.3f} {losses[-1000:].mean():11.3f}"
    )

# %%
# The falling rate is best while nothing changes, and it never recovers from the change. The constant rate and coin betting have
# adapted after a few hundred rounds, and pay for this with twice the loss in the first half. Which one to choose depends on how
# much change you expect. The usual measure, regret against one linear function for all rounds, would have called all three a
# success until the change.
#
# In the second part there are no contexts, and the target is a point that moves in circles through a ball. Algorithm 1 competes
# with the best *fixed* point, which is a poor one here, and does better than that point. Gradient descent with a constant step and
# exact gradients stays close to the target. Where decisions depend on contexts, the default, ``boosted``, follows a world that
# changes by itself (see the page on worlds that change); for moving targets without contexts PyNOL has algorithms with bounds on
# dynamic regret.
ball = bb.spaces.Ball(2, 1.0)
moving = bb.worlds.drifting(ball, rounds=2000, turns=3.0, noise=bb.noise.Uniform(0.1))
boosters = {
    "Algorithm 1": bb.algorithms.projection_free(ball, horizon=2000, smoothness=1.0, sigma=moving.sigma),
    "one copy, constant step": bb.Booster(
        learner=bb.learners.OGD(rate=bb.rates.Constant(0.1)),
        copies=1,
        chain=bb.chains.Single(),
        gradient=bb.gradients.Exact(),
        space=ball,
    ),
}
followed = {name: bb.evaluate.progressive(booster, moving) for name, booster in boosters.items()}
for name, trace in followed.items():
    print(f"{name:26} mean loss {trace.mean:.3f}, best fixed point {moving.best().losses.mean():.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
window = np.ones(200) / 200
for name, losses in rows.items():
    style = {"linestyle": "--", "color": "black" if "right" in name else "gray"} if "line" in name else {}
    left.plot(np.arange(200, T + 1), np.convolve(losses, window, mode="valid"), label=name, **style)
left.axvline(T // 2, color="black", linewidth=0.8)
left.set(
    xlabel="round", ylabel="mean loss of the last 200 rounds", title="The weights turn around once", ylim=(0, None)
)
left.legend(fontsize="small", loc="center left")
for name, trace in followed.items():
    right.plot(np.arange(50, 2001), np.convolve(trace.losses, np.ones(50) / 50, mode="valid"), label=name)
right.axhline(moving.best().losses.mean(), linestyle="--", color="gray", label="best fixed point")
right.set(
    xlabel="round", ylabel="mean loss of the last 50 rounds", title="A target that circles three times", ylim=(0, 0.3)
)
right.legend(fontsize="small")
plt.show()

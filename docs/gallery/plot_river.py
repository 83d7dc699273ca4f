r"""
River models as weak learners
=============================

River has linear models and trees that learn one example at a time, and no boosting regressor. Here its models become weak
learners: ``learners.Wrapped`` gives every copy one and trains it on where the copy's linear loss points. River's metrics read
the predictions. The data are the first 1,000 rows of abalone, shuffled: the number of rings, of which only noisy losses are
ever told.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import linear_model, metrics, optim, preprocessing, tree

import banditboost as bb

T = 1000
data = bb.datasets.load("abalone")
world = bb.worlds.Supervised(data.X, data.y, noise=bb.noise.Uniform(0.1)).shuffled(seed=0).head(T)
space = bb.spaces.Interval(1.0, 29.0)


def scaled_linear():
    """A River pipeline, as weak learner: scale each feature, then a linear model."""
    return preprocessing.StandardScaler() | linear_model.LinearRegression(optim.SGD(0.005), intercept_lr=0.02)


def shallow_tree():
    """A Hoeffding tree that may split soon."""
    return tree.HoeffdingTreeRegressor(grace_period=50, max_depth=3)


# %%
# Every booster asks for ten noisy losses a round, with the same gradient, ``Fitted``, which makes of them one slope for every
# copy. Copies are added up as in gradient boosting, each with a step of 0.3, the first with a whole one.


def boost(model, copies):
    """Copies of a River model, boosted from loss values."""
    return bb.Booster(
        learner=bb.learners.Wrapped(model, curvature=2.0),
        copies=copies,
        chain=bb.chains.Additive(step=0.3, first=1.0),
        gradient=bb.gradients.Fitted(7.0, queries=10 // copies),
        space=space,
    )


def told(model):
    """The model by itself, as River would use it: told every label. A River metric reads what it predicts."""
    metric, losses = metrics.MSE(), np.empty(T)
    for t in range(T):
        x = {f"x{k}": value for k, value in enumerate(world.context(t).tolist())}
        label = float(world.labels(t, t + 1)[0])
        predicted = float(np.clip(model.predict_one(x), 1.0, 29.0))
        metric.update(label, predicted)
        losses[t] = (predicted - label) ** 2
        model.learn_one(x, label)
    assert np.isclose(metric.get(), losses.mean())
    return losses


runs = {}
for name, model in (("linear", scaled_linear), ("tree", shallow_tree)):
    for copies in (1, 10):
        runs[f"River {name}, N = {copies}"] = bb.evaluate.progressive(boost(model, copies), world).losses
    runs[f"River {name}, told labels"] = told(model())
runs["the default, N = 10"] = bb.evaluate.progressive(bb.algorithms.boosted(space, copies=10), world).losses
runs["mean label so far, told labels"] = bb.evaluate.running_mean(world)

print(f"{'squared loss':32} all rounds  last 500")
for name, losses in runs.items():
    print(f"{name:32} {losses.mean():10.2f} {losses[-500:].mean():9.2f}")

# %%
# The first two rows of each kind learned from losses alone and begin at the middle of the range; *told labels* is River as it
# is meant to be used, and begins at nothing. Boosting a *linear* model makes it worse: a sum of lines is a line, and every copy
# adds the noise of its own steps. Trees gain a little, since their sums are not trees of the same depth. The default, with
# trees made for gradients, is better than both; wrap a foreign model for what it can do that ours cannot, not for speed: every
# copy is a Python object per coordinate.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
rounds = np.arange(1, T + 1)
for ax, name in zip(axes, ("linear", "tree"), strict=True):
    for key, losses in runs.items():
        if name in key or "River" not in key:
            style = "--" if "told" in key else "-"
            ax.plot(rounds, np.cumsum(losses) / rounds, style, label=key)
    ax.set(xlabel="round", ylim=(4, 22), xlim=(20, T), title=f"River's {name} model as weak learner")
    ax.legend(fontsize="small")
axes[0].set_ylabel("mean squared loss so far")
plt.show()

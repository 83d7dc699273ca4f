r"""
River models as weak learners
=============================

River has linear models and trees that learn one example at a time, but no boosting regressor. This example uses River's models as
weak learners: ``learners.Wrapped`` gives every copy a model and trains it in the direction of the copy's linear loss. River's
metrics evaluate the predictions. The data are the first 1,000 rows of abalone, shuffled. The number of rings is to be predicted,
and the boosters only ever receive noisy losses.
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
    """Return a River pipeline as weak learner: it scales each feature and then applies a linear model."""
    return preprocessing.StandardScaler() | linear_model.LinearRegression(optim.SGD(0.005), intercept_lr=0.02)


def shallow_tree():
    """Return a Hoeffding tree that may split after few examples."""
    return tree.HoeffdingTreeRegressor(grace_period=50, max_depth=3)


# %%
# Every booster asks for ten noisy losses a round and uses the same gradient, ``Fitted``, which computes one slope for every copy
# from them. The copies are added up as in gradient boosting, the first with a step of 1 and each of the others with a step of 0.3.


def boost(model, copies):
    """Return a booster of copies of a River model that learns from loss values."""
    return bb.Booster(
        learner=bb.learners.Wrapped(model, curvature=2.0),
        copies=copies,
        chain=bb.chains.Additive(step=0.3, first=1.0),
        gradient=bb.gradients.Fitted(7.0, queries=10 // copies),
        space=space,
    )


def told(model):
    """Run the model by itself, as River would use it, with every label; a River metric evaluates its predictions."""
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
# The first two rows of each kind learn from losses alone and start in the middle of the range; the row *told labels* is River as
# it is meant to be used, which starts from a prediction of zero. Boosting a *linear* model makes it worse, because a sum of linear
# functions is a linear function, and every copy adds the noise of its own steps. Trees gain a little, because a sum of trees is
# not a tree of the same depth. The default, whose trees are made for gradients, is better than both. Wrap a foreign model for
# what it can do that ours cannot, and not for speed: every copy needs one Python object per coordinate.
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

r"""
Two prices from profits alone
=============================

A web shop sets the price of a product and of its express delivery for every region and day. It knows what kind of day it is and
sees what it earned at the prices it tried, but it sees no demand curve, no slope and no best price. With the same number of queries
a round, the one-point estimator of Algorithm 2 earns less than the best fixed prices here, while the gradient ``Surrogate`` comes
close to a booster that receives true gradients. All customers are simulated, so that the best prices and the missed profit are
known.
"""

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

# A round is one region on one day. Decisions are changes to the price list, at most 8 up or down for either price.
T, copies, blur = 1000, 12, 8.0
listed, limit = np.array([20.0, 8.0]), 8.0
space = bb.spaces.Box(low=(-limit, -limit), high=(limit, limit))

# Demand for (product, express) falls linearly in both prices: customers who do not buy the product need no delivery.
slope = np.array([[0.5, 0.1], [0.1, 0.4]])
usual = np.array([17.5, 10.0])
effects = np.array([[3.5, 0.5, 1.0], [0.5, 2.0, 2.0]])  # of wealth, rain and weekend
cost = np.array([11.0, 3.0])


def days(rng, rounds):
    """Return contexts: wealth of the region and rain in [-1, 1], weekend 0 or 1, stock in [0, 1]."""
    wealth, rain, stock = rng.uniform(-1, 1, rounds), rng.uniform(-1, 1, rounds), rng.uniform(0, 1, rounds)
    return np.column_stack([wealth, rain, rng.random(rounds) < 2 / 7, stock])


def market(x):
    """Return demand at price zero and unit costs, which rise steeply, and not linearly, when the stock is nearly out."""
    scarcity = 5 * np.exp(-6 * x[..., 3])
    return usual + x[..., :3] @ effects.T, cost + np.stack([scarcity, np.zeros_like(scarcity)], axis=-1)


def profit(x, changes):
    """Return margin times demand, which is concave in the two prices, so that minus the profit is a convex loss."""
    (demand, costs), prices = market(x), listed + changes
    return ((prices - costs) * (demand - prices @ slope.T)).sum(axis=-1)


def slopes(x, changes):
    """Return the gradient of the profit, which no real shop observes."""
    (demand, costs), prices = market(x), listed + changes
    return demand - prices @ slope.T - (prices - costs) @ slope


def best_changes(x):
    """Return the changes at which the gradient of the profit is zero."""
    demand, costs = market(x)
    return np.linalg.solve(slope + slope.T, (demand + costs @ slope).T).T - listed


# %%
# In each round most of the region gets the booster's prediction. Twelve small neighbourhoods are set aside, and each of them gets
# a pair of prices of its own: these are the twelve *queries*. The profit of a neighbourhood is noisy, and the twelve noisy profits
# are all that the booster receives. ``ask`` and ``tell`` are the whole interface: a shop asks before it opens and tells after it
# closes. In this example every ticket is told before the next one is asked, but tickets may also be told late.


def open_shop(recipe, seed, rounds=T):
    """Run a shop and return the booster and the true profits at predictions, in test neighbourhoods and at the best prices."""
    rng = np.random.default_rng(seed)
    contexts, booster, tickets = days(rng, rounds), bb.Booster(space=space, seed=seed, **recipe), []
    for x in contexts:
        ticket = booster.ask(x)
        if ticket.asks == "values":
            profits = profit(x, ticket.queries) + rng.uniform(-blur, blur, len(ticket.queries))
            booster.tell(ticket, -profits)  # the booster minimises, so a profit is told with a minus sign
        else:
            booster.tell(ticket, -slopes(x, ticket.queries))
        tickets.append(ticket)
    earned = profit(contexts, np.array([ticket.prediction for ticket in tickets]))
    tested = profit(contexts[:, np.newaxis], np.array([ticket.queries for ticket in tickets])).mean(axis=1)
    return booster, earned, tested, profit(contexts, best_changes(contexts))


# %%
# All shops that learn from profits have twelve queries a round. The learning rate and the distance δ of the queries are chosen from
# one grid for all shops, on two runs of 300 rounds whose seeds are not used again. ``Baseline`` subtracts the mean of earlier
# profits, which is the textbook remedy for losses far from zero. The last two shops do not boost: they use one linear rule with all
# twelve queries. The booster with true gradients receives twelve of them a round, without noise; it is an upper limit for boosting
# and not a competitor.


def boosted(gradient):
    """Describe a shop with twelve linear rules and one query for each."""
    return lambda scale, delta: {"copies": copies, "learner": linear(scale), "gradient": gradient(delta)}


def alone(gradient):
    """Describe a shop with one linear rule and twelve queries."""
    return lambda scale, delta: {
        "copies": 1,
        "chain": bb.chains.Single(),
        "learner": linear(scale),
        "gradient": gradient(delta, queries=copies),
    }


def linear(scale):
    """Return a learner whose prices are linear in the context."""
    return bb.learners.Linear(radius=20.0, rate=bb.rates.Power(scale, 0.5))


shops = {
    "OnePoint": boosted(bb.gradients.OnePoint),
    "Baseline": boosted(bb.gradients.Baseline),
    "Surrogate": boosted(bb.gradients.Surrogate),
    "true gradients": boosted(lambda delta: bb.gradients.Exact()),
    "OnePoint, one copy": alone(bb.gradients.OnePoint),
    "Surrogate, one copy": alone(bb.gradients.Surrogate),
}
grid = [(scale, delta) for delta in (2.0, 4.0, 6.0) for scale in (0.03, 0.1, 0.3, 1.0)]
chosen = {}
for name, recipe in shops.items():
    choices = grid[:4] if name == "true gradients" else grid  # true gradients have no δ
    totals = [sum(open_shop(recipe(*c), seed, rounds=300)[1].sum() for seed in (100, 101)) for c in choices]
    chosen[name] = choices[int(np.argmax(totals))]

# %%
# The shops are compared with three yardsticks. The last two are computed in hindsight from the known market: profits have the same
# curvature every day, so that the best linear rule is the least-squares fit to the best prices of each round, and the best fixed
# prices are their mean. All profits are given as shares of what the best prices of each round would earn.
seeds = range(4)
yardsticks = {"price list": [], "best fixed prices": [], "best linear rule": []}
for seed in seeds:
    contexts = days(np.random.default_rng(seed), T)
    best = best_changes(contexts)
    assert np.abs(best).max() < limit  # within the limits, so that they cost the yardsticks nothing
    table = np.column_stack([contexts, np.ones(T)])
    rule = np.linalg.lstsq(table, best, rcond=None)[0]
    for name, changes in zip(yardsticks, (np.zeros(2), best.mean(axis=0), table @ rule), strict=True):
        yardsticks[name].append(profit(contexts, changes).sum() / profit(contexts, best).sum())

print(f"{'share of the best achievable profit':36} all rounds  last 200   test  rate, δ")
for name, shares in yardsticks.items():
    print(f"{name:36} {np.mean(shares):10.1%}")
boosters, running = {}, {}
for name, recipe in shops.items():
    runs = [open_shop(recipe(*chosen[name]), seed) for seed in seeds]
    boosters[name] = runs[0][0]
    running[name] = np.array([np.cumsum(earned) / np.cumsum(best) for _, earned, _, best in runs])
    last = np.mean([earned[-200:].sum() / best[-200:].sum() for _, earned, _, best in runs])
    tests = np.mean([tested.sum() / best.sum() for _, _, tested, best in runs])
    scale, delta = chosen[name]
    note = f"{scale:g}" if name == "true gradients" else f"{scale:g}, {delta:g}"
    print(f"{name:36} {running[name][:, -1].mean():10.1%} {last:9.1%} {tests:6.1%}  {note}")

# %%
# The column *test* shows what the test neighbourhoods earned, that is, the cost of asking. ``Surrogate`` compares each answer with
# what a model fitted to the eleven other answers predicts, which removes most of the randomness. It learns faster and needs smaller
# experiments. Small experiments matter because predictions keep a distance δ from the limits on prices, so that no query exceeds
# the limits, and a large δ therefore costs profit. Subtracting a mean achieves part of the same effect.
#
# Boosting itself gains nothing here: the best prices are almost linear in the context, and one linear rule with twelve queries
# does better than twelve rules with one query each, for both gradients. The single rule also asks only around its own prediction,
# while the first copies of a chain ask far from the prediction (see the column *test*). If linear rules suffice, use one copy; with
# or without boosting, use ``Surrogate``.
#
# In the left picture the bands span four seeds, from the lowest to the highest. The right pictures show the prices that the shops
# of the first seed propose for 150 new days.
figure, (left, *scatters) = plt.subplots(1, 3, figsize=(13, 4.4), width_ratios=(1.3, 1, 1), layout="constrained")
colours = {"OnePoint": "tab:orange", "Surrogate": "tab:blue", "true gradients": "tab:green"}
rounds = np.arange(1, T + 1)
for name, colour in colours.items():
    left.fill_between(
        rounds, running[name].min(axis=0), running[name].max(axis=0), color=colour, alpha=0.2, linewidth=0
    )
    left.plot(rounds, running[name].mean(axis=0), color=colour, label=name)
for (name, shares), style in zip(yardsticks.items(), (":", "-.", "--"), strict=True):
    left.axhline(np.mean(shares), color="black", linestyle=style, linewidth=1, label=name)
left.set(xlabel="round", ylabel="share of the best achievable profit", title="Mean profit so far", ylim=(0.83, 1.01))
left.set_yticks((0.85, 0.9, 0.95, 1.0), labels=("85%", "90%", "95%", "100%"))
left.legend(loc="lower right", ncols=2, fontsize="small")

new = days(np.random.default_rng(999), 150)
best = listed + best_changes(new)
for name in ("OnePoint", "Surrogate"):
    proposed = listed + np.array([boosters[name].predict(x) for x in new])
    for j, ax in enumerate(scatters):
        ax.plot(best[:, j], proposed[:, j], ".", color=colours[name], alpha=0.7, label=name)
for j, (ax, title) in enumerate(zip(scatters, ("Product", "Express delivery"), strict=True)):
    ax.axline((listed[j], listed[j]), slope=1, color="black", linewidth=1)
    ax.set(xlabel="best price", ylabel="price proposed", title=title)
    ax.legend(loc="upper left")
plt.show()

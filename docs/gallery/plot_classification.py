r"""
Twenty-six letters from scores alone
====================================

A reader of scanned letters proposes probabilities for the 26 letters. It receives one noisy loss value for each of a few proposals
and never learns which letter it was. This is enough: with 30 loss values a letter, 60 copies read as well as 30 copies that receive
gradients, and even ten values, fewer than there are letters, go a long way. The data set is letter (Slate 1991), shuffled, of which
the first half is used; every letter is predicted before anything is learned from it.
"""

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

# The world knows the classes. A prediction is a point of the simplex; its loss is its squared distance from the letter's vertex.
data = bb.datasets.load("letter", labels="classes")
names = bb.datasets.describe("letter").classes
world = bb.worlds.Classification(data.X, data.y, noise=bb.noise.Uniform(0.1), names=range(26))
world = world.shuffled(seed=0).halves()[0]
space = world.space
print(space, "with", len(world), "letters")

# %%
# Queries lie around the points that the copies have reached, a quarter of the simplex's diameter away, and are projected on the
# simplex, so that every query is a vector of probabilities. A quadratic fitted to thirty noisy loss values gives all copies their
# gradients. The number of copies need not equal the number of values, because the fitted quadratic has a slope at every point.
ways = {
    "10 values a letter": {"answers": 10},
    "30 values a letter": {},
    "30 values a letter, 60 copies": {"answers": 30, "copies": 60},
    "gradients told": {"gradient": bb.gradients.Exact()},
}
runs = {}
for name, options in ways.items():
    booster = bb.algorithms.boosted(space, seed=0, **options)
    runs[name] = bb.evaluate.progressive(booster, world)
    late = world.accuracy(runs[name].predictions, since=len(world) // 2)
    print(f"{name:30} {world.accuracy(runs[name].predictions):6.1%} of all, {late:6.1%} of the last half")

# %%
# The runs above use the compiled loop. A booster can also be used round by round, with ask, tell and predict, as with any other
# space; its queries never leave the simplex.
booster = bb.algorithms.boosted(space)
ticket = booster.ask(world.context(0))
assert space.contains(ticket.queries).all()
booster.tell(ticket, world.answer(0, ticket, True, np.random.default_rng(0)))
print("likeliest after one round:", names[int(booster.predict(world.context(0)).argmax())])

# %%
# The left picture shows the share of correct predictions among the last 1,000 letters. The right picture shows which letters are
# still confused with each other in the last half.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), width_ratios=(1.2, 1), layout="constrained")
window = np.ones(1000) / 1000
for name, trace in runs.items():
    shares = np.convolve(world.hits(trace.predictions), window, mode="valid")
    left.plot(np.arange(1000, len(world) + 1), shares, label=name)
left.set(xlabel="letter", ylabel="right among the last 1,000", ylim=(0, 1))
left.legend(loc="lower right")

late = slice(len(world) // 2, None)
guesses, truth = runs["30 values a letter, 60 copies"].predictions[late].argmax(axis=1), world.classes()[late]
mistaken = np.zeros((26, 26))
np.add.at(mistaken, (truth, guesses), 1)
mistaken /= mistaken.sum(axis=1, keepdims=True)
np.fill_diagonal(mistaken, np.nan)
shown = right.imshow(mistaken, cmap="viridis")
right.set_xticks(range(26), labels=names, fontsize="small")
right.set_yticks(range(26), labels=names, fontsize="small")
right.set(xlabel="taken for", ylabel="letter", title="30 values a letter, 60 copies")
figure.colorbar(shown, ax=right, label="share of a letter's occurrences")
plt.show()

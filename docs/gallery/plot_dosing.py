r"""
A dose for every patient
========================

A drug is given as an infusion and as a single shot. How much of each a patient needs depends on weight, age and kidney function
in an unknown way, and only one noisy score of how the patient did is observed. A decision is a point in a box, and each query is
a dose: every patient of a trial group gets one of a few doses near the proposed one. All patients are simulated, so that the best
dose is known.
"""

import matplotlib.pyplot as plt
import numpy as np

import banditboost as bb

T, blur = 4000, 0.05
space = bb.spaces.Box(low=(0.0, 0.0), high=(4.0, 2.0))  # mg per hour, mg at once: what is safe
rng = np.random.default_rng(0)

# Weight, age and clearance of the kidneys, each scaled to [-1, 1].
patients = rng.uniform(-1, 1, (T, 3))


def best_dose(x):
    """Return the best doses: heavier patients need more, patients with poor kidneys much less, and old patients a smaller shot."""
    weight, age, clearance = x.T
    infusion = 1.8 + 0.7 * weight + 0.9 * np.where(clearance < -0.3, -1.0, 0.4)
    shot = 0.9 + 0.3 * weight - 0.6 * np.maximum(age, 0)
    return np.column_stack([infusion, shot])


def harm(dose, best):
    """Return the harm, which grows with the squared error of the dose; errors in the shot weigh more than in the infusion."""
    return (dose[..., 0] - best[..., 0]) ** 2 + 3 * (dose[..., 1] - best[..., 1]) ** 2


# %%
# In every round one patient comes in, and a group of similar patients gets the doses of the queries. Three "doctors" learn from
# the same number of scores: the default with 12 copies, one linear rule that uses all twelve queries (N-FKM), and Algorithm 2 as
# in the paper. A fourth receives gradients, which no clinic can observe; it is an upper limit and not a competitor.
doctors = {
    "the default": bb.algorithms.boosted(space, copies=12),
    "one linear rule (N-FKM)": bb.algorithms.n_point_fkm(space, queries=12),
    "Algorithm 2, linear": bb.algorithms.bandit_boosting(space, copies=12),
    "the default, told gradients": bb.algorithms.boosted(space, copies=12, gradient=bb.gradients.Exact()),
}
needed = best_dose(patients)
assert space.contains(needed).all()


def slope(dose, best):
    """Return the gradient of the harm, which no clinic observes."""
    return np.stack([2 * (dose[..., 0] - best[0]), 6 * (dose[..., 1] - best[1])], axis=-1)


traces = {}
for name, booster in doctors.items():
    noise, given, paid = np.random.default_rng(1), np.empty((T, 2)), np.empty(T)
    for t in range(T):
        ticket = booster.ask(patients[t])
        scores = harm(ticket.queries, needed[t])
        told = scores + noise.uniform(-blur, blur, len(scores)) if ticket.asks == "values" else None
        booster.tell(ticket, slope(ticket.queries, needed[t]) if told is None else told)
        given[t], paid[t] = ticket.prediction, scores.mean()
    traces[name] = bb.evaluate.Trace(harm(given, needed), paid, given)

# %%
# There are two comparators in hindsight: the best single dose for all patients, and the best rule that is linear in the three
# measurements. The harm is a quadratic of the same shape for every patient, so that both comparators are least-squares fits, one
# coordinate at a time.
table = np.column_stack([patients, np.ones(T)])
rule = np.linalg.lstsq(table, needed, rcond=None)[0]
comparators = {
    "one dose for all": harm(np.broadcast_to(needed.mean(axis=0), needed.shape), needed),
    "best linear rule": harm(table @ rule, needed),
}
print(f"{'mean harm':30} all patients  last 1,000  trial group")
for name, losses in comparators.items():
    print(f"{name:30} {losses.mean():12.3f} {losses[-1000:].mean():11.3f}")
for name, trace in traces.items():
    group = f"{trace.mean_paid:12.3f}" if "gradients" not in name else f"{'-':>12}"
    print(f"{name:30} {trace.mean:12.3f} {trace.losses[-1000:].mean():11.3f} {group}")
    for other, losses in comparators.items():
        trace.compare(other, losses)

# %%
# The default ends with less harm than every linear rule, because trees can follow the jump at poor kidney function. This has a
# cost: the column *trial group* shows the harm to the patients who were given the doses of the queries. The default asks widely
# (a quarter of the box's diameter away), which does more harm than one dose for all patients. A clinic that cannot accept this
# asks closer to the proposal, or asks fewer queries with ``answers=3``. Of the two linear doctors the one without boosting is
# better, as it always was in our tables, because a chain of linear rules is one linear rule.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for name, trace in traces.items():
    trace.plot.regret("best linear rule", ax=left, label=name, paid=False)
left.axhline(0, color="black", linewidth=0.8)
left.set_title("Regret: below zero beats every linear rule")

new = np.column_stack([np.zeros(200), np.zeros(200), np.linspace(-1, 1, 200)])
right.plot(new[:, 2], best_dose(new)[:, 0], "k--", label="right")
for name in ("the default", "one linear rule (N-FKM)", "Algorithm 2, linear"):
    right.plot(new[:, 2], [doctors[name].predict(x)[0] for x in new], label=name)
right.set(xlabel="clearance of the kidneys", ylabel="infusion, mg per hour", title="An average patient")
right.legend(loc="lower right")
plt.show()

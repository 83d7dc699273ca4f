"""At home elsewhere: boosters as estimators of scikit-learn (`interop.sklearn`) and of River (`interop.river`).

Neither library is imported before its module is. Both are *simulations* of learning from loss values: the data has labels,
the estimator turns them into losses at the points that the booster asks about, and tells the booster those numbers alone.
"""

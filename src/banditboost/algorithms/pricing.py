"""One price for every customer, sale or no sale: `boosted` with a critic for sales.

Idea: whether a customer buys at the price shown is all that is learned in a round. A model of demand, `critics.Sales`, learns from
it how likely a sale is in a context at a price, and so which price earns most; the copies of `boosted` learn to predict that price.
Prices shown are drawn around the prediction, as far as the critic doubts (`gradients.FromCritic`).

The expected loss, -price · P(sale | x, price), is not convex in the price: above the price that earns most it flattens out, and its
slope says little there. The critic's curve has a single peak of revenue, and the copies follow the peak and not the slope, so that
they come back from anywhere. Where real demand has several peaks, the critic smooths them into one.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from banditboost.algorithms.boosted import boosted
from banditboost.booster import Booster
from banditboost.critics import Critic, Sales
from banditboost.explore import Explore
from banditboost.gradients import FromCritic
from banditboost.spaces import Space


def pricing(
    space: Space,
    *,
    copies: int = 30,
    explore: Explore | None = None,
    seed: int = 0,
    start: ArrayLike | None = None,
    critic: Critic | None = None,
) -> Booster:
    """Build a booster that shows one price to every customer and learns from sales alone.

    The expected revenue is not concave in the price. The critic's model of it has a single peak, and the copies follow that peak
    instead of a slope; demand with several peaks is smoothed into one.

    Parameters
    ----------
    space
        The prices that may be shown: an `Interval` that starts at zero or above.
    copies
        Number of copies (N).
    explore
        How far from the prediction prices may be shown: ``Explore(most=2.0)`` for "never more than 2 euros off", ``least`` for a
        floor under exploration in markets that change.
    seed
        Makes the run reproducible.
    start
        The price that is predicted before anything is learned; the middle of the space when not given.
    critic
        The model of demand; `critics.Sales` when not given.

    Examples
    --------
    What is told is what was earned, the price of a sale or nothing:

    >>> import banditboost as bb
    >>> import numpy as np
    >>> shop = bb.worlds.Shop(customers=3000, seed=1)
    >>> booster, prices = pricing(shop.space), np.empty(3000)
    >>> for t, x in enumerate(shop.contexts()):
    ...     ticket = booster.ask(x)
    ...     prices[t] = ticket.action
    ...     sold = shop.values(t, prices[t]) < 0
    ...     booster.tell(ticket, rewards=[prices[t] if sold else 0.0])
    >>> print(f"{shop.share(prices):.2f} of the best revenue; a single price could earn {shop.share(shop.best_constant):.2f}")
    0.96 of the best revenue; a single price could earn 0.89
    """
    gradient = FromCritic(Sales() if critic is None else critic, Explore() if explore is None else explore)
    return boosted(space, copies=copies, gradient=gradient, seed=seed, start=start, maximize=True, memory=None)

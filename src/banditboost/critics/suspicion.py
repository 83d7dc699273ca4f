"""Whether what is told for sales can be what was earned: whoever tells 1 for "sold" tells the same number at every price.

Idea: what a sale earns moves with its price, whatever is taken off it and however many pieces were sold. The same number for
several sales in a row, at prices that differ, some of them far from that number, is a mark of a sale and not its price. And what
costs as much as the price, again and again, was earned and told with the wrong sign.
"""

from __future__ import annotations

from dataclasses import dataclass

SALES = 5
"""So many sales in a row must have been told the same number."""
APART = 1.01
"""The highest of their prices must be more than so many times the lowest."""
SAME = 0.01
"""A cost within this share of the price is as high as the price."""
NEAR = 0.25
"""A price within this share of the number may have been rounded to it."""


WANTED = "what was earned, the price for a sale and 0 for none"
"""What must be told, in words."""


@dataclass
class Suspicion:
    """Looks at the losses of prices, and says once which are the same for sales at any price.

    Examples
    --------
    >>> suspicion = Suspicion()
    >>> [suspicion.look(price, -1.0) is None for price in (3.1, 8.4, 6.0, 7.5, 4.2)]
    [True, True, True, True, False]
    """

    reward: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    sales: int = 0
    turned: int = 0
    said: bool = False

    def look(self, price: float, loss: float) -> str | None:
        """Return what cannot have been earned, in words; None where all may have been, or where it was said before."""
        reward = -loss
        if self.said or reward == 0.0 or price <= 0.0:
            return None
        self.turned = self.turned + 1 if abs(loss - price) <= SAME * price else 0
        if self.turned >= SALES:
            self.said = True
            return f"a cost as high as the price for each of {self.turned} sales in a row, as rewards with the wrong sign are"
        if reward < 0.0:  # what costs something is no sale
            return None
        if reward != self.reward:
            self.reward, self.lowest, self.highest, self.sales = reward, price, price, 0
        self.lowest, self.highest = min(self.lowest, price), max(self.highest, price)
        self.sales += 1
        far = max(abs(self.lowest - reward), abs(self.highest - reward)) > NEAR * abs(reward)
        if self.sales < SALES or self.highest <= APART * self.lowest or not far:
            return None
        self.said = True
        return (
            f"{reward:g} for each of {self.sales} sales in a row at prices from {self.lowest:.4g} to {self.highest:.4g}"
        )

"""Learners: banks of N copies that propose points and learn from linear losses. One family per file.

Contextual learners look at a context: linear ones (`Linear`, `ScaleFree`, `Coin`, `SecondOrder`, `Forgetting`, `Wide`), trees
(`Tree`, `Stump`) and networks (`Network`), those that wrap others (`Fourier`, `Standardized`, `Steady`, `Screened`, `Scaled`,
`Mixed`, `ByWidth`) and foreign models (`Wrapped`, and `Refit` on remembered rounds). Online linear optimizers (`FPL`, `OGD`,
`FTRL`, `FrankWolfe`) play in the set itself.
"""

from banditboost.learners.base import Bank, Learner
from banditboost.learners.by_width import ByWidth
from banditboost.learners.coin import Coin
from banditboost.learners.forgetting import Forgetting
from banditboost.learners.fourier import Fourier
from banditboost.learners.fpl import FPL
from banditboost.learners.frank_wolfe import FrankWolfe
from banditboost.learners.ftrl import FTRL
from banditboost.learners.grown import Grown
from banditboost.learners.in_units import InUnits
from banditboost.learners.level import Level
from banditboost.learners.linear import Linear
from banditboost.learners.mixed import Mixed
from banditboost.learners.network import Network
from banditboost.learners.ogd import OGD
from banditboost.learners.refit import Refit
from banditboost.learners.scale_free import ScaleFree
from banditboost.learners.scaled import Scaled
from banditboost.learners.screened import Screened
from banditboost.learners.second_order import SecondOrder
from banditboost.learners.standardized import Standardized
from banditboost.learners.steady import Steady
from banditboost.learners.tree import Stump, Tree
from banditboost.learners.wide import Wide
from banditboost.learners.wrapped import Wrapped

__all__ = [
    "FPL",
    "FTRL",
    "OGD",
    "Bank",
    "ByWidth",
    "Coin",
    "Forgetting",
    "Fourier",
    "FrankWolfe",
    "Grown",
    "InUnits",
    "Learner",
    "Level",
    "Linear",
    "Mixed",
    "Network",
    "Refit",
    "ScaleFree",
    "Scaled",
    "Screened",
    "SecondOrder",
    "Standardized",
    "Steady",
    "Stump",
    "Tree",
    "Wide",
    "Wrapped",
]

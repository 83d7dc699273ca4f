"""Decision sets: convex, bounded sets of decisions, one per file."""

from banditboost.spaces.ball import Ball
from banditboost.spaces.base import Space
from banditboost.spaces.birkhoff import Birkhoff
from banditboost.spaces.box import Box
from banditboost.spaces.counting import CountingSpace
from banditboost.spaces.hull import Hull
from banditboost.spaces.interval import Interval
from banditboost.spaces.l1ball import L1Ball
from banditboost.spaces.nuclear_ball import NuclearBall
from banditboost.spaces.oracle import Oracle
from banditboost.spaces.paths import Paths
from banditboost.spaces.shrunk import Shrunk
from banditboost.spaces.simplex import Simplex
from banditboost.spaces.spectrahedron import Spectrahedron

__all__ = [
    "Ball",
    "Birkhoff",
    "Box",
    "CountingSpace",
    "Hull",
    "Interval",
    "L1Ball",
    "NuclearBall",
    "Oracle",
    "Paths",
    "Shrunk",
    "Simplex",
    "Space",
    "Spectrahedron",
]

"""Named features: from ``{"city": "Rom", "age": 41}`` to indices and values, by a hash that is the same on every machine.

`Encoder` says how contexts become features, and keeps nothing; `Names` is what a booster with an encoder remembers of the names
that it has met: what an index stands for, and which indices several features share.
"""

from banditboost.encoder.encoder import Encoder, Row, chosen
from banditboost.encoder.names import Collisions, Names
from banditboost.encoder.pairs import Pairs
from banditboost.encoder.rows import contexts_of

__all__ = ["Collisions", "Encoder", "Names", "Pairs", "Row", "chosen", "contexts_of"]

"""The paper's five data sets, and a user's own tables in the same form.

Four of the five are part of the package and load without a network; the fifth, slice, is read from a file
that the user downloads. A `Table` holds columns as they were written, `encode` turns them into the paper's
features, and `load` does both and adds the labels.

Examples
--------
>>> from banditboost import datasets
>>> data = datasets.load("abalone").scaled("minmax")
>>> data.X.shape, float(data.X.min()), float(data.X.max()), data.label_range
((4177, 10), 0.0, 1.0, (1.0, 29.0))
"""

from banditboost.datasets.catalog import NAMES, Info, describe, names
from banditboost.datasets.dataset import Dataset
from banditboost.datasets.download import fetch
from banditboost.datasets.encoding import encode
from banditboost.datasets.example_encoding import ExampleEncoding, prepare_examples
from banditboost.datasets.examples import Examples, format_of, read_examples
from banditboost.datasets.loading import available, load
from banditboost.datasets.own import OwnTable, read_own
from banditboost.datasets.own_encoding import Encoding, Prepared, prepare_own
from banditboost.datasets.table import Categorical, Numeric, Table

__all__ = [
    "NAMES",
    "Categorical",
    "Dataset",
    "Encoding",
    "ExampleEncoding",
    "Examples",
    "Info",
    "Numeric",
    "OwnTable",
    "Prepared",
    "Table",
    "available",
    "describe",
    "encode",
    "fetch",
    "format_of",
    "load",
    "names",
    "prepare_examples",
    "prepare_own",
    "read_examples",
    "read_own",
]

"""How files are written whole or not at all, and read without executing anything.

Nothing here knows the algorithm: a file is a header of plain data and arrays by name. The promise of what keeps loading is
stated in `banditboost._storage.model_file`.
"""

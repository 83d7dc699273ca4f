"""Experiments: one file per table or theorem, and beside it a file that presents the results."""

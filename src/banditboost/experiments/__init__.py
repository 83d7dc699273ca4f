"""Experiments: one file per table or theorem, saying what it runs, how it is judged, how it is drawn."""

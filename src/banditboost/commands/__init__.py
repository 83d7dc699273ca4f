"""Commands of the command line, one per file; `cli` registers them."""

"""`python -m banditboost`: the command line, also where its script is not on the path."""

from banditboost.cli.app import main

if __name__ == "__main__":
    main()

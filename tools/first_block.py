"""Runs the first block with prompts of a page, as a reader of the page would: `python tools/first_block.py README.md`.

It needs nothing but the package that the page is about, so that it can be run where only the wheel is installed.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path


def main(page: Path) -> int:
    """Run the block; return 1 where it prints something else than the page says, or where the page has none."""
    found = re.search(r"^```python\n(>>> .*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if found is None:
        print(f"{page} has no block of Python with prompts.")
        return 1
    test = doctest.DocTestParser().get_doctest(found[1], {}, page.name, str(page), 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(test)
    import banditboost

    print(f"{page.name}: {tried} lines, {failed} failed, with banditboost {banditboost.__version__}.")
    return int(failed > 0 or tried == 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

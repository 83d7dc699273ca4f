"""What the page shows is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "interop.md"


def test_the_page_s_examples() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 12
    assert found.failed == 0

"""Numbers of theorems are those of the paper's one counter, wherever code, tests and pages name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "theory.md"
COUNTED = ("Definition", "Theorem", "Lemma", "Proposition", "Claim")
"""What shares the counter; assumptions have one of their own."""
MENTION = re.compile(rf"\b({'|'.join((*COUNTED, 'Assumption'))})s? (\d+)(?!\.?\d)(?:(?:,| and| or) (\d+)(?!\.?\d))?")
ELSEWHERE = re.compile(r"\b(18|19|20)\d\d\b|\bsource's\b|\*Introduction to")
"""What names another source in the same sentence or the line before it."""


def counter() -> dict[tuple[str, int], str]:
    """Return what the page says every number stands for."""
    found: dict[tuple[str, int], str] = {}
    for line in PAGE.read_text().splitlines():
        for kind, first, second in MENTION.findall(line if re.match(r"\| \w+ [\d ]", line) else ""):
            for number in filter(None, (first, second)):
                found.setdefault((kind, int(number)), line)
            break
    return found


def strangers(text: str) -> Iterator[str]:
    """Yield the lines of a text that name a statement which the paper does not have, and no other source for it."""
    known, lines = counter(), text.splitlines()
    for i, line in enumerate(lines):
        around = " ".join(lines[max(0, i - 1) : i + 1])
        for kind, first, second in MENTION.findall(line):
            numbers = [int(number) for number in (first, second) if number]
            if any((kind, number) not in known for number in numbers) and not ELSEWHERE.search(around):
                yield line.strip()


def files() -> list[Path]:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.py")]
    code = [path for room in ("src", "tests", "tools", "benchmarks") for path in (ROOT / room).rglob("*.py")]
    return [path for path in (*pages, *code) if path != Path(__file__)]


def test_the_page_has_the_counter_of_the_paper() -> None:
    # In the order of the text: the appendix goes on counting where the main text ends.
    order = "Definition Theorem Theorem Lemma Proposition Definition Lemma Lemma Theorem Lemma Claim Definition Proposition "
    order += "Theorem Lemma"
    numbered = {(kind, number) for number, kind in enumerate(order.split(), start=1)}
    assert set(counter()) == numbered | {("Assumption", 1), ("Assumption", 2), ("Assumption", 3)}


def test_statements_that_are_named_exist_in_the_paper() -> None:
    found = {str(path.relative_to(ROOT)): list(strangers(path.read_text())) for path in files()}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert sum(len(MENTION.findall(path.read_text())) for path in files()) > 60


def test_wrong_numbers_are_noticed() -> None:
    for wrong in ("Theorem 1 bounds Algorithm 1", "as Definition 3 says", "Lemmas 7, 9", "by Theorem 8.", "Claim 10"):
        assert list(strangers(wrong)) == [wrong], wrong
    for right in (
        "Theorems 2 and 3",
        "Lemma 8 (1)",
        "Zinkevich (2003), Theorem 1",
        "Hazan, *Introduction to OCO*, Theorem 1",
    ):
        assert not list(strangers(right)), right

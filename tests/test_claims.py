"""Every number in README is listed in docs/claims.md and is what the named field holds; broken variants are caught."""

from __future__ import annotations

import copy
import doctest
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tools import claims, provenance

ROOT = Path(__file__).parent.parent
README, PAGE = (ROOT / "README.md").read_text(), (ROOT / "docs" / "claims.md").read_text()
ROWS = claims.rows_of(PAGE)


def test_every_number_in_the_readme_is_listed_and_is_what_its_field_holds() -> None:
    assert claims.problems(README, PAGE) == []


def test_the_page_names_the_command_that_writes_each_file() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for file in {row.file for row in ROWS}:
        assert f"## `{file}`\n\nThe command is `{claims.command_of(file, makefile)}`.\n" in PAGE


@pytest.mark.parametrize("tool", [claims, provenance], ids=lambda tool: tool.__name__)
def test_the_examples_of_the_tools_print_what_they_say(tool: ModuleType) -> None:
    failed, tried = doctest.testmod(tool)
    assert tried
    assert not failed


def test_numbers_of_all_kinds_are_found() -> None:
    kinds = {number.kind for number in claims.numbers_in(README)}
    assert kinds == {"table", "printed", "bound", "name"}
    assert {row.how for row in ROWS} >= {"as it is", "its deviation", "words", ",d"}


def changed(text: str) -> str:
    """Return a number with its last digit changed."""
    place = max(k for k, letter in enumerate(text) if letter.isdigit())
    return f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"


IN_TABLES = [row for row in ROWS if row.how in claims.HOW]
IN_SENTENCES = [row for row in ROWS if row.how not in (*claims.HOW, claims.COMPUTED)]


def in_readme(row: claims.Listed, text: str) -> str:
    """Return README with another number in the place of a row's."""
    if row in IN_SENTENCES:
        bound = re.compile(rf"(<!--= \w+: {re.escape(row.fields[0])}: {re.escape(row.how)} -->)[^<]*(<!--/-->)")
        return bound.sub(rf"\g<1>{text}\g<2>", README, count=1)
    name, _, cell = row.where.partition(": ")
    title = cell.rpartition(", ")[0]
    start = README.index(f"<!-- {name} -->")
    line = re.compile(rf"^\| \*?{re.escape(title)}\*? \|.*$", re.MULTILINE).search(README, start)
    assert line is not None
    place = README.index(row.text, line.start() + len(title) + 4)
    return README[:place] + text + README[place + len(row.text) :]


@pytest.mark.parametrize("row", [*IN_TABLES[::50], *IN_TABLES[1::50]], ids=lambda row: row.where)
def test_a_changed_number_in_a_table_is_caught(row: claims.Listed) -> None:
    found = claims.problems(in_readme(row, changed(row.text)), PAGE)
    assert any("is not listed" in sentence for sentence in found)
    listed_too = PAGE.replace(f"| {row.where} | {row.text} |", f"| {row.where} | {changed(row.text)} |", 1)
    assert listed_too != PAGE
    found = claims.problems(in_readme(row, changed(row.text)), listed_too)
    assert any(f"is not what {row.fields[0]} of {row.file} holds" in sentence for sentence in found)


@pytest.mark.parametrize("row", IN_SENTENCES, ids=lambda row: row.where)
def test_a_changed_number_in_a_sentence_is_caught(row: claims.Listed) -> None:
    text = "nineteen" if row.how.endswith("words") else changed(row.text)
    readme = in_readme(row, text)
    assert readme != README
    assert any(
        sentence.startswith(f"{text} (") and "not listed" in sentence for sentence in claims.problems(readme, PAGE)
    )
    listed_too = PAGE.replace(f"| {row.where} | {row.text} |", f"| {row.where} | {text} |", 1)
    found = claims.problems(readme, listed_too)
    assert any(f"is not what {row.fields[0]} of {row.file} holds: {row.text}" in sentence for sentence in found)


@pytest.mark.parametrize(
    "sentence",
    [
        "It has 12.5 times the accuracy.",
        "It is seventeen times as good.",
        "| and in a table | 0.25 |",
        "Table 2 shows 80% less.",
        "**3x**",
        "Over <!-- three -->3<!-- /three --> shuffles.",
    ],
)
def test_a_number_that_is_not_listed_is_caught(sentence: str) -> None:
    for place in ("## Results\n", "## Where next\n"):
        readme = README.replace(place, f"{place}\n{sentence}\n", 1)
        assert readme != README
        assert len([problem for problem in claims.problems(readme, PAGE) if "bound to no field" in problem]) == 1


def test_a_number_that_is_bound_and_not_listed_is_caught() -> None:
    readme = f"{README}\nOver <!--= paid: protocol.runs: words -->ten<!--/--> shuffles.\n"
    (problem,) = claims.problems(readme, PAGE)
    assert "ten (Over … shuffles.) is not listed" in problem


@pytest.mark.parametrize(
    "text",
    [
        "Table 2 and Algorithm 1, see Theorem 14 of Hazan, Kale 2012.",
        "`answers=30` and Python 3.11",
        "[a link](docs/page2.md)",
        "## Ten lines\n\n```bash\nbanditboost run --copies 30\n```",
    ],
)
def test_names_code_links_and_headings_are_no_claims(text: str) -> None:
    assert claims.problems(f"{README}\n{text}\n", PAGE) == []


def holders(results: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the dictionaries that hold the last key of a path, and that key as it is written there."""
    steps = claims.steps_of(path)
    while steps[-1].startswith("["):
        steps.pop()
    above = ".".join(steps[:-1]).replace(".[", "[")
    for holder in claims.looked_up(results, above) if above else [results]:
        yield from ((holder, name) for name in claims.names_of(steps[-1]) if name in holder)


def without(results: Any, path: str) -> Any:
    """Return results in which the last key of a path is gone."""
    results = copy.deepcopy(results)
    for holder, name in list(holders(results, path)):
        del holder[name]
    return results


def another(results: Any, path: str) -> Any:
    """Return results in which the last key of a path holds something else."""
    results = copy.deepcopy(results)
    for holder, name in holders(results, path):
        value = holder[name]
        holder[name] = (
            [3 * entry + k + 1 for k, entry in enumerate(value)] if isinstance(value, list) else int(not value)
        )
    return results


CHOSEN = [*IN_TABLES[::80], *IN_TABLES[1::80], *IN_SENTENCES]


@pytest.mark.parametrize("row", CHOSEN, ids=lambda row: row.where)
@pytest.mark.parametrize(("spoil", "said"), [(without, "which cannot be read"), (another, "is not what")])
def test_a_field_that_is_gone_or_another_is_caught(
    row: claims.Listed, spoil: Callable[[Any, str], Any], said: str
) -> None:
    spoiled = spoil(claims.read(row.file), row.fields[0])
    found = claims.problems(README, PAGE, lambda file: spoiled if file == row.file else claims.read(file))
    assert any(row.where in sentence and said in sentence for sentence in found)


def test_a_file_that_is_gone_is_caught() -> None:
    def read(file: str) -> Any:
        raise FileNotFoundError(file)

    assert len(claims.problems(README, PAGE, read)) == len(ROWS)


def test_what_is_listed_and_left_out_of_the_readme_is_caught() -> None:
    row = IN_SENTENCES[0]
    assert any("and not in README" in sentence for sentence in claims.problems(in_readme(row, ""), PAGE))


CONDITIONS = {
    r"\bnever (?:told|sees?|saw|shows?|shown|learns?)\b[^.]*\blabels?\b|\bnever (?:a|the) label\b": r"comput|give|shows? it",
    r"\b(?:told|shows?|sees?|given) (?:the booster )?no (?:label|class)\b": r"comput|give|shows? it|losses",
    r"\bin advance how well\b": r"the default has no such bound",
    r"(?m)^(?!\|).*\bboosted`? has a loss\b": r"label could be computed.*\bpays\b.*\btold every label\b",
    r"\bha[sd] a lower loss\b.*\b(?:peers?|learners|each of them)\b": r"\bat its predictions\b.*\bpays more\b",
}
"""What pages may say only with a condition in the same sentence: that labels can be computed, that bounds are not for all, ..."""


def unconditioned(text: str) -> list[str]:
    """Return the sentences, which are lines here, that say something without its condition."""
    lines = [claims.plain(line) for line in claims.FENCE.sub("\n", text).splitlines()]
    return [
        line
        for claim, condition in CONDITIONS.items()
        for line in lines
        if re.search(claim, line) and not re.search(condition, line)
    ]


def test_claims_have_their_condition_in_the_same_sentence() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert [line for page in pages for line in unconditioned(page.read_text())] == []
    assert any(re.search(claim, README) for claim in CONDITIONS)


@pytest.mark.parametrize(
    "sentence",
    [
        "Ours never sees a label.",
        "It learns from thirty values and never a label.",
        "The booster is told no label.",
        "Bounds say in advance how well it will do.",
        "It has a lower loss than six peers.",
    ],
)
def test_a_claim_without_its_condition_is_caught(sentence: str) -> None:
    assert unconditioned(f"{README}\n{sentence}\n") == [sentence]


def test_numbers_that_are_filled_in_follow_their_fields() -> None:
    results = {"protocol": {"runs": 3}, "rows": [{"kind": "a", "seeds": 1000}, {"kind": "b", "seeds": 30}]}
    text = "<!--= x: protocol.runs: words -->?<!--/--> shuffles, <!--= x: rows[kind=b].seeds: d -->?<!--/--> seeds"
    filled = claims.bound_in(text, lambda file: results)
    assert claims.plain(filled) == "three shuffles, 30 seeds"
    with pytest.raises(ValueError, match="names 2 fields"):
        claims.bound_in("<!--= x: rows[].seeds: d -->?<!--/-->", lambda file: results)
    with pytest.raises(ValueError, match=r"protocol\.rows must be a field of results/x\.json"):
        claims.bound_in("<!--= x: protocol.rows: d -->?<!--/-->", lambda file: results)


def test_the_fields_of_a_table_are_found_through_sums_and_selections() -> None:
    rows = [{"kind": kind, "losses": [1.0, 2.0, 4.0], "time": 3.0, "noise": 0.5} for kind in ("a", "b")]

    def table(results: dict[str, Any]) -> provenance.Cells:
        first = next(row for row in results["rows"] if row["noise"] == 0.5)
        both = sum(row["time"] for row in results["rows"])
        return {"loss": [f"{sum(first['losses']):.3f}", f"{both:.3f}"]}

    found = provenance.fields_of({"rows": rows, "unused": 5.0}, table)
    assert found["loss", 0] == [("rows", 0, "losses")]
    assert found["loss", 1] == [("rows", 0, "time"), ("rows", 1, "time")]


def test_counts_and_texts_of_a_table_are_found_too() -> None:
    results = {"written": "2026-11-16", "rows": [{"kind": "a", "held": True}, {"kind": "a", "held": True}]}

    def table(found: dict[str, Any]) -> provenance.Cells:
        return {"a": [str(len(found["rows"])), found["written"][:4], "30"]}

    found = provenance.fields_of(results, table)
    assert found == {("a", 0): [("rows",)], ("a", 1): [("written",)]}


def test_a_number_of_a_table_that_depends_on_nothing_is_caught() -> None:
    row = IN_TABLES[0]
    fields = ", ".join(f"`{field}`" for field in row.fields)
    line = f"| {row.where} | {row.text} | {fields} | {row.how} |"
    assert line in PAGE
    problems = claims.problems(README, PAGE.replace(line, f"| {row.where} | {row.text} |  | {claims.COMPUTED} |"))
    assert any("comes from no field" in sentence for sentence in problems)

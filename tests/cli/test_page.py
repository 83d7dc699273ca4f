"""The page on the shell shows what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.shell import Shell, write

PAGE = (Path(__file__).parent.parent.parent / "docs" / "shell.md").read_text()


def shown_on_the_page(text: str) -> bool:
    """Every line of an output is on the page; times differ from machine to machine."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and "microseconds" not in line]
    return all(line in PAGE.splitlines() for line in lines)


def test_the_page_shows_what_is_printed(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made, used = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(made, {})
    run = shell(
        "run", "houses.csv", "--target", "price", "--save", "houses.bb", "--report", "report", "--log", "losses.csv"
    )
    assert run.out.count("\n") > 20
    assert shown_on_the_page(run.out)
    assert shown_on_the_page(shell("run", "houses.csv", "--target", "prise").err)
    options = ["--category", "built", "--drop", "town", "--explain-columns"]
    assert shown_on_the_page(shell("run", "houses.csv", "--target", "price", *options).out)
    rows = "Bonn,1999-05-01,120,yes\nParis,1.5.1999,,no\nKöln,soon,80 sqm,no\n"
    write(tmp_path / "new.csv", "town,built,area,garden\n" + rows)
    predict = shell("predict", "houses.bb", "new.csv")
    assert predict.err.count("Column '") == 3
    assert shown_on_the_page(predict.err)
    assert shown_on_the_page(shell("predict", "houses.bb", "new.csv", "--strict").err)
    for number, shown in zip(
        predict.out.split()[1:], re.findall(r"^\d{6}\.\d+$", PAGE, flags=re.MULTILINE), strict=True
    ):
        assert float(number) == pytest.approx(float(shown), rel=1e-6)
    explain = shell("explain", "houses.bb", "--top", "4")
    assert shown_on_the_page(explain.out[explain.out.index("weight of each") :])
    exec(used, {})
    assert (tmp_path / "model.bb").exists()
    assert (tmp_path / "losses.parquet").exists()


def test_every_option_has_a_help_text(shell: Shell) -> None:
    import typer

    from banditboost.cli.app import app

    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    assert {"run", "predict", "tune", "explain"} <= set(commands)
    for name in ("run", "predict", "tune", "explain"):
        for parameter in commands[name].params:
            assert getattr(parameter, "help", None), (name, parameter.name)
        assert shell(name, "--help").code == 0

"""The files for containers, as far as they can be checked without an engine: they parse, and name what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import typer
import yaml

from banditboost.cli.app import app

ROOT = Path(__file__).parent.parent
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def options_of(command: str) -> set[str]:
    root: Any = typer.main.get_command(app)
    return {option for one in root.commands[command].params for option in (*one.opts, *one.secondary_opts)}


def check_serve(words: list[str]) -> None:
    """All options of a command that serves are known."""
    given = {word for word in words[words.index("serve") :] if word.startswith("--")}
    assert given <= options_of("serve"), given - options_of("serve")


def test_the_container_file() -> None:
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert {line.split()[0] for line in lines} <= KNOWN
    assert lines[0].startswith("FROM ")
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), source
    extras = re.search(r"\.\[([a-z,]+)\]", text)
    assert extras is not None
    project = (ROOT / "pyproject.toml").read_text()
    for extra in extras[1].split(","):
        assert f"\n{extra} = [" in project
    command = next(line for line in lines if line.startswith("CMD "))
    check_serve(yaml.safe_load(command.removeprefix("CMD ")))


def test_the_compose_file() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert set(services) == {"service", "head", "worker"}
    for one in services.values():
        assert (ROOT / one["build"]["dockerfile"]).exists()
        assert one["volumes"] == ["data:/data"]
    check_serve(shlex.split(services["head"]["command"][0]))

"""`banditboost keys`: keys are made, shown by name, and revoked."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.serve.catalog import Catalog

runner = CliRunner()


def test_keys_are_made_listed_and_revoked(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path)]
    key = runner.invoke(
        app, ["keys", "add", *data, "--role", "decide", "--tenant", "acme", "--rate", "50"]
    ).stdout.strip()
    assert key.startswith("bb_")
    name = key.split("_")[1]
    found = Catalog(tmp_path).find_key(key)
    assert found is not None
    assert (found.id, found.tenant, found.role, found.rate) == (name, "acme", "decide", 50.0)
    runner.invoke(app, ["keys", "add", *data, "--role", "read"])
    shown = runner.invoke(app, ["keys", "list", *data]).stdout
    assert f"{name}  acme  decide  50 requests a second\n" in shown
    assert "local  read  no limit of its own" in shown
    assert key not in shown
    assert runner.invoke(app, ["keys", "revoke", *data, name]).stdout == f"Revoked: {name}\n"
    assert Catalog(tmp_path).find_key(key) is None
    wrong = runner.invoke(app, ["keys", "revoke", *data, name])
    assert isinstance(wrong.exception, ValueError)

"""Tests that `make test` leaves out are run by a target of their own, by CI, and fail where they are skipped."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_every_marker_has_a_target_that_ci_runs() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    markers = {line.partition(":")[0] for line in options["markers"]}
    assert set(re.findall(r"not (\w+)", options["addopts"])) == markers
    makefile, steps = (ROOT / "Makefile").read_text(), (ROOT / ".ci" / "run").read_text().splitlines()
    watched = re.search(r"^coverage: .*\n(?:\t.*\n)*", makefile, re.MULTILINE)[0]  # type: ignore[index]
    assert "not ray" in watched
    for marker in markers:
        target = re.search(rf"^([\w-]+): .*\n(?:\t.*\n)*?\t\$\(ALONE\) .*-m {marker}$", makefile, re.MULTILINE)
        assert target is not None, marker
        assert f"make {target[1]}" in steps or (f"not {marker}" not in watched and "make coverage" in steps)
    assert re.search(r"^ALONE := .*pytest .*--no-skips", makefile, re.MULTILINE)


@pytest.mark.parametrize(("option", "status"), [("--no-skips", 1), ("-q", 0)])
def test_skipped_tests_fail_a_run_that_may_skip_none(option: str, status: int, tmp_path: Path) -> None:
    file = tmp_path / "test_skipped.py"
    file.write_text(
        "import pytest\n\ndef test_it():\n    pytest.skip('no cluster here')\n\ndef test_other():\n    pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", "/dev/null"]
    shown = subprocess.run([*command, option, str(file)], cwd=ROOT, capture_output=True, text=True)
    assert shown.returncode == status, shown.stdout
    assert ("1 skipped, and none may be." in shown.stdout) == (status == 1)

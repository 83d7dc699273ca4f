"""Runs the Python blocks of a page in order: plain ones are executed, those with prompts must print what the page says.

A block whose first line is a comment with the name of a file is written to that file, in a folder from which it can be imported.
"""

from __future__ import annotations

import doctest
import importlib
import re
import sys
import types
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\S+\.py)\n")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page: Path) -> list[tuple[int, str]]:
    """Every block of Python in a page, and the line it begins at."""
    text = page.read_text()
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in FENCE.finditer(text)]


def forget(page: Path) -> bool:
    """Forget what was imported from files that a page writes, of which there may be none."""
    named = [found[1] for _, block in blocks(page) if (found := FILE.match(block))]
    tops = {Path(name).parts[0] for name in named}
    for module in [name for name in sys.modules if name.partition(".")[0] in tops]:
        del sys.modules[module]
    importlib.invalidate_caches()
    return bool(named)


def run(page: Path) -> tuple[types.ModuleType, int]:
    """Run a page and return the module that its names end up in, and how many printed results were checked.

    The module is a real one, so that classes defined in a page can be found by their name, as specs are.
    """
    module = types.ModuleType(f"docs_{page.stem}")
    sys.modules[module.__name__] = module
    names, runner = vars(module), doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    written = forget(page)
    if written:
        sys.path.insert(0, str(Path.cwd()))
    for line, block in blocks(page):
        if named := FILE.match(block):
            Path(named[1]).parent.mkdir(parents=True, exist_ok=True)
            Path(named[1]).write_text(block)
            continue
        if ">>>" not in block:
            exec(compile("\n" * line + block, str(page), "exec"), names)
            continue
        example = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line)
        example.globs = names  # it made a copy: later blocks go on with what this one defines
        runner.run(example, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    return module, runner.tries

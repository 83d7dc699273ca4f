"""Do the tests notice? Changes the code in many places, one at a time, and runs the tests that should see it.

Each mutant is one small change (a comparison turned, a constant moved by one, a statement left out) in a copy of the package. A
mutant that no test notices has *survived*: a test is missing there, or the change means nothing. Results are kept as they come, and
a run that is started again goes on where it stopped; a file that has changed since begins anew.

    python tools/mutate.py --mutants 300 --json results/mutants.json
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "banditboost"
TARGETS = ("booster/*.py", "chains/*.py", "gradients/*.py", "spaces/*.py")
GOLDEN = "tests/golden"
TESTS = {
    "booster": (
        GOLDEN,
        "tests/booster/test_booster.py",
        "tests/booster/test_late.py",
        "tests/booster/test_limits.py",
        "tests/evaluate/test_paid.py",
        "tests/journal/test_journal.py",
        "tests/booster/test_processes.py",
        "tests/interop/test_predict_many.py",
        "tests/_storage",
        "tests/algorithms/test_against_paper.py",
    ),
    "chains": (GOLDEN, "tests/test_chains.py", "tests/algorithms/test_span.py", "tests/algorithms/test_boosted.py"),
    "gradients": (
        GOLDEN,
        "tests/gradients",
        "tests/booster/test_late_rule.py",
        "tests/evaluate/test_paid.py",
        "tests/algorithms/test_pricing.py",
        *(f"--ignore=tests/gradients/test_remembered{part}.py" for part in ("", "_robust", "_twice")),  # long streams
    ),
    "spaces": (GOLDEN, "tests/spaces", "tests/_storage"),
}
"""The quick tests of a file, or of a folder; those that notice most come first."""
CHECKS = "tests/checks/test_checks.py"
COMPILED = "tests/evaluate/test_compiled.py"
FORMS = "tests/_compiled/test_forms.py"
WIDER = {
    "booster": ("tests/booster/test_limits.py", "tests/evaluate/test_paid.py", "tests/booster", CHECKS),
    "chains": (FORMS, COMPILED, "tests/_core", "tests/algorithms/test_boosted.py", CHECKS),
    "gradients": (FORMS, "tests/gradients/test_remembered.py", "tests/evaluate/test_paid.py", COMPILED, CHECKS),
    "spaces": (FORMS, CHECKS, "tests/_storage", "tests/algorithms/test_projection_free.py"),
}
"""Further tests, which are run where the quick ones notice nothing."""

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARISONS |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
ARITHMETIC |= {ast.Pow: ast.Mult, ast.Mod: ast.Mult, ast.MatMult: ast.Mult, ast.LShift: ast.RShift}
SWAPS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
SWAPS |= {
    "argmin": "argmax",
    "argmax": "argmin",
    "sum": "max",
    "zeros": "ones",
    "ones": "zeros",
    "floor": "ceil",
    "ceil": "floor",
}


def sites(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every change that can be made, always in the same order: what it is called, and where."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        # Messages and types are not behaviour, and defaults of arguments are seen through their fields.
        hidden: list[ast.AST] = []
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            hidden = [node]
        elif isinstance(node, ast.AnnAssign):
            hidden = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            hidden = [
                *node.decorator_list,
                *(a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.annotation),
            ]
            hidden += [node.returns] if node.returns else []
            hidden += node.body if node.name in ("__repr__", "examples") else []
        for part in hidden:
            skipped |= {id(inner) for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) not in skipped:
            for name in operators(node):
                yield name, node


def operators(node: ast.AST) -> Iterator[str]:
    """The names of the changes that one node allows."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            yield "compare"
        case ast.BinOp() | ast.AugAssign() if type(node.op) in ARITHMETIC:
            yield "arithmetic"
        case ast.BoolOp():
            yield "and-or"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "unary"
        case ast.If() | ast.IfExp() | ast.While():
            yield "negate"
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            yield "plus-one"
            yield "minus-one"
        case ast.Constant(value=bool()):
            yield "flip"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield "return-none"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in SWAPS:
            yield "swap"
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "delete"


def change(tree: ast.Module, number: int) -> tuple[str, int, str, str]:
    """Make one change in place; return its name, its line, and what stood and stands there."""
    name, node = list(sites(tree))[number]
    target: Any = node
    before = ast.unparse(target)
    match name:
        case "compare":
            target.ops[0] = COMPARISONS[type(target.ops[0])]()
        case "arithmetic":
            target.op = ARITHMETIC[type(target.op)]()
        case "and-or":
            target.op = ast.Or() if isinstance(target.op, ast.And) else ast.And()
        case "unary":
            target.op = ast.UAdd() if isinstance(target.op, ast.USub) else ast.Not()
            if isinstance(target.op, ast.Not):
                target.operand = ast.UnaryOp(ast.Not(), target.operand)
        case "negate":
            target.test = ast.UnaryOp(ast.Not(), target.test)
        case "plus-one" | "minus-one":
            target.value += 1 if name == "plus-one" else -1
        case "flip":
            target.value = not target.value
        case "return-none":
            target.value = None
        case "swap":
            field = "id" if isinstance(target, ast.Name) else "attr"
            setattr(target, field, SWAPS[getattr(target, field)])
        case "delete":
            inner = ast.parse("None", mode="eval").body
            if isinstance(target, ast.Expr):
                target.value = inner
            else:
                target.targets = [ast.Name("_", ast.Store())]
    ast.fix_missing_locations(tree)
    first = ast.unparse(target).partition("\n")[0]
    return name, target.lineno, before.partition("\n")[0], first


def laid_out(place: Path) -> Path:
    """Copy package and tests; compiled kernels, which no mutant touches, and data are lent."""
    copy = place / "src" / "banditboost"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "_compiled", "embedded"))
    os.symlink(PACKAGE / "_compiled", copy / "_compiled")
    os.symlink(PACKAGE / "datasets" / "embedded", copy / "datasets" / "embedded")
    shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "pyproject.toml", place)
    return copy


def play(place: Path, tests: tuple[str, ...], log: Path) -> None:
    """Run tests on the copy: in a child that was forked from a parent with all libraries imported, but not ours."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(place)
    sys.path[:0] = [str(place / "src"), str(place)]
    sys.dont_write_bytecode = True
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    import pytest

    os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests])))


def outcome(place: Path, tests: tuple[str, ...], limit: float) -> tuple[str, float]:
    """Run tests; say "survived" where all pass, "killed" where one fails, "timeout" where they do not end."""
    child = multiprocessing.get_context("fork").Process(target=play, args=(place, tests, place / "log.txt"))
    begin = time.perf_counter()
    child.start()
    child.join(limit)
    if child.is_alive():
        child.kill()
        child.join()
        return "timeout", time.perf_counter() - begin
    return {0: "survived", 1: "killed", 2: "killed"}.get(child.exitcode or 0, "crashed"), time.perf_counter() - begin


def tests_of(file: str) -> tuple[str, ...]:
    """Return the tests that should notice a change in a file."""
    return TESTS.get(file) or TESTS[file.partition("/")[0]]


def tried(place: Path, tests: tuple[str, ...], usual: dict[tuple[str, ...], float]) -> tuple[str, float]:
    """Run tests on what was changed, for at most four times as long as they usually take, which is measured by `unchanged`."""
    return outcome(place, tests, 4 * usual[tests] + 10)


def unchanged(place: Path, tests: tuple[str, ...], usual: dict[tuple[str, ...], float]) -> None:
    """Measure how long tests take before anything is changed, once; they must pass."""
    if tests in usual:
        return
    found, seconds = outcome(place, tests, 900)
    if found != "survived":
        told = (place / "log.txt").read_text()[-3000:]
        sys.exit(f"Tests must pass before anything is changed: {' '.join(tests)}\n{told}")
    usual[tests] = seconds


def sample(mutants: int, seed: int) -> list[tuple[str, int]]:
    """Draw mutants, evenly over all places: files, and numbers of their sites."""
    places = []
    for file in sorted(path.relative_to(PACKAGE).as_posix() for pattern in TARGETS for path in PACKAGE.glob(pattern)):
        places += [(file, k) for k, _ in enumerate(sites(ast.parse((PACKAGE / file).read_text())))]
    print(f"{len(places)} possible changes")
    return random.Random(seed).sample(places, min(mutants, len(places)))


def main() -> int:
    """Draw, change, test, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "mutants.json")
    given = parser.parse_args()
    known = (
        {(r["file"], r["site"], r["source"]): r for r in json.loads(given.json.read_text())}
        if given.json.is_file()
        else {}
    )
    for library in ("numpy", "scipy.sparse", "scipy.optimize", "scipy.special", "numba", "pytest"):
        with contextlib.suppress(ImportError):
            __import__(library)  # once, before any child is forked
    results: list[dict[str, Any]] = []
    usual: dict[tuple[str, ...], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy = laid_out(place)
        for done, (file, site) in enumerate(sample(given.mutants, given.seed), start=1):
            source = (PACKAGE / file).read_text()
            key = file, site, hashlib.sha256(source.encode()).hexdigest()[:16]
            for stage, tests in (("quick", tests_of(file)), ("wider", WIDER[file.partition("/")[0]])):
                before = known.get(key)
                if before and (before["outcome"] != "survived" or before.get("tests") in (stage, "wider")):
                    continue
                unchanged(place, tests, usual)
                tree = ast.parse(source)
                name, line, old, new = change(tree, site)
                (copy / file).write_text(ast.unparse(tree))
                found, seconds = tried(place, tests, usual)
                (copy / file).write_text(source)
                known[key] = {
                    **dict(zip(("file", "site", "source"), key, strict=True)),
                    "line": line,
                    "change": name,
                    "before": old,
                    "after": new,
                    "outcome": found,
                    "tests": stage,
                    "seconds": round(seconds + (before["seconds"] if before else 0.0), 2),
                }
                given.json.parent.mkdir(parents=True, exist_ok=True)
                part = given.json.with_suffix(".part")
                part.write_text(json.dumps(list(known.values()), indent=1) + "\n")
                os.replace(part, given.json)
            results.append(known[key])
            r = results[-1]
            told = f"{r['change']}: {r['before']}  ->  {r['after']}"
            print(f"{done:>4} {r['outcome']:<9}{r['seconds']:>6.1f} s  {file}:{r['line']}  {told}", flush=True)
    counts = Counter(r["outcome"] for r in results)
    noticed = len(results) - counts["survived"]
    print(
        f"{len(results)} mutants, {noticed} noticed ({100 * noticed / max(1, len(results)):.0f} %): {dict(counts)}; "
        f"{sum(r['seconds'] for r in results) / max(1, len(results)):.1f} s each"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The first use on a machine: processor seconds of the README's lines with nothing compiled yet, kernel by kernel, and again warm.

Processor time, since it does not depend on what else the machine does. Each program is a fresh process with a compile cache of its
own, empty the first time; the second run finds what the first has compiled.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table

README = Path(__file__).parent.parent / "README.md"
TARGETS = {"cold": 20.0, "warm start": 1.0}
"""Processor seconds; never asserted anywhere."""
HARNESS = """
import json, sys, time
from collections import Counter
from numba.core import event

class Compiled(event.Listener):
    def __init__(self):
        self.stack, self.seconds, self.times = [], Counter(), Counter()
    def on_start(self, began):
        self.stack.append([time.process_time(), 0.0])
    def on_end(self, ended):
        begin, within = self.stack.pop()
        taken = time.process_time() - begin
        function = ended.data["dispatcher"]
        function = getattr(function, "py_func", function)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.seconds[name] += taken - within
        self.times[name] += 1
        if self.stack:
            self.stack[-1][1] += taken

compiled = Compiled()
event.register("numba:compile", compiled)
blocks, marks = json.load(sys.stdin), [time.process_time()]
names = {}
for block in blocks:
    exec(block, names)
    marks.append(time.process_time())
kernels = [[name, seconds, compiled.times[name]] for name, seconds in compiled.seconds.most_common()]
print(json.dumps({"marks": marks, "kernels": kernels}))
"""


def blocks() -> dict[str, list[str]]:
    """Return the README's lines: the ten with ask and tell, and those that run the compiled loop."""
    found = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    lines = ["".join(line[4:] for line in block.splitlines(True) if line[:4] in (">>> ", "... ")) for block in found]
    imports = "".join(line for line in lines[0].splitlines(True) if line.startswith("import "))
    asks = imports + next(block for block in lines if "rng.permutation(" in block)
    runs = next(block for block in lines if "evaluate.progressive(" in block)
    # Seconds of a start are those up to the first learned round, so that a run's own length does not count as waiting.
    first = asks.replace("for row in rng.permutation(len(data.y)):", "for row in rng.permutation(len(data.y))[:2]:")
    return {"the ten lines": [asks], "... and a compiled run": [asks, runs], "... up to the first round": [first]}


def measure() -> list[dict[str, Any]]:
    rows = []
    for name, program in blocks().items():
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (run(program, folder) for _ in range(2))
        row = {"what": name, "cold": cold["marks"][-1], "warm": warm["marks"][-1], "kernels": cold["kernels"]}
        rows.append(row | {"compiled again": len(warm["kernels"])})
    return rows


def run(program: list[str], folder: str) -> dict[str, Any]:
    surroundings = os.environ | {"NUMBA_CACHE_DIR": folder}
    given = {"input": json.dumps(program), "env": surroundings, "capture_output": True, "text": True, "check": True}
    done: Any = subprocess.run([sys.executable, "-c", HARNESS], **given)  # type: ignore[call-overload]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def table(rows: list[dict[str, Any]]) -> Table:
    title = "The README's lines in a fresh environment: processor seconds"
    shown = Table("what", "cold", "warm", "compiled again", "target", title=title, title_justify="left")
    for row in rows:
        up_to_first = "first round" in row["what"]
        target, taken = (TARGETS["warm start"], row["warm"]) if up_to_first else (TARGETS["cold"], row["cold"])
        verdict = f"{'warm' if up_to_first else 'cold'} <= {target:.0f} s: {'met' if taken <= target else 'missed'}"
        shown.add_row(row["what"], f"{row['cold']:.1f}", f"{row['warm']:.2f}", str(row["compiled again"]), verdict)
    longest = max(rows, key=lambda row: len(row["kernels"]))["kernels"][:12]
    for name, seconds, times in longest:
        shown.add_row(f"  compiling {name}" + (f", {times} times" if times > 1 else ""), f"{seconds:.2f}", "", "", "")
    return shown

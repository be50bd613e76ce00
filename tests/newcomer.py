"""A newcomer's path, timed: from `pip install` in a new environment to a report on a Stata file of their own.

    python tests/newcomer.py [FOLDER]        # prints each step, what was answered and the seconds it took

On a busy machine look at the processor's seconds. Two of the steps are mistakes that a newcomer makes; both must be
answered by one sentence that leads on. The Stata file has value labels and a missing answer, as such files do. The
folder keeps the file and the report to look at.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROLES = ["-y", "employed", "-t", "attended", "-z", "invited"]
TRIAL = """
import numpy as np, pandas as pd
rng = np.random.default_rng(1)
n = 800
invited = rng.integers(0, 2, n)
attended = invited * (rng.random(n) < 0.6)
employed = (rng.random(n) < 0.35 + 0.15 * attended).astype(float)
employed[rng.random(n) < 0.02] = np.nan
table = pd.DataFrame({"invited": invited, "attended": attended, "employed": employed,
                      "age": rng.integers(18, 65, n), "region": rng.integers(1, 4, n)})
labels = {"invited": {0: "control", 1: "invited"}, "attended": {0: "no", 1: "yes"},
          "employed": {0: "unemployed", 1: "working"}, "region": {1: "north", 2: "south", 3: "west"}}
table.to_stata("trial.dta", write_index=False, value_labels=labels)
"""


@dataclass(frozen=True)
class Step:
    """One thing that the newcomer does."""

    title: str
    command: list[str]
    code: int
    """Exit code that is expected."""


def steps(root: Path = ROOT) -> list[Step]:
    python, ivicl = "venv/bin/python", "venv/bin/ivicl"
    pip = ["venv/bin/pip", "install", "-qq", "--disable-pip-version-check"]
    fit = [ivicl, "fit", "trial.dta", *ROLES, "-x", "age,region"]
    return [
        Step("a new environment", [sys.executable, "-m", "venv", "venv"], 0),
        Step("install", [*pip, str(root)], 0),
        Step("mistake: Stata without the extra", fit, 2),
        Step("install the extra", [*pip, f"{root}[files]"], 0),
        Step("(the file is made)", [python, "-c", TRIAL], 0),
        Step("mistake: a column that is not there", [ivicl, "fit", "trial.dta", *ROLES, "-x", "Age,regoin"], 2),
        Step("look at the design", [ivicl, "check", "trial.dta", *ROLES, "-x", "age,region"], 0),
        Step("report", [*fit, "--one", "employed=working", "--report", "bounds.html"], 0),
    ]


def walk(folder: Path) -> list[tuple[Step, float, float, str]]:
    """Every step in the folder, with its seconds, those of the processor, and what was said.

    The first step that does not go as it should ends it.
    """
    (folder / "trial.dta").touch()  # the file is there from the beginning; what it holds is made once pandas is
    # As in a new shell: nothing of the environment that runs this.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = []
    for step in steps():
        start, cpu = time.perf_counter(), sum(os.times()[2:4])
        ran = subprocess.run(step.command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
        said = (ran.stdout + ran.stderr).strip()
        if ran.returncode != step.code:
            raise SystemExit(f"{step.title}: exit code {ran.returncode}, not {step.code}.\n{said}")
        done.append((step, time.perf_counter() - start, sum(os.times()[2:4]) - cpu, said))
    return done


def main(folder: str | None = None) -> None:
    place = Path(folder or tempfile.mkdtemp())
    place.mkdir(parents=True, exist_ok=True)
    done = walk(place)
    for step, seconds, cpu, said in done:
        words = "the script" if "-c" in step.command else " ".join(step.command).replace(str(ROOT), ".")
        print(f"== {step.title}: {seconds:.1f} s ({cpu:.1f} s of the processor)\n$ {words}\n{said}\n")
    seconds, cpu = (sum(step[i] for step in done[1:]) for i in (1, 2))
    print(f"From pip install to the report: {seconds:.0f} s ({cpu:.0f} s of the processor), in {place}")


if __name__ == "__main__":
    main(*sys.argv[1:])

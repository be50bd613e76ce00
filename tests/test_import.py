"""`import ivicl` and `ivicl counts` start at once and import nothing heavy."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time

import ivicl
import ivicl.cli
from ivicl.errors import InputError, MissingDependencyError
from ivicl.methods.registry import shipped

HEAVY = ("torch", "sklearn", "matplotlib", "pandas", "onnxruntime", "scipy")


def child(program: str) -> tuple[float, str]:
    """Processor seconds (the machine may be busy) and the output of a fresh interpreter."""
    before = os.times()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system, done.stdout


def test_import_is_light_and_fast():
    bare = min(child("pass")[0] for _ in range(3))
    seconds, out = min(child("import sys, ivicl; print(sorted(sys.modules))") for _ in range(3))
    assert not [name for name in HEAVY if f"'{name}'" in out]
    assert seconds - bare < 0.3


def test_what_the_package_names_is_there_after_a_plain_import():
    _, out = child(
        "import ivicl; print([n for n in dir(ivicl) if not hasattr(ivicl, n)], ivicl.datasets.COUNTS.keys())"
    )
    assert out.startswith("[] ") and "vitamin_a" in out
    assert {"datasets", "IVBounds", "rct_to_iv"} <= set(ivicl.__all__)


CORE_ALONE = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({extras}))
import ivicl
from ivicl.cli import app
from ivicl.methods.registry import shipped
for module in pkgutil.walk_packages(ivicl.__path__, "ivicl."):
    if not module.name.startswith(("ivicl.learn", "ivicl.methods.baselines.parts", "ivicl.benchmarks.variational")):
        importlib.import_module(module.name)
for name, method in shipped().items():
    try:
        ivicl.IVBounds(method=name).fit_counts(ivicl.datasets.COUNTS["cholestyramine"])
        print("runs", name, sep="|")
    except ivicl.errors.MissingDependencyError as error:
        print("needs", name, error, sep="|")
for command in (["train"], ["evaluate"], ["export", "run"], ["prior", "summary"]):
    try:
        app(command, standalone_mode=False)
    except ivicl.errors.MissingDependencyError as error:
        print("command", command[0], error, sep="|")
app(["counts", *"12345678"], standalone_mode=False)
roles = ["-y", "y", "-t", "t", "-z", "z", "-w", "people"]
app(["fit", str(ivicl.datasets.path("vitamin_a")), *roles, "--method", "sharp"], standalone_mode=False)
"""
EXTRAS = ("duckdb", "gpytorch", "linear_operator", "onnx", "onnxscript", "pandas", "pyarrow", "safetensors", "scipy")
EXTRAS += ("sklearn", "sympy", "torch")


def test_the_core_runs_alone():
    """With all extras out of reach every module of the core imports and every method runs that names no extra."""
    _, out = child(CORE_ALONE.format(extras=EXTRAS))
    found = [line.split("|") for line in out.splitlines() if line.startswith(("runs|", "needs|"))]
    assert {name for kind, name, *_ in found if kind == "runs"} == {n for n, m in shipped().items() if m.extra is None}
    sentences = {name: words[0] for kind, name, *words in found if kind == "needs"}
    assert set(sentences) == {name for name, method in shipped().items() if method.extra is not None}
    assert all(f"ivicl[{shipped()[name].extra}]" in words for name, words in sentences.items()), sentences
    commands = [line.split("|")[1:] for line in out.splitlines() if line.startswith("command|")]
    assert [name for name, _ in commands] == ["train", "evaluate", "export", "prior"]
    assert {words for _, words in commands} == {
        "This command needs PyTorch: install it with pip install 'ivicl[train]'."
    }
    assert out.count("Bounds on an average effect") == 2, "counts and fit"


def test_a_missing_extra_is_an_import_error_and_a_wrong_call():
    assert issubclass(MissingDependencyError, ImportError)
    assert issubclass(MissingDependencyError, InputError), "the command line exits with 2"


def test_a_command_shows_what_the_package_logs(monkeypatch, capsys):
    def talk(**_: object) -> None:
        logging.getLogger("ivicl.somewhere").info("three runs to do")
        logging.getLogger("another.library").info("noise")

    monkeypatch.setattr(ivicl.cli, "app", talk)
    for _ in range(2):
        ivicl.cli.main()
    assert capsys.readouterr().err == 2 * "three runs to do\n"
    assert not logging.getLogger("ivicl").handlers


def test_counts_command_is_light_and_fast():
    program = (
        "import sys; sys.argv = ['ivicl', 'counts', *'12345678', '-m', 'balke-pearl']\n"
        "from ivicl.cli import app\napp(standalone_mode=False)\nprint(sorted(sys.modules))"
    )
    seconds, out = min(child(program) for _ in range(2))
    assert not [name for name in HEAVY if f"'{name}'" in out]
    assert seconds < 1.0


def test_version_flag():
    started = time.monotonic()
    _, out = child(
        "import sys; sys.argv = ['ivicl', '--version']; from ivicl.cli import app; app(standalone_mode=False)"
    )
    assert out.strip() == ivicl.__version__
    assert time.monotonic() - started < 60


def test_the_core_runs_without_scipy():
    program = """
import sys
sys.modules["scipy"] = None  # as if it were not installed: any import of it fails
import numpy as np
from ivicl import IVBounds, rct_to_iv
from ivicl.benchmarks.sets import airplane, links, synthetic
for method in ("balke-pearl", "sharp", "manski", "manski-iv", "no-defiers", "late"):
    IVBounds(method=method).fit_counts([158, 14, 0, 0, 52, 12, 23, 78])
IVBounds(method="exact", n_chains=32, n_draws=64).fit_counts([158, 14, 0, 0, 52, 12, 23, 78])
rng = np.random.default_rng(0)
trial = {"t": rng.integers(0, 2, 400), "y": rng.random(400), "a": rng.random(400), "u": rng.random(400)}
import polars as pl
rct_to_iv(pl.DataFrame(trial), treatment="t", outcome="y", observed=["a"], hidden=["u"])
airplane.dataset(), links.dataset(links.SETTINGS[0], 0), synthetic.generate(0, 64)
print("done")
"""
    assert child(program)[1].strip() == "done"

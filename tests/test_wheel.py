"""What people install: the package and the network, whose file training goes on from, and no tests."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = ("py.typed", "weights/ivicl.onnx", "datasets/vitamin_a.csv", "results/report/template.html")
NEEDED += (
    "results/schema.json",
    "data/encoding_rules.json",
    "benchmarks/model_card/exact_reference.npz",
    "benchmarks/model_card/level_reference.npz",
    "learn/recipes/shipped.toml",
)


@pytest.mark.slow
def test_the_archives_hold_what_they_should(tmp_path):
    """The wheel is built from the source archive, as an index would do it."""
    pytest.importorskip("build")
    command = [sys.executable, "-m", "build", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

    (wheel,) = tmp_path.glob("ivicl-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    package = {name.removeprefix("ivicl/") for name in names if name.startswith("ivicl/")}
    written = {path.relative_to(ROOT / "src" / "ivicl").as_posix() for path in (ROOT / "src" / "ivicl").rglob("*.py")}
    assert package.issuperset(NEEDED)
    assert {name for name in package if name.endswith(".py")} == written
    assert {name.split("/")[0].split("-")[0] for name in names} == {"ivicl"}, "the package and its dist-info"
    assert not [name for name in names if name.endswith(".safetensors")]
    assert wheel.stat().st_size < 10e6

    (source,) = tmp_path.glob("ivicl-*.tar.gz")
    with tarfile.open(source) as archive:
        folders = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert {"src", "tests", "docs", "constraints.txt", "README.md"} <= folders, "what the tests read"
    assert not folders & {"records", ".venv-ci", "runs", "site"}

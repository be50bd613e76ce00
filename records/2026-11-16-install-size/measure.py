"""What a fresh install of the core weighs, by package, for one or more commits: python measure.py 5f6ee15 HEAD.

Each commit is unpacked, installed with plain pip into a new environment, and README's first command is run there. Sizes
are those of the files in site-packages, compiled modules included, by the package whose list of files names them.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

FIRST_COMMAND = "fit src/ivicl/datasets/cholestyramine.csv -y y -t t -z z -w people"


def sizes(commit: str) -> dict[str, float]:
    """Megabytes by package, pip itself included."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], capture_output=True, check=True).stdout
        source, environment = Path(folder) / "source", Path(folder) / "environment"
        with tarfile.open(fileobj=io.BytesIO(archive)) as file:
            file.extractall(source, filter="data")
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", source], check=True)
        subprocess.run(
            [environment / "bin" / "ivicl", *FIRST_COMMAND.split()], cwd=source, check=True, stdout=subprocess.DEVNULL
        )
        (site,) = environment.glob("lib/python*/site-packages")
        owner = {
            (site / row[0]).resolve(): record.parent.name.split("-")[0]
            for record in site.glob("*.dist-info/RECORD")
            for row in csv.reader(record.read_text().splitlines())
        }
        found: dict[str, float] = {}
        for path in site.rglob("*"):
            if path.is_file() and not path.is_symlink():
                name = owner.get(path.resolve(), "(made when first run)")
                found[name] = found.get(name, 0.0) + path.stat().st_size / 1e6
        return found


def main() -> None:
    commits = sys.argv[1:] or ["HEAD"]
    columns = [sizes(commit) for commit in commits]
    names = sorted({name for column in columns for name in column}, key=lambda n: -max(c.get(n, 0.0) for c in columns))
    print("| MB | " + " | ".join(commits) + " |\n|---|" + "---:|" * len(commits))
    for name in names:
        print(f"| {name} | " + " | ".join(f"{c[name]:.1f}" if name in c else "" for c in columns) + " |")
    print("| **all** | " + " | ".join(f"**{sum(c.values()):.1f}**" for c in columns) + " |")


if __name__ == "__main__":
    main()

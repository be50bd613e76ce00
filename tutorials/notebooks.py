"""The tutorials as notebooks: read from plain Python, executed, and written for Jupyter and for the site.

    python tutorials/notebooks.py notebooks        # four executed .ipynb files, to open in Jupyter

A source is a Python file in the percent format, which Jupyter (with jupytext), VS Code and PyCharm open as it is:
`# %%` begins a cell of code, `# %% [markdown]` one of text. Outputs are not committed. Every number in them depends on
the model that ships, so that they are made when the documentation is built and when the tests run, and cannot be out of
date. What was executed is kept under `.cache` until the source, the package or its model changes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "ivicl"
CACHE = HERE.parent / ".cache" / "tutorials"
NAMES = ("trialist", "economist", "lift-team", "methodologist")
SECONDS = 900
"""The longest that one cell may take."""


def source(name: str) -> str:
    return (HERE / f"{name}.py").read_text(encoding="utf-8")


def cells(text: str) -> Iterator[tuple[str, str]]:
    """("markdown" | "code", content) of each cell of a file in the percent format."""
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            yield "markdown", "\n".join(re.sub(r"^# ?", "", line) for line in body.strip().splitlines())
        else:
            yield "code", body.strip()


def notebook(name: str) -> Any:
    """The tutorial as a notebook that has not run."""
    from nbformat import v4

    made = v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    for place, (kind, content) in enumerate(cells(source(name))):
        cell = v4.new_markdown_cell(content) if kind == "markdown" else v4.new_code_cell(content)
        cell["id"] = f"{name}-{place}"  # not a random one: the same source gives the same file
        made.cells.append(cell)
    return made


def state(name: str) -> str:
    """A digest of all that decides what a tutorial shows: its source, the package, the model, and whether Spark runs."""
    spark = importlib.util.find_spec("pyspark") is not None
    digest = hashlib.sha256(f"{source(name)}{sys.version}{spark}".encode())
    for path in sorted(path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def executed(name: str) -> Any:
    """The tutorial as a notebook with its outputs; a cell that raises stops with its traceback."""
    import nbformat

    kept = CACHE / f"{name}-{state(name)}.ipynb"
    if kept.exists():
        return nbformat.read(kept, as_version=4)
    import tempfile

    from nbclient import NotebookClient

    made = notebook(name)
    with tempfile.TemporaryDirectory() as scratch:  # what a tutorial writes is not left behind
        client = NotebookClient(made, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": scratch}})
        client.execute(env=_environment())
    for cell in made.cells:
        cell.metadata.pop("execution", None)  # times of day
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{name}-*.ipynb"):
        old.unlink()
    nbformat.write(made, kept)
    return made


def _environment() -> dict[str, str]:
    """This package for the kernel, whatever else is installed; one thread, as the tests run two at a time."""
    import os

    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "OMP_NUM_THREADS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


@dataclass
class Page:
    """A tutorial as Markdown for the site, with the pictures beside it."""

    text: str = ""
    pictures: dict[str, str] = field(default_factory=dict)
    """File name -> SVG."""


def page(name: str, made: Any) -> Page:
    """The executed notebook as a page: code, what it printed, and its pictures."""
    parts, found = [], Page()
    for cell in made.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        printed = "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stdout").rstrip()
        parts += [f"```text\n{printed}\n```"] if printed else []
        for shown in (output.data for output in cell.outputs if "data" in output):
            if "image/svg+xml" in shown:
                file = f"{name}-{len(found.pictures) + 1}.svg"
                found.pictures[file] = shown["image/svg+xml"]
                parts.append(f"![{_caption(cell.source)}]({file})")
            elif "text/markdown" in shown:
                parts.append(shown["text/markdown"])
            elif "text/html" in shown:
                parts.append(f'<div class="output">{shown["text/html"]}</div>')
            elif "text/plain" in shown:
                parts.append(f"```text\n{shown['text/plain']}\n```")
    found.text = "\n\n".join(parts) + "\n"
    return found


def _caption(code: str) -> str:
    """What a picture is called for those who cannot see it: the last line of its cell says how it is made."""
    return f"picture: {code.splitlines()[-1]}".replace("[", "(").replace("]", ")").replace('"', "'")


def main(folder: str = "notebooks") -> None:
    import nbformat

    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        path = Path(folder) / f"{name}.ipynb"
        nbformat.write(executed(name), path)
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])

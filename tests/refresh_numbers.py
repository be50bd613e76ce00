"""Remakes every number in the repository that follows from the shipped model: `python tests/refresh_numbers.py`.

Run it after a new src/ivicl/weights/ivicl.onnx, look at `git diff`, and read the sentences around the numbers: words
are not remade. Parts, which may be named as arguments:

reference   tests/reference_predictions.json: quantiles of three data sets
vectors     tests/data/page_vectors.json: what the page in the browser must answer
figures     the sentence on the model's card in README.md
pages       README.md and docs/*.md: blocks of ```pycon, and of `<!-- run: COMMAND -->` with what it prints

Not among them, because they take hours: figures that come from a record or from `ivicl reproduce` (CONTRIBUTING.md).
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page_vectors
import test_model_file
from ivicl.methods.pretrained.runtime import Model
from printed_blocks import ROOT, pages, printed_blocks, run_command, with_new_numbers, with_new_outputs

FIGURES = re.compile(r"(<!-- figures of the model -->\n).*?(\n<!-- end -->)", re.DOTALL)


def reference() -> None:
    model = Model.shipped()
    found = {"sha256": model.sha256, "quantiles": test_model_file.quantiles(model)}
    write(test_model_file.REFERENCE, json.dumps(found, indent=1) + "\n")


def vectors() -> None:
    """Left as they are where another order of a sum is all that differs."""
    text = page_vectors.as_text()
    if not same(json.loads(text), page_vectors.read()):
        write(page_vectors.PATH, text)


def same(a: Any, b: Any) -> bool:
    """Numbers to seven digits, everything else exactly."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(*pair) for pair in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-7 * max(1.0, abs(a))
    return bool(a == b)


def figures() -> None:
    path = ROOT / "README.md"
    sentence = figures_sentence(Model.shipped().metadata["evaluation"])
    write(path, FIGURES.sub(lambda found: found[1] + sentence + found[2], path.read_text(encoding="utf-8")))


def figures_sentence(evaluation: list[dict[str, float]]) -> str:
    """What a reader in a hurry should know of the card, which travels in the model file."""
    value = {str(entry["line"]): entry["value"] for entry in evaluation}
    quantiles = value["no covariates: mean error of the 0.5 and 99.5 % quantiles"]
    held, width = (
        value[f"synthetic: {name}"] for name in ("interval contains both true ends", "mean width / mean true width")
    )
    return (
        f"Without covariates its 0.5 % and 99.5 % quantiles are {quantiles:.3f} off those of the exact posterior; on\n"
        f"100 studies of the paper's synthetic benchmark its interval held the whole identified set in "
        f"{100 * held:.0f},\nat {width:.2f} times its width."
    )


def all_pages() -> None:
    for path in pages():
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            text = with_new_outputs(path.read_text(encoding="utf-8"), path.name)
        for block in reversed(printed_blocks(text)):
            start, end = block.span
            text = text[:start] + with_new_numbers(block.shown, run_command(block.command)) + text[end:]
        write(path, text)


def write(path: Path, text: str) -> None:
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"changed: {path.relative_to(ROOT)}")


PARTS: dict[str, Callable[[], None]] = {
    "reference": reference,
    "vectors": vectors,
    "figures": figures,
    "pages": all_pages,
}

if __name__ == "__main__":
    asked = sys.argv[1:] or list(PARTS)
    unknown = [name for name in asked if name not in PARTS]
    if unknown:
        raise SystemExit(f"There is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    for name in asked:
        start = time.perf_counter()
        PARTS[name]()
        print(f"{name}: {time.perf_counter() - start:.0f} s")

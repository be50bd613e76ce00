"""Remakes every number in the repository that follows from the shipped model: `python tests/refresh_numbers.py`.

Run it after a new src/ivicl/weights/ivicl.onnx, look at `git diff`, and read the sentences around the numbers: words
are not remade. Parts, which may be named as arguments:

reference   tests/reference_predictions.json: quantiles of three data sets
vectors     tests/data/page_vectors.json: what the page in the browser must answer
pages       README.md, docs/*.md and their pictures, by docs/remake.py

Not among them, because they take hours: figures that come from a record or from `ivicl reproduce` (RELEASING.md).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page_vectors
import test_model_file
from ivicl.methods.pretrained.runtime import Model

ROOT = Path(__file__).parent.parent


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


def pages() -> None:
    """README.md and docs, by the script that stands beside them; it says what it leaves as it is."""
    subprocess.run([sys.executable, str(ROOT / "docs" / "remake.py")], check=True)


def write(path: Path, text: str) -> None:
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"changed: {path.relative_to(ROOT)}")


PARTS: dict[str, Callable[[], None]] = {
    "reference": reference,
    "vectors": vectors,
    "pages": pages,
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

"""Bounds from a published trial with non-compliance, in a few lines.

    python examples/quick_start.py [folder]

Writes a report and a picture into the folder (default: the current one).
"""

from __future__ import annotations

import sys
from pathlib import Path

from ivicl import IVBounds, datasets


def main(folder: str = ".") -> None:
    frame = datasets.load("cholestyramine")
    result = IVBounds().fit(frame, outcome="y", treatment="t", instrument="z", weights="people")
    print(result.summary())

    parts = result.width_parts
    print(parts.sentence())
    print("At 99 %:", [round(end, 3) for end in result.interval(0.01)])
    for finding in result.findings:
        print(f"{finding.grade:>5}  {finding.text}")

    print("Report:", result.report(Path(folder) / "cholestyramine.html", title="Cholestyramine and cholesterol"))
    print("Picture:", result.plot("ladder").save(Path(folder) / "cholestyramine-ladder.png"))


if __name__ == "__main__":
    main(*sys.argv[1:])

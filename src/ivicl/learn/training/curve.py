"""The loss curve of a run as a picture, from its CSV logs."""

from __future__ import annotations

import csv
from pathlib import Path


def draw_curve(folder: Path) -> Path:
    """Draw `loss.png` beside the logs and return its path."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    steps = _read(folder / "log.csv")
    checks = _read(folder / "validation.csv")
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), constrained_layout=True)
    for axis, kinds, title in (
        (axes[0], ("counts", "compressed", "rows"), "effect: negative log probability, nats"),
        (axes[1], ("ends",), "ends of the identified set, nats"),
        (axes[2], ("law",), "law of each row: KL from the truth, nats"),
    ):
        for colour, kind in zip(("#648fff", "#dc267f", "#fe6100"), kinds, strict=False):
            hours, values = _series(steps, kind)
            axis.plot(*_smoothed(hours, values), color=colour, lw=1, alpha=0.6, label=f"{kind}, training")
            hours, values = _series(checks, kind)
            axis.plot(hours, values, "o-", ms=3, color=colour, lw=1, label=f"{kind}, validation")
        axis.set(xlabel="hours", title=title)
        axis.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
        axis.spines[["top", "right"]].set_visible(False)
    path = folder / "loss.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def _series(rows: list[dict[str, str]], name: str) -> tuple[list[float], list[float]]:
    points = [(float(r["seconds"]) / 3600, float(r[name])) for r in rows if r.get(name) and float(r[name]) != 0]
    return [p[0] for p in points], [p[1] for p in points]


def _smoothed(x: list[float], y: list[float], points: int = 200) -> tuple[list[float], list[float]]:
    """Means of consecutive chunks: the noise of single steps hides the curve."""
    size = max(1, len(y) // points)
    chunks = range(0, len(y) - size + 1, size)
    return [sum(x[i : i + size]) / size for i in chunks], [sum(y[i : i + size]) / size for i in chunks]

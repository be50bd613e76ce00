"""What every picture is: a figure and the data behind it, in one style.

Figures are made without pyplot, so that no global state is changed, nothing pops up and nothing has to be closed.
"""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ivicl._shared.writing import cannot_be_written
from ivicl.errors import InputError

INK, ACCENT, SOFT, SECOND = "#1f2933", "#1f5f8b", "#9fb8cc", "#b5541c"
ALARM = "#a61b1b"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    # Ids inside the SVG are hashes: with a constant salt, the same picture gives the same file.
    "svg.hashsalt": "ivicl",
    "svg.fonttype": "path",
}


@dataclass(frozen=True, repr=False)
class Picture:
    """A matplotlib figure and what it shows.

    Examples:
        >>> from tempfile import mkdtemp
        >>> from ivicl import IVBounds
        >>> picture = IVBounds("manski").fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).plot("ladder")
        >>> picture, picture.to_frame()["method"].to_list(), picture.svg()[:4]
        (Picture(ladder, 4 rows of data), ['manski', 'manski-iv', 'balke-pearl', 'late'], '<svg')
        >>> picture.save(Path(mkdtemp()) / "ladder.pdf").name, picture.below("Draft.").caption.startswith("Draft.")
        ('ladder.pdf', True)
    """

    kind: str
    """A key of PICTURES, or "comparison"."""
    figure: Any
    data: dict[str, list[Any]]
    caption: str

    def __repr__(self) -> str:
        rows = len(next(iter(self.data.values())))
        return f"Picture({self.kind}, {rows} rows of data)"

    def below(self, headline: str) -> Picture:
        """The picture with a headline (if any) above it, because a file that is passed on has no summary beside it."""
        if not headline:
            return self
        with styled():
            # At this font size, a line across the figure holds about this many letters.
            wrapped = textwrap.fill(headline, int(14 * self.figure.get_figwidth()))
            self.figure.suptitle(wrapped, color=ALARM, fontsize=8, fontweight="bold", x=0.01, ha="left")
            more = 0.16 * (1 + wrapped.count("\n"))
            self.figure.set_figheight(self.figure.get_figheight() + more)
        return replace(self, caption=f"{headline} {self.caption}")

    def to_frame(self) -> Any:
        """The data behind the picture, as a polars frame."""
        import polars as pl

        return pl.DataFrame(self.data)

    def save(self, path: str | Path) -> Path:
        """Write PNG, PDF, SVG or whatever the suffix says."""
        path = Path(path)
        known = self.figure.canvas.get_supported_filetypes()
        if path.suffix.lstrip(".").lower() not in known:
            raise InputError(
                f"a picture cannot be saved as '{path.name}'; known endings are {', '.join(sorted(known))}."
            )
        try:
            with styled():
                self.figure.savefig(path, dpi=200, metadata=_no_date(path.suffix))
        except OSError as error:
            raise cannot_be_written(path, error) from error
        return path

    def svg(self) -> str:
        """The picture as an SVG element, without the XML header."""
        buffer = io.StringIO()
        with styled():
            self.figure.savefig(buffer, format="svg", metadata=_no_date(".svg"), transparent=True)
        text = buffer.getvalue()
        return text[text.index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.svg()


def styled() -> Any:
    """The style of all pictures, as a context manager: it applies only while a figure is drawn."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def _no_date(suffix: str) -> dict[str, Any]:
    """Metadata without a time stamp, so that the same result gives the same file."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix.lower(), {})


def new_axes(width: float = 6.4, height: float = 3.0) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def legend_above(axes: Any) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, columnspacing=1.5, handlelength=1.6)


def mark_zero(axes: Any) -> None:
    axes.axvline(0, color=INK, linewidth=0.6, linestyle=(0, (3, 3)))

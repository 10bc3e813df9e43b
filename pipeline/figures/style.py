"""The style of figures: legible without colour, reproducible byte for byte, and fit for embedding in a page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

from pipeline.errors import ReportError, adding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, GRID, PAPER = "#1b1f24", "#57606a", "#d5dae0", "#fefefe"
SERIES = ("#0067a8", "#c04a00", "#007a5a", "#9b3d78", "#7a5f00", "#4d4d4d")
"""Colours with a contrast of at least 4.5 to 1 on white, which differ under every common colour blindness."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1.2, 1.4)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1)), (0, (8, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P")
HATCHES = ("", "////", "\\\\\\\\", "xxxx", "----", "||||")

THEME = {
    INK: "ink", SOFT: "soft", GRID: "grid", PAPER: "paper", **{color: f"s{at}" for at, color in enumerate(SERIES)},
}  # fmt: skip
"""The colours that a page may redefine, with the names of its CSS variables."""

RC: Mapping[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": SOFT,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.unicode_minus": False,
    "figure.dpi": 96,
    "figure.facecolor": PAPER,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "path.simplify": False,
    "savefig.dpi": 192,
    "svg.hashsalt": "carrara",
    "svg.id": None,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 9.5,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9.5,
}
"""Settings that override a machine's own matplotlibrc, and the salt of ids in SVG."""

TAG = re.compile("<[^>]*>")
IDENTITY = re.compile(r'(\bid="|url\(#|xlink:href="#)([^")]+)')
DROPPED = re.compile(r"<metadata>.*?</metadata>\s*|<defs>\s*<style.*?</style>\s*</defs>\s*|<!--.*?-->\s*", re.DOTALL)
"""Parts that are dropped when embedding: metadata, comments, and styles, which would apply to the whole page."""


@contextmanager
def styled(**changed: Any) -> Iterator[None]:
    """Draw and save in this style within the block, then restore the process's settings.

    Raises:
        ReportError: if matplotlib is not installed.
    """
    matplotlib = _matplotlib()
    base = _defaults()
    with warnings.catch_warnings(), matplotlib.rc_context({**base, **RC, **changed}):
        # A label may contain a character that the font lacks: a box is drawn instead.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ReportError(f"figures need matplotlib: {adding('report')}") from None
    return matplotlib


@lru_cache(maxsize=1)
def _defaults() -> Mapping[str, Any]:
    defaults: Any = _matplotlib().rcParamsDefault
    return {name: defaults[name] for name in sorted(defaults) if name not in ("backend", "backend_fallback")}


def canvas(width: float, height: float) -> Figure:
    """Return an empty figure of `width` by `height` CSS pixels, without a window or pyplot's list of figures."""
    _matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width / 96, height / 96))


def panel(width: float, height: float, box: tuple[float, float, float, float]) -> tuple[Figure, Axes]:
    """Return a figure with one plot; `box` has the left, bottom, right and top margins in CSS pixels."""
    figure = canvas(width, height)
    left, bottom, right, top = box
    place = (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    return figure, figure.add_axes(place)


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished figure: its file name without suffix, a caption, and a text alternative."""

    name: str
    caption: str
    alt: str
    figure: Figure = field(repr=False)

    def svg(self) -> str:
        """Return the figure as an SVG file with letters as outlines, so that it looks the same on every machine."""
        return self._svg("path")

    def png(self) -> bytes:
        """Return the figure as PNG, with two pixels per CSS pixel."""
        out = BytesIO()
        with styled():
            self.figure.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()

    def inline(self) -> str:
        """Return the figure as an element of a page: letters as text, unique ids, colours as CSS variables."""
        text = self._svg("none")
        body = DROPPED.sub("", text[text.index("<svg") + len("<svg") :])
        body = TAG.sub(self._own, compact(body))
        head = f'<svg class="figure" role="img" aria-label="{escape(self.alt)}"'
        return re.sub(r' (?:width|height)="[\d.]+pt"', "", head + body, count=2).strip()

    def _own(self, found: re.Match[str]) -> str:
        """Return a tag with this figure's ids and colours; the text of labels is not a tag, so it stays as it is."""
        tag = IDENTITY.sub(rf"\g<1>{self.name}-\g<2>", found[0])
        for color, name in THEME.items():
            tag = tag.replace(color, f"var(--{name}, {color})")
        return tag.replace("'DejaVu Sans'", "var(--figure-font, sans-serif)")

    def _svg(self, letters: str) -> str:
        out = BytesIO()
        with styled(**{"svg.fonttype": letters}):
            self.figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        text = out.getvalue().decode("utf-8")
        return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def compact(body: str) -> str:
    r"""Return the body of an SVG without indents, ids of groups, rotations by 0 degrees, and superfluous digits.

    >>> compact('<g id="text_1">\n <text x="50.352512" transform="rotate(-0 50.3 2)">2K</text>\n</g>')
    '<g><text x="50.35">2K</text></g>'
    """
    body = re.sub(r'(<g) id="[^"]*"', r"\1", body)
    body = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", body)
    body = TAG.sub(lambda found: re.sub(r"(\d\.\d\d)\d+", r"\1", re.sub(r"\s*\n\s*", " ", found[0])), body)
    return re.sub(r">\s*\n\s*<", "><", body)


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a figure in CSS pixels, the width for labels at its right, and their most letters."""

    width: int = 470
    height: int = 300
    right: int = 128
    letters: int = 15

    @property
    def apart(self) -> float:
        """The least distance between two labels, as a share of the plot's height."""
        return 13.9 / (self.height - BELOW - ABOVE)


LETTER, WIDE_LETTER = 5.2, 9.6
"""Estimated widths of a label's usual letters, and of its wide ones."""

LEFT, BELOW, ABOVE = 54, 42, 34
"""Margins of a figure in CSS pixels."""

PANEL = Size()
"""A figure among many: three fit side by side on a desktop screen, one on a phone."""

WIDE, NARROW = Size(1040, 400, 236, 30), Size(410, 380, 126, 14)
"""The first figure of a page, on a desktop screen and on a phone."""


def short(label: str, letters: int = PANEL.letters) -> str:
    """Return a label that fits beside a line: the last part of a path, without its middle if it is long.

    >>> short("org/a-model-with-a-very-long-name-8b")
    'a-mode...ame-8b'
    """
    name = label.rstrip("/").rpartition("/")[2] or label
    half = (letters - 3) // 2
    return name if len(name) <= letters else f"{name[: letters - 3 - half]}...{name[-half:]}".replace("\n", " ")


def fitted(label: str, size: Size) -> str:
    """Return a label that fits beside the lines of a figure even if it has many wide letters."""
    for letters in range(size.letters, 5, -1):
        text = short(label, letters)
        if sum(WIDE_LETTER if letter in "mwMW@%" else LETTER for letter in text) <= 0.75 * size.right - 16:
            break
    return text


def spaced(places: Sequence[float], apart: float = PANEL.apart) -> list[float]:
    """Return ascending places moved as little as possible to be at least `apart`, and at most 1.

    >>> spaced([0.1, 0.5, 0.5], 0.062)
    [0.1, 0.5, 0.562]
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + apart) if moved else place)
    top = 1.0
    for at in range(len(moved) - 1, -1, -1):
        moved[at] = min(moved[at], top)
        top = moved[at] - apart
    return [round(place, 6) for place in moved]

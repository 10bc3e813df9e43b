"""A page as one self-contained HTML file, and its figures as files beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from pipeline import __version__
from pipeline.errors import ReportError
from pipeline.figures.scores import MARKS
from pipeline.report.blocks import Page
from pipeline.store.files import written_aside

GENERATOR = "carrara report"
"""What the page says of itself, by which a later run knows a folder of its own."""

INDEX, FIGURES = "index.html", "figures"
CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
HIDING = "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
UNFIT = re.compile(f"[{CONTROLS}{HIDING}]")
"""Characters that a page may not hold, or that would hide or turn round the text about them."""


def fit(text: str) -> str:
    r"""Return a text with its unfit characters written out.

    >>> fit("a\x00b\u202ec\r\nd")
    'a<U+0000>b<U+202E>c\nd'
    """
    return UNFIT.sub(lambda found: f"<U+{ord(found[0]):04X}>", text.replace("\r\n", "\n"))


def html_of(page: Page) -> str:
    """Return a page as HTML that is well-formed XML too; every text of the page is escaped."""
    script = _text("page.js")
    seal = base64.b64encode(hashlib.sha256(script.encode("ascii")).digest()).decode("ascii")
    return _environment().get_template("page.html.j2").render(
        page=page, style=Markup(_text("page.css")), script=Markup(script), seal=seal, signs=MARKS,
        generator=GENERATOR, version=__version__,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _finalized(value: Any) -> Any:
    return fit(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _text(name: str) -> str:
    return files("pipeline.report").joinpath("templates", name).read_text(encoding="ascii")


def write_page(page: Page, out: Path) -> Path:
    """Write a page to ``out`` if that ends in .html, else to ``out/index.html`` with ``out/figures`` beside it.

    A folder of an earlier report is brought up to date: figures that this one lacks are deleted.

    Returns:
        The page's path.

    Raises:
        ReportError: if `out` is a folder with other things in it, or matplotlib is not installed.
    """
    if out.suffix.lower() in (".html", ".htm"):
        return _written(out, html_of(page).encode("utf-8"))
    _refuse_others(out)
    made = {f"{picture.name}.svg": picture.svg().encode("utf-8") for picture in page.pictures}
    made |= {f"{picture.name}.png": picture.png() for picture in page.pictures}
    path = _written(out / INDEX, html_of(page).encode("utf-8"))  # first: by it a folder is known for a report's
    for name, content in made.items():
        _written(out / FIGURES / name, content)
    for old in sorted((out / FIGURES).glob("*.[ps][nv]g")):
        if old.name not in made:
            old.unlink()
    return path


def _refuse_others(out: Path) -> None:
    if out.is_file():
        raise ReportError(f"--out {str(out)!r} is a file: give a folder, or a file name ending in .html")
    index = out / INDEX
    ours = index.is_file() and GENERATOR in index.read_text(encoding="utf-8", errors="replace")[:2000]
    if out.is_dir() and not ours and any(out.iterdir()):
        raise ReportError(f"--out {str(out)!r} holds other files: give a new folder, or a file name ending in .html")


def _written(path: Path, content: bytes) -> Path:
    with written_aside(path) as aside:
        aside.write_bytes(content)
    return path

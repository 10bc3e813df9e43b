"""A page as one self-contained HTML file, and its figures as files beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from pipeline.artifacts.files import atomic_write
from pipeline.errors import ReportError
from pipeline.figures.scores import MARKS
from pipeline.figures.style import Picture
from pipeline.rows import Row
from pipeline.version import __version__


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a prompt.

    `kind` is the role of a marked segment, or ``filler``, ``question``, or ``folded`` for omitted text. `note` is for
    people, for ``folded`` the size of the text; filler has none.
    """

    kind: str
    text: str
    note: str = ""


def parts_of(row: Row, kept: int | None) -> Iterator[Part]:
    """Yield the parts of a row's prompt in order, with `kept` characters on either side of folded filler.

    Filler of up to three times `kept` characters stays whole; None folds nothing. All text from the question's start is
    one part. If keys are withheld, everything before it counts as filler, since nothing is known about needles.
    """
    prompt, at = row["prompt"], 0
    for needle in sorted(row.get("needles", ()), key=lambda needle: int(needle["char_start"])):
        yield from _between(prompt[at : needle["char_start"]], kept)
        tokens = needle["token_end"] - needle["token_start"]
        depth = "" if needle["depth"] is None else f", depth {needle['depth']:.4f}"
        text = prompt[needle["char_start"] : needle["char_end"]].rstrip("\n")
        yield Part(needle["role"], text, f"{needle['role']}{depth}, {tokens} tokens")
        at = needle["char_end"]
    yield from _between(prompt[at : row["question_start"]], kept)
    yield Part("question", prompt[row["question_start"] :], "question")


def _between(text: str, kept: int | None) -> Iterator[Part]:
    text = text.rstrip("\n")
    if not text:
        return
    if kept is None or len(text) <= 3 * kept:
        yield Part("filler", text)
        return
    start = text.rfind("\n", 0, kept) + 1 or kept
    end = text.find("\n", len(text) - kept) + 1 or len(text) - kept
    folded = text[start:end]
    yield Part("filler", text[:start].rstrip("\n"))
    yield Part("folded", "", f"{folded.count(chr(10)):,} lines, {len(folded):,} characters")
    yield Part("filler", text[end:])


@dataclass(frozen=True, slots=True)
class Mark:
    """A model's name; `style` is the index of its colour and marker in figures."""

    label: str
    style: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column's header; numbers are right-aligned. A model's column has its mark."""

    title: str
    numeric: bool = False
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of each row is its header. If `folded`, only the caption shows until it is opened."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    folded: bool = False
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures side by side; `wide` ones take a line each."""

    pictures: Sequence[Picture]
    wide: bool = False
    kind: str = "gallery"


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph."""

    text: str
    kind: str = "note"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section."""

    text: str
    kind: str = "heading"


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of text behind a summary."""

    summary: str
    lines: Sequence[str]
    kind: str = "listing"


@dataclass(frozen=True, slots=True)
class Reply:
    """One model's reply to a row."""

    mark: Mark
    score: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A row that some model failed, with all models' replies; `parts` is its prompt, empty if not available."""

    row_id: str
    facts: str
    question: str
    expected: str
    replies: Sequence[Reply]
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures side by side."""

    rows: Sequence[Failure]
    kind: str = "failures"


@dataclass(frozen=True, slots=True)
class Needle:
    """A marked piece of a window: its role, and its start and size as shares of the window."""

    role: str
    start: float
    size: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply to an example, its score, and why."""

    text: str
    score: str
    why: str


@dataclass(frozen=True, slots=True)
class Example:
    """A row that shows a task: what is asked, where the answer is, and how replies are scored.

    `accepted` are the accepted answers that are shown, `more` is the number of others; `rule` is the scorer's.
    """

    name: str
    facts: str
    question: str
    accepted: Sequence[str]
    more: int
    chance: str
    rule: str
    answers: Sequence[Answer]
    needles: Sequence[Needle]
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples below each other."""

    rows: Sequence[Example]
    kind: str = "examples"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding about a model in a few words, with its interval, and the numbers behind it as evidence."""

    mark: Mark
    text: str
    interval: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The findings on all models, which also serve as a legend of their marks."""

    rows: Sequence[Verdict]
    kind: str = "verdicts"


@dataclass(frozen=True, slots=True)
class Front:
    """The first figure of a page, drawn for wide and narrow screens, with its explanation."""

    wide: Picture
    narrow: Picture
    text: str
    kind: str = "front"


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind a summary."""

    summary: str
    blocks: Sequence[Block]
    kind: str = "fold"


Block = Table | Gallery | Note | Heading | Listing | Failures | Examples | Verdicts | Front | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading and an entry in its contents; `key` is its anchor."""

    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page; `facts` are names and values about its origin, `marks` the models in its figures."""

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    marks: Sequence[Mark] = field(default=())

    @property
    def pictures(self) -> list[Picture]:
        """All pictures, in order."""
        return [picture for section in self.sections for picture in _pictures(section.blocks)]


def _pictures(blocks: Sequence[Block]) -> Iterator[Picture]:
    for block in blocks:
        if isinstance(block, Gallery):
            yield from block.pictures
        elif isinstance(block, Front):
            yield from (block.wide, block.narrow)
        elif isinstance(block, Fold):
            yield from _pictures(block.blocks)


GENERATOR = "carrara report"
"""The generator named in a page, by which a later run recognises a report's folder."""

INDEX, FIGURES = "index.html", "figures"
CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
HIDING = "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
UNFIT = re.compile(f"[{CONTROLS}{HIDING}]")
"""Characters that a page must not contain, or that would hide or reverse the text around them."""


def fit(text: str) -> str:
    r"""Return a text with its unfit characters as code points.

    >>> fit("a\x00b\u202ec\r\nd")
    'a<U+0000>b<U+202E>c\nd'
    """
    return UNFIT.sub(lambda found: f"<U+{ord(found[0]):04X}>", text.replace("\r\n", "\n"))


def html_of(page: Page) -> str:
    """Return a page as HTML that is also well-formed XML; all text is escaped."""
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

    A folder of an earlier report is updated: figures that this page lacks are deleted.

    Returns:
        The page's path.

    Raises:
        ReportError: if `out` is a folder with other files, or matplotlib is not installed.
    """
    if out.suffix.lower() in (".html", ".htm"):
        return _written(out, html_of(page).encode("utf-8"))
    _refuse_others(out)
    made = {f"{picture.name}.svg": picture.svg().encode("utf-8") for picture in page.pictures}
    made |= {f"{picture.name}.png": picture.png() for picture in page.pictures}
    path = _written(out / INDEX, html_of(page).encode("utf-8"))  # first, since it marks the folder as a report's
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
    with atomic_write(path) as aside:
        aside.write_bytes(content)
    return path

"""The parts of a report page, independent of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pipeline.figures.style import Picture
from pipeline.report.excerpts import Part


@dataclass(frozen=True, slots=True)
class Mark:
    """A model's name with its sign; `style` is which colour and marker its lines have."""

    label: str
    style: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column's header; numbers stand flush right. A model's column carries its sign."""

    title: str
    numeric: bool = False
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of each row is its header. `folded` shows the caption alone until it is opened."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    folded: bool = False
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Gallery:
    """Pictures side by side; `wide` ones have a line to themselves."""

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
    """A heading below that of a section."""

    text: str
    kind: str = "heading"


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of text behind a summary, as many as are shown, and how many there are."""

    summary: str
    lines: Sequence[str]
    kind: str = "listing"


@dataclass(frozen=True, slots=True)
class Reply:
    """What one model gave for a row."""

    mark: Mark
    score: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A row that some model failed, with all models' replies; `parts` is its prompt, empty where there is none."""

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
    """A marked piece of a window: its role, where it starts and how much it takes, in parts of the window."""

    role: str
    start: float
    size: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply to an example, what it scores, and why."""

    text: str
    score: str
    why: str


@dataclass(frozen=True, slots=True)
class Example:
    """A row to learn a task from: what is asked, where the answer stands, and how replies are scored.

    `accepted` are answers that are shown, of which there are `more`; `rule` is that of the scorer.
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
    """An answer about a model in a few words: `said`, its interval `sure`, and the figures behind it, `why`."""

    mark: Mark
    said: str
    sure: str
    why: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The answers for all models, which name their signs too."""

    rows: Sequence[Verdict]
    kind: str = "verdicts"


@dataclass(frozen=True, slots=True)
class Front:
    """The first figure of a page, drawn for a desk and for a phone, and what it shows."""

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
    """A part of the page with a heading and a place in its contents; `key` is its anchor."""

    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page: `facts` are names and values of where it comes from, `marks` the models whose lines it shows."""

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    marks: Sequence[Mark] = field(default=())

    @property
    def pictures(self) -> list[Picture]:
        """All pictures, first to last."""
        return [picture for section in self.sections for picture in _pictures(section.blocks)]


def _pictures(blocks: Sequence[Block]) -> Iterator[Picture]:
    for block in blocks:
        if isinstance(block, Gallery):
            yield from block.pictures
        elif isinstance(block, Front):
            yield from (block.wide, block.narrow)
        elif isinstance(block, Fold):
            yield from _pictures(block.blocks)

"""Languages, one file each: labels and sentences in register style.

A text in register style is a label, a colon and a value; a question quotes the label as it appears in the text. Slots
are filled with a number, an id, a node, or a quoted text, so that nothing inflects, agrees, or takes a suffix or a
particle. ``docs/languages.md`` argues this for every slot, and explains how native readers sign and correct sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib import resources

from pipeline.caches import cache
from pipeline.errors import CarraraError, RecipeError, unknown
from pipeline.typed import parse_toml, typed

CODES = ("en", "de", "es", "fr", "pl", "ru", "zh", "ja", "ar", "hi", "id")
"""The codes of the languages (ISO 639-1), with English first, since the others are compared with it."""
FORM = re.compile(r"(?P<subtask>.+)-(?P<text>[a-z]{2})(?:_(?P<asked>[a-z]{2}))?")


@dataclass(frozen=True, slots=True)
class Heads:
    """Headings, followed by a colon or a number."""

    register: str
    pairs: str
    graph: str
    end: str
    question: str


@dataclass(frozen=True, slots=True)
class Labels:
    """Noun phrases in citation form: labels of what is asked for, of decoys and of filler, and headings of columns.

    `column` is the heading of the column of codes.
    """

    code: str
    others: tuple[str, ...]
    filler: tuple[str, ...]
    column: str
    district: str
    year: str
    amount: str
    signed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """Noun phrases about a log: headings, the columns of its new form, and what rules put into these.

    `moved` is the number of hours that are added to a time.
    """

    heading: str
    rules: str
    exceptions: str
    time: str
    component: str
    level: str
    number: str
    short: str
    moved: str
    doubled: str
    padded: str
    signed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Records:
    """Labels of two registers: of employees, with the names of their fields, and of sales that may be cancelled.

    `fields` are two dates (of birth and of hire), a year (of graduation), and three numbers (room, department, phone).
    """

    person: str
    fields: tuple[str, ...]
    entry: str
    date: str
    plot: str
    buyer: str
    cancels: str
    reinstates: str
    signed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A fixed text of one or a few sentences, and the native readers who approved it (none if it is unreviewed)."""

    text: str
    signed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its names, marks, headings, labels, those of a log, and sentences.

    Attributes:
        name, own_name: its name in English and in the language itself.
        version: incremented with every change that affects a row.
        quotes: the quotation marks, with any spaces inside them.
        colon: the text between a label and its value.
        joint: the text between the quoted labels of a list.
    """

    name: str
    own_name: str
    version: int
    quotes: tuple[str, str]
    colon: str
    joint: str
    heads: Heads
    labels: Labels
    log: Log
    records: Records
    sentences: Mapping[str, Sentence] = field(default_factory=dict)

    def sentence(self, name: str, **slots: object) -> str:
        """Return a sentence with its slots filled."""
        return self.sentences[name].text.format(**slots) if slots else self.sentences[name].text

    def quoted(self, texts: Iterable[str]) -> str:
        """Return texts, each quoted, as a list."""
        before, behind = self.quotes
        return self.joint.join(f"{before}{text}{behind}" for text in texts)

    def entry(self, label: str, value: str) -> str:
        """Return a register's line."""
        return f"{label}{self.colon}{value}\n"

    def heading(self, head: str) -> str:
        """Return a heading on a line of its own."""
        return f"{head}{self.colon.rstrip()}\n"

    def question(self, asked: str) -> str:
        """Return a question with its heading."""
        return f"{self.heads.question}{self.colon}{asked}"


@cache
def language(code: str) -> Language:
    """Return a language.

    Raises:
        CarraraError: for an unknown language, or a file that is not complete.
    """
    if code not in CODES:
        raise CarraraError(unknown("language", code, CODES))
    where, table = f"languages/{code}.toml", parse_toml(_file(code))
    sentences = {
        name: typed(Sentence, each, f"{where}: {name}", CarraraError) for name, each in table.pop("sentences").items()
    }
    return replace(typed(Language, table, where, CarraraError), sentences=sentences)


@cache
def digest(*codes: str) -> str:
    """Return the SHA-256 of the files of some languages."""
    return sha256("\0".join(map(_file, codes)).encode()).hexdigest()


def _file(code: str) -> str:
    return (resources.files("pipeline.languages") / f"{code}.toml").read_text(encoding="utf-8")


def only(subtask: str, text: str, asked: str) -> str:
    """Return the language of a question whose text has no language of its own.

    Raises:
        RecipeError: if two languages are named.
    """
    if text != asked:
        raise RecipeError(f"the text of {subtask} has no language: give {subtask}-{asked} for a question in {asked!r}")
    return asked


def joined(*texts: str) -> str:
    """Join sentences with spaces, except after full-width marks, as in Chinese and Japanese."""
    made = ""
    for text in texts:
        made += text if not made or made.endswith(("\u3002", "\uff1f")) else f" {text}"
    return made


def forms_of(subtask: str, text: Iterable[str], asked: Iterable[str]) -> list[str]:
    """Return the names of a subtask for each pair of a text's and a question's language.

    By default, the question is in the language of the text.

    >>> forms_of("niah_s1", ["de", "en"], ["en"]), forms_of("bfs", ["de"], [])
    (['niah_s1-de_en', 'niah_s1-en'], ['bfs-de'])
    """
    pairs = [(one, other) for one in text for other in (tuple(asked) or (one,))]
    return [f"{subtask}-{one}" if one == other else f"{subtask}-{one}_{other}" for one, other in pairs]


def languages_of(subtasks: Iterable[str]) -> list[str]:
    """Return the languages of some subtasks, in the order of CODES; a name without a language is English.

    >>> languages_of(["niah_s1-de_en", "niah_s1-zh"]), languages_of(["standard", "bfs-pl"])
    (['en', 'de', 'zh'], ['en', 'pl'])
    """
    found = {code for each in subtasks for code in (asking(each) or ("", CODES[0]))[1:]}
    return [code for code in CODES if code in found]


def asking(subtask: str) -> tuple[str, str, str] | None:
    """Split a subtask's name into the subtask, its text's language and its question's; None if it has none.

    >>> asking("niah_s1-de_en"), asking("niah_s1-de"), asking("standard-essay"), asking("niah_s1-xx")
    (('niah_s1', 'de', 'en'), ('niah_s1', 'de', 'de'), None, None)
    """
    found = FORM.fullmatch(subtask)
    if not found or not {found["text"], found["asked"] or "en"} <= {*CODES}:
        return None
    return found["subtask"], found["text"], found["asked"] or found["text"]

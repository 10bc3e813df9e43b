"""Plain documents: every ``.txt`` below a folder, and the objects of every ``.jsonl`` with `text` (and `id`).

A file ``questions.jsonl`` in the folder holds questions about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.worlds.corpora.quoted import FILE, with_questions
from pipeline.worlds.corpora.reading import Source, json_lines, string
from pipeline.worlds.corpora.records import Corpus, Document
from pipeline.worlds.corpora.rules import cleaned, text_fault
from pipeline.worlds.corpora.shelf import LONGEST_TITLE
from pipeline.worlds.writing.checks import shortened

PARAGRAPH = 1_000
"""Characters above which a paragraph is cut, at the ends of sentences."""
SENTENCE = 4_000
"""Characters of the longest sentence."""
END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])[\"')\]\u2019\u201d]*(?: +|(?<=[\u3002\uff01\uff1f]))")
LONGEST_TEXT = 1 << 31


def documents(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the documents of a folder, in the order of their files."""
    found: dict[str, Document] = {}
    asked = source.root / FILE
    for path in sorted((*source.files("*.txt"), *source.files("*.jsonl"))):
        if path == asked:
            continue
        if path.suffix == ".jsonl":
            for where, record in json_lines(source, path):
                text = string(source, where, record, "text")
                name = record.get("id", f"{path.stem}-{len(found)}")
                if text is not None:
                    _put(source, found, where, str(name), text)
            continue
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            line = fault.object[: fault.start].count(b"\n") + 1
            said = f"it is not UTF-8: byte 0x{fault.object[fault.start]:02x}"
            source.fault(f"{source.name(path)} line {line}", said)
            continue
        _put(source, found, source.name(path), source.name(path.with_suffix("")), text)
    if found:
        some = tuple(found.values())
        name = source.root.resolve().name
        yield name, with_questions(source, some, asked) if asked.is_file() else Corpus(documents=some)


def _put(source: Source, found: dict[str, Document], where: str, name: str, raw: str) -> None:
    """Take a document, in paragraphs of a line each."""
    fault = "" if name not in found else "it stands twice"
    if fault := fault or text_fault(name, LONGEST_TITLE):
        source.fault(where, f"the id {shortened(name)}: {fault.replace('its text', 'it', 1)}")
        return
    kept = list(paragraphs(cleaned(source.text(raw))))
    if not kept:
        source.fault(where, "its text is empty")
    for number, line in enumerate(kept, start=1):
        if fault := text_fault(line, SENTENCE):
            source.fault(f"{where}, paragraph {number}", fault.replace("its text", "a sentence of it", 1))
            return
    if kept:
        found[name] = Document(name, "\n".join(kept))


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a text that say something; long ones are cut where sentences end.

    No line starts with a slash: counts would not add where another line stands before it.
    """
    for line in (_bare(one) for one in text.split("\n")):
        if len(line) <= PARAGRAPH:
            if line:
                yield line
            continue
        part = ""
        for sentence in sentences(line):
            if part and len(part) + len(sentence) >= PARAGRAPH:
                yield part
                part = ""
            part = f"{part} {sentence}" if part else sentence
        yield part


def sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line."""
    start = 0
    for stop in (*(found.end() for found in END.finditer(line)), len(line)):
        if piece := _bare(line[start:stop]):
            yield piece
        start = stop


def _bare(line: str) -> str:
    return line.strip().lstrip("/ ")

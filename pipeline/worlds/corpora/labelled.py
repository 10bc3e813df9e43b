"""Labelled sets: texts with a label each, as JSON Lines or CSV with the columns `text` and `label`.

Of several files those with ``test``, ``dev`` or ``validation`` in their names are asked and the others shown; of one
file all are shown, and what is asked is left to the task.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.worlds.corpora.reading import Record, Source, json_lines, lines, string
from pipeline.worlds.corpora.records import Corpus, Labelled
from pipeline.worlds.corpora.rules import one_line, text_fault
from pipeline.worlds.writing.checks import shortened

ASKED = re.compile("test|dev|valid")
LONGEST, LONGEST_LABEL = 4_000, 80
"""Characters of a text, and of a label."""


def labelled(source: Source) -> Iterator[tuple[str, Corpus]]:
    """Yield the labelled texts of a folder."""
    paths = sorted((*source.files("*.jsonl"), *source.files("*.csv")))
    found: dict[str, Labelled] = {}
    for path in paths:
        shown = len(paths) == 1 or not ASKED.search(path.stem.lower())
        for where, record in _csv(source, path) if path.suffix == ".csv" else json_lines(source, path):
            one = _labelled(source, where, record, shown=shown)
            if one and one.text in found:
                source.fault(where, f"the text {shortened(one.text)} stands twice")
            elif one:
                found[one.text] = one
    if found:
        yield source.root.resolve().name, Corpus(labelled=tuple(found.values()))


def _csv(source: Source, path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the rows of a file of comma-separated values by the names in its first line."""
    kept = list(lines(source, path))
    reader = csv.reader((line for _, line in kept), strict=True)
    names: list[str] = []
    try:
        for cells in reader:
            where = kept[reader.line_num - 1][0]
            if not names:
                names = cells
            elif len(cells) != len(names):
                source.fault(where, f"it has {len(cells)} cells, but the first line names {len(names)}")
            else:
                yield where, dict(zip(names, cells, strict=True))
    except csv.Error as fault:
        source.fault(kept[max(0, reader.line_num - 1)][0], f"it is not CSV: {fault}")


def _labelled(source: Source, where: str, record: Record, *, shown: bool) -> Labelled | None:
    text, label = string(source, where, record, "text"), string(source, where, record, "label")
    if text is None or label is None:
        return None
    said, name = one_line(source.text(text)), one_line(source.text(label))
    fault = text_fault(said, LONGEST) or (f"the label: {fault}" if (fault := text_fault(name, LONGEST_LABEL)) else "")
    if fault:
        source.fault(where, fault)
        return None
    return Labelled(said, name, shown)

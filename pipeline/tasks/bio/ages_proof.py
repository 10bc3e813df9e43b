"""What must hold of a prompt about ages: judged from the published row alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.bio.ages_reader import Asked, ages_of, read_asked
from pipeline.tasks.bio.haystack import share_faults
from pipeline.tasks.bio.proof import people_faults, spans
from pipeline.tasks.bio.reader import Entry

Answer = Callable[[str, Sequence[Entry]], tuple[str, ...]]
"""Answers a question from the table of people."""


def faults(
    row: Published, entries: Sequence[Entry], names: Sequence[str], answer: Answer, role: str = "relevant"
) -> Iterator[str]:
    """Yield what is wrong with a row whose answer needs the biographies of the people named."""
    *shown, _ = read_asked(row.text)
    if not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
        yield f"the prompt does not end in the question {row.question!r}"
    if len(set(names)) != row.stratum.complexity:
        yield f"the answer needs {len(set(names))} biographies in place of {row.stratum.complexity}"
    own = [(entry.start, entry.end) for entry in entries if entry.name in names]
    if spans(row, role) != own:
        yield "the needles are not the paragraphs that the answer needs"
    yield from people_faults(entries, names)
    yield from _example_faults(row, entries, shown, names, answer)
    decoys = set(spans(row, "decoy"))
    apart = {*names, *(name for example in shown for name, _ in example.stated)}
    rest = (entry for entry in entries if entry.name not in apart and (entry.start, entry.end) not in decoys)
    yield from share_faults(row.stratum, ("age" in entry.stated for entry in rest))


def _example_faults(
    row: Published, entries: Sequence[Entry], shown: Sequence[Asked], names: Sequence[str], answer: Answer
) -> Iterator[str]:
    """Hold demonstrations to the text: ages, answer and mark of each are right, and nobody asked about is in them."""
    places = {entry.name: (entry.start, entry.end) for entry in entries}
    seen: set[str] = set()
    for number, example in enumerate(shown, start=1):
        stated = dict(example.stated)
        known = ages_of(entries, list(stated))
        right = answer(example.question, [entry for entry in entries if entry.name in stated])
        if {name: str(age) for name, age in known.items()} != stated or example.final != right[0]:
            yield f"demonstration {number} is wrong"
        if seen.intersection(stated) or set(names).intersection(stated) or len(stated) != row.stratum.complexity:
            yield f"demonstration {number} is about {len(stated)} people, or about some who are needed elsewhere"
        seen.update(stated)
    firsts = [places[example.stated[0][0]] for example in shown if example.stated]
    if sorted(firsts) != spans(row, "demo"):
        yield "the marks of demonstrations are not on the first biography that each of them needs"

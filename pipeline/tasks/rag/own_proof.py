"""What must hold of a prompt about a user's own passages, judged from the published row alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pipeline.tasks.base import Published
from pipeline.tasks.rag.own_text import read
from pipeline.tasks.rag.proof import question
from pipeline.worlds.corpora.rules import holds, plain, rarest, searched, with_words
from pipeline.worlds.corpora.shelf import forms_of

OPENING = len("Document ")


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    found, forms = read(row.text), forms_of([row.key.answers])
    if question(row.text) != row.question:
        yield f"the prompt asks {question(row.text)!r}"
    twice = [said for said, times in Counter(one.text for one in found).items() if times > 1]
    if twice:
        yield f"the document {twice[0][:80]!r} stands twice"
    marked = {(n.char_start, n.char_end) for n in row.needles if n.role == "relevant"}
    needed = [one for one in found if (one.start, one.end) in marked]
    if len(needed) != len(marked) or len(needed) != row.stratum.complexity:
        yield f"{len(needed)} marked documents are needed in place of {row.stratum.complexity}"
    said = [one.text[OPENING:] for one in found]
    likely = with_words(plain("\n".join(said)).split("\n"), rarest(forms))
    answering = [found[place] for place in likely if holds(searched(said[place]), forms)]
    if not any(one in needed for one in answering):
        yield "no document that is needed holds an accepted answer"
    if others := [one for one in answering if one not in needed]:
        yield f"the document {others[0].text[:80]!r} holds an accepted answer too"
    told = row.metadata.get("filler")
    if told and told.get("documents") != len(found) - len(needed):
        yield f"{len(found) - len(needed)} documents are filler in place of {told.get('documents')}"

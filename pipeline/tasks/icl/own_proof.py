"""What must hold of a prompt of a user's own labelled texts, judged from the published row alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from pipeline.tasks.base import Published
from pipeline.tasks.icl.reader import Shown, read

LATE = 24
"""Examples at the end of a prompt that may be out of their rounds: they close the gap to the token."""


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row, judged from its text and its marks.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    shown = read(row.text)
    times = Counter(shown.labels)
    if shown.count != row.stratum.complexity:
        yield f"the prompt says that there are {shown.count} labels"
    if len(times) != shown.count or (shown.numbered and {*times} != {*map(str, range(shown.count))}):
        yield f"{len(times)} labels have examples in place of {shown.count}"
    if row.key.target not in times or row.key.answers != (row.key.target,):
        yield f"the key {row.key.target!r} is no label of the examples"
    twice = [text for text, often in Counter(shown.messages).items() if often > 1]
    if twice:
        yield f"the text {twice[0][:80]!r} stands twice"
    if shown.last in {*shown.messages}:
        yield "the text that is asked is an example"
    marks = [(needle.role, needle.char_start, needle.char_end) for needle in row.needles]
    if row.question != shown.last or marks != [("relevant", shown.last_start, shown.last_start + len(shown.last) + 1)]:
        yield "the marked text is not the last one"
    yield from _order_faults(row, shown)
    told = {"examples": len(shown.labels), "labels": len(times)}
    told |= {"fewest": min(times.values(), default=0), "most": max(times.values(), default=0)}
    if row.metadata.get("filler", told) != told:
        yield f"the metadata tell of {row.metadata['filler']} in place of {told}"


def _order_faults(row: Published, shown: Shown) -> Iterator[str]:
    """Hold examples to rounds of one of each label, or to blocks of one label."""
    if row.stratum.knob("rounds", "") == "blocked":
        if len(list(groupby(shown.labels))) != len({*shown.labels}):
            yield "examples of a label do not stand side by side"
        return
    seen, rounds = Counter[str](), list[int]()
    for label in shown.labels:
        rounds.append(seen[label])
        seen[label] += 1
    late = next((at for at in range(1, len(rounds)) if rounds[at] < rounds[at - 1]), len(rounds))
    if late < len(rounds) - LATE:
        yield f"example {late + 1} stands behind those of a later round"

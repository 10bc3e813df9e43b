"""The solution of a prompt with needles, and the proof of a row: readers of the text alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.haystacks.readers import strangers
from pipeline.tasks.recall.niah_text import CODE, END, START, Needle, is_ordered, read_asked, read_needles

STEM = 8
"""Characters that near UUIDs share."""


def solve(text: str, form: str) -> str:
    """Return the values that are asked for: those of several keys in the order of the question.

    Those of one key are sorted, unless the question wants them in the order of the text.

    Raises:
        ValueError: if the question cannot be read, or a key has no value, or more than one where one is asked.
    """
    asked, found = read_asked(text), read_needles(text)
    values = [[one.value for one in found if (one.thing, one.key) == (CODE, key)] for key in asked]
    wrong = [key for key, some in zip(asked, values, strict=True) if not some or (form != "values" and len(some) > 1)]
    if wrong or (form != "keys" and len(asked) != 1):
        raise ValueError(f"the text does not state what is asked for just once: {wrong or asked}")
    if form != "values":
        return ", ".join(some[0] for some in values)
    return ", ".join(values[0] if is_ordered(text) else sorted(values[0]))


def faults(row: Published, haystack: str, form: str, *, near: int, distractors: int) -> Iterator[str]:
    """Yield what is wrong with a row, judged by its text and its marks alone."""
    found, asked = read_needles(row.text), read_asked(row.text)
    if is_ordered(row.text) != (form == "ordered"):
        yield "the question and the knob do not agree on whether the order of the text counts"
    mine = [one for one in found if one.thing == CODE and one.key in asked]
    yield from _marks(row, found, mine)
    yield from _uniqueness(found, form, row.text, mine)
    if len(mine) != row.stratum.complexity:
        yield f"{len(mine)} lines answer the question, but {row.stratum.complexity} are promised"
    others = {one.thing for one in found if one.key in asked} - {CODE}
    if len(others) != distractors:
        yield f"{len(others)} other things are filed under what is asked for, but {distractors} are promised"
    codes = {one.key for one in found if one.thing == CODE} - {*asked}
    for key in asked:
        alike = sum(_alike(one, key) for one in codes)
        if alike < near:
            yield f"{alike} keys are near to {key}, but {near} are promised"
    yield from _haystack(row, haystack, found)


def _marks(row: Published, found: Sequence[Needle], mine: Sequence[Needle]) -> Iterator[str]:
    marked = {
        role: {(n.char_start, n.char_end) for n in row.needles if n.role == role} for role in ("relevant", "decoy")
    }
    if marked["relevant"] != {(one.start, one.end) for one in mine}:
        yield "the marked lines are not those that answer"
    if not marked["decoy"] <= {(one.start, one.end) for one in found} - marked["relevant"]:
        yield "a marked decoy is no needle"


def _uniqueness(found: Sequence[Needle], form: str, text: str, mine: Sequence[Needle]) -> Iterator[str]:
    values = Counter(one.value for one in found)
    if len(values) != len(found) or any(text.count(one.value) != 1 for one in mine):
        yield "a value stands in two places"
    keys = Counter((one.thing, one.key) for one in found)
    if form not in ("values", "ordered") and len(keys) != len(found):
        yield "two lines have the same key"


def _haystack(row: Published, haystack: str, found: Sequence[Needle]) -> Iterator[str]:
    start, stop = row.text.find(f"\n{START}") + 1 + len(START), row.text.rfind(f"\n{END}") + 1
    needles = {(one.start, one.end) for one in found}
    if haystack in ("words", "uuids"):
        if sum(end - begin for begin, end in needles) != stop - start:
            yield "a line of the list states no access code"
    elif {*strangers(row.text, start, stop, haystack)} != needles:
        yield "a line is neither of the haystack nor a needle"


def _alike(key: str, asked: str) -> bool:
    words, others = key.split(" "), asked.split(" ")
    return key[:STEM] == asked[:STEM] if len(words) == 1 else words[0] == others[0] or words[1] == others[1]

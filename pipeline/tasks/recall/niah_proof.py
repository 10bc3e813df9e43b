"""The solution of a prompt with needles, and the proof of a row: readers of the text alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.tasks.base import Published
from pipeline.tasks.haystacks.readers import strangers
from pipeline.tasks.recall.niah_text import CODE, END, START, Needle, is_ordered, read_asked, read_needles

STEM = 8
"""Characters that near UUIDs share."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of a key: how many values it has, how many keys are near to it, and what else is filed under it.

    Near keys count up to what is promised. Keys of one form cannot be told from each other but by the question.
    """

    values: int
    near: int
    things: tuple[str, ...]


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


def faults(row: Published, haystack: str, form: str, *, near: int, distractors: int, alike: int) -> Iterator[str]:
    """Yield what is wrong with a row, judged by its text and its marks alone.

    Args:
        row: the row.
        haystack: what its needles stand in.
        form: in which form it asks.
        near: how many keys are near to each asked one.
        distractors: how many other things are filed under it.
        alike: how many keys have the form of an asked one.
    """
    found, asked = read_needles(row.text), read_asked(row.text)
    if is_ordered(row.text) != (form == "ordered"):
        yield "the question and the knob do not agree on whether the order of the text counts"
    mine = [one for one in found if one.thing == CODE and one.key in asked]
    yield from _marks(row, found, mine)
    yield from _uniqueness(found, form, row.text, mine)
    if len(mine) != row.stratum.complexity:
        yield f"{len(mine)} lines answer the question, but {row.stratum.complexity} are promised"
    shapes = _shapes(found, near // 2)
    for key in asked:
        shape = shapes.get(key, Shape(0, 0, ()))
        if len(shape.things) != distractors:
            yield f"{len(shape.things)} other things are filed under {key}, but {distractors} are promised"
        if shape.near < near // 2 * 2:
            yield f"{shape.near} keys are near to {key}, but {near} are promised"
        rivals = sum(one == shape for one in shapes.values())
        if rivals < alike:
            yield f"{rivals} keys have the form of {key}, but {alike} are promised"
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


def _shapes(found: Sequence[Needle], half: int) -> dict[str, Shape]:
    """Return the form of every key that access codes are filed under; keys are near up to `half` on either side."""
    values, things = Counter[str](), dict[str, list[str]]()
    for one in found:
        if one.thing == CODE:
            values[one.key] += 1
        else:
            things.setdefault(one.key, []).append(one.thing)
    firsts, lasts = (Counter(_halves(key)[side] for key in values) for side in (0, 1))
    return {
        key: Shape(count, _near(key, firsts, lasts, half), tuple(sorted(things.get(key, ()))))
        for key, count in values.items()
    }


def _near(key: str, firsts: Counter[str], lasts: Counter[str], half: int) -> int:
    """Return how many keys begin or end as a key does, as far as they count."""
    first, last = _halves(key)
    if not last:
        return min(firsts[first] - 1, 2 * half)
    return min(firsts[first] - 1, half) + min(lasts[last] - 1, half)


def _halves(key: str) -> tuple[str, str]:
    """Return the two words of a key; of a UUID its first digits and nothing."""
    first, _, last = key.partition(" ")
    return (first, last) if last else (key[:STEM], "")

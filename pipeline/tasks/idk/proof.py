"""Proves of a published row that it is what it says, from its text alone."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.tasks.base import Published
from pipeline.tasks.finding import times
from pipeline.tasks.idk.grammar import read_story
from pipeline.tasks.idk.reader import Line, Query, answer, read_blocks, read_body, read_question
from pipeline.tasks.idk.text import LETTERS, UNKNOWN


def faults(row: Published, subtask: str) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    lines, asked = read_body(row.text), read_question(row.text)
    own = [line for line in lines if line.told and line.told.name == asked.name]
    marked = [needle for needle in row.needles if needle.role == "relevant"]
    if [(needle.char_start, needle.char_end) for needle in marked] != [(line.start, line.end) for line in own]:
        yield "the needle is not the story of the asked person"
    if times(asked.name, row.text) != len(own) + 1:
        yield f"{asked.name} is named outside of one story"
    if f"\nQuestion: {row.question}\n" not in row.text or row.key.choices != asked.choices:
        yield "the prompt does not end in the row's question and choices"
    yield from _filler_faults(lines, own, subtask)
    yield from _choice_faults(row, asked, own)
    yield from _namesake_faults(row, asked, lines)
    yield from _example_faults(row, lines)


def _filler_faults(lines: tuple[Line, ...], own: list[Line], subtask: str) -> Iterator[str]:
    if subtask == "letters" and sum(line.told is not None for line in lines) != len(own):
        yield "there is another story among the letters"
    if subtask == "stories" and not all(line.told for line in lines):
        yield "there are letters among the stories"
    told = [line.told.name for line in lines if line.told]
    if len(set(told)) != len(told):
        yield "two stories are about the same person"
    if len({line.text for line in lines}) != len(lines):
        yield "two lines are equal"


def _choice_faults(row: Published, asked: Query, own: list[Line]) -> Iterator[str]:
    """Hold the choices to the story: the answer is there just where the row says so, and as many lures as it says."""
    *others, last = asked.choices
    if last != UNKNOWN or len(set(asked.choices)) != len(LETTERS):
        yield f"the choices are {asked.choices}"
    for line in own:
        if line.told is None:
            continue
        stated = line.told.stated
        if (asked.noun in stated) != (row.stratum.complexity == 1):
            yield f"the story states {stated}, which does not go with complexity {row.stratum.complexity}"
        if stated != row.metadata["latent"]["details"]:
            yield "the story states other details than the row says"
        near, place = line.told.near.get(asked.noun), row.metadata["latent"]["place"]
        if near != asked.choices[place]:
            yield f"the sentence about {asked.noun} states {near!r}, which is not choice {LETTERS[place]}"
        found = sum(choice in stated.values() for choice in others)
        if found != row.metadata["latent"]["stated"]:
            yield f"the story states {found} of the choices, not {row.metadata['latent']['stated']}"


def _namesake_faults(row: Published, asked: Query, lines: tuple[Line, ...]) -> Iterator[str]:
    """Hold the asked to one namesake of each kind, marked, who is told another of the choices; none among letters."""
    found = [_with(lines, place, name, asked) for place, name in enumerate(asked.name.split(" "))]
    if row.stratum.subtask == "stories" and [len(each) for each in found] != [1, 1]:
        yield f"{asked.name} has {len(found[0])} and {len(found[1])} namesakes in place of one of each kind"
    both = sorted(found[0] + found[1], key=lambda line: line.start)
    marked = [(needle.char_start, needle.char_end) for needle in row.needles if needle.role == "decoy"]
    if marked != [(line.start, line.end) for line in both]:
        yield "the decoys are not the stories of namesakes"
    told = {(line.told.plot, line.told.stated.get(asked.noun)) for line in both if line.told}
    place = row.metadata["latent"]["place"]
    if told and told != {(asked.plot, choice) for at, choice in enumerate(asked.choices[:-1]) if at != place}:
        yield f"the namesakes of {asked.name} are not told the other choices of {asked.noun}"


def _with(lines: tuple[Line, ...], place: int, name: str, asked: Query) -> list[Line]:
    """Return the stories of others whose first or last name is a name."""
    told = [line for line in lines if line.told and line.told.name != asked.name]
    return [line for line in told if line.told and line.told.name.split(" ")[place] == name]


def _example_faults(row: Published, lines: tuple[Line, ...]) -> Iterator[str]:
    in_text = {line.told.name for line in lines if line.told}
    for needle in row.needles:
        if needle.role != "demo":
            continue
        shown = row.text[needle.char_start : needle.char_end]
        story = read_story(shown.partition(": ")[2].partition("\n")[0])
        (asked,) = read_blocks(shown)
        if answer(asked, [story]) != asked.reply:
            yield f"the demonstration about {asked.name} is wrong"
        if asked.name in in_text:
            yield f"the demonstration about {asked.name} is about somebody in the text"

"""bio's subtasks with the suffix -essay: the same questions in a haystack of prose (LongBioBench, section 4.2, BiaH).

The only biographies are those that the question and the demonstrations need, and those of namesakes. They are between
paragraphs of essays, which name nobody. All else is as in the subtask without the suffix: rows with the same seed,
tier, length, complexity and number ask the same about the same people with the same namesakes, and if both subtasks
have as many rows also at the same depths, so that the two differ only in the haystack. Deliberate differences from the
paper: the essays are Carrara's own generated prose, and prompts have exact lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import comb, perm
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import CorpusKnob, Key, Layout, Needle, Piece, PoolSpec, PublishedRow, Sample, streams_of_twin
from pipeline.tasks.bio.base import Biographies
from pipeline.tasks.bio.calculation import Calculation
from pipeline.tasks.bio.multihop import Multihop
from pipeline.tasks.bio.rank import Rank
from pipeline.tasks.bio.solve import END, START
from pipeline.tasks.bio.standard import Multi, Standard
from pipeline.tasks.haystacks.filler import essays_spec, prose
from pipeline.tasks.haystacks.solve import Parted, part
from pipeline.tasks.solving import PROMPT

Plain = Standard | Multi | Calculation | Multihop | Rank
SUFFIX = "-essay"
ESSAYS_CHANGED = 1
"""How often the essays have changed while the plain subtasks did not."""
HEADING = "\nEssays and biographies:\n"
ENDED = "This is the end of the essays and biographies."
INTRODUCTION = """\
Below are essays on all kinds of things, one after another. Scattered among their paragraphs are short biographies, \
each a single paragraph about one person. No two people have the same full name. {more}Read everything carefully. At \
the end you will be asked about {whom}.
"""
LINKS = (
    "Some biographies give a fact only by naming another person of whom the same is true; that person has a biography "
    "here too. "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Among(Biographies):
    """A subtask of the family among essays; `plain` is the subtask without them."""

    plain: Plain
    subtask: str
    twin: str
    title: str
    version: int
    scorer: str
    shots: int
    most_shots: int
    max_new_tokens: int
    complexities: tuple[int, ...]
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = field()
    introduction: str
    lists: bool = False
    """Whether an answer is a list of several people's attributes."""
    chains: bool = False
    """Whether biographies name each other."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (essays_spec(stratum),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw the plain subtask's sample."""
        return self.plain.sample(stratum, index, *streams_of_twin(self, self.plain, row_streams, stratum_streams))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Lay the sample out as the plain subtask does, with essays instead of other people."""
        plain = self.plain.layout(sample, *streams_of_twin(self, self.plain, row_streams, stratum_streams))
        head = (Piece(f"{self.introduction}{HEADING}", "instruction"),)
        tail = tuple(replace(piece, text=piece.text.replace(END, ENDED)) for piece in plain.tail)
        return replace(plain, head=head, filler=prose(row_streams, sample.stratum), tail=tail)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        return self.plain.dealt(sample)

    def answers(self, text: str) -> tuple[str, ...]:
        return self.plain.solve((("user", parted(text).text),))

    def check(self, row: PublishedRow) -> list[str]:
        found_apart = parted(row.text)
        needed = row.stratum.complexity * (1 + self.shots_of(row.stratum)) + self.plain.decoys_of(row.stratum)
        found = len(found_apart.places)
        faults = [] if found == needed else [f"{found} biographies stand among the essays, {needed} are needed"]
        return [*faults, *_prose_faults(row, found_apart), *self.plain.check(_without_prose(row, found_apart))]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the plain subtask's baselines, and the score of a reader who ignores names.

        It skips the biographies of demonstrations, and guesses which of the rest are asked about, in a list in order.
        """
        needed = sample.stratum.complexity
        found = needed + self.plain.decoys_of(sample.stratum)
        if self.chains:
            return {**self.plain.baselines(sample, key), "any_biography": needed / found}
        guesses = perm(found, needed) if self.lists else comb(found, needed)
        return {**self.plain.baselines(sample, key), "any_biography": 1 / guesses}


@PROMPT.cached
def parted(text: str) -> Parted:
    """Split a prompt into prose and a prompt that the plain subtask could have.

    Raises:
        ValueError: if it has no body.
    """
    found = part(text, HEADING, ENDED, START)
    return replace(found, text=found.text.replace(ENDED, END))


def _prose_faults(row: PublishedRow, parted: Parted) -> Iterable[str]:
    if len(set(parted.prose)) != len(parted.prose):
        yield "two paragraphs of prose are the same"
    prose = "".join(parted.prose)
    for answer in {value for form in row.key.answers for value in form.split("; ")}:
        if answer in prose and re.search(rf"\b{re.escape(answer)}\b", prose):
            yield f"the answer {answer!r} stands in the prose"
    if any((needle.char_start, needle.char_end) not in parted.places for needle in row.needles):
        yield "a needle is not a paragraph about a person"


def _without_prose(row: PublishedRow, parted: Parted) -> PublishedRow:
    """Return a row without its prose."""
    needles = tuple(_moved(needle, parted) for needle in row.needles)
    return replace(row, turns=(("user", parted.text),), prompt=parted.text, needles=needles)


def _moved(needle: Needle, parted: Parted) -> Needle:
    start = parted.places.get((needle.char_start, needle.char_end), -1)
    return replace(needle, char_start=start, char_end=start + needle.char_end - needle.char_start)


def among_essays(plain: Plain, whom: str, more: str = "", *, lists: bool = False, chains: bool = False) -> Among:
    """Return a subtask among essays, which asks about `whom`; the introduction has `more` about biographies.

    Its version changes with the plain subtask's and with the essays. There is no density, as there are no other people.
    """
    return Among(
        plain=plain,
        subtask=plain.subtask + SUFFIX,
        twin=plain.subtask,
        title=f"the same as `{plain.subtask}`, among essays",
        version=plain.version + ESSAYS_CHANGED,
        scorer=plain.scorer,
        shots=plain.shots,
        most_shots=plain.most_shots,
        max_new_tokens=plain.max_new_tokens,
        complexities=plain.complexities,
        knobs={name: values for name, values in plain.knobs.items() if name != "density"},
        introduction=INTRODUCTION.format(whom=whom, more=more),
        lists=lists,
        chains=chains,
    )


TASKS = (
    among_essays(Standard(), "one of these people"),
    among_essays(Multi(), "some of these people", lists=True),
    among_essays(Calculation(), "the ages of some of these people"),
    among_essays(Multihop(decoys=False), "one of these people", LINKS, chains=True),
    among_essays(Rank(), "the ages of some of these people"),
)

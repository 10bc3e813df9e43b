"""trace's subtasks with the suffix -tools: the same questions about a log of real tool calls.

Rows of the same seed, tier, length, complexity and number ask the same as those of the subtask without the suffix,
about the same jobs, at the same depths if both subtasks have as many rows. The prompt is a conversation: the user says
what it is about, which the agent notes. Then every call is a message of its own, followed by its result, and the
question is the user's last turn. Every job ends in a result, so that it costs the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import (
    CorpusKnob,
    Layout,
    Needle,
    Piece,
    PoolSpec,
    PublishedRow,
    Role,
    Sample,
    Task,
    Turn,
    Turns,
    Unit,
    streams_of_twin,
)
from pipeline.tasks.solving import ReadError
from pipeline.tasks.trace import text
from pipeline.tasks.trace.base import PER_UNIT, TraceTask, make_jobs
from pipeline.worlds.desk import DECLARED, desk

SUFFIX = "-tools"
JOINTS = re.compile(r"\n(?=> |< |\[user\] )")
"""Where a part of a job begins: further lines of results are indented."""
NOTED = re.compile(r'\{"ref": "(\w{5})", "status": "kept", "note": 1\}')


@dataclass(frozen=True, slots=True, kw_only=True)
class AsTools(Task):
    """A subtask of the family as a conversation with tool calls; `plain` is the subtask."""

    plain: TraceTask
    family: str
    subtask: str
    twin: str
    title: str
    version: int
    scorer: str
    max_new_tokens: int
    complexities: tuple[int, ...]
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = field()
    has_calls: bool = True

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return the plain subtask's stratum, at twice its length: tool calls take more tokens."""
        plain = self.plain.golden_stratum(complexity)
        return replace(plain, subtask=self.subtask, length=2 * plain.length)

    def golden(self) -> tuple[Stratum, ...]:
        """Return one stratum for each complexity, and one with declared tools if the subtask is that of `state`."""
        first = self.golden_stratum(self.complexities[0])
        declared = replace(first, length=3 * first.length // 2, knobs=(("declared", True),))
        return (*Task.golden(self), *((declared,) if self.twin == "state" else ()))

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return tuple(
            replace(spec, name=spec.name + SUFFIX, make=make_turns, has_calls=True)
            for spec in self.plain.pools(stratum)
        )

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw the same sample as the plain subtask."""
        return self.plain.sample(stratum, index, *streams_of_twin(self, self.plain, row_streams, stratum_streams))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Lay the sample out as the plain subtask does, in turns."""
        plain = self.plain.layout(sample, *streams_of_twin(self, self.plain, row_streams, stratum_streams))
        world = desk(row_streams, sample.stratum.tier)
        ref = world.refs(world.units * PER_UNIT - 1).new()  # no job of the pool has as many results
        introduction = plain.head[0].text.replace(text.INTRODUCTION, text.TOOLS_INTRODUCTION).rstrip()
        asked = plain.tail[0].text.replace(text.AT_ONCE, "").removesuffix(text.ANSWER) + text.IN_TEXT
        return replace(
            plain,
            head=(
                Piece(introduction, "instruction", "user"),
                Piece(text.NOTE, "instruction", "call"),
                Piece(f'{{"ref": "{ref}", "status": "kept", "note": 1}}', "instruction", "tool"),
            ),
            placed=tuple(
                replace(item, unit=job_unit(item.unit.pieces[0].text, item.unit.pieces[0].role))
                for item in plain.placed
            ),
            filler=replace(plain.filler, pool=plain.filler.pool + SUFFIX),
            tail=(Piece(asked, "question", "user"),),
            tools=DECLARED if self.knob(sample.stratum, "declared") else "",
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Turn the calls into the lines of the plain subtask, and answer."""
        return self.plain.answers(FlatTrace.of(turns).text)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove the row as one of the plain subtask, and that its first call is the right note and no job."""
        flat = FlatTrace.of(row.turns)
        if row.turns[1][1] != text.NOTE or not (noted := NOTED.fullmatch(row.turns[2][1])):
            yield "what the conversation is about is not noted first"
        elif any(noted[1] in turn for _, turn in row.turns[3:]):
            yield f"the ref {noted[1]} of the first note comes again"
        yield from self.plain.faults(flat.published(row))


@dataclass(frozen=True, slots=True)
class FlatTrace:
    """A conversation as the text of the plain subtask, with the span of each turn of the trace in it."""

    text: str
    places: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, turns: Turns) -> FlatTrace:
        """Read turns.

        Raises:
            ReadError: if they are not a trace followed by a question.
        """
        roles = [role for role, _ in turns]
        if len(turns) < 4 or roles[:3] != ["user", "call", "tool"] or roles[-1] != "user":
            raise ReadError("the conversation does not begin with a note and end with a question")
        for role, after in pairwise(roles[2:]):
            if role not in ALLOWED.get(after, ("tool",)):
                raise ReadError(f"a turn of the role {after} follows one of the role {role}")
        question = turns[-1][1]
        if not question.endswith(text.IN_TEXT):
            raise ReadError("the question does not end by asking for plain text")
        parts = [f"{turns[0][1]}\n{text.START}"]
        parts += (_line(role, content) for role, content in turns[3:-1])
        places, at = list[tuple[int, int]](), len(parts[0])
        for part in parts[1:]:
            places.append((at, at + len(part)))
            at += len(part)
        return cls("".join(parts) + question.removesuffix(text.IN_TEXT) + text.ANSWER, places)

    def published(self, row: PublishedRow) -> PublishedRow:
        """Return a row in the form of the plain subtask."""
        starts, ends = dict[int, int](), dict[int, int]()
        at = 0
        for number, (role, content) in enumerate(row.turns[:-1]):
            end = at + len(LABELS[role]) + len(content)
            if number >= 3:
                starts[at], ends[end] = self.places[number - 3]
            at = end + len("\n\n")
        needles = tuple(self._moved(needle, starts, ends) for needle in row.needles)
        return replace(row, turns=(("user", self.text),), prompt=self.text, needles=needles)

    @staticmethod
    def _moved(needle: Needle, starts: Mapping[int, int], ends: Mapping[int, int]) -> Needle:
        return replace(needle, char_start=starts.get(needle.char_start, -1), char_end=ends.get(needle.char_end, -1))


ALLOWED = {"tool": ("call",), "call": ("tool", "user"), "user": ("tool",)}
"""The roles that may precede each role."""
LABELS = {"user": "User: ", "call": "Call: ", "tool": "Result: "}
"""What precedes a turn in the whole text."""


def _line(role: str, content: str) -> str:
    if role == "tool":
        return "< " + content.replace("\n", "\n  ") + "\n"
    return f"> {content}\n" if role == "call" else f"[user] {content}\n"


def job_unit(job: str, role: Role = "filler") -> Unit:
    """Return a job in turns."""
    return Unit(tuple(Piece(content, role, turn) for turn, content in job_turns(job)))


def job_turns(job: str) -> Iterator[tuple[Turn, str]]:
    """Yield the turns of a job: what the user says, each call, and each result."""
    for part in JOINTS.split(job.rstrip("\n")):
        if part.startswith("< "):
            yield "tool", part[2:].replace("\n  ", "\n")
        elif part.startswith("> "):
            yield "call", part[2:]
        else:
            yield "user", part.removeprefix("[user] ")


def make_turns(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write the jobs of the plain subtask's pool in turns."""
    for unit in make_jobs(streams, replace(spec, name=spec.name.removesuffix(SUFFIX))):
        yield job_unit(unit.pieces[0].text)


def as_tools(plain: TraceTask) -> AsTools:
    """Return a subtask as a conversation with tool calls; its rows change with those of the plain one."""
    return AsTools(
        plain=plain,
        family=plain.family,
        subtask=plain.subtask + SUFFIX,
        twin=plain.subtask,
        title=f"the same as `{plain.subtask}`, as real tool calls",
        version=plain.version,
        scorer=plain.scorer,
        max_new_tokens=plain.max_new_tokens,
        complexities=plain.complexities,
        knobs={**plain.knobs, "declared": (False, True)},
    )

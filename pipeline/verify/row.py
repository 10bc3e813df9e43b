"""Checks of a row against its own text, its sample and its layout."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any
from unicodedata import is_normalized

from pipeline.artifacts.journal import UNREADABLE
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.cache import LAYOUTS
from pipeline.assemble.cutter import (
    NEEDLE_ROLES,
    bucket,
    conversation,
    cutter_for,
    in_order,
    reading,
    rounded,
)
from pipeline.assemble.plan import Plan
from pipeline.metrics import facts
from pipeline.profiles import Counter, Profile
from pipeline.recipe import Stratum
from pipeline.rows import CANARY, DATA_SCHEMA, KEY_NAMES, TRAIN_CANARY, Row, sha256_text
from pipeline.tasks import task_of
from pipeline.tasks.base import Key, Layout, Needle, Piece, PublishedRow, Sample, Turns
from pipeline.tasks.solving import PROMPT
from pipeline.turns import CALL, has_calls
from pipeline.turns import turns_of as turns_in_messages
from pipeline.verify.calls import job_depths, job_spans, marked_jobs


def cell_place(cell: Stratum) -> tuple[str, str, int, int]:
    """Return the fields that identify a stratum in a tier."""
    return cell.family, cell.subtask, cell.length, cell.complexity


def turns_of(row: Row) -> tuple[tuple[str, str], ...]:
    """Return what is sent: the turns of the row's messages, or its prompt as one user turn.

    Raises:
        ValueError: if its tool calls are malformed.
    """
    return turns_in_messages(row["messages"]) if row["messages"] else (("user", row["prompt"]),)


@lru_cache(maxsize=1)
def _parse_metadata(text: str) -> dict[str, Any]:
    metadata: dict[str, Any] = json.loads(text)
    return metadata


def metadata_of(row: Row) -> dict[str, Any]:
    """Return a row's metadata, cached for the next check of the same row; callers must not change it."""
    return _parse_metadata(row["metadata"])


def tools_of(row: Row) -> str:
    """Return the tools that a row declares, as JSON; "" for none."""
    return str(metadata_of(row).get("tools", ""))


def sample_faults(row: Row, sample: Sample | None) -> list[str]:
    """Return where a row differs from its sample."""
    if sample is None or row["id"] != sample.id:
        return ["another row belongs here"]
    faults = list(question_faults(row, sample))
    if metadata_of(row)["latent"] != sample.latent:
        faults.append("its latent structure differs")
    return faults


def question_faults(row: Row, sample: Sample) -> Iterator[str]:
    """Yield where a row differs from its sample in columns that are published even without answers."""
    key = sample.key.columns()
    wanted = {
        "question": sample.question,
        "answer_prefix": "",
        **{name: key[name] for name in ("choices", "random_string_to_prepend")},
    }
    for name, value in wanted.items():
        if row[name] != value:
            yield f"{name} is {row[name]!r}, expected {value!r}"


def _where(fault: BaseException) -> str:
    """Return where an exception was raised, for the author of a task."""
    frames = traceback.extract_tb(fault.__traceback__)
    own = [frame for frame in frames if "/tasks/" in frame.filename] or frames
    return f" in {Path(own[-1].filename).name}, line {own[-1].lineno}" if own else ""


def answer_faults(row: Row, cell: Stratum) -> list[str]:
    """Return what is wrong with a row's answer, text and needles, judged from the row alone."""
    task, metadata = task_of(cell), metadata_of(row)
    try:
        turns = turns_of(row)
    except ValueError as fault:
        return [str(fault)]
    faults = [] if metadata["prompt_sha256"] == sha256_text(row["prompt"]) else ["the SHA-256 of its prompt is wrong"]
    if not row["prompt"].isascii() and not cell.knob("corpus", ""):
        if not task.languages:
            faults.append("its prompt is not ASCII")
        elif not is_normalized("NFC", row["prompt"]):
            faults.append("its prompt is not in Unicode's normal form NFC")
    if row["messages"] and row["prompt"] != conversation(turns):
        faults.append("its prompt does not match its messages")
    if (
        row["question"] not in row["prompt"][row["question_start"] :]
        or row["prompt"][row["question_start"] - 1] != "\n"
    ):
        faults.append("its question does not start at question_start")
    if sum(needle["role"] == "demo" for needle in row["needles"]) != row["shots"]:
        faults.append("its demonstrations are not marked one by one")
    try:
        solved = task.solve(turns) if task.proof == "solved" else tuple(row["answers"])
        if row["answers"] != list(solved) or row["target"] != solved[0]:
            faults.append(
                f"the text gives {list(solved)}, but the key is {row['target']!r} and accepts {row['answers']}"
            )
        if row["choices"] and facts(row["scorer"]).shape != "letter":
            faults.append(f"it has choices, but scorer {row['scorer']!r} wants no letter: leave out `choices`")
        if metadata.get("proof", "solved") != task.proof:
            faults.append(f"its metadata does not say that it is {task.proof}")
        faults += task.check(published(row, turns, cell, metadata))
    except ValueError as fault:
        faults.append(str(fault))
    return faults


def published(row: Row, turns: Turns, cell: Stratum, metadata: dict[str, Any]) -> PublishedRow:
    """Return a row in the form that tasks check."""
    needles = tuple(
        Needle(needle["role"], needle["char_start"], needle["char_end"], needle["depth"]) for needle in row["needles"]
    )
    return PublishedRow(cell, turns, row["prompt"], row["question"], needles, Key.of(row), metadata)


def layout_faults(
    row: Row, sample: Sample, plan: Plan, profile: Profile, *, count: bool, layout: Layout | None = None
) -> Iterator[str]:
    """Yield where a row differs from its sample's layout; with `count`, its needles' tokens are counted too.

    `layout` is the sample's layout, if already known.
    """
    task = plan.task(sample.stratum)
    layout = layout or LAYOUTS.of(plan, sample)
    if layout.numbering is not None:  # numbers depend on the packed prompt; the task's own check covers them
        yield from _metadata_faults(row, sample)
        return
    head, tail = ("".join(map(reading, pieces)) for pieces in (layout.head, layout.tail))
    prompt, tail = row["prompt"], tail.rstrip() if row["messages"] else tail
    if not prompt.startswith(head) or not prompt.endswith(tail):
        yield "its prompt does not start or end as its sample requires"
    if row["question_start"] != len(prompt) - len(tail):
        yield f"its question does not start at question_start, {row['question_start']}"
    wanted = marked_jobs(layout) if layout.has_calls else [(each.role, each.text) for each in _marked_pieces(layout)]
    if [(n["role"], prompt[n["char_start"] : n["char_end"]]) for n in row["needles"]] != wanted:
        yield "its needles are not the relevant texts of its sample"
    elif count:
        yield from _token_faults(row, layout, plan, profile)
    if tools_of(row) != layout.tools:
        yield "it does not declare the tools of its sample"
    if not task.keyed_by_packing and (row["target"], row["answers"]) != (sample.key.target, list(sample.key.answers)):
        yield f"its key is {row['target']!r}, expected {sample.key.target!r}"
    yield from _metadata_faults(row, sample)


def _marked_pieces(layout: Layout) -> list[Piece]:
    placed = [piece for item in in_order(layout.placed) for piece in item.unit.pieces]
    return [piece for piece in (*layout.head, *placed, *layout.tail) if piece.role in NEEDLE_ROLES]


def _metadata_faults(row: Row, sample: Sample) -> Iterator[str]:
    metadata, key = metadata_of(row), Key.of(row)
    wanted = {
        "knobs": dict(sample.stratum.knobs),
        "baselines": rounded(task_of(sample.stratum).baselines(sample, key)),
    }
    for name, value in wanted.items():
        if metadata.get(name) != value:
            yield f"metadata has {name} {metadata.get(name)!r}, expected {value!r}"


def _token_faults(row: Row, layout: Layout, plan: Plan, profile: Profile) -> Iterator[str]:
    if layout.has_calls:
        spans = job_spans(row, turns_of(row), profile, tools_of(row))
    else:
        spans = _turn_spans(row, profile) if row["messages"] else _text_spans(row, plan, profile)
    for needle, (start, end) in zip(row["needles"], spans, strict=True):
        if (needle["token_start"], needle["token_end"]) != (start, end):
            yield (
                f"a needle's tokens are {needle['token_start']} to {needle['token_end']}, but counting gives "
                f"{start} to {end}"
            )
    depths = [needle["depth"] for needle in row["needles"]]
    if depths != list(_depths(row, layout, spans, plan, profile)):
        yield f"the depths of its needles are not those counted: {depths}"


def _text_spans(row: Row, plan: Plan, profile: Profile) -> list[tuple[int, int]]:
    """Return each needle's start and end in tokens, counting each stretch between needles' edges once."""
    edges = sorted({0, *(n[name] for n in row["needles"] for name in ("char_start", "char_end"))})
    counter, text = profile.counter(), row["prompt"]
    at, tokens = {0: (total := profile.gaps(("user",), plan.recipe.frame)[0])}, 0
    for start, end in pairwise(edges):
        stretch = text[start:end]
        tokens = int(counter.counts([stretch])[0]) if start else counter.count(stretch)
        at[end] = total = total + tokens
    return [(at[n["char_start"]], at[n["char_end"]]) for n in row["needles"]]


def _turn_spans(row: Row, profile: Profile) -> list[tuple[int, int]]:
    """Return each needle's start and end in tokens, counting turns and template up to the last needle."""
    counter, gaps = profile.counter(), profile.gaps([turn["role"] for turn in row["messages"]], "chat")
    starts = {needle["char_start"] for needle in row["needles"]}
    spans, chars, tokens = {}, 0, 0
    for gap, turn in zip(gaps, row["messages"], strict=False):
        shown = reading(Piece(turn["content"], "filler", turn["role"]))
        start, chars = chars + shown.rindex(turn["content"]), chars + len(shown)
        count = counter.count(turn["content"])
        if start in starts:
            spans[start] = (tokens + gap, tokens + gap + count)
        tokens += gap + count
        if len(spans) == len(starts):
            break
    return [spans.get(needle["char_start"], (-1, -1)) for needle in row["needles"]]


def _depths(
    row: Row, layout: Layout, spans: Sequence[tuple[int, int]], plan: Plan, profile: Profile
) -> Iterator[float | None]:
    """Yield each needle's depth: the filler before it (all tokens before it less the fixed ones) over all filler."""
    cutter = cutter_for(profile, plan.recipe.frame)
    if layout.has_calls:
        yield from job_depths(row, layout, spans, cutter, profile)
        return
    room = row["context_tokens"] - row["max_new_tokens"] - cutter.fixed_tokens(layout)
    other = profile.gaps(("user",), plan.recipe.frame)[0] + cutter.tokens(layout.head, opens=True)
    yield from (None for piece in layout.head if piece.role in NEEDLE_ROLES)
    starts = iter([start for start, _ in spans][sum(piece.role in NEEDLE_ROLES for piece in layout.head) :])
    closing = profile.gaps(("user", "assistant", "user"), plan.recipe.frame)[2] if row["messages"] else 0
    for item in in_order(layout.placed):
        before = 0
        for piece in item.unit.pieces:
            if piece.role in NEEDLE_ROLES:
                yield (next(starts) - (before - (closing if piece.turn == "assistant" else 0)) - other) / room
            before += cutter.tokens((piece,))
        other += before
    yield from (None for piece in layout.tail if piece.role in NEEDLE_ROLES)


STRATUM = ("family", "subtask", "length", "complexity")
"""The columns that identify a row's stratum in its tier; complexity is withheld together with answers."""
RENAMED = ("id", "metadata")
"""Columns that differ between rows without answers and the maintainer's keys."""
ONE_IN = 16
"""`build` counts the needles of one row in ONE_IN of a family. A second counter that is slow, or beside a quick one,
counts only these rows. `verify` counts all rows."""
QUICK_FROM = 6 << 20
"""The fewest tokens of a build for which a quick counter saves more time than it takes to open."""


class RowChecker:
    """Checks the rows of one shard of a build or a copy, and collects faults and counts.

    Args:
        plan: the strata and the frame; for a copy, as far as its manifest states them.
        profile: the profile that the rows are cut for.
        tag: the tag at the end of their ids.
        full: whether the second counter counts all rows, even if it is slow.
        start: the index of the shard's first row in its family.
        drawn: the plan that the samples are drawn from; None if the seed is not known.
        withheld: whether the rows are published without answers.
    """

    columns: Sequence[str] = DATA_SCHEMA.names
    """The columns of the rows."""
    canary = CANARY
    """The canary of the rows."""

    def __init__(
        self,
        plan: Plan,
        profile: Profile,
        tag: str,
        *,
        full: bool,
        start: int = 0,
        drawn: Plan | None = None,
        withheld: bool = False,
    ) -> None:
        self.plan, self.profile, self.tag, self.full, self.start = plan, profile, tag, full, start
        self.drawn, self.withheld = drawn, withheld
        self.quick = None if full or _is_small(plan) else profile.quick_counter()
        self.second: Counter | None = profile.second()
        self.place = STRATUM[:-1] if withheld else STRATUM
        self.cells = {cell_place(cell)[: len(self.place)]: cell for cell in plan.recipe.strata}
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.redrawn = self.solved = self.recounted = self.quick_recounted = 0
        self.tokens = self.prompt_tokens = self.most = 0
        self.fewest = 1 << 62

    def rows(
        self, data: Path, keys: Path | None, samples: Iterator[Sample | None], own_keys: Path | None = None
    ) -> Iterator[Row]:
        """Yield every row of a shard, after adding what is wrong with it to `faults`.

        Args:
            data: the file of rows.
            keys: the file of the same rows without text, if there is one.
            samples: the rows' samples; None, or an end, if unknown.
            own_keys: the maintainer's keys of a shard whose answers are withheld.
        """
        files: Iterator[Sequence[Row | None]] = zip_longest(
            *(read_rows(path) if path else () for path in (data, keys, own_keys))
        )
        for row, key, own in files:
            if row is None:
                self.faults.append("its keys have more rows than its data")
                return
            sample = next(samples, None)
            self.redrawn += sample is not None
            faults = self.check(row, sample, own)
            if own_keys and own is None:
                faults.append("the keys have no row for it")
            if keys and key is None:
                faults.append("it has no row in the keys file")
            elif key is not None and {name: row.get(name) for name in (key if self.withheld else KEY_NAMES)} != key:
                faults.append("its key differs from the one in the keys file")
            if faults:
                self.faults.append(f"row {row.get('id')!r}: {'; '.join(faults)}")
            else:
                self.solved += task_of(self._cell(row)).proof == "solved"
                self.tokens += row["context_tokens"]
                self.prompt_tokens += row["prompt_tokens"]
                self.fewest, self.most = min(self.fewest, row["context_tokens"]), max(self.most, row["context_tokens"])
            self.ids.append(str(row.get("id")))
            yield row
            PROMPT.clear()

    def check(
        self, row: Row, sample: Sample | None = None, own: Row | None = None, layout: Layout | None = None
    ) -> list[str]:
        """Return everything that is wrong with a row.

        Args:
            row: the row as published.
            sample: the sample that it should be cut from, if known.
            own: the maintainer's key, for a row without answer.
            layout: the sample's layout, if known.
        """
        faults: list[str] = []
        if self.canary in KINDS and f'"{KINDS[self.canary]}"' in str(row.get("metadata")):
            return [_canary_fault(KINDS[self.canary])]
        try:
            if not self.withheld and list(row) != list(self.columns):
                return [f"its columns are {list(row)}"]
            cell = self._cell(row)
        except KeyError:
            return ["its stratum is not in the recipe"]
        try:
            faults += [*self._label_faults(row, cell), *self._count_faults(row)]
            faults += self._withheld_faults(row, cell, sample, own) if self.withheld else self.answer_faults(row, cell)
            if sample and self.drawn and not self.withheld and not faults:
                counted = self._counted_in_full
                faults += sample_faults(row, sample) or layout_faults(
                    row, sample, self.drawn, self.profile, count=counted, layout=layout
                )
            if not row["id"].endswith(f"-{self.tag}"):
                faults.append(f"its id does not end in {self.tag}")
            if (canary := metadata_of(row).get("canary")) != self.canary:
                faults.append(_canary_fault(canary))
        except (ArithmeticError, *UNREADABLE) as fault:
            faults.append(f"it cannot be read as a row ({fault!r}{_where(fault)})")
        return faults

    def answer_faults(self, row: Row, cell: Stratum) -> list[str]:
        """Return what is wrong with a row's answer, text and needles."""
        return answer_faults(row, cell)

    def _cell(self, row: Row) -> Stratum:
        return self.cells[tuple(row[name] for name in self.place)]

    @property
    def _counted_in_full(self) -> bool:
        """Whether the current row is one of those that are counted in full."""
        return self.full or not (self.start + len(self.ids)) % ONE_IN

    def _withheld_faults(self, row: Row, cell: Stratum, sample: Sample | None, own: Row | None) -> Iterator[str]:
        """Check a row without answer: solve its text, and compare with the sample and the maintainer's key, if known.

        A row that cannot be solved is a fault in any case.
        """
        prompt_sha256 = sha256_text(row["prompt"])
        if metadata_of(row)["prompt_sha256"] != prompt_sha256:
            yield "the SHA-256 of its prompt is wrong"
        if own is not None:
            built = json.loads(own["metadata"])
            if built["prompt_sha256"] != prompt_sha256:
                yield "its prompt is not the one that was built"
            if built.get("tools", "") != tools_of(row):
                yield "it does not declare the tools that were built"
        task = task_of(cell)
        try:
            solved = task.solve(turns_of(row)) if task.proof == "solved" else None
        except ValueError as fault:
            yield str(fault)
            return
        if sample is not None:
            yield from question_faults(row, sample)
            if solved is not None and not task.keyed_by_packing and solved != tuple(sample.key.answers):
                yield "the answer in its text differs from the one that was drawn"
        if own is not None:
            if solved is not None and list(solved) != own["answers"]:
                yield "the answer in its text differs from the key"
            for name in KEY_NAMES:
                if name in row and name not in RENAMED and row[name] != own[name]:
                    yield f"{name} is {row[name]!r}, expected {own[name]!r}"

    def _label_faults(self, row: Row, cell: Stratum) -> Iterator[str]:
        task = task_of(cell)
        wanted = {
            "tier": cell.tier,
            "bucket": bucket(cell.length),
            "tokenizer": self.profile.name,
            "frame": self.plan.recipe.frame,
            "scorer": task.scorer_of(cell),
            "task_version": task.version,
            "context_tokens": self.profile.window(cell.length),
            "template_tokens": self._template_tokens(row),
            "shots": task.shots_of(cell),
        }
        for name, value in wanted.items():
            if row[name] != value:
                yield f"{name} is {row[name]!r}, expected {value!r}"
        each = task.complexities if self.withheld else (cell.complexity,)
        rooms = {task.max_new_tokens_of(replace(cell, complexity=complexity)) for complexity in each}
        replies = sorted(self.profile.reply_tokens(self.plan.recipe.reserve, room) for room in rooms)
        if row["max_new_tokens"] not in replies:
            yield f"max_new_tokens is {row['max_new_tokens']}, expected {' or '.join(map(str, replies))}"

    def _template_tokens(self, row: Row) -> int:
        """Return the template's tokens; with tool calls, all tokens of the window but the reply's and the contents'."""
        turns = turns_of(row)
        if not has_calls(turns):
            return self.profile.overhead([role for role, _ in turns], self.plan.recipe.frame)
        counter = self.profile.counter()
        contents = sum(counter.count(text) for role, text in turns if role != CALL)
        return int(row["context_tokens"] - row["max_new_tokens"] - contents)

    def _count_faults(self, row: Row) -> Iterator[str]:
        """Check that the row fills its window exactly, by counting what is sent with another encoder.

        If the quick counter disagrees with the row, the second one decides. If there is no second one, the counter that
        cut the row counts it once more, which is not reported as a recount.
        """
        counted = row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"]
        if counted != row["context_tokens"]:
            yield f"its parts add up to {counted} of {row['context_tokens']} context tokens"
        wanted = row["prompt_tokens"] + row["template_tokens"]
        if (
            self.quick
            and not self._counted_in_full
            and row["prompt"].isascii()
            and self._sent(row, self.quick) == wanted
        ):
            self.recounted += 1
            self.quick_recounted += 1
        elif self._counted_in_full or self.quick or not self.profile.second_is_slow:
            counter = self.second or self.profile.counter()
            if (sent := self._sent(row, counter)) != wanted:
                yield f"{counter.name} counts {sent} tokens sent, expected {wanted}"
            self.recounted += self.second is not None

    def _sent(self, row: Row, counter: Counter) -> int:
        return self.profile.sent_tokens(turns_of(row), self.plan.recipe.frame, counter, tools_of(row))


KINDS = {CANARY: TRAIN_CANARY, TRAIN_CANARY: CANARY}
"""The canary of each kind of rows, and that of the other kind."""


def _canary_fault(canary: object) -> str:
    """Return the fault of a row whose canary is wrong or missing."""
    kinds = {CANARY: "it carries the canary of evaluation", TRAIN_CANARY: "it carries the canary of training"}
    return kinds.get(str(canary), "it has no canary")


def _is_small(plan: Plan) -> bool:
    """Return whether a plan has so few tokens that opening a quick counter takes longer than it saves."""
    return sum(cell.total * cell.length for cell in plan.recipe.strata) < QUICK_FROM

"""Marks of a row held to the sample that it is of: texts, offsets, tokens and depths of needles, and baselines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pipeline.assemble.cutting import cutter, in_order, rounded
from pipeline.assemble.joining import MARKED, reading
from pipeline.assemble.layouts import LAYOUTS
from pipeline.assemble.plan import Plan
from pipeline.profiles import Profile
from pipeline.prove.row import metadata_of
from pipeline.rows import CANARY, Row
from pipeline.tasks import task_of
from pipeline.tasks.base import Key, Layout, Piece, Sample


def mark_faults(row: Row, sample: Sample, plan: Plan, profile: Profile, *, count: bool) -> Iterator[str]:
    """Yield where a row is not what its sample lays out; with `count` its needles' tokens are counted too."""
    task = plan.task(sample.stratum)
    layout = LAYOUTS.of(plan, sample)
    if layout.numbering is not None:  # what is numbered is text of the packed prompt, which the task's check judges
        yield from _metadata_faults(row, sample)
        return
    head, tail = ("".join(map(reading, pieces)) for pieces in (layout.head, layout.tail))
    prompt, tail = row["prompt"], tail.rstrip() if row["messages"] else tail
    if not prompt.startswith(head) or not prompt.endswith(tail):
        yield "its prompt does not start or end as its sample requires"
    if row["question_start"] != len(prompt) - len(tail):
        yield f"its question does not start at question_start, {row['question_start']}"
    wanted = [(piece.role, piece.text) for piece in _marked(layout)]
    if [(n["role"], prompt[n["char_start"] : n["char_end"]]) for n in row["needles"]] != wanted:
        yield "its needles are not the relevant texts of its sample"
    elif count:
        yield from _token_faults(row, layout, plan, profile)
    if not task.keyed_by_packing and (row["target"], row["answers"]) != (sample.key.target, list(sample.key.answers)):
        yield f"its key is {row['target']!r} in place of {sample.key.target!r}"
    yield from _metadata_faults(row, sample)


def _marked(layout: Layout) -> list[Piece]:
    placed = [piece for item in in_order(layout.placed) for piece in item.unit.pieces]
    return [piece for piece in (*layout.head, *placed, *layout.tail) if piece.role in MARKED]


def _metadata_faults(row: Row, sample: Sample) -> Iterator[str]:
    metadata, key = metadata_of(row), Key.of(row)
    wanted = {
        "knobs": dict(sample.stratum.knobs),
        "baselines": rounded(task_of(sample.stratum).baselines(sample, key)),
        "canary": CANARY,
    }
    for name, value in wanted.items():
        if metadata.get(name) != value:
            yield f"metadata has {name} {metadata.get(name)!r} in place of {value!r}"


def _token_faults(row: Row, layout: Layout, plan: Plan, profile: Profile) -> Iterator[str]:
    found = _turn_spans(row, profile) if row["messages"] else _text_spans(row, plan, profile)
    for needle, (start, end) in zip(row["needles"], found, strict=True):
        if (needle["token_start"], needle["token_end"]) != (start, end):
            yield (
                f"a needle's tokens are {needle['token_start']} to {needle['token_end']}, but counting gives "
                f"{start} to {end}"
            )
    depths = [needle["depth"] for needle in row["needles"]]
    if depths != list(_depths(row, layout, found, plan, profile)):
        yield f"the depths of its needles are not those counted: {depths}"


def _text_spans(row: Row, plan: Plan, profile: Profile) -> list[tuple[int, int]]:
    """Count from edge to edge of needles, each stretch once."""
    edges = sorted({0, *(n[name] for n in row["needles"] for name in ("char_start", "char_end"))})
    counter, text = profile.counter(), row["prompt"]
    at, tokens = {0: (total := profile.gaps(("user",), plan.recipe.frame)[0])}, 0
    for start, end in pairwise(edges):
        stretch = text[start:end]
        tokens = int(counter.counts([stretch])[0]) if start else counter.count(stretch)
        at[end] = total = total + tokens
    return [(at[n["char_start"]], at[n["char_end"]]) for n in row["needles"]]


def _turn_spans(row: Row, profile: Profile) -> list[tuple[int, int]]:
    """Count the turns up to the last needle, with the template around them."""
    counter, gaps = profile.counter(), profile.gaps([turn["role"] for turn in row["messages"]], "chat")
    starts = {needle["char_start"] for needle in row["needles"]}
    found, chars, tokens = {}, 0, 0
    for gap, turn in zip(gaps, row["messages"], strict=False):
        said = reading(Piece(turn["content"], "filler", turn["role"]))
        start, chars = chars + said.rindex(turn["content"]), chars + len(said)
        held = counter.count(turn["content"])
        if start in starts:
            found[start] = (tokens + gap, tokens + gap + held)
        tokens += gap + held
        if len(found) == len(starts):
            break
    return [found.get(needle["char_start"], (-1, -1)) for needle in row["needles"]]


def _depths(
    row: Row, layout: Layout, spans: Sequence[tuple[int, int]], plan: Plan, profile: Profile
) -> Iterator[float | None]:
    """Yield each needle's depth: the filler before it over all filler, the one as tokens less what else is there."""
    knife = cutter(profile, plan.recipe.frame)
    room = row["context_tokens"] - row["max_new_tokens"] - knife.fixed_tokens(layout)
    other = profile.gaps(("user",), plan.recipe.frame)[0] + knife.tokens(layout.head, opens=True)
    yield from (None for piece in layout.head if piece.role in MARKED)
    starts = iter([start for start, _ in spans][sum(piece.role in MARKED for piece in layout.head) :])
    closing = profile.gaps(("user", "assistant", "user"), plan.recipe.frame)[2] if row["messages"] else 0
    for item in in_order(layout.placed):
        before = 0
        for piece in item.unit.pieces:
            if piece.role in MARKED:
                yield (next(starts) - (before - (closing if piece.turn == "assistant" else 0)) - other) / room
            before += knife.tokens((piece,))
        other += before
    yield from (None for piece in layout.tail if piece.role in MARKED)

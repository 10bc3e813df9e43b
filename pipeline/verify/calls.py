"""Token positions of jobs in a conversation with tool calls, counted again from its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.assemble.cutter import LABELS, NEEDLE_ROLES, Cutter, conversation, in_order, turns_in
from pipeline.profiles import Profile
from pipeline.rows import Row
from pipeline.tasks.base import Layout
from pipeline.turns import RESULT, Turn


def marked_jobs(layout: Layout) -> list[tuple[str, str]]:
    """Return the role and the text of each marked job."""
    units = [item.unit.pieces for item in in_order(layout.placed)]
    return [(pieces[0].role, conversation(turns_in(pieces))) for pieces in units if pieces[0].role in NEEDLE_ROLES]


def job_spans(row: Row, turns: Sequence[Turn], profile: Profile, tools: str) -> list[tuple[int, int]]:
    """Return each needle's start and end in tokens, counted from result to result."""
    parts, ends, chars = [list[Turn]()], list[int](), 0
    for role, text in turns[:-1]:
        parts[-1].append((role, text))
        chars += len(f"{LABELS[role]}: {text}\n\n")
        if role == RESULT:
            ends.append(chars)
            parts.append([])
    opening, *jobs = (part for part in parts if part)
    tokens, before = profile.opening_tokens(opening, tools), dict[int, int]()
    for end, count in zip(ends, [0, *profile.job_tokens(jobs)], strict=True):
        before[end] = tokens = tokens + count
    behind = {end - len("\n\n"): tokens for end, tokens in before.items()}
    return [(before.get(needle["char_start"], -1), behind.get(needle["char_end"], -1)) for needle in row["needles"]]


def job_depths(
    row: Row, layout: Layout, spans: Sequence[tuple[int, int]], cutter: Cutter, profile: Profile
) -> Iterator[float]:
    """Yield the depth of each marked job."""
    room = row["context_tokens"] - row["max_new_tokens"] - cutter.fixed_tokens(layout)
    units = [item.unit.pieces for item in in_order(layout.placed)]
    other, starts = profile.opening_tokens(turns_in(layout.head), layout.tools), iter(start for start, _ in spans)
    for pieces, count in zip(units, profile.job_tokens(map(turns_in, units)), strict=True):
        if pieces[0].role in NEEDLE_ROLES:
            yield (next(starts) - other) / room
        other += count

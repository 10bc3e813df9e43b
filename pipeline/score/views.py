"""The output of scoring: tables for people, and one JSON object for programs (``schemas/scores.schema.json``)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.metrics import versions
from pipeline.rows import kilo
from pipeline.score.cells import Tables
from pipeline.score.languages import InLanguage, by_language
from pipeline.score.lengths import THRESHOLD, Effective, effective_lengths, in_words, interval_of
from pipeline.score.results import (
    ANSWERED,
    EMPTY,
    MISSING,
    REFUSED,
    UNUSABLE,
    Cell,
    Classes,
    Fault,
    Record,
    Scored,
    plain_result,
)
from pipeline.terminal.text import percent, table
from pipeline.version import __version__

MAX_LISTED_FAULTS = 10
"""Faults of each kind that are listed."""
SPOKEN = ("refused", "failed")
"""Kinds with messages from a server, which are often the same for many rows."""
NUMBERED = re.compile(r"\S*\d\S*")
TABLES = (("family",), ("subtask",), ("length",), ("complexity",), ("depth",))
RESULTS_VERSION = 1
FAULT_KINDS = {
    "missing": ("row", "without a prediction, scored 0"),
    "failed": ("row", "with an error instead of a reply, scored 0"),
    "refused": ("row", "rejected by the server for good, scored 0"),
    "empty": ("row", "with an empty reply, scored 0"),
    "conflict": ("id", "with different predictions, scored 0"),
    "repeated": ("answer", "given more than once, without effect"),
    "unknown": ("prediction", "with an id that is not in the split, ignored"),
    "no text": ("prediction", "of a type other than text, scored 0"),
    "huge": ("overlong prediction", "of which only the end is read"),
    "unreadable": ("line", "that cannot be read, ignored"),
    "half": ("row", "without its partner in the selection"),
}
"""Kinds of faults: what is counted, and what is wrong with it, in the words of a summary."""


def result_of(tables: Tables, *, rows: bool = False, by: Sequence[str] = ()) -> dict[str, Any]:
    """Return a result as one JSON object; `rows` adds the score of each row, `by` a table by these columns."""
    scored = tables.scored
    named = [("family", *names) if names != ("family",) else names for names in TABLES]
    made = {" ".join(names): tables.by(*names) for names in [*named, *([tuple(by)] if by else [])]}
    result = {
        "results_version": RESULTS_VERSION,
        "carrara": __version__,
        **{name: getattr(scored, name) for name in ("model", "split", "tokenizer")},
        "window": scored.window,
        "tags": dict(scored.tags),
        "quirks": list(scored.quirks),
        "scorers": versions({"scorer": record.scorer} for record in scored.records),
        "complete": scored.complete,
        "counts": dict(scored.counts),
        "never_asked": dict(scored.never_asked),
        "settings": dict(scored.settings),
        "warnings": list(scored.warnings),
        "overall": plain_result(tables.overall) if tables.overall else None,
        "effective": [plain_result(each) for each in effective_lengths(scored)],
        "tables": {name: [plain_result(cell) for cell in cells] for name, cells in made.items()},
        "cumulative": [plain_result(cell) for cell in tables.cumulative("family")],
        "classes": [plain_result(each) for each in tables.classes()],
        "languages": [plain_result(each) for each in by_language(tables)],
        "figures": [plain_result(cell) for cell in tables.figures()],
        "faults": [plain_result(fault) for fault in scored.faults],
    }
    if rows:
        result["rows"] = [_row(record) for record in scored.records]
    return result


def _row(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "state": record.state,
        "score": round(record.score, 6),
        "alone": round(record.alone, 6),
        "unparsed": record.unparsed,
        "finish": record.finish,
    }


def fault_title(kind: str, count: int) -> str:
    """Return what is wrong with a number of things.

    >>> fault_title("empty", 1), fault_title("huge", 2)
    ('1 row with an empty reply, scored 0', '2 overlong predictions of which only the end is read')
    """
    noun, meaning = FAULT_KINDS[kind]
    return f"{count:,} {noun}{'s' * (count != 1)} {meaning}"


def fault_lines(faults: Sequence[Fault]) -> Iterator[str]:
    """Yield what was wrong: a summary of each kind, and its first few cases."""
    kinds: dict[str, list[Fault]] = defaultdict(list)
    for fault in faults:
        kinds[fault.kind].append(fault)
    for kind in FAULT_KINDS:
        if found := kinds.get(kind, []):
            yield f"{fault_title(kind, len(found))}:"
            cases = _alike(found) if kind in SPOKEN else [fault.message for fault in found]
            yield from (f"  {case}" for case in cases[:MAX_LISTED_FAULTS])
            if len(cases) > MAX_LISTED_FAULTS:
                yield f"  ... and {len(cases) - MAX_LISTED_FAULTS:,} more (--json lists them all)"


def _alike(faults: Sequence[Fault]) -> list[str]:
    """Return one line for each group of faults that differ only in words with a digit, such as ids and counts."""
    groups: dict[str, list[str]] = {}
    for fault in faults:
        groups.setdefault(NUMBERED.sub("0", fault.message), []).append(fault.message)
    return [first + (f" (and {len(rest):,} like it)" if rest else "") for first, *rest in groups.values()]


def page(tables: Tables, by: Sequence[str] = (), *, detailed: bool = False) -> str:
    """Return the tables of a result as text; `detailed`, or rows of one family alone, adds those by subtask.

    `detailed` also adds tables by complexity and depth.
    """
    if by:
        return _titled(f"by {', '.join(by)}", table([_record(tables, cell) for cell in tables.by(*by)]))
    parts = [_titled(_title(tables), table([_record(tables, cell) for cell in _summary(tables)]))]
    with_subtasks = detailed or len(tables.by("family")) == 1
    if with_subtasks:
        subtasks = tables.by("family", "subtask")
        parts.append(_titled("by family, subtask", table([_record(tables, cell) for cell in subtasks])))
    for name in ("length", "complexity", "depth") if detailed else ("length",):
        cells = [*(tables.by("family", "subtask", name) if detailed else ()), *tables.by("family", name)]
        parts.append(_titled(f"mean by {name}", table(_pivot(cells, name))))
    reach = f"effective length: how far a model keeps {percent(THRESHOLD)} of its score at the shortest length"
    parts.append(_titled(reach, table([_effective(each) for each in effective_lengths(tables.scored)])))
    if detailed:
        sums = _pivot(tables.cumulative("family"), "up_to")
        parts.append(_titled("cumulative average score up to length", table(sums)))
    if classes := tables.classes():
        parts.append(_titled("rows where refusing may be right", table([_classes(each) for each in classes])))
    if languages := by_language(tables):
        title = "by language, with the difference from English over the same rows"
        parts.append(_titled(title, table([_language(each) for each in languages])))
    if with_subtasks and (figures := tables.figures()):
        parts.append(_titled("components of scores", table(_pivot(figures, "figure", sort=False))))
    if not with_subtasks:
        parts.append("--detailed adds tables by subtask, complexity and depth; carrara report draws them")
    return "\n\n".join(parts)


def _title(tables: Tables) -> str:
    """Return the lines above all tables: the headline, what was asked, and the counts of replies."""
    scored, whole = tables.scored, tables.overall
    quirks = f", {', '.join(scored.quirks)}" if scored.quirks else ""
    model = f"{scored.model} on " if scored.model else ""
    size = ", size lite" if scored.lite else ""
    lines = [f"{model}{scored.split}{size}{quirks}: {counts_line(scored)} (rows without a reply score 0)"]
    if whole:
        lines.insert(0, headline_line(whole))
    lines += [f"never asked: {count:,} rows ({reason})" for reason, count in scored.never_asked.items()]
    if scored.settings:
        lines.append(", ".join(f"{name} {value}" for name, value in scored.settings.items()))
    return "\n".join([*lines, ""])


def headline_line(whole: Cell) -> str:
    """Return the headline with its interval and how it is averaged."""
    how = "the mean over families of the mean over their subtasks of the mean over their lengths"
    return f"headline {whole.mean:.6f} ({whole.low:.3f} - {whole.high:.3f}): {how}"


def counts_line(scored: Scored) -> str:
    """Return the number of rows, and the number in each state that occurs."""
    counts = scored.counts
    shown = [f"{counts['rows']:,} rows", f"{counts[ANSWERED]:,} answered", f"{counts[MISSING]:,} missing"]
    shown += [f"{counts[state]:,} {state}" for state in (REFUSED, EMPTY, UNUSABLE) if counts[state]]
    shown += [f"{counts['unparsed']:,} unparsed"] if counts["unparsed"] else []
    return ", ".join([*shown, *([f"{counts['cut']:,} cut off at their limit"] if counts["cut"] else [])])


def _titled(title: str, lines: str) -> str:
    return f"{title}\n{lines}"


def _summary(tables: Tables) -> list[Cell]:
    whole = tables.overall
    families = tables.by("family")
    return [*families, *([whole] if whole and len(families) > 1 else [])]


def _record(tables: Tables, cell: Cell) -> dict[str, Any]:
    best = tables.naive(cell)
    place = {name: str(value) for name, value in cell.place.items()} or {"family": "headline"}
    return {
        **place,
        "rows": cell.rows,
        "answered": cell.answered,
        "unparsed": cell.unparsed,
        "score": cell.mean,
        "95%": f"{cell.low:.3f} - {cell.high:.3f}",
        "of answered": "-" if cell.answered_mean is None else cell.answered_mean,
        "chance": "-" if cell.chance is None else cell.chance,
        "best constant": "-" if cell.best_constant is None else cell.best_constant,
        "best naive baseline": "-" if best is None else f"{best[0]} {best[1]:.3f}",
    }


def _pivot(cells: Sequence[Cell], column: str, *, sort: bool = True) -> list[dict[str, Any]]:
    """Return a line for each place without one of its columns, whose values become columns of the table."""
    across = list(dict.fromkeys(cell.place[column] for cell in cells))
    across = sorted(across, key=lambda value: (str(type(value)), value)) if sort else across
    lines: dict[tuple[str, ...], dict[str, Any]] = {}
    for cell in cells:
        place = {name: str(value) for name, value in cell.place.items() if name != column}
        head = {"family": place["family"], **({"subtask": place.get("subtask", "all")} if column != "up_to" else {})}
        line = lines.setdefault(tuple(head.values()), {**head, **{_across(value, column): "-" for value in across}})
        line[_across(cell.place[column], column)] = f"{cell.mean:.3f}"
    return [lines[place] for place in sorted(lines, key=lambda place: (place[0], place[1:] == ("all",), place))]


def _across(value: str | int | float, column: str) -> str:
    if column in ("length", "up_to") and isinstance(value, int):
        return kilo(value)
    return f"{value:.1f}+" if isinstance(value, float) else str(value)


def _effective(each: Effective) -> dict[str, Any]:
    return {
        "family": each.place.get("family", "all families"),
        "effective length": in_words(each),
        "95%": interval_of(each),
        "from": "-" if each.shortest is None else kilo(each.shortest),
        "score there": "-" if each.base is None else each.base,
        "longest": kilo(each.asked),
    }


def _language(each: InLanguage) -> dict[str, Any]:
    gain = each.english
    known = gain is not None and gain.mean is not None and gain.low is not None and gain.high is not None
    return {
        "text": each.text,
        "asked": each.asked,
        "tasks": len(each.tasks),
        "rows": each.cell.rows,
        "score": each.cell.mean,
        "95%": f"{each.cell.low:.3f} - {each.cell.high:.3f}",
        "minus English": f"{gain.mean:+.3f}" if gain and known else "-",
        "95% of it": f"{gain.low:+.3f} to {gain.high:+.3f}" if gain and known else "-",
        "better": gain.better if gain else "-",
        "worse": gain.worse if gain else "-",
    }


def _classes(each: Classes) -> dict[str, Any]:
    cells = {"stated": each.stated, "not stated": each.unstated, "balanced": each.balanced, "pairs": each.pairs}
    values = {name: value.mean if isinstance(value, Cell) else value for name, value in cells.items()}
    return {**each.place, **{name: "-" if value is None else f"{value:.3f}" for name, value in values.items()}}

"""Check the results in results/, write their page and draw their pictures: ``python tools/write_results.py``.

A result is a folder with the files that `carrara run` and `carrara score --out` wrote (``replies.jsonl``,
``replies.asked.json``, ``scores.json``), and ``about.toml``, which states what was run where. docs/results.md is only
written if all files agree. Results in results/ladder are of the recipe there, and are shown by complexity. With
``NAME=SPLIT``, the replies in results/NAME are also scored again on the split.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import click

from carrara import open_scores
from draw_results import Point, Subtask, by_length, by_subtask
from pipeline.artifacts.asked import read_asked, record_path
from pipeline.rows import kilo
from pipeline.score.lengths import Curves, difference
from pipeline.score.results import Record, Scored
from write_tables import table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
LADDER = RESULTS / "ladder"
PAGE, IMAGES = ROOT / "docs" / "results.md", ROOT / "docs" / "images"
MARKED = re.compile(r"(<!-- results: ([a-z]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)
LARGEST = 1_000_000
"""Bytes of a file of replies."""
ABOUT = ("model", "page", "file", "digest", "parameters", "server", "machine")
DIGEST = re.compile(r"(sha256:[0-9a-f]{64}|revision:[0-9a-f]{40})")


class Result(NamedTuple):
    """One model's result: the content of about.toml, the scores, and the total seconds of all replies."""

    about: dict[str, str]
    scores: dict[str, Any]
    seconds: float

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.about["model"]

    @property
    def parameters(self) -> float:
        """Millions of parameters."""
        number, unit = self.about["parameters"].split()
        return float(number) * (1000 if unit == "billion" else 1)


class ResultError(click.ClickException):
    """A result whose files are missing or disagree."""


def read_results(folder: Path = RESULTS) -> list[Result]:
    """Return all results of a folder, the largest model last.

    Raises:
        ResultError: if a file is missing, files disagree, or results are of different rows.
    """
    results = [read_result(path.parent) for path in sorted(folder.glob("*/about.toml"))]
    tags = {json.dumps(sorted(_tags(each.scores))) for each in results}
    if len(tags) > 1:
        raise ResultError(f"results are of different rows (tags {', '.join(sorted(tags))}): run the newer recipe again")
    return sorted(results, key=lambda each: each.parameters)


def read_result(folder: Path) -> Result:
    """Return the result in a folder.

    Raises:
        ResultError: if a file is missing, or files disagree.
    """
    about, replies, scores_at = folder / "about.toml", folder / "replies.jsonl", folder / "scores.json"
    for path in (about, replies, record_path(replies), scores_at):
        if not path.is_file():
            raise ResultError(f"{folder.name}: {path.name} is missing")
    facts = tomllib.loads(about.read_text(encoding="utf-8"))
    _check_about(folder.name, facts)
    if replies.stat().st_size > LARGEST:
        raise ResultError(f"{folder.name}: replies.jsonl has {replies.stat().st_size:,} bytes, more than {LARGEST:,}")
    scores = json.loads(scores_at.read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in replies.read_text(encoding="utf-8").splitlines()]
    asked = read_asked(record_path(replies)).asked
    if sorted(asked.tags.values()) != sorted(_tags(scores)):
        raise ResultError(f"{folder.name}: replies.asked.json and scores.json are of different rows: score again")
    for name in ("temperature", "date"):
        if name not in asked.settings:
            raise ResultError(f"{folder.name}: replies.asked.json does not say the {name}: run with `carrara run`")
    rows = {row["id"] for row in scores.get("rows", [])}
    # A model may reply with nothing, which scores 0.
    whole = scores["complete"] or {fault["kind"] for fault in scores["faults"]} == {"empty"}
    if not rows or not whole or {line["id"] for line in lines} != rows:
        raise ResultError(
            f"{folder.name}: scores.json has {len(rows)} rows and replies.jsonl {len(lines)}: finish the run, then "
            "repeat `carrara score ... --out scores.json`"
        )
    return Result(facts, scores, sum(line["seconds"] for line in lines))


def _check_about(name: str, facts: dict[str, Any]) -> None:
    if sorted(facts) != sorted(ABOUT) or not all(isinstance(value, str) and value for value in facts.values()):
        raise ResultError(f"{name}: about.toml must have exactly {', '.join(ABOUT)}, each a string")
    if not DIGEST.fullmatch(facts["digest"]):
        raise ResultError(f"{name}: digest must be sha256:<64 hex digits> or revision:<40>, not {facts['digest']!r}")
    if urlsplit(facts["page"]).scheme != "https":
        raise ResultError(f"{name}: page must be an https address, not {facts['page']!r}")
    if not re.fullmatch(r"\d+(\.\d+)? (million|billion)", facts["parameters"]):
        raise ResultError(f"{name}: parameters must be like '135 million', not {facts['parameters']!r}")


def _tags(scores: dict[str, Any]) -> list[str]:
    return list(scores["tags"].values())


def score_again(name: str, split: Path, folder: Path = RESULTS) -> int:
    """Score the replies of a result again on the split that was asked, which also compares digests of prompts.

    Returns:
        The number of rows.

    Raises:
        ResultError: if a row's score differs from the result's.
    """
    stored = {row["id"]: row["score"] for row in read_result(folder / name).scores["rows"]}
    records = open_scores(split, folder / name / "replies.jsonl").scored.records
    for record in records:
        if abs(record.score - stored[record.id]) > 1e-5:
            raise ResultError(
                f"{name}: {record.id} scores {record.score:.6f}, and scores.json says {stored[record.id]}"
            )
    return len(records)


def tables(results: Sequence[Result], ladder: Sequence[Result]) -> dict[str, str]:
    """Return the tables of the page by name."""
    lengths = sorted({length for each in results for _, length in _cells(each)})
    return {
        "models": table((*MODELS, *map(kilo, lengths)), (_model(each, lengths) for each in results)),
        "subtasks": table(
            ("subtask", *(each.name for each in results), "guessing", "best naive baseline"),
            _subtasks(results),
        ),
        "differences": table(("models", "same questions", "better", "worse", "difference"), _differences(results)),
        "ladder": table(("subtask", "window", *(each.name for each in ladder), "guessing"), _rungs(ladder)),
    }


MODELS = ("model", "answered", "minutes", "cut off", "unparsed")


def _model(each: Result, lengths: Iterable[int]) -> tuple[str, ...]:
    counts, curve = each.scores["counts"], dict(curve_of(each))
    headlines = (f"{at.mean:.3f} ({at.low:.3f}-{at.high:.3f})" if at else "-" for at in map(curve.get, lengths))
    return (
        f"[{each.name}]({each.about['page']})",
        f"{counts['answered']:,}",
        f"{each.seconds / 60:.0f}",
        str(counts["cut"]),
        str(counts["unparsed"]),
        *headlines,
    )


def _with_interval(cell: dict[str, Any]) -> str:
    return f"{cell['mean']:.3f} ({cell['low']:.3f}-{cell['high']:.3f})"


def _score(cell: dict[str, Any]) -> str:
    """Return a score with its interval, in bold if all of it is above guessing."""
    return f"**{_with_interval(cell)}**" if cell["low"] > _guessing(cell) else _with_interval(cell)


def _guessing(cell: dict[str, Any]) -> float:
    """Return the higher of chance and the best constant."""
    return max(cell["chance"] or 0.0, cell["best_constant"] or 0.0)


def _cells(each: Result) -> dict[tuple[str, int], dict[str, Any]]:
    """Return a model's cells by subtask and length."""
    by = each.scores["tables"]["family subtask length"]
    return {(f"{one['place']['family']}.{one['place']['subtask']}", one["place"]["length"]): one for one in by}


def _fullest(cells: Iterable[dict[tuple[str, int], dict[str, Any]]]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return each place's cell with the most rows: the fewer there are, the better guessing looks."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for some in cells:
        for place, cell in some.items():
            if place not in found or cell["rows"] > found[place]["rows"]:
                found[place] = cell
    return found


def _subtasks(results: Sequence[Result]) -> Iterable[tuple[str, ...]]:
    cells = [_cells(each) for each in results]
    fullest = _fullest(cells)
    shortest = min(length for _, length in fullest)
    for (name, length), known in sorted(fullest.items(), key=lambda one: one[0]):
        if length != shortest:
            continue
        own = [some.get((name, length)) for some in cells]
        naive = max(known["baselines"].items(), key=lambda one: one[1], default=None)
        yield (
            f"`{name}`",
            *("-" if cell is None else _score(cell) for cell in own),
            f"{_guessing(known):.3f}",
            "-" if naive is None else f"{naive[0].replace('_', ' ')} {naive[1]:.2f}",
        )


def _rungs(ladder: Sequence[Result]) -> Iterable[tuple[str, ...]]:
    """Yield a line for each subtask and length, with scores at each complexity, and one for all that score nothing."""
    cells: dict[tuple[str, int], dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for each in ladder:
        for cell in each.scores["tables"]["family subtask length complexity"]:
            place = cell["place"]
            cells[f"{place['family']}.{place['subtask']}", place["length"]][place["complexity"]].append(cell)
    nothing = set[str]()
    for (name, length), rungs in sorted(cells.items()):
        steps = sorted(rungs.items())
        if not any(cell["mean"] for _, own in steps for cell in own):
            nothing.add(name)
            continue
        yield (
            f"`{name}`",
            kilo(length),
            *("; ".join(f"{step}: {_score(own[at])}" for step, own in steps) for at in range(len(ladder))),
            "; ".join(f"{_guessing(own[0]):.2f}" for _, own in steps),
        )
    if nothing:
        yield f"{len(nothing)} others", "", *("0" for _ in ladder), ""


def _differences(results: Sequence[Result]) -> Iterable[tuple[str, ...]]:
    """Compare each model with the next larger one on the questions that both replied to."""
    for smaller, larger in pairwise(map(_scored, results)):
        found = difference(smaller, larger)
        interval = f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
        yield (
            f"{larger.model} minus {smaller.model}",
            f"{found.rows:,}",
            str(found.better),
            str(found.worse),
            f"**{interval}**" if found.is_significant else interval,
        )


def _scored(each: Result) -> Scored:
    """Return a result's scores with what ids say of their rows, which is enough to compare models."""
    records = []
    for row in each.scores["rows"]:
        name, tier, length, _, tag = row["id"].rsplit("-", 4)
        family, _, subtask = name.partition("-")
        place = {"family": family, "subtask": subtask, "tier": tier, "length": int(length), "subset": tag}
        score = {name: row[name] for name in ("id", "state", "score", "alone")}
        records.append(Record(**UNKNOWN | place | score))
    return Scored(each.name, "", "", {}, (), tuple(records), (), {})


UNKNOWN: dict[str, Any] = {
    **dict.fromkeys(("bucket", "scorer", "kind", "pair", "prediction", "target", "question"), ""),
    "context_tokens": 0,
    "complexity": 1,
    "depth": None,
}
"""What scores.json does not say of a row."""


def written(results: Sequence[Result], ladder: Sequence[Result]) -> str:
    """Return the page with the tables of these results."""
    made = tables(results, ladder)
    return MARKED.sub(lambda match: f"{match[1]}\n{made[match[2]]}\n\n{match[3]}", PAGE.read_text(encoding="utf-8"))


def pictures(results: Sequence[Result]) -> dict[str, str]:
    """Return the pictures of these results by file name.

    By subtask, only the shortest length is shown, and the subtasks with the highest scores come first.
    """
    cells = [_cells(each) for each in results]
    fullest = _fullest(cells)
    lengths = sorted({length for _, length in fullest})
    subtasks = []
    for (name, length), known in fullest.items():
        if length == lengths[0]:
            own = [some.get((name, length)) for some in cells]
            points = [Point(cell["mean"], cell["low"], cell["high"]) if cell else None for cell in own]
            subtasks.append(Subtask(name, points, _guessing(known), max(known["baselines"].values(), default=None)))
    subtasks.sort(key=lambda line: -fmean(point.mean for point in line.points if point))
    guessing = {place: _guessing(cell) for place, cell in fullest.items()}
    naive = {place: max([guessing[place], *cell["baselines"].values()]) for place, cell in fullest.items()}
    return {
        "results.svg": by_length(
            f"Real models, {' to '.join(map(kilo, dict.fromkeys((lengths[0], lengths[-1]))))}",
            [(each.name, curve_of(each)) for each in results],
            _headlines(guessing, lengths),
            _headlines(naive, lengths),
        ),
        "results-subtasks.svg": by_subtask(
            f"Real models in windows of {kilo(lengths[0])}", [each.name for each in results], subtasks
        ),
    }


def curve_of(each: Result) -> list[tuple[int, Point]]:
    """Return a model's headline by length, over the subtasks asked at every length."""
    points = Curves(_scored(each)).curve().points
    return [
        (at.length, Point(at.mean, at.low, at.high))
        for at in points
        if at.mean is not None and at.low is not None and at.high is not None
    ]


def _headlines(cells: Mapping[tuple[str, int], float], lengths: Iterable[int]) -> list[tuple[int, float]]:
    """Return the means over families of means over subtasks, by length."""
    found = []
    for length in lengths:
        families: dict[str, list[float]] = defaultdict(list)
        for (name, at), score in cells.items():
            if at == length:
                families[name.partition(".")[0]].append(score)
        found.append((length, fmean(map(fmean, families.values()))))
    return found


def main(arguments: Sequence[str]) -> None:
    """Check all results, score replies again if their split is given, and write the page."""
    results, ladder = read_results(), read_results(LADDER)
    for argument in arguments:
        name, _, split = argument.partition("=")
        print(f"{name}: {score_again(name, Path(split)):,} replies have the scores that it says", file=sys.stderr)
    PAGE.write_text(written(results, ladder), encoding="utf-8")
    for name, drawn in pictures(results).items():
        (IMAGES / name).write_text(drawn, encoding="ascii")
    print(f"{len(results)} results; wrote {PAGE} and pictures to {IMAGES}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ResultError as fault:
        fault.show()
        sys.exit(1)

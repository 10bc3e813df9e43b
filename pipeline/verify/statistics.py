"""Statistics of rows: best constants and baselines, the makeup of prompts, and balance."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import fsum, sqrt
from typing import Any

from pipeline.artifacts.manifest import DEPTH_BINS, PORTIONS, Chance, Portions
from pipeline.assemble.cutter import cutter_for
from pipeline.assemble.jobs import draw_sample, pool_of, samples_of
from pipeline.assemble.plan import Affinity, Plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.errors import BuildError
from pipeline.metrics import NORMALISED, PART, SOURCED, TOKEN, dated, listed, points_of, score, worth_of
from pipeline.profiles import Profile
from pipeline.recipe import Stratum
from pipeline.rows import Row, asked_of, plain_json, sha256_text
from pipeline.tasks import task_of
from pipeline.tasks.base import Layout, Sample, Unit

CANDIDATES = 200
BATCH = 120
"""Rows per stratum drawn for statistics; each such stratum has its own length, so that all draws are fresh."""

PROBES, WEIGHED = 3, 512
"""Rows per stratum that are laid out to estimate the makeup of prompts, and filler units that are counted for each."""

SCORED_COLUMNS = ("scorer", "subtask", "target", "answers", "choices", "random_string_to_prepend")
"""The columns that scorers use, apart from the question."""

BEST_CONSTANTS: dict[str, tuple[str, float]] = {}
"""Best constants by a digest of the rows, since rows of all profiles mostly have the same keys."""

SOUGHT = frozenset({"relevant", "match"})
"""Roles of the segments whose depths are counted: what has to be found, and what matches it."""

CHANCE_COLUMNS = ["family", "complexity", "metadata", *SCORED_COLUMNS]


def chances(rows: Iterable[Mapping[str, Any]]) -> list[Chance]:
    """Return the chance table of rows or keys, sorted by family, subtask, complexity and what is asked."""
    groups: dict[tuple[str, str, int, str], list[tuple[Mapping[str, Any], dict[str, float]]]] = defaultdict(list)
    for row in rows:
        metadata = json.loads(row["metadata"])
        place = row["family"], row["subtask"], row["complexity"], asked_of(metadata)
        groups[place].append(({name: row[name] for name in SCORED_COLUMNS}, metadata["baselines"]))
    return [_chance(place, *zip(*groups[place], strict=True)) for place in sorted(groups)]


def key_tables(keys: Callable[[list[str]], Iterator[Row]]) -> dict[str, Any]:
    """Return the fields of a tier's manifest that are computed from keys: chance, depths and budgets.

    Args:
        keys: returns the given columns of the keys of all rows; called once.
    """
    depths: dict[str, list[int]] = {}
    budgets: dict[int, Counter[str]] = {}

    def counted() -> Iterator[Row]:
        for row in keys(list(dict.fromkeys([*CHANCE_COLUMNS, "needles", "length", *PORTIONS.values()]))):
            bins = depths.setdefault(row["family"], [0] * DEPTH_BINS)
            for needle in row["needles"]:
                if needle["role"] in SOUGHT and needle["depth"] is not None:
                    bins[min(int(needle["depth"] * DEPTH_BINS), DEPTH_BINS - 1)] += 1
            budgets.setdefault(row["length"], Counter()).update({part: row[name] for part, name in PORTIONS.items()})
            yield row

    return {
        "chance": tuple(chances(counted())),
        "depths": {family: tuple(bins) for family, bins in depths.items()},
        "budgets": {str(length): Portions(**budgets[length]) for length in sorted(budgets)},
    }


def _chance(
    place: tuple[str, str, int, str], rows: Sequence[Mapping[str, Any]], each: Sequence[Mapping[str, float]]
) -> Chance:
    constant, best = best_constant(rows)
    names = sorted({name for baselines in each for name in baselines})
    means = {name: fsum(baselines.get(name, 0.0) for baselines in each) / len(each) for name in names}
    return Chance(*place, len(rows), round(best, 4), constant, {name: round(mean, 4) for name, mean in means.items()})


def draw_keys(plan: Plan, draws: int) -> Iterator[dict[str, Any]]:
    """Yield keys of about `draws` fresh samples of each family, spread evenly over its subtasks and complexities."""
    for family in plan.families:
        kinds = {(cell.subtask, cell.complexity): cell for cell in plan.recipe.of_family(family)}
        for cell in kinds.values():
            wanted = -(-draws // len(kinds))
            for number in range(-(-wanted // BATCH)):
                fresh = replace(cell, rows=min(BATCH, wanted - number * BATCH), length=cell.length + number)
                yield from (_draw_key(plan, fresh, index) for index in range(fresh.rows))


def _draw_key(plan: Plan, cell: Stratum, index: int) -> dict[str, Any]:
    task, sample = task_of(cell), draw_sample(plan, RowPlan(cell, index, ""))
    return {
        "family": cell.family,
        "subtask": cell.subtask,
        "complexity": cell.complexity,
        "scorer": task.scorer_of(cell),
        **sample.key.columns(),
        "metadata": plain_json({"latent": dict(sample.latent), "baselines": task.baselines(sample, sample.key)}),
    }


def best_constant(rows: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """Return the single reply that scores best over all rows, and its mean score.

    It tries the 20 most frequent targets, and at least CANDIDATES targets (or all) evenly spread in sorted order.
    """
    distinct = Counter(tuple(map(_plain, (row[name] for name in SCORED_COLUMNS))) for row in rows)
    digest = sha256_text(repr(list(distinct.items())))
    if digest not in BEST_CONSTANTS:
        BEST_CONSTANTS[digest] = _best_constant([row["target"] for row in rows], distinct)
    return BEST_CONSTANTS[digest]


def _best_constant(targets: Sequence[str], distinct: Counter[tuple[object, ...]]) -> tuple[str, float]:
    counts = Counter(targets)
    ordered = sorted(counts, key=_numeric_first)
    spread = ordered[:: max(1, len(ordered) // CANDIDATES)]
    tried = sorted({*spread, *(target for target, _ in counts.most_common(20))})
    rows = [(dict(zip(SCORED_COLUMNS, row, strict=True)), times) for row, times in distinct.items()]
    bounds = {reply: fsum(times * _score_bound(reply, row) for row, times in rows) for reply in tried}
    best, total = "", -1.0
    for reply in sorted(tried, key=lambda reply: (-bounds[reply], reply)):
        if bounds[reply] < total:
            break
        total, best = max((total, best), (_total(reply, rows), reply))
    return best, total / len(targets)


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _total(reply: str, rows: Sequence[tuple[dict[str, Any], int]]) -> float:
    return fsum(times * score(row, reply) for row, times in rows if _score_bound(reply, row))


def _score_bound(reply: str, row: Mapping[str, Any]) -> float:
    """Return an upper bound on the score of a target as a reply to a row, which is faster than scoring.

    It is 0 if the reply lacks the words that it would need for a score: those of an answer, of each part, of a fact or
    of an item, a row of a table, a text that is to be copied, or the number of a document. For key points, the bound
    follows from how many surnames are followed by their year in the reply, as in every sentence of a key.
    """
    letters, target = _letters(reply), row["target"]
    match row["scorer"]:
        case "exact":
            return any(_tokens(answer) <= _tokens(reply) for answer in row["answers"])
        case "all_in_order":
            parts = zip(*(answer.split(PART) for answer in row["answers"]), strict=True)
            return all(any(_tokens(form) <= _tokens(reply) for form in forms) for forms in parts)
        case "cited":
            return any(all(word in letters for word in words) for words in _stated_words(tuple(row["answers"])))
        case "members" | "route" if listed(row) and "&" not in target:
            return any(_letters(item) in letters for item in listed(row))
        case "key_points":
            points = _key_points(target)
            stated = sum(name + year in letters for name, year in points)
            return 2 * stated / max(1, len(points) + stated)
        case "rows":
            return not _table_rows(target).isdisjoint(_table_rows(reply))
        case "echo":
            (known, place, count), (others, at, given) = _echoed(target), _echoed(reply)
            return (min(count, given) / max(count, given) + (place == at)) / 2 if known == others else 0.0
        case "ndcg":
            return any(number in letters for number in worth_of(row))
        case _:
            return 1.0


@lru_cache(maxsize=1 << 14)
def _stated_words(answers: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the words of each value that answers state with sources, normalised as by scorers."""
    values = (NORMALISED(match[1]) for answer in answers for match in SOURCED.finditer(answer))
    return tuple(tuple(map(_letters, value.split())) for value in values)


@lru_cache(maxsize=1 << 14)
def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


@lru_cache(maxsize=1 << 14)
def _key_points(target: str) -> tuple[tuple[str, str], ...]:
    points, _ = points_of({"target": target, "answers": (target,)})
    return tuple((_letters(name.rpartition(" ")[2]), year) for name, year in points)


@lru_cache(maxsize=1 << 10)
def _table_rows(target: str) -> frozenset[str]:
    return frozenset(map(_letters, target.split("\n")[1:]))


@lru_cache(maxsize=1 << 14)
def _echoed(target: str) -> tuple[frozenset[str], tuple[str, int], int]:
    """Return the two words of a text that repeats one of them, the other with its place, and the number of words."""
    words = target.split(" ")
    changed = min(dict.fromkeys(words), key=words.count)
    return frozenset(words), (changed, words.index(changed)), len(words)


@lru_cache(maxsize=1 << 14)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(TOKEN.findall(dated(text).lower()))


def _numeric_first(target: str) -> tuple[float, str]:
    try:
        return float(target), target
    except ValueError:
        return float("inf"), target


@dataclass(frozen=True, slots=True)
class Makeup:
    """The average makeup of a stratum's prompts in one profile.

    `units` counts all units of a prompt, placed ones included; `distractors` counts filler units that state a fact of a
    kind that is asked for, and is None if that does not apply.
    """

    cell: Stratum
    profile: str
    unit_tokens: float
    units: float
    distractors: float | None


def makeups(plan: Plan) -> list[Makeup]:
    """Return the makeup of every stratum's prompts in each profile, without building any.

    Strata with the same pools are processed together, so that few pools are in memory at a time.
    """
    cells = [cell for family in plan.families for cell in plan.recipe.of_family(family)]
    by_pool = sorted(cells, key=lambda cell: [spec.name for spec in plan.task(cell).pools(cell)])
    of_cell = {cell: list(_makeups(plan, cell)) for cell in by_pool}
    return [makeup for cell in cells for makeup in of_cell[cell]]


def _makeups(plan: Plan, cell: Stratum) -> Iterator[Makeup]:
    probes = []
    for index in range(min(PROBES, cell.total)):
        sample = draw_sample(plan, RowPlan(cell, index, ""))
        layout = plan.task(cell).layout(sample, *row_streams(plan, cell, index))
        spec = next(spec for spec in plan.task(cell).pools(cell) if spec.name == layout.filler.pool)
        filler = pool_of(plan, spec).take(layout.filler.order.take(WEIGHED))
        probes.append((sample, layout, filler))
    for profile in plan.profiles:
        each = [_weighed(plan, cell, profile, *probe) for probe in probes]
        counts = [distractors for _, _, distractors in each if distractors is not None]
        means = [fsum(values) / len(each) for values in list(zip(*each, strict=True))[:2]]
        yield Makeup(cell, profile.name, means[0], means[1], fsum(counts) / len(counts) if counts else None)


def _weighed(
    plan: Plan, cell: Stratum, profile: Profile, sample: Sample, layout: Layout, filler: Sequence[Unit]
) -> tuple[float, float, float | None]:
    """Return tokens per unit of filler, units in the prompt, and distractors among them."""
    cutter = cutter_for(profile, plan.recipe.frame)
    max_new = profile.reply_tokens(plan.recipe.reserve, task_of(cell).max_new_tokens_of(cell))
    mean = float(cutter.unit_tokens(filler).mean())
    count = (profile.window(cell.length) - max_new - cutter.fixed_tokens(layout)) / mean
    kinds = sample.kinds
    stating = sum(any(fact.partition("(")[0] in kinds for fact in unit.facts) for unit in filler)
    return (
        mean,
        count + len(layout.placed),
        count * stating / len(filler) if stating or _states_facts(filler, kinds) else None,
    )


def _states_facts(filler: Sequence[Unit], kinds: frozenset[str]) -> bool:
    """Return whether a kind is asked for, and the filler states facts of any kind."""
    return bool(kinds) and any("(" in fact for unit in filler for fact in unit.facts)


DEVIATIONS, MARGIN = 6, 18
LEAST_VARIANCE = 0.25
"""The least variance assumed per block: a joint deal of several things may leave one of them this uneven."""


@dataclass(frozen=True, slots=True)
class BalanceJob:
    """A check that the rows of a family were dealt evenly."""

    plan: Plan
    family: str

    @property
    def affinity(self) -> Affinity:
        """Jobs with the same affinity need the same worlds."""
        return self.plan.affinity(self.family)

    def run(self) -> BuildError | None:
        """Return the error for a kind that comes too often, or a text that comes twice, or None."""
        fault = next(balance_faults(samples_of(self.plan, self.family)), "")
        return BuildError(f"{fault}: the task must be fixed") if fault else None


def balance_jobs(plan: Plan) -> list[BalanceJob]:
    """Return the jobs that check a plan's balance, one per family."""
    return [BalanceJob(plan, family) for family in plan.families]


def balance_faults(samples: Iterable[Sample]) -> Iterator[str]:
    """Yield where the samples of a family are not dealt evenly, or share a text written for one row."""
    blocks: dict[tuple[Stratum, int, str, int], Counter[Hashable]] = defaultdict(Counter)
    rows: dict[str, Sample] = {}
    for sample in samples:
        for text in task_of(sample.stratum).own_texts(sample):
            if (other := rows.setdefault(text, sample)) is not sample:
                yield f"{_row(sample)} and {_row(other)}: both have the text {text[:60]!r}, written for one row"
        for name, (kind, kinds) in task_of(sample.stratum).dealt(sample).items():
            blocks[sample.stratum, sample.index // sample.stratum.rows, name, kinds][kind] += 1
    places: dict[tuple[str, int], list[Counter[Hashable]]] = defaultdict(list)
    for (cell, _, name, kinds), counts in blocks.items():
        if fault := _excess_fault(counts, kinds):
            yield f"{cell}: {name}: {fault}"
        for place in (f"length {cell.length}", f"tier {cell.tier}"):
            places[f"{cell.family}.{cell.subtask} {place}: {name}", kinds].append(counts)
    for (place, kinds), parts in places.items():
        if fault := _drift_fault(parts, kinds):
            yield f"{place}: {fault}"


def _row(sample: Sample) -> str:
    return f"{sample.stratum} row {sample.index}"


def _excess_fault(counts: Counter[Hashable], kinds: int) -> str:
    """Return the fault of a block in which a kind has at least two rows more than an even deal gives; "" if none."""
    rows, even = counts.total(), -(-counts.total() // kinds)
    (kind, most), *_ = counts.most_common(1)
    return f"{most} of {rows} rows have {kind!r}, where an even deal gives {even}" if most > even + 1 else ""


def _drift_fault(parts: Sequence[Counter[Hashable]], kinds: int) -> str:
    """Return the fault of blocks whose leftover rows go to the same kinds too often (chi-square test); "" if none."""
    total = sum(parts, Counter[Hashable]())
    even = total.total() / kinds
    over = [part.total() % kinds / kinds for part in parts]
    variance = sum(max(share * (1 - share), LEAST_VARIANCE) for share in over)
    missing = (kinds - len(total)) * even**2
    statistic = (sum((count - even) ** 2 for count in total.values()) + missing) / variance
    limit = kinds + DEVIATIONS * sqrt(2 * kinds) + MARGIN
    if len(total) <= kinds and statistic <= limit:
        return ""
    (kind, most), *_ = total.most_common(1)
    shown = f"chi-square {statistic:.0f}, at most {limit:.0f}"
    return f"{most} of {total.total()} rows have {kind!r}, where an even deal gives {even:.1f} ({shown})"

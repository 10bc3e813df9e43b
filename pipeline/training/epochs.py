"""An epoch of a stream: 4,096 rows of a stratum that share their worlds, made and proven in memory.

Samples, layouts, pools, counts, cutting and proofs use the functions of a build, but streams have another root. A
build's root is a number, its seed; an epoch's root is a string. Since the path of a stream includes the type of each
part, no seed of an evaluation leads to a stream of training. Below a root of training, surnames, towns, keys and the
like come from lists that evaluation never draws from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.assemble.cutter import CountedPool, Cutter, bucket, cutter_for
from pipeline.assemble.jobs import made_pool, pool_counts
from pipeline.assemble.plan import Plan
from pipeline.assemble.pools import Pool
from pipeline.caches import lru_cache, register
from pipeline.errors import BuildError, FitError, RecipeError, unknown
from pipeline.executors.memory import without_collection
from pipeline.profiles import Profile, load_profile
from pipeline.recipe import Knob, Recipe, Stratum, digest
from pipeline.rows import DATA_SCHEMA, TRAIN_CANARY, Row
from pipeline.streams import Streams
from pipeline.tasks import TASKS, check_stratum
from pipeline.tasks.base import Layout, PoolSpec, Sample, Task
from pipeline.tasks.solving import PROMPT
from pipeline.training.evidence import (
    Ids,
    asking,
    bare,
    check_form,
    evidence_faults,
    evidence_of,
    marked_units,
    pieces_of,
)
from pipeline.verify.row import ONE_IN, RowChecker

EPOCH = 4096
"""Rows of a stratum that share a world."""
BLOCK = 256
"""Rows in which deals are even and a task can keep questions distinct, as in a block of a build."""
COLUMNS = (*DATA_SCHEMA.names, "evidence", "evidence_form")
TRANSFER = {"mrcr": (), "idk": (), "summ": (), "longqa": ("turns",), "trace": ("constraint",)}
"""Families, or some of their subtasks, that are kept for evaluation (recipe `transfer`): Carrara makes no training rows
of them."""
PER_UNIT, TAGS = 10, 48
"""Tokens reserved in a reply for each id, and for the tags around ids and answer."""
MOST_PLACED = 2048
"""Ids reserved for the placed units of a row."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What determines the rows of a stream; `form` is the form of evidence that they ask for, or ""."""

    cell: Stratum
    tokenizer: str
    seed: int
    form: str = ""
    frame: str = "chat"
    reserve: int | None = None

    @property
    def tag(self) -> str:
        """The tag at the end of every id, which depends on seed, stratum and form, but not on the tokenizer."""
        return digest([self.seed, self.cell, self.form])[:8]

    @property
    def task(self) -> str:
        """Family and subtask."""
        return f"{self.cell.family}.{self.cell.subtask}"


def cell_of(task: str, length: int, complexity: int | None, shots: int | None, knobs: Mapping[str, Knob]) -> Stratum:
    """Return the stratum of a stream.

    Raises:
        RecipeError: for a task that is unknown or never streamed, or an invalid value.
    """
    names = {f"{family}.{subtask}": (family, subtask) for family, subtask in TASKS}
    if task not in names:
        raise RecipeError(unknown("task", task, names))
    family, subtask = names[task]
    if kept_for_evaluation(family, subtask):
        raise RecipeError(f"{task} is kept for evaluation and never streamed: train on another task")
    if TASKS[family, subtask].has_calls:
        plain = TASKS[family, subtask].twin
        raise RecipeError(f"{task} has tool calls, which streams do not carry: train on {family}.{plain}")
    if not 1024 <= length <= 1 << 20:
        raise RecipeError(f"length {length}: give 1024 to {1 << 20} tokens")
    chosen = TASKS[family, subtask].complexities[0] if complexity is None else complexity
    cell = Stratum(family, subtask, bucket(length), length, chosen, BLOCK, shots, tuple(sorted(knobs.items())))
    check_stratum(cell)
    return cell


def kept_for_evaluation(family: str, subtask: str) -> bool:
    """Return whether a task is never streamed."""
    return family in TRANSFER and subtask in (TRANSFER[family] or (subtask,))


def checked(spec: Spec) -> Spec:
    """Return a spec with room for evidence, and by default without demonstrations, whose form would differ.

    Raises:
        RecipeError: if the task cannot ask for evidence.
    """
    check_form(spec.cell, spec.form)
    if not spec.form:
        return spec
    task, cell = TASKS[spec.cell.family, spec.cell.subtask], spec.cell
    each = PER_UNIT if spec.form == "ids" else 120
    reserve = spec.reserve or task.max_new_tokens_of(cell) + TAGS + each * max(4, 2 * cell.complexity)
    return replace(spec, cell=replace(cell, shots=cell.shots or 0), reserve=reserve)


def root_of(seed: int, number: int) -> str:
    """Return the root of an epoch's streams."""
    return f"train/{seed}/{number}"


class Epoch(Plan):
    """A plan of one stratum and one profile, with its own root of streams; it writes nothing."""

    number: int
    spec: Spec

    @property
    def root(self) -> str:
        """The root of all streams' paths."""
        return root_of(self.recipe.seed, self.number)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only spec and number."""
        return epoch_of, (self.spec, self.number)

    @property
    def profile(self) -> Profile:
        """The profile that rows are built for."""
        return self.profiles[0]

    @property
    def cutter(self) -> Cutter:
        """The cutter of the rows."""
        return cutter_for(self.profile, self.recipe.frame, TRAIN_CANARY)

    def pool(self, spec: PoolSpec) -> CountedPool:
        """Return a pool of the epoch with its counts."""
        return POOLS_IN_MEMORY.get(self.root, spec, self.profile, self.recipe.frame, marked=self.spec.form == "ids")

    def row(self, index: int, place: int) -> Row:
        """Return row `place` of the epoch, which is row `index` of its stream.

        Raises:
            BuildError: if the row is not proven.
        """
        with without_collection():
            return self._row(index, place)

    def _row(self, index: int, place: int) -> Row:
        cell, form = self.spec.cell, self.spec.form
        task, (block, nth) = self.task(cell), divmod(place, BLOCK)
        shared = Streams(
            (self.root, f"{self.spec.task}@{task.version}", cell.tier, f"{cell.length}/{block}", *_paired(task, cell))
        )
        own = Streams((*shared.path, nth))
        sample = replace(task.sample(cell, nth, own, shared), id=_name(self.spec, task, index))
        plain = task.layout(sample, own, shared)
        layout = self._asking(plain, place) if form else plain
        counted = self.pool(next(each for each in task.pools(cell) if each.name == plain.filler.pool))
        row = self.cutter.cut(task, sample, layout, counted, own.of("packing"), self.recipe.reserve)
        row["evidence"], row["evidence_form"] = evidence_of(row, form), form
        row = {name: row[name] for name in COLUMNS}
        self._prove(row, sample, layout, plain, index)
        return row

    def _asking(self, plain: Layout, place: int) -> Layout:
        """Return a layout that asks for evidence; the ids of placed units come after those of pools."""
        if plain.tail[-1].turn or plain.numbering:
            raise RecipeError(f"{self.spec.task} does not ask for evidence (it has turns or numbers of its own)")
        names = _ids(self.root).run(IDS_OF_PLACED + place * MOST_PLACED, pieces_of(plain))
        return asking(plain, self.spec.form, iter(names))

    def _prove(self, row: Row, sample: Sample, layout: Layout, plain: Layout, index: int) -> None:
        faults = _checker(self.spec).checked(row, sample, layout, plain, index)
        PROMPT.clear()
        if faults:
            short = row["length"] < (least := self.task(sample.stratum).shortest)
            advice = f"give a length of {least} tokens or more" if short else "the task must be fixed"
            raise BuildError(f"row {row['id']}: {'; '.join(faults)}: {advice}")
        if self.spec.form == "ids":
            reply = f"<evidence>{', '.join(row['evidence'])}</evidence><answer>{row['target']}</answer>"
            if (wanted := self.profile.counter().count(reply)) > row["max_new_tokens"]:
                raise FitError(f"row {row['id']}: its reply takes {wanted} tokens: give reserve={wanted + 32} or more")


IDS_OF_PLACED = 1 << 20
"""The first place of placed units' ids in the permutation; ids of pools come before it."""


class EpochChecker(RowChecker):
    """Proves rows of an epoch as `build` proves a shard, with full counts for one row in 16."""

    columns = COLUMNS
    canary = TRAIN_CANARY

    def __init__(self, epoch: Epoch) -> None:
        super().__init__(epoch, epoch.profile, epoch.spec.tag, full=False, drawn=epoch)
        self._form = epoch.spec.form
        self._plain: Layout | None = None

    def checked(self, row: Row, sample: Sample, layout: Layout, plain: Layout, index: int) -> list[str]:
        """Return what is wrong with row `index` of a stream."""
        self.start, self._plain = index % ONE_IN, plain
        return [*self.check(row, sample, layout=layout), *evidence_faults(row, self._form)]

    def answer_faults(self, row: Row, cell: Stratum) -> list[str]:
        """Check the row without its evidence, as the task writes it."""
        if self._form and self._plain:
            row = bare(row, self._plain, self._form)
        return super().answer_faults(row, cell)


def _paired(task: Task, cell: Stratum) -> tuple[int]:
    """Return the complexity for a stream's path, which both rows of a pair share."""
    return (1 if task.paired else cell.complexity,)


def _name(spec: Spec, task: Task, index: int) -> str:
    cell = spec.cell
    form = "ba"[cell.complexity] if task.paired else f"-{cell.complexity}"
    return f"{cell.family}-{cell.subtask}-{cell.length}-{index}{form}-{spec.tag}"


POOLS = 24
"""The most pools that are kept: of different tasks of a mixture, or of a stream's last epochs."""


class CountedPools:
    """A cache of pools and their counts, limited to POOLS pools and a budget of bytes."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._kept: dict[tuple[object, ...], CountedPool] = {}

    def get(self, root: str, spec: PoolSpec, profile: Profile, frame: str, *, marked: bool) -> CountedPool:
        """Return a pool with its counts, made if it is not cached."""
        key = root, spec.name, spec.version, spec.source, profile.digest, frame, marked
        known = self._kept.pop(key, None)
        self._kept[key] = counted = known or _made(root, spec, profile, frame, marked=marked)
        while known is None and len(self._kept) > 1 and (len(self._kept) > POOLS or self._size > self._budget):
            self._kept.pop(next(iter(self._kept)))
        return counted

    @property
    def _size(self) -> int:
        return sum(each.pool.size for each in self._kept.values())

    def clear(self) -> None:
        """Drop all pools."""
        self._kept.clear()


POOLS_IN_MEMORY = register(CountedPools(192 << 20))


def _made(root: str, spec: PoolSpec, profile: Profile, frame: str, *, marked: bool) -> CountedPool:
    pool = made_pool(root, spec)
    if marked:
        pool = Pool.of(marked_units(pool, _endless(_ids(root), spec)))
    return CountedPool(pool, pool_counts(pool, cutter_for(profile, frame, TRAIN_CANARY)))


def _endless(ids: Ids, spec: PoolSpec) -> Iterator[str]:
    """Yield ids for a pool's pieces; all pools use the same ids, since no prompt has units of two pools."""
    for start in range(0, IDS_OF_PLACED, EPOCH):
        yield from ids.run(start, EPOCH)
    raise FitError(f"pool {spec.name} has more pieces than there are ids: leave out ids")


@lru_cache(maxsize=8)
def _ids(root: str) -> Ids:
    return Ids(root)


@lru_cache(maxsize=64)
def _checker(spec: Spec) -> EpochChecker:
    """Return the checker that proves the rows of a stream, cached, since all its epochs have the same strata."""
    return EpochChecker(epoch_of(spec, 0))


@lru_cache(maxsize=64)
def epoch_of(spec: Spec, number: int) -> Epoch:
    """Return an epoch of a stream."""
    recipe = Recipe("train", "1.0.0", spec.seed, spec.cell.tier, (spec.cell,), frame=spec.frame, reserve=spec.reserve)
    epoch = Epoch(recipe, (load_profile(spec.tokenizer),), Path("unused"), (spec.cell.family,))
    object.__setattr__(epoch, "number", number)  # the plan is frozen
    object.__setattr__(epoch, "spec", spec)
    return epoch

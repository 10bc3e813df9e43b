"""Keeps training rows apart from releases for evaluation, by 8-byte digests of what these contain.

The digests of a release, rebuilt from its lock or recipes, are of every line of its filler and its placed units (in
code, every function instead; except short ones), every question with its answer, every full name of a person, and every
answer that is an identifier. Lines and names that also occur in a world with another root, such as texts that all
worlds share, are left out, and so are questions with many answers, which other worlds ask too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.artifacts.files import atomic_write
from pipeline.artifacts.recipes import read_recipes
from pipeline.assemble.cache import layout_of
from pipeline.assemble.jobs import draw_sample, made_pool
from pipeline.assemble.plan import Plan, make_plan
from pipeline.errors import CorruptError, FrozenError
from pipeline.recipe import Recipe
from pipeline.rows import Row
from pipeline.tasks.base import Layout, Sample
from pipeline.training.evidence import ASKS, ID_MARK
from pipeline.verify.lock import find_lock, first_faults, plan_faults, read_lock
from pipeline.worlds.people import NAMES
from pipeline.worlds.words import pool

Digests = NDArray[np.uint64]
KINDS = ("unit", "question", "name", "key")
SHORT = 40
"""Lines with fewer characters are ignored: those of programs, graphs or word lists recur in other worlds by chance."""
FUNCTIONS = re.compile(r"\n\s*\n|^==> .* <==$", re.MULTILINE)
"""What separates functions: blank lines, and the headings of files. A single line of code recurs in other worlds."""
MANY_ANSWERS = 3
"""A question with so many answers in a release identifies nothing, such as ``sum(a[2:5])``, whatever small numbers it
has.
"""
SMALL_NUMBER = re.compile(r"\b[0-9]{1,2}\b")
NAME = re.compile(r"\b[A-Z][\w'-]+(?: [A-Z][\w'-]+){2,}")
"""First, middle and last name of a person, if each is in its list. Names of two words, and of things, come from lists
so short that any two worlds share some, so they identify nothing."""
KEY = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{7,}|\b(?=[A-Za-z]*[0-9])[A-Za-z0-9]{10,}\b")
"""Answers that are identifiers: UUIDs, numbers of 7 digits or more, alphanumeric strings of 10 characters or more."""
NULL = "apart/null"
"""The root of the world used to find what all worlds have in common."""


@dataclass(frozen=True)
class Known:
    """Sorted digests of releases, by kind; `titles` are those of the releases."""

    titles: tuple[str, ...]
    digests: dict[str, Digests] = field(compare=False)

    def touched(self, row: Row) -> str:
        """Return the first kind of content that a row shares with a release, or ""."""
        text = row["prompt"]
        if row.get("evidence_form"):
            text = ID_MARK.sub("", text.removesuffix(ASKS[row["evidence_form"]]))
        for kind, texts in zip(KINDS, _row_texts(row, text), strict=True):
            if _among(self.digests[kind], hashed(texts)):
                return kind
        return ""

    @cached_property
    def digest(self) -> str:
        """A digest of all digests, for content keys."""
        total = hashlib.sha256()
        for kind in KINDS:
            total.update(self.digests[kind].tobytes())
        return total.hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all digests."""
        return sum(each.nbytes for each in self.digests.values())


def _row_texts(row: Row, text: str) -> Iterator[Iterable[str]]:
    yield _lines([text], row["family"])
    yield [question_key(row["question"], row["target"])]
    yield full_names([text])
    yield KEY.findall(row["target"])


def question_key(question: str, target: str) -> str:
    """Return a question joined with its answer, since other worlds ask the same questions about other texts."""
    return f"{question}\x1f{target}"


def _lines(texts: Iterable[str], family: str) -> Iterator[str]:
    for text in texts:
        if family == "code":
            lines = [part for part in map(str.strip, FUNCTIONS.split(text)) if "\n" in part]
        else:
            lines = text.split("\n")
        yield from (line for line in lines if len(line) >= SHORT)


def full_names(texts: Iterable[str]) -> Iterator[str]:
    """Yield the full names of people in some texts."""
    lists = _parts_of_names()
    for words in {run for text in texts for run in NAME.findall(text)}:
        parts = words.split(" ")
        for some in zip(parts, parts[1:], parts[2:], strict=False):
            if all(part in known for part, known in zip(some, lists, strict=True)):
                yield " ".join(some)


@cache
def _parts_of_names() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(pool(name)) for name in NAMES)


def hashed(texts: Iterable[str]) -> Digests:
    """Return the digests of texts, unsorted and without duplicates."""
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in {*texts})
    return np.frombuffer(digests, dtype="<u8")


def _among(sorted_: Digests, some: Digests) -> bool:
    if not len(sorted_) or not len(some):
        return False
    places = np.minimum(np.searchsorted(sorted_, some), len(sorted_) - 1)
    return bool(np.any(sorted_[places] == some))


def recipes_of(where: Path) -> list[tuple[str, Plan]]:
    """Return the plans of a lock, or of a release folder, each with a title.

    Raises:
        FrozenError: if there is neither lock nor recipe, or this version of Carrara would make other rows of a lock.
        BuildError: if a recipe in the folder cannot be read.
    """
    lock = find_lock(where) if where.is_dir() else read_lock(where)
    folder = where if where.is_dir() else where.parent
    if lock is None:
        recipes = read_recipes(folder)
        if not recipes:
            raise FrozenError(f"{str(where)!r} holds no lock and no recipe: give a lock, or a folder that was built")
        return [(_title(recipe), make_plan(recipe, (), folder)) for recipe in recipes]
    plans = [(_title(tier.recipe), make_plan(tier.recipe, (), folder)) for tier in lock.tiers.values()]
    for _, plan in plans:
        if faults := list(plan_faults(lock, plan)):
            why = f"{lock.title} cannot be rebuilt here: {first_faults(faults)}"
            raise FrozenError(f"{why}: install carrara {lock.carrara}, which froze it")
    return plans


def _title(recipe: Recipe) -> str:
    return " ".join(filter(None, (recipe.release, recipe.version, recipe.variant, recipe.tier)))


@dataclass(frozen=True, slots=True)
class KnowJob:
    """Computes the digests of one family of a plan."""

    plan: Plan
    family: str

    def run(self) -> dict[str, Digests]:
        """Return the digests by kind, unsorted."""
        units, names = _pools(self.plan, self.plan.root, self.family)
        common, shared = _pools(self.plan, NULL, self.family)
        units, names = units - common, names - shared
        placed, keys = set[str](), set[str]()
        answers = defaultdict[str, set[tuple[str, str]]](set)
        for planned in self.plan.rows(self.family):
            sample = draw_sample(self.plan, planned)
            placed.update(_placed(sample, layout_of(self.plan, sample)))
            answers[SMALL_NUMBER.sub("0", sample.question)].add((sample.question, sample.key.target))
            keys.update(KEY.findall(sample.key.target))
        fresh = {*_lines(placed, self.family)} - common
        names.update({*full_names(fresh)} - shared)
        telling = (some for some in answers.values() if len({target for _, target in some}) < MANY_ANSWERS)
        questions = {question_key(*each) for some in telling for each in some}
        return dict(zip(KINDS, map(hashed, (units | fresh, questions, names, keys)), strict=True))


def _pools(plan: Plan, root: int | str, family: str) -> tuple[set[str], set[str]]:
    """Return the lines and the names in a family's pools, made from a root."""
    lines, names = set[str](), set[str]()
    for spec in plan.pools(family):
        for batch in made_pool(root, spec).batches(facts=False):
            texts = [piece.text for unit in batch for piece in unit.pieces]
            lines.update(_lines(texts, family))
            names.update(full_names(texts))
    return lines, names


def _placed(sample: Sample, layout: Layout) -> Iterator[str]:
    """Yield the texts of relevant and placed units, but not instructions, which all rows share."""
    yield from sample.relevant
    yield from (piece.text for item in layout.placed for piece in item.unit.pieces)


def know_jobs(places: Sequence[Path]) -> tuple[tuple[str, ...], list[KnowJob]]:
    """Return the titles of releases, and the jobs that compute their digests."""
    plans = [each for where in places for each in recipes_of(where)]
    return tuple(title for title, _ in plans), [KnowJob(plan, family) for _, plan in plans for family in plan.families]


def run_know(job: KnowJob) -> dict[str, Digests]:
    """Compute the digests of one family."""
    return job.run()


def joined(titles: tuple[str, ...], parts: Iterable[dict[str, Digests]]) -> Known:
    """Combine the digests of all families of some releases."""
    some = list(parts)
    empty = [np.empty(0, dtype=np.uint64)]
    return Known(titles, {kind: np.unique(np.concatenate([*empty, *(each[kind] for each in some)])) for kind in KINDS})


def know(*places: str | Path) -> Known:
    """Return the digests of some releases.

    Args:
        places: locks, or folders of builds.
    """
    titles, jobs = know_jobs([Path(each) for each in places])
    return joined(titles, map(run_know, jobs))


def write_known(path: Path, known: Known) -> None:
    """Write digests to a file: a line of JSON, then the numbers."""
    head = {"format": 1, "releases": known.titles, "digests": {kind: len(known.digests[kind]) for kind in KINDS}}
    with atomic_write(path) as aside:
        numbers = b"".join(known.digests[kind].astype("<u8").tobytes() for kind in KINDS)
        aside.write_bytes(json.dumps(head).encode() + b"\n" + numbers)


def read_known(path: Path | str) -> Known:
    """Read digests.

    Raises:
        CorruptError: if the file cannot be read, or is not a complete file of digests.
    """
    try:
        head, _, numbers = Path(path).read_bytes().partition(b"\n")
        header = json.loads(head)
        counts = [int(header["digests"][kind]) for kind in KINDS]
        every = np.frombuffer(numbers, dtype="<u8")
        if len(every) != sum(counts):
            raise ValueError("its length is wrong")
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise CorruptError(f"{str(path)!r} holds no digests ({fault}): make them with carrara train prove") from None
    ends = np.cumsum(counts).tolist()
    parts = {kind: every[end - count : end] for kind, count, end in zip(KINDS, counts, ends, strict=True)}
    return Known(tuple(header["releases"]), parts)

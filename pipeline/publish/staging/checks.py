"""What must hold of a split before it is published: its bytes are those that were proven, and all was proven."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pipeline.errors import CorruptError, StageError
from pipeline.recipe import SEED_BITS, is_secret
from pipeline.store.manifest import Cell, shard_faults
from pipeline.store.proven import Proven
from pipeline.store.split import Split
from pipeline.typed import LINE


def check_split(split: Split) -> None:
    """Check that every shard of a split has the size and digest that the manifest says, and that all rows were proven.

    Reads all bytes.

    Raises:
        StageError: if the split is a published one, holds no rows, or rows that were not counted twice.
        CorruptError: naming the file that is missing or has other bytes.
    """
    if split.manifest.withheld is not None:
        raise StageError(f"{str(split.folder)!r} is a folder made for publishing: give the folder that build wrote")
    if not split.manifest.totals.rows:
        raise StageError(f"{split.title} has no rows: build it first")
    for tier, made in split.manifest.tiers.items():
        _check_proven(split, tier, made.proven)
        for shard in made.shards:
            for _, path, fault in shard_faults(split.folder, shard):
                raise CorruptError(f"{str(path)!r} {fault}: build the split again, then publish it")


def _check_proven(split: Split, tier: str, proven: Proven) -> None:
    if proven.again and proven.recounted < proven.rows:
        raise StageError(
            f"{split.title}: {proven.recounted:,} of {proven.rows:,} rows of tier {tier} were counted twice: "
            "run `carrara verify` on it first"
        )


def check_licence(split: Split, licence: str) -> None:
    """Check that the licence of users' texts is told where there are some, and nowhere else.

    Raises:
        StageError: naming the option.
    """
    own = sorted({str(found) for cell in split.strata if (found := (cell.knobs or {}).get("corpus"))})
    if own and not licence.strip():
        raise StageError(
            f"{split.title} has texts of your own (corpus {', '.join(each[:12] for each in own)}): give their licence, "
            "such as --licence 'CC BY 4.0'"
        )
    if licence and (not own or re.search(LINE, licence) is None):
        why = "takes one line of text" if own else f"is given, but {split.title} has no texts of your own: leave it out"
        raise StageError(f"--licence {licence[:80]!r} {why}")


def check_secret(split: Split) -> None:
    """Check that the keys of a split cannot be made by who guesses its seed, nor read off its rows' shots.

    Raises:
        StageError: saying how to cut the split anew.
    """
    for tier, made in split.manifest.tiers.items():
        if made.seed is None or not is_secret(made.seed):
            raise StageError(
                f"the seed of tier {tier}, {made.seed}, can be guessed, and with it the keys: make new rows "
                f"with `carrara recut --seed random`, which takes {SEED_BITS} bits, or publish with --keys inline"
            )
        for place in _told_apart(made.strata):
            raise StageError(
                f"{place}: rows with and without an answer differ in shots or in the room for the reply, "
                "which gives them away: make both the same"
            )


def _told_apart(strata: Iterable[Cell]) -> Iterator[str]:
    """Yield the places where complexity is the class of the answer, and other columns tell it."""
    kinds: dict[tuple[str, str, int], dict[int | None, tuple[int, int]]] = {}
    for cell in strata:
        place = cell.family, cell.subtask, cell.length
        kinds.setdefault(place, {})[cell.complexity] = cell.shots, cell.max_new_tokens
    for (family, subtask, length), seen in kinds.items():
        if 0 in seen and len(set(seen.values())) > 1:
            yield f"{family}.{subtask} length {length}"

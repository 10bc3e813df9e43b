"""Reading keys for scoring, without the columns that only proofs need."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import PredictionsError, unknown
from pipeline.metrics import JUDGED, SCORERS, facts
from pipeline.rows import KEYS_SCHEMA, Row, asked_of
from pipeline.store.chance import one_constant
from pipeline.store.parquet import columns_of
from pipeline.store.split import Selection, Split

COLUMNS = [name for name in KEYS_SCHEMA.names if name not in ("tokenizer", "frame", "answer_prefix", "question_start")]
ALL = Selection()


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A row's key: its columns, and what they say of depth, class, pair, guessers and the digest of the prompt."""

    row: Row
    subset: str
    depth: float | None
    kind: str
    pair: str
    baselines: Mapping[str, float]
    digest: str = ""


def read_keys(split: Split, selection: Selection = ALL) -> Iterator[KeyRow]:
    """Yield the keys of the selected rows, in the order of the split.

    Raises:
        PredictionsError: if the split withholds its keys, or has a scorer that is not known here.
    """
    best = _constants(split)
    for row in reader(split)(COLUMNS, selection):
        yield _key_row(row, split.tags.get(row["tier"], ""), best)


def known_ids(split: Split) -> Iterator[str]:
    """Yield the ids of all rows of a split.

    Raises:
        PredictionsError: if the split withholds its keys.
    """
    for row in reader(split)(["id"], ALL):
        yield row["id"]


def reader(split: Split) -> Callable[[Sequence[str], Selection], Iterator[Row]]:
    """Return what reads rows with keys: those of ``keys``, or where there are none, those of ``data``."""
    return split.key_rows if _has_keys(split, "keys") else split.rows


def _has_keys(split: Split, part: str) -> bool:
    """Tell whether a part of a split has keys.

    Raises:
        PredictionsError: if neither part has.
    """
    path = next(iter(split.shards(part)), None)
    if path is not None and path.is_file() and "target" in columns_of(path):
        return True
    if part == "keys" and _has_keys(split, "data"):
        return False
    raise PredictionsError(
        f"{split.title} is published without its keys: give the folder or data set that holds the keys"
    )


def _key_row(row: Row, tag: str, best: Mapping[tuple[Any, ...], float]) -> KeyRow:
    if row["scorer"] not in SCORERS:
        said = unknown("scorer", row["scorer"], SCORERS)
        raise PredictionsError(
            f"row {row['id']} has the {said}: score with the version of Carrara that built the split"
        )
    metadata = json.loads(row.pop("metadata"))
    places = [needle["depth"] for needle in row.pop("needles") if needle["role"] == "relevant"]
    asked = asked_of(metadata)
    constant = best.get((row["tier"], row["family"], row["subtask"], row["complexity"], asked))
    found = {} if constant is None else {"best_constant": constant}
    scorer = facts(row["scorer"])
    return KeyRow(
        row=row,
        subset=f"{tag} {row['tier']}",
        depth=places[0] if len(places) == 1 else None,
        kind=("stated" if row["complexity"] else "unstated") if scorer.refuses else "",
        pair=pair_of(row["id"]) if scorer.paired else "",
        baselines={**metadata.get("baselines", {}), **found},
        digest=str(metadata.get("prompt_sha256", "")),
    )


def pair_of(row_id: str) -> str:
    """Return what the ids of both forms of a pair share."""
    head, _, tag = row_id.rpartition("-")
    return f"{head[:-1]}-{tag}"


def _constants(split: Split) -> dict[tuple[Any, ...], float]:
    """Return what the best constant reply scores, by tier and kind of question; one for both classes of refusals."""
    return {
        (tier, each.family, each.subtask, each.complexity, each.asked): each.best_constant
        for tier, made in split.manifest.tiers.items()
        for each in one_constant(made.chance or ())
    }


def judged(keys: Sequence[KeyRow]) -> list[Row]:
    """Return what scorers look at, of each key."""
    return [{name: key.row[name] for name in JUDGED} for key in keys]

"""What was proven about a shard, as it stands in the file beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.errors import BuildError
from pipeline.store.files import denied, read_fault
from pipeline.typed import Line, Sha256, ShardName, Whole, read_record

COUNTED = ("recounted", "counter", "second", "quick", "quick_recounted")
"""What differs between builds that hold the same rows: who counted them again, and how many."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was proven about one shard. `tokens` are context tokens; `recounted` are rows counted by another encoder.

    That is `quick` for `quick_recounted` of them, where there is one, and `second` for the others. Where `second` is
    NONE, no row is recounted. Rows that are not `solved` from their text are checked.
    """

    shard: ShardName
    key: Sha256
    rows: Whole
    tokens: Whole
    prompt_tokens: Whole
    fewest_tokens: Whole
    most_tokens: Whole
    solved: Whole
    recounted: Whole
    counter: Line
    second: Line
    row_digest: Sha256
    data_bytes: Whole
    data_sha256: Sha256
    keys_bytes: Whole
    keys_sha256: Sha256
    quick: Line | None = None
    quick_recounted: Whole | None = None

    def agrees(self, other: Proof) -> bool:
        """Tell whether two proofs say the same, whoever counted; `other` may have recounted fewer rows."""
        counted = replace(self, **{name: getattr(other, name) for name in COUNTED})
        return counted == other and other.recounted <= self.recounted

    @property
    def record(self) -> dict[str, Any]:
        """What is written of it: what it may lack only where it has it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def recorded(path: Path) -> Proof | None:
    """Return the proof in a file; None if there is none.

    Raises:
        BuildError: if the machine does not let it be read.
    """
    try:
        return read_record(path, Proof)
    except (OSError, ValueError) as fault:
        if denied(fault):
            raise BuildError(read_fault(path, fault)) from fault
        return None

"""How much a stranger's Parquet file may decompress to, which is asked before any of it is read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow.parquet as pq

HELD, PACKED = 256 * 1024 * 1024, 200
"""Bytes that any file may decompress to, and times its own size that a larger one may."""


def largest_piece(path: Path, told: pq.FileMetaData, columns: Collection[str]) -> int:
    """Return the most bytes that one value may have: those of the largest piece of a column.

    Args:
        path: the file.
        told: what its footer says.
        columns: the columns that are to be read.

    Raises:
        ValueError: if the file claims more rows or more bytes than its own bytes can be.
    """
    size = path.stat().st_size
    if told.num_rows > size:
        raise ValueError(f"it claims {told.num_rows:,} rows in {size:,} bytes")
    groups = (told.row_group(number) for number in range(told.num_row_groups))
    pieces = [group.column(number) for group in groups for number in range(group.num_columns)]
    sizes: list[int] = [
        each.total_uncompressed_size for each in pieces if each.path_in_schema.partition(".")[0] in columns
    ]
    if sum(sizes) > max(HELD, PACKED * size):
        raise ValueError(f"it would decompress to more than {PACKED} times its size")
    return max(1, *sizes)

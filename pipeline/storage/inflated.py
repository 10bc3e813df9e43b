"""Limits on how much an untrusted Parquet file may decompress to, checked before it is read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow.parquet as pq

HELD, PACKED = 256 * 1024 * 1024, 200
"""Bytes that any file may decompress to, and how many times its own size a larger file may."""


def largest_piece(path: Path, footer: pq.FileMetaData, columns: Collection[str]) -> int:
    """Return the most bytes that one value may have: the uncompressed size of the largest column chunk.

    Args:
        path: the file.
        footer: the footer of the file.
        columns: the columns to be read.

    Raises:
        ValueError: if the footer claims more rows or bytes than the file can contain.
    """
    size = path.stat().st_size
    if footer.num_rows > size:
        raise ValueError(f"it claims {footer.num_rows:,} rows in {size:,} bytes")
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    pieces = [group.column(number) for group in groups for number in range(group.num_columns)]
    sizes: list[int] = [
        each.total_uncompressed_size for each in pieces if each.path_in_schema.partition(".")[0] in columns
    ]
    if sum(sizes) > max(HELD, PACKED * size):
        raise ValueError(f"it would decompress to more than {PACKED} times its size")
    return max(1, *sizes)

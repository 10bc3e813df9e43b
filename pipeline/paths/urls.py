"""URLs of places in stores as paths: joined, taken apart and compared like any other, and never given to a kernel.

``s3://bucket/release`` has the parts ``s3:``, ``bucket`` and ``release``; its text keeps both slashes.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import PosixPath
from typing import Any, NoReturn, Self

from pipeline.paths.asking import StoreError


class UrlPath(PosixPath):
    """The URL of a place in a store."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the URL."""
        text = super().__str__()
        protocol, colon, rest = text.partition(":/")
        if colon and "/" not in protocol:
            return f"{protocol}://{rest}"
        return f"{text}//" if text.endswith(":") and "/" not in text else text

    def __fspath__(self) -> NoReturn:
        """Refuse.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{str(self)!r} is in a store and no file of this machine")

    def __eq__(self, other: object) -> bool:
        """Tell whether two places have the same URL."""
        return str(self) == str(other) if isinstance(other, UrlPath) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the URL."""
        return hash(str(self))

    @property
    def parent(self) -> Self:
        """The folder above; a bucket has none."""
        return super().parent if len(self.parts) > 2 else self

    @property
    def parents(self) -> Sequence[Self]:
        """All folders above, the nearest first."""
        above = [self]
        while above[-1].parent != above[-1]:
            above.append(above[-1].parent)
        return above[1:]

    def is_absolute(self) -> bool:
        """Tell that no working directory counts."""
        return True

    def absolute(self) -> Self:
        """Return the place itself."""
        return self

    def expanduser(self) -> Self:
        """Return the place itself."""
        return self

    def resolve(self, strict: bool = False) -> Self:  # noqa: FBT001, FBT002 (as pathlib has it)
        """Return the place without steps up."""
        kept: list[str] = []
        for part in self.parts:
            if part != "..":
                kept.append(part)
            elif len(kept) > 2:
                kept.pop()
        return type(self)(*kept)

    def as_uri(self) -> str:
        """Return the URL."""
        return str(self)

    def samefile(self, other_path: object) -> bool:
        """Tell whether two places are one."""
        return str(self.resolve()) == str(other_path)

    def _never(self) -> bool:
        return False

    is_symlink = is_mount = is_socket = is_fifo = is_block_device = is_char_device = is_junction = _never

    def _lacking(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError(errno.ENOTSUP, "stores have no links, owners and permissions", str(self))

    chmod = lchmod = symlink_to = hardlink_to = link_to = readlink = owner = group = _lacking

"""The past contents of a bucket, and listings of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape

from loopback.http import Reply, Request


class Listed(NamedTuple):
    """An object in a listing."""

    size: int
    etag: str
    written: str


class History:
    """The objects of a bucket over time; `first` are those at the beginning."""

    def __init__(self, first: Mapping[str, Listed]) -> None:
        self._first = dict(first)
        self._changes: list[tuple[float, str, Listed | None]] = []

    def note(self, key: str, listed: Listed | None, moment: float) -> None:
        """Note that an object was written, or removed (None), at a moment."""
        self._changes.append((moment, key, listed))

    def at(self, moment: float) -> dict[str, Listed]:
        """Return the objects at a moment."""
        objects: dict[str, Listed | None] = dict(self._first)
        objects |= {key: listed for when, key, listed in list(self._changes) if when <= moment}
        return {key: objects[key] for key in sorted(objects) if objects[key] is not None}


def listing(objects: Mapping[str, Listed], bucket: str, request: Request) -> Reply:
    """Answer ListObjectsV2."""
    prefix, delimiter = request.asks("prefix"), request.asks("delimiter")
    after = max(request.asks("start-after"), request.asks("continuation-token"))
    most = int(request.asks("max-keys") or 1000)
    entries: dict[str, str] = {}
    for key, listed in objects.items():
        head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
        name = prefix + head + cut if cut else key
        if key.startswith(prefix) and name > after:
            entries.setdefault(name, "".join(_entry(name, None if cut else listed)))
    shown = list(entries)[:most]
    more = f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>" if len(shown) < len(entries) else ""
    text = (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(shown)}</KeyCount>"
        f"<MaxKeys>{most}</MaxKeys><IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}"
        f"{''.join(entries[name] for name in shown)}</ListBucketResult>"
    )
    return Reply(body=text.encode(), headers={"Content-Type": "application/xml"})


def _entry(name: str, listed: Listed | None) -> Iterator[str]:
    if listed is None:
        yield f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
        return
    yield f"<Contents><Key>{escape(name)}</Key><LastModified>{listed.written}</LastModified><Size>{listed.size}</Size>"
    yield f"<ETag>{escape(listed.etag)}</ETag><StorageClass>STANDARD</StorageClass></Contents>"

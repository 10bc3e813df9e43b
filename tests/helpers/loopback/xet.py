"""The store that hf_xet uploads to: xorbs contain chunks, and shards describe files as runs of chunks.

The layouts are those of xet-core: a shard has little-endian records of 48 bytes, and a xorb has chunks after headers of
8 bytes each.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from loopback.access import commit_at, writable
from loopback.http import RefusedError, Reply, Request, says
from loopback.writing import keep

if TYPE_CHECKING:
    from loopback.server import Hub

RECORD = 48
HEADER = 48
"""Bytes before the first record of a shard."""
VERIFIED, DESCRIBED = 1 << 31, 1 << 30
"""Flags of a file: VERIFIED adds a record for each segment after the segments, and DESCRIBED adds one for the file."""
PLAIN, LZ4, GROUPED = 0, 1, 2
END = b"\xff" * 32
NDJSON = "application/x-ndjson"
FOREVER = 4102444800
"""The first second of 2100."""


@dataclass(frozen=True)
class Segment:
    """A run of chunks of a xorb."""

    xorb: str
    first: int
    end: int


def write_token(hub: Hub, request: Request, repo: str, revision: str) -> Reply:
    """GET .../xet-write-token/{revision}: where to put chunks, and a token that identifies the repo."""
    commit_at(writable(hub, request, repo), revision)
    fields = {"casUrl": f"{request.host}/_cas", "accessToken": repo.encode().hex(), "exp": FOREVER}
    headers = {"Cas-Url": fields["casUrl"], "Access-Token": fields["accessToken"], "Token-Expiration": fields["exp"]}
    return says(fields, headers={f"X-Xet-{name}": str(value) for name, value in headers.items()})


def chunk(hub: Hub, request: Request, name: str) -> Reply:
    """GET /_cas/v1/chunks/default/{name}: always 404, since chunks are not shared between repos."""
    raise RefusedError(404, f"chunk {name} is not tracked")


def xorb(hub: Hub, request: Request, name: str) -> Reply:
    """POST /_cas/v1/xorbs/default/{name}: store a xorb."""
    path = hub.folder / "xorbs" / name
    path.parent.mkdir(exist_ok=True)
    fresh = not path.exists()
    path.write_bytes(request.bytes())
    return says({"was_inserted": fresh})


def shard(hub: Hub, request: Request, version: str) -> Reply:
    """POST /_cas/v1 or v2/shards: assemble files and store them as large files of the repo."""
    token = next(value for name, value in request.headers.items() if name.lower() == "authorization")
    repo = hub.repos[bytes.fromhex(token.removeprefix("Bearer ")).decode()]
    for segments in files_of(request.bytes()):
        content = b"".join(part for segment in segments for part in _chunks(hub, segment))
        request.body.write_bytes(content)
        keep(hub, repo, request.body, hashlib.sha256(content).hexdigest())
    if version == "v1":
        return says({"result": 1})
    return Reply(200, json.dumps({"type": "result", "result": 1}).encode() + b"\n", {"Content-Type": NDJSON})


def files_of(raw: bytes) -> Iterator[list[Segment]]:
    """Yield the segments of each file of a shard."""
    at = HEADER
    while raw[at : at + 32] != END:
        flags, count = struct.unpack_from("<II", raw, at + 32)
        records = (raw[at + RECORD * (1 + number) :][:RECORD] for number in range(count))
        yield [Segment(hex_of(record[:32]), *struct.unpack_from("<II", record, 40)) for record in records]
        at += RECORD * (1 + count + (count if flags & VERIFIED else 0) + (1 if flags & DESCRIBED else 0))


def hex_of(raw: bytes) -> str:
    """Return a hash as in URLs: four 64-bit numbers in hexadecimal."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", raw))


def _chunks(hub: Hub, segment: Segment) -> list[bytes]:
    return list(chunks_of((hub.folder / "xorbs" / segment.xorb).read_bytes()))[segment.first : segment.end]


def chunks_of(raw: bytes) -> Iterator[bytes]:
    """Yield the chunks of a xorb; a footer, if there is one, does not begin with a zero."""
    at = 0
    while at < len(raw) and raw[at] == 0:
        packed, size = (int.from_bytes(raw[at + start : at + start + 3], "little") for start in (1, 5))
        yield unpacked(raw[at + 8 : at + 8 + packed], raw[at + 4], size)
        at += 8 + packed


def unpacked(raw: bytes, scheme: int, size: int) -> bytes:
    """Decompress a chunk."""
    if scheme == PLAIN:
        return raw
    plain: bytes = pa.Codec("lz4").decompress(raw, size).to_pybytes()
    return plain if scheme == LZ4 else ungrouped(plain)


def ungrouped(raw: bytes) -> bytes:
    """Undo the grouping of every fourth byte."""
    lanes = [len(range(lane, len(raw), 4)) for lane in range(4)]
    out, at = bytearray(len(raw)), 0
    for lane, size in enumerate(lanes):
        out[lane::4] = raw[at : at + size]
        at += size
    return bytes(out)

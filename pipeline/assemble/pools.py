"""Pools in memory: units as Arrow columns, and a cache of pools with a budget of bytes.

As Python objects, a unit takes five times its text. A sparse pool of the longest tier has 230,000 units, so these are
made only when needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline.streams import Indices
from pipeline.tasks.base import Piece, Plain, Unit

Value = TypeVar("Value")
UNIT_SCHEMA = pa.schema(
    [
        ("text", pa.list_(pa.string())),
        ("role", pa.list_(pa.string())),
        ("turn", pa.list_(pa.string())),
        ("facts", pa.list_(pa.string())),
    ]
)
UNIT_TEXT = UNIT_SCHEMA.names[:-1]
"""The columns of the text, without facts."""
BATCH = 4096
"""How many units are Python objects at a time."""
SMALL = 16 << 20
"""The largest pool, in bytes, whose texts are also kept as Python objects: prompts up to 128K use most of them."""
BUDGET = 96 * 1024 * 1024
"""Bytes of pools that a process keeps; a single pool may be larger."""


class Pool:
    """The units of one pool, in the columns of `UNIT_SCHEMA`.

    Facts take as much memory as text, so `read_facts` reads their column only when they are first needed.
    """

    def __init__(self, columns: pa.Table, read_facts: Callable[[], pa.Table] | None = None) -> None:
        self._columns, self._read_facts = columns, read_facts

    @cached_property
    def table(self) -> pa.Table:
        """All columns of all units."""
        facts = self._read_facts() if self._read_facts else self._columns
        return pa.table([*(self._columns.column(name) for name in UNIT_TEXT), facts.column("facts")], UNIT_SCHEMA)

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Pool:
        """Return a pool of units, which may be a generator."""
        if isinstance(units, Plain):
            return cls(pa.Table.from_batches(map(_plain_batch, _some(units.texts)), UNIT_SCHEMA))
        return cls(pa.Table.from_batches(map(_batch, _some(units)), UNIT_SCHEMA))

    def __len__(self) -> int:
        """Return the number of units."""
        return int(self._columns.num_rows)

    def __getitem__(self, place: int) -> Unit:
        """Return one unit; for many, `take` is faster."""
        return self.take(np.array([place]))[0]

    def __iter__(self) -> Iterator[Unit]:
        """Yield every unit."""
        return chain.from_iterable(self.batches())

    def batches(self, *, facts: bool = True) -> Iterator[list[Unit]]:
        """Yield all units in batches; without `facts` their facts are left out."""
        table = self.table if facts else self._columns.select(UNIT_TEXT)
        for start in range(0, len(self), BATCH):
            yield _units(table.slice(start, BATCH))

    def take(self, places: Indices, *, facts: bool = True) -> list[Unit]:
        """Return the units at some places; without `facts` their facts are left out."""
        return _units((self.table if facts else self._columns.select(UNIT_TEXT)).take(pa.array(places)))

    @cached_property
    def plain(self) -> bool:
        """Whether each unit is one piece and not a real turn."""
        return not self.spoken and bool(np.all(pc.list_value_length(self._columns.column("text")).to_numpy() == 1))

    def plain_texts(self) -> Iterator[list[str]]:
        """Yield the texts of a plain pool in batches, in half the time that units take."""
        flat = pc.list_flatten(self._columns.column("text"))
        for start in range(0, len(self), BATCH):
            yield flat.slice(start, BATCH).to_numpy().tolist()

    def texts(self, places: Indices) -> list[str]:
        """Return the texts of the units at some places, with their pieces joined."""
        if self._is_small:
            texts: list[str] = self._texts[places].tolist()
            return texts
        return self._gathered(places)

    @cached_property
    def _texts(self) -> NDArray[np.object_]:
        """The texts of all units of a small pool, kept since prompts use most of them, or some of them often."""
        return np.array(self._gathered(np.arange(len(self))), dtype=np.object_)

    def _gathered(self, places: Indices) -> list[str]:
        taken = self._columns.column("text").take(pa.array(places))
        flat: list[str] = pc.list_flatten(taken).to_numpy().tolist()
        if len(flat) == len(places):
            return flat
        pieces = iter(flat)
        return ["".join(islice(pieces, count)) for count in pc.list_value_length(taken).to_numpy().tolist()]

    def turns(self, places: Indices) -> list[list[tuple[str, str]]]:
        """Return the role and text of each turn of the units at some places, for a pool that is `spoken`."""
        if self._is_small:
            turns: list[list[tuple[str, str]]] = self._turns[places].tolist()
            return turns
        return self._spoken_at(places)

    @cached_property
    def _turns(self) -> NDArray[np.object_]:
        """The turns of all units of a small pool."""
        turns = np.empty(len(self), dtype=np.object_)
        turns[:] = self._spoken_at(np.arange(len(self)))
        return turns

    def _spoken_at(self, places: Indices) -> list[list[tuple[str, str]]]:
        taken = self._columns.select(["turn", "text"]).take(pa.array(places))
        each = zip(_lists(taken.column("turn")), _lists(taken.column("text")), strict=True)
        return [list(zip(roles, texts, strict=True)) for roles, texts in each]

    def longest(self, count: int) -> list[Unit]:
        """Return the units with the most characters, without facts, longest first, ties in pool order."""
        return self.take(np.argsort(-self._lengths(), kind="stable")[:count], facts=False)

    def _lengths(self) -> NDArray[np.int64]:
        texts = self._columns.column("text")
        before = np.concatenate([[0], np.cumsum(pc.utf8_length(pc.list_flatten(texts)).to_numpy())])
        ends = np.cumsum(pc.list_value_length(texts).to_numpy())
        return np.asarray(np.diff(before[ends], prepend=0), dtype=np.int64)

    @property
    def size(self) -> int:
        """The approximate bytes that the pool takes now, including texts that may be kept as Python objects."""
        known = self.__dict__.get("table", self._columns)
        return int(known.nbytes) + self._text_bytes * self._is_small

    @cached_property
    def _text_bytes(self) -> int:
        return int(self._columns.select(UNIT_TEXT).nbytes)

    @property
    def _is_small(self) -> bool:
        return self._text_bytes <= SMALL

    @cached_property
    def spoken(self) -> bool:
        """Whether the units are real turns."""
        turns = pc.list_flatten(self._columns.column("turn"))
        return bool(turns.null_count < len(turns))


class Taken(Sequence[Unit]):
    """The units at some places of a pool, all made on first access."""

    def __init__(self, pool: Pool, places: Indices) -> None:
        self._pool, self._places = pool, places

    @cached_property
    def _units(self) -> list[Unit]:
        return self._pool.take(self._places)

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Unit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Unit]: ...
    def __getitem__(self, place: int | slice) -> Unit | Sequence[Unit]:
        """Return one unit, or the units of a slice."""
        return self._units[place]

    def __iter__(self) -> Iterator[Unit]:
        """Yield every unit."""
        return iter(self._units)


class PoolCache:
    """The most recently used pools within a budget of bytes, and at least the last one."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._pools: OrderedDict[Hashable, Pool] = OrderedDict()

    @property
    def size(self) -> int:
        """The bytes of all pools kept."""
        return sum(pool.size for pool in self._pools.values())

    def get(self, key: Hashable, make: Callable[[], Pool]) -> Pool:
        """Return the pool of a key, made if it is not cached."""
        if key not in self._pools:
            self._pools[key] = make()
            while len(self._pools) > 1 and self.size > self._budget:
                self._pools.popitem(last=False)
            pa.default_memory_pool().release_unused()
        self._pools.move_to_end(key)
        return self._pools[key]

    def clear(self) -> None:
        """Drop all pools."""
        self._pools.clear()


def _some(values: Iterable[Value]) -> Iterator[list[Value]]:
    left = iter(values)
    return iter(lambda: list(islice(left, BATCH)), [])


def _plain_batch(texts: Sequence[str]) -> pa.RecordBatch:
    count = len(texts)
    edges, none = pa.array(np.arange(count + 1), pa.int32()), pa.array(np.zeros(count + 1), pa.int32())
    columns = [
        *(_listed(edges, values) for values in (texts, ["filler"] * count, [None] * count)),
        _listed(none, []),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=UNIT_SCHEMA)


def _batch(units: Sequence[Unit]) -> pa.RecordBatch:
    """Return units as columns; three times as fast as from one dict per unit."""
    pieces = [piece for unit in units for piece in unit.pieces]
    edges = _edges([len(unit.pieces) for unit in units])
    columns = [
        *(_listed(edges, list(map(attrgetter(name), pieces))) for name in ("text", "role", "turn")),
        _listed(_edges([len(unit.facts) for unit in units]), [fact for unit in units for fact in unit.facts]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=UNIT_SCHEMA)


def _edges(counts: Sequence[int]) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())


def _listed(edges: pa.Array, values: Sequence[str | None]) -> pa.ListArray:
    return pa.ListArray.from_arrays(edges, pa.array(values, pa.string()))


def _units(table: pa.Table) -> list[Unit]:
    pieces = zip(*(_lists(table.column(name)) for name in UNIT_TEXT), strict=True)
    facts = _lists(table.column("facts")) if "facts" in table.column_names else repeat(())
    return [
        Unit(tuple(map(Piece, texts, roles, turns)), tuple(stated))
        for (texts, roles, turns), stated in zip(pieces, facts, strict=False)
    ]


def _lists(column: pa.ChunkedArray) -> Iterator[list[Any]]:
    """Yield the values of a column of lists, five times as fast as Arrow's `to_pylist`, which boxes each value."""
    flat = pc.list_flatten(column).to_numpy().tolist()
    start = 0
    for stop in np.cumsum(pc.list_value_length(column).to_numpy()).tolist():
        yield flat[start:stop]
        start = stop

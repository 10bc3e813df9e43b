"""Draws programs in which every operation is provably relevant, and few can be left out together."""

from __future__ import annotations

from array import array
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import cache, lru_cache
from pipeline.tasks.latent_list.effective import ADDS, effective, needed
from pipeline.worlds.programs import HIGH, INSERT_AT, LOW, POP_AT, START, VALUES, Operation, View, number

Lists = list[list[int]]


def after(name: str, args: tuple[int, ...], lists: Sequence[list[int]]) -> Lists:
    """Return new lists: the results of ``getattr(list, name)`` with these arguments, without those on which it fails.

    >>> after("pop", (2,), [[1, 2], [1, 2, 3, 4]])
    [[1, 2, 4]]
    """
    return _AFTER[name](lists, *args)


def _appended(lists: Sequence[list[int]], value: int) -> Lists:
    return [[*items, value] for items in lists]


def _inserted(lists: Sequence[list[int]], at: int, value: int) -> Lists:
    return [[*items[:at], value, *items[at:]] for items in lists]


def _popped(lists: Sequence[list[int]], at: int = -1) -> Lists:
    return [items[:at] + items[at + 1 or len(items) :] for items in lists if -len(items) <= at < len(items)]


def _removed(lists: Sequence[list[int]], value: int) -> Lists:
    places = [(items, items.index(value)) for items in lists if value in items]
    return [items[:at] + items[at + 1 :] for items, at in places]


def _sorted(lists: Sequence[list[int]]) -> Lists:
    return list(map(sorted, lists))


def _reversed(lists: Sequence[list[int]]) -> Lists:
    return [items[::-1] for items in lists]


_AFTER: Mapping[str, Callable[..., Lists]] = {
    "append": _appended,
    "insert": _inserted,
    "pop": _popped,
    "remove": _removed,
    "sort": _sorted,
    "reverse": _reversed,
}


KEEPING = ("append", "insert", "reverse")
"""Kinds that turn different lists into different lists."""
STARTING = frozenset(START)
LENGTHENS, SHORTENS = ("append", "insert"), ("pop", "remove")
Weights = Mapping[str, int]
WEIGHT_IF_ENOUGH = 0.05
"""The weight of a kind of which there are enough already."""
INITIAL_NUMBER_SHARE = 0.95
"""How often one of the list's initial numbers is taken out, if any is left: a number that is added and taken out again
could be left out."""
INDEX_WEIGHTS = (7, 4, 2)
"""Weights of indices by their distance from the nearer end, as in filler."""
ATTEMPTS = 40
"""Operations tried at one place before a draft is given up."""


@dataclass(frozen=True, slots=True)
class Program:
    """Relevant operations, the view that shows them all, the final list, and the answer."""

    operations: tuple[Operation, ...]
    view: View
    final: tuple[int, ...]
    output: str
    by_failure: int
    """Operations that are proven relevant only because the program fails without them."""


@dataclass(slots=True)
class Draft:
    """An unfinished program: its list, and the lists of its variants that lack one operation and do not fail."""

    true: list[int] = field(default_factory=lambda: list(START))
    others: Lists = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def add(self, name: str, args: tuple[int, ...]) -> bool:
        """Append an operation if it and all before it stay provable; return whether it was appended."""
        true = next(iter(after(name, args, [self.true])), [])
        if not true or true == self.true:
            return False
        others = after(name, args, self.others)
        if name not in KEEPING and true in others:
            return False
        others.append(self.true)
        self.true, self.others = true, others
        self.operations.append(Operation(name, args))
        return True

    def seen(self, view: View) -> Program:
        """Return the finished program, with a view as its end."""
        failed = len(self.operations) - sum(_shows(view, other) for other in self.others)
        return Program(tuple(self.operations), view, tuple(self.true), view.output(self.true), failed)

    def stretches(
        self, weights: Weights, ways: Sequence[int], size: int, rng: Random, *, quotas: bool
    ) -> Iterator[Draft | None]:
        """Yield the draft with `size` more operations, drawn anew each time, or None if nothing fits at some place.

        `ways` states for each operation of the whole program whether it lengthens the list (1), shortens it (-1) or may
        do either (0). With `quotas`, the weight of a kind is what it still lacks of its share of the whole.
        """
        done = len(self.operations)
        coming = ways[done : done + size]
        wanted = self.wanting(weights, len(ways)) if quotas else dict[str, float](weights)
        while True:
            yield self._stretched(wanted.copy(), coming, rng, quotas=quotas)

    def _stretched(self, wanted: dict[str, float], ways: Sequence[int], rng: Random, *, quotas: bool) -> Draft | None:
        longer = Draft(self.true, self.others, self.operations[:])
        last = longer.operations[-1].name if longer.operations else ""
        for way in ways:
            kinds = _kinds(way, last == "reverse", len(longer.true) < 3)
            sums = _sums(kinds, wanted)
            for _ in range(ATTEMPTS):
                last = kinds[one_of(rng, sums)]
                if longer.add(last, draw_arguments(rng, last, longer.true)):
                    break
                if last == "sort":  # It has no arguments that another attempt could change.
                    kinds = [kind for kind in kinds if kind != last]
                    sums = _sums(kinds, wanted)
            else:
                return None
            if quotas:
                wanted[last] -= 1
        return longer

    def wanting(self, shares: Weights, size: int) -> dict[str, float]:
        """Return how many operations of each kind a program of some size still lacks; negative for a surplus."""
        have = [operation.name for operation in self.operations]
        whole = sum(shares.values())
        return {kind: share * size / whole - have.count(kind) for kind, share in shares.items()}


def _shows(view: View, items: list[int]) -> bool:
    try:
        view.output(items)
    except ValueError:
        return False
    return True


def _sums(kinds: Sequence[str], wanted: Mapping[str, float]) -> Sequence[float]:
    return list(accumulate([max(wanted[kind], WEIGHT_IF_ENOUGH) for kind in kinds]))


def one_of(rng: Random, sums: Sequence[float]) -> int:
    """Draw an index by the running sums of weights, as ``rng.choices`` does."""
    return bisect(sums, rng.random() * (sums[-1] + 0.0), 0, len(sums) - 1)


@cache
def _kinds(way: int, reversed_last: bool, short: bool) -> Sequence[str]:  # noqa: FBT001
    """Return the kinds that may come next: no second reverse in a row, which would look like filler."""
    if way:
        return LENGTHENS if way > 0 else SHORTENS
    kinds = (*LENGTHENS, *SHORTENS, "reverse", "sort")
    return [kind for kind in kinds if not (reversed_last and kind == "reverse") and not (short and kind in SHORTENS)]


def draw_arguments(rng: Random, kind: str, items: Sequence[int]) -> tuple[int, ...]:
    """Draw the arguments of an operation of a kind, in the same forms and from the same indices as in filler."""
    if kind == "append":
        return (number(rng),)
    if kind == "insert":
        return (_near_the_ends(rng, _within(INSERT_AT, -len(items), len(items))), number(rng))
    if kind in SHORTENS:
        first = rng.random() < INITIAL_NUMBER_SHARE
        if kind == "remove":
            return (rng.choice(([item for item in items if item in STARTING] if first else ()) or items),)
        places = _within(POP_AT, -len(items), len(items) - 1)
        at = _near_the_ends(rng, (tuple([at for at in places if items[at] in STARTING]) if first else ()) or places)
        return () if at == -1 and rng.random() < 0.7 else (at,)
    return ()


@cache
def _within(places: tuple[int, ...], least: int, most: int) -> tuple[int, ...]:
    """Return the places from `least` to `most`."""
    return tuple(at for at in places if least <= at <= most)


def _near_the_ends(rng: Random, places: tuple[int, ...]) -> int:
    return places[one_of(rng, _nearness(places))]


@cache
def _nearness(places: tuple[int, ...]) -> Sequence[int]:
    return list(accumulate(INDEX_WEIGHTS[max(at, ~at)] for at in places))


Table = NDArray[np.int64]
PADDING = 1 << 20
"""Padding after the end of a list, negative for maxima. No value of a list is as large, so nothing equals it."""
WIDEST_SLICE = 16
"""The widest printed slice, so that every answer fits with a margin."""
MOST_UNNEEDED = {"print": 2, "sum": 1}
"""How many additions of a long program may be unneeded; for sums, also how many numbers may be left out."""
LONG_PROGRAM, SLICE_LEEWAY = 6, 2
"""With more than `LONG_PROGRAM` operations, or additions, a program is long. The slice of a minimum or maximum may need
`SLICE_LEEWAY` operations fewer than the hardest."""


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """A wish that balances a stratum's answers: the sign and size of a number, or the width of a slice."""

    sign: int = 1
    size: int = 1
    width: int = 1
    wide: bool = False

    def beyond(self, name: str) -> bool:
        """Return whether the wish is a minimum above, or a maximum below, the list's initial numbers."""
        return name in ("min", "max") and (self.sign > 0) == (name == "min") and self.size > START[-1]


def proven(name: str, true: Sequence[int], others: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Return at ``[i, j]`` whether the view of ``[i:j+1]`` distinguishes the true list from every other."""
    lists = _matrix([true, *others], len(true), -PADDING if name == "max" else PADDING)
    if name == "print":
        return _differs(lists)
    shown = _slice_sums(lists) if name == "sum" else _extremes(name, lists)
    different: NDArray[np.bool_] = np.logical_and.reduce(shown[1:] != shown[0])
    return different & _upper(len(true)) if name == "sum" else different


def shows_all(draft: Draft, view: View) -> bool:
    """Return whether a view of a slice distinguishes the true list from all others."""
    start, stop = view.span or (0, 0)
    return bool(proven(view.name, draft.true, draft.others)[start, stop - 1])


@lru_cache(maxsize=64)
def _upper(width: int) -> NDArray[np.bool_]:
    return np.triu(np.ones((width, width), dtype=np.bool_))


def choose(name: str, draft: Draft, wish: ProgramPlan, rng: Random) -> View | None:
    """Return the view nearest to the wish that distinguishes the true list from all others, or None."""
    true, others = draft.true, draft.others
    if name == "len":
        return View("len") if all(len(other) != len(true) for other in others) else None
    starts, lasts = np.nonzero(proven(name, true, others))
    spans = zip(starts.tolist(), (lasts + 1).tolist(), strict=True)
    found = [View(name, span) for span in spans if _suits(name, true[slice(*span)], wish)]
    if name in ("min", "max"):
        found = _hardest(found, draft, wish)
    nearest: dict[int, list[View]] = {}
    for view in found:
        nearest.setdefault(miss(view, true, wish), []).append(view)
    for far in sorted(nearest):
        enough = [view for view in nearest[far] if name in ("min", "max") or _enough(draft, view)]
        if enough:
            return rng.choice(enough)
    return None


def _suits(name: str, part: Sequence[int], wish: ProgramPlan) -> bool:
    """Return whether a slice may be shown: not too wide to print; or wide enough, with a nonzero value."""
    if name == "print":
        return len(part) <= WIDEST_SLICE
    return len(part) > wish.wide and VALUES[name](part) != 0


def _enough(draft: Draft, view: View) -> bool:
    """Return whether a sum leaves out little, and a long program provably needs most of its additions."""
    start, stop = view.span or (0, 0)
    if view.name == "sum" and len(draft.operations) > 1 and stop - start < len(draft.true) - MOST_UNNEEDED["sum"]:
        return False
    added = sum(operation.name in ADDS for operation in draft.operations)
    return added <= LONG_PROGRAM or len(needed(draft.operations, view, draft.true)) >= added - MOST_UNNEEDED[view.name]


def _hardest(views: Sequence[View], draft: Draft, wish: ProgramPlan) -> list[View]:
    """Return the views that need about as many operations as any, and enough for a long program."""
    leasts = [least(view, draft.true) for view in views]
    count = len(draft.operations)
    enough = (
        0 if count <= LONG_PROGRAM else count * 3 // 20 if views and wish.beyond(views[0].name) else count * 9 // 20
    )
    return [view for view, size in zip(views, leasts, strict=True) if size >= max(enough, max(leasts) - SLICE_LEEWAY)]


def least(view: View, true: Sequence[int]) -> int:
    """Return a lower bound of the operations that a minimum or maximum needs, to fill the list or clear the slice."""
    (start, stop), value = view.span or (0, 0), view.value(true)
    rivals = sum(item > value if view.name == "max" else item < value for item in START)
    to_clear = min(stop, rivals - start - max(0, len(START) - stop) + 1)
    return max(start + 1 - len(START), to_clear)


def miss(view: View, true: Sequence[int], wish: ProgramPlan) -> int:
    """Return how far a view is from the wish; 0 is as wished."""
    if view.name == "len":
        return 0
    if view.name == "print":
        return abs(len(true[slice(*(view.span or ()))]) - wish.width)
    return _miss(view.value(true), wish)


def _miss(value: int, wish: ProgramPlan) -> int:
    """Compare sizes as a ratio, in whole numbers; a wrong sign is worse than any size."""
    least, most = sorted((abs(value), wish.size))
    return (most * 16) // least - 16 + (1 << 24) * (value * wish.sign < 0)


def _matrix(lists: Sequence[Sequence[int]], width: int, gone: int) -> Table:
    pad, flat = [gone] * width, list[int]()
    for items in lists:
        flat += items[:width]
        flat += pad[len(items) :]
    return np.frombuffer(array("q", flat), dtype=np.int64).reshape(len(lists), width)


def _slice_sums(lists: Table) -> Table:
    """Return the sum of ``[i:j+1]`` at ``[list, i, j]``; slices stop at the end of their list."""
    sums = np.cumsum(np.where(lists == PADDING, 0, lists), axis=1)
    before = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    shown: Table = sums[:, None, :] - before[:, :, None]
    return shown


def _extremes(name: str, lists: Table) -> Table:
    """Return the minimum or maximum of ``[i:j+1]`` at ``[list, i, j]``; below the diagonal it is beyond all numbers."""
    pick, beyond = (np.minimum, PADDING) if name == "min" else (np.maximum, -PADDING)
    shown: Table = pick.accumulate(np.where(_upper(lists.shape[1]), lists[:, None, :], beyond), axis=2)
    return shown


def _differs(lists: Table) -> NDArray[np.bool_]:
    """Return at ``[i, j]`` whether ``[i:j+1]`` of the first list differs from that of every other."""
    count = np.cumsum(lists[1:] != lists[0], axis=1)
    before = np.concatenate([np.zeros_like(count[:, :1]), count[:, :-1]], axis=1)
    different = (count[:, None, :] - before[:, :, None]) > 0
    apart: NDArray[np.bool_] = different.all(axis=0) & _upper(lists.shape[1])
    return apart


WEIGHTS = {"append": 19, "insert": 19, "pop": 20, "remove": 19, "reverse": 18, "sort": 21}
"""How often a kind is tried. Some kinds are refused more often, so that the accepted ones are more evenly spread."""
GROWING = {"append": 72, "insert": 70, "pop": 9, "remove": 11, "reverse": 28, "sort": 13}
SHRINKING = {"append": 33, "insert": 31, "pop": 43, "remove": 44, "reverse": 30, "sort": 23}
"""About how many of 200 operations are of each kind; a kind is tried in proportion to what is still lacking.

Few operations are enough to determine most minima and maxima of a slice. It takes many to make a list long enough for
the slice to begin where it does, or to take out all initial numbers that would be shown. So programs grow, or they
shrink and show a minimum above those numbers or a maximum below them.
"""
GOAL_SHARES = {"print": (7, 10), "sum": (7, 10), "min": (3, 10), "max": (3, 10), "len": (0, 1)}
"""The effective complexity at which a program is accepted at once, as a fraction of its operations."""
PROGRAMS_TRIED, FEW_OPERATIONS = 2, 5
"""Finished programs among which the nearest to the wish is chosen; the most operations that count as few."""
TRIES_AT_PLACE, STRETCHES, CANDIDATES = 12, 20, 12
"""Stretches tried at one place, and in all, before a draft is given up; programs among which the hardest is chosen if
none is hard enough."""
STRETCH_OPERATIONS = {False: 3, True: 6}
"""Operations in a stretch, without and with quotas. Few drafts are shown by a minimum or maximum; more are if they grow
or shrink for longer at a time."""


def draw(name: str, complexity: int, wish: ProgramPlan, rng: Random) -> Program:
    """Draw a program of a view; with few operations, the nearest to the wish of up to five, as near ones are rare."""
    drawn = []
    for _ in range(1 if complexity > FEW_OPERATIONS or name == "len" else 5):
        drawn.append(_hard(name, complexity, wish, rng))
        if not miss(drawn[-1].view, drawn[-1].final, wish):
            break
    return min(drawn, key=lambda program: miss(program.view, program.final, wish))


def _hard(name: str, complexity: int, wish: ProgramPlan, rng: Random) -> Program:
    """Return the first program with the wished sign and enough effective complexity, or else the best of several.

    Programs with the other sign count only until a best one is known: to measure one costs as much as to draw it.
    """
    share, of = GOAL_SHARES[name]
    best, most = None, (False, -1)
    for tried in range(CANDIDATES * CANDIDATES):
        program = _fitted(_draw(name, complexity, wish, rng), wish)
        signed = name not in ("min", "max") or int(program.output) * wish.sign > 0
        size = effective(program.operations, program.view) if signed or not best else None
        if size is not None and (signed, size) > most:
            best, most = program, (signed, size)
        if best and ((most[0] and most[1] * of >= share * complexity) or tried >= CANDIDATES):
            return best
    raise ValueError(f"no program of {complexity} operations and view {name!r} was found: that should not happen")


def _fitted(program: Program, wish: ProgramPlan) -> Program:
    """Return the program with the wished minimum or maximum instead of its own, if all operations stay proven."""
    view = program.view
    if view.name not in ("min", "max"):
        return program
    wished, shown = max(LOW, min(wish.sign * wish.size, HIGH)), view.value(program.final)
    draft = Draft()
    for operation in program.operations:
        names = operation.name not in ("pop", "sort", "reverse") and operation.args[-1] == shown
        if not draft.add(operation.name, (*operation.args[:-1], wished) if names else operation.args):
            return program
    fits = view.span and len(draft.true) > view.span[0] and view.value(draft.true) == wished
    return draft.seen(view) if fits and shows_all(draft, view) else program


def _draw(name: str, complexity: int, wish: ProgramPlan, rng: Random) -> Program:
    """Draw drafts until one ends in a program."""
    while True:
        ways = _ways(complexity, wish.size, rng) if name == "len" else [0] * complexity
        program = _drafted(name, ways, wish, rng)
        if program is not None:
            return program


def _drafted(name: str, ways: Sequence[int], wish: ProgramPlan, rng: Random) -> Program | None:
    """Redraw each stretch until a slice shows all operations so far; if none does, redraw the stretch before it.

    Without this, only one draft of twenty operations in fifty has a slice that shows them all by its minimum.
    """
    quotas = name in ("min", "max") and len(ways) > FEW_OPERATIONS
    weights = WEIGHTS if name not in ("min", "max") else SHRINKING if wish.beyond(name) else GROWING
    drafts = [Draft()]
    for _ in range(STRETCHES):
        left = len(ways) - len(drafts[-1].operations)
        size = (left - 1) % STRETCH_OPERATIONS[quotas] + 1
        ends = filter(None, islice(drafts[-1].stretches(weights, ways, size, rng, quotas=quotas), TRIES_AT_PLACE))
        if size == left:
            programs = list(islice(_finished(ends, name, wish, rng), PROGRAMS_TRIED))
            if programs:
                return min(programs, key=lambda program: miss(program.view, program.final, wish))
        longer = next((draft for draft in ends if name == "len" or provable(draft, name)), None)
        drafts = [*drafts, longer] if longer else drafts[:-1] or [Draft()]
    return None


def provable(draft: Draft, name: str) -> bool:
    """Return whether any slice distinguishes the true list from all others."""
    return bool(proven(name, draft.true, draft.others).any())


def _finished(drafts: Iterator[Draft], name: str, wish: ProgramPlan, rng: Random) -> Iterator[Program]:
    for draft in drafts:
        view = choose(name, draft, wish, rng)
        if view is not None:
            yield draft.seen(view)


def reachable(complexity: int) -> range:
    """Return the lengths possible after operations that each change the length by one, so that its parity is fixed."""
    most = len(START) + complexity
    return range(max(2 - most % 2, len(START) - complexity), most + 1, 2)


def lengths(complexity: int) -> list[int]:
    """Return the lengths that are asked for: at least three from the initial length, or `complexity` if that is less.

    Each operation changes the length by one, so at least as many operations as the distance are needed.
    """
    return [size for size in reachable(complexity) if abs(size - len(START)) >= min(3, complexity)]


def _ways(complexity: int, length: int, rng: Random) -> list[int]:
    """Order additions (1) and removals (-1) so that the list ends with a length and is never empty."""
    grown = (complexity + length - len(START)) // 2
    ways = [1] * grown + [-1] * (complexity - grown)
    while True:
        rng.shuffle(ways)
        size = len(START)
        if all((size := size + way) > 0 for way in ways):
            return ways

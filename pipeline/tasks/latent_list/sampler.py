"""Draws programs in which every operation is proven to be relevant, and of which little can be left out at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

from pipeline.tasks.latent_list.draft import Draft, Program
from pipeline.tasks.latent_list.effective import effective
from pipeline.tasks.latent_list.slices import Wish, choose, miss, proven, shows_all
from pipeline.worlds.programs import HIGH, LOW, START

WEIGHTS = {"append": 19, "insert": 19, "pop": 20, "remove": 19, "reverse": 18, "sort": 21}
"""How often a kind is tried. Kinds are not refused equally often: what stays is flatter."""
GROWING = {"append": 72, "insert": 70, "pop": 9, "remove": 11, "reverse": 28, "sort": 13}
SHRINKING = {"append": 33, "insert": 31, "pop": 43, "remove": 44, "reverse": 30, "sort": 23}
"""How many operations of a program of 200 are of each kind, about: a kind is tried as often as it is still wanting.

The least or greatest number of a slice is easily told by few operations. It takes many to make a list so long that the
slice begins where it does, and many to take out all numbers that the list starts with where they would be shown: so
programs grow, or shrink and show a minimum above those numbers or a maximum below them.
"""
GOALS = {"print": (7, 10), "sum": (7, 10), "min": (3, 10), "max": (3, 10), "len": (0, 1)}
"""The effective complexity with which a program is taken at once, as a share of its operations."""
TRIES, SHORT = 2, 5
"""Last stretches of a program from which the nearest to the wish is taken; what counts as few operations."""
PATIENCE, STRETCHES, CANDIDATES = 12, 20, 12
"""Stretches that are tried at one place, and in all, before a draft is given up; programs from which the hardest is
taken if none is enough."""
STRETCH = {False: 3, True: 6}
"""Operations in a stretch, without quotas and with them: least and greatest numbers show few drafts, but of those that
grow or shrink for longer at once, more."""


def draw(name: str, complexity: int, wish: Wish, rng: Random) -> Program:
    """Draw some programs of a view and return the nearest to the wish; with few operations there are few to choose."""
    drawn = []
    for _ in range(1 if complexity > SHORT or name == "len" else 5):
        drawn.append(_hard(name, complexity, wish, rng))
        if not miss(drawn[-1].view, drawn[-1].final, wish):
            break
    return min(drawn, key=lambda program: miss(program.view, program.final, wish))


def _hard(name: str, complexity: int, wish: Wish, rng: Random) -> Program:
    """Return the first program of the wished sign of which enough is needed, or of some the one that needs most.

    A program of the other sign counts only until there is one: to tell what it needs costs as much as to draw it.
    """
    share, of = GOALS[name]
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


def _fitted(program: Program, wish: Wish) -> Program:
    """Return the program with another least or greatest number, that which is wished, if all stays proven then."""
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


def _draw(name: str, complexity: int, wish: Wish, rng: Random) -> Program:
    """Draw drafts until one ends in a program."""
    while True:
        ways = _ways(complexity, wish.size, rng) if name == "len" else [0] * complexity
        program = _drafted(name, ways, wish, rng)
        if program is not None:
            return program


def _drafted(name: str, ways: Sequence[int], wish: Wish, rng: Random) -> Program | None:
    """Draw a stretch anew until a slice shows all operations so far; where that fails, draw the one before it anew.

    Without that, one draft in fifty of twenty operations has a slice that shows them all by its minimum.
    """
    quotas = name in ("min", "max") and len(ways) > SHORT
    weights = WEIGHTS if name not in ("min", "max") else SHRINKING if wish.beyond(name) else GROWING
    drafts = [Draft()]
    for _ in range(STRETCHES):
        left = len(ways) - len(drafts[-1].operations)
        size = (left - 1) % STRETCH[quotas] + 1
        ends = filter(None, islice(drafts[-1].stretches(weights, ways, size, rng, quotas=quotas), PATIENCE))
        if size == left:
            programs = list(islice(_finished(ends, name, wish, rng), TRIES))
            if programs:
                return min(programs, key=lambda program: miss(program.view, program.final, wish))
        longer = next((draft for draft in ends if name == "len" or provable(draft, name)), None)
        drafts = [*drafts, longer] if longer else drafts[:-1] or [Draft()]
    return None


def provable(draft: Draft, name: str) -> bool:
    """Tell whether a slice tells the true list from all others."""
    return bool(proven(name, draft.true, draft.others).any())


def _finished(drafts: Iterator[Draft], name: str, wish: Wish, rng: Random) -> Iterator[Program]:
    for draft in drafts:
        view = choose(name, draft, wish, rng)
        if view is not None:
            yield draft.seen(view)


def reachable(complexity: int) -> range:
    """Return the lengths that so many operations, each changing it by one, can leave: their parity is fixed."""
    most = len(START) + complexity
    return range(max(2 - most % 2, len(START) - complexity), most + 1, 2)


def lengths(complexity: int) -> list[int]:
    """Return the lengths that are asked for: at least three from that of the list at the start, if so many can be.

    Each operation changes the length by one, so that its distance from the first is what cannot be left out.
    """
    return [size for size in reachable(complexity) if abs(size - len(START)) >= min(3, complexity)]


def _ways(complexity: int, length: int, rng: Random) -> list[int]:
    """Order growth and loss so that the list ends with a length and is never empty."""
    grown = (complexity + length - len(START)) // 2
    ways = [1] * grown + [-1] * (complexity - grown)
    while True:
        rng.shuffle(ways)
        size = len(START)
        if all((size := size + way) > 0 for way in ways):
            return ways

"""trace.rows: how many rows of a kind a query has on all of its pages, or their sum."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from pipeline.tasks.base import Key
from pipeline.tasks.trace import text
from pipeline.tasks.trace.base import Dealer, Drawn, Step, TraceTask
from pipeline.worlds.desk import job_text, words
from pipeline.worlds.desk.jobs import USER, is_of_row, user_line
from pipeline.worlds.desk.reads import read
from pipeline.worlds.desk.tables import BROKEN, FORMS, SIZE, Entry, Page, broken, entry, shown

COUNT, SUM = "the number", "the sum of qty"
KINDS = (COUNT, SUM)
REPEATED = 0.4
"""The share of pages that begin with the last row of the one before, as if rows came in while pages were turned."""
OTHERS = 3
"""One in this many rows of a query, at the least, has another status than the one asked for."""


class Query(NamedTuple):
    """All pages of a query as text, and its rows: those on two pages are listed twice."""

    steps: Sequence[Step]
    seen: Sequence[Entry]


class Rows(TraceTask):
    """What a query has on all pages. `complexity` is the number of pages."""

    __slots__ = ()

    subtask = "rows"
    title = "the number or the sum of certain rows on all pages of a result"
    scorer = "last_integer"
    complexities = (2, 6, 16)
    fits = MappingProxyType({6: 8192, 16: 16384})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw a query with its pages, and one with a similar name."""
        what, rng = KINDS[dealer.deal("what", len(KINDS))], dealer.rng("names")
        status = words()["status"][dealer.deal("status", len(words()["status"]))]
        sentences, queries = dealer.writer("names").sentences, list[str]()
        while len(queries) < 2:
            name = sentences.pick("query") if not queries else one_digit_apart(rng, queries[0])
            if is_of_row(name) and name not in queries:
                queries.append(name)
        names = queries if dealer.knob("twins") else queries[:1]
        asked, *twins = [query(dealer, name, status) for name in names]
        right = result(what, status, asked.seen, once=True)
        repeats = result(what, status, asked.seen, once=False)
        both = result(what, status, [row for one in (asked, *twins) for row in one.seen], once=True)
        most = len({*asked.seen}) * (OTHERS - 1) // OTHERS
        latent = {
            "asked": what,
            "names": names,
            "status": status,
            "needed": dealer.stratum.complexity,
            "dealt": dealer.dealt,
            "guesses": {
                "uniform": 1 / most if what == COUNT else 0.0,
                "repeats_too": float(repeats == right),
                "like_query_too": float(both == right and bool(twins)),
            },
        }
        decoys = [[Step(step.text, "decoy") for step in one.steps] for one in twins]
        question = (text.COUNTED if what == COUNT else text.ADDED).format(status=status, query=queries[0])
        return Drawn(question, Key.accepting(str(right)), [asked.steps, *decoys], latent)


def one_digit_apart(rng: Random, name: str) -> str:
    """Return a name with one digit of its number drawn anew."""
    at = len(name) - rng.randrange(1, 4)
    return name[:at] + rng.choice("0123456789") + name[at + 1 :]


def result(what: str, status: str, rows: Sequence[Entry], *, once: bool) -> int:
    """Return the answer for some rows, each taken once or as often as it occurs."""
    amounts = [row.amount for row in ({*rows} if once else rows) if row.status == status]
    return len(amounts) if what == COUNT else sum(amounts)


def query(dealer: Dealer, name: str, status: str) -> Query:
    """Write the pages of a query: each has a row that counts and is on no other; some come in two tries.

    At least a third of the rows do not count.
    """
    writer, pages = dealer.writer(name), dealer.stratum.complexity
    rng, others = writer.rng, [one for one in words()["status"] if one != status]
    form = writer.sentences.form("rows", len(FORMS))
    steps, seen, last, taken = list[Step](), list[Entry](), list[Entry](), set[str]()
    doubled = {rng.randrange(1, pages), *(at for at in range(1, pages) if rng.random() < REPEATED)}
    tries = {at for at in range(pages) if rng.random() < 0.3} if dealer.errors else set[int]()
    counted = {(at, rng.randrange(BROKEN, SIZE - 1)) for at in range(pages)}  # on no other page, nor in a broken call
    counted |= {(at - 1, SIZE - 1) for at in doubled}
    own = [(at, place) for at in range(pages) for place in range(SIZE) if place or at not in doubled]
    free = [place for place in own if place not in counted]
    left_out = {*rng.sample(free, rng.randint(-(-len(own) // OTHERS), len(free)))}
    for at in range(pages):
        rows = list[Entry]()
        for place in range(SIZE):
            state = rng.choice(others) if (at, place) in left_out else status
            rows.append(entry(writer.sentences, state, taken))
            taken.add(rows[-1].number)
        if at in doubled:
            rows[0] = last[-1]
        page = Page(name, at + 1, pages, rows)
        if at in tries:
            steps.append(Step(job_text([read(writer, broken(writer.sentences, page, form))]), "decoy"))
        pair = read(writer, shown(page, form))
        user = user_line(writer.sentences, pair.text) if at == 0 and rng.random() < USER else ""
        steps.append(Step(job_text([pair], user), "relevant"))
        seen += rows
        last = rows
    return Query(steps, seen)

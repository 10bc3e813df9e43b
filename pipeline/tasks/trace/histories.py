"""Histories of a thing: changes that stand, fail, are tried, staged, undone and redone, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random
from typing import NamedTuple, TypeVar

from pipeline.tasks.trace.base import Dealer, Step
from pipeline.worlds.desk import Act, CallWriter, Pair, State, acts, apply, job_text
from pipeline.worlds.desk.jobs import USER, batch_code, move_act, user_line
from pipeline.worlds.desk.reads import OPENING_FORMS, opening, opening_of, read

Entry = TypeVar("Entry")
FAILS, UNDONE, STANDS = range(3)
"""How a history ends: with a call that changes nothing, a change that is undone at once, or a change that stands."""
SHAPES = ("plain", "plain", "plain", "plain", "retried", "staged", "undone")
PLAIN, RETRIED, NOTHING, MISTAKE = "plain", "retried", "nothing", "mistake"
DEEP = 3
"""The most assignments above the one that counts."""


class Move(NamedTuple):
    """A step before it is written: the call, how it ends, and whether the answer needs it.

    `joined` links a change to its later undo or commit.
    """

    act: Act
    end: str
    needed: bool
    joined: str = ""


class History(NamedTuple):
    """A history as text, and what it comes to for a reader who sees all of it, and for some who do not."""

    steps: Sequence[Step]
    value: str
    no_errors: str
    """The outcome if every call did what it asked."""
    last: str
    """The last value that a call names."""
    values: int
    """How many values calls name."""


def row_batch(writer: CallWriter) -> str:
    """Draw a batch name that no other call of the row has."""
    while (name := batch_code(writer.rng, row=True)) in writer.batches:
        pass
    writer.batches.add(name)
    return name


def nothing_pairs(writer: CallWriter, act: Act, *, retried: bool = False) -> list[Pair]:
    """Return a call that changes nothing: in most cases it fails, else it is a dry run, or is staged and left.

    If it is `retried`, it fails in a way that may pass.
    """
    draw = writer.rng.random()
    if draw < 0.6:
        return [writer.failed(act, retried=retried)]
    return [writer.tried(act)] if draw < 0.8 else [writer.staged(act, row_batch(writer))]


class HistoryWriter:
    """Writes the steps of a history, and keeps two states: the true one, and one as if every call did what it asked."""

    def __init__(self, writer: CallWriter) -> None:
        self.writer, self.rng = writer, writer.rng
        self.true, self.naive = State(), State()
        self.steps = list[Step]()
        self._joined = dict[str, str]()

    def write(self, move: Move) -> None:
        """Write a step."""
        pairs = list[Pair]()
        if move.end == NOTHING:
            pairs = nothing_pairs(self.writer, move.act)
            self._assume(move.act, pairs[-1].ref)
        elif move.joined.startswith("stage"):
            code = self._joined.setdefault(move.joined, row_batch(self.writer))
            pairs = [self.writer.staged(move.act, code)]
            apply(self.true, _staged(move.act, code), pairs[0].ref)
            self._assume(move.act, pairs[0].ref)
        elif move.joined.startswith("commit"):
            act = acts.commit(self._joined[move.joined.replace("commit", "stage")])
            pairs = [self.writer.done(act)]
            apply(self.true, act, pairs[0].ref)
        elif move.joined.startswith("undo"):
            act = acts.reverse(self._joined[move.joined.replace("undo", "first")])
            pairs = [self.writer.done(act)]
            apply(self.true, act, pairs[0].ref)
            apply(self.naive, act, pairs[0].ref)
        else:
            if move.end == RETRIED:
                pairs = [self.writer.failed(move.act, retried=True)]
                self._assume(move.act, pairs[0].ref)
            pairs.append(self._does(move.act))
            if move.joined:
                self._joined[move.joined] = pairs[-1].ref
            if move.end == MISTAKE:
                undo = acts.take_back(move.act.subject) if move.act.tool == "tickets" else acts.reverse(pairs[-1].ref)
                pairs.append(self._does(undo))
        user = user_line(self.writer.sentences, pairs[0].text) if self.rng.random() < USER else ""
        self.steps.append(Step(job_text(pairs, user), "relevant" if move.needed else "decoy"))

    def _does(self, act: Act) -> Pair:
        pair = self.writer.done(act)
        apply(self.true, act, pair.ref)
        self._assume(act, pair.ref)
        return pair

    def _assume(self, act: Act, ref: str) -> None:
        """Apply a call to the naive state, if that is possible."""
        try:
            apply(self.naive, act, ref)
        except ValueError:
            return


def _staged(act: Act, code: str) -> Act:
    return act.with_args({**act.args, "batch": code, "mode": "stage"})


def failures(rng: Random, changes: int, errors: float) -> int:
    """Return how many calls about a thing change nothing: the share `errors` of the changes, or one more."""
    return ceil(changes * errors) + (rng.random() < 0.5 if errors else 0)


def mixed(rng: Random, runs: Sequence[Sequence[Entry]]) -> list[Entry]:
    """Interleave runs at random, keeping the order within each."""
    order = [at for at, run in enumerate(runs) for _ in run]
    rng.shuffle(order)
    turns = [iter(run) for run in runs]
    return [next(turns[at]) for at in order]


def amount(dealer: Dealer, item: str, changes: int, end: int, purpose: str) -> History:
    """Write the changes of an item, all of which the answer needs if they stand, and its record."""
    writer = dealer.writer(purpose)
    rng, sentences = writer.rng, writer.sentences
    while True:
        runs, left = list[list[Move]](), changes
        while left:
            shape = rng.choice(SHAPES) if left > 1 else rng.choice((PLAIN, PLAIN, PLAIN, RETRIED))
            act, mark = move_act(sentences, item), f"{left}"
            if shape in ("staged", "undone"):
                first, second = ("stage", "commit") if shape == "staged" else ("first", "undo")
                runs.append([Move(act, PLAIN, True, first + mark), Move(act, PLAIN, True, second + mark)])
            else:
                runs.append([Move(act, shape if dealer.errors else PLAIN, True)])
            left -= len(runs[-1])
        failed = failures(rng, changes, dealer.errors)
        runs += [[Move(move_act(sentences, item), NOTHING, False)] for _ in range(failed)]
        moves = mixed(rng, runs)
        if changes > 1 and rng.random() < 0.7:
            moves.insert(rng.randrange(len(moves)), Move(move_act(sentences, item), MISTAKE, False))
        if end != STANDS:
            moves.append(Move(move_act(sentences, item), NOTHING if end == FAILS and dealer.errors else MISTAKE, False))
        if (moves[-1].needed and moves[-1].end in (PLAIN, RETRIED)) == (end == STANDS):
            break
    history = HistoryWriter(writer)
    for move in moves:
        history.write(move)
    at = rng.randrange(len(history.steps) + 1)
    record = job_text([read(writer, opening(item, sentences.form("record", OPENING_FORMS)))])
    steps = [*history.steps[:at], Step(record, "relevant"), *history.steps[at:]]
    total = opening_of(item) + history.true.amount(item)
    naive = opening_of(item) + history.naive.amount(item)
    return History(steps, str(total), str(naive), str(moves[-1].act.args["qty"]), 0)


def holder(dealer: Dealer, ticket: str, changes: int, end: int, purpose: str) -> History:
    """Write the assignments of a ticket; the answer needs the one that counts and all after it."""
    writer = dealer.writer(purpose)
    rng = writer.rng
    people = iter(rng.sample(dealer.desk.staff, len(dealer.desk.staff)))

    def assignment() -> Act:
        return acts.assign(ticket, next(people))

    before = [Move(assignment(), PLAIN, False) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.5:
        before.insert(rng.randrange(1, len(before) + 1), Move(assignment(), MISTAKE, False))
    owner = assignment()
    moves = [*before, Move(owner, PLAIN, True)]
    for kind in walk(rng, changes - 1):
        act = assignment() if kind == "assign" else (acts.take_back if kind == "undo" else acts.redo)(ticket)
        moves.append(Move(act, RETRIED if rng.random() < 0.1 and dealer.errors else PLAIN, True))
    for _ in range(failures(rng, changes, dealer.errors)):
        act = assignment() if rng.random() < 0.7 else acts.take_back(ticket)
        moves.insert(rng.randrange(1, len(moves)), Move(act, NOTHING, False))
    if end != STANDS:
        moves.append(Move(assignment(), NOTHING if end == FAILS and dealer.errors else MISTAKE, False))
    history = HistoryWriter(writer)
    for move in moves:
        history.write(move)
    named = [str(move.act.args["to"]) for move in moves if "to" in move.act.args]
    if history.true.holder(ticket) != owner.args["to"]:
        raise AssertionError(f"{ticket} is with {history.true.holder(ticket)}, not {owner.args['to']}")
    return History(
        history.steps, named[named.index(str(owner.args["to"]))], history.naive.holder(ticket), named[-1], len(named)
    )


def walk(rng: Random, steps: int) -> list[str]:
    """Draw assignments, undos and redos after an assignment, such that it is the last one that stands.

    An assignment is one step up, an undo one step down; an undo and its redo change nothing. Without any one of the
    steps another assignment would be the last. In between it seldom is, so that a reader who stops early is wrong.
    """
    kinds, height = list[str](), 0
    while len(kinds) < steps:
        left = steps - len(kinds)
        able = []
        if height < DEEP and left >= height + 2:
            able += ["assign"] * 6
        if height:
            able += ["undo"] * (1 if height == 1 and left > 1 else 4)
        if left >= height + 2:
            able += ["undo redo"] * 2
        kind = rng.choice(able)
        kinds += kind.split()
        height += (kind == "assign") - (kind == "undo")
    return kinds

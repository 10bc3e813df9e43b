"""Small jobs, which make up a pool: what the user asks, if anything, and a few calls with their results.

A job contains all that it needs and changes nothing that another job shows, so jobs can come in any order. Their things
recur in other jobs, as those that are asked about do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from zlib import crc32

from pipeline.streams import Streams
from pipeline.worlds.desk import acts, rules
from pipeline.worlds.desk.calls import Act, CallWriter, Pair
from pipeline.worlds.desk.lexicon import CAPITALS, SLOT, VALUES, Desk, SentenceWriter, desk, words
from pipeline.worlds.desk.reads import OPENING_FORMS, READS, good_of, opening, read, ticket_fields
from pipeline.worlds.desk.tables import FORMS, any_page, broken, shown

USER = 1 / 6
"""The share of jobs that begin with what the user says."""
VERBS = ("receive", "issue", "issue", "return", "scrap")


LONGEST = 480
"""The most characters of a job of the pool: large ones leave gaps in prompts, and displace others from their depth."""
VERBOSE = 6
"""How many times longer jobs are with verbose tools: pools have this many times fewer of them."""
NAMED: Mapping[str, tuple[re.Pattern[str], Sequence[str]]] = {
    "bookings": (re.compile(r'"for": "([^"]+)"'), ("person",)),
    "files": (re.compile(r'"path": "/(?:\w+/)+(\w+)-'), ("stem",)),
    "hosts": (re.compile(r'"(?:host|names)": "\w+-(\w+)-'), ("site",)),
    "mail": (re.compile(r'"to": "([^"]+)"'), ("person",)),
    "people": (re.compile(r'"name": "([^"]+)"'), ("person",)),
    "rows": (re.compile(r'"query": "\w+ (?:from|to|of|at|in|for) ([^"]+), list'), ("site", "supplier", "team", "good")),
    "search": (re.compile(r'"query": "([^"]+)"'), ("site", "supplier", "team", "good")),
    "settings": (re.compile(r'"(?:file|from)": "/(?:\w+/)+(\w+)-'), ("stem",)),
    "shell": (re.compile(r'"on": "\w+-(\w+)-'), ("site",)),
    "stock": (re.compile(r'"item": "([A-Z]{3}-\d{4})"'), ("good",)),
    "tickets": (re.compile(r'"ticket": "(TK-\d+)"'), ("site", "category", "ticket")),
    "undo": (re.compile(r'"target": "([^"]+)"'), ("ticket", "ref")),
}
"""By tool, a pattern of what a call names, and the slots that it can fill in what the user says before."""
ACTION = re.compile(r'"action": "(\w+)"')
ASKING = ("Is ", "What ", "Which ", "Who ")


def job_text(pairs: Sequence[Pair], user: str = "") -> str:
    """Return a job as prompts have it."""
    opening = f"[user] {user}\n" if user else ""
    return opening + "".join(pair.text for pair in pairs)


def quantity(rng: Random) -> int:
    """Draw how many of an item to move."""
    return rng.randrange(2, 60)


def batch_code(rng: Random, *, row: bool = False) -> str:
    """Draw the name of a batch: those of rows and of the pool are disjoint."""
    return _named(lambda: f"batch-{rng.randrange(10_000, 100_000)}", row=row)


def plan_code(rng: Random, *, row: bool = False) -> str:
    """Draw the name of a plan: those of rows and of the pool are disjoint."""
    return _named(lambda: f"P-{rng.randrange(1000, 10_000)}-{''.join(rng.choices(CAPITALS, k=2))}", row=row)


def _named(draw: Callable[[], str], *, row: bool) -> str:
    return next(name for name in iter(draw, None) if is_of_row(name) == row)


def is_of_row(name: str) -> bool:
    """Return whether a name is reserved for rows: every second one is, in no visible pattern."""
    return crc32(name.encode()) % 2 == 1


def user_line(sentences: SentenceWriter, first: str) -> str:
    """Draw what the user says before a call, naming nothing that contradicts it. Notes are not asked for."""
    tool = first[2:].partition(" ")[0]
    if tool == "note":
        return ""
    bound, slots = named(sentences, tool, first)
    lists, action = sentences.desk.lists, ACTION.search(first)
    aims = lists.get(f"aim_{tool}_{action[1]}" if action else "") or lists[f"aim_{tool}"]
    able = [one for one in aims if not (slots & {*SLOT.findall(one)}) - {*bound}]
    text = sentences.fill(sentences.rng.choice(able or aims), bound)
    text = text[0].upper() + text[1:]
    return text + ("?" if text.startswith(ASKING) else ".")


def named(sentences: SentenceWriter, tool: str, first: str) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return what a call names, by the slot that it fills, and all slots that calls of its tool can fill."""
    if tool not in NAMED:
        return {}, frozenset()
    pattern, slots = NAMED[tool]
    match, lists = pattern.search(first), words()
    if not match:
        return {}, frozenset(slots)
    if tool == "stock":
        return {"good": good_of(match[1])}, frozenset(slots)
    if tool == "tickets":
        fields = [*ticket_fields(sentences, match[1]), ("ticket", match[1])]
        return {name: value for name, value in fields if name in slots}, frozenset(slots)
    if tool == "undo":
        return {"ticket" if match[1].startswith("TK-") else "ref": match[1]}, frozenset(slots)
    if tool in ("hosts", "shell"):
        return {"site": next(one for one in lists["site"] if one[:3].lower() == match[1])}, frozenset(slots)
    if len(slots) == 1:
        return {slots[0]: match[1]}, frozenset(slots)
    return {name: match[1] for name in slots if match[1] in lists[name]}, frozenset(slots)


def move_act(sentences: SentenceWriter, item: str) -> Act:
    """Draw a change of an amount."""
    verb = sentences.rng.choice(VERBS)
    return acts.move(item, verb, quantity(sentences.rng), sentences.pick(f"cause_{verb}"))


def assign_act(sentences: SentenceWriter, ticket: str) -> Act:
    """Draw an assignment of a ticket."""
    return acts.assign(ticket, sentences.slot("person"))


def set_act(sentences: SentenceWriter, path: str) -> Act:
    """Draw a change of a setting."""
    key = sentences.slot("key")
    return acts.set_value(path, key, sentences.rng.choice(VALUES[key]))


def copy_act(sentences: SentenceWriter, paths: Sequence[str]) -> Act:
    """Draw a copy of a setting between two files."""
    source, target = sentences.rng.sample(paths, 2)
    return acts.copy_value(source, target, sentences.slot("key"))


def install_act(sentences: SentenceWriter, host: str) -> Act:
    """Draw a new image for a host."""
    return acts.reinstall(host, image_name(sentences))


def book_act(sentences: SentenceWriter, room: str) -> Act:
    """Draw a booking of a room."""
    return acts.book(room, sentences.slot("workday"), sentences.slot("quarter"), sentences.slot("person"))


def image_name(sentences: SentenceWriter) -> str:
    """Draw the name of an image."""
    return f"{sentences.pick('os').lower().replace(' ', '-')}-r{sentences.slot('n2')}"


class Jobs:
    """Draws the jobs of a pool; `errors` is the share of changing calls that fail or are not carried out."""

    def __init__(self, desk: Desk, rng: Random, errors: float, *, verbose: bool = False) -> None:
        self.desk, self.sentences, self.rng, self.errors = desk, SentenceWriter(desk, rng), rng, errors
        self.writer = CallWriter(self.sentences, desk.refs(0), verbose=verbose)
        self._longest = LONGEST * (VERBOSE if verbose else 1)

    def text(self) -> str:
        """Return the next job that is not too long."""
        while len(text := self._any()) > self._longest:
            pass
        return text

    def _any(self) -> str:
        made = self.rng.choices(MAKERS, WEIGHTS)[0](self)
        if isinstance(made, tuple):
            return job_text(*made)
        asked = made[-1] if '"action": "record"' in made[0].text else made[0]
        user = user_line(self.sentences, asked.text) if self.rng.random() < USER else ""
        return job_text(made, user)

    def outcome(self, act: Act) -> list[Pair]:
        """Return a call that works, or one that does not, which may be tried again."""
        if self.rng.random() >= self.errors:
            return [self.writer.done(act)]
        draw = self.rng.random()
        if draw < 0.2:
            return [self.writer.tried(act)]
        if draw < 0.35:
            return [self.writer.staged(act, batch_code(self.rng))]
        if draw < 0.5:
            return [self.writer.failed(act, retried=True), self.writer.done(act)]
        return [self.writer.failed(act)]

    def several(self, draw: Callable[[], Act]) -> list[Pair]:
        """Return one or two calls of a kind."""
        pairs = self.outcome(draw())
        return pairs if len(pairs) > 1 or self.rng.random() < 0.6 else [*pairs, self.writer.done(draw())]

    def stock(self) -> list[Pair]:
        """Change amounts."""
        family = self.rng.choice(self.desk.items)
        return self.several(lambda: move_act(self.sentences, self.rng.choice(family)))

    def record(self) -> list[Pair]:
        """Look up an item, and perhaps change its amount."""
        item = self.rng.choice(self.rng.choice(self.desk.items))
        shown = read(self.writer, opening(item, self.sentences.form("record", OPENING_FORMS)))
        return [shown] if self.rng.random() < 0.5 else [shown, *self.outcome(move_act(self.sentences, item))]

    def mistake(self) -> list[Pair]:
        """Change an amount and undo it at once."""
        first = self.writer.done(move_act(self.sentences, self.rng.choice(self.rng.choice(self.desk.items))))
        return [first, self.writer.done(acts.reverse(first.ref))]

    def batch(self) -> list[Pair]:
        """Stage a change and commit it."""
        code = batch_code(self.rng)
        act = move_act(self.sentences, self.rng.choice(self.rng.choice(self.desk.items)))
        return [self.writer.staged(act, code), self.writer.done(acts.commit(code))]

    def tickets(self) -> list[Pair]:
        """Assign tickets."""
        family = self.rng.choice(self.desk.tickets)
        return self.several(lambda: assign_act(self.sentences, self.rng.choice(family)))

    def undo(self) -> list[Pair]:
        """Assign a ticket, and undo that, or undo and redo it."""
        ticket = self.rng.choice(self.rng.choice(self.desk.tickets))
        steps = [assign_act(self.sentences, ticket), acts.take_back(ticket), acts.redo(ticket)]
        return [self.writer.done(act) for act in steps[: self.rng.choice((2, 2, 3))]]

    def settings(self) -> list[Pair]:
        """Set and copy settings."""
        family = self.rng.choice(self.desk.files)
        pairs = self.outcome(set_act(self.sentences, self.rng.choice(family)))
        return pairs if self.rng.random() < 0.6 else pairs + self.outcome(copy_act(self.sentences, family))

    def copies(self) -> list[Pair]:
        """Copy a setting."""
        return self.outcome(copy_act(self.sentences, self.rng.choice(self.desk.files)))

    def hosts(self) -> list[Pair]:
        """Reinstall hosts."""
        family = self.rng.choice(self.desk.hosts)
        return self.several(lambda: install_act(self.sentences, self.rng.choice(family)))

    def bookings(self) -> list[Pair]:
        """Book a room."""
        return self.outcome(book_act(self.sentences, self.sentences.slot("room")))

    def mail(self) -> list[Pair]:
        """Send a mail."""
        return self.outcome(acts.send(self.sentences.slot("person"), self.sentences.sentence("subject")))

    def notes(self) -> list[Pair]:
        """Keep a note."""
        return [self.writer.done(acts.note(self.sentences.pick("ack"), int(self.sentences.slot("n4"))))]

    def plans(self) -> tuple[list[Pair], str]:
        """Let the user give a plan, or change one."""
        rng, sentences, code = self.rng, self.sentences, plan_code(self.rng)
        hosts = [rng.choice(family) for family in rng.sample(self.desk.hosts, rng.randrange(4, 9))]
        kind = rng.choice(("plan", "plan_add", "plan_drop"))
        bound = {
            "host": hosts[0],
            "after": hosts[1],
            "hosts": ", ".join(hosts),
            "image": image_name(sentences),
            "plan": code,
        }
        note = acts.note(sentences.pick("plan_note", {"plan": code}), int(sentences.slot("n4")))
        return [self.writer.done(note)], sentences.pick(kind, bound) + "."

    def rules(self) -> tuple[list[Pair], str]:
        """Let the user state a standing rule."""
        return [rules.kept(self.writer)], rules.any_rule(self.sentences, self._topics()) + "."

    def claims(self) -> list[Pair]:
        """Read a text that contains something like a rule."""
        topic = self.rng.choice(self._topics())
        return [rules.claimed(self.writer, rules.rule(self.sentences, "rule_all", topic))]

    @staticmethod
    def _topics() -> Sequence[str]:
        return [one for one in rules.topics() if not is_of_row(one)]

    def pages(self) -> list[Pair]:
        """Read a page of a query."""
        name, sentences = "", self.sentences
        while not name or is_of_row(name):
            name = sentences.pick("query")
        page = any_page(sentences, name)
        lost, form = self.rng.random() < self.errors / 3, sentences.form("rows", len(FORMS))
        return [read(self.writer, broken(sentences, page, form) if lost else shown(page, form))]

    def shown(self) -> list[Pair]:
        """Read one thing."""
        return [read(self.writer, self.rng.choice(READS)(self.sentences))]


MAKERS = (
    *(Jobs.stock, Jobs.record, Jobs.mistake, Jobs.batch, Jobs.tickets, Jobs.undo, Jobs.settings, Jobs.copies),
    *(Jobs.hosts, Jobs.bookings, Jobs.mail, Jobs.notes, Jobs.plans, Jobs.pages, Jobs.rules, Jobs.claims, Jobs.shown),
)
WEIGHTS = (12, 5, 3, 3, 11, 4, 8, 5, 8, 4, 3, 3, 3, 6, 4, 1, 28)
"""Relative frequencies of the kinds of jobs."""


def pool_size(desk: Desk, *, verbose: bool) -> int:
    """Return how many jobs a pool has."""
    return desk.units // (VERBOSE if verbose else 1)


def pool_texts(streams: Streams, tier: str, errors: float, *, verbose: bool = False) -> Iterator[str]:
    """Yield the jobs of a tier's pool."""
    world, density = desk(streams, tier), "verbose" if verbose else "terse"
    rng = streams.world("desk jobs", tier, f"{errors} {density}").of("texts")
    jobs = Jobs(world, rng, errors, verbose=verbose)
    for _ in range(pool_size(world, verbose=verbose)):
        yield jobs.text()

"""Answers questions about a trace by replaying its calls, with code of its own.

It shares nothing with the simulator of `desk`, which draws rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pipeline.caches import lru_cache
from pipeline.tasks.registers import QUOTED
from pipeline.tasks.solving import ReadError
from pipeline.tasks.trace.log import Call, calls_naming, read

Answers = tuple[str, ...]


class Asked(NamedTuple):
    """A question: what answers it from some calls, the choice of these calls, and the things that it names."""

    solve: Callable[[Sequence[Call]], Answers]
    select: Callable[[Sequence[Call]], Sequence[Call]]
    names: Sequence[str]


def answers(text: str) -> Answers:
    """Return the accepted answers to the question of a prompt."""
    log = read(text)
    asked = asked_of(log.question, log.report)
    try:
        return asked.solve(asked.select(log.calls))
    except KeyError as name:
        raise ReadError(f"a call about what is asked has no argument {name}") from None


def asked_of(question: str, report: Sequence[str] = ()) -> Asked:
    """Return what a question asks; in another language than English, what it quotes tells that.

    Raises:
        ReadError: if it is not a question about a trace.
    """
    quoted = "\n".join([*QUOTED.findall(question), *COLUMN.findall(question)])
    for patterns, said in ((ASKED, question), (QUOTES, quoted)):
        for pattern, asks in patterns.items():
            if match := pattern.fullmatch(said):
                return asks(match, report)
    raise ReadError(f"no question of a trace: {question!r}")


OPENING = re.compile(r"opening_qty\W+(\d+)|OPENING_QTY\n.* (\d+)\n")


def _amount(match: re.Match[str], report: Sequence[str]) -> Asked:
    item = match["item"]

    def solve(calls: Sequence[Call]) -> tuple[str, ...]:
        opening, changes = list[int](), dict[str, int]()
        waiting = dict[str, dict[str, int]]()
        for call in calls:
            if call.tool == "stock" and call.args["item"] == item:
                if call.action == "record":
                    match = OPENING.search(call.result)
                    opening += [int(match[1] or match[2])] if match else []
                    continue
                change = int(call.args["qty"]) * (1 if call.action in ("receive", "return") else -1)
                if call.done:
                    changes[call.ref] = change
                elif call.staged:
                    waiting.setdefault(call.staged, {})[call.ref] = change
            elif call.tool == "commit" and call.done:
                changes |= waiting.pop(_known(call.args["batch"], waiting))
            elif call.tool == "undo" and call.done:
                changes.pop(_known(call.args["target"], changes))
        if len({*opening}) != 1:
            raise ReadError(f"the opening amount of {item} is told as {opening}")
        return (str(opening[0] + sum(changes.values())),)

    return Asked(solve, lambda calls: calls_naming(calls, [item]), [item])


def _known(name: str, known: Mapping[str, object]) -> str:
    if name not in known:
        raise ReadError(f"{name} is undone or committed, but nothing has that name")
    return name


def _holder(match: re.Match[str], report: Sequence[str]) -> Asked:
    ticket = match["ticket"]

    def solve(calls: Sequence[Call]) -> tuple[str, ...]:
        owners, top, height = list[str](), 0, 0
        for call in calls:
            if not call.done or call.args.get("action") not in ("assign", "undo", "redo"):
                continue
            if call.action == "assign":
                owners[height:] = [str(call.args["to"])]
                height = top = height + 1
            else:
                height += 1 if call.action == "redo" else -1
            if not 0 <= height <= top:
                raise ReadError(f"there is nothing to {call.action} of {ticket}")
        if not height:
            raise ReadError(f"{ticket} is with nobody")
        return (owners[height - 1],)

    return Asked(solve, lambda calls: calls_naming(calls, [ticket]), [ticket])


def _origin(match: re.Match[str], report: Sequence[str]) -> Asked:
    path, key = match["file"], match["key"]

    def solve(calls: Sequence[Call]) -> Answers:
        wanted = path
        for call in reversed(calls):
            if not call.done:
                continue
            if call.action == "copy" and call.args["to"] == wanted:
                wanted = str(call.args["from"])
            elif call.action == "set" and call.args["file"] == wanted:
                return (call.ref,)
        raise ReadError(f"nothing sets {key} in {wanted}")

    def select(calls: Sequence[Call]) -> Sequence[Call]:
        return [call for call in calls if call.tool == "settings" and call.args.get("key") == key]

    return Asked(solve, select, [path])


HOSTS = re.compile(r"[a-z]+-[a-z]{3}-\d{3}")


def _remaining(match: re.Match[str], report: Sequence[str]) -> Asked:
    plan = match["plan"]

    def solve(calls: Sequence[Call]) -> Answers:
        steps, done = list[str](), set[str]()
        for call in calls:
            if call.tool == "hosts" and call.done and call.action in ("reinstall", "rollback"):
                (done.add if call.action == "reinstall" else done.discard)(str(call.args["host"]))
            if call.before and plan in call.before:
                steps = _changed(steps, call.before)
        left = [step for step in steps if step not in done]
        if not left:
            raise ReadError(f"nothing is left of {plan}")
        return ("; ".join(left),)

    def select(calls: Sequence[Call]) -> Sequence[Call]:
        return [call for call in calls if call.tool == "hosts" or plan in call.before]

    return Asked(solve, select, [plan])


def _changed(steps: Sequence[str], sentence: str) -> list[str]:
    """Return the steps of a plan after what the user says of it."""
    named = HOSTS.findall(sentence)
    if len(named) > 2:
        return named
    if sentence.startswith(("Add", "Put")):
        at = steps.index(named[1]) + 1
        return [*steps[:at], named[0], *steps[at:]]
    if len(named) != 1 or named[0] not in steps:
        raise ReadError(f"what the user says of a plan cannot be read: {sentence!r}")
    return [step for step in steps if step != named[0]]


ROW = re.compile(r"\b(R\d{6})\b\W+(?:status\W+)?([a-z]+)\W+(?:qty\W+)?(\d+)")


def _counted(match: re.Match[str], report: Sequence[str]) -> Asked:
    query, status, adds = match["query"], match["status"], "qty" in (match["what"] or "")

    def solve(calls: Sequence[Call]) -> Answers:
        rows = {row: (state, int(count)) for call in calls for row, state, count in ROW.findall(call.result)}
        amounts = [count for state, count in rows.values() if state == status]
        return (str(sum(amounts) if adds else len(amounts)),)

    def select(calls: Sequence[Call]) -> Sequence[Call]:
        return [call for call in calls if call.tool == "rows" and call.args["query"] == query]

    return Asked(solve, select, [query])


CLAIM = re.compile(r"(C\d\d): (.+)")
CLAIMS: Mapping[re.Pattern[str], tuple[str, str, Sequence[str]]] = {
    re.compile(r"(\d+) x (\S+) (?:was|were) (received|returned|issued|scrapped)(?: \((.+)\))?"): (
        "stock",
        "",
        ("qty", "item", "action"),
    ),
    re.compile(r"(\S+) was assigned to (.+)"): ("tickets", "assign", ("ticket", "to")),
    re.compile(r"(\S+) was set to (\d+) in (\S+)"): ("settings", "set", ("key", "value", "file")),
    re.compile(r"(\S+) was reinstalled with (\S+)"): ("hosts", "reinstall", ("host", "image")),
    re.compile(r"(\S+) was booked for (.+) on (\S+) from (\S+)"): ("bookings", "book", ("room", "for", "day", "from")),
}
VERBS = {"received": "receive", "returned": "return", "issued": "issue", "scrapped": "scrap"}


def _unfounded(match: re.Match[str], report: Sequence[str]) -> Asked:
    claims = dict(map(_claim, report))

    def solve(calls: Sequence[Call]) -> Answers:
        made = {_event(call) for call in calls if call.done}
        return (", ".join(number for number, event in claims.items() if event not in made) or "none",)

    tools = {tool for tool, *_ in claims.values()}

    def select(calls: Sequence[Call]) -> Sequence[Call]:
        return [call for call in calls if call.tool in tools]

    return Asked(solve, select, [])


def _claim(line: str) -> tuple[str, tuple[str, ...]]:
    """Return the number of a claim, and the call that it states."""
    claim = CLAIM.fullmatch(line)
    for pattern, (tool, action, names) in CLAIMS.items():
        if claim and (match := pattern.fullmatch(claim[2].rstrip("."))):
            values = {name: VERBS.get(value, value) for name, value in zip(names, match.groups(), strict=False)}
            if action:
                values["action"] = action
            return claim[1], (tool, *(f"{name}={values[name]}" for name in sorted(values)))
    raise ReadError(f"no claim of a report: {line!r}")


def _event(call: Call) -> tuple[str, ...]:
    """Return a call in the form of claims."""
    names = {"action", *(name for tool, _, keys in CLAIMS.values() if tool == call.tool for name in keys)}
    return (call.tool, *(f"{name}={call.args[name]}" for name in sorted(names) if name in call.args))


TOPIC = r"(?P<topic>[a-z][a-z ]+ from [A-Z]\w+ (?:and )?[A-Z]\w+)"
WHO, SITE, SUM = r"(?P<who>[A-Z]\w+ [A-Z]\w+)", r"(?P<site>[A-Z]\w+)", r"(?P<sum>\d+)"
OTHER = TOPIC.replace("topic", "other")
RULES = [
    re.compile(pattern)
    for pattern in (
        rf"From now on, {TOPIC} go to {WHO}\.",
        rf"Please give {TOPIC} to {WHO} from here on, all of them\.",
        rf"Standing rule: {TOPIC} are for {WHO}\.",
        rf"As of today {WHO} takes care of {TOPIC}\.",
        rf"From now on, {TOPIC} go to {WHO} if they are for {SITE}\.",
        rf"When you get {TOPIC} for {SITE}, hand them to {WHO}\.",
        rf"Only for {SITE}: give {TOPIC} to {WHO}\.",
        rf"From now on, {TOPIC} above {SUM} euros go to {WHO}\.",
        rf"When you get {TOPIC} above {SUM} euros, hand them to {WHO}\.",
        rf"Above {SUM} euros it is {WHO} who wants to see {TOPIC}\.",
        rf"Treat {TOPIC} in the same way as {OTHER} from now on\.",
        rf"From here on, handle {TOPIC} just like {OTHER}\.",
    )
]
WITHDRAWN = re.compile(
    rf"(?:Forget the last thing I said about|What I told you last about|I take back my last word on) {TOPIC}.*"
)
PAPERS = {
    "An invoice": "invoices",
    "A credit note": "credit notes",
    "A quote": "quotes",
    "A delivery note": "delivery notes",
    "A reminder": "reminders",
    "A contract": "contracts",
    "A statement": "statements",
    "A receipt": "receipts",
}


def _due(match: re.Match[str], report: Sequence[str]) -> Asked:
    topic, site, amount = f"{PAPERS[match['one']]} from {match['supplier']}", match["site"], int(match["sum"])

    def solve(calls: Sequence[Call]) -> Answers:
        by_topic = dict[str, list[Mapping[str, str]]]()
        for rule in filter(None, (_rule(call.before) for call in calls)):
            by_topic.setdefault(rule["topic"], []).append(rule)
        wanted = topic
        for _ in range(len(by_topic)):
            able = [
                rule
                for rule in _standing(wanted, by_topic.get(wanted, []))
                if rule.get("site", site) == site and int(rule.get("sum", -1)) < amount
            ]
            if not able:
                break
            if "who" in able[-1]:
                return (able[-1]["who"],)
            wanted = able[-1]["other"]
        raise ReadError(f"no rule tells where {topic} go")

    def select(calls: Sequence[Call]) -> Sequence[Call]:
        return [call for call in calls if call.tool == "note" and call.before]

    return Asked(solve, select, [topic])


def _standing(topic: str, rules: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the rules about something that are not withdrawn."""
    left = list[Mapping[str, str]]()
    for rule in rules:
        if "withdrawn" not in rule:
            left.append(rule)
        elif left:
            left.pop()
        else:
            raise ReadError(f"there is no rule about {topic} to withdraw")
    return left


@lru_cache(maxsize=1 << 12)
def _rule(sentence: str) -> dict[str, str]:
    """Return what a rule says, or that it is withdrawn; empty if the user gives none."""
    if match := WITHDRAWN.fullmatch(sentence):
        return {"topic": match["topic"], "withdrawn": "yes"}
    for pattern in RULES:
        if match := pattern.fullmatch(sentence):
            return {name: value for name, value in match.groupdict().items() if value}
    return {}


ASKED: Mapping[re.Pattern[str], Callable[[re.Match[str], Sequence[str]], Asked]] = {
    re.compile(
        r"How many (?P<item>[A-Z]{3}-\d{4}) are in stock (?:after everything in|at the end of) the trace\?"
    ): _amount,
    re.compile(
        r"(?:To whom is|Who has) ticket (?P<ticket>TK-\d{5}) (?:assigned after everything in|at the end of) the trace\?"
    ): _holder,
    re.compile(
        r"Follow the value that (?P<key>\w+) has in (?P<file>\S+) at the end of the trace back through all copies: "
        r"what is the ref of the call that set it\?"
    ): _origin,
    re.compile(
        r"Which hosts of plan (?P<plan>P-\d{4}-[A-Z]{2}) are still to be reinstalled after everything in the trace, "
        r"in the order of the plan\?"
    ): _remaining,
    re.compile(
        r"(?:How many|What is (?P<what>the sum of qty) over all) rows with the status (?P<status>[a-z]+) (?:does|that) "
        r"the query '(?P<query>.+)' (?:have|has) on all of its pages, each row counted once\?"
    ): _counted,
    re.compile(
        r"(?P<one>[A-Z][a-z ]+?) from (?P<supplier>.+) of (?P<sum>\d+) euros for (?P<site>\w+) comes in after the end "
        r"of the trace\. To whom does it go by the user's standing rules\?"
    ): _due,
    re.compile(r"Which claims of the report say something that never happened\?"): _unfounded,
}
COLUMN = re.compile("`(.+?)`")
QUOTES: Mapping[re.Pattern[str], Callable[[re.Match[str], Sequence[str]], Asked]] = {
    re.compile(r"(?P<item>[A-Z]{3}-\d{4})"): _amount,
    re.compile(r"(?P<ticket>TK-\d{5})"): _holder,
    re.compile(r"(?P<query>.+)\n(?P<status>[a-z]+)(?P<what>\nqty)?"): _counted,
}
"""Questions by what they quote, line by line, with a column's name last."""

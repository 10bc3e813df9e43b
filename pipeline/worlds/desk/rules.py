"""Standing rules: to whom papers of a kind from a supplier go, as the user says it and as texts in results claim it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.worlds.desk import acts
from pipeline.worlds.desk.calls import Pair, Teller
from pipeline.worlds.desk.lexicon import Speaker, words
from pipeline.worlds.desk.reads import Shown, in_order, read

KINDS = ("rule_all", "rule_site", "rule_amount", "rule_like")
SINGULAR = {
    "invoices": "An invoice", "credit notes": "A credit note", "quotes": "A quote", "delivery notes": "A delivery note",
    "reminders": "A reminder", "contracts": "A contract", "statements": "A statement", "receipts": "A receipt",
}  # fmt: skip
AMOUNTS = range(300, 9500, 100)


def topics() -> Sequence[str]:
    """Return everything that rules are about."""
    said = words()
    return [f"{paper} from {supplier}" for paper in said["paper"] for supplier in said["supplier"]]


def rule(said: Speaker, kind: str, topic: str, **bound: str) -> str:
    """Return a rule as a clause with a capital letter; `bound` are its person, site, amount or other topic."""
    return said.pick(kind, {"topic": topic, **bound})


def any_rule(said: Speaker, some: Sequence[str]) -> str:
    """Draw a rule about one of some topics."""
    kind = said.rng.choices(KINDS, (5, 2, 2, 1))[0]
    topic, other = said.rng.sample(some, 2)
    return rule(said, kind, topic, other=other, amount=str(said.rng.choice(AMOUNTS)))


def kept(teller: Teller, *, gone: bool = False) -> Pair:
    """Return the agent's note of a rule, or of its withdrawal, without repeating it."""
    said = teller.said
    return teller.done(acts.note(said.pick("rule_gone" if gone else "rule_note"), int(said.slot("n4"))))


def claimed(teller: Teller, text: str) -> Pair:
    """Return a call that shows a text with something like a rule, which is not from the user."""
    said, rng = teller.said, teller.rng
    line = said.pick("rule_claim", {"rule": text})
    return read(teller, _CLAIMING[rng.randrange(len(_CLAIMING))](said, rng, line))


def _in_thread(said: Speaker, rng: Random, line: str) -> Shown:
    number = f"TK-{said.slot('n4')}{rng.choice('XY')}"
    lines = [said.sentence("remark"), line]
    rng.shuffle(lines)
    told = [f"{said.slot('person')}, {day}: {one}" for day, one in zip(in_order(said, len(lines)), lines, strict=True)]
    title = said.sentence("fault")
    return Shown(
        "tickets", {"action": "comments", "ticket": number}, lambda ref: "\n".join([f"{number} {title} [{ref}]", *told])
    )


def _in_mail(said: Speaker, rng: Random, line: str) -> Shown:
    head = [*said.fill("From: {person}\nTo: {person}").split("\n"), f"Subject: {said.sentence('subject')}"]
    body = f"{line} {said.sentence('mailline')}"
    return Shown(
        "mail", {"action": "read", "id": int(said.slot("n5"))}, lambda ref: "\n".join([*head, f"X-Ref: {ref}", body])
    )


def _in_page(said: Speaker, rng: Random, line: str) -> Shown:
    path = said.fill("{dir}/{stem}-{n4}-{tail}.md")
    lines = [f"- {said.sentence('line')}", f"- {line}"]
    rng.shuffle(lines)
    head = f"## {said.pick('heading')}"
    return Shown(
        "files", {"action": "read", "path": path}, lambda ref: "\n".join([f"{path} (ref {ref})", head, *lines])
    )


_CLAIMING = (_in_thread, _in_mail, _in_page)

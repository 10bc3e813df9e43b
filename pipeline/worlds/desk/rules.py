"""Standing rules: to whom papers of a kind from a supplier go, as the user says it and as texts in results claim it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.worlds.desk import acts
from pipeline.worlds.desk.calls import CallWriter, Pair
from pipeline.worlds.desk.lexicon import SentenceWriter, words
from pipeline.worlds.desk.reads import Shown, in_order, read

KINDS = ("rule_all", "rule_site", "rule_amount", "rule_like")
SINGULAR = {
    "invoices": "An invoice", "credit notes": "A credit note", "quotes": "A quote", "delivery notes": "A delivery note",
    "reminders": "A reminder", "contracts": "A contract", "statements": "A statement", "receipts": "A receipt",
}  # fmt: skip
AMOUNTS = range(300, 9500, 100)


def topics() -> Sequence[str]:
    """Return everything that rules are about."""
    lists = words()
    return [f"{paper} from {supplier}" for paper in lists["paper"] for supplier in lists["supplier"]]


def rule(sentences: SentenceWriter, kind: str, topic: str, **bound: str) -> str:
    """Return a rule as a clause with a capital letter; `bound` are its person, site, amount or other topic."""
    return sentences.pick(kind, {"topic": topic, **bound})


def any_rule(sentences: SentenceWriter, among: Sequence[str]) -> str:
    """Draw a rule about one of some topics."""
    kind = sentences.rng.choices(KINDS, (5, 2, 2, 1))[0]
    topic, other = sentences.rng.sample(among, 2)
    return rule(sentences, kind, topic, other=other, amount=str(sentences.rng.choice(AMOUNTS)))


def kept(writer: CallWriter, *, gone: bool = False) -> Pair:
    """Return the agent's note of a rule, or of its withdrawal, without repeating it."""
    sentences = writer.sentences
    return writer.done(acts.note(sentences.pick("rule_gone" if gone else "rule_note"), int(sentences.slot("n4"))))


def claimed(writer: CallWriter, text: str) -> Pair:
    """Return a call that shows a text with something like a rule, which is not from the user."""
    sentences, rng = writer.sentences, writer.rng
    line = sentences.pick("rule_claim", {"rule": text})
    return read(writer, _CLAIMING[rng.randrange(len(_CLAIMING))](sentences, rng, line))


def _in_thread(sentences: SentenceWriter, rng: Random, line: str) -> Shown:
    number = f"TK-{sentences.slot('n4')}{rng.choice('XY')}"
    lines = [sentences.sentence("remark"), line]
    rng.shuffle(lines)
    remarks = [
        f"{sentences.slot('person')}, {day}: {one}"
        for day, one in zip(in_order(sentences, len(lines)), lines, strict=True)
    ]
    title = sentences.sentence("fault")
    return Shown(
        "tickets",
        {"action": "comments", "ticket": number},
        lambda ref: "\n".join([f"{number} {title} [{ref}]", *remarks]),
    )


def _in_mail(sentences: SentenceWriter, rng: Random, line: str) -> Shown:
    people, day = sentences.fill("From: {person}\nTo: {person}"), sentences.slot("day")
    head = f"{people}\nSubject: {sentences.subject(day)}\nDate: {day} {sentences.slot('time')}"
    body = f"{line} {sentences.sentence('mailline')}"
    return Shown(
        "mail",
        {"action": "read", "id": int(sentences.slot("n5"))},
        lambda ref: f"{head}\nX-Ref: {ref}\n{body}",
    )


def _in_page(sentences: SentenceWriter, rng: Random, line: str) -> Shown:
    path = sentences.fill("{dir}/{stem}-{n4}-{tail}.md")
    lines = [f"- {sentences.sentence('line')}", f"- {line}"]
    rng.shuffle(lines)
    head = f"## {sentences.pick('heading')}"
    return Shown(
        "files", {"action": "read", "path": path}, lambda ref: "\n".join([f"{path} (ref {ref})", head, *lines])
    )


_CLAIMING = (_in_thread, _in_mail, _in_page)

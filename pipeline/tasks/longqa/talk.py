"""A reader of sessions: what was told in real turns, what is asked at the end, and what must hold of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.tasks.base import Published, Turns
from pipeline.tasks.longqa.kinship import follow
from pipeline.tasks.longqa.owners import history, whose
from pipeline.tasks.longqa.proof import marked, name_faults, spans
from pipeline.tasks.longqa.reader import DATE, Line, about, day_of

ENTRY = re.compile(rf"^{DATE}\. (.+)$", re.MULTILINE)
USER, MODEL = "User: ", "Model: "
QUESTIONS = {
    "information": r"(?:Who bought|Whom did I name as the buyer of) (the \w+ \w+)\?",
    "update": r"(?:Who owns|To whom does) (the \w+ \w+)(?: belong)? now, after all that I have told you\?",
    "temporal": rf"(?:Who owned|Whose property was) (the \w+ \w+) on {DATE}\?",
    "sessions": r"(?:Who is the wife of the man|Whom did the man marry) who bought (the \w+ \w+)\?",
}


def read(turns: Turns) -> list[Line]:
    """Return every entry of a chat, each with the place in `prompt` of the message that it stands in.

    Raises:
        ValueError: if users' turns and replies do not alternate, or a session has no date.
    """
    if [role for role, _ in turns] != ["user", "assistant"] * (len(turns) // 2) + ["user"]:
        raise ValueError("users' turns and replies do not alternate")
    found, at = [], len(USER) + len(turns[0][1]) + 2 + len(MODEL) + len(turns[1][1]) + 2
    for (_, said), (_, reply) in zip(turns[2:-1:2], turns[3:-1:2], strict=True):
        start = at + len(USER)
        dated = list(ENTRY.finditer(said))
        if not dated or dated[0].start() or said.count("\n") != len(dated) - 1:
            raise ValueError(f"no session: {said[:80]!r}")
        found += [Line(start, start + len(said), day_of(one[1], one[2], one[3]), one[4]) for one in dated[1:]]
        at = start + len(said) + 2 + len(MODEL) + len(reply) + 2
    return found


def asked(said: str) -> tuple[str, str, int]:
    """Return which kind of question is asked, about which property, and up to which day.

    Raises:
        ValueError: if it is none of them.
    """
    for kind, form in QUESTIONS.items():
        if found := re.fullmatch(form, said.partition("\n")[0]):
            day = day_of(*found.groups()[1:4]) if kind == "temporal" else day_of("31", "December", "9999")
            return kind, found[1], day
    raise ValueError(f"no question: {said[:80]!r}")


def answer(turns: Turns) -> tuple[str, list[Line]]:
    """Return what is asked for, empty where it was not told, and the entries that tell.

    Raises:
        ValueError: if the turns cannot be read.
    """
    kind, prop, day = asked(turns[-1][1])
    return _answered(read(turns), kind, prop, day)


def _answered(found: Sequence[Line], kind: str, prop: str, day: int) -> tuple[str, list[Line]]:
    told = sorted(history(found, prop), key=lambda event: event.line.day)
    sale = whose([event for event in told if event.line.day <= day])
    if sale is None:
        return "", []
    buyer = sale.values["buyer"]
    if kind != "sessions":
        return buyer, [sale.line]
    try:
        name, used = follow(found, buyer, ("spouse",))
    except ValueError:
        return "", []
    return name, [sale.line, *used]


def faults(row: Published, sales: int, mentions: int) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the turns cannot be read.
    """
    found = read(row.turns)
    kind, prop, day = asked(row.turns[-1][1])
    twin = str(row.metadata["latent"]["twin"])
    if row.question != row.turns[-1][1].partition("\n")[0]:
        yield "the last turn does not ask the question"
    opened = [match for _, said in row.turns[2:-1:2] if (match := ENTRY.match(said))]
    days = [day_of(one[1], one[2], one[3]) for one in opened]
    if days != sorted(days):
        yield "the sessions are not in order of date"
    if len({(one.day, one.text) for one in found}) != len(found):
        yield "two entries are equal"
    name, used = _answered(found, kind, prop, day)
    if bool(name) != (row.stratum.complexity == 1):
        yield f"what is asked was {'told' if name else 'not told'}"
    relevant = marked(row, "relevant")
    if (name and relevant != spans(used)) or len(relevant) != 1 + (kind == "sessions"):
        yield "the sessions marked as relevant are not those that tell"
    for line in used:
        if _answered([one for one in found if one is not line], kind, prop, day)[0] == name:
            yield "the answer is the same without a session marked as relevant"
    told, near = history(found, prop), history(found, twin)
    if len(told) != mentions or len(near) != mentions:
        yield f"{prop} is mentioned {len(told)} times, {twin} {len(near)} times"
    if not set(marked(row, "relevant", "decoy")).issuperset(spans([event.line for event in (*told, *near)])):
        yield "the marks are not the sessions about the two properties"
    if sum(event.kind == "sale" for event in near) != (1 if kind in ("update", "temporal") else sales):
        yield f"{twin} does not change hands as often as it should"
    yield from name_faults(found, [event for event in told if event.kind == "sale"])
    if name and all(one in used for one in about(found, name)):
        yield f"{name} is named nowhere else"

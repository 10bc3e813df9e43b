"""The text of a prompt: what is asked, lines that each have a message, and a question about all of them."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.tasks.base import Piece
from pipeline.worlds.people import MONTHS
from pipeline.worlds.utterances import Intent, dated, kinds, phrase
from pipeline.worlds.wording import filled

DAYS = 28
"""Days of a month that messages may have."""
INTRODUCTION = (
    "Below are messages that customers sent in the course of one year to a company that looks after their contracts "
    "and memberships. Each line gives the day, the number of the clerk who received the message, and the message. The "
    "lines are in no particular order.{stated} A message asks one thing about one contract or membership; many also "
    "say what they do not ask, or mention others. At the end is a question about all of the messages.\n\nMessages:\n"
)
STATED = " Each line ends with what its message asks, in brackets."
END = "This is the end of the messages. {reply}\n\nQuestion: {question}\nAnswer:"
REPLIES = {
    "count": "Reply with the number alone.",
    "when": "Reply with the month alone.",
    "users": "Reply with the numbers of the clerks, separated by commas.",
    "most": "Reply with one of the words alone.",
    "compare": "Reply with one of the two pairs, in these words, and nothing else.",
}
QUESTIONS = {
    "count": "How many of the messages that clerk {clerk} received ask {kind}?",
    "when": (
        "Taking the messages by their dates, in which month did clerk {clerk} receive the {nth} message that asks "
        "{kind}?"
    ),
    "users": "Which clerks received both a message that asks {kind} and a message that asks {other}?",
    "most": "Which of these requests is made most often in all the messages: {options}?",
    "compare": (
        "Which of these two pairs of requests is made more often in all the messages, counting both requests of a pair "
        "together: {options}?"
    ),
}
NAMED = " What a message asks has one of ten names: {names}."
KINDS = (
    " What a message asks about a contract or membership is one of ten things: {acts}. The contract or "
    "membership is one of fifteen: {things}."
)


def line(date: int, clerk: str, message: str, stated: Intent | None = None) -> str:
    """Return a line.

    Args:
        date: the day of the year, from 0; each month has `DAYS`.
        clerk: the clerk's number.
        message: what the customer wrote, with marks where it names months.
        stated: the intent of the message, where lines state it.
    """
    month, day = divmod(date, DAYS)
    label = f" [{phrase(stated)}]" if stated else ""
    return f"On {day + 1} {MONTHS[month]} clerk {clerk} received: {dated(message, month)}{label}\n"


def head(subtask: str, *, stated: bool) -> tuple[Piece, ...]:
    """Return what precedes the lines: it says what messages can ask, and about what."""
    if subtask in ("most", "compare"):
        named = NAMED.format(names=listed([f"{kind.word} ({_of_it(kind.phrase)})" for kind in kinds("act").values()]))
    else:
        *acts, last = (_of_it(kind.phrase) for kind in kinds("act").values())
        things = listed([kind.phrase for kind in kinds("thing").values()], "or")
        named = KINDS.format(acts=f"{', '.join(acts)}, or {last}", things=things)
    return (Piece(INTRODUCTION.format(stated=(STATED if stated else "") + named), "instruction"),)


def _of_it(phrase: str) -> str:
    return filled(phrase, {"it": "it"})


def listed(items: Sequence[str], last: str = "and") -> str:
    """Join several into a list in words.

    >>> listed(["this", "that", "more"]), listed(["that"])
    ('this, that and more', 'that')
    """
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def tail(subtask: str, question: str) -> tuple[Piece, ...]:
    """Return what follows the lines."""
    return (Piece(END.format(reply=REPLIES[subtask], question=question), "question"),)


def ordinal(number: int) -> str:
    """Return an ordinal number.

    >>> ordinal(21), ordinal(12), ordinal(5)
    ('21st', '12th', '5th')
    """
    last = 0 if number // 10 % 10 == 1 else number % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def counting(clerk: str, intent: Intent) -> str:
    """Return a question for a number of messages."""
    return QUESTIONS["count"].format(clerk=clerk, kind=phrase(intent))


def dating(clerk: str, intent: Intent, number: int) -> str:
    """Return a question for the month of the `number`-th message."""
    return QUESTIONS["when"].format(clerk=clerk, kind=phrase(intent), nth=ordinal(number))


def pairing(first: Intent, second: Intent) -> str:
    """Return a question for clerks who received messages of two kinds."""
    return QUESTIONS["users"].format(kind=phrase(first), other=phrase(second))


def sides(acts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a side whose acts are counted together: in both orders, if it has two acts."""
    named = [kinds("act")[act].word for act in acts]
    return tuple(dict.fromkeys((listed(named), listed(named[::-1]))))


def weighing(subtask: str, options: Sequence[Sequence[str]]) -> str:
    """Return a question for the most frequent of some acts, or of two pairs of them."""
    offered = [sides(option)[0] for option in options]
    joined = ", or ".join(offered) if subtask == "compare" else listed(offered, "or")
    return QUESTIONS[subtask].format(options=joined)

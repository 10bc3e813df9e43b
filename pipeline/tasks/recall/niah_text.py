"""The text of prompts with needles in haystacks."""

from __future__ import annotations

from collections.abc import Sequence

CODE = "access code"
OTHERS = ("account number", "gate number", "invoice number", "locker number", "order number", "permit number")
"""What else may be filed under a key, in the same words."""
NEEDLE = "{article} {thing} filed under {key} is {value}.\n"
THE, ONE = "The", "One"
"""How a line begins: with the second word where a key has several values."""

STATING = "each of which states a number or a code and what it is filed under"
HAYSTACKS = {
    "essay": f"Below are essays on all kinds of things. Between their paragraphs stand single lines, {STATING}.",
    "addresses": (
        "Below are addresses by presidents of the United States. Between their paragraphs stand single lines, "
        f"{STATING}."
    ),
    "own": f"Below are texts. Between their paragraphs stand single lines, {STATING}.",
    "noise": f"Below is a text that says the same things again and again. Between its lines stand others, {STATING}.",
    "words": "Below is a long list of access codes. Each line states one and what it is filed under.",
    "uuids": "Below is a long list of access codes. Each line states one and what it is filed under.",
}
WANTED = {
    "one": "one access code",
    "values": "all the access codes that are filed under one name",
    "ordered": "all the access codes that are filed under one name, in the order in which they stand in the text",
    "keys": "the access codes that are filed under several names",
}
REPLIES = {
    "one": "Reply with the access code alone.",
    "values": "Reply with the access codes alone, in any order, separated by commas.",
    "ordered": "Reply with the access codes alone, in the order of the text, separated by commas.",
    "keys": "Reply with the access codes alone, in any order, separated by commas.",
}
QUESTIONS = {
    "one": "What is the access code filed under {keys}?",
    "values": "What are all the access codes filed under {keys}?",
    "ordered": "What are all the access codes filed under {keys}, in the order in which they stand in the text?",
    "keys": "What are the access codes filed under {keys}?",
}
START = "Text:\n"
END = "This is the end of the text."


def needle(key: object, value: str, thing: str = CODE, article: str = THE) -> str:
    """Return the line that states a value."""
    return NEEDLE.format(article=article, thing=thing, key=key, value=value)


def head(haystack: str, form: str) -> str:
    """Return what precedes the text."""
    return f"{HAYSTACKS[haystack]} You will be asked for {WANTED[form]}.\n\n{START}"


def tail(form: str, question: str) -> str:
    """Return what follows the text."""
    return f"{END} {REPLIES[form]}\n\nQuestion: {question}\nAnswer:"


def asking(form: str, keys: Sequence[str]) -> str:
    """Return the question for the values of some keys."""
    *most, last = keys
    return QUESTIONS[form].format(keys=f"{', '.join(most)} and {last}" if most else last)

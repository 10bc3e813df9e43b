"""The text around annals in prompts of `longqa`. All wording is Carrara's own."""

from __future__ import annotations

INTRODUCTION = """\
Below are the annals of a town, entry by entry in order of date. A question about them follows at the end.{rules}
"""
FAMILIES = " Everybody keeps one name for life, and no two people have the same name."
TITLES = """\
 A property belongs to its latest buyer whose sale stands. A sale that is set aside, undone, annulled or struck out \
counts as never made, so that the owner before it is the owner again; a sale that is then restored counts again as \
before. If several are undone, the one undone last is restored first."""
UNNAMED = " A sale counts though its buyer is not named."
START = "Annals:\n"
TAIL = """\
This is the end of the annals. Use them to answer the question below. {reply}

Question: {question}
Answer:"""
NAME = "Reply with the full name alone, and not as a full sentence."
YEAR = "Reply with the year alone."
LETTER = "Reply with the letter of the right option alone."
LETTERS = "ABCD"
MAY_LACK = """\
Reply with the full name alone, and not as a full sentence. If the annals do not name the owner, reply with these \
two words alone: Not stated"""
REFUSALS = ("Not stated", "Not known", "Unknown", "The annals do not tell.", "The annals do not say.")
"""Accepted wordings of a refusal, the target first; scorers accept more."""
OWNED = (
    "Who owned {prop} {when}?",
    "To whom did {prop} belong {when}?",
    "Who was the owner of {prop} {when}?",
    "Whose property was {prop} {when}?",
)
ON, END_OF = "on {day}", "at the end of {year}"
TALKED = {
    "information": (
        "Who was the next to buy {prop} after {name}?",
        "Who made the next purchase of {prop} after that of {name}?",
    ),
    "update": (
        "Who owns {prop} now, after all that I have told you?",
        "To whom does {prop} belong now, after all that I have told you?",
    ),
    "temporal": ("Who owned {prop} on {day}?", "Whose property was {prop} on {day}?"),
    "sessions": ("Who is the wife of the man who owns {prop} now?", "Who is married to the man who owns {prop} now?"),
}
ASKING = """\
{question}
Reply with the full name alone, and not as a full sentence. If I have not told you, reply with these two words alone: \
Not stated"""
RELATIVES = ("Who was {relative}?", "What was the name of {relative}?", "Who, by these annals, was {relative}?")
HAPPENED = "In which year {asked}?"


def options(names: tuple[str, ...]) -> str:
    """Return options as lines."""
    return "".join(f"\n({letter}) {name}" for letter, name in zip(LETTERS, names, strict=True))


def accepted(letter: str, name: str) -> tuple[str, ...]:
    """Return every accepted form of an option, the letter first."""
    return letter, f"({letter})", f"({letter}) {name}", name

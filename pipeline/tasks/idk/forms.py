"""The letters of the choices and their accepted forms, shared by writer and reader."""

from __future__ import annotations

LETTERS = "ABCD"
UNKNOWN = "I don't know"


def accepted(letter: str, choice: str) -> tuple[str, ...]:
    """Return every accepted form of a choice, the letter first.

    >>> accepted("B", "a heron")
    ('B', '(B)', '(B) a heron', 'a heron', 'heron')
    """
    bare = choice.removeprefix("a ").removeprefix("an ")
    forms = (letter, f"({letter})", f"({letter}) {choice}", choice)
    return forms if bare == choice else (*forms, bare)

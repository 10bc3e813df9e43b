"""What readers of registers know: the marks of all languages, and no word of any."""

from __future__ import annotations

import re

from pipeline.tasks.solving import ReadError

COLON = "(?:\u00a0?: |\uff1a)"
LABEL = "[^\\s:\uff1a][^:\uff1a]*?"
CODE = "[A-Z]{2,4}-[0-9]{3}"
MARKS = '"\u201e\u201c\u201d\u00ab\u00bb\u300c\u300d'
QUOTED = re.compile(f"[{MARKS}]\u00a0?([^{MARKS}\n]+?)\u00a0?[{MARKS}]")
"""What stands in quotes, of any of the languages."""


def quoted(text: str) -> list[str]:
    """Return what the question quotes: it is the last line of a prompt.

    Raises:
        ReadError: if it quotes nothing.
    """
    found = QUOTED.findall(text[text.rfind("\n") + 1 :])
    if not found:
        raise ReadError("the last line quotes nothing that it asks about")
    return found

"""List for every relation of the gazetteer how texts state it, how questions ask for it, and the sentences beside it.

For review: compare every question with every sentence that states the relation. A question must not assert anything
that one of these sentences does not state, and no sentence beside may answer it::

    python tools/list_questions.py [form ...]
"""

from __future__ import annotations

import sys

from pipeline.worlds.gazetteer import forms
from pipeline.worlds.gazetteer.questions import clauses
from pipeline.worlds.words import pool

MARKS = {
    "-": "says",
    "?": "asks",
    "=": "phrase",
    "~": "described",
    "*": "list",
    "<": "less",
    ">": "more",
    "+": "beside",
}


def main(names: list[str]) -> None:
    """Print the list of some forms, or of all."""
    orders = [line.split(" ", 1) for line in pool("rerank/orders")]
    for form in forms().values():
        for relation in form.relations if not names or form.name in names else ():
            print(f"\n{form.name}.{relation.name}: {relation.type}")
            for mark, title in MARKS.items():
                for line in relation.lines[mark]:
                    print(f"  {title:10} {line}")
            for line in clauses().get((form.name, relation.name), ()):
                print(f"  {'clause':10} {line}")
            for place, line in orders:
                if place == f"{form.name}.{relation.name}":
                    print(f"  {'order':10} {line}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Who owns a property: sales, sales that are set aside, and sales that are restored.

A sale makes its buyer the owner. One that is set aside counts as never made: the latest that stands is meant, or the
two latest. A sale that is restored is the one that was set aside last, if nothing was sold since. So the owner is the
top of a stack, and what was said long ago may decide (as with `pop` and `append` in Michelangelo, section 2.1).
"""

from __future__ import annotations

from collections.abc import Sequence

SALE, UNDO, UNDO2, REDO = "sale", "undo", "undo2", "redo"
Step = tuple[str, str]
"""A kind and, of a sale, the buyer."""


class Title:
    """The sales of a property that stand, the latest last, and those set aside that may be restored."""

    def __init__(self) -> None:
        self.standing: list[str] = []
        self.undone: list[str] = []

    def take(self, kind: str, buyer: str = "") -> None:
        """Take a step.

        Raises:
            ValueError: if there is no sale to set aside, or none to restore.
        """
        if kind == SALE:
            self.standing.append(buyer)
            self.undone.clear()
        elif not self.able(kind):
            raise ValueError(f"there is no sale for {kind}")
        elif kind == REDO:
            self.standing.append(self.undone.pop())
        elif kind == UNDO:
            self.undone.append(self.standing.pop())
        else:
            del self.standing[-2:]
            self.undone.clear()

    def able(self, kind: str) -> bool:
        """Tell whether a step can be taken, so that there is an owner before and after it."""
        return kind == SALE or len(self.undone if kind == REDO else self.standing) > (kind == UNDO2)


def owner(steps: Sequence[Step]) -> str:
    """Return the owner after some steps; nobody if no sale stands.

    Raises:
        ValueError: if a step cannot be taken.
    """
    standing, undone = list[str](), list[str]()
    for kind, buyer in steps:
        if kind == SALE:
            standing.append(buyer)
            undone = []
        elif len(undone if kind == REDO else standing) <= (kind == UNDO2):
            raise ValueError(f"there is no sale for {kind}")
        elif kind == REDO:
            standing.append(undone.pop())
        elif kind == UNDO:
            undone.append(standing.pop())
        else:
            del standing[-2:]
            undone = []
    return standing[-1] if standing else ""

"""What is known of a scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Rule = Callable[[Row, str], float | None]
"""Scores a reply to a row, from 0 to 1; None if the reply is in no form that can be judged."""
NUMBER = "a number is asked, which the rule also finds within another number"
LETTERED = "a letter is asked, which the rule finds in any reply"
LETTER_ALONE = r"""(?s)^(?:.*[\s(\[*"'])?([A-D])(?:[\])*"']|[.:]?\s*$|[.:]\s)"""


class Scorer(NamedTuple):
    """A scorer, and what exports, cards and reports have to know of it.

    Attributes:
        rule: the function that scores.
        version: a number that is raised whenever some reply is judged otherwise than before.
        shape: what an answer is: ``value``, ``parts``, ``cited``, ``sourced``, ``pair``, ``view``, ``letter``,
            ``number``, ``text``.
        quirks: rules of published graders by name, as arguments of `rule` or in its place; the first is the default.
        refuses: whether a refusal is right for rows of complexity 0.
        paired: whether rows come in pairs, both forms of which must be right.
        aggregate: the second mean that harnesses show: ``pairs`` (of `paired`), ``balanced`` (over complexities), none.
        ungraded: why no rule that looks for strings in a reply tells a right one; empty where it can.
        unnormalised: why such a rule cannot if it drops brackets, signs and commas; empty where it can.
        pattern: a pattern whose first group is the answer, for harnesses that know patterns alone; empty if none is.
        stops: whether what follows one of `STOPS` does not count, so that harnesses may stop there.
        figures: what the score is made of, by the values of the rule's argument ``figure``; empty where it is one.
    """

    rule: Rule
    version: int
    shape: str
    quirks: Mapping[str, Mapping[str, bool | str] | Rule] = {}
    refuses: bool = False
    paired: bool = False
    aggregate: str = ""
    ungraded: str = ""
    unnormalised: str = ""
    pattern: str = ""
    stops: bool = True
    figures: tuple[str, ...] = ()

    def __call__(self, row: Row, prediction: str) -> float | None:
        """Return the score of a reply to a row under the default rule; None if it cannot be judged."""
        return self.rule(row, prediction)


JUDGED = ("scorer", "subtask", "question", "target", "answers", "choices", "random_string_to_prepend")
"""The columns of a row that scorers look at."""

"""The description of a scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Rule = Callable[[Row, str], float | None]
"""Scores a reply to a row, from 0 to 1; None if the reply has no form that can be judged."""
NUMBER = "a number is wanted, which the rule also finds within another number"
LETTERED = "a letter is wanted, which the rule finds in any reply"
LETTER_ALONE = r"""(?s)^(?:.*[\s(\[*"'])?([A-D])(?:[\])*"']|[.:]?\s*$|[.:]\s)"""


class Scorer(NamedTuple):
    """A scorer, and what exports, cards and reports need to know about it.

    Attributes:
        rule: the function that scores.
        version: raised whenever the score of any reply changes.
        shape: the kind of answer: ``value``, ``parts``, ``cited``, ``sourced``, ``pair``, ``view``, ``letter``,
            ``number``, ``text``, ``members``, ``route``, ``ranking``, ``points``, ``rows`` or
            ``words``.
        quirks: rules of published graders by name, as arguments of `rule` or in its place; the first is the default.
        refuses: whether a refusal is right for rows of complexity 0.
        paired: whether rows come in pairs, both of which must be right.
        aggregate: the second mean that harnesses show: ``pairs`` (if `paired`), ``balanced`` (over complexities) or "".
        ungraded: why no rule that searches a reply for strings can grade it; empty if one can.
        unnormalised: why such a rule cannot if it drops brackets, signs and commas; empty if it can.
        pattern: a pattern whose first group is the answer, for harnesses that grade by patterns; empty if none is.
        stops: whether text after one of `STOPS` is ignored, so that harnesses may stop there.
        figures: values of the rule's argument ``figure``: the figures behind the score; empty if it is a single one.
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
"""The columns of a row that scorers read."""

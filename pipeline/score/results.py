"""Results of scoring: a record for each row of the split, faults of the predictions, and cells of tables.

All are frozen, plain data, which pages show and `plain_result` turns into JSON (``schemas/scores.schema.json``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pipeline.languages import asking
from pipeline.typed import Share, Whole

HEAD = 2000
"""Characters that a record keeps of a prediction, at its beginning and at its end."""
CHANCE = ("uniform", "any_reply")
"""The baselines that serve as chance, of which the first in a row counts: a draw from all answers, or all replies."""

ANSWERED, EMPTY, REFUSED, MISSING, UNUSABLE = "answered", "empty", "refused", "missing", "unusable"
STATES = (ANSWERED, EMPTY, REFUSED, MISSING, UNUSABLE)
"""States of a row: a reply was scored; it is empty; the server finally refused the request, as one that is too long;
there is no reply; or it is not text, or there are two. All but the first score 0."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row of the split with its score.

    Attributes:
        id: the row's id.
        family, subtask, tier, bucket, length, context_tokens, complexity, scorer: columns of the row.
        subset: the split tag and the tier, which identify one of several stacked sets.
        depth: of the relevant segment, from 0 to 1; None if there are several or none.
        kind: ``stated`` or ``unstated`` on rows where a refusal may be right, else empty.
        pair: the common part of both rows' ids; empty for rows that are not in pairs.
        state: one of STATES.
        score: the score that counts, from 0 to 1; for a pair, that of the lower row (`metrics.pair_scores`).
        alone: the score of this row by itself.
        prediction: the reply, without its middle if it is longer than twice HEAD; empty without one.
        target, question: columns of the row.
        baselines: scores of guessing on the row (on the pair), by name; ``best_constant`` is from the manifest.
        figures: the figures behind the score, by name; empty if it is a single one.
        unparsed: whether there is a reply that has no form that its scorer can judge.
        finish: why the reply ended, in the server's word; ``length`` if it was cut off; empty if unknown.
        completion_tokens, seconds: tokens of the reply and the time it took; None if unknown.
    """

    id: str
    family: str
    subtask: str
    tier: str
    bucket: str
    length: int
    context_tokens: int
    complexity: int
    scorer: str
    subset: str
    depth: float | None
    kind: str
    pair: str
    state: str
    score: float
    alone: float
    prediction: str
    target: str
    question: str
    baselines: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    unparsed: bool = False
    finish: str = ""
    completion_tokens: int | None = None
    seconds: float | None = None

    @property
    def language(self) -> str:
        """The languages of the row, from its subtask: ``de``, or ``de_en`` if its question is in another one."""
        named = asking(self.subtask)
        return "" if named is None else "_".join(dict.fromkeys(named[1:]))

    @property
    def cut(self) -> bool:
        """Whether the reply was cut off at its limit of tokens."""
        return self.finish == "length"

    @property
    def chance(self) -> float | None:
        """The score of blind guessing; None if unknown."""
        return next((self.baselines[name] for name in CHANCE if name in self.baselines), None)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with the predictions: its kind, and one line that says where and what.

    Kinds: ``missing``, ``failed`` (an error instead of a reply), ``refused`` (an error that another try would not
    mend), ``empty`` (a reply without text), ``conflict`` (two answers for one id), ``repeated`` (the same answer twice;
    harmless), ``unknown`` (an id that the split lacks), ``no text``, ``huge``, ``unreadable`` (a line that cannot be
    read), ``half`` (only one row of a pair is selected).
    """

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Scored:
    """One model's predictions, scored against one split or several stacked ones.

    `model` is a label, `split` the title of the split, and `quirks` lists those that were chosen, like ``mrcr=starts``.
    `records` are in the order of the split. `counts` has the number of rows in each state, of replies that were
    unparsed or cut off, and of predictions given. `settings` are those that the run recorded. `never_asked` counts, by
    reason, the rows that an export or a run left out: they have no record. `warnings` has a line for each thing that
    cannot be checked. `lite` is whether only rows of the size lite were asked.
    """

    model: str
    split: str
    tokenizer: str
    tags: Mapping[str, str]
    quirks: tuple[str, ...]
    records: tuple[Record, ...]
    faults: tuple[Fault, ...]
    counts: Mapping[str, int]
    settings: Mapping[str, str] = field(default_factory=dict)
    never_asked: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    lite: bool = False

    def renamed(self, name: Callable[[str], str]) -> Scored:
        """Return the same with faults and warnings rewritten by `name`, which renames the prediction files."""
        faults = tuple(replace(fault, message=name(fault.message)) for fault in self.faults)
        return replace(self, faults=faults, warnings=tuple(map(name, self.warnings)))

    @property
    def window(self) -> int:
        """The largest window in which any row was asked, in tokens of the model's own tokenizer."""
        return max((record.context_tokens for record in self.records), default=0)

    @property
    def complete(self) -> bool:
        """Whether every row that was asked has an answer, and no fault but ``repeated`` was found."""
        return all(fault.kind == "repeated" for fault in self.faults)


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean score over some rows, with its interval and the scores of guessing on the same rows.

    Attributes:
        place: what the rows have in common, as ``{"family": "mrcr", "length": 2048}``.
        rows, units: the number of rows; `units` counts a pair once.
        answered: the number of rows with a scored reply.
        mean: the mean over families, of means over subtasks, of means over lengths (`metrics.headline`); rows without a
            reply count as 0. Over all rows it is the headline.
        low, high: its 95% interval.
        answered_mean: the same over answered rows only; None if there are none.
        chance: the mean score of blind guessing; None if no row states it.
        best_constant: the score of the best single reply to each kind of question, or of chance where it is not known.
        baselines: mean scores of all other guessers, by name, over the rows that have them.
        empty, refused: the number of rows with an empty reply, and with a server's final refusal.
        unparsed: the number of replies that have no form that their scorer can judge, and score 0.
        cut: the number of replies that were cut off at their limit of tokens.
    """

    place: Mapping[str, str | int | float]
    rows: Whole
    units: Whole
    answered: Whole
    mean: Share
    low: Share
    high: Share
    answered_mean: Share | None
    chance: Share | None
    best_constant: Share | None
    baselines: Mapping[str, Share]
    empty: Whole = 0
    refused: Whole = 0
    unparsed: Whole = 0
    cut: Whole = 0


@dataclass(frozen=True, slots=True)
class Classes:
    """Accuracy by class on rows where a refusal may be right; a pair is passed if both rows are right.

    `balanced` is the plain mean over both classes: always refusing scores one half.
    """

    place: Mapping[str, str | int | float]
    stated: Cell | None
    unstated: Cell | None
    balanced: Share | None
    pairs: Cell | None


def plain_result(value: object) -> Any:
    """Return a record, cell, fault or the like as JSON values, with floats rounded to six decimals."""
    return _plain(asdict(value))  # type: ignore[call-overload]


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value

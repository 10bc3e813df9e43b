"""Results of scoring: a record for each row of the split, faults of the predictions, and cells of tables.

All are frozen and plain: `plain_result` turns them into JSON (``schemas/scores.schema.json``), pages draw from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pipeline.languages import asking
from pipeline.typed import Share, Whole

HEAD = 2000
"""Characters of a prediction, from its start, and from its end, that a record keeps."""
CHANCE = ("uniform", "any_reply")
"""The baselines that are taken for chance, the first that a row has: a draw among all answers, or all replies."""

ANSWERED, EMPTY, REFUSED, MISSING, UNUSABLE = "answered", "empty", "refused", "missing", "unusable"
STATES = (ANSWERED, EMPTY, REFUSED, MISSING, UNUSABLE)
"""States of a row: a reply was scored; it has no text; the server refused the request for good, as one that does not
fit; there is none; or it is no text, or there are two. All but the first score 0."""


@dataclass(frozen=True, slots=True)
class Record:
    """A row of the split with its score.

    Attributes:
        id: the row's id.
        family, subtask, tier, bucket, length, context_tokens, complexity, scorer: columns of the row.
        subset: the split tag and the tier: which of several stacked sets the row is of.
        depth: of the relevant segment, from 0 to 1; None where there are several, or none.
        kind: ``stated`` or ``unstated`` on rows where refusing may be right, else empty.
        pair: what both forms of a pair share; empty for other rows.
        state: one of STATES.
        score: what counts, from 0 to 1: that of the row, or of a pair the lower of both forms (`metrics.counted`).
        alone: the score of this row by itself.
        prediction: the reply, its middle cut out where it is longer than twice HEAD; empty without one.
        target, question: columns of the row.
        baselines: what guessers score on the row (on the pair), by name; ``best_constant`` from the manifest.
        figures: what the score is made of, by name; empty where it is a single figure.
        unparsed: whether there is a reply, in no form that its scorer can judge.
        finish: why the reply ended, in the server's word; ``length`` if it was cut off; empty if that is not known.
        completion_tokens, seconds: tokens of the reply and the time it took; None if they are not known.
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
        """The languages of the row, as its subtask names them: ``de``, or ``de_en`` for a question in another one."""
        named = asking(self.subtask)
        return "" if named is None else "_".join(dict.fromkeys(named[1:]))

    @property
    def cut(self) -> bool:
        """Tell whether the reply ended where its room did."""
        return self.finish == "length"

    @property
    def chance(self) -> float | None:
        """The score of blind guessing; None if it is not known."""
        return next((self.baselines[name] for name in CHANCE if name in self.baselines), None)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with the predictions: its kind, and one line that says where and what.

    Kinds: ``missing``, ``failed`` (an error in place of a reply), ``refused`` (an error that no other try would mend),
    ``empty`` (a reply without text), ``conflict`` (two answers for one id), ``repeated`` (the same answer twice;
    harmless), ``unknown`` (an id that the split lacks), ``no text``, ``huge``, ``unreadable`` (a line that cannot be
    read), ``half`` (only one form of a pair is selected).
    """

    kind: str
    said: str


@dataclass(frozen=True, slots=True)
class Scored:
    """One model's predictions, scored against one split or several stacked ones.

    `model` is a label for pages, `split` the title of the split, `quirks` the ones that differ from the defaults as
    ``mrcr=starts``, `records` stand in the order of the split; `counts` are how many rows are in each state, how many
    replies were unparsed or cut off, and how many predictions were given. `settings` are those of the run, as it has
    noted them; `never_asked` counts the rows that an export or a run left out, by reason: they have no record.
    `warnings` say what cannot be told, in a line each. `lite` is whether only rows of the size lite were asked.
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
        """Return the same with the files of predictions called otherwise in what is said of them."""
        faults = tuple(replace(fault, said=name(fault.said)) for fault in self.faults)
        return replace(self, faults=faults, warnings=tuple(map(name, self.warnings)))

    @property
    def window(self) -> int:
        """The largest window that any row was asked in, in tokens of the model's own tokenizer."""
        return max((record.context_tokens for record in self.records), default=0)

    @property
    def complete(self) -> bool:
        """Tell whether every row that was asked has an answer and nothing was wrong with any."""
        return all(fault.kind == "repeated" for fault in self.faults)


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean score over some rows, with its interval and the score of guessing on the same rows.

    Attributes:
        place: what the rows have in common, as ``{"family": "mrcr", "length": 2048}``.
        rows: how many rows there are; `units` counts a pair once.
        answered: how many of them have a scored reply.
        mean: of the means of families, each of its subtasks, each of their lengths (`metrics.headline`); rows without a
            reply count as 0. Over all rows it is the headline.
        low, high: its 95 % interval.
        answered_mean: over answered rows alone; None if there are none.
        chance: the mean of what blind guessing scores; None where no row tells.
        best_constant: what the best single reply scores for one who knows which kind of answer is asked for.
        baselines: means of all other guessers, by name; only over rows that have them.
        empty, refused: how many rows have a reply without text, and a server's final refusal.
        unparsed: how many replies are in no form that their scorer can judge, and score 0.
        cut: how many replies ended where their room did.
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
    """Accuracy by class on rows where refusing may be right; `pairs` are passed if both forms are right.

    `balanced` is the plain mean over both classes: always refusing scores one half.
    """

    place: Mapping[str, str | int | float]
    stated: Cell | None
    unstated: Cell | None
    balanced: Share | None
    pairs: Cell | None


def plain_result(value: object) -> Any:
    """Return a record, cell, fault or the like as values of JSON; floats with six digits."""
    return _plain(asdict(value))  # type: ignore[call-overload]


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value

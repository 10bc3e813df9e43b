"""Find shortcuts, surface readers that beat published baselines: ``python tools/find_shortcuts.py SPLIT``.

For each subtask of a split, readers that ignore the task's meaning are fitted to half of the rows and tried on the
other half. Each takes the candidate with the highest or lowest value of one feature (see surface.py), or the one that a
learner chooses (see surface_learner.py). The best reader on the first half is reported. A subtask is flagged if the 95%
lower bound of this reader's score exceeds the best published baseline and simulated reader by more than a margin.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import sqrt
from statistics import fmean, median_low

import click
import numpy as np

from carrara import open_split
from pipeline.artifacts.split import Selection, Split
from pipeline.baselines import READERS, open_reading
from pipeline.executors import Inline, processes, run
from pipeline.metrics import facts, pair_scores, score
from pipeline.rows import Row
from surface import (
    SOURCE,
    YEAR,
    Candidate,
    Context,
    Prompt,
    harvested,
    mentioned,
    numbers_of,
    shapes_of,
    words_around,
)
from surface_learner import Floats, boosted, chances, regression, ridge_scores

MARGIN = 0.05
PUBLISHED = ("passage", "half-name", "last-match", "no-context")
"""Simulated readers whose weakness does not depend on length."""
KNOWING = ("unordered", "one_condition", "surroundings", "forgetful", "ever_held", "all_marked")
"""Baselines of readers that understand most of the task, which are not counted as published here."""
SETS = {"members": ", ", "route": ", ", "ndcg": " > ", "cited": "\n", "key_points": "\n", "pair": " and "}
"""Scorers of replies that list several items, with the separator."""
ORDERED = ("route", "ndcg")
PAIRS = re.compile(r": (\w+ and \w+), or (\w+ and \w+)\?$")
"""The two pairs that a question offers."""
MOST, MOST_OF_SETS = 60, 120
WORDS, KEPT, RARE = 3000, 160, 4
"""The most word features to consider, the most that learners get, and the fewest candidates that one must occur in."""
LEAST_VIEWED = 6
"""The fewest known questions with an answer for which its words in the text are learned."""
CUTS = (0.15, 0.25, 0.35, 0.5)
SHORTCUTS = {
    "bio.pronoun": "to find a person by name, and the attribute by the words round it, is the task",
    "graph.parents": "to list what stands before the asked node in any line is the task",
    "rag.described": "to find the document that says most of what the question says, and the value in it, is the task",
    "rag.single": "to find the document of the named thing, and the value by the words round it, is the task",
    "recall.cwe": "to count all words is the task",
    "recall.fwe": "to count all words is the task",
    "recall.niah_mq": "to search for the asked keys is the task",
    "recall.niah_mv": "to search for the asked key is the task",
    "tally.most": "to count what is asked, less what is denied, is the task",
}
"""Subtasks for which a surface feature is the task itself, and why; docs/readers.md lists them too."""
K = 1024


@dataclass
class Seen:
    """A row's question with its candidates: the features of each, and the score of a reply with it alone (`worth`)."""

    row: Row
    prompt: Prompt
    known: bool
    candidates: list[Candidate] = field(default_factory=list)
    worth: list[float] = field(default_factory=list)
    numbers: list[dict[str, float]] = field(default_factory=list)
    words: list[dict[str, float]] = field(default_factory=list)
    views: dict[str, Counter[str]] = field(default_factory=dict)
    part: int = 0


@dataclass(frozen=True)
class Found:
    """The result for a subtask at one length."""

    task: str
    length: int
    rows: int
    tried: int
    reader: str
    score: float
    low: float
    high: float
    baseline: str
    published: float
    covered: float

    def is_leak(self, margin: float = MARGIN) -> bool:
        """Return whether the reader beats what is published, and the subtask is not in SHORTCUTS."""
        return self.low > self.published + margin and self.task not in SHORTCUTS


Choose = Callable[[Seen], list[int]]
"""A reader: returns the indices of the candidates that it takes, the best first."""


def split_known(row: Row) -> bool:
    """Return whether a row is in the half that readers are fitted to; both rows of a pair are in the same half."""
    return int(re.sub(r"\D", "", row["id"].split("-")[-2])) % 2 == 0


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """Return Wilson's 95% interval for a mean of scores from 0 to 1, treated as a proportion."""
    size, mean, z = len(scores), fmean(scores), 1.96
    middle, width = mean + z * z / (2 * size), z * sqrt(mean * (1 - mean) / size + z * z / (4 * size * size))
    return (middle - width) / (1 + z * z / size), (middle + width) / (1 + z * z / size)


class Sweep:
    """All readers of one subtask."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = {row["id"]: row for row in rows}
        self.scorer: str = rows[0]["scorer"]
        known = [row for row in rows if split_known(row)]
        self.context = Context()
        for row in known:
            self.context.add(row["question"], row["prompt"])
        items = [item for row in known for item in items_of(row)]
        shared = Counter(items)
        self.shared = [item for item, times in shared.items() if times >= max(3, len(items) // 200)][:160]
        if sum(shared[item] for item in self.shared) < 0.15 * len(items):
            self.shared = []
        self.shapes = shapes_of([value_of(item) for item in items if item not in self.shared])
        self.parts = all(len(questions_of(row)) == len(parts_of(row)) for row in known) and any(
            len(parts_of(row)) > 1 for row in known
        )
        is_list = not self.parts and self.scorer == "all_in_order"
        self.is_order = is_list and all(part in row["question"] for row in known for part in parts_of(row))
        self.is_selection = is_list and not self.is_order
        self.one = not is_list and self.scorer not in SETS
        self.size = median_low([len(items_of(row)) for row in known])
        self.seen = [seen for row in rows for seen in self._seen(row)]
        self.seen = [seen for seen in self.seen if seen.candidates]
        self._view()

    def _seen(self, row: Row) -> Iterator[Seen]:
        questions = questions_of(row) if self.parts else [row["question"]]
        for part, question in enumerate(questions):
            seen = Seen(row, Prompt(row["prompt"], question, self.context), split_known(row), part=part)
            kinds = self.context.kinds(question)
            seen.candidates = self._candidates(seen)
            asked = {**row, "scorer": "exact", "answers": [parts_of(row)[part]], "target": parts_of(row)[part]}
            judged = asked if self.parts else row
            seen.worth = [self._worth(judged, row, one) for one in seen.candidates]
            seen.numbers = [numbers_of(seen.prompt, one) for one in seen.candidates]
            _compare(seen.numbers)
            seen.words = [words_around(seen.prompt, one, kinds) for one in seen.candidates]
            seen.views = seen.prompt.views() if self.shared else {}
            yield seen

    def _worth(self, judged: Row, row: Row, one: Candidate) -> float:
        if self.is_order:
            parts = parts_of(row)
            return (len(parts) - parts.index(one.value)) / len(parts) if one.value in parts else 0.0
        if self.scorer == "pair":
            return float(one.value in row["target"])
        if self.scorer == "route" or self.is_selection:
            return float(one.value in items_of(row))
        return score(judged, one.value if self.parts else one.reply)

    def _candidates(self, seen: Seen) -> list[Candidate]:
        """Return a row's options, or else shared answers of known rows and values in the text with their shapes."""
        row, prompt = seen.row, seen.prompt
        if row["choices"]:
            return [
                Candidate(choice, "ABCDEFGH"[at], "option", mentioned(prompt, choice), at + 1)
                for at, choice in enumerate(row["choices"])
            ]
        if self.scorer == "mrcr":
            return list(replies_in(row, prompt))
        if pairs := PAIRS.search(prompt.question):
            named = [[at for one in pair.split(" and ") for at in mentioned(prompt, one)] for pair in pairs.groups()]
            return [Candidate(pair, pair, "pair", named[at], at) for at, pair in enumerate(pairs.groups())]
        shared = [
            Candidate(item, item, "shared", mentioned(prompt, item), max(prompt.question.find(item), 0))
            for item in self.shared
        ]
        offered = [one for one in shared if re.search(rf"\b{re.escape(one.value)}\b", prompt.question)]
        if len(offered) > 1:
            return offered
        values = harvested(prompt, self.shapes, MOST if self.one else MOST_OF_SETS)
        if self.is_order:
            return [
                replace(one, place=prompt.question.find(one.value)) for one in values if one.value in prompt.question
            ]
        if self.scorer in ("cited", "key_points", "citation"):
            values = [part for one in values for part in self._sourced(prompt, one)][: 2 * MOST_OF_SETS]
        taken = {one.value for one in shared}
        return shared + [one for one in values if one.value not in taken]

    def _sourced(self, prompt: Prompt, one: Candidate) -> Iterator[Candidate]:
        """Yield a value for each of up to three lines with a source, with its document number and, if asked, year."""
        for number in list(dict.fromkeys(at[0] for at in one.mentions))[:3]:
            source, year = SOURCE.search(prompt.lines[number]), YEAR.search(prompt.lines[number])
            if source and (self.scorer != "key_points" or year):
                with_year = f", {year[1]}" if self.scorer == "key_points" and year else ""
                mentions = [at for at in one.mentions if at[0] == number]
                stop = "" if self.scorer == "citation" else "."
                yield Candidate(one.value, f"{one.value}{with_year} [{source[1]}]{stop}", one.kind, mentions)

    def _view(self) -> None:
        """Add features: how strongly words in parts of a text suggest each shared answer (known rows cross-fitted)."""
        if not self.shared:
            return
        for view in next((seen.views for seen in self.seen), {}):
            name = f"words of {view}"
            rows = np.array([seen.known for seen in self.seen])
            known = [seen.views[view] for seen in self.seen if seen.known]
            common = Counter(word for words in known for word in words)
            kept = sorted((word for word, times in common.items() if times >= 3), key=lambda word: -common[word])[:1500]
            table = np.array([[np.log1p(seen.views[view][word]) for word in kept] for seen in self.seen])
            halves = np.arange(len(rows)) // 2 % 2
            for answer in self.shared if kept else ():
                at = {n: p for n, seen in enumerate(self.seen) for p, one in enumerate(seen.candidates)
                      if one.kind == "shared" and one.value == answer}  # fmt: skip
                those = np.array([n in at for n in range(len(rows))])
                truth = np.array([seen.worth[at[n]] if n in at else 0.0 for n, seen in enumerate(self.seen)])
                for fold in (0, 1, 2):
                    fitted = rows & those & ((halves != fold) if fold < 2 else True)
                    asked = those & ((rows & (halves == fold)) if fold < 2 else ~rows)
                    if fitted.sum() < LEAST_VIEWED or not asked.any() or len({*truth[fitted]}) < 2:
                        continue
                    scores = ridge_scores(table[fitted], truth[fitted], table[asked])
                    for n, predicted in zip(np.flatnonzero(asked), scores, strict=True):
                        self.seen[n].numbers[at[n]][name] = float(predicted)

    def found(self, simulated: Sequence[str] = PUBLISHED) -> Iterator[Found]:
        """Yield the score of the best reader at each length, with that of baselines and some simulated readers."""
        known, held = ([seen for seen in self.seen if seen.known is half] for half in (True, False))
        if not known or not held:
            return
        readers = dict(self._readers(known))
        tried = {name: self._mean(known, reader) for name, reader in readers.items()}
        folds = [[seen for at, seen in enumerate(known) if at // 2 % 2 == half] for half in (0, 1)]
        for name, learn in self._learners():
            first, second = learn(folds[0]), learn(folds[1])
            tried[name] = (self._mean(folds[1], first) + self._mean(folds[0], second)) / 2
        best = max(tried, key=lambda name: (round(tried[name], 6), name not in readers))
        reader = readers[best] if best in readers else dict(self._learners())[best](known)
        replies = self._scores(held, reader)
        for length in sorted({row["length"] for row in self.rows.values()}):
            own = {name: row for name, row in self.rows.items() if row["length"] == length}
            tried_rows = {name: row for name, row in own.items() if not split_known(row)}
            own_scores = {name: replies.get(name, 0.0) for name in tried_rows}
            scores = [*_merged(tried_rows, own_scores).values()]
            published = dict(self._published(own, tried_rows, simulated))
            name = max(published, key=lambda each: published[each], default="none")
            yield Found(
                task=f"{next(iter(own.values()))['family']}.{next(iter(own.values()))['subtask']}",
                length=length,
                rows=len(own),
                tried=len(scores),
                reader=best,
                score=fmean(scores),
                low=interval(scores)[0],
                high=interval(scores)[1],
                baseline=name,
                published=published.get(name, 0.0),
                covered=fmean(any(seen.worth) for seen in held if seen.row["length"] == length),
            )

    def _published(
        self, own: Mapping[str, Row], tried: Mapping[str, Row], simulated: Sequence[str]
    ) -> Iterator[tuple[str, float]]:
        """Yield the mean of each baseline, and the score of each simulated reader that replies to all rows."""
        stated = {name: json.loads(row["metadata"]).get("baselines", {}) for name, row in own.items()}
        for baseline in sorted({each for one in stated.values() for each in one} - {*KNOWING}):
            yield baseline, fmean(_merged(own, {n: one.get(baseline, 0.0) for n, one in stated.items()}).values())
        for reader in simulated:
            predictions = {name: READERS[reader].replies(open_reading(row)) for name, row in tried.items()}
            if None not in predictions.values():
                yield (
                    f"`{reader}`",
                    fmean(_merged(tried, {n: score(tried[n], each) for n, each in predictions.items()}).values()),
                )

    def _readers(self, known: Sequence[Seen]) -> Iterator[tuple[str, Choose]]:
        """Yield readers that use one feature, and one that always gives the same reply."""
        names = dict.fromkeys(name for seen in known for numbers in seen.numbers for name in numbers)
        for name in names:
            if name.startswith(("most: ", "least: ")):
                continue
            for sign, how in ((1, "most"), (-1, "least")):
                for pool in ("all", "about", "before") if self.scorer != "mrcr" else ("all",):
                    title = f"{how} of {name!r}" + ("" if pool == "all" else f" among those {pool} it")
                    yield title, partial(_take, name=name, sign=sign, pool=pool, size=1 if self.one else self.size)
                    if not self.one and self.scorer not in ORDERED and not self.is_order:
                        yield (
                            f"all with the {how} of {name!r}" + title.partition("'")[2].partition("'")[2],
                            partial(_take, name=name, sign=sign, pool=pool, size=0),
                        )
        if not self.one and not self.is_order:
            for pool in ("about", "before"):
                yield f"everything {pool} it", partial(_take, name="mentions", sign=1, pool=pool, size=99)
        yield "the commonest answer", partial(_constant, value=self._commonest(known))

    def _commonest(self, known: Sequence[Seen]) -> str:
        worth: Counter[str] = Counter()
        for seen in known:
            for one, value in zip(seen.candidates, seen.worth, strict=True):
                worth[one.reply] += value
        return max(worth, key=lambda each: worth[each], default="")

    def _learners(self) -> Iterator[tuple[str, Callable[[Sequence[Seen]], Choose]]]:
        yield "regression on numbers", partial(self._learn, fit=regression, words=False)
        yield "regression on numbers and words", partial(self._learn, fit=regression, words=True)
        yield "trees on numbers", partial(self._learn, fit=boosted, words=False)
        yield "trees on numbers and words", partial(self._learn, fit=boosted, words=True)

    def _learn(self, known: Sequence[Seen], *, fit: Callable[..., Callable[[Floats], Floats]], words: bool) -> Choose:
        """Fit a learner to known rows; for sets, with the threshold that scores best on them."""
        those = [seen for seen in known if any(seen.worth)]
        numbers = [*dict.fromkeys(name for seen in known for each in seen.numbers for name in each)]
        if len(those) < 4:
            return partial(_take, name="mentions", sign=1, pool="all", size=1)
        chosen = _telling(those, one=self.one) if words else []
        competes = self.one or self.is_order
        truth = np.concatenate([_target(seen, competes=competes) for seen in those])
        starts = np.cumsum([0, *(len(seen.candidates) for seen in those)])[:-1]
        learned = fit(_table(those, numbers, chosen), truth, starts, one=competes)
        reader = partial(_learned, learned=learned, numbers=numbers, words=chosen)
        if competes:
            return partial(reader, cut=None, size=1 if self.one else 99)
        if self.scorer in ORDERED or self.scorer == "pair":
            return partial(reader, cut=None, size=self.size)
        tried = {cut: self._mean(known, partial(reader, cut=cut, size=99)) for cut in CUTS}
        return partial(reader, cut=max(tried, key=lambda cut: tried[cut]), size=99)

    def _mean(self, seen: Sequence[Seen], choose: Choose) -> float:
        scores = self._scores(seen, choose)
        return fmean(_merged({name: self.rows[name] for name in scores}, scores).values()) if scores else 0.0

    def _scores(self, seen: Sequence[Seen], choose: Choose) -> dict[str, float]:
        """Return a reader's score for each row."""
        if self.one and not self.parts:
            return {one.row["id"]: sum(one.worth[place] for place in choose(one)[:1]) for one in seen}
        taken_forms: dict[str, list[str]] = defaultdict(list)
        for one in seen:
            taken = [one.candidates[place] for place in choose(one)]
            if self.is_selection:
                taken.sort(key=lambda each: each.mentions)
            taken_forms[one.row["id"]] += [each.value if self.parts else each.reply for each in taken]
        joint = "; " if self.parts or self.is_order or self.is_selection else SETS[self.scorer]
        replies = {name: each if self.parts else [*dict.fromkeys(each)] for name, each in taken_forms.items()}
        return {name: score(self.rows[name], joint.join(each)) for name, each in replies.items()}


def _merged(rows: Mapping[str, Row], scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores that count, one per pair."""
    by_row = pair_scores(rows, scores)
    if facts(next(iter(rows.values()))["scorer"]).paired:
        return {re.sub(r"[ab](?=-\w+$)", "", name): value for name, value in by_row.items()}
    return by_row


def _compare(numbers: Sequence[dict[str, float]]) -> None:
    """Add features: whether a candidate has the highest or the lowest value of each feature in its prompt."""
    for name in list(numbers[0]) if numbers else ():
        values = [each[name] for each in numbers]
        for sign, how in ((1, "most: "), (-1, "least: ")):
            best = max(sign * value for value in values)
            ties = sum(sign * value == best for value in values)
            for each, value in zip(numbers, values, strict=True):
                each[how + name] = float(sign * value == best) / ties


def _target(seen: Seen, *, competes: bool) -> Floats:
    worth = np.array(seen.worth)
    if competes:
        return worth / max(worth.sum(), 1e-9)
    return worth / max(worth.max(), 1e-9)


def _telling(seen: Sequence[Seen], *, one: bool) -> list[str]:
    """Return the word features that correlate most with right candidates, within prompts."""
    common: Counter[str] = Counter()
    for each in seen:
        for words in each.words:
            common.update(words)
    looked = [name for name, times in common.most_common() if times >= RARE][:WORDS]
    sizes = [len(each.candidates) for each in seen]
    table = _table(seen, [], looked).astype(np.float32)
    starts = np.cumsum([0, *sizes])[:-1]
    worth = np.concatenate([_target(each, competes=one) for each in seen])
    for column in (table, worth):
        means = np.add.reduceat(column, starts, axis=0) / np.array(sizes).reshape(-1, *[1] * (column.ndim - 1))
        column -= np.repeat(means, sizes, axis=0)
    correlation = np.abs(worth.astype(np.float32) @ table) / np.sqrt((table**2).sum(axis=0) + 1e-6)
    return [looked[place] for place in np.argsort(-correlation)[:KEPT]]


def _table(seen: Sequence[Seen], numbers: Sequence[str], words: Sequence[str]) -> Floats:
    places = {name: place for place, name in enumerate(words, start=len(numbers))}
    table = np.zeros((sum(len(each.candidates) for each in seen), len(numbers) + len(words)))
    line = 0
    for each in seen:
        for number, word in zip(each.numbers, each.words, strict=True):
            table[line, : len(numbers)] = [number.get(name, 0.0) for name in numbers]
            for name, value in word.items():
                if name in places:
                    table[line, places[name]] = value
            line += 1
    return table


def _take(seen: Seen, *, name: str, sign: int, pool: str, size: int) -> list[int]:
    """Take `size` candidates with the highest or lowest values of a feature, or with size 0 all ties for the best."""
    gate = {"about": "lines about what is asked", "before": "lines before the time asked about"}.get(pool)
    those = [place for place, each in enumerate(seen.numbers) if gate is None or each[gate]]
    those = those or [*range(len(seen.candidates))]
    ranked = sorted(those, key=lambda place: -sign * seen.numbers[place].get(name, -99.0 * sign))
    if not size:
        best = seen.numbers[ranked[0]].get(name)
        return [place for place in ranked if seen.numbers[place].get(name) == best]
    return ranked[:size]


def _constant(seen: Seen, *, value: str) -> list[int]:
    return [place for place, one in enumerate(seen.candidates) if one.reply == value][:1]


def _learned(
    seen: Seen,
    *,
    learned: Callable[[Floats], Floats],
    numbers: Sequence[str],
    words: Sequence[str],
    cut: float | None,
    size: int,
) -> list[int]:
    scores = learned(_table([seen], numbers, words))
    ranked = [int(place) for place in np.argsort(-scores, kind="stable")]
    return [place for place in ranked if cut is None or chances(scores)[place] >= cut][:size] or ranked[:1]


def questions_of(row: Row) -> list[str]:
    """Return the questions of a row that asks several."""
    return [part for part in re.split(r"(?<=[?])\s+(?:\d+\. )?", row["question"]) if part.strip()]


def parts_of(row: Row) -> list[str]:
    """Return the answers of a row that asks for several in order."""
    return list(row["target"].split("; "))


def items_of(row: Row) -> list[str]:
    """Return the items in the target of a row, without the numbers of documents."""
    target = row["target"]
    if row["choices"] or row["scorer"] == "mrcr":
        return []
    joint = {"members": ", ", "route": ", ", "ndcg": " > ", "pair": " and ", "all_in_order": "; ", "citation": "; "}
    if row["scorer"] in ("cited", "key_points"):
        return [item for item in re.split(r"(?:\s*\[\d{5}\])+[.,]?\s*", target) if item.strip()]
    return list(target.split(joint[row["scorer"]])) if row["scorer"] in joint else [target]


def value_of(item: str) -> str:
    """Return an item without its year and source."""
    return re.sub(r"(?:, \d{4})?(?: \[\d{5}\])*\.?$", "", item)


def replies_in(row: Row, prompt: Prompt) -> Iterator[Candidate]:
    """Yield the replies of a conversation, each with the lines that it spans."""
    reading = open_reading(row)
    code = row["random_string_to_prepend"]
    for place, passage in enumerate(reading.passages):
        request, _, reply = passage.text.partition("\n")
        lines = [n for n, line in enumerate(prompt.lines) if line.strip() and line in passage.text][:40]
        mentions = [(n, 0, len(prompt.lines[n])) for n in lines]
        yield Candidate(request, code + reply.removesuffix("\n"), "reply", mentions, place)


@dataclass(frozen=True)
class SweepJob:
    """A subtask of a split to sweep."""

    split: Split
    family: str
    subtask: str
    lengths: tuple[int, ...] = ()
    complexities: tuple[int, ...] = ()
    limit: int | None = None


def sweep_job(job: SweepJob) -> list[Found]:
    """Fit and try all readers of a subtask."""
    selection = Selection((job.family,), (job.subtask,), (), job.lengths, job.complexities, job.limit)
    rows = list(job.split.rows(None, selection))
    return list(Sweep(rows).found()) if rows else []


def table_of(results: Sequence[Found], margin: float = MARGIN) -> str:
    """Return results as a Markdown table, in which flagged subtasks are marked."""
    head = ("", "subtask", "length", "rows", "best reader of the surface", "score", "95%", "published", "by")
    lines = [
        ("**!**" if one.is_leak(margin) else "", f"`{one.task}`", f"{one.length // K}K", str(one.rows), one.reader,
         f"{one.score:.2f}", f"{one.low:.2f} to {one.high:.2f}", f"{one.published:.2f}", one.baseline)
        for one in results
    ]  # fmt: skip
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ("---",) * len(head), *lines))


@click.command()
@click.argument("split")
@click.option("--task", "tasks", multiple=True, help="the only subtask to look at, such as tally.compare, or a family")
@click.option("--length", "lengths", multiple=True, type=int, help="only rows of this length")
@click.option("--complexity", "complexities", multiple=True, type=int, help="only rows of this complexity")
@click.option("--limit", type=int, help="rows of each stratum at the most")
@click.option("--margin", type=float, default=MARGIN, show_default=True)
@click.option("--workers", type=int, default=1, show_default=True)
def main(
    split: str,
    tasks: tuple[str, ...],
    lengths: tuple[int, ...],
    complexities: tuple[int, ...],
    limit: int | None,
    margin: float,
    workers: int,
) -> None:
    """Find readers of the surface that beat what is published for the subtasks of SPLIT.

    The exit code is 1 if there are any that SHORTCUTS does not name.
    """
    opened = open_split(split)
    places = dict.fromkeys((cell.family, cell.subtask) for cell in opened.strata)
    jobs = [
        SweepJob(opened, family, subtask, lengths, complexities, limit)
        for family, subtask in places
        if not tasks or family in tasks or f"{family}.{subtask}" in tasks
    ]
    results: list[Found] = []
    for one in run(sweep_job, jobs, processes(workers) if workers > 1 else Inline):
        results += one
        print(table_of(one, margin).split("\n", 2)[-1], file=sys.stderr, flush=True)
    results.sort(key=lambda each: [*places].index(tuple(each.task.split("."))))
    print(table_of(results, margin))
    tried = {one.task for one in results}
    for task in [name for job in jobs if (name := f"{job.family}.{job.subtask}") not in tried]:
        print(f"{task}: no reader was tried, since its answers are not values in the text", file=sys.stderr)
    sys.exit(any(one.is_leak(margin) for one in results))


if __name__ == "__main__":
    main()

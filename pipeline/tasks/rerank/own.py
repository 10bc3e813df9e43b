"""rerank.conditions over a user's own graded passages, as MS MARCO's (HELMET, section 2.1 and appendix B.3).

It asks for the ten documents that answer a question best. Of the passages with a grade as many are drawn as the
complexity says, grades in turn, and the others are left out: so the key is the same at every length, while HELMET's
longer prompts have more of each grade. Grades are the user's word: no program can tell them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from pipeline.corpora.records import Corpus, Question
from pipeline.errors import PoolError
from pipeline.metrics import RANKED, TIED
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import CorpusKnob, Key, Piece, Published, Sample
from pipeline.tasks.rag import own as own_haystack
from pipeline.tasks.rag import own as own_listed
from pipeline.tasks.rag import own_text
from pipeline.tasks.rag.own import KNOBS, OwnNumbered, is_short
from pipeline.tasks.rerank import chance, text

GRADED = CorpusKnob("a corpus's SHA-256", frozenset({"passages", "questions", "grades"}))
MOST = 300
"""Documents of a row that are worth anything."""
SHOWN, BESIDE = 4, 2
"""Documents of a demonstration that have a grade, and others."""


@dataclass(frozen=True, slots=True)
class OwnBest(OwnNumbered):
    """The ten documents that answer a question best. `complexity` is how many have a grade above 0."""

    family = "rerank"
    title = "the ten of a user's own passages that answer a question best, the best first"
    lacking = "no question of the corpus has so many passages of a grade above 0"
    scorer = "ndcg"
    max_new_tokens = 256

    def needed(
        self, corpus: Corpus, question: Question, stratum: Stratum, row_streams: Streams
    ) -> tuple[Sequence[str], Key]:
        """Return the ids of graded passages, grades in turn, and the key."""
        chosen = in_turn(row_streams.of("graded"), _grades(question), stratum.complexity)
        return row_streams.of("graded order").sample([*chosen], len(chosen)), _key(corpus, chosen)

    def shown(self, corpus: Corpus, rng: Random, stratum: Stratum, number: int) -> list[dict[str, Any]]:
        """Draw demonstrations: other questions, each with a few short documents that stand nowhere else."""
        asked = corpus.questions[number]
        wanted, found, gone = self.shots_of(stratum), list[dict[str, Any]](), {*asked.gold}
        some = self.showable(corpus)
        for place in rng.sample(range(len(some)), len(some)):
            if len(found) == wanted:
                break
            free = {name: grade for name, grade in _every(some[place]).items() if name not in gone}
            short = {name: grade for name, grade in free.items() if is_short(corpus, name)}
            graded = in_turn(rng, {name: grade for name, grade in short.items() if grade > 0}, SHOWN)
            if some[place].question == asked.question or len({*graded.values()}) < len(
                {*_grades(some[place]).values()}
            ):
                continue
            others = [name for name, grade in short.items() if grade <= 0]
            names = [*graded, *rng.sample(others, min(BESIDE, len(others)))]
            rng.shuffle(names)
            gone.update(names)
            found.append({"question": some[place].id, "documents": names})
        if len(found) < wanted:
            raise PoolError(
                f"{stratum}: {wanted} demonstrations are needed, but {len(found)} other questions have short documents "
                "of every grade: give shots = 0, or more questions"
            )
        return found

    def _head(self, corpus: Corpus, shown: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
        yield Piece(text.OWN, "instruction")
        known = {one.id: one for one in self.showable(corpus)}
        for number, example in enumerate(shown, start=1):
            question, names = known[example["question"]], example["documents"]
            graded = {name: grade for name, grade in _grades(question).items() if name in names}
            documents = [self.written(corpus, corpus.places[name]) for name in names]
            yield Piece(text.example(number, documents, question.question, _key(corpus, graded).target), "demo")
        yield Piece(text.START, "instruction")

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        """Return the places of the questions with at least so many graded passages."""
        return _askable(corpus, needed)

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        """Return the questions of demonstrations: those kept for them, or if there are none, all."""
        return _showable(corpus)

    def tail(self, question: str) -> str:
        """Return what stands behind the documents."""
        return text.TAIL.format(reply=text.BEST_ANSWERS, question=question)

    def check(self, row: Published) -> list[str]:
        """Check that what is graded is there and marked, no number stands twice, and demonstrations are sound."""
        return list(_faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a random ranking, and of the graded documents in random order."""
        return chance.guesses(key, sample.stratum.length)


def in_turn(rng: Random, graded: Mapping[str, int], count: int) -> dict[str, int]:
    """Return some passages with their grades, drawn from all grades in turn, the best first."""
    by_grade = [rng.sample(some, len(some)) for some in _by_grade(graded)]
    turns = [(turn, place, name) for place, some in enumerate(by_grade) for turn, name in enumerate(some)]
    return {name: graded[name] for _, _, name in sorted(turns)[:count]}


def _by_grade(graded: Mapping[str, int]) -> list[list[str]]:
    return [[one for one in graded if graded[one] == grade] for grade in sorted({*graded.values()}, reverse=True)]


def _every(question: Question) -> dict[str, int]:
    """Return the grades of all passages that were ranked for a question."""
    return dict(zip(question.ranked, question.grades, strict=True)) if question.grades else {}


def _grades(question: Question) -> dict[str, int]:
    """Return the passages of a grade above 0, with their grades."""
    return {name: grade for name, grade in _every(question).items() if grade > 0}


def _key(corpus: Corpus, graded: Mapping[str, int]) -> Key:
    numbers = own_haystack.numbers(corpus)
    return text.key_of({str(numbers[corpus.places[name]]): grade for name, grade in graded.items()})


@lru_cache(maxsize=16)
def _askable(corpus: Corpus, needed: int) -> Sequence[int]:
    return [n for n, one in enumerate(corpus.questions) if not one.shown and len(_grades(one)) >= needed]


@lru_cache(maxsize=4)
def _showable(corpus: Corpus) -> Sequence[Question]:
    every = [one for one in corpus.questions if _grades(one)]
    return [one for one in every if one.shown] or every


def _faults(row: Published) -> Iterator[str]:
    ranks = [rank.split(TIED) for rank in row.key.answers[-1].split(RANKED)]
    if row.key.target != f" {RANKED} ".join(text.best(ranks)):
        yield f"the key {row.key.target!r} is not the best of its ranks"
    yield from own_listed.faults(row, {one for rank in ranks for one in rank}, row.stratum.complexity)
    for needle in (one for one in row.needles if one.role == "demo"):
        told = row.text[needle.char_start : needle.char_end]
        chain = told.rstrip("\n").rpartition("\nAnswer: ")[2].split(f" {RANKED} ")
        if not {*own_text.NUMBER.findall(told)}.issuperset(chain) or len({*chain}) < len(chain):
            yield f"the demonstration's answer {chain} is no ranking of its documents"


BEST = OwnBest("conditions", tuple(range(text.TEN, MOST + 1)), {**KNOBS, "corpus": GRADED}, shuffled=True)

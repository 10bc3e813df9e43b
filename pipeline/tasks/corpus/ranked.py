"""rerank.conditions over a user's own graded passages, such as MS MARCO's (HELMET, section 2.1 and appendix B.3).

It asks for the ten documents that answer a question best. The complexity is the number of passages drawn from those
with a grade above 0, all grades in turn; the others are left out. So the key is the same at every length, while
HELMET's longer prompts have more of each grade. No program can verify the user's grades.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from pipeline.caches import lru_cache
from pipeline.corpora.records import Corpus, Question
from pipeline.metrics import RANKED, TIED
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, PublishedRow, Sample
from pipeline.tasks.corpus import text
from pipeline.tasks.corpus.passages import NUMBER, PassageTask, for_demonstrations, is_short, numbered_faults, numbers
from pipeline.tasks.corpus.questions import KNOBS
from pipeline.tasks.documents.haystack import GRADED
from pipeline.tasks.rerank.chance import guesses
from pipeline.tasks.rerank.text import TAIL, TEN, best, key_of

MOST_GRADED = 300
"""The most documents of a row with a grade above 0."""
GRADED_SHOWN, OTHERS_SHOWN = 4, 2
"""Documents in a demonstration with a grade above 0, and others."""


@dataclass(frozen=True, slots=True)
class Best(PassageTask):
    """The ten documents that answer a question best. `complexity` is the number of documents with a grade above 0."""

    family = "rerank"
    subtask = "conditions"
    title = "the ten of a user's own passages that answer a question best, the best first"
    introduction = text.RANKED
    lacking = "no question of the corpus has so many passages of a grade above 0"
    few_shown = "other questions have short documents of every grade: give shots = 0, or more questions"
    scorer = "ndcg"
    max_new_tokens = 256
    complexities = tuple(range(TEN, MOST_GRADED + 1))
    knobs = MappingProxyType({**KNOBS, "corpus": GRADED})
    numbered = True

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        return _askable(corpus, needed)

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        return _showable(corpus)

    def needed(
        self, corpus: Corpus, question: Question, stratum: Stratum, row_streams: Streams
    ) -> tuple[Sequence[str], Key]:
        """Return the ids of graded passages, grades in turn, and the key."""
        chosen = in_turn(row_streams.of("graded"), _grades(question), stratum.complexity)
        return row_streams.of("graded order").sample([*chosen], len(chosen)), _key(corpus, chosen)

    def documents_shown(
        self, corpus: Corpus, rng: Random, asked: int, question: Question, gone: Set[str]
    ) -> Sequence[str]:
        """Return a few short documents of every grade, and others."""
        every = _every(question).items()
        short = {name: grade for name, grade in every if name not in gone and is_short(corpus, name)}
        graded = in_turn(rng, {name: grade for name, grade in short.items() if grade > 0}, GRADED_SHOWN)
        grades = {*_grades(question).values()}
        if question.question == corpus.questions[asked].question or len({*graded.values()}) < len(grades):
            return ()
        others = [name for name, grade in short.items() if grade <= 0]
        return [*graded, *rng.sample(others, min(OTHERS_SHOWN, len(others)))]

    def answer_shown(self, corpus: Corpus, question: Question, documents: Sequence[str]) -> str:
        return _key(corpus, {name: grade for name, grade in _grades(question).items() if name in documents}).target

    def tail(self, question: str) -> str:
        return TAIL.format(reply=text.BEST_ANSWERS, question=question)

    def faults(self, row: PublishedRow) -> Iterator[str]:
        ranks = [rank.split(TIED) for rank in row.key.answers[-1].split(RANKED)]
        if row.key.target != f" {RANKED} ".join(best(ranks)):
            yield f"the key {row.key.target!r} is not the best of its ranks"
        yield from numbered_faults(row, {one for rank in ranks for one in rank}, row.stratum.complexity)
        for demo in row.marked("demo"):
            chain = demo.rstrip("\n").rpartition("\nAnswer: ")[2].split(f" {RANKED} ")
            if not {*NUMBER.findall(demo)}.issuperset(chain) or len({*chain}) < len(chain):
                yield f"the demonstration's answer {chain} is not a ranking of its documents"

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a random ranking, and of the graded documents in random order."""
        return guesses(key, sample.stratum.length)


def in_turn(rng: Random, graded: Mapping[str, int], count: int) -> dict[str, int]:
    """Return `count` passages with their grades, drawn from all grades in turn, the best grade first."""
    by_grade = [rng.sample(some, len(some)) for some in _by_grade(graded)]
    turns = [(turn, place, name) for place, some in enumerate(by_grade) for turn, name in enumerate(some)]
    return {name: graded[name] for _, _, name in sorted(turns)[:count]}


def _by_grade(graded: Mapping[str, int]) -> list[list[str]]:
    return [[one for one in graded if graded[one] == grade] for grade in sorted({*graded.values()}, reverse=True)]


def _every(question: Question) -> dict[str, int]:
    """Return the grades of all passages ranked for a question.

    HELMET's files grade every ranked passage. BEIR's grade only the needed ones; others that a search finds get 0.
    """
    if not question.grades:
        return {}
    if {*question.gold} <= {*question.ranked}:
        return dict(zip(question.ranked, question.grades, strict=True))
    return {**dict.fromkeys(question.ranked, 0), **dict(zip(question.gold, question.grades, strict=True))}


def _grades(question: Question) -> dict[str, int]:
    """Return the passages with a grade above 0, and their grades."""
    return {name: grade for name, grade in _every(question).items() if grade > 0}


def _key(corpus: Corpus, graded: Mapping[str, int]) -> Key:
    places = numbers(corpus)
    return key_of({str(places[corpus.places[name]]): grade for name, grade in graded.items()})


@lru_cache(maxsize=16)
def _askable(corpus: Corpus, needed: int) -> Sequence[int]:
    return [n for n, one in enumerate(corpus.questions) if not one.shown and len(_grades(one)) >= needed]


@lru_cache(maxsize=4)
def _showable(corpus: Corpus) -> Sequence[Question]:
    return for_demonstrations(one for one in corpus.questions if _grades(one))

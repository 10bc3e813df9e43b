"""Questions about the gazetteer assert no more, and no less, than the sentences that answer them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from pipeline.worlds.gazetteer import Relation, forms
from pipeline.worlds.gazetteer.questions import clauses

NARROWING = {
    **dict.fromkeys(("first", "since", "open", "opened", "opening"), "first"),
    **dict.fromkeys(("best", "favourite", "above"), "best"),
    **dict.fromkeys(("long", "longer", "longest"), "longest"),
    **dict.fromkeys(("main", "mainly", "mostly", "most", "chief", "usual"), "main"),
    **dict.fromkeys(("only", "one"), "only"),
    **{word: word for word in ("last", "second", "third", "famous", "worst", "next", "private", "new", "local", "own")},
}
"""Words that narrow down what is said, each with what it means: the first edition is not the second one."""
ASKING = "?=~*"
PLACES = [(form.name, one.name) for form in forms().values() for one in form.relations if one.lines["?"]]


def narrowed(text: str) -> set[str]:
    """Return what a wording is narrowed down to."""
    said = re.sub(r"\{\w+\}", "", text).lower()
    return {NARROWING[word] for word in re.findall("[a-z]+", said) if word in NARROWING}


def asked(form: str, relation: Relation) -> Iterator[str]:
    """Yield all wordings that ask for a relation, or describe a thing by it."""
    for mark in ASKING:
        yield from relation.lines[mark]
    yield from clauses().get((form, relation.name), ())


@pytest.mark.parametrize(("form", "name"), PLACES)
def test_each_question_is_narrowed_down_as_each_sentence_that_answers_it(form: str, name: str) -> None:
    relation = forms()[form].relation(name)
    said = [narrowed(sentence) for sentence in relation.wordings]
    for question in asked(form, relation):
        wanted = narrowed(question)
        for sentence, found in zip(relation.wordings, said, strict=True):
            assert wanted <= found, f"{question!r} asserts more than {sentence!r}"
        assert set.intersection(*said) <= wanted, f"{question!r} asserts less than all sentences do"


def test_a_year_has_not_begun_or_ended_something_else() -> None:
    """No question makes a time of a year without a word that the sentences have: nothing is there "since" it left."""
    for form, name in PLACES:
        relation = forms()[form].relation(name)
        if any("since" in question.lower() for question in asked(form, relation)):
            assert any(" since " in sentence for sentence in relation.wordings), (form, name)

"""The sentence of the text that answers is right as it stands, and with the words that introduce a quotation."""

from __future__ import annotations

from pathlib import Path

import pytest

import pipeline
from pipeline.metrics import score
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.text import QUESTIONS, SENTENCES

POOLS = Path(pipeline.__file__).parent / "worlds" / "pools"
NAME = "Isabella Gioacchino Kothari"
VALUES = {
    "birthdate": ("23 August 2001", "4 May 1976"),
    "birthplace": ("Port Harcourt", "Lima"),
    "hobby": ("silk painting", "chess"),
    "university": ("the University of Texas at Dallas", "Tallinn University"),
    "major": ("economics", "disability studies"),
    "city": ("Palembang", "Addis Ababa"),
}
SAID = (
    "{}",
    '"{}"',
    "> {}",
    "The biography says: {}",
    'According to the text, "{}"',
    "{}\n\nLet me know if you need more.",
)


def wordings() -> list[tuple[str, str]]:
    """Return every sentence that states an attribute, in all three styles, beside the attribute."""
    found = [(key, sentence) for key, sentence in SENTENCES.items()]
    for style in ("paraphrase", "pronoun"):
        key = ""
        for line in (POOLS / "bio" / f"{style}.txt").read_text(encoding="ascii").splitlines():
            key = line[1:-1] if line.startswith("[") else key
            if line and not line.startswith("[") and key in QUESTIONS:
                found.append((key, line))
    return found


def row(key: str, value: str) -> dict[str, object]:
    """Return the key of a question about an attribute."""
    return {"scorer": "exact", "question": QUESTIONS[key].format(name=NAME), "answers": list(accepted(value, key))}


def test_there_are_wordings_of_three_styles() -> None:
    assert len(wordings()) > 150


@pytest.mark.parametrize(("key", "sentence"), wordings())
def test_the_answering_sentence_is_right_and_that_of_another_value_is_not(key: str, sentence: str) -> None:
    for value, other in (VALUES[key], VALUES[key][::-1]):
        for form in SAID:
            reply = form.format(sentence.format(name=NAME, value=value))
            assert score(row(key, value), reply) == 1.0, reply
            assert score(row(key, other), reply) == 0.0, reply


@pytest.mark.parametrize(("key", "sentence"), wordings())
def test_the_answering_sentence_with_two_values_is_wrong(key: str, sentence: str) -> None:
    one, other = VALUES[key]
    for both in (f"{one} and {other}", f"{other}, {one}", f"{one} or {other}", f"{one}/{other}"):
        reply = sentence.format(name=NAME, value=both)
        assert score(row(key, one), reply) == 0.0, reply

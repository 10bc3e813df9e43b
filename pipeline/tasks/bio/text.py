"""The text of biographies and questions. All wording is Carrara's own."""

from __future__ import annotations

from pipeline.caches import cache
from pipeline.worlds.people import ATTRIBUTES, Person

SENTENCES = {
    "birthdate": "{name} was born on {value}.",
    "birthplace": "The birthplace of {name} is {value}.",
    "hobby": "The favourite hobby of {name} is {value}.",
    "university": "{name} graduated from {value}.",
    "major": "The university major of {name} was {value}.",
    "city": "{name} now lives and works in {value}.",
}
"""One plain sentence for each attribute, in the order of every biography (LongBioBench, standard setting)."""

QUESTIONS = {
    "birthdate": "On what date was {name} born?",
    "birthplace": "What is the birthplace of {name}?",
    "hobby": "What is the favourite hobby of {name}?",
    "university": "Which university did {name} graduate from?",
    "major": "What was the university major of {name}?",
    "city": "In which city does {name} now live and work?",
}

INTRODUCTION = """\
Below are short biographies of many people, one paragraph for each person. Every biography is written in the same way, \
and no two people have the same full name. Read all of them carefully. At the end you will be asked about one person.

Biographies:
"""

INTRODUCTION_TO_SEVERAL = INTRODUCTION.replace("about one person", "about some of these people")

PARAPHRASED = """\
Below are short biographies of many people, one paragraph for each person. They are worded in many ways, but every \
sentence gives the full name of its person, and no two people have the same full name. Read all of them carefully. At \
the end you will be asked about one person.

Biographies:
"""

FIRST_PERSON = """\
Below are short biographies of many people, one paragraph for each person, all told by the people themselves. The \
first sentence of a paragraph gives the full name, and the others do not. No two people have the same full name. Read \
all of them carefully. At the end you will be asked about one person.

Biographies:
"""

INSTRUCTION = """\
This is the end of the biographies. Use them to answer the question below. Reply with the answer alone, worded as in \
the biography, and not as a full sentence.
"""

SEVERAL = """\
This is the end of the biographies. Use them to answer all the questions below. Reply on one line with the answers \
alone, in the order of the questions, separated by semicolons, each worded as in the biography.
"""


def biography(person: Person, without: str = "") -> str:
    """Return the paragraph of a person: six sentences, each with the full name, and a newline.

    One attribute may be left out.
    """
    return _paragraph(without).format(person, name=person.name)


@cache
def _paragraph(without: str) -> str:
    """Return the paragraph as a template."""
    return " ".join(fillable(kind, sentence) for kind, sentence in SENTENCES.items() if kind != without) + "\n"


def fillable(kind: str, sentence: str) -> str:
    """Return a sentence as a template for a person (the first argument) and a `name`; templates can be joined."""
    return sentence.replace("{value}", f"{{0.{kind}}}")


def facts(person: Person, without: str = "") -> tuple[str, ...]:
    """Return what a biography states; one attribute may be left out."""
    return tuple(_facts(without).format(person, name=person.name).split("\n"))


@cache
def _facts(without: str) -> str:
    return "\n".join(f"{kind}({{name}}) = {{0.{kind}}}" for kind in ATTRIBUTES if kind != without)


def question(person: Person, attribute: str) -> str:
    """Return the question for one attribute."""
    return QUESTIONS[attribute].format(name=person.name)

"""The text around stories in prompts of `idk`. All wording is Carrara's own."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.tasks.idk.forms import LETTERS
from pipeline.worlds.stories import Plot

INTRODUCTIONS = {
    "letters": """\
Below is a long text. Somewhere in it is one short story; all the other lines are random capital letters and mean \
nothing. Read the text carefully. At the end you will be asked about one detail of the story, which the story may or \
may not give.
""",
    "stories": """\
Below is a collection of short stories, one to a line, each about a different person. Read them carefully. At the \
end you will be asked about one detail of one story, which that story may or may not give.
""",
}
EXAMPLES = "Here is how such questions are answered. The stories in these examples are not part of the text.\n"
START = "The text begins here.\n"
END = "The text ends here."

INSTRUCTION = f"""\
{END} Answer the question below from the text alone, and do not guess. If the text does not say, the right choice is \
(D). Reply with the letter of your choice and nothing else.
"""


def question(plot: Plot, noun: str, name: str) -> str:
    """Return the question about the detail of a noun."""
    return plot.ask.format(it=noun, name=name)


def asking(question: str, choices: Sequence[str]) -> str:
    """Return a question with its choices, up to the answer."""
    listed = "".join(f"({letter}) {choice}\n" for letter, choice in zip(LETTERS, choices, strict=True))
    return f"Question: {question}\nChoices:\n{listed}Answer:"


def example(number: int, story: str, question: str, choices: Sequence[str], letter: str) -> str:
    """Return one whole demonstration, with its own story."""
    return f"Example {number}: {story}{asking(question, choices)} {letter}\n"

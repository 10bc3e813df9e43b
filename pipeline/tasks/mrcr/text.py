"""The text of MRCR prompts: requests, last question, and frame of the transcript (Michelangelo, appendix A.2)."""

from __future__ import annotations

from pipeline.worlds.writing.library import Label
from pipeline.worlds.writing.surface import starts_with_vowel

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")

INSTRUCTION = """\
Below are conversations between a user and a model. In each of them the user asks for pieces of writing, and at the \
end asks the model to repeat one of its replies, with a code in front of it. Two short conversations show how the \
model should do so. In the third one, write the model's reply to the user's last message yourself.
"""

ONCE = """\
Below are two conversations between a user and a model. In each of them the user asks for pieces of writing, and at \
the end asks the model to repeat one of its replies, with a code in front of it. The first, short one shows how the \
model should do so. In the second one, write the model's reply to the user's last message yourself.
"""

UNSHOWN = """\
Below is a conversation between a user and a model. The user asks for pieces of writing, and at the end asks the \
model to repeat one of its replies, with a code in front of it. Write the model's reply to the user's last message.
"""

LEADS = (UNSHOWN, ONCE, INSTRUCTION)
"""How the transcript starts, by the number of demonstrations."""

EXAMPLE = "======== EXAMPLE {number} ========\n"
CONVERSATION = "======== CONVERSATION ========\n"


def described(label: Label) -> str:
    """Return what a text is: ``poem about penguins``, ``poem about penguins in a merry tone``."""
    tone = f" in a{'n' * starts_with_vowel(label.tone)} {label.tone} tone" if label.tone else ""
    return f"{label.format} about {label.topic}{tone}"


def request(label: Label) -> str:
    """Return the request for a text."""
    return f"Write a{'n' * starts_with_vowel(label.format)} {described(label)}."


def question(label: Label, ordinal: int, code: str) -> str:
    """Return the last request: for the `ordinal`-th reply (from 1) to a request, after a code."""
    wanted = f"the {ORDINALS[ordinal - 1]} {described(label)}"
    return (
        f"Repeat {wanted} in this conversation word for word. Start your reply with {code}, put the text directly "
        "after it, and add nothing else."
    )


def exchange(label: Label, text: str) -> str:
    """Return a request and its reply as lines of a transcript."""
    return f"User: {request(label)}\nModel: {text}\n"


def example(number: int, exchanges: tuple[tuple[Label, str], ...], asked: int, code: str) -> str:
    """Return a demonstration: a conversation of a few exchanges that asks for the `asked`-th of them (from 0)."""
    label, text = exchanges[asked]
    before = [earlier for earlier, _ in exchanges[: asked + 1]]
    request = question(label, before.count(label), code)
    body = "".join(exchange(*each) for each in exchanges)
    return f"{EXAMPLE.format(number=number)}{body}User: {request}\nModel: {code}{text}\n"

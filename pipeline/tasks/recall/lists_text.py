"""What the prompts of lists of words say, and how lists are read again."""

from __future__ import annotations

import re
from collections import Counter

from pipeline.tasks.finding import whole_lines
from pipeline.tasks.line_cache import PROMPT

INTRODUCTION = """\
Below is a long list of {what}, one on each line. Some come more often than others, and you will be asked which come \
most often.
"""
EXAMPLE = "Example:\n{lines}Question: {question}\nAnswer: {answer}\n"
QUESTION = "Which {count} words come most often in the list?"
COUNTS = {3: "three", 10: "ten"}
START, END = "List:\n", "This is the end of the list."
TAIL = f"{END} Reply with these words alone, separated by commas.\n\nQuestion: {{question}}\nAnswer:"

WORD = re.compile("[a-z]+")
ASKED = re.compile(r"^Question: Which (three|ten) words come most often in the list\?\nAnswer:$", re.MULTILINE)
SHOWN = re.compile(r"^Example:\n((?:[a-z]+\n)+)Question: Which .*\nAnswer: (.+)\n", re.MULTILINE)


@PROMPT.of
def count_words(text: str) -> Counter[str]:
    """Return how often each line of the list in a prompt comes.

    Raises:
        ValueError: if it holds no list.
    """
    return Counter(read_list(text))


def read_list(text: str) -> list[str]:
    """Return the lines of the list in a prompt.

    Raises:
        ValueError: if it holds no list.
    """
    start, end = text.rfind(f"\n{START}") + 1 + len(START), text.rfind(f"\n{END}") + 1
    if start < len(START) + 1 or end < start:
        raise ValueError("the prompt holds no list")
    return text[start:end].splitlines()


def read_asked(text: str) -> int:
    """Return how many words are asked for.

    Raises:
        ValueError: if not just one question is asked.
    """
    asked = [found[1] for found in whole_lines(ASKED, "Question: ", text)]
    if len(asked) != 1:
        raise ValueError(f"{len(asked)} questions are asked")
    return next(count for count, said in COUNTS.items() if said == asked[0])


def most_frequent(lines: Counter[str], count: int) -> tuple[list[str], int, int]:
    """Return the words that come most often in alphabetical order, how often the last of them and the next one come.

    Raises:
        ValueError: if there are fewer words, or those two come equally often.
    """
    found = lines.most_common(count + 1)
    last, following = (*(times for _, times in found[count - 1 :]), 0, 0)[:2]
    if last == following:
        raise ValueError(f"no {count} words come more often than all others")
    return sorted(word for word, _ in found[:count]), last, following

"""Lines and words are found where patterns that are tried at every letter find them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pipeline.tasks.solving import Lines, contains_words, count_words, whole_lines

TEXTS = st.text(alphabet="Qa: b_\n", max_size=60)
PATTERN = re.compile(r"^Q: ([a-z ]+)\n(?:a\n)?", re.MULTILINE)
WORDS = st.text(alphabet="aAbB", min_size=1, max_size=3)


@given(TEXTS, st.lists(st.sampled_from(["Q: a\n", "Q: b b\na\n", "\n", "Q: "]), max_size=6))
def test_whole_lines_are_those_of_the_pattern(text: str, lines: list[str]) -> None:
    text += "".join(lines)
    found = [one.span() for one in whole_lines(PATTERN, "Q: ", text)]
    assert found == [one.span() for one in PATTERN.finditer(text)]


@given(WORDS, st.text(alphabet="aAbB _.", max_size=40))
def test_words_stand_where_they_are_no_part_of_longer_ones(words: str, text: str) -> None:
    assert contains_words(words, text) == bool(re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE))
    assert count_words(words, text) == len(re.findall(rf"(?<!\w){words}(?!\w)", text))


@given(st.text(alphabet="ab\n", max_size=40), st.integers(0, 10), st.integers(0, 50))
def test_lines_are_told_by_their_places(text: str, start: int, end: int) -> None:
    lines = Lines(text, start, end)
    spans = [lines.span(number) for number in range(len(lines.texts))]
    assert [text[one:other] for one, other in spans] == [f"{line}\n" for line in lines.texts]
    assert [lines.number_of(span) for span in spans] == list(range(len(spans)))
    assert all(lines.number_of((one, other + 1)) is None for one, other in spans)
    assert lines.number_of((start - 1, start)) is None

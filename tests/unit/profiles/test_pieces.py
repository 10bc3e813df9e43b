"""Vocabularies of pieces: where a text may be cut so that its stretches merge each by itself."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.profiles import Counter, load_profile
from pipeline.profiles.vocabulary import merges_of, pieces_of, stretch_of

GEMMAS = ("gemma3", "gemma4")
BITS = (*" \n\t\r>-]^aé😀\u2581", "  ", "\n\n", "</", "<table>", "The", "Osl", "17")


@lru_cache(maxsize=len(GEMMAS))
def second(name: str) -> Counter:
    counter = load_profile(name).second()
    assert counter is not None
    return counter


@lru_cache(maxsize=len(GEMMAS))
def pieces(name: str) -> list[str]:
    return pieces_of(load_profile(name).vocabulary)


@lru_cache(maxsize=len(GEMMAS))
def stretch(name: str) -> re.Pattern[str]:
    return stretch_of(pieces(name))


@pytest.mark.parametrize("name", GEMMAS)
@settings(max_examples=50, deadline=None)
@given(text=st.lists(st.sampled_from(BITS) | st.text(max_size=3), max_size=30).map("".join))
def test_a_text_has_the_tokens_of_its_stretches(name: str, text: str) -> None:
    stretches = stretch(name).findall(text)
    assert "".join(stretches) == text
    assert [number for each in stretches for number in second(name).encode(each)] == second(name).encode(text)
    assert second(name).count(text) == len(second(name).encode(text))


@pytest.mark.parametrize("name", GEMMAS)
def test_what_repeats_counts_as_often_as_it_stands(name: str) -> None:
    text = "Marta Okafor lives in Oslo.\n\n" * 400 + "<b>1</b> </td> </a>\n" * 3
    assert second(name).count(text) == len(second(name).encode(text)) == load_profile(name).counter().count(text)


def test_no_cut_where_a_piece_joins_both_sides() -> None:
    """Gemma has one piece with a space inside it, which a cut before every space would tear apart."""
    (joined,) = (number for number, piece in enumerate(pieces("gemma4")) if re.search("[^\u2581]\u2581", piece))
    assert joined in second("gemma4").encode("<td> </td>")
    assert second("gemma4").count("<td> </td>") < sum(map(second("gemma4").count, ("<td>", " </td>")))


@pytest.mark.parametrize(
    ("spelled", "text", "stretches"),
    [
        (["a", "b", "\u2581b"], "a b  a\n\n b", ["a", " b", "  a", "\n\n", " b"]),
        (["a", "b", "a\u2581b"], "a b b a b", ["a b", " b", " a b"]),
        (["]", "]\u2581", "^\u2581a"], "] a^ a- a", ["] a^ a-", " a"]),
        (["a", ".\n"], "a a.\na\n", ["a", " a.\na\n"]),
        (["a", "\n\u2581a"], "a\n a a", ["a\n a", " a"]),
        (["\n\n", "\u2581\u2581"], "a \u2581 a \n", ["a", " \u2581 a", " ", "\n"]),
        ([], "", []),
    ],
)
def test_stretches_follow_the_pieces(spelled: list[str], text: str, stretches: list[str]) -> None:
    assert stretch_of(spelled).findall(text) == stretches


def test_merges_are_all_pairs_that_spell_a_piece_by_its_rank() -> None:
    assert merges_of(["a", "b", "ab", "aba"], set()) == [("a", "b"), ("ab", "a")]
    both = [("b", "a"), ("ab", "a"), ("a", "ba")]
    assert merges_of(["a", "b", "ab", "ba", "aba"], set()) == [("a", "b"), *both], "the longest left piece comes first"
    assert merges_of(["a", "b", "ab", "ba", "aba"], {4}) == [("ab", "a"), ("a", "ba"), ("a", "b"), ("b", "a")]

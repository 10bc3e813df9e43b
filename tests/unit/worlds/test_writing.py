"""The world of writing: its grammars say what they mean, and its texts are many, clean and unlike each other."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builds import SWEPT
from pipeline.profiles import load_profile
from pipeline.streams import Streams
from pipeline.worlds.wording import PHRASES, Choice, Slot, parse
from pipeline.worlds.writing.grammar import parse_grammar
from pipeline.worlds.writing.library import CELLS, SIZES, GrammarLibrary, Label, grammar_library, runs, written
from pipeline.worlds.writing.realise import Realiser, common, formats, tones, unknown_references
from pipeline.worlds.writing.surface import third_person, tidy, title
from pipeline.worlds.writing.topics import fits, parse_topics, place_of, sample, shares, topics, topics_for

SEED = Streams((20261121, "any"))
DEFECTS = {
    "an unresolved rule": r"[{}|\\]|\bNone\b",
    "a double space": r"  ",
    "a doubled word": r"(?i)\b(?!had\b|that\b)([a-z]+) \1\b",
    "a wrong article": r"(?i)\ba (?!(?:u(?:[snt][ei]|ku|n[iy])|eu|ewe|one\b|once))[aeiou]\w|\ba (?:hour|heir|honest)"
    r"|\ban (?!hour|heir|honest)[bcdfghjklmnpqrstvwxyz]\w",
    "two articles": r"(?i)\b(?:a|an|the) (?:a|an|the) ",
    "a loose stop": r" [,.;:!?](?!\w)",
    "two stops": r"[,;:][,.;:!?]|[.!?][,;]|\.\.(?!\.)",
    "a small letter after a stop": r"[a-z][.!?] [a-z]|[a-z]\.\" [a-z]|^[a-z]|\n[a-z]",
    "a turn's label": r"(?m)^(?:User|Model|System):",
}


@pytest.fixture(scope="module", params=["32k", pytest.param("128k", marks=pytest.mark.slow)])
def library(request: pytest.FixtureRequest) -> GrammarLibrary:
    """The library of a tier: dense cells and single texts."""
    return grammar_library(SEED, request.param, toned=False)


@pytest.fixture(scope="module")
def texts(library: GrammarLibrary) -> list[str]:
    return [library.text(index) for index in range(len(library.entries))]


def test_there_are_formats_topics_and_tones_enough() -> None:
    assert len(formats()) >= 24
    assert len(topics()) >= 400
    assert len({topic.domain for topic in topics()}) >= 15
    assert len(tones()) >= 6
    for names in (list(formats()), [topic.name for topic in topics()], list(tones())):
        assert len(set(names)) == len(names)
        assert all(name.isascii() and name == name.lower() and " about " not in f" {name} " for name in names)


@pytest.mark.parametrize("name", formats())
def test_every_rule_of_a_grammar_is_known_and_used(name: str) -> None:
    grammar = formats()[name]
    assert list(unknown_references(grammar)) == []
    asked = {reference.name for _, reference in grammar.references()}
    domains = "|".join(sorted({topic.domain for topic in topics()}))
    assert {re.sub(rf"_(?:{domains})$", "", rule) for rule in grammar.rules} - asked == {"short", "long"}
    assert all(len(grammar.plain[size]) >= (3 if name == "recipe" else 12) for size in SIZES if size in grammar.rules)


def test_topics_say_everything_in_the_right_form() -> None:
    for topic in topics():
        for name, least in (
            ("do", 3),
            ("tool", 3),
            ("part", 4),
            ("place", 3),
            ("trait", 3),
            ("fact", 4),
            ("trouble", 3),
        ):
            values = getattr(topic, name)
            assert len(values) == len(set(values)) >= least, (topic.name, name)
        assert len(topic.do) == len(topic.doing) == len(topic.did), topic.name
        assert all(doing.split()[0].endswith("ing") for doing in topic.doing), topic.name
        assert all(3 <= len(fact.split()) <= 8 and not fact.endswith(".") for fact in topic.fact), topic.name
        singular = (*topic.tool, topic.one, topic.doer)
        assert not [value for value in singular if re.match("(a|an|the) ", value)], topic.name


def test_no_text_has_a_defect(texts: list[str]) -> None:
    for name, pattern in DEFECTS.items():
        found = [hit for text in texts if (hit := re.search(pattern, text))]
        shown = [hit.string[max(0, hit.start() - 30) : hit.end() + 20] for hit in found[:5]]
        assert not found, f"{len(found)} texts with {name}: {shown}"
    assert all(text.isascii() and text == text.strip() for text in texts)


def test_every_text_is_another_and_most_runs_of_words_too(texts: list[str]) -> None:
    assert len(set(texts)) == len(texts)
    words = [re.findall(r"[a-z0-9']+", text.lower()) for text in texts]
    grams = [tuple(said[at : at + 8]) for said in words for at in range(len(said) - 7)]
    assert len(set(grams)) / len(grams) >= 0.8


def test_texts_of_a_cell_are_unlike_each_other(library: GrammarLibrary, texts: list[str]) -> None:
    cells: dict[Label, list[str]] = {}
    for entry, text in zip(library.entries, texts, strict=True):
        cells.setdefault(entry.label, []).append(text)
    for cell in cells.values():
        assert all(one.isdisjoint(other) for one, other in combinations(map(runs, cell), 2))
    rng = Random(1)
    pairs = [rng.sample(cell, 2) for cell in cells.values() if len(cell) == 8][::2]
    ratios = sorted(SequenceMatcher(None, one, other, autojunk=False).ratio() for one, other in pairs)
    assert sum(ratios) / len(ratios) <= 0.35
    assert ratios[-1] <= 0.55


def test_texts_have_60_to_512_tokens_in_every_profile(texts: list[str]) -> None:
    by_size = sorted(texts, key=len)
    extremes = by_size[:150] + by_size[-150:] + by_size[:: len(by_size) // 300]
    for name in SWEPT:
        counts = load_profile(name).counter().counts(extremes)
        assert min(counts) >= 60
        assert max(counts) <= 512


@pytest.mark.parametrize("tier", ["32k", "128k", "1m"])
def test_a_catalogue_gives_each_topic_and_format_as_many_texts(tier: str) -> None:
    entries = grammar_library(SEED, tier, toned=False).entries
    told = [entry.label for entry in entries if not entry.shown]
    assert len(set(Counter(label.topic for label in told).values())) == 1
    by_format = Counter(label.format for label in told)
    assert set(by_format) == set(formats())
    assert min(by_format.values()) >= 0.8 * len(told) / len(formats())
    assert max(by_format.values()) <= 1.2 * len(told) / len(formats())
    assert all(fits(entry.label.format, entry.label.topic) for entry in entries)
    shown = {entry.label.topic for entry in entries if entry.shown}
    assert len(shown) == 8
    assert shown.isdisjoint(label.topic for label in told)


def test_requests_of_a_catalogue_recur_as_the_asked_one_does(library: GrammarLibrary) -> None:
    times = Counter(Counter(entry.label for entry in library.entries if not entry.shown).values())
    assert times == {size: CELLS.count(size) * len(library.topics) for size in CELLS}


def test_a_tier_holds_twice_what_its_longest_prompt_does() -> None:
    for tier, tokens in (("32k", 2**15), ("128k", 2**17), ("1m", 2**20)):
        library = grammar_library(SEED, tier, toned=False)
        told = [index for index, entry in enumerate(library.entries) if not entry.shown]
        assert sum(map(library.size, told)) / 4.2 >= 2 * tokens


@pytest.mark.parametrize("form", formats())
def test_every_pair_has_as_many_texts_as_a_row_can_ask_for(form: str) -> None:
    """Eight replies match at the most, and a format that suits few topics is asked about each of them often."""
    about = topics_for(form)
    for topic in about if len(about) < 100 else Random(form).sample(about, 8):
        assert len(list(written(SEED, Label(form, topic), ["long", "short"] * 4))) == max(CELLS)


def test_shares_give_each_format_and_each_topic_the_same() -> None:
    rng = Random(5)
    forms, about = [f"f{n}" for n in range(9)], [f"t{n}" for n in range(40)]
    suits = {(form, topic) for form in forms for topic in about if rng.random() < (0.2 if form == "f0" else 0.8)}
    table = shares(forms, about, lambda form, topic: (form, topic) in suits)
    for form, line in zip(forms, table, strict=True):
        assert sum(line) == pytest.approx(10**9, rel=1e-6)
        assert all((share > 0) == ((form, topic) in suits) for topic, share in zip(about, line, strict=True))
    for column in zip(*table, strict=True):
        assert sum(column) == pytest.approx(10**9 * 9 / 40, rel=0.01)
    assert shares(forms, about, lambda *_: True) == [[25_000_000] * 40] * 9


def test_what_suits_nothing_is_named() -> None:
    with pytest.raises(ValueError, match="no pair has 'b'"):
        shares(["a", "b"], ["x"], lambda form, _: form == "a")
    with pytest.raises(ValueError, match="no pair has 'y'"):
        shares(["a"], ["x", "y"], lambda _, topic: topic == "x")


def test_places_are_drawn_in_proportion_to_their_shares() -> None:
    line = [0, 3, 0, 1]
    assert [place_of(level / 8, line) for level in range(8)] == [1] * 6 + [3] * 2
    rng = Random(4)
    firsts = Counter(sample(rng, line, 1)[0] for _ in range(4000))
    assert set(firsts) == {1, 3}
    assert 0.72 <= firsts[1] / 4000 <= 0.78
    assert sorted(sample(rng, line, 9)) == [1, 3]


def test_texts_depend_on_seed_and_label_alone() -> None:
    library = grammar_library(SEED, "32k", toned=False)
    again = GrammarLibrary(SEED.world("writing@2", "32k", "plain"), "32k", toned=False)
    places = (len(again.entries) - 1, 1000, 0)
    assert [again.text(place) for place in places] == [library.text(place) for place in places]
    other = grammar_library(Streams((7, "any")), "32k", toned=False)
    assert other.text(0) != library.text(0)


def test_a_toned_library_names_a_tone_in_every_request() -> None:
    entries = grammar_library(SEED, "32k", toned=True).entries
    assert {entry.label.tone for entry in entries} == set(tones())


def test_a_tone_is_heard(library: GrammarLibrary) -> None:
    """A text of a tone uses that tone's words, and those of no other."""
    words = {name: set(_plain_words(tones()[name].rules)) for name in tones()}
    for name in tones():
        for form in ("letter", "news story"):
            said = " ".join(written(SEED, Label(form, topics()[3].name, name), ["long"] * 3))
            heard = {tone: sum(f" {word}" in f" {said}" for word in words[tone]) for tone in words}
            assert heard[name] == max(heard.values()) > 0


def _plain_words(rules: object) -> list[str]:
    assert isinstance(rules, dict)
    return [phrase[0] for rule in ("mood", "moodly") for phrase in rules[rule] if isinstance(phrase[0], str)]


def test_phrases_nest() -> None:
    phrase = parse(r"a (b|[c] {d:title})\( / {x=e}", PHRASES)
    assert phrase[0] == "a "
    assert isinstance(phrase[1], Choice)
    assert phrase[1].options[1][1:] == (" ", Slot("d", "title"))
    assert phrase[2:] == ("(", "\n", Slot("e", "", "x"))


@pytest.mark.parametrize("text", ["(a", "a)", "[a", "{a", "a}", "{a b}", "{A}", "(a|b", "a\\"])
def test_a_bracket_without_its_partner_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"partner|reference"):
        parse(text, PHRASES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nlong:\n  a\nlong:\n  b\n", "line 4"),
        ("name: x\n  a\n", "line 2"),
        ("long:\n  a\n", "no name"),
        ("name: x\nlong:\nshort:\n  a\n", "no alternatives in"),
        ("name: x\nlong:\n  {a\n", "line 3"),
    ],
)
def test_a_broken_grammar_says_where(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_grammar(text, "x.txt")


def test_a_rule_without_an_end_is_named() -> None:
    grammar = parse_grammar("name: x\nlong:\n  {long}\n", "x.txt")
    tone = next(iter(tones().values()))
    with pytest.raises(ValueError, match="calls itself"):
        Realiser(grammar, common().rules, topics()[0], Random(1)).write("long", tone)


def test_alternatives_are_dealt_to_the_end_before_one_comes_again() -> None:
    grammar = parse_grammar("name: x\nlong:\n  {a}{a}{a}\na:\n  x\n  y\n  z\n", "x.txt")
    realiser = Realiser(grammar, {}, topics()[0], Random(1))
    for _ in range(20):
        assert sorted(realiser.write("long", parse_grammar("name: t\nmood:\n  m\n", "t")).lower()) == ["x", "y", "z"]


def test_a_topic_that_lacks_something_is_named() -> None:
    with pytest.raises(ValueError, match="'yaks' of x: lacks"):
        list(parse_topics("topic: yaks\nnumber: plural\n", "x"))


@given(st.text(alphabet="aeiouhbn .,\n!", max_size=60))
def test_tidying_twice_changes_nothing(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    assert "  " not in once


def test_surface_forms() -> None:
    said = tidy("an unicorn and a honest  apple , a one-off. a x-ray of a elk ? it is 'a yew'")
    assert said == "A unicorn and an honest apple, a one-off. An x-ray of an elk? It is 'a yew'"
    assert [third_person(verb) for verb in ("go", "miss", "buy", "try")] == ["goes", "misses", "buys", "tries"]
    assert title("of mice and an owl") == "Of Mice and an Owl"

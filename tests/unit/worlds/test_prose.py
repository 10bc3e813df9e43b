"""What the texts are like: plain English, on their subject, as asked for, and many kinds of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from random import Random

import pytest

from pipeline.streams import Streams
from pipeline.worlds.essays import essays, paragraphs
from pipeline.worlds.wording import Choice, Phrase, Slot, Toned
from pipeline.worlds.writing.grammar import parse_grammar
from pipeline.worlds.writing.library import Label, written
from pipeline.worlds.writing.realise import Realiser, common, formats, parse_variants, tones, varied
from pipeline.worlds.writing.surface import is_many, many, marked, scans, syllables, tidy
from pipeline.worlds.writing.topics import topics, topics_for, unnamed
from prose_rules import RULES, faults, topic_named

SEED = Streams((20261121, "any"))
TEXTS = 20
"""Texts of each format in the sample."""
PLANS = {
    "recipe": 46,
    "fable": 30,
    "limerick": 36,
    "riddle": 32,
    "essay": 42,
    "how-to guide": 39,
    "job advert": 42,
    "travel guide": 42,
}
"""How many plans a format has at least, if not FEWEST_PLANS: twice as many as it was first written with."""
FEWEST_PLANS = 32
OPENINGS = 60

SAID = Sequence[tuple[str, str, str]]


@cache
def sample() -> SAID:
    """Texts of every format that were asked for without a tone: format, topic and text."""
    return tuple(texts(TEXTS))


def texts(count: int) -> Iterator[tuple[str, str, str]]:
    rng = Random(7)
    for form in formats():
        for topic in rng.choices(topics_for(form), k=count):
            world = Streams((rng.randrange(10**9), "prose"))
            yield from (
                (form, topic, text) for text in written(world, Label(form, topic), [rng.choice(("short", "long"))])
            )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("She said the the same.", "a word twice"),
        ("It was a apple.", "a wrong article"),
        ("There was some a leaking pool.", "two determiners"),
        ("Some new a leaking pool.", "an article behind its adjective"),
        ("Ask for the and go.", "a noun is missing"),
        ("I have kept this about with me.", "a word is missing"),
        ("We had to did it.", "a verb is wrong"),
        ("There is three of them.", "there is with a plural"),
        ("They was late.", "a pronoun and its verb"),
        ("I bring up it because I must.", "a particle before its pronoun"),
        ("Of all my shoeboxs it was the first.", "a wrong plural"),
        ("Well, , no.", "a loose stop"),
        ("It ended. then it began.", "a small letter after a stop"),
        ("It was {topic}.", "something unresolved"),
        ("The color of it.", "an American spelling"),
        ("It was spoilt.", "another spelling"),
        ("Older and far as balanced.", "as without its partner"),
        ('"A clerk?" Asked Zoe.', "a capital after a question"),
        ('"A clerk?" She asked.', "a capital after a question"),
        ("Phoebe: hummingbirds.", "a small letter after a speaker"),
        ("- hide the key.", "a small letter after a stop"),
        ("Otto: Go home, Otto.", "somebody who calls himself"),
        ("Nico Estes, holds the list.", "a comma between a name and its verb"),
        ("To all newsrooms who care.", "a thing that is a who"),
        ("It is wind as we write.", "weather that somebody is"),
        ("What lasts, straight after supper and drizzle, is a goat.", "weather that is told by the clock"),
        ("The nearer the kettles come to come.", "a verb that waits for itself"),
        ("I was given, a cheese.", "a comma that cuts"),
        ("Dear all, You asked me.", "a capital behind a comma"),
        ("They are came back.", "a participle is wrong"),
        ("A great deal of sparrows.", "an amount of things that are counted"),
        ('He said, "no.', "a quotation mark without its partner"),
        ("He left (at once.", "a bracket without its partner"),
    ],
)
def test_the_reader_finds_a_fault(text: str, fault: str) -> None:
    assert fault in {name for name, _ in faults(text)}


def test_the_reader_finds_a_fault_with_words_of_a_topic() -> None:
    snails, surfing = topic_named("garden snails"), topic_named("surfing")
    assert "there is with a plural" in dict(faults("There is no garden snails here.", snails))
    assert "a plural and its verb" in dict(faults("Garden snails is late.", snails))
    sound = next(sound for sound in surfing.sound if sound.startswith("the "))
    assert "a sound without its article" in dict(faults(f"By Monday {sound.removeprefix('the ')} filled it.", surfing))
    assert list(faults(f'By Monday {sound} filled it. "Yes," I said (or thought): a hour-glass.', surfing))
    assert list(faults(f'By Monday {sound} filled it. "Yes," I said (or thought).', surfing)) == []


def test_the_texts_have_no_fault() -> None:
    found = [(form, fault) for form, topic, text in sample() for fault in faults(text, topic_named(topic))]
    assert not found, (len(found), found[:5])


def test_the_essays_have_no_fault() -> None:
    found = [fault for text in islice(paragraphs(SEED, "32k"), 500) for fault in faults(text)]
    assert not found, (len(found), found[:5])


@pytest.mark.slow
def test_no_text_of_any_pool_has_a_fault() -> None:
    found = [(form, fault) for form, topic, text in texts(400) for fault in faults(text, topic_named(topic))]
    assert not found, (len(found), found[:5])
    found = [("essay", fault) for text in paragraphs(SEED, "1m") for fault in faults(text)]
    assert not found, (len(found), found[:5])


def test_words_of_a_tone_stand_only_where_it_is_asked_for() -> None:
    adverbs = {phrase[0] for tone in tones().values() for phrase in tone.rules["moodly"] if isinstance(phrase[0], str)}
    heard = Counter(word for _, _, text in sample() for word in re.findall(r"[a-z-]+", text) if word in adverbs)
    assert heard.total() / len(sample()) < 0.1
    for form in formats().values():
        slots = {reference.name for phrases in form.plain.values() for phrase in phrases for reference in refs(phrase)}
        assert slots.isdisjoint({"mood", "moodly", "aside"})


def refs(phrase: Phrase) -> Iterator[Slot]:
    for part in phrase:
        assert not isinstance(part, Toned)
        if isinstance(part, Slot):
            yield part
        elif isinstance(part, Choice):
            for option in part.options:
                yield from refs(option)


def test_a_tone_has_one_aside_at_the_most() -> None:
    grammar = parse_grammar(
        "name: x\nlong:\n  One. {aside} Two.< {aside}> Three.< {mood}>\nshort:\n  a< {mood}> b\n", "x"
    )
    tone = parse_grammar("name: t\nmood:\n  merry\nmoodly:\n  merrily\naside:\n  Ha.\n", "t")
    realiser = Realiser(grammar, {}, topics()[0], Random(1))
    assert realiser.write("long", tone) == "One. Ha. Two. Three. Merry"
    assert realiser.write("short") == "A b"
    assert "long" not in grammar.plain


def test_riddles_hide_what_they_are_about() -> None:
    for form, name, text in sample():
        if form == "riddle":
            topic = topic_named(name)
            assert not {topic.name, topic.one, topic.ones} & set(re.split(r"(?<=\w)\b", text.lower()))
            assert not re.search(rf"\b(?:{re.escape(name)}|{re.escape(topic.one)})", text, re.IGNORECASE), (name, text)


@pytest.mark.parametrize("topic", topics(), ids=lambda topic: topic.name)
def test_what_a_riddle_says_does_not_hold_the_name(topic: object) -> None:
    named = unnamed(topic)  # type: ignore[arg-type]
    values = (*named.part, *named.place, *named.sound, *named.tool, *named.trouble, *named.trait, *named.do)
    assert not [value for value in values if re.search(rf"\b{re.escape(named.name)}\b", value)]


def test_a_limerick_is_one_of_five_lines_that_scan() -> None:
    for form, _, text in sample():
        if form == "limerick":
            blocks = [block.split("\n") for block in text.split("\n\n")]
            assert sorted(map(len, blocks))[-2:] in ([1, 5], [2, 5], [3, 5]), text
            lines = max(blocks, key=len)
            assert scans("\n".join(lines))
            assert all(re.search(r"[;,.:?!]\"?$", lines[at]) for at in (1, 3, 4)), lines


def test_metre() -> None:
    counts = {"kite": 1, "penguins": 2, "gardener": 3, "helped": 1, "a cook with a liking for fat": 8}
    assert {text: syllables(text) for text in counts} == counts
    first = "A clerk in a waistcoat of blue\nLiked kites a good deal more than stew;"
    good = f"{first}\nHe sat on a drum\nAnd begged us to come,\nAnd nobody knew what to do."
    assert scans(good)
    assert not scans(good.replace("what to do", "of blue"))
    assert not scans(good.replace("\nHe sat on a drum", ""))
    assert not scans(good.replace("He sat on a drum", "He sat for a while on a very large drum"))


@pytest.mark.parametrize("name", formats())
def test_a_format_has_many_plans(name: str) -> None:
    rules = formats()[name].plain
    plans = [*rules["short"], *rules["long"]]
    if name == "recipe":
        plans += [dish for rule in rules if rule.startswith("dish_") for dish in rules[rule]]
    assert len(set(plans)) >= PLANS.get(name, FEWEST_PLANS)


class Tracer(Realiser):
    """Writes the first of each choice, and X for what a topic, a person or a date gives: a template remains."""

    def _pick(self, options: tuple[Phrase, ...]) -> Phrase:
        return options[0]

    def _value(self, name: str, form: str, depth: int) -> str:
        value = super()._value(name, form, depth)
        return value if name in self._rules and name not in common().rules else "X"


@pytest.mark.parametrize("name", formats())
def test_a_format_has_sixty_openings(name: str) -> None:
    topic = topic_named(topics_for(name)[5])
    tracer = Tracer(formats()[name], common().rules, topic, Random(1))
    found, turn = set[str](), 0
    while len(found) < OPENINGS and (turn := turn + 1) <= 1200:
        found |= {opening(tracer.write(("short", "long")[turn % 2]))} - {""}
    assert len(found) >= OPENINGS


def opening(text: str) -> str:
    """Return the first sentence of a text behind its headings, greeting and labels."""
    for line in re.split(r"\n+", text):
        said = re.sub(r"^(?:\(?\w{1,3}[.)]|[-*]|[A-Z][A-Za-z ]{0,20}:) +", "", line)
        found = re.match(r".{12,}?[.!?:;,][\"')]*(?=\s|$)", said)
        if found and len(found[0].split()) > 3 and not re.match(r"(?:Dear|To|My dear|Subject) ", said):
            return found[0]
    return ""


def test_paragraphs_of_an_essay_stand_together_and_in_order() -> None:
    found = essays(SEED, "32k")
    assert [essay.start for essay in found] == [sum(essay.count for essay in found[:at]) for at in range(len(found))]
    assert all(essay.kinds[0] == "opening" and essay.kinds[-1] == "closing" for essay in found if essay.count > 1)


def test_numbers_of_noun_phrases() -> None:
    one = ("a pair of gloves", "the hiss of steam", "damp air", "too much ink", "brass", "singing in the rain")
    more = ("calls of grouse", "too many deer", "wet socks", "mice in the flour", "the calls of the auctioneer")
    assert not any(map(is_many, one))
    assert all(map(is_many, more))
    assert (
        tidy(f"there is {marked('wet socks')} and there is {marked('damp air')}")
        == "There are wet socks and there is damp air"
    )
    assert (
        tidy(f"{marked('wet socks')} was here; the sound of {marked('bells')} is")
        == "Wet socks were here; the sound of bells is"
    )
    assert [many(noun) for noun in ("shoebox", "postman", "jar", "cup of tea")] == [
        "shoeboxes",
        "postmen",
        "jars",
        "cups of tea",
    ]


def test_variants() -> None:
    grammar = varied(parse_grammar("name: x\nstyle: spoken\nlong:\n  Nobody did not come at {clock}\n", "x"))
    realiser = Realiser(grammar, {}, topics()[0], Random(1))
    said = {re.sub(r"\d+:\d+", "N", realiser.write("long")) for _ in range(99)}
    assert len(said) == 2 * 2 * 5
    assert "No one didn't come shortly after N" in said
    with pytest.raises(ValueError, match="'alone': give"):
        list(parse_variants("everywhere:\nalone\n"))


def test_every_rule_of_the_reader_is_tried() -> None:
    assert len(RULES) == 29

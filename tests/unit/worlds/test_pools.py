"""The word pools of the world of people keep their promises."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
POOLS = ROOT / "pipeline" / "worlds" / "pools"
LEAST = {"first": 600, "middle": 600, "last": 1000, "universities": 400, "cities": 500, "majors": 170, "hobbies": 250}
LONGEST = {"first": 12, "middle": 12, "last": 12, "universities": 45, "cities": 22, "majors": 45, "hobbies": 36}
NAMES = ("first", "middle", "last")
THINGS = ("universities", "cities", "majors", "hobbies")
FORMS = {
    "first": r"[A-Z][a-z]{2,11}",
    "middle": r"[A-Z][a-z]{2,11}",
    "last": r"[A-Z][a-z]{2,11}",
    "universities": r"(the )?[A-Z][A-Za-z]*( [A-Za-z]+)+",
    "cities": r"[A-Z][a-z]+( [A-Z][a-z]+)*",
    "majors": r"[a-z]+([ -][a-z]+)*",
    "hobbies": r"[a-z]+([ -][a-z]+)*",
}
INSTITUTION = {"university", "college", "institute"}
COMMON_TEXT = """
    will mark bill rose may june april august hope faith joy grace summer autumn dawn art jack bob rob pat sue frank
    january february march july september october november december monday tuesday wednesday thursday friday
    saturday sunday brown green white black young king cook baker
"""
COMMON = set(COMMON_TEXT.split())
FIXED_TEXT = """
    a an and at birth born by city date degree field first for free from full graduated has he her his hobby in is
    it last lived lives major middle name of on person she spends studied study the their they time to university
    was went where which who with work works year what
"""
FIXED = set(FIXED_TEXT.split())


def values(name: str) -> list[str]:
    """Return the values of a pool."""
    return (POOLS / f"{name}.txt").read_text(encoding="ascii").splitlines()


def words(value: str) -> tuple[str, ...]:
    """Return the lower-case words of a value, without a leading article."""
    found = tuple(re.findall(r"[a-z]+", value.lower()))
    return found[1:] if found[0] == "the" else found


def runs(value: str) -> set[tuple[str, ...]]:
    """Return all runs of whole words inside a value."""
    found = words(value)
    return {found[i:j] for i in range(len(found)) for j in range(i + 1, len(found) + 1)}


@pytest.mark.parametrize("name", LEAST)
def test_file_is_plain_sorted_and_large_enough(name: str) -> None:
    """Every pool is ASCII, LF, sorted, without blanks and not too small."""
    data = (POOLS / f"{name}.txt").read_bytes()
    lines = data.decode("ascii").split("\n")
    assert b"\r" not in data
    assert lines.pop() == ""
    assert lines == sorted(lines)
    assert all(line == line.strip() != "" for line in lines)
    assert len({line.lower() for line in lines}) == len(lines) >= LEAST[name]


@pytest.mark.parametrize("name", LEAST)
def test_values_have_the_form_of_their_pool(name: str) -> None:
    """Every value is spelled and as long as its pool allows."""
    bad = [v for v in values(name) if not re.fullmatch(FORMS[name], v) or len(v) > LONGEST[name]]
    assert bad == []


@pytest.mark.parametrize("name", LEAST)
def test_no_value_is_inside_another_of_its_pool(name: str) -> None:
    """No value is a run of whole words of another value of the pool."""
    pool = values(name)
    whole = {words(value): value for value in pool}
    assert len(whole) == len(pool)
    assert [(whole[r], v) for v in pool for r in runs(v) if r in whole and whole[r] != v] == []


@pytest.mark.parametrize("name", LEAST)
def test_no_near_doubles(name: str) -> None:
    """No two values differ only in plural endings, order or small words."""
    stems = Counter(
        tuple(sorted(re.sub(r"(es|s)$", "", word) for word in words(value) if word not in {"of", "at", "and"}))
        for value in values(name)
    )
    assert [stem for stem, count in stems.items() if count > 1] == []


@pytest.mark.parametrize("name", LEAST)
def test_no_value_is_made_of_the_words_of_plain_sentences(name: str) -> None:
    """A value never occurs inside the fixed words of a sentence."""
    assert [value for value in values(name) if set(words(value)) <= FIXED] == []


def test_the_three_parts_of_a_name_are_told_apart() -> None:
    """First, middle and last names are disjoint and are not common words."""
    times = Counter(value for name in NAMES for value in values(name))
    assert [value for value, count in times.items() if count > 1 or value.lower() in COMMON] == []


@pytest.mark.parametrize("thing", THINGS)
def test_no_name_is_a_word_of_a_thing(thing: str) -> None:
    """No name is a word of a university, city, major or hobby."""
    inside = {word for value in values(thing) for word in words(value)}
    assert [value for name in NAMES for value in values(name) if value.lower() in inside] == []


def test_hobbies_and_majors_are_told_apart() -> None:
    """No hobby is or holds a major, and no major is or holds a hobby."""
    hobbies, majors = values("hobbies"), values("majors")
    for inner, outer in ((hobbies, majors), (majors, hobbies)):
        whole = {words(value) for value in inner}
        assert [value for value in outer if runs(value) & whole] == []


def test_whole_values_belong_to_one_thing() -> None:
    """No value of one pool of things is also a value of another."""
    times = Counter(words(value) for name in THINGS for value in values(name))
    assert [value for value, count in times.items() if count > 1] == []


def test_universities_read_well_in_a_sentence() -> None:
    """Universities say what they are and carry the article where English needs one."""
    pool = values("universities")
    assert [value for value in pool if not set(words(value)) & INSTITUTION] == []
    needs = re.compile(r"((Technical|Federal|National|Royal|Autonomous|American|Free|Hebrew) )?University (of|in) ")
    assert [value for value in pool if needs.match(value)] == []


def test_sources_name_every_pool_with_its_count() -> None:
    """SOURCES.md has one table row for every pool, with the right count."""
    text = (POOLS / "SOURCES.md").read_text(encoding="ascii")
    rows = dict(re.findall(r"^\| `(\w+)\.txt` \| (\d+) \|", text, flags=re.MULTILINE))
    assert rows == {name: str(len(values(name))) for name in (*LEAST, "countries", "elsewhere")}
    assert {path.stem for path in POOLS.glob("*.txt")} == {*LEAST, "countries", "elsewhere"}


def sound(value: str) -> str:
    """Return a value as it sounds, roughly: twins of spelling sound the same."""
    value = re.sub(r"[^a-z ]", "", value.lower().removeprefix("the "))
    for written, said in (("ph", "f"), ("ck", "k"), ("th", "t"), ("y", "i"), ("c", "k"), ("z", "s"), ("ie", "i")):
        value = value.replace(written, said)
    value = re.sub(r"h(?=[^aeiou]|$)", "", re.sub(r"(.)\1+", r"\1", value))
    return re.sub(r"e\b", "", value)


def masked(value: str) -> set[str]:
    """Return a value with one letter masked, or with one more masked letter: near values have one in common."""
    value = value.lower()
    return {f"{value[:at]}?{value[at + skip :]}" for skip in (0, 1) for at in range(len(value) + 1 - skip)}


@pytest.mark.parametrize("name", LEAST)
def test_every_value_has_one_spelling(name: str) -> None:
    """No two values sound the same or differ in one letter: Daryl and Darryl are never rivals."""
    sounds = Counter(map(sound, values(name)))
    assert [each for each, count in sounds.items() if count > 1] == []
    near = Counter(form for value in values(name) for form in masked(value))
    assert [form for form, count in near.items() if count > 1] == []


def test_spelling_twins_would_be_found() -> None:
    """The two rules find what they are for."""
    for one, other in (("Daryl", "Darryl"), ("Catherine", "Katherin"), ("Cathy", "Kathie"), ("Stephen", "Steffen")):
        assert sound(one) == sound(other) or masked(one) & masked(other), (one, other)
    assert not masked("Oslo") & masked("Lima")


def test_every_city_has_a_country() -> None:
    """The pool of countries names each city once, in the order of the cities."""
    assert [line.split(", ")[0] for line in values("countries")] == values("cities")
    assert all(re.fullmatch(r"[A-Z][A-Za-z -]+, [A-Z][A-Za-z -]+", line) for line in values("countries"))


def test_places_of_the_same_name_lie_in_other_countries() -> None:
    """Every line of the pool is a city of ours, another country than its own, and a number of people."""
    own = dict(line.split(", ") for line in values("countries"))
    for line in values("elsewhere"):
        city, country, people = line.split(", ")
        assert own[city] != country
        assert int(people) > 0


AMERICAN = re.compile(
    r"(?:favor|color|jewelr|behavior|labor|center|theater|eling|aling|seling|enamel(?:ing|ed))\b|aluminum"
)


@pytest.mark.parametrize("name", ["hobbies", "majors", "bio/paraphrase", "bio/pronoun"])
def test_english_is_british(name: str) -> None:
    """One English in all texts."""
    assert [value for value in values(name) if re.search(AMERICAN, value) and "ell" not in value] == []

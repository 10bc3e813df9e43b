from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.assemble.cutter import NEEDLE_ROLES, in_order
from pipeline.assemble.packing import subset_of_sum
from pipeline.assemble.plan import make_plan
from pipeline.cli import cli
from pipeline.metrics import score
from pipeline.recipe import Recipe, Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, PublishedRow, Sample
from pipeline.tasks.bio import TASKS, haystack, solve
from pipeline.tasks.bio.solve import POOLS, Entry, _stated, parse_question, parse_styled, read_in
from pipeline.tasks.bio.standard import TASKS as RETRIEVALS
from pipeline.tasks.bio.standard import Multi, Standard, joined
from pipeline.tasks.bio.styles import STYLES
from pipeline.tasks.bio.text import SENTENCES, biography
from pipeline.verify.statistics import makeups
from pipeline.worlds.people import ATTRIBUTES, choices_of, chooser, people, wordings
from pipeline.worlds.words import pool
from prose_rules import faults
from shared_pools import pool_of

SEED = 5
WORDED = ("paraphrase", "pronoun")
RETRIEVAL = {task.subtask: task for task in RETRIEVALS}
Task = Standard | Multi


def cell_of(subtask: str, complexity: int = 1, rows: int = 24, **more: object) -> Stratum:
    knobs = tuple(sorted((name, value) for name, value in more.items() if name != "shots"))
    shots = more.get("shots")
    return Stratum("bio", subtask, "32k", 4096, complexity, rows, shots, knobs)  # type: ignore[arg-type]


def streams(cell: Stratum, index: int) -> tuple[Streams, Streams]:
    path = (SEED, f"bio.{cell.subtask}@1", cell.tier, cell.length, cell.complexity)
    return Streams((*path, index)), Streams(path)


def drawn(task: Task, cell: Stratum, index: int) -> Sample:
    return task.sample(cell, index, *streams(cell, index))


def published(task: Task, cell: Stratum, index: int, others: int = 25) -> PublishedRow:
    """Assemble a row from its layout, with so many other people."""
    sample, (row, shared) = drawn(task, cell, index), streams(cell, index)
    layout = task.layout(sample, row, shared)
    (spec,) = task.pools(cell)
    assert layout.filler.pool == spec.name
    filler = pool_of(SEED, spec).texts(layout.filler.order.take(others))
    parts, needles, start = [layout.head[0].text], [], 0
    for item in in_order(layout.placed):
        stop = max(start, round(item.depth * others))
        parts += filler[start:stop]
        start, (piece,) = stop, item.unit.pieces
        at = sum(map(len, parts))
        parts.append(piece.text)
        if piece.role in NEEDLE_ROLES:
            needles.append(Needle(piece.role, at, at + len(piece.text), item.depth))
    text = "".join([*parts, *filler[start:], layout.tail[0].text])
    return PublishedRow(cell, (("user", text),), text, sample.question, tuple(needles), sample.key)


def changed(row: PublishedRow, old: str, new: str) -> PublishedRow:
    """Return a row with other words of the same length, so that all marks keep their places."""
    assert row.text.count(old) >= 1
    assert len(old) == len(new)
    text = row.text.replace(old, new)
    return replace(row, turns=(("user", text),), prompt=text)


# Wordings


@pytest.mark.parametrize("style", WORDED)
def test_there_are_enough_wordings_and_each_has_its_form(style: str) -> None:
    own = wordings(style)
    assert [kind for kind in own if kind != "name"] == list(ATTRIBUTES)
    for kind, told in own.items():
        assert len(set(told)) == len(told) >= 12
        for sentence in told:
            assert re.fullmatch(r"[A-Za-z{}, -]+\.", sentence)
            assert sentence.count("{value}") == (kind != "name")
            assert sentence.count("{name}") == (style == "paraphrase" or kind == "name")
            assert sentence[0].isupper() or sentence[:6] == "{name}" or kind in ("birthdate", "birthplace", "city")
            assert "{value}" not in sentence[:7] or kind in ("birthdate", "birthplace", "city"), (
                "a value needs a capital"
            )
    if style == "paraphrase":
        assert not {*SENTENCES.values()} & {sentence for told in own.values() for sentence in told}
    else:
        assert all(
            re.search(r"\b(?:I|me|my|My)\b", said) for told in own.values() for said in told if told != own["name"]
        )


@pytest.mark.parametrize("style", WORDED)
def test_sentences_about_different_things_begin_differently(style: str) -> None:
    """So that none of a biography has the skeleton of the one before."""
    beginnings = {(kind, " ".join(sentence.split()[:4])) for kind, told in wordings(style).items() for sentence in told}
    assert max(Counter(words for _, words in beginnings).values()) == 1


@pytest.mark.parametrize("style", STYLES)
def test_biographies_have_no_fault(style: str) -> None:
    """Of grammar or spelling, by the rules that other texts are held to."""
    row = Streams((SEED, "row"))
    told = "".join(STYLES[style].biography(row, "32k", number) for number in range(0, 1000, 3))
    assert list(faults(told)) == []


@pytest.mark.parametrize("name", ["hobbies", "majors"])
def test_hobbies_and_majors_are_spelt_as_all_texts_are(name: str) -> None:
    american = re.compile(r"iz(?:e|ing|ation)|\b(?:color|labor|behavior|model(?=ing)|center|theater|jewelry)|pediatr")
    assert not [value for value in pool(name) if american.search(value)]


def test_what_prompts_say_around_biographies_has_no_fault() -> None:
    for task in TASKS:
        for complexity in task.complexities:
            cell = Stratum("bio", task.subtask, "32k", 8192, complexity, 6)
            row, shared = streams(cell, 0)
            layout = task.layout(task.sample(cell, 0, row, shared), row, shared)
            for piece in (*layout.head, *layout.tail):
                said = re.sub(r"\b[A-Z]\w+ [A-Z]\w+ [A-Z]\w+\b", "Ann", piece.text)
                assert list(faults(said.replace("\n\n\n", "\n\n"))) == [], said


@pytest.mark.parametrize("style", WORDED)
def test_every_wording_with_every_value_is_read_in_one_way(style: str) -> None:
    for kind, told in wordings(style).items():
        values = () if kind == "name" else ("14 March 1976",) if kind == "birthdate" else pool(POOLS[kind])
        for sentence in told:
            for value in values:
                assert _stated(style, sentence.replace("{value}", value)) == (kind, value)


@pytest.mark.parametrize("style", WORDED)
def test_biographies_are_taken_apart_in_full_and_without_any_attribute(style: str) -> None:
    row = Streams((SEED, "row"))
    for number, person in enumerate(people(row, "32k")[:400]):
        for without in ("", *ATTRIBUTES):
            line = STYLES[style].biography(row, "32k", number, without)
            stated = {kind: person.value(kind) for kind in ATTRIBUTES if kind != without}
            assert line.count(person.name) == (len(stated) if style == "paraphrase" else 1)
            assert parse_styled(style, line.removesuffix("\n")) == (person.name, stated, {}, "")


@pytest.mark.parametrize("style", WORDED)
def test_wordings_are_chosen_evenly_and_for_each_attribute_apart(style: str) -> None:
    row = Streams((SEED, "row"))
    found = [*map(chooser(row, "32k", style), range(len(people(row, "32k"))))]
    for kind, told in wordings(style).items():
        counts, mean = Counter(one[kind] for one in found), len(found) / len(told)
        assert set(counts) == set(told)
        assert all(abs(count - mean) < 5 * mean**0.5 for count in counts.values())
    pairs = Counter((one["hobby"], one["city"]) for one in found)
    assert max(pairs.values()) < 5 + 5 * len(found) / 14**2
    assert len({tuple(one.values()) for one in found}) == len(found)


@pytest.mark.parametrize(
    ("style", "line"),
    [
        ("paraphrase", "Ann Bea Coe was born."),
        ("paraphrase", "Ann Bea Coe has settled in Atlantis for work."),
        ("paraphrase", "Ann Bea Coe came into the world on 30 March 1940."),
        ("paraphrase", "Ann Bea Coe majored in chess at university."),
        ("paraphrase", "Ann Bea Coe majored in botany at university"),
        ("paraphrase", "Ann Bea Coe turns to chess. Dan Eve Fry turns to golf."),
        (
            "paraphrase",
            "When work is done, Ann Bea Coe turns to chess. Ann Bea Coe is happiest when there is time for chess.",
        ),
        ("pronoun", "I majored in botany."),
        ("pronoun", "The name on my passport is Ann."),
        ("pronoun", "The name on my passport is Ann Bea Coe. Ann Bea Coe majored in botany."),
        ("pronoun", "The name on my passport is Ann Bea Coe. These days I am based in botany, at home and at work."),
        ("pronoun", "The name on my passport is Ann Bea Coe. People know me as Dan Eve Fry."),
    ],
)
def test_what_is_no_biography_of_the_style_is_not_read(style: str, line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_styled(style, line)


# Rows


def cells() -> Iterator[tuple[Task, Stratum]]:
    """Yield tasks with strata: defaults, demonstrations, and every value of every knob."""
    for name, task in RETRIEVAL.items():
        yield task, cell_of(name, rows=120)
        yield task, cell_of(name, rows=12, shots=2, density=0.5)
    for complexity in Multi().complexities:
        yield Multi(), cell_of("multi_standard", complexity, rows=60)
        yield Multi(), cell_of("multi_standard", complexity, rows=12, shots=2, attributes="same")
        yield Multi(), cell_of("multi_standard", complexity, rows=12, density=0.25, depth="grid")
    for knob, values in haystack.KNOBS.items():
        for value in values:
            yield RETRIEVAL["pronoun"], cell_of("pronoun", rows=12, **{knob: value})
            yield Multi(), cell_of("multi_standard", 5, rows=12, **{knob: value})


@pytest.mark.parametrize(
    ("task", "cell"), list(cells()), ids=lambda part: str(getattr(part, "knobs", "")) + str(part)[:40]
)
def test_rows_are_solved_and_checked(task: Task, cell: Stratum) -> None:
    for index in range(cell.rows):
        made = published(task, cell, index)
        assert task.solve(made.turns) == made.key.answers
        assert task.check(made) == []


@pytest.mark.parametrize("subtask", RETRIEVAL)
def test_attributes_are_asked_evenly_and_nobody_twice(subtask: str) -> None:
    task, cell = RETRIEVAL[subtask], cell_of(subtask)
    samples = [drawn(task, cell, index) for index in range(cell.rows)]
    assert len({sample.latent["person"] for sample in samples}) == cell.rows
    assert set(Counter(sample.latent["asked"] for sample in samples).values()) == {4}


@pytest.mark.parametrize("complexity", [2, 5, 10])
def test_lists_ask_different_people_for_every_attribute_at_every_place(complexity: int) -> None:
    task, cell = Multi(), cell_of("multi_standard", complexity, shots=2)
    samples = [drawn(task, cell, index) for index in range(cell.rows)]
    asked = [person for sample in samples for person in sample.latent["people"]]
    assert len(set(asked)) == len(asked) == complexity * cell.rows
    for place in range(complexity):
        assert set(Counter(sample.latent["attributes"][place] for sample in samples).values()) == {4}
    for sample in samples:
        told = [person for example in sample.latent["shown"] for person, _ in example]
        assert len({*told, *sample.latent["people"]}) == 3 * complexity
        for example in sample.latent["shown"]:
            assert sorted(kind for _, kind in example) == sorted(sample.latent["attributes"])


def test_one_attribute_is_asked_in_lists_where_wanted() -> None:
    for knobs in ({"attributes": "same"}, {"density": 0.5}, {"density": 0.0, "attributes": "mixed"}):
        cell = cell_of("multi_standard", 5, **knobs)
        kinds = [set(drawn(Multi(), cell, index).latent["attributes"]) for index in range(cell.rows)]
        assert all(len(kind) == 1 for kind in kinds)
        assert set(Counter(kind.pop() for kind in kinds).values()) == {4}


def test_people_asked_stand_in_any_order() -> None:
    cell, found = cell_of("multi_standard", 2, rows=200), 0
    for index in range(cell.rows):
        row, shared = streams(cell, index)
        sample = drawn(Multi(), cell, index)
        every = in_order(Multi().layout(sample, row, shared).placed)
        placed = [item for item in every if item.unit.pieces[0].role == "relevant"]
        found += placed[0].unit.pieces[0].text == sample.relevant[0]
    assert 70 < found < 130


@pytest.mark.parametrize("subtask", RETRIEVAL)
def test_planted_faults_of_one_question_are_found(subtask: str) -> None:
    task, cell = RETRIEVAL[subtask], cell_of(subtask, shots=2)
    good = published(task, cell, 0)
    assert task.check(good) == []
    entries = read_in(task.subtask, good.text)
    *shown, asked = parse_question(good.text)
    ((attribute, name),) = asked.about
    own = next(entry for entry in entries if entry.name == name)
    stranger = next(
        entry for entry in entries if entry.name not in {name, *(other for each in shown for other in each.names)}
    )
    twin = f"{name.split()[0]} Xenia {name.split()[2]}"
    line = good.text[stranger.start : stranger.end]
    doubled = insert(good, line.replace(stranger.name, twin))
    again = insert(good, line)
    moved = [replace(needle, char_start=needle.char_start + 1) for needle in good.needles]
    faults = {
        "3 were promised": doubled,
        "the same full name": again,
        "needles of people asked": replace(
            good, needles=tuple(n if n.role == "demo" else m for n, m in zip(good.needles, moved, strict=True))
        ),
        "needles of demonstrations": replace(
            good, needles=tuple(m if n.role == "demo" else n for n, m in zip(good.needles, moved, strict=True))
        ),
        "the key 'wrong'": replace(good, key=replace(good.key, target="wrong")),
        "does not end in the question": replace(good, question="Who?"),
        "the demonstration about": tailed(good, f"\nAnswer: {shown[0].reply}\n", "\nAnswer: something else\n"),
    }
    for said, row in faults.items():
        assert any(said in fault for fault in task.check(row)), said
    with pytest.raises(ValueError, match="has 0 biographies"):
        task.solve((("user", good.text[: own.start] + good.text[own.end :]),))
    with pytest.raises(ValueError, match="has 2 biographies"):
        task.solve(insert(good, good.text[own.start : own.end]).turns)
    number = drawn(task, cell, 0).latent["person"]
    without = task.style.biography(streams(cell, 0)[0], "32k", number, attribute)
    with pytest.raises(ValueError, match="states no"):
        task.solve((("user", good.text[: own.start] + without + good.text[own.end :]),))


def insert(row: PublishedRow, line: str) -> PublishedRow:
    """Return a row with one more biography at the end, behind all marks."""
    head, end, tail = row.text.partition("This is the end of the biographies.")
    text = head + line + end + tail
    return replace(row, turns=(("user", text),), prompt=text)


def tailed(row: PublishedRow, old: str, new: str) -> PublishedRow:
    assert row.text.count(old) == 1
    text = row.text.replace(old, new)
    return replace(row, turns=(("user", text),), prompt=text)


def test_planted_faults_of_lists_are_found() -> None:
    task, cell = Multi(), cell_of("multi_standard", 5, shots=2)
    good = published(task, cell, 0)
    assert task.check(good) == []
    *shown, asked = parse_question(good.text)
    needles = [needle for needle in good.needles if needle.role == "relevant"]
    line = good.text[needles[0].char_start : needles[0].char_end]
    first, middle, last = next(name for name in asked.names if name in line).split()
    faults = {
        "the same full name": insert(good, line),
        "1 were promised": insert(good, line.replace(f"{first} {middle} {last}", f"{first} Xenia {last}")),
        "needles of people asked": replace(good, needles=tuple(n for n in good.needles if n != needles[2])),
        "the key": replace(good, key=replace(good.key, target=good.key.target + " or golf")),
        "do not": replace(good, question=good.question + "?"),
        "the demonstration about": tailed(good, f"\nAnswers: {shown[1].reply}\n", "\nAnswers: chess\n"),
        "needles of demonstrations": replace(good, needles=tuple(n for n in good.needles if n.role != "demo")),
        "expected 10 people": replace(good, stratum=replace(cell, complexity=10)),
    }
    faults["does not end in the question"] = faults.pop("do not")
    for said, row in faults.items():
        assert any(said in fault for fault in task.check(row)), said
    body = good.text[: needles[1].char_start] + good.text[needles[1].char_end :]
    with pytest.raises(ValueError, match="has 0 biographies"):
        task.solve((("user", body),))
    with pytest.raises(ValueError, match="not numbered"):
        task.solve((("user", good.text.replace("\n3. ", "\n7. ")),))


def test_other_ways_to_break_a_prompt_are_told() -> None:
    good = published(RETRIEVAL["standard"], cell_of("standard"), 0)
    for text in ("", good.text.replace("\nBiographies:\n", "\n"), good.text.replace("\nQuestion: ", "\n")):
        with pytest.raises(ValueError, match=r"no body|asks nothing"):
            RETRIEVAL["standard"].solve((("user", text),))


# Depth and density


def wanted_depths(policy: str, count: int, rows: int = 24) -> list[list[float]]:
    cell = cell_of("multi_standard", count, rows=rows, depth=policy)
    return [haystack.depths(cell, index, streams(cell, 0)[1], count) for index in range(rows)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_policies_of_depth(count: int) -> None:
    assert wanted_depths("first", count) == [[0.0] * count] * 24
    assert wanted_depths("last", count) == [[1.0] * count] * 24
    for place in range(count):
        inside = [depths[place] * count - place for depths in wanted_depths("uniform", count)]
        assert sorted(int(depth * 24) for depth in inside) == list(range(24))
        grid = Counter(round(depths[place] * count - place, 6) for depths in wanted_depths("grid", count))
        assert grid == dict.fromkeys([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 4)
    assert all(depths == sorted(depths) for policy in haystack.DEPTH for depths in wanted_depths(policy, count))


@pytest.mark.parametrize("share", haystack.DENSITY)
def test_the_share_of_people_who_state_it_is_dealt(share: float) -> None:
    task, cell = RETRIEVAL["paraphrase"], cell_of("paraphrase", density=share)
    for index in range(12):
        row, shared = streams(cell, index)
        sample = drawn(task, cell, index)
        source = task.layout(sample, row, shared).filler
        pool = pool_of(SEED, task.pools(cell)[0])
        order = [*source.spares.tolist(), *source.order.take(400).tolist()]
        stating = [any(fact.startswith(sample.latent["asked"] + "(") for fact in one.facts) for one in pool.take(order)]
        assert sum(stating) == share * len(order)
        for start in range(0, len(order), haystack.BLOCK):
            assert sum(stating[start : start + haystack.BLOCK]) == share * haystack.BLOCK


def test_density_changes_the_form_of_people_and_nothing_else() -> None:
    task, size = RETRIEVAL["standard"], len(people(Streams((SEED, "row")), "32k"))
    before: tuple[list[int], set[int]] | None = None
    for share in haystack.DENSITY:
        cell = cell_of("standard", density=share)
        row, shared = streams(cell, 3)
        sample = drawn(task, cell, 3)
        source = task.layout(sample, row, shared).filler
        taken = [*source.spares.tolist(), *source.order.take(500).tolist()]
        who, full = [one % size for one in taken], {one for one in taken if one < size}
        assert len(set(who)) == len(who)
        assert sample.latent["person"] not in who
        assert source.order.take(200).tolist() == source.order.take(500)[:200].tolist()
        if before:
            assert who == before[0]
            assert full < before[1]
        before = who, full


def test_a_wrong_share_is_found() -> None:
    for share in haystack.DENSITY:
        cell = cell_of("standard", density=share)
        told = [place < share * 100 for place in range(100)]
        assert list(solve.share_faults(cell, told)) == []
        assert list(solve.share_faults(cell, [False] * 100)) if share else True
        assert list(solve.share_faults(cell, [True] * 100)) if share < 1 else True
    full, empty = cell_of("standard"), cell_of("standard", density=0.0)
    assert list(solve.share_faults(full, [True] * 99 + [False]))
    assert list(solve.share_faults(empty, [False] * 99 + [True]))
    row = published(RETRIEVAL["pronoun"], cell_of("pronoun", density=0.0), 1, 60)
    assert any("share of 1.0" in fault for fault in RETRIEVAL["pronoun"].check(replace(row, stratum=full)))


def test_short_prompts_keep_their_share() -> None:
    """However few people there are, and whichever spares close the gap, the share holds."""
    task, cell = RETRIEVAL["standard"], cell_of("standard", rows=200, density=0.5)
    units = list(pool_of(SEED, task.pools(cell)[0]))
    for index in range(cell.rows):
        row, shared = streams(cell, index)
        asked, source = (
            drawn(task, cell, index).latent["asked"],
            task.layout(drawn(task, cell, index), row, shared).filler,
        )
        sizes = [len(units[one].pieces[0].text) for one in source.spares.tolist()]
        spares = subset_of_sum(sizes, 1800 + index)
        assert spares is not None
        some = [*source.order.take(8).tolist(), *source.spares[spares].tolist()]
        stating = [any(fact.startswith(asked + "(") for fact in units[one].facts) for one in some]
        assert list(solve.share_faults(cell, stating)) == []


def test_a_haystack_below_full_density_needs_an_attribute() -> None:
    cell = cell_of("standard", density=0.5)
    with pytest.raises(ValueError, match="needs an asked attribute"):
        haystack.others(streams(cell, 0)[0], cell, "people-standard", 1024, ())


# Guessers


@pytest.mark.parametrize("subtask", RETRIEVAL)
def test_questions_alone_leave_the_baseline(subtask: str) -> None:
    task = RETRIEVAL[subtask]
    samples = [
        drawn(task, replace(cell_of(subtask, rows=120), length=1024 + at), index)
        for at in range(14)
        for index in range(120)
    ]
    by_kind: dict[str, list[Sample]] = {}
    for sample in samples:
        by_kind.setdefault(sample.latent["asked"], []).append(sample)
    for kind, own in by_kind.items():
        (_, best), *_ = Counter(sample.key.target for sample in own).most_common(1)
        assert best / len(own) < 0.03
        assert own[0].latent["asked"] == kind
        assert task.baselines(own[0], own[0].key) == {"uniform": 1 / choices_of(kind)}


def test_lists_cannot_be_guessed() -> None:
    for complexity in (2, 5, 10):
        cell = cell_of("multi_standard", complexity, rows=120)
        samples = [drawn(Multi(), replace(cell, length=1024 + at), index) for at in range(5) for index in range(120)]
        # Two of 600 rows may ask the same of the same pair: a tier has 32,256 pairs that may be asked.
        assert max(Counter(sample.key.target for sample in samples).values()) <= (2 if complexity == 2 else 1)
        assert max(Multi().baselines(sample, sample.key)["uniform"] for sample in samples) < 0.0001


def first(entries: Sequence[Entry], kind: str) -> str:
    return entries[0].stated[kind]


def last(entries: Sequence[Entry], kind: str) -> str:
    return entries[-1].stated[kind]


def shortest(entries: Sequence[Entry], kind: str) -> str:
    return min(entries, key=lambda entry: entry.end - entry.start).stated[kind]


def longest(entries: Sequence[Entry], kind: str) -> str:
    return max(entries, key=lambda entry: entry.end - entry.start).stated[kind]


def most_frequent(entries: Sequence[Entry], kind: str) -> str:
    return Counter(entry.stated[kind] for entry in entries).most_common(1)[0][0]


def rarest(entries: Sequence[Entry], kind: str) -> str:
    counts = Counter(value for entry in entries for value in entry.stated.values())
    return min((entry.stated[kind] for entry in entries), key=lambda value: counts[value])


@pytest.mark.parametrize("subtask", RETRIEVAL)
def test_naive_solvers_find_one_of_the_people_and_no_more(subtask: str) -> None:
    task, cell, right = RETRIEVAL[subtask], cell_of(subtask, rows=360), Counter[str]()
    for index in range(cell.rows):
        made = published(task, cell, index, 29)
        entries, asked = read_in(task.subtask, made.text), parse_question(made.text)[-1].about[0][0]
        for guess in (first, last, shortest, longest, most_frequent, rarest):
            right[guess.__name__] += guess(entries, asked) == made.key.target
    assert max(right.values()) / cell.rows < 1 / 30 + 0.035, right


def nearest(text: str) -> str:
    """Return the sentence that shares most words with the question."""
    body, _, question = text.rpartition("\nQuestion: ")
    asked = set(re.findall(r"[a-z]+", question.lower())) - {"city"}  # which is part of some cities' names
    sentences = body.partition("\nBiographies:\n")[2].replace("\n", " ").split(". ")
    return max(sentences, key=lambda said: len(asked & set(re.findall(r"[a-z]+", said.lower()))))


def test_the_nearest_sentence_answers_plain_wording_alone() -> None:
    right = dict.fromkeys(RETRIEVAL, 0)
    for subtask, task in RETRIEVAL.items():
        cell = cell_of(subtask, rows=120)
        for index in range(cell.rows):
            made = published(task, cell, index)
            right[subtask] += made.key.target in nearest(made.text)
    assert right["standard"] == 120
    assert right["paraphrase"] < 90
    assert right["pronoun"] <= 4


def test_values_that_answer_stand_elsewhere_too() -> None:
    """Hobbies and majors are few enough to repeat in a prompt of 128K; dates and universities are near enough to."""
    row = Streams((SEED, "row"))
    some = people(row, "128k")[:1300]
    for kind in ("birthplace", "hobby", "university", "major", "city"):
        counts = Counter(person.value(kind) for person in some)
        assert sum(count for count in counts.values() if count > 1) / len(some) > 0.7


# Scores of lists


def test_scores_of_lists() -> None:
    made = published(Multi(), cell_of("multi_standard", 5), 0)
    row = {"scorer": "all_in_order", "question": made.question, "target": made.key.target, "answers": made.key.answers}
    parts = made.key.target.split("; ")
    good = [
        *made.key.answers,
        ", ".join(parts),
        "\n".join(parts),
        "\n".join(f"{at}. {part}" for at, part in enumerate(parts, start=1)),
        "Answers: " + "; ".join(parts),
        "<think>chess, golf</think>" + "; ".join(parts) + ".",
        "; ".join(parts).upper(),
    ]
    swapped = [parts[1], parts[0], *parts[2:]]
    values = [value for name in ("cities", "hobbies", "universities", "majors") for value in pool(name)[:200]]
    bad = [
        "; ".join(swapped),
        "; ".join(parts[:-1]),
        "; ".join([*parts, "golf"]),
        "; ".join(["wrong", *parts[1:]]),
        "; ".join([*values, *parts]),
        "; ".join([*parts, *parts]),
        "I do not know.",
        "",
    ]
    assert [score(row, reply) for reply in good] == [1.0] * len(good)
    assert [score(row, reply) for reply in bad] == [0.0] * len(bad)


def test_forms_of_the_parts_of_a_list() -> None:
    assert joined([("a", "b"), ("c",)]) == ("a; c", "b; c")
    assert joined([("a",), ("c",)]) == ("a; c",)
    cell = cell_of("multi_standard", 10)
    for index in range(12):
        sample = drawn(Multi(), cell, index)
        row = {"scorer": "all_in_order", "question": sample.question, "answers": sample.key.answers}
        assert all(score(row, answer) == 1.0 for answer in sample.key.answers)


# What prompts are made of

PLACED = 4
"""Biographies of a prompt that are no filler: the one that is asked about, and those of three namesakes."""


def test_prompts_hold_about_as_many_people_as_the_papers(tmp_path: Path) -> None:
    """LongBioBench, tables 4 and 5: biographies in a prompt of 128K, and their tokens in Qwen2.5."""
    paper = {"standard": (1248.75, 105.57), "paraphrase": (1060.80, 124.14), "pronoun": (1276.81, 103.28)}
    strata = tuple(Stratum("bio", name, "128k", 131072, 1, 4) for name in paper)
    found = makeups(make_plan(Recipe("made", "1", 1, "128k", strata), ("qwen2.5",), tmp_path))
    for each in found:
        units, tokens = paper[each.cell.subtask]
        assert units * 0.8 < each.units < units * 1.2
        assert tokens * 0.8 < each.unit_tokens < tokens * 1.2
        assert each.distractors == pytest.approx(each.units - PLACED)


def test_distractors_follow_density(tmp_path: Path) -> None:
    strata = tuple(
        Stratum("bio", "standard", "32k", length, 1, 4, None, (("density", share),))
        for length, share in ((8192, 1.0), (8193, 0.5), (8194, 0.0))
    )
    full, half, none = makeups(make_plan(Recipe("made", "1", 1, "32k", strata), ("o200k",), tmp_path))
    assert full.distractors == pytest.approx(full.units - PLACED)
    assert half.distractors == pytest.approx((half.units - PLACED) / 2)
    assert none.distractors == 0.0


RECIPE = """
release = "made"
version = "1"
seed = 1
tier = "32k"

[[strata]]
family = "bio"
subtasks = ["pronoun"]
complexity = [1]
lengths = [4096]
rows = 3

[[strata]]
family = "mrcr"
subtasks = ["chat"]
complexity = [2]
lengths = [8192]
rows = 2

[[strata]]
family = "latent_list"
subtasks = ["len"]
complexity = [5]
lengths = [4096]
rows = 2
"""


def test_the_plan_tells_what_prompts_are_made_of(tmp_path: Path) -> None:
    (tmp_path / "made.toml").write_text(RECIPE, encoding="ascii")
    out = ["--out", str(tmp_path / "out"), "--tokenizer", "o200k", "--tokenizer", "glm4"]
    told = CliRunner().invoke(cli, ["plan", str(tmp_path / "made.toml"), *out, "--stats", "--draws", "2", "--json"])
    assert told.exit_code == 0, told.output
    records = json.loads(told.output)["makeup"]
    assert [(record["family"], record["profile"]) for record in records] == [
        (family, profile) for family in ("bio", "mrcr", "latent_list") for profile in ("o200k", "glm4")
    ]
    people_told, turns, operations = records[::2]
    assert 38 < people_told["units_per_prompt"] < 60
    assert people_told["distractors"] == pytest.approx(people_told["units_per_prompt"] - PLACED)
    assert turns["distractors"] is operations["distractors"] is None
    assert 8 < turns["units_per_prompt"] < 80


def test_plain_biographies_are_the_pools_own() -> None:
    row = Streams((SEED, "row"))
    for number, person in enumerate(people(row, "32k")[:50]):
        assert STYLES["standard"].biography(row, "32k", number, "hobby") == biography(person, "hobby")

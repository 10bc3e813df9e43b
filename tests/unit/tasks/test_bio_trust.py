"""`citation` and `idk` of family bio: rows, pairs, planted faults, guessers and scorers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from builds import SWEPT
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.plan import Plan, make_plan
from pipeline.executors import Inline
from pipeline.metrics import REFUSAL, score
from pipeline.profiles import load_profile
from pipeline.recipe import Recipe, Stratum
from pipeline.stages import Stages
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Needle, PoolSpec, PublishedRow, Sample
from pipeline.tasks.bio.citation import LARGEST_LABEL, SMALLEST_LABEL, Citation, running
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.idk import REFUSALS, Idk, gaps
from pipeline.tasks.bio.solve import parse_biographies, parse_question
from pipeline.worlds.people import ATTRIBUTES, people
from pipeline.worlds.words import pool

CITE, IDK = Citation(), Idk()
Task = Citation | Idk
Row = dict[str, Any]


def cell(task: Task, complexity: int, rows: int = 24, shots: int | None = None, **knobs: Any) -> Stratum:
    return Stratum("bio", task.subtask, "32k", 8192, complexity, rows, shots, tuple(sorted(knobs.items())))


def streams(task: Task, stratum: Stratum, index: int) -> tuple[Streams, Streams]:
    path = (5, f"bio.{task.subtask}@1", stratum.tier, stratum.length, 1 if task.paired else stratum.complexity)
    return Streams((*path, index)), Streams(path)


def drawn(task: Task, stratum: Stratum, index: int) -> Sample:
    return task.sample(stratum, index, *streams(task, stratum, index))


_pools: dict[PoolSpec, list[str]] = {}


def pool_of(task: Task, stratum: Stratum) -> list[str]:
    (spec,) = task.pools(stratum)
    if spec not in _pools:
        _pools[spec] = [one.pieces[0].text for one in spec.make(Streams((5, "pool")), spec)]
    return _pools[spec]


def body(task: Task, stratum: Stratum, index: int, count: int = 60) -> tuple[Sample, list[tuple[str, str]]]:
    """Return a sample and the paragraphs of its prompt with their roles, placed by number of paragraphs."""
    sample = drawn(task, stratum, index)
    layout = task.layout(sample, *streams(task, stratum, index))
    texts, taken = pool_of(task, stratum), layout.filler.order.take(count)
    if layout.filler.ranks is not None:
        taken = taken[np.argsort(layout.filler.ranks[taken], kind="stable")]
    said = [("filler", texts[one]) for one in taken.tolist()]
    for item in sorted(layout.placed, key=lambda item: -item.depth):
        piece = item.unit.pieces[0]
        said.insert(round(item.depth * count), (piece.role, piece.text))
    return sample, said


def joined(task: Task, sample: Sample, said: Sequence[tuple[str, str]]) -> PublishedRow:
    layout = task.layout(sample, *streams(task, sample.stratum, sample.index))
    parts, needles = [layout.head[0].text], []
    for role, text in said:
        start = sum(map(len, parts))
        if role != "filler":
            needles.append(Needle(role, start, start + len(text), 0.5))
        parts.append(text)
    text = "".join(parts) + layout.tail[0].text
    return PublishedRow(sample.stratum, (("user", text),), text, sample.question, tuple(needles), sample.key)


def made(task: Task, stratum: Stratum, index: int) -> PublishedRow:
    return joined(task, *body(task, stratum, index))


CELLS = [
    (CITE, cell(CITE, 1, 150)),
    (CITE, cell(CITE, 2, 150)),
    (CITE, cell(CITE, 2, 30, 0, density=0.5)),
    (IDK, cell(IDK, 1, 150)),
    (IDK, cell(IDK, 0, 150)),
    (IDK, cell(IDK, 0, 30, 2, density=0.25)),
    (IDK, cell(IDK, 1, 30, 1, density=0.0, depth="grid")),
]


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("task", "stratum"), CELLS)
def test_rows_are_solved_and_checked(task: Task, stratum: Stratum, step: int) -> None:
    for index in range(0, stratum.rows, step):
        row = made(task, stratum, index)
        assert task.solve(row.turns) == row.key.answers
        assert task.check(row) == []


def test_labels_are_distinct_and_as_long_as_each_other() -> None:
    texts = pool_of(CITE, cell(CITE, 1))
    labels = [int(text[1:6]) for text in texts]
    assert len(set(labels)) == len(labels) == len(people(Streams((5,)), "32k"))
    assert all(SMALLEST_LABEL <= label <= LARGEST_LABEL for label in labels)
    assert labels != sorted(labels)


def test_what_is_asked_is_balanced() -> None:
    for task, stratum in CELLS[:5]:
        samples = [drawn(task, stratum, index) for index in range(stratum.rows)]
        assert set(Counter(sample.latent["asked"] for sample in samples).values()) == {stratum.rows // 6}
        asked = [one for sample in samples for one in sample.latent.get("people", [sample.latent.get("person")])]
        assert len(set(asked)) == len(asked)
        shown = [one for sample in samples for one in np.ravel(sample.latent["shown"])[:2]]
        assert not shown or len(set(shown)) > len(shown) / 2
    orders = [drawn(CITE, CELLS[1][1], index).latent["order"] for index in range(150)]
    assert orders.count([1, 0]) == 75


def test_two_facts_stand_in_the_order_that_the_sample_says() -> None:
    for index in range(40):
        sample, said = body(CITE, CELLS[1][1], index)
        texts = [text for role, text in said if role == "relevant"]
        assert texts == list(sample.relevant)
        names = [people(Streams((5,)), "32k")[one].name for one in sample.latent["people"]]
        assert [names[place] in text for place, text in zip(sample.latent["order"], texts, strict=True)] == [True, True]


def test_planted_faults_of_citation_are_found() -> None:
    sample, said = body(CITE, cell(CITE, 2), 3)
    good = joined(CITE, sample, said)
    at = next(place for place, pair in enumerate(pairwise(said)) if {r for r, _ in pair} == {"filler"})
    own = next(text for role, text in said if role == "relevant")
    first, middle, last = own.split()[1:4]
    label = own[1:6]

    def changed(text: str) -> PublishedRow:
        return joined(CITE, sample, [*said[:at], ("filler", text), *said[at + 1 :]])

    twin = changed(own.replace(f"{first} {middle} {last}", f"{first} Xenia {last}").replace(label, "12345"))
    shown = good.text.replace("\nAnswer: ", "\nAnswer: no ", 1)
    faults = {
        "same label": changed(said[at][1].replace(said[at][1][1:6], label)),
        "not a label of five digits": changed(said[at][1].replace(said[at][1][1:6], "123")),
        "same full name": changed(said[at + 1][1].replace(said[at + 1][1][1:6], "12345")),
        "3 were promised": twin,
        "needles of people asked": replace(good, needles=tuple(n for n in good.needles if n.role == "demo")),
        "needles of demonstrations": replace(good, needles=tuple(n for n in good.needles if n.role != "demo")),
        "the key 'wrong'": replace(good, key=replace(good.key, target="wrong")),
        "the demonstration about": replace(good, turns=(("user", shown),)),
        "expected 1 people": replace(good, stratum=replace(good.stratum, complexity=1)),
        "a share of 0.25": replace(good, stratum=replace(good.stratum, knobs=(("density", 0.25),))),
        "does not end in the question": replace(good, question="Who?"),
    }
    for fault, row in faults.items():
        assert any(fault in found for found in CITE.check(row)), (fault, CITE.check(row))


def test_planted_faults_of_idk_are_found() -> None:
    sample, said = body(IDK, cell(IDK, 0, shots=2), 3)
    good = joined(IDK, sample, said)
    whole = drawn(IDK, cell(IDK, 1, shots=2), 3).relevant[0]
    at = next(place for place, (role, _) in enumerate(said) if role == "filler")
    short = ". ".join(said[at][1].split(". ")[:3]) + ".\n"
    full = [item for item in said if item[1].count(". ") == 5]
    kept = [item for item in said if item[0] != "filler"]
    faults = {
        "does not lack just": replace(good, stratum=replace(good.stratum, complexity=1)),
        "the prompt states": joined(
            IDK, sample, [("relevant", whole) if role == "relevant" else (role, text) for role, text in said]
        ),
        "lacks more than one sentence": joined(IDK, sample, [*said[:at], ("filler", short), *said[at + 1 :]]),
        "are without a gap": joined(IDK, sample, [*kept, *(item for item in full if item[0] == "filler")]),
        "needles of people asked": replace(good, needles=good.needles[:1] * 3),
        "same full name": joined(IDK, sample, [*said, said[at]]),
        "state what is asked": replace(good, stratum=replace(good.stratum, knobs=(("density", 0.25),))),
    }
    for fault, row in faults.items():
        assert any(fault in found for found in IDK.check(row)), (fault, IDK.check(row))


def test_text_that_cannot_be_read_is_refused() -> None:
    sample, said = body(CITE, cell(CITE, 1), 0)
    unlabelled = [(role, text.partition("] ")[2]) if role == "filler" else (role, text) for role, text in said]
    with pytest.raises(ValueError, match=r"labels|no biography"):
        CITE.solve(joined(CITE, sample, unlabelled).turns)
    without = [item for item in said if item[0] != "relevant"]
    with pytest.raises(ValueError, match="has 0 biographies"):
        CITE.solve(joined(CITE, sample, without).turns)
    sample, said = body(IDK, cell(IDK, 1), 0)
    own = next(item for item in said if item[0] == "relevant")
    with pytest.raises(ValueError, match="has 2 biographies"):
        IDK.solve(joined(IDK, sample, [*said, own]).turns)


def test_running_numbers_count_the_paragraphs_and_are_cited(numbered: dict[str, list[Row]]) -> None:
    targets = set()
    for row in (row for rows in numbered.values() for row in rows):
        body = row["prompt"].partition("\nBiographies:\n")[2].partition("\nThis is the end")[0].splitlines()
        assert [line[1:6] for line in body] == [running(number, "32k") for number in range(1, len(body) + 1)]
        own = [row["prompt"][n["char_start"] + 1 :][:5] for n in row["needles"] if n["role"] == "relevant"]
        named = [part.partition("[")[2].rstrip("]") for part in row["target"].split("; ")]
        assert sorted(named) == sorted(own)
        assert score(row, row["target"]) == 1.0
        targets.add((row["id"], row["target"]))
    assert len(targets) > len({name for name, _ in targets}), "a number depends on how many paragraphs a profile has"


def test_a_wrong_running_number_is_found(numbered: dict[str, list[Row]]) -> None:
    row = numbered["o200k"][-1]
    knobs = tuple(json.loads(row["metadata"])["knobs"].items())
    stratum = Stratum("bio", "citation", "32k", row["length"], row["complexity"], 4, None, knobs)
    needles = tuple(Needle(n["role"], n["char_start"], n["char_end"], n["depth"]) for n in row["needles"])
    key = Key(row["target"], tuple(row["answers"]))
    good = PublishedRow(stratum, (("user", row["prompt"]),), row["prompt"], row["question"], needles, key)
    assert CITE.check(good) == []
    first, second, between = "\n[00.01] ", "\n[00.02] ", "\n[?] "
    swapped = row["prompt"].replace(first, between).replace(second, first).replace(between, second)
    bad = replace(good, turns=(("user", swapped),), prompt=swapped)
    assert "the biographies are not numbered in order" in CITE.check(bad)
    wrong = replace(good, key=Key(row["target"][:-3] + "xx]", key.answers))
    assert any("the prompt states" in fault for fault in CITE.check(wrong))


@pytest.mark.parametrize("name", SWEPT)
def test_every_running_number_has_as_many_tokens(name: str) -> None:
    count = load_profile(name).counter().counts
    for tier, last in (("32k", 10_000), ("1m", 20_000)):
        said = [f"[{running(number, tier)}] Ada Eve Lind was born.\n" for number in range(0, last, 7)]
        assert len(set(count(said).tolist())) == 1


@pytest.mark.parametrize(("task", "form"), [(CITE, 1), (CITE, 2), (IDK, 1), (IDK, 0)])
def test_the_question_alone_gives_nothing_away(task: Task, form: int) -> None:
    """The most frequent value of each attribute, with a label for good measure, and a refusal, over 2,000 draws."""
    cells = [replace(cell(task, form, 500), length=8192 + batch) for batch in range(4)]
    keys = [drawn(task, stratum, index) for stratum in cells for index in range(stratum.rows)]
    by_asked: dict[str, Counter[str]] = {}
    for sample in keys:
        by_asked.setdefault(sample.latent["asked"], Counter())[sample.key.target] += 1
    best = sum(counts.most_common(1)[0][1] for counts in by_asked.values()) / len(keys)
    assert best <= (1 if form == 0 else 0.03)
    values = [answer.partition(" [")[0] for sample in keys for answer in sample.key.answers[:1]]
    assert (form == 0) or max(Counter(values).values()) / len(keys) <= 0.03
    assert [task.baselines(sample, sample.key)["uniform"] <= 0.005 for sample in keys] == [True] * len(keys)


@pytest.mark.parametrize(("task", "form"), [(CITE, 1), (IDK, 1), (IDK, 0)])
def test_naive_readers_do_not_find_the_biography(task: Task, form: int) -> None:
    """Who takes the first, last, shortest or longest paragraph, or the rarest value, meets it by chance."""
    rows, paragraphs = 240, 60
    stratum, met = cell(task, form, rows, 0), Counter[str]()
    for index in range(rows):
        row = made(task, stratum, index)
        lines = parse_biographies(row.text)
        name = parse_question(row.text)[-1].names[0]
        at = next(place for place, entry in enumerate(lines) if entry.name == name)
        asked = drawn(task, stratum, index).latent["asked"]
        times = Counter(entry.stated.get(asked) for entry in lines)
        sizes = [entry.end - entry.start for entry in lines]
        rare = [place for place, entry in enumerate(lines) if times[entry.stated.get(asked)] == min(times.values())]
        picks = {"first": 0, "last": len(lines) - 1, "shortest": np.argmin(sizes), "longest": np.argmax(sizes)}
        met.update(name for name, place in picks.items() if place == at)
        met["rarest"] += (at in rare) / len(rare)
    chance = 1 / (paragraphs + 1)
    assert all(count / rows <= (2 + 2 * (form == 0)) * chance + 0.01 for count in met.values()), met


@pytest.mark.parametrize(("task", "form"), [(CITE, 1), (CITE, 2), (IDK, 1)])
def test_without_its_biography_nothing_is_answered(task: Task, form: int) -> None:
    """Who answers with the person whose name is nearest to that of the asked one scores at most 3%."""
    rows, total = 240, 0.0
    for index in range(rows):
        row = made(task, cell(task, form, rows, 0), index)
        table = parse_biographies(row.text)
        parts = []
        asked = parse_question(row.text)[-1]
        for attribute, name in asked.about:
            others = [one for one in table if one.name not in asked.names and attribute in one.stated]
            alike = [len(set(entry.name.split()) & set(name.split())) for entry in others]
            entry = others[int(np.argmax(alike))]
            parts.append(entry.stated[attribute] + f" [{entry.label}]" * bool(entry.label))
        told = {"scorer": task.scorer, "question": row.question, "target": row.key.target, "choices": None}
        total += score({**told, "answers": list(row.key.answers)}, "; ".join(parts))
    assert total / rows <= 0.03


def test_half_of_the_people_have_a_gap_and_every_attribute_is_missed_as_often() -> None:
    missed = Counter(gaps(Streams((5,)), "32k"))
    count = len(people(Streams((5,)), "32k"))
    assert abs(missed[""] - count / 2) <= 6
    assert max(missed[one] for one in ATTRIBUTES) - min(missed[one] for one in ATTRIBUTES) <= 1


def test_both_forms_of_a_pair_share_all_but_the_sentence() -> None:
    for shots in (0, 2):
        for index in range(40):
            one, other = (drawn(IDK, cell(IDK, form, 40, shots), index) for form in (1, 0))
            assert one.latent == other.latent
            assert one.question == other.question
            layouts = [IDK.layout(sample, *streams(IDK, sample.stratum, index)) for sample in (one, other)]
            assert [(layout.head, layout.tail) for layout in layouts[:1]] == [(layouts[1].head, layouts[1].tail)]
            assert layouts[0].placed[1:] == layouts[1].placed[1:]
            assert layouts[0].placed[0].depth == layouts[1].placed[0].depth
            fillers = [layout.filler for layout in layouts]
            assert fillers[0].spares.tolist() == fillers[1].spares.tolist()
            assert fillers[0].order.take(300).tolist() == fillers[1].order.take(300).tolist()
            said = set(one.relevant[0].strip().split(". ")) - set(other.relevant[0].strip().split(". "))
            assert 1 <= len(said) <= 2, "the sentence, and the full stop of the one before it if it was the last"
            assert len(one.relevant[0].split(". ")) == len(other.relevant[0].split(". ")) + 1


RECIPE = (
    *(Stratum("bio", "citation", "32k", 2048, complexity, 4) for complexity in (1, 2)),
    *(
        Stratum("bio", "idk", "32k", length, form, 6, shots)
        for form in (1, 0)
        for length, shots in ((2048, 0), (8192, 2))
    ),
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """All rows of a small build in three profiles."""
    names = ("glm4", "llama3.1", "o200k")
    plan: Plan = make_plan(Recipe("t", "1", 7, "32k", RECIPE), names, tmp_path_factory.mktemp("trust"))
    assert all(Stages(plan, Inline).build())
    return rows_of(plan)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """Rows with running numbers in two profiles; to glm4 five bare digits are now three tokens, now four."""
    knobs = (("labels", "running"),)
    cells = [Stratum("bio", "citation", "32k", n, many, 4, None, knobs) for n in (2048, 8192) for many in (1, 2)]
    plan = make_plan(Recipe("t", "1", 7, "32k", tuple(cells)), ("glm4", "o200k"), tmp_path_factory.mktemp("numbered"))
    assert all(Stages(plan, Inline).build())
    return rows_of(plan)


def rows_of(plan: Plan) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {profile.name: [] for profile in plan.profiles}
    for shard in plan.all_shards():
        found[shard.profile.name] += read_rows(shard.path(plan.out, "data"))
    return found


def filler_of(row: Row) -> list[str]:
    """Return the lines of a prompt that are no needles."""
    marked = {row["prompt"][needle["char_start"] : needle["char_end"]] for needle in row["needles"]}
    return [line for line in row["prompt"].splitlines(keepends=True) if line not in marked]


def test_pairs_differ_in_the_sentence_and_in_what_closes_the_gap(built: dict[str, list[Row]]) -> None:
    for rows in built.values():
        found = {row["id"]: row for row in rows if row["subtask"] == "idk"}
        pairs = [(row, found[name.replace("a-", "b-")]) for name, row in found.items() if "a-" in name]
        assert len(pairs) * 2 == len(found) == 24
        for one, other in pairs:
            assert (one["complexity"], other["complexity"]) == (1, 0)
            same = ("question", "length", "context_tokens", "prompt_tokens", "template_tokens", "scorer", "shots")
            assert all(one[name] == other[name] for name in same)
            latents = [json.loads(row["metadata"])["latent"] for row in (one, other)]
            assert latents[0] == latents[1]
            lines = [filler_of(row) for row in (one, other)]
            common = [[line for line in some if line in set(rest)] for some, rest in (lines, lines[::-1])]
            assert common[0] == common[1], "what both have stands in the same order"
            for some, shared in zip(lines, common, strict=True):
                assert len(some) - len(shared) <= 12
            depths = [next(n["depth"] for n in row["needles"] if n["role"] == "relevant") for row in (one, other)]
            assert abs(depths[0] - depths[1]) <= 200 / one["length"]


def test_replies_fit_with_margin() -> None:
    longest = [
        "; ".join(f"{max(accepted(value, name), key=len)} [99999]" for value in sorted(pool(source), key=len)[-2:])
        for name, source in (("university", "universities"), ("major", "majors"), ("hobby", "hobbies"))
    ]
    longest.append("; ".join(["30th of September 1999 [99999]"] * 2))
    for profile in map(load_profile, SWEPT):
        assert max(map(profile.counter().count, longest)) <= 0.8 * CITE.max_new_tokens
        assert max(map(profile.counter().count, REFUSALS)) <= 0.8 * IDK.max_new_tokens


def test_keys_are_worth_one_and_no_reply_both_forms(built: dict[str, list[Row]]) -> None:
    rows = built["o200k"]
    replies = [answer for row in rows for answer in row["answers"]]
    for row in rows:
        assert all(score(row, answer) == 1.0 for answer in row["answers"])
        assert score(row, "") == 0.0
    idk = {row["id"]: row for row in rows if row["subtask"] == "idk"}
    for name, row in idk.items():
        if "a-" in name:
            other = idk[name.replace("a-", "b-")]
            both = [f"{row['target']} ({REFUSALS[0]})", f"{REFUSALS[0]}\n{row['target']}", f"{row['target']}\nUnknown"]
            assert all(score(row, reply) + score(other, reply) <= 1 for reply in (*replies, *both))


def test_no_value_or_name_reads_like_a_refusal() -> None:
    for name in ("cities", "hobbies", "universities", "majors", "first", "middle", "last"):
        assert not [value for value in pool(name) if REFUSAL.search(value)]


def cited(*parts: str) -> Row:
    question = " ".join(f"What is the birthplace of {name}?" for name in ("Ada Eve Lind", "Bo Kai Roth")[: len(parts)])
    return {"scorer": "citation", "question": question, "answers": ["; ".join(parts)], "target": "; ".join(parts)}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Oslo [48213]", 1),
        ("[48213] Oslo", 1),
        ("**Oslo** (48213)", 1),
        ("Oslo\n[48213]", 1),
        ("Answer: Oslo\nLabel: [48213]", 1),
        ("The birthplace of Ada Eve Lind is Oslo [label 48213].", 1),
        ("<think>Lima [70554]?</think>Oslo [48213]", 1),
        ("\\boxed{Oslo [48213]}", 1),
        ("Oslo", 0),
        ("[48213]", 0),
        ("Oslo [48214]", 0),
        ("Lima [48213]", 0),
        ("Oslo, Lima [48213]", 0),
        ("Oslo or Lima [48213]", 0),
        ("Oslo [48213] [48214]", 0),
        ("Oslo [48213, 48214]", 0),
        ("Oslo [148213]", 0),
        ("Oslo 48213.5", 0),
        ("Oslo [48213]\nLima [70554]", 0),
    ],
)
def test_citation_of_one_fact(reply: str, value: float) -> None:
    assert score(cited("Oslo [48213]"), reply) == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Oslo [48213]; Lima [70554]", 1),
        ("Oslo [48213]\nLima [70554]", 1),
        ("1. Oslo [48213]\n2. Lima [70554]", 1),
        ("Answer:\nOslo [48213]\nLima [70554]\n", 1),
        ("Answer: Oslo [48213]\nLima [70554]\n", 1),
        ("Oslo [48213] and Lima [70554].", 1),
        ("[48213] Oslo; [70554] Lima", 1),
        ("Oslo\n[48213]\nLima\n[70554]", 1),
        ("Lima [70554]; Oslo [48213]", 0),
        ("Oslo [70554]; Lima [48213]", 0),
        ("Oslo, Lima [48213] [70554]", 0),
        ("Oslo [48213]", 0),
        ("Oslo [48213]; Lima, Rome [70554]", 0),
        ("Oslo [48213]; Lima [70554]; Rome [12345]", 0),
        ("Oslo; Lima", 0),
    ],
)
def test_citation_of_two_facts(reply: str, value: float) -> None:
    assert score(cited("Oslo [48213]", "Lima [70554]"), reply) == value


@pytest.mark.parametrize(
    ("reply", "stated", "unstated"),
    [
        ("Oslo", 1, 0),
        ("Not stated", 0, 1),
        ("Answer: **not stated.**", 0, 1),
        ("The biography of Ada Eve Lind does not mention the birthplace.", 0, 1),
        ("I don\u2019t know", 0, 1),
        ("Oslo (not stated)", 0, 0),
        ("Not stated, but probably Oslo", 0, 0),
        ("Not stated\nOslo", 0, 0),
        ("Lima", 0, 0),
        ("", 0, 0),
    ],
)
def test_pairs_are_scored_by_form(reply: str, stated: float, unstated: float) -> None:
    row = {"scorer": "idk_pair", "question": "What is the birthplace of Ada Eve Lind?", "choices": None}
    assert score({**row, "target": "Oslo", "answers": ["Oslo"]}, reply) == stated
    assert score({**row, "target": REFUSALS[0], "answers": list(REFUSALS)}, reply) == unstated

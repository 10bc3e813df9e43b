"""Messages that are counted: needed one by one, beside decoys, and by no shortcut."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain, product
from statistics import fmean

import numpy as np
import pytest

from pipeline.metrics import score, scorers_of
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, PublishedRow, Sample
from pipeline.tasks.messages import Meaning, sentences
from pipeline.tasks.messages import read as meaning_of
from pipeline.tasks.tally import TASKS, base
from pipeline.tasks.tally.solve import DOMAIN, Entry, entries_of, phrases, question_of, read
from pipeline.tasks.tally.text import ordinal
from pipeline.verify.statistics import balance_faults
from pipeline.worlds.people import MONTHS
from pipeline.worlds.utterances import TAGS, domain, kinds, phrase
from surface_learner import auc

TASK = {task.subtask: task for task in TASKS}
PLACES = [(task.subtask, complexity) for task in TASKS for complexity in task.complexities]
OF_CLERKS = [place for place in PLACES if place[0] not in ("most", "compare")]
SHARES = [place for place in PLACES if place[0] in ("most", "compare")]
ROWS = 12
TIER = "128k"
LINE = "On 3 May clerk 12345 received: I'd like to renew my zoo membership.\n"


def cell(subtask: str, complexity: int, rows: int = ROWS, **knobs: bool) -> Stratum:
    return Stratum("tally", subtask, TIER, 16384, complexity, rows, knobs=tuple(sorted(knobs.items())))


def streams(stratum: Stratum, index: int) -> tuple[Streams, Streams]:
    path = (5, stratum.subtask, stratum.complexity)
    return Streams((*path, index)), Streams(path)


@lru_cache
def lines(form: str) -> list[str]:
    spec = base.spec_of(cell("count", 5, stated=form == "stated"))
    return [unit.pieces[0].text for unit in spec.make(Streams((5,)), spec)]


def drawn(stratum: Stratum, index: int) -> Sample:
    return TASK[stratum.subtask].sample(stratum, index, *streams(stratum, index))


def publish(sample: Sample, count: int = 300) -> PublishedRow:
    """Put so many lines of filler round the placed ones, as packing does, and mark what is marked."""
    layout = TASK[sample.stratum.subtask].layout(sample, *streams(sample.stratum, sample.index))
    every = lines("stated" if base.is_stated(sample.stratum) else "plain")
    taken = np.concatenate([layout.filler.order.take(count), layout.filler.spares[::4]])
    if layout.filler.ranks is not None:
        taken = taken[np.argsort(layout.filler.ranks[taken], kind="stable")]
    filler = [every[at] for at in taken.tolist()]
    parts = [(piece.text, piece.role) for piece in layout.head]
    done = 0
    for item in sorted(layout.placed, key=lambda placed: placed.depth):
        here = round(item.depth * len(filler))
        parts += [(line, "filler") for line in filler[done:here]]
        parts += [(piece.text, piece.role) for piece in item.unit.pieces]
        done = here
    parts += [(line, "filler") for line in filler[done:]] + [(piece.text, piece.role) for piece in layout.tail]
    at, needles = 0, []
    for text, role in parts:
        if role in ("relevant", "decoy"):
            needles.append(Needle(role, at, at + len(text), None))
        at += len(text)
    text = "".join(text for text, _ in parts)
    return PublishedRow(sample.stratum, (("user", text),), text, sample.question, tuple(needles), sample.key, {})


@lru_cache
def published(subtask: str, complexity: int) -> list[PublishedRow]:
    return [publish(drawn(cell(subtask, complexity), index)) for index in range(ROWS)]


def check(row: PublishedRow) -> list[str]:
    return TASK[row.stratum.subtask].check(row)


def solved(row: PublishedRow) -> str:
    return TASK[row.stratum.subtask].solve(row.turns)[0]


def marked(row: PublishedRow, role: str) -> list[str]:
    return [row.text[one.char_start : one.char_end] for one in row.needles if one.role == role]


def with_text(row: PublishedRow, text: str) -> PublishedRow:
    return replace(row, turns=(("user", text),), prompt=text)


def scored(row: PublishedRow, reply: str, *quirks: str) -> float:
    keyed = {"scorer": TASK[row.stratum.subtask].scorer, "question": row.question, **row.key.columns()}
    return score(keyed, reply, scorers_of(quirks))


@pytest.mark.parametrize("asked", PLACES)
def test_the_solver_agrees_with_the_sampler_and_nothing_is_wrong(asked: tuple[str, int]) -> None:
    for row in published(*asked):
        assert TASK[asked[0]].solve(row.turns) == row.key.answers
        assert row.key.target == row.key.answers[0]
        assert check(row) == []
        assert scored(row, row.key.target) == 1


@pytest.mark.parametrize("asked", PLACES)
def test_the_answer_is_the_same_at_every_length(asked: tuple[str, int]) -> None:
    sample = drawn(cell(*asked), 1)
    for count in (90, 1500):
        row = publish(sample, count)
        assert solved(row) == sample.key.target
        assert check(row) == []


@pytest.mark.parametrize("asked", OF_CLERKS)
def test_near_misses_are_as_many_at_every_length(asked: tuple[str, int]) -> None:
    sample = drawn(cell(*asked), 2)
    few, many = (publish(sample, count) for count in (90, 1500))
    assert Counter(marked(few, "decoy")) == Counter(marked(many, "decoy"))
    kinds_asked, named = read(few.text).asked.kinds, read(few.text).asked.named

    def near(row: PublishedRow) -> int:
        entries = read(row.text).entries
        return sum(each.intent in kinds_asked or each.clerk == named.get("clerk") for each in entries)

    assert near(few) == near(many)


@pytest.mark.parametrize("asked", OF_CLERKS)
def test_without_any_relevant_line_the_answer_is_another(asked: tuple[str, int]) -> None:
    row = published(*asked)[0]
    for line in marked(row, "relevant")[:9]:
        text = row.text.replace(line, "", 1)
        with suppress(ValueError):
            assert TASK[asked[0]].solve((("user", text),))[0] != row.key.target
    for line in marked(row, "decoy")[:9]:
        assert TASK[asked[0]].solve((("user", row.text.replace(line, "", 1)),))[0] == row.key.target


@pytest.mark.parametrize("asked", PLACES)
def test_what_is_dealt_is_dealt_evenly(asked: tuple[str, int]) -> None:
    found = [drawn(cell(*asked, rows), index) for rows in (9, 25) for index in range(rows)]
    assert list(balance_faults(found)) == []
    assert all(json.loads(json.dumps(dict(sample.latent))) == sample.latent for sample in found)


@pytest.mark.parametrize("asked", [asked for asked in PLACES if asked[0] == "count"])
def test_no_constant_number_is_often_right(asked: tuple[str, int]) -> None:
    targets = Counter(drawn(cell(*asked, 60), index).key.target for index in range(60))
    assert max(targets.values()) / 60 <= {5: 0.16, 20: 0.09, 80: 0.04}[asked[1]]


def test_lines_may_state_what_their_messages_ask() -> None:
    row = publish(drawn(cell("count", 5, stated=True), 0))
    assert check(row) == []
    entries = read(row.text).entries
    assert all(phrases()[each.stated] == each.intent for each in entries)
    wrong = row.text.replace(
        f"[{entries[3].stated}]", f"[{next(one for one in phrases() if one != entries[3].stated)}]"
    )
    assert any("states something else" in fault for fault in check(with_text(row, wrong)))
    assert any("as the knob has it" in fault for fault in check(replace(row, stratum=cell("count", 5))))


def test_planted_faults_are_found() -> None:
    for place in PLACES:
        row = published(*place)[3]
        assert check(replace(row, key=replace(row.key, answers=(row.key.target, "x"))))
        assert check(replace(row, question="How many?"))
        assert check(replace(row, needles=[one for one in row.needles if one.role == "decoy"]))
        moved = replace(row.needles[0], char_start=row.needles[0].char_start + 1)
        assert check(replace(row, needles=(moved, *row.needles[1:])))
        line = next(line for line in row.text.splitlines(keepends=True) if line.startswith("On "))
        assert check(with_text(row, row.text.replace(line, line + line)))
        if place in OF_CLERKS:
            other = "decoy" if row.needles[0].role == "relevant" else "relevant"
            assert check(replace(row, needles=(replace(row.needles[0], role=other), *row.needles[1:])))
            assert check(replace(row, key=replace(row.key, target="x", answers=("x",))))


@pytest.mark.parametrize("asked", SHARES)
def test_a_lead_that_is_too_small_is_found(asked: tuple[str, int]) -> None:
    row = published(*asked)[0]
    entries = read(row.text).entries
    answer = {name for name, kind in kinds("act").items() if kind.word in row.key.target.split(" and ")}
    text, lead = row.text, [each for each in entries if each.intent[0] in answer]
    for entry in lead[: len(lead) // 4]:
        text = text.replace(f"On {entry.day} {entry.month} clerk {entry.clerk} received: {entry.message}\n", "", 1)
    try:
        found = check(with_text(row, text))
    except ValueError as fault:
        found = [str(fault)]
    assert any("too near" in fault or "equally" in fault or "not one of" in fault for fault in found)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "does not hold messages"),
        (
            f"\nMessages:\n{LINE}This is the end of the messages.\n\nQuestion: Who?\nAnswer:",
            "no question about messages",
        ),
        ("\nMessages:\nx\nThis is the end of the messages.\n\nQuestion: Who?\nAnswer:", "is no message"),
    ],
)
def test_prompts_that_hold_no_messages_are_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        TASK["count"].solve((("user", text),))


def test_questions_name_kinds_as_the_world_does() -> None:
    assert dict(phrases()) == {phrase(one): one for one in base.INTENTS}
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 22, 80)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "80th")
    ]


# Readers that know no meaning


Mentions = Callable[[Entry, tuple[str, str]], bool]
"""Whether a line seems to ask for a kind."""


@lru_cache(maxsize=100_000)
def meaning(entry: Entry) -> Meaning:
    return meaning_of(entry.message.rstrip(), DOMAIN)


def mentions(entry: Entry, kind: tuple[str, str]) -> bool:
    return kind[0] in meaning(entry).acts and kind[1] in meaning(entry).things


def mentions_at(place: int) -> Mentions:
    return lambda entry, kind: (meaning(entry).acts[place], meaning(entry).things[place]) == kind


def mentions_alone(entry: Entry, kind: tuple[str, str]) -> bool:
    return (meaning(entry).acts, meaning(entry).things) == ((kind[0],), (kind[1],))


READS: dict[str, Mentions] = {
    "mentioned": mentions,
    "first": mentions_at(0),
    "last": mentions_at(-1),
    "alone": mentions_alone,
    "clerk": lambda entry, kind: True,
}
"""Readers who know all words of acts and things, and see neither what is denied nor what is not meant."""


@pytest.mark.parametrize("complexity", TASK["count"].complexities)
def test_who_counts_by_words_or_clerk_or_kind_is_wrong(complexity: int) -> None:
    """No count of what is mentioned, first, last or alone, is often right; that of the clerk or the kind never is."""
    found: dict[str, list[float]] = {name: [] for name in (*READS, "kind")}
    for row in published("count", complexity):
        book = read(row.text)
        clerk, (kind,) = book.asked.named["clerk"], book.asked.kinds
        mine = [entry for entry in book.entries if entry.clerk == clerk]
        for name, seems in READS.items():
            found[name].append(scored(row, str(sum(seems(entry, kind) for entry in mine))))
        found["kind"].append(scored(row, str(sum(entry.intent == kind for entry in book.entries))))
    scores = {name: fmean(each) for name, each in found.items()}
    assert scores["clerk"] == scores["kind"] == scores["mentioned"] == 0
    assert max(scores.values()) <= 0.34


@pytest.mark.parametrize("complexity", TASK["users"].complexities)
def test_who_finds_clerks_by_words_names_most_of_them_wrongly(complexity: int) -> None:
    found: dict[str, list[float]] = {name: [] for name in READS}
    for row in published("users", complexity):
        book = read(row.text)
        for name, seems in READS.items():
            one, other = ({each.clerk for each in book.entries if seems(each, kind)} for kind in book.asked.kinds)
            found[name].append(scored(row, ", ".join(sorted(one & other)) or "none"))
    assert max(fmean(each) for each in found.values()) <= 0.5


def test_who_dates_by_words_is_seldom_right() -> None:
    found: dict[str, list[float]] = {name: [] for name in READS}
    for complexity in TASK["when"].complexities:
        for row in published("when", complexity):
            book = read(row.text)
            mine = [entry for entry in book.entries if entry.clerk == book.asked.named["clerk"]]
            for name, seems in READS.items():
                dates = sorted(each.date for each in mine if seems(each, book.asked.kinds[0]))
                reply = MONTHS[dates[:complexity][-1][0]] if dates else "none"
                found[name].append(scored(row, reply))
    assert max(fmean(each) for each in found.values()) <= 0.5


def said_of(acts: Sequence[str]) -> str:
    return " and ".join(kinds("act")[act].word for act in acts)


@pytest.mark.parametrize("lines_read", [70, 600])
@pytest.mark.parametrize("asked", SHARES)
def test_no_count_of_words_tells_what_is_asked_most(asked: tuple[str, int], lines_read: int) -> None:
    """What is denied, mentioned, mentioned first, last or alone most or least, in the whole text or in a part of it."""
    rows = 30
    found: dict[str, list[float]] = {}
    for index in range(rows):
        row = publish(drawn(cell(*asked, rows), index), lines_read)
        book = read(row.text)
        every = [meaning(entry) for entry in book.entries]
        for part, some in {"all": every, "start": every[: len(every) // 2], "end": every[-70:]}.items():
            counted = {
                "denied": Counter(each.denied for each in some),
                "mentioned": Counter(act for each in some for act in each.acts),
                "first": Counter(each.acts[0] for each in some),
                "last": Counter(each.acts[-1] for each in some),
                "alone": Counter(each.act for each in some if not each.denied),
            }
            for (name, times), sign in product(counted.items(), (1, -1)):
                best = max(book.asked.options, key=lambda one, t=times, s=sign: s * sum(t[act] for act in one))
                found.setdefault(f"{'most' if sign > 0 else 'least'} {name}, {part}", []).append(
                    scored(row, said_of(best))
                )
    scores = {name: fmean(each) for name, each in found.items()}
    most = max(scores, key=lambda name: scores[name])
    assert scores[most] <= {"most": 0.3, "compare": 0.5}[asked[0]] + 0.2, (most, scores[most])


@pytest.mark.parametrize("asked", SHARES)
def test_acts_are_denied_alike_whatever_their_part_in_the_answer(asked: tuple[str, int]) -> None:
    """Over all rows the leader and those that it is held against are denied, and stand alone, about equally often."""
    rows, times = 20, {"denied": Counter[int](), "alone": Counter[int]()}
    for index in range(rows):
        sample = drawn(cell(*asked, rows), index)
        ranks = {act: rank for rank, act in enumerate(sample.latent["ranks"])}
        for entry in read(publish(sample, 500).text).entries:
            said = meaning(entry)
            times["denied" if said.denied else "alone"][ranks[said.denied or said.act]] += 1
    sides = {"most": ((0,), range(1, 10)), "compare": ((0, 1), (2, 3))}[asked[0]]
    for name, counted in times.items():
        leader, others = (fmean(counted[rank] for rank in some) for some in sides)
        assert 0.75 <= leader / others <= 1.33, (name, leader, others)


def test_tags_tell_neither_what_is_asked_or_denied_nor_what_is_meant() -> None:
    """Of lines that begin with an act: "by the way" ends no act, and asides as often whether they mean the thing."""
    known = domain(DOMAIN)
    some = {
        "act": (*known.asked.values(), *known.denied.values()),
        "meant": (known.after,),
        "not meant": (known.not_meant,),
    }
    starts = {
        name: tuple({wording.partition("{")[0] for line in chain(*each) for wording in line} - {""})
        for name, each in some.items()
    }
    tagged: dict[str, list[float]] = {name: [] for name in starts}
    for line in lines("plain"):
        first, *rest = sentences(line.partition(": ")[2].rstrip())
        for sentence, name in product(rest if first.startswith(starts["act"]) else [], starts):
            if sentence.startswith(starts[name]):
                tagged[name].append(float(sentence[:-1].rpartition(", ")[2] in TAGS))
    rates = {name: fmean(found) for name, found in tagged.items()}
    assert min(map(len, tagged.values())) >= 500
    assert rates["act"] == 0
    assert abs(rates["meant"] - rates["not meant"]) <= 0.04, rates


@pytest.mark.parametrize("asked", SHARES)
def test_who_reads_a_quarter_of_the_text_is_right_in_some_rows(asked: tuple[str, int]) -> None:
    scores = []
    for index in range(ROWS):
        row = publish(drawn(cell(*asked), index), 900)
        book = read(row.text)
        acts = [entry.intent[0] for entry in book.entries]
        for part in (acts[: len(acts) // 4], acts[-len(acts) // 4 :]):
            times = Counter(part)
            best = max(book.asked.options, key=lambda one, times=times: sum(times[act] for act in one))
            scores.append(scored(row, said_of(best)))
    assert fmean(scores) <= 0.7


def test_no_two_rows_of_a_length_put_the_same_question_of_two_pairs() -> None:
    """Neither in the same order nor in another; in the default size no two rows of a tier do."""
    for rows, lengths in ((100, (4096,)), (600, (4096,)), (25, (4096, 8192, 16384, 32768, 65536, 131072))):
        cells = [replace(cell("compare", 2, rows), length=length) for length in lengths]
        asked = [question_of(drawn(one, index).question).options for one in cells for index in range(rows)]
        assert len({frozenset(map(frozenset, options)) for options in asked}) == len(asked)


def test_no_two_rows_of_a_length_put_the_same_question_of_two_kinds() -> None:
    cells = [cell("users", complexity, 150) for complexity in TASK["users"].complexities]
    asked = [question_of(drawn(one, index).question).kinds for one in cells for index in range(150)]
    assert len({frozenset(kinds_asked) for kinds_asked in asked}) == len(asked)


@pytest.mark.parametrize("subtask", ["count", "most"])
def test_few_sentences_stand_twice_in_a_long_prompt(subtask: str) -> None:
    """2,600 lines, as many as 131,072 tokens hold: at most 15% of their sentences stand there more than once."""
    row = publish(drawn(cell(subtask, {"count": 80, "most": 10}[subtask]), 0), 2600)
    said = Counter(one for entry in read(row.text).entries for one in sentences(entry.message.rstrip()))
    assert sum(times for times in said.values() if times > 1) / said.total() <= 0.15


def test_months_of_clerks_messages_tell_nothing_by_themselves() -> None:
    """The month of the clerk's messages in which most came, or the last month of the kind, is seldom the answer."""
    often, last = [], []
    for complexity in TASK["when"].complexities:
        for row in published("when", complexity):
            book = read(row.text)
            clerk, kind = book.asked.named["clerk"], book.asked.kinds[0]
            mine = [each for each in book.entries if each.clerk == clerk]
            often.append(scored(row, Counter(each.month for each in mine).most_common(1)[0][0]))
            months = [MONTHS.index(each.month) for each in mine if each.intent == kind]
            last.append(scored(row, MONTHS[max(months)]))
    assert fmean(often) <= 0.35
    assert fmean(last) <= 0.35


def looks(line: str, place: float) -> list[float]:
    """Return what is to be seen of a line without knowing what its words mean."""
    (entry,) = entries_of(line)
    said = re.split(r"(?<=[.?!]) (?=[A-Z])", entry.message)
    counted = [float(entry.message.count(mark)) for mark in (" it", "?", "n't", ",")]
    return [len(entry.message) / 100, len(said), *counted, float(said[-1].endswith("?")), place, int(entry.day) / 28]


@pytest.mark.parametrize("asked", [("count", 20), ("users", 8), ("when", 20)])
def test_relevant_lines_look_like_filler(asked: tuple[str, int]) -> None:
    """A classifier of lengths, sentences, marks and places, trained on half of the lines, is not above chance."""
    rows, truth = [], []
    for row in published(*asked):
        relevant, decoys = ({*marked(row, role)} for role in ("relevant", "decoy"))
        every = [line for line in row.text.splitlines(keepends=True) if " received: " in line]
        for at, line in enumerate(every):
            if line not in decoys:
                rows.append([*looks(line, at / len(every)), 1.0])
                truth.append(float(line in relevant))
    found, right = np.array(rows), np.array(truth)
    held = np.arange(len(right)) % 2 == 1
    learned = np.linalg.lstsq(found[~held], right[~held], rcond=None)[0]
    assert 0.36 <= auc(found[held] @ learned, right[held]) <= 0.64


# The scorer of OOLONG, by its definition


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("17", 1.0),
        ("Answer: 17", 1.0),
        ("Answer: **17**", 1.0),
        ("Label: [17]", 1.0),
        ("18", 0.75),
        ("Answer: 15", 0.75**2),
        ("I counted them one by one and found 16", 0.75),
        ("I counted them one by one and found 16.", 0.0),
        ("There are 17", 0.0),
        ("Answer: 17 messages", 0.0),
        ("Answer: seventeen", 0.0),
        ("First: 17, then: 3", 0.75**14),
        ("", 0.0),
        ("a" * 30 + ":", 0.0),
        ("9" * 400, 0.0),
        ("<think>Answer: 3</think>17", 1.0),
    ],
)
def test_the_quirk_gives_partial_credit_as_published(reply: str, wanted: float) -> None:
    row = {"scorer": "count", "question": "How many?", "target": "17", "answers": ["17"]}
    assert score(row, reply, scorers_of(["count=oolong"])) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("37", 1),
        ("label: 37", 1),
        ("Label: label: 37\nlabel: 12", 1),
        ("37\nlabel: 12", 0),
        ("The label is 37", 0),
        ("", 0),
    ],
)
def test_labels_are_compared_as_helmet_does(reply: str, wanted: int) -> None:
    """What follows the first ``label:`` in its line, or else the first line, normalised."""
    row = {"scorer": "label", "question": "Hello.", "target": "37", "answers": ["37"]}
    assert score(row, reply, scorers_of(["label=em"])) == wanted


def test_all_pairs_of_places_and_knobs_are_allowed() -> None:
    for place, stated in product(PLACES, (False, True)):
        assert (
            TASK[place[0]].pools(cell(*place, stated=stated))[0].name
            == f"tally-{'stated' if stated else 'plain'}-{TIER}"
        )
    assert re.fullmatch(r"\d{5}", base.clerks(Streams((5,)))[0][0])

"""What the worlds of documents, traces, code and notes are like, read by rules as an editor and an engineer would."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from math import ceil

import pytest

from pipeline.streams import Streams
from pipeline.worlds.desk import pool_texts as jobs_of
from pipeline.worlds.desk.lexicon import AS_OF, MONTHS
from pipeline.worlds.forge import log_texts
from pipeline.worlds.forge import pool_texts as files_of
from pipeline.worlds.gazetteer import forms, gazetteer, words_of
from pipeline.worlds.hostlog import hostlog
from pipeline.worlds.survey import kinds, survey
from prose_rules import world_faults

STREAMS = Streams((20261121, "any"))
SEASONS = "Snow|Frost|Harvest|Winter|Spring|Summer|Autumn|Apple|Honey|Pancake|Plough"
"""What a fair is not called after, nor a picture: either may be of any month or subject."""


@pytest.fixture(scope="module")
def jobs() -> list[str]:
    return list(jobs_of(STREAMS, "128k", 0.3))


@pytest.fixture(scope="module")
def files() -> list[str]:
    return list(files_of(STREAMS, "32k", "true"))


@pytest.fixture(scope="module")
def commits() -> list[str]:
    return [f"commit {part}" for unit in log_texts(STREAMS, "128k") for part in f"\n{unit}".split("\ncommit ")[1:]]


def questions() -> Iterator[str]:
    for form in forms().values():
        for relation in form.relations:
            for mark in "?*":
                yield from (said.replace("{name}", "the mill").format(value="X") for said in relation.lines[mark])
            yield from (f"Which {form.noun} that {said.format(value='X')} is it?" for said in relation.lines["~"])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Committed: batch batch-20770.", "a word twice"),
        ("The mill was built as a mill for rye.", "a word twice in a clause"),
        ("It was built by a engineer.", "a wrong article"),
        ("It and Arya Brothers quarrelled.", "a thing that acts with another"),
        ("The crews of it and the Bold Owl met.", "a thing that acts with another"),
        ("Which inn that has a sign that was painted by X is it?", "clauses with that in a row"),
        ("'4411x' is no number", "no where not belongs"),
        ("Keeps each 3-th one.", "an ordinal in figures and letters"),
        ("It was {value}.", "something unresolved"),
        ("It occupies a former granary in X.", "a granary with an architect"),
        ("Sheila Connolly has given them free.", "given free"),
    ],
)
def test_the_reader_of_worlds_finds_a_fault(text: str, fault: str) -> None:
    assert fault in {name for name, _ in world_faults(text)}


def test_documents_questions_and_notes_have_no_fault() -> None:
    texts = [passage.text for passage in gazetteer(STREAMS, "32k").passages]
    texts += [*questions(), *survey(STREAMS, "32k").texts(), *hostlog(STREAMS, "32k").texts()]
    found = [fault for text in texts for fault in world_faults(text)]
    assert not found, (len(found), found[:5])


def test_traces_and_code_have_no_fault(jobs: list[str], files: list[str], commits: list[str]) -> None:
    prose = [line for job in jobs for line in job.split("\n") if not line.startswith("   ")]
    docs = [said for text in files for said in re.findall(r'"""(.+)"""|# (.+)', text) for said in said if said]
    subjects = [re.findall(r"^    (.+)$", one, re.MULTILINE)[0] for one in commits]
    found = [
        fault
        for text in (*prose, *docs, *subjects)
        for fault in world_faults(text)
        if fault[0] != "something unresolved"
    ]
    assert not found, (len(found), found[:5])
    assert all(said[0].isupper() for text in files for said in re.findall(r'"""(.+)"""', text))


def test_names_of_pictures_and_fairs_go_with_every_subject_and_month() -> None:
    for name in ("moment", "event"):
        assert not [one for one in words_of()[name] if re.search(SEASONS, one)]


def test_a_bridge_is_no_building() -> None:
    assert "bridge" not in kinds()


def test_a_page_that_is_not_the_last_one_has_as_many_rows_as_were_asked_for(jobs: list[str]) -> None:
    full = 0
    for job in jobs:
        asked = re.search(r'^> rows \{"page": (\d+), .*"size": (\d+)\}', job, re.MULTILINE)
        if not asked:
            continue
        pages = int(re.search(rf"{asked[1]}(?:/| of |, \"of\": )(\d+)", job)[1])  # type: ignore[index]
        rows = len({*re.findall(r"\bR\d{6}\b", job)})
        missing = re.search(r"\b(1 row|[2-9] rows) missing", job)
        rows += int(missing[1][0]) if missing else 0
        assert rows <= int(asked[2])
        assert rows == int(asked[2]) or int(asked[1]) == pages, job
        full += rows == 6
    assert full > 10


def test_what_the_user_names_is_what_the_call_is_about(jobs: list[str]) -> None:
    seen = 0
    for job in jobs:
        asks = "Go on with the new images at|Replace .* on the|.* (?:rack|memory) the|I need .* the"
        site = re.match(rf"\[user\] (?:{asks}) ([A-Z]\w+)", job)
        stem = re.match(r"\[user\] (?:Bring the|Follow .* for|[A-Z]\w+ [A-Z]\w+ finds) (\w+)", job)
        host = re.search(r'"(?:host|names|on)": "\w+-(\w+)-', job.partition("\n")[2].partition("\n")[0])
        if site and host:
            seen += 1
            assert site[1].lower().startswith(host[1])
        if stem and "> settings" in job:
            seen += 1
            assert f"/{stem[1]}-" in job
        who = re.match(r"\[user\] (?:Who is|Find out how .* can reach) ([A-Z]\w+ [A-Z]\w+)", job)
        if who and "> people" in job:
            seen += 1
            assert f'"name": "{who[1]}"' in job
    assert seen > 20


def test_no_sentence_is_from_somebody_to_himself(jobs: list[str]) -> None:
    for job in jobs:
        name = r"([A-Z]\w+ [A-Z]\w+)"
        for found in re.finditer(rf"From: {name}\n  To: {name}|Handover from {name} to {name}", job):
            assert len({*found.groups()} - {None}) == 2


def test_the_past_of_a_trace_lies_before_it_and_rooms_are_booked_for_workdays(jobs: list[str]) -> None:
    for job in jobs:
        days = [date.fromisoformat(day) for day in re.findall(r"\b2026-\d\d-\d\d", job)]
        if job.startswith("> bookings") or "\n> bookings" in job:
            assert all(day > AS_OF and day.weekday() < 5 for day in days)
        else:
            assert all(day < AS_OF for day in days)
    told = 0
    for since, ago in re.findall(r"Active: .* since \w+ (\S+) .* UTC; (.+) ago", "\n".join(jobs)):
        counts = {noun: int(count) for count, noun in re.findall(r"(\d+) (month|week|day)", ago)}
        days = 30.4375 * counts.get("month", 0) + 7 * counts.get("week", 0) + counts.get("day", 0)
        assert (AS_OF - date.fromisoformat(since)).days == ceil(days)
        assert all(f"{count} {noun}{'s' * (count > 1)}" in ago for noun, count in counts.items())
        assert counts.get("day", 0) < (31 if "month" in counts else 7)
        told += 1
    assert told


def test_who_comments_on_a_ticket_does_so_before_the_day_of_the_trace(jobs: list[str]) -> None:
    commented = [re.findall(r"^  [A-Z]\w+ [A-Z]\w+, \d+ (\w+): ", job, re.MULTILINE) for job in jobs]
    assert sum(map(len, commented)) > 20
    assert {month for months in commented for month in months} <= {*MONTHS[: AS_OF.month - 1]}


def test_processes_disks_and_changes_are_as_their_tools_print_them(jobs: list[str]) -> None:
    seen = set[str]()
    for job in jobs:
        if "--sort=-pcpu" in job:
            shares = [float(share) for share in re.findall(r"^  \w{1,7}[\w+] +\d+ +(\d+\.\d) ", job, re.MULTILINE)]
            assert f"head -{len(shares) + 1}" in job
            assert shares == sorted(shares, reverse=True)
            seen.add("ps")
        for size, used, left, share in re.findall(r" (\d+)G +(\d+)G +(\d+)G +(\d+)%", job):
            assert int(used) + int(left) == int(size)
            assert int(share) == -(-100 * int(used) // int(size))
            seen.add("df")
        if "git show --stat" in job:
            bars = re.findall(r"\| +(\d+) (\+*)(-*)$", job, re.MULTILINE)
            assert all(int(count) == len(more) + len(less) for count, more, less in bars)
            added, removed = (sum(len(bar[at]) for bar in bars) for at in (1, 2))
            assert f"{added} insertions(+), {removed} deletions(-)" in job
            seen.add("git")
    assert seen == {"ps", "df", "git"}


def test_a_subject_names_the_constant_and_the_amount_of_its_hunk(commits: list[str]) -> None:
    seen = 0
    for commit in commits:
        subject = re.findall(r"^    (.+)$", commit, re.MULTILINE)[0]
        name = re.search(r"^-([A-Z_]+) = \d+$", commit, re.MULTILINE)
        if not name or subject.startswith("Re"):
            continue
        words = re.findall(r"\b[A-Z]\w*_\w+", subject)
        assert words in ([], [name[1]]), commit
        amount = re.search(r"correct the (\w+)", subject)
        assert not amount or name[1].endswith(f"_{amount[1].upper()}")
        seen += 1
    assert seen > 100


def test_no_function_chooses_between_two_that_are_the_same(files: list[str]) -> None:
    for text in files:
        for one, other in re.findall(r"^    if .*:\n        return (.*)\n    return (.*)$", text, re.MULTILINE):
            assert one != other, text

"""The firm's desk: jobs stand alone and in any order, results are read as what they are, fixed fields never change."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from random import Random

import pytest

from pipeline.streams import Streams
from pipeline.tasks.trace.histories import row_batch
from pipeline.tasks.trace.log import Call, Log, calls_naming, read
from pipeline.worlds.desk import (
    CallWriter,
    Desk,
    SentenceWriter,
    State,
    acts,
    apply,
    desk,
    drawn_room,
    pool_texts,
    words,
)
from pipeline.worlds.desk.calls import ERRORS, _http, _http_error, aligned
from pipeline.worlds.desk.calls import FORMS as CALL_FORMS
from pipeline.worlds.desk.declared import TOOLS
from pipeline.worlds.desk.jobs import WEIGHTS, assign_act, batch_code, copy_act, install_act, move_act, set_act
from pipeline.worlds.desk.lexicon import FAMILIES, MONTHS
from pipeline.worlds.desk.reads import OPENING_FORMS, READS, opening, opening_of
from pipeline.worlds.desk.tables import FORMS, entry

STREAMS = Streams((5,))
MINUTES = re.compile(r"2026-(\d\d)-(\d\d) .*Minutes of (\d+) (\w+)")
PROMPT = "Read this.\nTrace:\n{}This is the end of the trace.\n\nQuestion: What?\nAnswer:"


@pytest.fixture(scope="module")
def jobs() -> list[str]:
    return list(pool_texts(STREAMS, "128k", 0.3))


@pytest.fixture(scope="module")
def log(jobs: list[str]) -> Log:
    return read(PROMPT.format("".join(jobs)))


def call_writer(purpose: str) -> CallWriter:
    world: Desk = desk(STREAMS, "32k")
    return CallWriter(SentenceWriter(world, STREAMS.of(purpose)), world.refs(100_000))


def test_no_two_rows_have_the_same_number() -> None:
    sentences, taken = call_writer("rows").sentences, set[str]()
    for _ in range(4000):  # by chance alone some nine of them would be equal
        taken.add(entry(sentences, "open", taken).number)
    assert len(taken) == 4000


def test_no_two_batches_of_a_row_have_the_same_name() -> None:
    one, batches = call_writer("batches"), set[str]()
    for _ in range(1000):  # by chance alone some eleven would be equal
        batches.add(row_batch(one))
    assert len(batches) == 1000


def test_there_are_as_many_tools_forms_and_errors_as_promised(log: Log) -> None:
    assert {call.tool for call in log.calls} == {*TOOLS}
    assert len(TOOLS) == 14
    assert len(CALL_FORMS) + len({form.failed for form in CALL_FORMS}) + len(READS) + OPENING_FORMS + len(FORMS) >= 40
    assert len(ERRORS) >= 12


def test_a_job_begins_with_the_user_or_a_call_and_ends_in_a_result(jobs: list[str]) -> None:
    assert len(WEIGHTS) > 10
    for job in jobs:
        assert job.startswith(("[user] ", "> "))
        assert read(PROMPT.format(job)).calls[-1].result
        assert job.isascii()
        assert not re.search(r"\{\w*\}|[<{]\w+[>}] ?is|\n\n", job), job


def test_calls_have_flat_arguments_in_order_and_results_a_code_of_their_own(log: Log) -> None:
    assert len({call.ref for call in log.calls}) == len(log.calls)
    for call in log.calls:
        assert all(type(value) in (str, int) for value in call.args.values())


def test_users_speak_in_about_one_job_of_six_beside_plans_and_rules(jobs: list[str]) -> None:
    spoken = [job for job in jobs if job.startswith("[user] ")]
    assert 0.15 < len(spoken) / len(jobs) < 0.3
    assert sum(bool(re.search(r"plan P-\d{4}", job)) for job in spoken) > 5


def test_errors_are_about_as_frequent_as_a_pool_is_told(log: Log) -> None:
    changing = [call for call in log.calls if call.args.get("action") in ("receive", "issue", "set", "copy", "assign")]
    failed = [call for call in changing if not call.done]
    assert 0.15 < len(failed) / len(changing) < 0.35
    quiet = read(PROMPT.format("".join(pool_texts(STREAMS, "32k", 0.0))))
    assert all(call.done or call.staged for call in quiet.calls)


def test_what_a_call_came_to_is_read_as_it_was_written() -> None:
    writer = call_writer("outcomes")
    sentences, rng = writer.sentences, writer.rng
    item, ticket, host = (FAMILIES[kind](rng)[0] for kind in ("item", "ticket", "host"))
    files = FAMILIES["file"](rng)
    some = [
        *(
            lambda: move_act(sentences, item),
            lambda: assign_act(sentences, ticket),
            lambda: set_act(sentences, files[0]),
        ),
        *(lambda: copy_act(sentences, files), lambda: install_act(sentences, host), lambda: acts.take_back(ticket)),
        *(lambda: acts.send(sentences.slot("person"), sentences.sentence("subject")), lambda: acts.roll_back(host)),
    ]
    told = dict[str, bool]()
    text = ""
    for draw in some:
        pairs = [writer.done(draw()) for _ in range(40)] + [writer.tried(draw()) for _ in range(20)]
        pairs += [writer.failed(draw(), kind) for kind in ERRORS for _ in range(12)]
        pairs += [writer.staged(draw(), batch_code(rng)) for _ in range(20)]
        told |= {pair.ref: pair.done for pair in pairs}
        text += "".join(pair.text for pair in pairs)
    assert {call.ref: call.done for call in read(PROMPT.format(text)).calls} == told


def form_of(result: str) -> int:
    """Return in which of the forms a call that changes something is answered, whether or not it worked."""
    alike = {
        0: r'\{"ref"',
        1: r'\{"status"',
        2: r"\{\n",
        3: "ref=",
        4: r"\[",
        5: "ref: ",
        6: "-",
        7: ".* Ref .....[.]$",
    }
    alike |= {8: "<", 9: "(INFO|ERROR) ", 10: "HTTP/1.1 ", 11: r"\S+ \(.....\)\n- "}
    return next(form for form, wording in alike.items() if re.match(wording, result))


def test_each_tool_answers_in_two_forms_whatever_a_call_is_about(log: Log) -> None:
    found = defaultdict[str, Counter[int]](Counter)
    for call in log.calls:
        if call.done and call.action in ("receive", "issue", "assign", "set", "copy", "reinstall", "undo"):
            found[call.tool][form_of(call.result)] += 1
    assert {*found} == {"stock", "tickets", "settings", "hosts", "undo"}
    for tool, counts in found.items():
        assert {*counts} == {*desk(STREAMS, "128k").forms(tool, len(CALL_FORMS))}
        assert min(counts.values()) > 0.33 * counts.total()


def test_a_call_that_is_tried_again_failed_in_a_way_that_can_pass(jobs: list[str]) -> None:
    lasting = "is locked|maintenance|no space|not found|expected|is missing|expired|read-only|does not match|approve"
    calls_of = {job: re.findall("^> .*", job, re.MULTILINE) for job in jobs}
    retried = [job for job, calls in calls_of.items() if len({*calls}) < len(calls)]
    assert len(retried) > 20
    assert not [job for job in retried if re.search(lasting, job)]


def test_who_asks_to_take_something_back_names_it(jobs: list[str]) -> None:
    said = [job.split("\n")[:2] for job in jobs if re.match(r"\[user\] .*\n> undo ", job)]
    assert all(re.search(r'"target": "([^"]+)"', call)[1] in user for user, call in said)  # type: ignore[index]


def test_a_mail_reports_on_no_later_day(jobs: list[str]) -> None:
    rows = re.findall(r"Minutes of (\d+) (\w+)\nDate: 2026-(\d\d)-(\d\d)", "".join(jobs))
    rows += [(day, name, month, at) for month, at, day, name in MINUTES.findall("".join(jobs))]
    assert len(rows) > 5
    assert all((MONTHS.index(name) + 1, int(day)) <= (int(month), int(at)) for day, name, month, at in rows)


def test_responses_tell_the_length_of_their_bodies() -> None:
    rng = Random(1)
    for text in (
        _http(rng, "b2b2b", "sent", (("to", "Ann Lee"),), ""),
        _http_error("b2b2b", "locked", 423, "Locked", "TK-10000 is locked"),
    ):
        head, _, body = text.partition("\n\n")
        assert head.endswith(f"\nContent-Length: {len(body)}")


def test_fixed_fields_are_the_same_wherever_they_are_shown(log: Log) -> None:
    shown = defaultdict[tuple[str, str], set[str]](set)
    for call in log.calls:
        if call.args.get("action") == "record":
            amount = str(opening_of(str(call.args["item"])))
            assert re.search(rf"(?<!\d){amount}(?!\d)", call.result)
        if call.tool == "hosts" and call.action == "show":
            host = json.loads(call.result)
            shown["host", host["host"]].add(f"{host['rack']} {host['cores']} {host['gb']}")
        if call.tool == "people":
            found = re.findall(r"(?:phone\": |extension |TEL:)(\d{4})", call.result)
            shown["phone", str(call.args["name"])].add(found[0])
    assert len(shown) > 20
    assert all(len(values) == 1 for values in shown.values())


def test_no_result_of_a_change_tells_an_amount_or_a_holder_that_was_there_before(log: Log) -> None:
    for call in log.calls:
        if call.tool == "stock" and call.action != "record" and call.done:
            numbers = {
                *re.findall(
                    r"(?<![\w.-])-?(\d+)\b", re.sub(r"\"ms\": \d+|Length: \d+|HTTP/1.1 200|\] 200", "", call.result)
                )
            }
            assert numbers <= {str(call.args["qty"])}, call


def test_things_recur_and_their_neighbours_are_called_too(log: Log) -> None:
    items = Counter(str(call.args["item"]) for call in log.calls if call.tool == "stock")
    assert 3 < sum(items.values()) / len(items) < 40
    assert sum(1 for family in desk(STREAMS, "128k").items if sum(item in items for item in family) > 1) > 10


def test_things_of_rows_are_none_of_the_pool() -> None:
    world = desk(STREAMS, "32k")
    rng = STREAMS.of("fresh")
    for kind in FAMILIES:
        family = world.fresh(kind, rng)
        assert len({*family}) == 4
        assert not world.taken.intersection(family)


def test_pools_are_the_same_again() -> None:
    assert list(pool_texts(STREAMS, "32k", 0.3)) == list(pool_texts(Streams((5, "other row")), "32k", 0.3))


def test_changes_stand_are_undone_and_wait_in_batches() -> None:
    state = State()
    apply(state, acts.move("LBX-4417", "receive", 12, "cycle count"), "a2b3c")
    apply(state, acts.move("LBX-4417", "issue", 5, "cycle count"), "a2b4c")
    staged = acts.move("LBX-4417", "issue", 2, "cycle count")
    apply(state, staged.with_args({**staged.args, "batch": "batch-1", "mode": "stage"}), "a2b5c")
    assert state.amount("LBX-4417") == 7
    apply(state, acts.commit("batch-1"), "a2b6c")
    apply(state, acts.reverse("a2b3c"), "a2b7c")
    assert state.amount("LBX-4417") == -7
    with pytest.raises(ValueError, match="to commit"):
        apply(state, acts.commit("batch-1"), "a2b8c")


def test_tickets_go_back_and_forth() -> None:
    state, ticket = State(), "TK-10000"
    for person in ("Ann Lee", "Bo Day", "Cy Fox"):
        apply(state, acts.assign(ticket, person), "")
    apply(state, acts.take_back(ticket), "")
    apply(state, acts.take_back(ticket), "")
    assert state.holder(ticket) == "Ann Lee"
    apply(state, acts.redo(ticket), "")
    assert state.holder(ticket) == "Bo Day"
    apply(state, acts.assign(ticket, "Di Kay"), "")
    with pytest.raises(ValueError, match="nothing to redo"):
        apply(state, acts.redo(ticket), "")


def test_values_are_copied_with_where_they_came_from() -> None:
    state = State()
    apply(state, acts.set_value("a.ini", "cache_mb", 5), "a2b3c")
    apply(state, acts.copy_value("a.ini", "b.ini", "cache_mb"), "a2b4c")
    apply(state, acts.set_value("a.ini", "cache_mb", 6), "a2b5c")
    assert state.cells["b.ini", "cache_mb"] == (5, "a2b3c")
    with pytest.raises(ValueError, match="to copy"):
        apply(state, acts.copy_value("c.ini", "b.ini", "cache_mb"), "a2b6c")


def test_a_record_tells_the_opening_amount_in_every_form() -> None:
    for form in range(OPENING_FORMS):
        assert str(opening_of("LBX-4417")) in opening("LBX-4417", form).text("a2b3c")


def test_a_call_is_read_only_with_its_result() -> None:
    for broken in (
        "> note {}\n",
        "> note {}\n< no code\n",
        "Hello.\n",
        '> note {"b": 1, "a": 2}\n< kept (b2b2b)\n',
        "",
    ):
        with pytest.raises(ValueError, match=r"no call|codes|does not consist|not in order|not hold"):
            read(PROMPT.format(broken))


def test_a_name_within_a_longer_one_is_no_mention() -> None:
    calls = read(
        PROMPT.format('> stock {"action": "record", "item": "ABP-4417"}\n< ABP-4417: opening_qty 5 (b2b2b)\n')
    ).calls
    assert calls_naming(calls, ["P-4417"]) == []
    assert calls_naming(calls, ["ABP-4417"]) == calls


def test_columns_are_even() -> None:
    assert aligned([("A", "B")], [("x", 10), ("yy", 5)]) == "A    B\nx   10\nyy   5"


def test_a_call_knows_what_it_was_asked() -> None:
    call = read(PROMPT.format('[user] Go.\n> stock {"action": "issue", "item": "LBX-4417"}\n< posted (b2b2b)\n')).calls[
        0
    ]
    assert isinstance(call, Call)
    assert (call.action, call.before, call.done) == ("issue", "Go.", True)


def test_no_sentence_but_a_rule_names_what_rules_are_about() -> None:
    said = words()
    papers = "|".join(said["paper"])
    for name, some in said.items():
        assert name.startswith("rule") or not re.search(rf"(?:{papers}) from", " ".join(some)), name


def test_no_call_around_a_question_names_a_room_that_one_asks_about() -> None:
    rng = Random(3)
    others = {drawn_room(rng).partition("-")[0] for _ in range(2000)}
    asked = {drawn_room(rng, asked=True).partition("-")[0] for _ in range(2000)}
    assert len(others) > 800
    assert len(asked) > 250
    assert not others & asked

"""Published graders, each written here from its definition, agree with Carrara's scorers wherever they mean the same.

Where a scorer differs on purpose, the test says how: rules that look for strings reward a reply that lists everything.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import builds
from pipeline.artifacts.split import Selection, Split
from pipeline.export import EXPORTS, export
from pipeline.export.common import END, write_parts
from pipeline.export.helmet import line_of
from pipeline.export.wanted import SHAPES, parts, wanted_strings
from pipeline.metrics import SCORERS, STOPS, all_in_order, exact, facts, last_integer, latent_list, mrcr, pair, score
from pipeline.rows import Row
from pipeline.streams import stream
from test_exports import changed

PREDICTIONS = 300


@pytest.fixture(scope="module")
def rows(split: Split) -> list[Row]:
    return list(split.key_rows())


def scored_by(rows: Sequence[Row], *scorers: Callable[..., float]) -> list[Row]:
    names = {scorer.__name__ for scorer in scorers}
    return [row for row in rows if row["scorer"] in names]


# Long replies behind a code


def openai_grade(response: str, answer: str, code: str) -> float:
    """openai/mrcr: 0 unless the reply starts with the code, else the ratio of reply to answer, both without it."""
    if not response.startswith(code):
        return 0.0
    return SequenceMatcher(None, response.removeprefix(code), answer.removeprefix(code)).ratio()


def mrcr_v2_metric(prediction: str, target: str) -> float:
    """MRCR v2: the ratio of the target to what follows the last code in the reply, blanks around both dropped."""
    code, wanted, said = target[:12], target[12:].strip(), prediction.strip()
    if code not in said:
        return 0.0
    return SequenceMatcher(a=wanted, b=said[said.rindex(code) + 12 :].strip()).ratio()


def long_reply(rng: Random, row: Row, others: Sequence[Row]) -> str:
    """Return a reply: right, cut, mixed or another's, its code in front, in the middle, twice, wrong or not there."""
    code, text = row["random_string_to_prepend"], row["target"][12:]
    other = rng.choice(others)["target"][12:]
    at, to = rng.randrange(len(text)), rng.randrange(len(other))
    said = rng.choice([text, text[:at], text[at:], text[:at] + other[to:], other, other[:to], ""])
    lead = rng.choice([code, code, code, code + " ", f"{code}\n", f"Here it is: {code}", code + other[:40] + code])
    return rng.choice([lead + said, lead + said, lead + said, said, code.swapcase() + said])


def test_openai_mrcr_agrees(rows: list[Row]) -> None:
    asked, rng = scored_by(rows, mrcr), stream("graders", "openai-mrcr")
    seen = set()
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        said = rng.choice(["", "", "\n"]) + long_reply(rng, row, asked) + rng.choice(["", "\n\n"])
        official = openai_grade(said, row["target"], row["random_string_to_prepend"])
        assert (mrcr(row, said, anywhere=False, published=True) or 0.0) == official, said[:60]
        seen.add(round(official, 1))
    assert len(seen) >= 8


def test_mrcr_v2_agrees(rows: list[Row]) -> None:
    asked, rng = scored_by(rows, mrcr), stream("graders", "mrcr-v2")
    seen = set()
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        said = rng.choice(["", "\n", "  "]) + long_reply(rng, row, asked) + rng.choice(["", "\n\n"])
        official = mrcr_v2_metric(said, row["target"])
        assert (mrcr(row, said) or 0.0) == official, said[:60]
        seen.add(round(official, 1))
    assert len(seen) >= 8
    right = asked[0]["target"]
    thought = f"<think>It starts {right[:12]}.</think>{right}"
    assert mrcr(asked[0], thought) == mrcr_v2_metric(thought, right) == 1.0


def test_the_two_variants_of_mrcr_differ_as_published(rows: list[Row]) -> None:
    row = scored_by(rows, mrcr)[0]
    late = "Sure: " + row["target"]
    assert (mrcr(row, late), mrcr(row, late, anywhere=False)) == (1.0, None)
    others = [row["target"][:12] + other["target"][12:] for other in scored_by(rows, mrcr)[1:]]
    assert any(mrcr(row, other) != mrcr(row, other, anywhere=False) for other in others), "the order of texts matters"


# Rules that look for strings


def match_part(said: str, wanted: Sequence[str]) -> float:
    """RULER, one row of string_match_part: whether any reference stands in the reply, in any case."""
    return max(float(ref.lower() in said.lower()) for ref in wanted)


def match_all(said: str, wanted: Sequence[str]) -> float:
    """RULER, one row of string_match_all, and HELMET's ruler_recall: the share of references in the reply."""
    return sum(ref.lower() in said.lower() for ref in wanted) / len(wanted)


def normal(text: str) -> str:
    """HELMET: lower case, no punctuation, no articles, single blanks."""
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def substring_exact_match(said: str, wanted: Sequence[str]) -> float:
    """HELMET: whether any normalized answer stands in the normalized reply."""
    return max(float(normal(ref) in normal(said)) for ref in wanted)


def longbio_hit(said: str, wanted: str | int | Sequence[str]) -> int:
    """LongBioBench: a string anywhere; the last digits of the reply; strings in order; all but case as they are."""
    if isinstance(wanted, str):
        return int(wanted.strip().lower() in said.lower())
    if isinstance(wanted, int):
        return int(re.findall(r"\d+", said)[-1:] == [str(wanted)])
    rest = said.lower()
    for each in wanted:
        _, found, rest = rest.partition(each.lower())
        if not found:
            return 0
    return 1


WAYS = ("{}", "{}.", "Answer: {}", "The answer is {}.", "**{}**", "Final answer: {}\n")


def asked_for(row: Row) -> str:
    """Return what kind of value a row asks for: the attribute, or the view."""
    return re.sub(r"\d{4}", "", re.sub(r"[A-Z]\w+( [A-Z]\w+)*", "", row["question"]))


def one_value(rng: Random, row: Row, rows: Sequence[Row]) -> tuple[str, str]:
    """Return a value, right about half of the time, and a reply that says this value alone."""
    kin = [other["target"] for other in rows if asked_for(other) == asked_for(row)]
    value = row["target"] if rng.random() < 0.5 else rng.choice(kin)
    return value, rng.choice(WAYS).format(value)


@pytest.mark.parametrize(
    ("scorer", "rule"),
    [(exact, match_part), (exact, substring_exact_match), (pair, match_part), (pair, substring_exact_match)],
)
def test_one_of_several_strings_agrees(
    rows: list[Row], scorer: Callable[..., float], rule: Callable[[str, Sequence[str]], float]
) -> None:
    asked, rng = scored_by(rows, scorer), stream("graders", scorer.__name__, rule.__name__)
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        _, said = one_value(rng, row, asked)
        assert scorer(row, said) == rule(said, row["answers"]), said
    if scorer is exact:
        row = asked[0]
        everything = ", ".join(dict.fromkeys(other["target"] for other in asked))
        assert (rule(everything, row["answers"]), exact(row, everything)) == (1.0, 0.0)


def test_a_printed_list_agrees_with_ruler(rows: list[Row]) -> None:
    asked = [row for row in scored_by(rows, latent_list) if row["subtask"] == "print"]
    rng = stream("graders", "print")
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        _, said = one_value(rng, row, asked)
        assert latent_list(row, said) == match_part(said, row["answers"]), said
    both = f"{asked[0]['target']} or {asked[1]['target']}"
    assert (match_part(both, asked[0]["answers"]), latent_list(asked[0], both)) == (1.0, 0.0)


def listing(rng: Random, row: Row, rows: Sequence[Row]) -> list[str]:
    """Return the parts of an answer, some of them perhaps replaced by values of other rows."""
    kin = [part for other in rows if other["subtask"] == row["subtask"] and other is not row for part in parts(other)]
    share = rng.choice([0.0, 0.0, 0.3, 1.0])
    return [rng.choice(kin) if rng.random() < share else part for part in parts(row)]


def test_several_values_agree_with_ruler_and_helmet_on_all_and_nothing(rows: list[Row]) -> None:
    asked = [row for row in scored_by(rows, all_in_order) if not isinstance(wanted_strings(row), str)]
    rng, seen = stream("graders", "match_all"), set()
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        said = "; ".join(listing(rng, row, asked))
        official = match_all(said, parts(row))
        # The rules give a share for some of the values; the paper's task, and Carrara's scorer, want all of them.
        assert (all_in_order(row, said) or 0.0) == float(official == 1.0), said
        seen.add(official)
    assert len(seen) > 4
    turned = "; ".join(reversed(parts(asked[-1])))
    assert (match_all(turned, parts(asked[-1])), all_in_order(asked[-1], turned)) == (1.0, 0.0)


def test_citations_agree_with_ruler_on_all_and_nothing(rows: list[Row]) -> None:
    asked, rng = [row for row in rows if row["scorer"] == "citation"], stream("graders", "citation")
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        said = "; ".join(listing(rng, row, asked))
        wanted = wanted_strings(row)
        assert not isinstance(wanted, str)
        assert score(row, said) == float(match_all(said, wanted.wanted) == 1.0), said


def test_longbio_agrees_on_one_value(rows: list[Row]) -> None:
    asked, rng = scored_by(rows, exact), stream("graders", "longbio")
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        _, said = one_value(rng, row, asked)
        assert exact(row, said) == longbio_hit(said, row["target"]), said
    row = next(row for row in asked if len(row["answers"]) > 1)
    assert (longbio_hit(row["answers"][1], row["target"]), exact(row, row["answers"][1])) == (0, 1.0)


def test_longbio_agrees_on_numbers(rows: list[Row]) -> None:
    asked, rng = scored_by(rows, last_integer), stream("graders", "longbio", "numbers")
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        given = rng.choice([row["target"], str(rng.randrange(60))])
        ages = f"One is {rng.randrange(20, 70)} years old and the other {rng.randrange(20, 70)}.\n"
        said = rng.choice(["", ages]) + rng.choice(WAYS).format(given)
        assert last_integer(row, said) == longbio_hit(said, int(row["target"])), said
    assert (longbio_hit("Final answer: -11", 11), last_integer({"target": "11"}, "Final answer: -11")) == (1, 0.0)


def test_longbio_agrees_on_orders_and_lists(rows: list[Row]) -> None:
    asked, rng = scored_by(rows, all_in_order), stream("graders", "longbio", "lists")
    for _ in range(PREDICTIONS):
        row = rng.choice(asked)
        given = listing(rng, row, asked)
        if rng.random() < 0.3:
            rng.shuffle(given)
        said = rng.choice(["{}", "Final answer: {}"]).format("; ".join(given))
        assert (all_in_order(row, said) or 0.0) == longbio_hit(said, parts(row)), said
    row = next(row for row in asked if row["subtask"] == "rank")
    both = "; ".join([*parts(row), *reversed(parts(row))])
    assert (longbio_hit(both, parts(row)), all_in_order(row, both)) == (1, 0.0)


# Sets


def of_set(members: Sequence[str], scorer: str = "members") -> Row:
    target = ", ".join(members) or "none"
    cell = {"family": "graph", "subtask": "bfs", "complexity": 2}
    return {**cell, "scorer": scorer, "question": "Which nodes?", "target": target, "answers": [target]}


def test_sets_are_looked_for_member_by_member() -> None:
    asked = ["0a1b2c3d4e", "6655443322"]
    wanted = wanted_strings(of_set(asked))
    assert not isinstance(wanted, str)
    assert (wanted.wanted, wanted.all_required) == (tuple(asked), True)
    assert match_all("Nodes: 0A1B2C3D4E", wanted.wanted) == 0.5
    assert "empty" in str(wanted_strings(of_set([])))
    assert "order" in str(wanted_strings(of_set(asked, "route")))


@pytest.mark.parametrize(
    ("scorer", "lead"), [("members", "this question"), ("all_in_order", "the following questions")]
)
def test_helmet_asks_for_a_set_in_no_order(scorer: str, lead: str) -> None:
    row = {**of_set(["0a1b2c3d4e", "6655443322"], scorer), "id": "a", "messages": None, "prompt": "Edges\nWhich nodes?"}
    made = line_of({**row, "question_start": 6})
    assert not isinstance(made, str)
    assert made[0] == "ruler_niah_mv"
    assert made[1]["query"].startswith(lead)


# Facts of scorers


OWN_RULES = ("longbio", "mrcr-v2", "openai-batch", "openai-mrcr", "vllm-bench")
"""Exports whose rows are graded by no scorer of ours, or elsewhere."""


def of_another_scorer(table: pa.Table) -> pa.Table:
    """Return rows of which those of `exact` have a scorer that nobody knows."""
    at = table.schema.get_field_index("scorer")
    names = ["rouge" if name == "exact" else name for name in table["scorer"].to_pylist()]
    return table.set_column(at, "scorer", pa.array(names, table.schema.field(at).type))


@pytest.fixture(scope="module")
def strange(split: Split, tmp_path_factory: pytest.TempPathFactory) -> Split:
    return changed(split, tmp_path_factory.mktemp("strange"), of_another_scorer)


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_a_scorer_that_is_not_known_crashes_no_export(
    name: str, strange: Split, rows: list[Row], tmp_path: Path
) -> None:
    export(EXPORTS[name], strange, Selection(), tmp_path / "out")
    left = tmp_path / "out" / "left_out.tsv"
    named = set(re.findall(r"^(\S+)", left.read_text(encoding="ascii"), re.MULTILINE)) if left.exists() else set()
    assert name in OWN_RULES or named >= {row["id"] for row in scored_by(rows, exact)}


@pytest.mark.parametrize("frame", ["chat", "raw"])
def test_replies_to_bare_strings_end_where_scorers_end_them(split: Split, tmp_path: Path, frame: str) -> None:
    framed = builds.retold(split, lambda manifest: manifest.update(frame=frame))
    made = write_parts(framed, Selection(), tmp_path / "parts", turns=False)
    stops = made.stops(framed)
    own = {tuple(each) for part, each in stops.items() if part.family != "mrcr"}
    assert own == {(END,)} if frame == "chat" else all(set(each) <= set(STOPS) for each in own)
    assert frame == "chat" or all(
        "\nQuestion:" in each or "\nQuestions:" in each for part, each in stops.items() if part.family == "bio"
    )
    assert {tuple(each) for part, each in stops.items() if part.family == "mrcr"} <= {(END,)}
    export(EXPORTS["lm-eval"], framed, Selection(), tmp_path / "lm-eval")
    for part, each in stops.items():
        task = (tmp_path / "lm-eval" / "tasks" / f"{part.name}.yaml").read_text(encoding="ascii")
        assert f'"until": {json.dumps(each)}' in task


def test_every_scorer_says_what_exports_ask() -> None:
    for name, scorer in SCORERS.items():
        assert scorer.ungraded or scorer.shape in SHAPES, name
        assert scorer.paired <= scorer.refuses, name
        assert scorer.aggregate in ("", "pairs", "balanced")
        assert scorer.rule.__doc__
    assert facts("rouge").ungraded

"""Graded replies in the forms that models use (``replies``), and what holds for every reply there can be."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from html import unescape
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
import pipeline.metrics
from pipeline.metrics import MAX_REPLY_CHARACTERS, SCORERS, STOPS, figures, judge, score, stops_of
from pipeline.metrics.glosses import COUNTRIES
from pipeline.metrics.join import joined_metrics, write_metrics
from pipeline.metrics.reply import reply_text
from pipeline.worlds.people import country_of
from repository import ROOT, TESTS
from time_bounds import within

FOLDER = TESTS / "replies"
GOLDEN = TESTS / "golden"
LEAST, LEAST_HELD_OUT = 40, 20
HELD_OUT = ("held_out", "again")
TABLE = "| scorer | right | rejected | wrong | accepted | unparsed |"
KINDS = {"right": (True, True), "rejected": (True, False), "wrong": (False, False), "accepted": (False, True)}
KINDS["unparsed"] = (False, False)
"""Lists of a corpus: whether their replies are right, and whether they are judged so: two name what is misjudged.

Those of the last one are in no form that can be judged."""


class Graded(NamedTuple):
    """A reply to a row: whether it is right, whether the scorer says so, and whether it was written after the rules."""

    scorer: str
    row: dict[str, Any]
    reply: str
    right: bool
    judged: bool
    held_out: bool
    unparsed: bool


def corpus() -> list[Graded]:
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        for table in tomllib.loads(path.read_text(encoding="utf-8")).values():
            lists = [key for key in table if key in KINDS]
            row = {name: value for name, value in table.items() if name not in (*lists, *HELD_OUT)}
            row = {"scorer": path.stem, "subtask": "", "choices": None, **row}
            row.setdefault("answers", [row.get("target")])
            row.setdefault("target", row["answers"][0])
            for held_out, part in ((False, table), *((True, table.get(name, {})) for name in HELD_OUT)):
                for kind, (right, judged) in KINDS.items():
                    replies = part.get(kind, ())
                    found += [
                        Graded(path.stem, row, reply, right, judged, held_out, kind == "unparsed") for reply in replies
                    ]
    return found


CORPUS = corpus()
ROWS = {id(each.row): each.row for each in CORPUS}


def as_graded(each: Graded) -> bool:
    """Tell whether a reply is judged as the corpus says."""
    if (score(each.row, each.reply) == 1.0) is not each.judged:
        return False
    return (each.right and not each.judged) or (judge(each.row, each.reply) is None) is each.unparsed


@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_every_reply_is_judged_as_the_corpus_says(scorer: str) -> None:
    assert [each for each in CORPUS if each.scorer == scorer and not as_graded(each)] == []


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The joined file, imported as its users do."""
    path = tmp_path_factory.mktemp("published") / "metrics.py"
    write_metrics(path)
    spec = importlib.util.spec_from_file_location("published_metrics", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rules_of(module: Any) -> list[str]:
    return ["", *(f"{name}={quirk}" for name, scorer in module.SCORERS.items() for quirk in scorer.quirks)]


@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_the_published_file_judges_every_reply_as_the_package_does(scorer: str, published: ModuleType) -> None:
    own = [each for each in CORPUS if each.scorer == scorer]
    assert rules_of(published) == rules_of(pipeline.metrics)
    for rule in ("", *(f"{scorer}={quirk}" for quirk in SCORERS[scorer].quirks)):
        ours, theirs = (module.scorers_of([rule] if rule else []) for module in (pipeline.metrics, published))
        for each in own:
            assert score(each.row, each.reply, ours) == published.score(each.row, each.reply, theirs), each.reply
    for each in own:
        assert figures(each.row, each.reply) == published.figures(each.row, each.reply)


def test_the_published_file_depends_on_the_sources_alone() -> None:
    write = [sys.executable, "-m", "pipeline.metrics.join"]
    runs = [
        subprocess.run(write, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("0", "1")
    ]
    assert runs == [joined_metrics().encode()] * 2


@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_what_can_be_judged_is_stated_in_five_sentences_at_most(scorer: str, root: Path) -> None:
    told = " ".join((SCORERS[scorer].rule.__doc__ or "").split())
    stated = told[told.rindex("A reply can be judged ") :].replace("``", "`")
    assert 1 <= len(re.findall(r"\.(?: |$)", stated)) <= 5
    page = (root / "docs" / "gallery" / "gallery.html").read_text(encoding="utf-8")
    assert stated in unescape(page)


@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_every_scorer_has_replies_of_many_forms(scorer: str) -> None:
    own = [each for each in CORPUS if each.scorer == scorer]
    assert len({(id(each.row), each.reply) for each in own}) == len(own)
    for held_out, least in ((False, LEAST), (True, LEAST_HELD_OUT)):
        assert sum(each.held_out is held_out for each in own) >= least
        assert {each.right for each in own if each.held_out is held_out} == {True, False}


def test_the_rates_that_are_published_are_those_of_the_corpus() -> None:
    lines = []
    for scorer in sorted(SCORERS):
        own = [each for each in CORPUS if each.scorer == scorer]
        right, wrong = ([each for each in own if each.right is kind] for kind in (True, False))
        missed, taken = sum(not each.judged for each in right), sum(each.judged for each in wrong)
        unparsed = sum(each.unparsed for each in own)
        lines.append(f"| {scorer} | {len(right)} | {missed} | {len(wrong)} | {taken} | {unparsed} |")
    stated = (FOLDER / "README.md").read_text(encoding="ascii").split(TABLE)[1].splitlines()[2:]
    assert stated[: len(lines)] == lines, "\n".join(lines)


def test_no_value_of_the_world_consists_of_neutral_words() -> None:
    pools = Path(pipeline.__file__).parent / "worlds" / "pools"
    for name in ("cities", "universities", "majors", "hobbies"):
        lines = (pools / f"{name}.txt").read_text(encoding="ascii").splitlines()
        values = [line for line in lines if line and not line.startswith("#")]
        assert len(values) > 200
        for value in values:
            row = {"scorer": "exact", "question": "What is it?", "answers": ["Nirgendwo"], "target": "Nirgendwo"}
            assert score(row, f"Nirgendwo, {value}") == 0.0, value


# Whatever is said

WRAPPERS = (
    *("{}", "{}.", "**{}**", "`{}`", "{}\n", " {}", "Answer: {}", "Final answer: {}", "**Final answer:** {}"),
    *("The answer is {}.", "So, the answer is {}", "Therefore, the final answer is {}.", "\\boxed{{{}}}"),
    *("$\\boxed{{\\text{{{}}}}}$", "{}<|im_end|>", "{}</s>", "<think>Let me see.</think>\n\n{}", "```\n{}\n```"),
    *("<answer>{}</answer>", "{}\n\nLet me know if you need anything else!", "{}\n\nQuestion: What else?\nAnswer: 5"),
)
RIVALS = {
    "exact": ("Quito", "the University of Oslo", "4 May 1976", "chess"),
    "idk_pair": ("Waseda University",),
    "label": ("Category 9",),
    "last_integer": ("99",),
    "latent_list": ("99", "[9, 9]"),
    "choice": ("(A)", "(B)", "(C)", "(D)"),
    "choice_or_refusal": ("(A)", "(B)", "(C)", "(D)"),
    "pair": ("Eve Nowhere Else",),
    "all_in_order": ("Quito", "4 May 1976", "Eve Nowhere Else"),
    "citation": ("Quito [99999]", "4 May 1976 [99999]"),
    "cited": ("Quito [99999]",),
    "key_points": ("Agnes Nobody, 1805",),
}


def kin(answer: str, rival: str) -> bool:
    """Tell whether a value is of the answer's kind, and another."""
    likes = [(any(map(str.isdigit, each)), each == each.lower(), each.startswith("[")) for each in (answer, rival)]
    return likes[0] == likes[1] and rival.strip("()") not in answer


def rivals_of(row: dict[str, Any]) -> list[str]:
    """Return other values of the answer's kind: the row's own, if its corpus names one, or those for its scorer."""
    if "rival" in row:
        return [row["rival"]]
    return [each for each in RIVALS[row["scorer"]] if kin(row["answers"][0], each)]


def listable(row: dict[str, Any]) -> bool:
    """Tell whether a row's answer is a value that can be listed: no refusal, and none of ten places that count."""
    return row["scorer"] not in ("mrcr", "ndcg") and row["target"] != "Not stated"


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: f"{row['scorer']}-{row['target'][:20]}")
def test_accepted_answers_are_right_bare_and_wrapped(row: dict[str, Any]) -> None:
    if row["scorer"] == "mrcr":
        assert score(row, row["target"]) == 1.0
        return
    answers = row["answers"][:2] if row["scorer"] == "pair" else row["answers"]
    for answer in answers:
        for wrapper in WRAPPERS:
            assert score(row, wrapper.format(answer)) == 1.0, wrapper.format(answer)


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: f"{row['scorer']}-{row['target'][:20]}")
def test_an_answer_in_a_list_with_another_value_is_wrong(row: dict[str, Any]) -> None:
    if not listable(row):
        return
    if row["scorer"] in ("choice", "choice_or_refusal"):
        rivals = [each for each in RIVALS[row["scorer"]] if each[1] != row["target"]]
        given = [f"({row['target']})"]
    else:
        given = row["answers"][:1]
        rivals = rivals_of(row)
    assert rivals
    for answer in given:
        for rival in rivals:
            for joint in (", ", " and ", " or ", "; ", "/", "\n", " / ", ", or ", " & "):
                for both in (answer + joint + rival, rival + joint + answer):
                    for wrapper in ("{}", "Answer: {}", "The answer is {}.", "\\boxed{{{}}}"):
                        if joint == "\n" and wrapper != "{}":
                            continue
                        assert score(row, wrapper.format(both)) < 1.0, wrapper.format(both)


TWICE = (
    ("{} is a fine place. {} is a fine place too.", "exact", ["Isfahan", "Tokyo"]),
    ("{} stands first.\n\n{} stands last.", "exact", ["Isfahan", "Tokyo"]),
    ("{} is the order of the text.\n{} is the order of ages.", "all_in_order", ["Ann Bee; Cy Dee", "Cy Dee; Ann Bee"]),
    ("{} is one order. {} is another.", "all_in_order", ["Ann Bee; Cy Dee", "Cy Dee; Ann Bee"]),
    ("{} are a pair.\n{} are a pair.", "pair", ["Ann Bee and Cy Dee", "Eve Fox and Gus Hay"]),
    ("It is {}.\nIt is {}.", "citation", ["Oslo [11111]", "Lima [22222]"]),
    ("It is {}. Or else {}.", "last_integer", ["11", "12"]),
    ("{} first, {} last.", "label", ["Category 1", "Category 2"]),
)


@pytest.mark.parametrize(("form", "scorer", "answers"), TWICE)
def test_no_reply_is_right_for_two_answers(form: str, scorer: str, answers: list[str]) -> None:
    question = (
        "Rank these people by age: Ann Bee, Cy Dee." if scorer == "all_in_order" else "What is the birthplace of Ann?"
    )
    found = []
    for answer in answers:
        accepted = {"last_integer": [answer], "label": [answer, answer[-1]]}.get(scorer, [answer])
        row = {"scorer": scorer, "subtask": "", "question": question, "answers": accepted, "target": answer}
        found.append(score(row, form.format(*answers)))
    assert sum(found) <= 1.0


def test_no_reply_is_right_in_both_forms_of_a_pair() -> None:
    forms = {
        row["target"]: row for row in ROWS.values() if row["scorer"] == "idk_pair" and "university" in row["question"]
    }
    assert len(forms) == 2
    value = forms["Tallinn University"]
    for said in (each.reply for each in CORPUS if each.scorer == "idk_pair"):
        for reply in (said, f"{said} The weather is not mentioned.", f"Tallinn University. {said}"):
            assert [score(row, reply) for row in forms.values()] != [1.0, 1.0], reply
    said = "Petra Lund Osei graduated from Tallinn University. The weather is not mentioned."
    assert score(value, said) == 1.0
    assert score(forms["Not stated"], said) == 0.0


PIECES = st.sampled_from(
    [
        *(
            "a",
            "-",
            "1",
            " ",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            "\n",
            ".",
            ",",
            ";",
            "$",
            "*",
            "_",
            "`",
            "\\",
            '"',
            "'",
            "<",
        ),
        *(
            "Answer: ",
            "<think>",
            "</think>",
            "\\boxed{",
            "\\text{",
            "the answer is ",
            "Category ",
            "12345",
            "not ",
            "or ",
        ),
        *(
            "because ",
            "\x01",
            "\x00",
            "\u2212",
            "\u00e9",
            "\ufdfa",
            "\ud800",
            "A",
            "B",
            "(D)",
            "Oslo",
            "Isfahan",
            "\u6771",
        ),
        *(
            "Question:",
            "\nQuestion: ",
            "[1, 2]",
            "20 March 2001",
            "2001-",
            "twenty-",
            "<|im_end|>",
            '{"answer": ',
            "1-",
        ),
    ]
)
ANY_ROW = st.sampled_from(list(ROWS.values()))


@settings(max_examples=300, deadline=None)
@given(ANY_ROW, st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_scores_from_0_to_1(row: dict[str, Any], reply: str) -> None:
    assert 0.0 <= score(row, reply) <= 1.0


@settings(max_examples=60, deadline=None)
@given(ANY_ROW, st.lists(PIECES, min_size=1, max_size=4).map("".join), st.sampled_from(["", "a", "1", "\n", "Oslo "]))
def test_no_text_of_a_hundred_kilobytes_takes_a_second(row: dict[str, Any], piece: str, lead: str) -> None:
    if row["scorer"] == "mrcr":
        return  # its likeness is difflib's, as published
    reply = lead + piece * (100_000 // len(piece)) + "b"
    with within(1.0, piece):
        score(row, reply)


LONG = ("1", "_", "(", "a ", "a, ", "\n", "1\n", "A\n", "[1]\n", "Oslo. ", "1-", "\\boxed{", " ")


def scorers_and_pieces() -> list[pytest.ParameterSet]:
    """Return every scorer with every piece; a quarter of them is tried always, with each piece for several scorers."""
    pairs = product(sorted({*SCORERS} - {"mrcr"}), LONG)
    return [pytest.param(*pair, marks=pytest.mark.slow if at % 4 else ()) for at, pair in enumerate(pairs)]


@pytest.mark.parametrize(("scorer", "piece"), scorers_and_pieces())
def test_long_replies_cost_little(scorer: str, piece: str) -> None:
    row = next(each.row for each in CORPUS if each.scorer == scorer)
    with within(1.0, piece):
        score(row, "a" + piece * (100_000 // len(piece)) + "b")


def test_of_a_reply_the_last_200_000_characters_count() -> None:
    row = next(each.row for each in CORPUS if each.row["answers"] == ["Palembang"])
    said = "Answer: Palembang"
    assert MAX_REPLY_CHARACTERS == 200_000
    assert score(row, "x" + said + "\n" * (200_000 - len(said))) == 1.0
    assert score(row, said + "\n" * (200_000 - len(said) + len("Answer: Pale"))) == 0.0


@pytest.mark.parametrize("stop", STOPS)
def test_what_follows_a_stop_string_does_not_count(stop: str) -> None:
    row = next(each.row for each in CORPUS if each.row["answers"] == ["Palembang"])
    for reply, wanted in (("Palembang", 1.0), ("Lima", 0.0)):
        assert score(row, f"{reply}{stop} Where?\nAnswer: Palembang, or Lima") == score(row, reply) == wanted


@pytest.mark.parametrize(
    "path", [path for path in sorted(GOLDEN.glob("*.txt")) if "mrcr" not in path.stem], ids=lambda path: path.stem
)
def test_the_headings_of_every_task_are_stop_strings(path: Path) -> None:
    """A base model that has answered goes on as its prompt does; the replies of mrcr are texts with headings."""
    text = path.read_text(encoding="ascii")
    stops = stops_of(text)
    headings = set(re.findall(r"^(?:[A-Z][A-Za-z ]{2,30}:$|--- [A-Z][a-z ]+[a-z])", text, re.MULTILINE))
    assert headings - {"Answer:", "Answers:", "Output:", "Choices:"} <= {stop.strip() for stop in stops}
    assert 1 <= len(stops) <= 4, "an API takes no more"


@pytest.mark.parametrize(
    "end",
    [
        "\nUniversity of Ai",
        "\nAnswer: University of A",
        "\nUniversity of Aizu\nUniversity of Aiz",
    ],
)
def test_a_reply_that_repeats_its_answer_until_its_room_is_used_up_counts(end: str) -> None:
    row = next(each.row for each in CORPUS if each.row["answers"][-1] == "University of Aizu")
    assert score(row, f"University of Aizu{end}") == 1.0
    assert score(row, f"University of Aizu\n{end.strip()}. So it is.") == 0.0, "a line that ends is no beginning"
    assert score(row, "University of Aizu\nWaseda Uni") == 0.0
    assert score(row, "University of Aizuwakamatsu\nUniversity of Aizu") == 0.0
    for loop in ("\nAnswer: University", "Answer:", "An"):
        assert score(row, f"University of Aizu\nAnswer: University of Aizu\n{loop}") == 1.0
    assert score(row, "Waseda University\nWaseda University\nUniversity") == 0.0, (
        "that is not how the last answer begins"
    )


def test_a_list_may_end_with_what_its_last_elements_begin_with() -> None:
    assert reply_text("12\n12\n1") == "12\n12\n1"
    assert reply_text("13 May 1900\n13 May 1900\n13 June 1900").endswith("13 June 1900")


def test_the_countries_of_all_cities_are_known() -> None:
    pool = (ROOT / "pipeline" / "worlds" / "pools" / "cities.txt").read_text(encoding="ascii").split("\n")
    assert {country_of(city) for city in pool if city} <= COUNTRIES


@pytest.mark.parametrize("scorer", sorted({*SCORERS} - {"mrcr"}))
def test_a_reply_that_is_cut_at_a_stop_string_scores_as_the_whole(scorer: str) -> None:
    for each in (each for each in CORPUS if each.scorer == scorer):
        ends = [at for stop in STOPS if (at := each.reply.find(stop)) > 0]
        if ends and not each.reply.strip().startswith("Question:"):  # that repeats the question that was asked
            assert score(each.row, each.reply[: min(ends)]) == score(each.row, each.reply), each.reply

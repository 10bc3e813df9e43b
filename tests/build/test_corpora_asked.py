"""Labelled texts, graded passages and questions with several answers, asked of users' own corpora."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from pipeline.artifacts.recipes import read_recipes
from pipeline.corpora.importing import import_corpora
from pipeline.corpora.reading import Source
from pipeline.corpora.records import Corpus, Labelled, Passage, Question
from pipeline.export.helmet_lines import demonstrations, ranking_line
from pipeline.metrics import score, worth_of
from pipeline.recipe import Stratum
from pipeline.rows import Row
from pipeline.streams import stream
from pipeline.tasks.corpus.cited import chosen, facts
from pipeline.tasks.corpus.labelled import in_rounds, parts
from pipeline.tasks.corpus.passages import numbers
from pipeline.verify.row import answer_faults

if str(Path(__file__).parents[1] / "helpers") not in sys.path:
    sys.path.append(str(Path(__file__).parents[1] / "helpers"))
import corpus_shapes
from test_corpora_builds import Files, carrara, cell, changed, recipe, rows

PROFILES = "o200k,qwen2.5"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    root = tmp_path_factory.mktemp("asked")
    import_corpora("labelled", Source(corpus_shapes.labelled(root / "six", 6, 2400)), root / "out")
    import_corpora("labelled", Source(corpus_shapes.labelled(root / "four", 4, 900)), root / "out")
    import_corpora("helmet", Source(corpus_shapes.graded(root / "graded", 12)), root / "out")
    import_corpora("helmet", Source(corpus_shapes.several(root / "several", 14)), root / "out")
    import_corpora("helmet", Source(corpus_shapes.graded(root / "graded-few", 4, 8)), root / "few")
    (root / "few" / "msmarco.parquet").rename(root / "out" / "few.parquet")
    return Files(root / "out")


@pytest.fixture(scope="module")
def built(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built")
    words = {"labels": "words", "rounds": "blocked", "corpus": files.digest("four")}
    path = recipe(
        root / "tiny.toml",
        cell("icl", "intents", [8192, 32768], complexity=6),
        cell("icl", "intents", [8192], complexity=4, knobs=words),
        cell("rerank", "conditions", [8192, 32768], complexity=10),
        cell("cite", "facets", [8192, 32768], complexity=3),
        cell("cite", "listing", [8192], complexity=3, knobs={"corpus": files.digest("alce-asqa")}),
    )
    corpora = [word for name in ("six", "four", "msmarco", "alce-asqa") for word in ("--corpus", files[name])]
    done = carrara("build", path, *corpora, "--tokenizer", PROFILES, "--out", root / "out", "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "all exact, all checked in their text" in done.stdout
    return root / "out"


def of(out: Path, family: str, length: int = 8192, **knobs: object) -> Row:
    """Return the first row of a family, with the knobs that are given."""
    for row in rows(out):
        told = json.loads(row["metadata"])["knobs"]
        if row["family"] == family and row["length"] == length and knobs.items() <= told.items():
            return row
    raise AssertionError(family)


def said(out: Path, row: Row) -> str:
    return "; ".join(each for each in answer_faults(row, stratum(out, row)) if "SHA-256" not in each)


def stratum(out: Path, row: Row) -> Stratum:
    (kept,) = read_recipes(out)
    place = row["family"], row["subtask"], row["length"], row["complexity"]
    return next(one for one in kept.strata if (one.family, one.subtask, one.length, one.complexity) == place)


def test_rows_are_exact_sound_and_the_same_questions_in_all_profiles(built: Path) -> None:
    first = [(row["id"], row["question"], row["answers"]) for row in rows(built)]
    assert len(first) == len({one[0] for one in first})
    for profile in PROFILES.split(","):
        assert [(row["id"], row["question"], row["answers"]) for row in rows(built, profile)] == first
        for row in rows(built, profile):
            assert row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"] == row["context_tokens"]
            assert row["context_tokens"] == row["length"]
            assert json.loads(row["metadata"])["proof"] == "checked"
            assert said(built, row) == ""
            assert score(row, row["target"]) == 1


# Labelled texts


def examples(row: Row) -> list[tuple[str, str]]:
    start, stop = row["prompt"].index("\nExamples:\n") + 11, row["prompt"].rindex("This is the end of the ex")
    lines = row["prompt"][start:stop].splitlines()
    return list(zip(lines[::2], (line.removeprefix("label: ") for line in lines[1::2]), strict=True))


def test_examples_have_the_labels_of_the_corpus(built: Path, files: Files) -> None:
    known = {one.text: one for one in Corpus.read(files["six"]).labelled}
    for row in [row for row in rows(built) if row["family"] == "icl" and row["complexity"] == 6]:
        shown, asked = examples(row), known[row["question"]]
        assert len({(known[text].label, label) for text, label in shown}) == 6, "a number stands for one label"
        assert all(known[text].shown for text, _ in shown)
        assert not asked.shown
        assert {(known[text].label, label) for text, label in shown} >= {(asked.label, row["target"])}
        first = [label for _, label in shown[:60]]
        assert all(len({*first[at : at + 6]}) == 6 for at in range(0, 60, 6)), "rounds of one of each label"
    blocked = of(built, "icl", labels="words")
    assert "all of them in words" in blocked["prompt"]
    assert len(list(groupby(label for _, label in examples(blocked)))) == 4
    assert {"_" in label for _, label in examples(blocked)} == {True}


def test_planted_faults_among_examples_are_found(built: Path) -> None:
    row = of(built, "icl")
    prompt, shown = row["prompt"], examples(row)
    (one, label), (other, _) = shown[:2]
    assert f"the text {one[:80]!r} stands twice" in said(built, {**row, "prompt": prompt.replace(other, one)})
    last = {**row, "question": one, "prompt": prompt.replace(f"\n{row['question']}\n", f"\n{one}\n")}
    assert "the text that is asked is an example" in said(built, last)
    assert "is not a label of the examples" in said(built, {**row, "target": "17", "answers": ["17"]})
    gone = prompt.replace(f"label: {label}\n", f"label: {shown[1][1]}\n")
    assert "5 labels have examples, expected 6" in said(built, {**row, "prompt": gone})
    assert "the metadata have" in said(built, {**row, "prompt": gone})
    early = [each for each in shown if each[1] == label][30]
    moved = prompt.replace(f"{early[0]}\nlabel: {label}\n", "", 1)
    moved = moved.replace("\nExamples:\n", f"\nExamples:\n{early[0]}\nlabel: {label}\n", 1)
    assert "stands behind those of a later round" in said(built, {**row, "prompt": moved})
    assert "the prompt says that there are 7 labels" in said(
        built, changed(row, "6 labels, the whole numbers from 0 to 5", "7 labels, the whole numbers from 0 to 6")
    )  # fmt: skip
    block = of(built, "icl", labels="words")
    a, b = (label for label, _ in list(groupby(label for _, label in examples(block)))[:2])
    mixed = block["prompt"].replace(f"label: {b}\n", f"label: {a}\n", 1).replace(f"label: {a}\n", f"label: {b}\n", 1)
    assert "do not stand side by side" in said(built, {**block, "prompt": mixed})


def test_another_number_of_labels_is_refused_with_advice(files: Files, tmp_path: Path) -> None:
    four = {"corpus": files.digest("four")}
    path = recipe(tmp_path / "r.toml", cell("icl", "intents", [8192], complexity=6))
    done = carrara("plan", path, "--corpus", files["four"], "--out", tmp_path / "out")
    assert "or add icl.intents with complexity 4, the number of its labels and the knob corpus = '" in done.stderr
    path = recipe(tmp_path / "n.toml", cell("icl", "intents", [8192], complexity=5, knobs=four))
    done = carrara("build", path, "--corpus", files["four"], "--tokenizer", "o200k", "--out", tmp_path, "--workers", 1)
    assert "the corpus has examples of 4 labels: give complexity = 4" in done.stderr
    path = recipe(tmp_path / "m.toml", cell("icl", "intents", [8192], complexity=1, knobs=four))
    assert "complexity 1: give one from 2 to 999" in carrara("plan", path, "--out", tmp_path / "m").stderr


def test_corpora_tell_what_can_be_asked_of_them(files: Files) -> None:
    assert "908 labelled texts, examples of 4 labels; digest" in carrara("corpus", "show", files["four"]).stdout
    assert "12 questions, 45 to 45 passages of a grade" in carrara("corpus", "show", files["msmarco"]).stdout
    assert "14 with 3 answers; digest" in carrara("corpus", "show", files["alce-asqa"]).stdout


def test_of_one_file_a_fifth_is_asked_and_labels_take_turns() -> None:
    told = tuple(Labelled(f"{label} {n}", label, shown=True) for label in "abc" for n in range({"a": 1}.get(label, 50)))
    known = parts(Corpus(labelled=told))
    assert known.labels == ("a", "b", "c")
    assert Counter(one.label for one in known.asked) == {"b": 10, "c": 10}
    assert {one.text for one in known.asked}.isdisjoint(one.text for one in known.examples)
    order = in_rounds(stream("x"), known.home)
    assert sorted(order) == list(range(len(known.examples)))
    first = [known.examples[at].label for at in order]
    assert sorted(first[:3]) == ["a", "b", "c"]
    assert all(sorted(first[at : at + 2]) == ["b", "c"] for at in range(3, 79, 2))


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("card_arrival", True),
        ("label: card_arrival", True),
        ("The label is **card_arrival**.", True),
        ("Card arrival", True),
        ("It is about a card that has not come.\nLabel: card_arrival", True),
        ("card_arrival\nWhere is my money?\nlabel: transfer", True),
        ("transfer\nWhere is my card?\nlabel: card_arrival", False),
        ("card_arrival or transfer", False),
        ("not card_arrival", False),
        ("card_arrival_2", False),
        ("", False),
    ],
)
def test_labels_in_a_users_words_are_scored(reply: str, *, right: bool) -> None:
    row = {"target": "card_arrival", "answers": ["card_arrival"], "question": "Where is it?", "scorer": "label"}
    assert score(row, reply) == right


# Graded passages


def test_graded_passages_are_ranked(built: Path, files: Files) -> None:
    corpus = Corpus.read(files["msmarco"])
    numbered = dict(zip(map(str, numbers(corpus)), corpus.passages, strict=True))
    for row in [row for row in rows(built) if row["family"] == "rerank"]:
        question = next(one for one in corpus.questions if one.question == row["question"])
        grades = dict(zip(question.ranked, question.grades, strict=True))
        ranks = [[grades[numbered[one].id] for one in rank.split("=")] for rank in row["answers"][-1].split(">")]
        assert [{*rank} for rank in ranks] == [{3}, {2}, {1}]
        assert sorted(map(len, ranks)) == [3, 3, 4]
        there = [numbered[number].id for number in re.findall(r"^Document \[(\d+)\]", body(row), re.MULTILINE)]
        assert sum(grades.get(one, 0) > 0 for one in there) == 10, "other graded passages are left out"
        told = json.loads(row["metadata"])["filler"]
        assert told == {"documents": len(there) - 10, "own": sum(grades.get(one, 1) == 0 for one in there)}
        assert score(row, " > ".join(row["target"].split(" > ")[::-1])) < 1


def test_passages_that_beir_grades_are_ranked(tmp_path: Path) -> None:
    (tmp_path / "graded").mkdir()
    import_corpora("beir", Source(corpus_shapes.beir_graded(tmp_path / "graded")), tmp_path / "corpora")
    path = recipe(tmp_path / "r.toml", cell("rerank", "conditions", [8192], complexity=10))
    corpus = tmp_path / "corpora" / "graded.parquet"
    done = carrara("build", path, "--corpus", corpus, "--tokenizer", "o200k", "--out", tmp_path / "out", "--workers", 1)
    assert done.exit_code == 0, done.output
    found = Corpus.read(corpus)
    numbered = dict(zip(map(str, numbers(found)), found.passages, strict=True))
    for row in rows(tmp_path / "out"):
        question = next(one for one in found.questions if one.question == row["question"])
        grades = dict(zip(question.gold, question.grades, strict=True))
        ranks = [[grades[numbered[one].id] for one in rank.split("=")] for rank in row["answers"][-1].split(">")]
        assert ranks == [[2] * 5, [1] * 5]


def test_too_few_graded_passages_take_no_stratum(files: Files, tmp_path: Path) -> None:
    path = recipe(tmp_path / "r.toml", cell("rerank", "conditions", [8192], complexity=10))
    done = carrara("plan", path, "--corpus", files["few"], "--out", tmp_path / "out")
    assert "no family of tiny uses a corpus of grades, passages and questions: leave out --corpus" in done.stderr
    assert "rerank.conditions" in done.stderr


def body(row: Row) -> str:
    return str(row["prompt"][row["prompt"].rindex("\nDocuments:\n") :])


def test_planted_faults_among_graded_passages_are_found(built: Path) -> None:
    row = of(built, "rerank")
    first, second, *_ = row["target"].split(" > ")
    swapped = [row["answers"][0].replace(first, "0"), row["answers"][1]]
    assert "is not the best of its ranks" in said(built, {**row, "target": swapped[0], "answers": swapped})
    twin = changed(row, f"[{first}]", f"[{second}]")
    assert "a document has no number, or that of another" in said(built, twin)
    other = next(n for n in re.findall(r"^Document \[(\d+)\]", body(row), re.MULTILINE) if n not in row["answers"][1])
    wrong = [one.replace(first, other) for one in row["answers"]]
    assert "the marked documents are not those of the key" in said(built, {**row, "target": wrong[0], "answers": wrong})
    answer = re.search(r"\nAnswer: (\d+)", row["prompt"])
    assert answer
    assert "is not a ranking of its documents" in said(built, changed(row, answer[0], f"\nAnswer: {first}"))
    told = next(line for line in body(row).split("\n") if f"[{other}]" in line).partition("]")[2]
    held = next(line for line in body(row).split("\n") if f"[{second}]" in line)
    assert "a document stands twice" in said(
        built, {**row, "prompt": row["prompt"].replace(held, f"Document [{second}]{told}")}
    )


def test_helmet_reads_the_passages_as_they_are(built: Path) -> None:
    row = of(built, "rerank")
    line = ranking_line(row)
    assert line["query"] == f"{row['question']} Name the ten most relevant alone."
    worth = {one["id"]: one["label"] for one in line["ctxs"] if one["label"]}
    assert worth == worth_of(row)
    assert len(line["ctxs"]) == json.loads(row["metadata"])["filler"]["documents"] + 10
    assert line["ctxs"][0].keys() == {"id", "text", "label"}
    assert f"Document [{line['ctxs'][0]['id']}]: {line['ctxs'][0]['text']}\n" in row["prompt"]
    assert [len(one["ctxs"]) for one in demonstrations(row)] == [6, 6]


# Questions with several answers


def test_answers_are_cited_from_the_documents_that_hold_them(built: Path, files: Files) -> None:
    corpus = Corpus.read(files["alce-asqa"])
    for row in [row for row in rows(built) if row["family"] == "cite"]:
        question = next(one for one in corpus.questions if one.question == row["question"])
        told, there = json.loads(row["metadata"]), body(row).split("\n")
        assert told["support"] == "string"
        between = ", " if row["subtask"] == "listing" else ". "
        for forms, said in zip(question.answers, row["target"].rstrip(".").split(between), strict=True):
            ids = re.findall(r"\[(\d+)\]", said)
            assert said.startswith(forms[0])
            assert 1 <= len(ids) <= 2
            assert {line[10:15] for line in there if forms[0] in line} == {*ids}
        assert len(row["answers"]) == 2, "in both wordings"
        assert score(row, row["answers"][1]) == 1
        assert score(row, re.sub(r"\[\d+\]", "[10000]", row["target"])) < 0.5
        assert score(row, row["target"].split("]")[0] + "].") < 1


def test_planted_faults_among_cited_documents_are_found(built: Path) -> None:
    row = of(built, "cite")
    first, second = re.findall(r"\[(\d+)\]", row["target"])[:2]
    value = row["target"].split(" [")[0]
    other = next(n for n in re.findall(r"^Document \[(\d+)\]", body(row), re.MULTILINE) if n not in row["target"])
    told = next(line for line in body(row).split("\n") if f"[{other}]" in line)
    planted = said(built, changed(row, told, f"{told[: -len(value) - 2]} {value}."))
    assert f"{value!r} stands in the documents" in planted
    held = next(line for line in body(row).split("\n") if f"[{first}]" in line)
    assert f"{value!r} stands in the documents" in said(
        built, changed(row, held, held.replace(value, "x" * len(value)))
    )
    answers = [one.replace(first, other) for one in row["answers"]]
    assert "the marked documents are not those of the key" in said(
        built, {**row, "target": answers[0], "answers": answers}
    )
    fewer = [one.partition("]")[0] + "]." for one in row["answers"]]
    assert "the key has 1 answers, expected 3" in said(built, {**row, "target": fewer[0], "answers": fewer})
    assert "a document has no number, or that of another" in said(built, changed(row, f"[{first}]", f"[{second}]"))
    answer = re.search(r"\nAnswer: [^\[]+\[(\d+)\]", row["prompt"])
    assert answer
    wrong = changed(row, answer[0], answer[0].replace(answer[1], first))
    assert "which are not its own" in said(built, wrong)
    silent = {name: one for name, one in json.loads(row["metadata"]).items() if name != "support"}
    assert "do not say that a string tells support" in said(built, {**row, "metadata": json.dumps(silent)})


def test_what_supports_an_answer() -> None:
    passages = tuple(
        Passage(f"p{n}", "", text)
        for n, text in enumerate(["Ann and Bob.", "Ann.", "Bob alone.", "Ann came, again.", "Cy.", "Ann left."])
    )
    asked = Question("q", "Who?", (("Ann", "Anna"), ("bob",), ("Bob",), ("Dee",)), tuple(p.id for p in passages), ())
    corpus = Corpus(passages, (asked,))
    assert facts(asked) == [("Ann", "Anna"), ("bob",), ("Dee",)], "an answer of the same words is one"
    assert chosen(corpus, asked) == {"p0": {0, 1}, "p1": {0}, "p2": {1}}

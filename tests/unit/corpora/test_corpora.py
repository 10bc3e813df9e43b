"""Users' own corpora: every shape is read, what is wrong is named by file and line, and nothing is half-written."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result

from builds import SWEPT
from pipeline.cli import cli
from pipeline.corpora.formats import PARAGRAPH, paragraphs
from pipeline.corpora.helmet import moving
from pipeline.corpora.importing import SHAPES, import_corpora
from pipeline.corpora.reading import Source, cleaned, escaped, holds, one_line, searched, text_fault
from pipeline.corpora.records import Corpus
from pipeline.errors import PoolError
from pipeline.metrics import score
from pipeline.profiles import load_profile
from pipeline.streams import stream

if str(Path(__file__).parents[2] / "helpers") not in sys.path:
    sys.path.append(str(Path(__file__).parents[2] / "helpers"))
import corpus_shapes

Change = Callable[[Path], object]


def imported(shape: str, root: Path, out: Path, **how: Any) -> dict[str, Corpus]:
    made = import_corpora(shape, Source(root, **how), out)
    for one in made:
        assert Corpus.read(one.path).digest == one.corpus.digest
    return {one.path.stem: one.corpus for one in made}


def carrara(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


# What is read


def test_helmet_is_read_by_question(tmp_path: Path) -> None:
    found = imported("helmet", corpus_shapes.helmet(tmp_path / "in"), tmp_path / "out")
    assert sorted(found) == ["kilt-hotpotqa", "kilt-nq", "kilt-popqa"]
    nq = found["kilt-nq"]
    asked = [one for one in nq.questions if not one.shown]
    assert (len(asked), len(nq.questions), len(nq.passages)) == (12, 18, 12 * 20 + 6 * 3), "k20, and k3 to show"
    for one in asked:
        (gold,) = one.gold
        assert one.answers[0][0] in nq.passages[nq.places[gold]].text
        assert len(one.ranked) == 19
        assert gold not in one.ranked
        ranked = [int(name) for name in one.ranked]
        assert ranked == sorted(ranked), "in the order of the file"
    bridge = found["kilt-hotpotqa"]
    assert {len(one.gold) for one in bridge.questions} == {2}
    for one in bridge.questions:
        texts = [bridge.passages[bridge.places[name]].text for name in one.gold]
        assert any("sister town" in text for text in texts)
        assert any(one.answers[0][0] in text for text in texts)
    asked_of = {one.question.split()[6] for one in found["kilt-popqa"].questions if not one.shown}
    assert asked_of == {"600th", "601st"} or asked_of == {"600th", "601th"}, "those of fewer than 1,000 views"


def test_helmet_other_files_are_kept_for_their_tasks(tmp_path: Path) -> None:
    found = imported("helmet", corpus_shapes.alce(corpus_shapes.rerank(tmp_path / "in")), tmp_path / "out")
    assert sorted(found) == ["alce-asqa", "alce-qampari", "msmarco"]
    graded = found["msmarco"].questions
    assert [len(one.ranked) for one in graded] == [12] * 3
    assert graded[0].grades == (3, 2, 1, 0) * 3
    assert len(graded[0].gold) == 9
    assert graded[0].answers == ()
    (asqa,), (qampari,) = found["alce-asqa"].questions, found["alce-qampari"].questions
    assert asqa.answers == ((corpus_shapes.founder(0), "V0"), (corpus_shapes.founder(1), "V1"))
    assert len(asqa.gold) == 2
    assert len(qampari.answers) == len(qampari.gold) == 3
    assert len(qampari.ranked) == 7


def test_what_moves_is_told_from_the_rest() -> None:
    others = [f"p{number}" for number in range(40)]
    assert moving([[*others[:at], "x", *others[at:]] for at in (0, 8, 16, 24, 32, 40)]) == ("x",)
    two = [[*others[:a], "x", *others[a:b], "y", *others[b:]] for a, b in ((0, 40), (10, 20), (30, 35))]
    assert sorted(moving(two)) == ["x", "y"]
    assert moving([others, others]) == (), "nothing moves"
    assert moving([others, stream("moving").sample(others, 40)]) == (), "everything does"


def test_beir_is_ranked_by_words(tmp_path: Path) -> None:
    (corpus,) = imported("beir", corpus_shapes.beir(tmp_path / "set"), tmp_path / "out").values()
    assert len(corpus.passages) == 8 * 31
    assert [one.shown for one in corpus.questions] == [False] * 5 + [True] * 3
    first = corpus.questions[0]
    assert first.gold == ("d1",)
    assert first.grades == (1,)
    assert first.answers == ((corpus_shapes.founder(0),),)
    assert "d1" not in first.ranked
    assert 6 < len(first.ranked) < len(corpus.passages), "those that share a word"
    (bare,) = imported("beir", corpus_shapes.beir(tmp_path / "bare", answers=False), tmp_path / "out").values()
    assert {one.answers for one in bare.questions} == {()}
    few = imported("beir", tmp_path / "set", tmp_path / "few", most=40)["set"]
    assert len(few.passages) == 40
    assert {name for one in few.questions for name in one.gold} <= {one.id for one in few.passages}


def test_a_passage_of_beir_may_be_a_title_alone(tmp_path: Path) -> None:
    root = corpus_shapes.beir(tmp_path / "set")
    first_line(root / "corpus.jsonl", title=f"Founded by {corpus_shapes.founder(0)}", text="")
    (corpus,) = imported("beir", root, tmp_path / "out").values()
    assert corpus.passages[0].text == f"Founded by {corpus_shapes.founder(0)}"
    assert corpus.passages[0].title == ""


def test_answers_that_no_reply_could_give_are_left_out(tmp_path: Path) -> None:
    root = corpus_shapes.dpr(tmp_path / "set", questions=1)
    (record,) = json.loads((root / "nq-test.json").read_text(encoding="utf-8"))
    record["answers"] += ["x" * 200, "<|end|>", "\ud800", " ", "the"]
    (root / "nq-test.json").write_text(json.dumps([record]), encoding="utf-8")
    (corpus,) = imported("dpr", root, tmp_path / "out").values()
    assert corpus.questions[0].answers == ((corpus_shapes.founder(0), corpus_shapes.founder(0).upper()),)


def test_dpr_takes_the_first_passage_with_an_answer(tmp_path: Path) -> None:
    (corpus,) = imported("dpr", corpus_shapes.dpr(tmp_path / "set"), tmp_path / "out").values()
    assert sum(one.shown for one in corpus.questions) == 5
    for one in corpus.questions:
        assert one.answers[0][0] in corpus.passages[corpus.places[one.gold[0]]].text
        assert len(one.ranked) == (4 if one.shown else 30)


def test_documents_and_questions_about_them(tmp_path: Path) -> None:
    (corpus,) = imported("documents", corpus_shapes.documents(tmp_path / "set"), tmp_path / "out").values()
    assert [one.id for one in corpus.documents] == sorted(f"annals {number}" for number in range(12))
    assert all("\r" not in one.text for one in corpus.documents)
    assert len(corpus.passages) == 12 * 41
    assert [one.gold for one in corpus.questions][:2] == [("annals 0#8",), ("annals 1#9",)]
    (bare,) = imported(
        "documents", corpus_shapes.documents(tmp_path / "bare", questions=False), tmp_path / "out"
    ).values()
    assert bare.tables().keys() == {"documents"}
    assert bare.documents == corpus.documents


def test_labelled_sets_are_read_from_both_shapes(tmp_path: Path) -> None:
    root = tmp_path / "set"
    corpus_shapes.lines(root / "train.jsonl", [{"text": f"say {n}", "label": n % 3} for n in range(9)])
    (root / "test.csv").write_text('text,label\n"one, two",0\n"a ""quoted"" one",2\n', encoding="utf-8")
    (corpus,) = imported("labelled", root, tmp_path / "out").values()
    assert [(one.text, one.label) for one in corpus.labelled if not one.shown] == [
        ("one, two", "0"),
        ('a "quoted" one', "2"),
    ]
    assert sum(one.shown for one in corpus.labelled) == 9


def test_the_same_words_have_the_same_digest(tmp_path: Path) -> None:
    first = imported("helmet", corpus_shapes.helmet(tmp_path / "a"), tmp_path / "out")["kilt-nq"]
    assert (
        imported("helmet", corpus_shapes.helmet(tmp_path / "b"), tmp_path / "again")["kilt-nq"].digest == first.digest
    )
    raw = (tmp_path / "out" / "kilt-nq.parquet").read_bytes()
    assert raw == (tmp_path / "again" / "kilt-nq.parquet").read_bytes()
    path = tmp_path / "b" / "kilt" / "nq-dev-multikilt_1000_k20_dep6.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("garden", "gardens"), encoding="utf-8")
    assert imported("helmet", tmp_path / "b", tmp_path / "again")["kilt-nq"].digest != first.digest


# What is done to a text


def test_texts_are_cleaned_and_no_more() -> None:
    assert cleaned("  cafe\u0301\r\nand\ttea\x85more\u2028 ") == "caf\u00e9\nand tea\nmore"
    assert one_line(" one\n\n two\u00a0three ") == "one two three"
    assert text_fault("bye</s>").startswith("its text has '</s>'")
    assert text_fault("nul \x00") == r"its text has the control character '\x00'"
    for special in ("<|endoftext|>", "</s>", "[INST]", "<start_of_turn>", "<think>"):
        assert text_fault(f"so {special} it is")
        assert not text_fault(escaped(f"so {special} it is"))


def test_answers_are_whole_words() -> None:
    text = searched("The Town's founder was Mr. Art-Vandelay, in 1907.")
    assert holds(text, (searched("art vandelay"), searched("artvandelay")))
    assert holds(text, (searched("the 1907"),))
    for no in ("190", "van", "town founder"):
        assert not holds(text, (searched(no),))


def test_long_paragraphs_are_cut_where_sentences_end() -> None:
    said = " ".join(f"This is sentence {number} of a long one (see p. {number})." for number in range(200))
    parts = list(paragraphs(f"short\n\n{said}\n/a/path"))
    assert parts[0] == "short"
    assert parts[-1] == "a/path"
    assert " ".join(parts[1:-1]) == said
    assert all(part.endswith(".") and len(part) <= PARAGRAPH for part in parts[1:-1])


@pytest.mark.parametrize("name", SWEPT)
def test_units_of_any_script_add_up(name: str) -> None:
    """Whatever a paragraph begins and ends with: the sum of units is the count of the whole."""
    counter = load_profile(name).counter()
    edges = "\"'([{<-*#|@$%&=~^_.,;:!?)]}>\u00bf\u201c\u2014\u2026\u00e9"
    edges += "\u4e2d\u0416\u0905\u0627\u0e01\U0001f375\u00a3\u0301\u200d\ufe0f\u00ad\u202e 0aZ"
    units = [f"{one} word {other}" for one in edges for other in edges[::7] if one != " "]
    units = [f"{unicodedata.normalize('NFC', unit).strip()}\n" for unit in units]
    stream("edges").shuffle(units)
    whole = "Text:\n" + "".join(units) + "This is the end."
    parts = ["Text:\n", *units, "This is the end."]
    assert counter.count(whole) == counter.count(parts[0]) + int(counter.counts(parts[1:]).sum())


# What is refused


def first_line(path: Path, **changed: Any) -> None:
    kept = path.read_text(encoding="utf-8").splitlines()
    record = {**json.loads(kept[0]), **changed}
    corpus_shapes.lines(path, [{k: v for k, v in record.items() if v is not None}, *map(json.loads, kept[1:])])


def appended(path: Path, raw: bytes) -> None:
    path.write_bytes(path.read_bytes() + raw)


HOTPOT = "hotpotqa-dev-multikilt_1000_k20_dep3.jsonl"
NQ = "kilt/nq-dev-multikilt_1000_k20_dep6.jsonl"
CTX = {"title": "T", "text": "Some words."}
FAULTS: list[tuple[str, Change, str]] = [
    ("helmet", lambda r: appended(r / NQ, b'{"question": "W\n'), f"{NQ} line 73: it is not JSON"),
    ("helmet", lambda r: appended(r / NQ, b"[1]\n"), f"{NQ} line 73: [1] is not a JSON object"),
    ("helmet", lambda r: appended(r / NQ, b'{"question": "caf\xe9"}\n'), f"{NQ} line 73: it is not UTF-8: byte 0xe9"),
    ("helmet", lambda r: first_line(r / NQ, question=None), f"{NQ} line 1: it lacks 'question'"),
    ("helmet", lambda r: first_line(r / NQ, question=["a"]), f"{NQ} line 1: question is ['a']: give text"),
    ("helmet", lambda r: first_line(r / NQ, answers="x" * 400), f"{NQ} line 1: the answer ['xxx"),
    ("helmet", lambda r: first_line(r / NQ, answers=["", " the "]), f"{NQ} line 1: the answer ['', ' the '] is empty"),
    ("helmet", lambda r: first_line(r / NQ, answers=7), f"{NQ} line 1: answers is 7: give a list of texts"),
    ("helmet", lambda r: first_line(r / NQ, ctxs=[]), f"{NQ} line 1: ctxs is []: give a list of passages"),
    ("helmet", lambda r: first_line(r / NQ, ctxs=[{"title": "T"}]), f"{NQ} line 1: a passage has the text None"),
    ("helmet", lambda r: first_line(r / NQ, ctxs=[{**CTX, "text": " "}]), "passage None: its text is empty"),
    (
        "helmet",
        lambda r: first_line(r / NQ, ctxs=[{**CTX, "text": "x " * 5_000_000, "id": "9"}]),
        f"{NQ} line 1: passage '9': its text has 9,999,999 characters: give at most 20,000",
    ),
    (
        "helmet",
        lambda r: first_line(r / NQ, ctxs=[{**CTX, "text": "the end<|endoftext|>"}]),
        "'<|', which a chat template",
    ),
    (
        "helmet",
        lambda r: appended(r / NQ, json.dumps({"question": "Why?", "answers": ["because"], "ctxs": [CTX]}).encode()),
        f"{NQ} line 73: no passage that is needed holds an answer to 'Why?'",
    ),
    (
        "helmet",
        lambda r: corpus_shapes.kilt(r, HOTPOT, 2, 20, golds=2, first=300, with_needed=False),
        f"kilt/{HOTPOT} line 1: nothing tells which passages answer 'Who founded the town of the 300th charter?'",
    ),
    ("beir", lambda r: first_line(r / "corpus.jsonl", _id="d2"), "corpus.jsonl line 2: the id 'd2' stands twice"),
    ("beir", lambda r: first_line(r / "corpus.jsonl", _id="gone"), "passage 'd1' is judged for it, but is not in"),
    (
        "beir",
        lambda r: first_line(r / "queries.jsonl", _id="gone"),
        "queries.jsonl: query 'q0' is judged but does not exist",
    ),
    ("beir", lambda r: appended(r / "qrels/test.tsv", b"q0 d1 1\n"), "qrels/test.tsv line 7: 'q0 d1 1': give query,"),
    ("beir", lambda r: appended(r / "qrels/test.tsv", b"q0\td1\t1\n"), "query 'q0' and passage 'd1' stand twice"),
    ("beir", lambda r: (r / "corpus.jsonl").unlink(), "is not a BEIR folder: it lacks corpus.jsonl"),
    ("dpr", lambda r: (r / "nq-test.json").write_text("[{]", encoding="ascii"), "nq-test.json: it is not JSON"),
    ("dpr", lambda r: (r / "nq-test.json").write_text('{"a": 1}', encoding="ascii"), "it holds no list of objects"),
    (
        "dpr",
        lambda r: (r / "nq-test.json").write_text('[{"question": "Why?", "answers": ["so"]}]', encoding="ascii"),
        "nq-test.json item 1: it has no passages: give positive_ctxs",
    ),
    ("documents", lambda r: (r / "none.txt").write_text(" \n", encoding="ascii"), "none.txt: its text is empty"),
    (
        "documents",
        lambda r: (r / "bad.txt").write_bytes(b"one\ntwo \xff\n"),
        "bad.txt line 2: it is not UTF-8: byte 0xff",
    ),
    (
        "documents",
        lambda r: (r / "long.txt").write_text("short\n" + "x " * 5_000_000, encoding="ascii"),
        "long.txt, paragraph 2: a sentence of it has 9,999,999 characters: give at most 4,000",
    ),
    (
        "documents",
        lambda r: corpus_shapes.lines(r / "more.jsonl", [{"id": "annals 0", "text": "Two."}]),
        "the id 'annals 0': it stands twice",
    ),
    (
        "documents",
        lambda r: corpus_shapes.lines(r / "more.jsonl", [{"id": "\ud800", "text": "Two."}], ascii=True),
        "more.jsonl line 1: the id '\\ud800': it has the control character",
    ),
    (
        "documents",
        lambda r: first_line(r / "questions.jsonl", answers=["garden"]),
        "paragraphs hold an answer: give one of",
    ),
    (
        "documents",
        lambda r: first_line(r / "questions.jsonl", document="x"),
        "document 'x' is referred to but does not exist",
    ),
    ("documents", lambda r: first_line(r / "questions.jsonl", evidence="not said"), "0 paragraphs hold the evidence"),
]


@pytest.mark.parametrize(("shape", "change", "said"), FAULTS, ids=[str(number) for number in range(len(FAULTS))])
def test_what_is_wrong_is_named_and_nothing_is_written(shape: str, change: Change, said: str, tmp_path: Path) -> None:
    root = getattr(corpus_shapes, shape)(tmp_path / "in")
    change(root)
    with pytest.raises(PoolError) as caught:
        imported(shape, root, tmp_path / "out")
    told = str(caught.value)
    assert said in told
    assert told.startswith(f"'{root}'")
    assert "\n" not in told
    assert len(told) < 1600
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("text,label\na,b,c\n", "set.csv line 2: it has 3 cells, but the first line names 2"),
        ("text,label\na,\n", "set.csv line 2: the label: its text is empty"),
        ("text,label\na,1\na,2\n", "set.csv line 3: the text 'a' stands twice"),
        ("said,label\na,1\n", "set.csv line 2: it lacks 'text'"),
        ('text,label\n"a,1\n', "set.csv line 2: it is not CSV"),
    ],
)
def test_faulty_labelled_sets(raw: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "set.csv").write_text(raw, encoding="utf-8")
    with pytest.raises(PoolError, match=r"set\.csv line") as caught:
        imported("labelled", tmp_path, tmp_path / "out")
    assert said in str(caught.value)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_empty_folder_and_none(shape: str, tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"is not a BEIR folder|holds? nothing in the shape"):
        imported(shape, tmp_path, tmp_path / "out")
    with pytest.raises(PoolError, match="no folder"):
        imported(shape, tmp_path / "gone", tmp_path / "out")


def test_faults_are_left_out_on_demand(tmp_path: Path) -> None:
    root = corpus_shapes.helmet(tmp_path / "in")
    for _ in range(10):
        appended(root / NQ, b"{\n")
    done = carrara("corpus", "import", "helmet", root, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert done.stderr.count("it is not JSON") == 8
    assert "(and 2 more); --leave-out imports the rest" in done.stderr
    done = carrara("corpus", "import", "helmet", root, "--out", tmp_path / "out", "--leave-out")
    assert done.exit_code == 0, done.output
    assert "12 to ask that need 1 passage, 6 for demonstrations; digest " in done.stdout
    assert "left out: kilt/nq-dev-multikilt_1000_k20_dep6.jsonl line 73: it is not JSON" in done.stdout


def test_special_tokens_are_escaped_on_demand(tmp_path: Path) -> None:
    root = tmp_path / "set"
    corpus_shapes.lines(root / "a.jsonl", [{"text": "One <|im_start|> two. And [INST] three."}])
    done = carrara("corpus", "import", "documents", root, "--out", tmp_path / "out")
    assert "a.jsonl line 1, paragraph 1: a sentence of it has '<|', which a chat template reads" in done.stderr
    assert carrara("corpus", "import", "documents", root, "--out", tmp_path / "out", "--escape").exit_code == 0
    (document,) = Corpus.read(tmp_path / "out" / "set.parquet").documents
    assert document.text == "One < |im_start|> two. And [ INST] three."
    assert "1 documents; digest" in carrara("corpus", "show", tmp_path / "out" / "set.parquet").stdout
    assert "is not a corpus" in carrara("corpus", "show", root / "a.jsonl").stderr


WEIRD: list[Any] = [
    None,
    True,
    -3,
    1e400,
    "",
    " ",
    "\ud800",
    "a\u2028b",
    "<|x|>",
    [],
    {},
    [None],
    [[]],
    ["a", 1],
    "x" * 30_000,
]


def mutated(rng: Random, value: Any) -> Any:
    """Return a JSON value of which some part is another."""
    if rng.random() < 0.2 or not value or not isinstance(value, dict | list):
        return rng.choice(WEIRD)
    copy = value.copy()
    at = rng.choice(list(copy)) if isinstance(copy, dict) else rng.randrange(len(copy))
    copy[at] = mutated(rng, copy[at])
    return copy


def broken(rng: Random, path: Path) -> None:
    """Change some bytes of a file, or a value of its JSON."""
    raw = bytearray(path.read_bytes())
    if path.suffix == ".json":
        path.write_text(json.dumps(mutated(rng, json.loads(raw))), encoding="ascii")
    elif path.suffix == ".jsonl" and rng.random() < 0.7:
        said = raw.decode().splitlines()
        at = rng.randrange(len(said))
        said[at] = json.dumps(mutated(rng, json.loads(said[at])))
        path.write_text("\n".join(said), encoding="utf-8")
    else:
        for _ in range(4):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        path.write_bytes(raw)


SMALL: dict[str, Callable[[Path], Path]] = {
    "helmet": lambda root: corpus_shapes.alce(corpus_shapes.rerank(corpus_shapes.helmet(root, questions=2, k=5))),
    "beir": lambda root: corpus_shapes.beir(root, questions=5, others=2),
    "dpr": lambda root: corpus_shapes.dpr(root, questions=2, others=3),
    "documents": lambda root: corpus_shapes.documents(root, count=2),
}


@pytest.mark.parametrize("shape", SMALL)
def test_whatever_is_broken_is_one_line_or_nothing(shape: str, tmp_path: Path) -> None:
    root = SMALL[shape](tmp_path / "in")
    kept = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    for number in range(24):
        rng = stream("broken", shape, number)
        path = rng.choice(list(kept))
        broken(rng, path)
        for lenient in (False, True):
            with suppress(PoolError):
                imported(shape, root, tmp_path / "out", lenient=lenient)
        path.write_bytes(kept[path])


@pytest.mark.parametrize(
    ("answer", "right", "wrong"),
    [
        ("S\u00e3o Paulo", ("S\u00e3o Paulo", "Sao Paulo", "It is S\u00e3o Paulo."), ("Rio", "S\u00e3o Paulo or Rio")),
        ("M\u00fcller\u2019s Bakery", ("Mu\u0308ller's bakery", "M\u00fcller\u2019s Bakery."), ("Bakery",)),
        ("\uc11c\uc6b8", ("\uc11c\uc6b8", "\uc11c\uc6b8."), ("\ubd80\uc0b0",)),
        (
            "\u041c\u043e\u0441\u043a\u0432\u0430",
            ("\u041c\u043e\u0441\u043a\u0432\u0430",),
            ("\u041e\u043c\u0441\u043a",),
        ),
        ("$1,542,000,000", ("$1,542,000,000.", "1,542,000,000"), ("$1,542,000",)),
    ],
)
def test_answers_of_any_script_are_scored(answer: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    row = {"scorer": "exact", "answers": [answer], "target": answer, "question": "Which is it, in the caf\u00e9?"}
    assert [score(row, reply) for reply in right] == [1.0] * len(right)
    assert [score(row, reply) for reply in wrong] == [0.0] * len(wrong)

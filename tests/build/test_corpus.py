"""Corpora: what cannot be asked about is refused by row, and a build is made of a frozen copy under its digest."""

from __future__ import annotations

import json
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from pipeline.artifacts.parquet import read_rows
from pipeline.cli import cli
from pipeline.errors import BuildError, PoolError
from pipeline.profiles import load_profile, shipped_profiles
from pipeline.streams import stream
from pipeline.worlds.writing.corpus import (
    LONGEST,
    Writing,
    corpus_digest,
    freeze,
    name_fault,
    near_doubles,
    read_corpus,
    text_fault,
)
from pipeline.worlds.writing.realise import formats, tones
from pipeline.worlds.writing.topics import topics

if str(Path(__file__).parents[1] / "helpers") not in sys.path:
    sys.path.append(str(Path(__file__).parents[1] / "helpers"))
import builds
from frozen_releases import published, resealed, rewritten

Record = dict[str, Any]
GOOD = {"format": "poem", "topic": "tea", "text": "Steam over the cup.\n\nNobody speaks."}
ABOUT = tuple(topic.name for topic in topics()[:20])
FORMS = tuple(formats())[:4]
RECIPE = """
release = "tiny"
version = "1.0.0"
seed = 7
tier = "32k"
[[strata]]
family = "mrcr"
subtasks = ["transcript", "chat"]
complexity = [4]
lengths = [8192]
rows = 2
"""


def carrara(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def failed(done: Result) -> str:
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert done.stderr.startswith("carrara: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def parquet(path: Path, records: Iterable[Mapping[str, Any]], **kinds: pa.DataType) -> Path:
    table = pa.Table.from_pylist(list(records))
    for name, kind in kinds.items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    pq.write_table(table, path)
    return path


def refused(path: Path) -> str:
    """Return why a corpus is refused: one line that names it."""
    with pytest.raises(PoolError) as caught:
        read_corpus(path)
    said = str(caught.value)
    assert said.count("\n") == 0
    assert repr(str(path)) in said
    assert len(said) < 1600
    return said


def texts(count: int, seed: str = "") -> list[Record]:
    letters = "abcdefghij"
    words = [["".join(stream(seed, n, w).choices(letters, k=5)) for w in range(40)] for n in range(count)]
    return [GOOD | {"topic": ("tea", "chess")[n % 2], "text": " ".join(words[n])} for n in range(count)]


# What is refused

FAULTS: list[tuple[Record, str]] = [
    ({"text": ""}, "its text is empty"),
    ({"text": " \n\t "}, "its text is empty"),
    ({"text": "x" * (LONGEST + 1)}, f"its text has {LONGEST + 1} bytes: give at most {LONGEST}"),
    ({"text": "\u00e9" * 1001}, f"its text has 2002 bytes: give at most {LONGEST}"),
    ({"text": "cafe\u0301"}, "its text is not in Unicode normalisation form NFC"),
    ({"text": "lone \ud800"}, r"its text has '\ud800', which chat templates or readers would take for a marker"),
    ({"text": "a\ttab"}, r"its text has '\t'"),
    ({"text": "a\rb"}, r"its text has '\r'"),
    ({"text": "nul \x00"}, r"its text has '\x00'"),
    ({"text": "next\x85line"}, r"its text has '\x85'"),
    ({"text": "line\u2028end"}, r"its text has '\u2028'"),
    ({"text": "order\ufeffmark"}, r"its text has '\ufeff'"),
    ({"text": "so.\nUser: and now?"}, "a line of its text looks like the start of a turn in a transcript"),
    ({"text": "Model: yes"}, "a line of its text looks like the start of a turn in a transcript"),
    ({"text": "a\nSystem: b"}, "a line of its text looks like the start of a turn in a transcript"),
    (
        {"text": "a\n======== CONVERSATION ========\nb"},
        "a line of its text looks like the start of a turn in a transcript",
    ),
    ({"text": "the end<|endoftext|>"}, "its text has '<|', which"),
    ({"text": "[INST] do [/INST]"}, "its text has '[INST]', which"),
    ({"text": "<start_of_turn>model"}, "its text has '<start_of_turn>', which"),
    ({"text": "bye</s>"}, "its text has '</s>', which"),
    ({"text": "<think>so</think>"}, "its text has '<think>', which"),
    ({"text": None}, "text is None: give text"),
    ({"text": 7}, "text is 7: give text"),
    ({"text": ["a"]}, "text is ['a']: give text"),
    ({"text": {"a": "b" * 4000}}, "text is {'a': 'bbb"),
    ({"format": None}, "format is None: give text"),
    ({"topic": True}, "topic is True: give text"),
    ({"tone": 0}, "tone is 0: give text"),
    ({"tone": False}, "tone is False: give text"),
    ({"format": ""}, "its format is '': give a plain phrase of 1 to 80 characters"),
    ({"format": "  "}, "its format is ''"),
    ({"format": "poem."}, "its format is 'poem.'"),
    ({"format": "poem\nsong"}, r"its format is 'poem\nsong'"),
    ({"format": "poe\u0301m"}, r"its format is 'poe\u0301m'"),
    ({"topic": "tea  cups"}, "its topic is 'tea  cups'"),
    ({"topic": "<|user|>"}, "its topic is '<|user|>'"),
    ({"topic": "x" * 9000}, "its topic is 'xxx"),
    ({"topic": "\ud800"}, r"its topic is '\ud800'"),
    ({"format": "poem about"}, "its format 'poem about' and topic 'tea' cannot be told apart in a request"),
    ({"format": "essay about art"}, "its format 'essay about art' and topic 'tea' cannot be told apart"),
    ({"topic": "talk in a dry tone"}, "its format 'poem' and topic 'talk in a dry tone' cannot be told apart"),
    ({"tone": "very dry"}, "its tone is 'very dry': give one word"),
    ({"tone": "dry!"}, "its tone is 'dry!': give one word"),
]


@pytest.mark.parametrize(("wrong", "said"), FAULTS, ids=[f"{number}" for number in range(len(FAULTS))])
def test_a_faulty_row_is_named(wrong: Record, said: str, tmp_path: Path) -> None:
    path = lines(tmp_path / "c.jsonl", [*texts(2), GOOD | wrong, GOOD | {"text": "another"}])
    assert f"'{path}': row 3: {said}" in refused(path)


@pytest.mark.parametrize("name", ["format", "topic", "text"])
def test_a_missing_column_is_named(name: str, tmp_path: Path) -> None:
    record = {key: value for key, value in GOOD.items() if key != name}
    assert f"row 2: it lacks '{name}'" in refused(lines(tmp_path / "c.jsonl", [texts(1)[0], record]))
    said = refused(parquet(tmp_path / "c.parquet", [record]))
    assert f"lacks the column '{name}': it has {', '.join(record)}" in said


def test_rows_of_parquet_are_numbered_too(tmp_path: Path) -> None:
    good = texts(3)
    assert "row 2: its text is empty" in refused(parquet(tmp_path / "c.parquet", [good[0], good[1] | {"text": ""}]))
    assert "row 1: text is 7: give text" in refused(parquet(tmp_path / "d.parquet", [GOOD | {"text": 7}]))
    assert "row 1: text is None" in refused(parquet(tmp_path / "e.parquet", [GOOD | {"text": None}, *good]))
    assert "row 1: text is b'" in refused(parquet(tmp_path / "f.parquet", good, text=pa.binary()))


def test_many_faults_are_counted(tmp_path: Path) -> None:
    said = refused(lines(tmp_path / "c.jsonl", [GOOD | {"text": ""}] * 20))
    assert said.count("its text is empty") == 8
    assert said.endswith("row 8: its text is empty (and 12 more)")


def test_a_text_that_stands_twice_is_named(tmp_path: Path) -> None:
    first, second, third = texts(3)
    path = lines(tmp_path / "c.jsonl", [first, second, third | {"text": f" {first['text']}\r\n"}])
    assert refused(path).endswith("row 3: its text is the same as that of row 1")
    path = lines(tmp_path / "c.jsonl", [first, second, GOOD | {"topic": "jazz", "text": second["text"]}])
    assert refused(path).endswith("row 3: its text is the same as that of row 2"), "under another topic too"


def test_a_text_that_nearly_stands_twice_is_named(tmp_path: Path) -> None:
    first, second, third = texts(3)
    near = first["text"].upper().replace(" ", ", ") + " and so on"
    path = lines(tmp_path / "c.jsonl", [first, second, third, first | {"text": near}])
    assert refused(path).endswith("row 4: more than half of its text is also in row 1")
    assert len(read_corpus(lines(path, [first, second, GOOD | {"topic": "jazz", "text": near}]))) == 3


def test_near_doubles_are_those_that_share_most_runs() -> None:
    words = [f"w{number}" for number in range(60)]
    half = [*words[:30], *(f"v{number}" for number in range(30))]
    most = [*words[:36], *(f"u{number}" for number in range(24))]
    said = [" ".join(each) for each in (words, half, most, words[:10])]
    # Of 56 runs `half` has 26 of `words`, `most` 32; what both have of it are 26 again.
    assert sorted(near_doubles(said)) == [(2, 0), (3, 0), (3, 1), (3, 2)]
    assert list(near_doubles(["too short", "too short", ""])) == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "it has no rows"),
        (b"\n \n", "it has no rows"),
        (b'{"format": "poem", \n', "row 1 is not JSON: "),
        (b"\n{}}\n", "row 2 is not JSON: "),
        (b"[" * 100_000, "row 1 is not JSON: "),
        (b"[1, 2]\n", "row 1: give an object with format, topic, text"),
        (b"null", "row 1: give an object with format, topic, text"),
        (b'{"text": "\xff"}', "cannot be read: 'utf-8' codec can't decode byte 0xff"),
        (b"PAR1 but no more", "row 1 is not JSON: "),
    ],
)
def test_lines_that_are_no_json(raw: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(raw)
    assert said in refused(tmp_path / "c.jsonl")


def test_parquet_that_is_none(tmp_path: Path) -> None:
    path = parquet(tmp_path / "whole.parquet", texts(4))
    broken = tmp_path / "c.parquet"
    for raw in (b"", b"PAR1", b"no parquet at all", path.read_bytes()[:-9]):
        broken.write_bytes(raw)
        assert "cannot be read: " in refused(broken)
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in GOOD}), broken)
    assert "it has no rows" in refused(broken)
    columns = [pa.array(["a"])] * 4
    pq.write_table(pa.Table.from_arrays(columns, ["format", "topic", "text", "text"]), broken)
    assert "has two columns 'text': it has format, topic, text, text" in refused(broken)


@pytest.mark.parametrize("name", ["c.csv", "c", "c.json", "c.jsonl.gz", ".jsonl"])
def test_an_unknown_suffix_is_named(name: str, tmp_path: Path) -> None:
    path = lines(tmp_path / name, texts(2))
    assert f"has the unknown suffix '{path.suffix}': give a .parquet or .jsonl file" in refused(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    for name in ("nothing.jsonl", "nothing.parquet", "folder.jsonl"):
        assert f"no corpus '{tmp_path / name}': give a .parquet or .jsonl file" in refused(tmp_path / name)


@given(st.text(st.characters()), st.text(st.characters(), max_size=90))
def test_whatever_is_let_in_can_be_read_back(text: str, name: str) -> None:
    if not text_fault(text):
        assert text.encode().decode() == unicodedata.normalize("NFC", text)
        assert len(f"Model: {text}\n".split("\nUser:")) == 1
    if not name_fault(Writing(name, name, "", text)):
        assert f"Write a {name} about {name}.".splitlines() == [f"Write a {name} about {name}."]


@pytest.mark.parametrize("name", shipped_profiles())
def test_no_special_token_of_a_template_is_let_in(name: str) -> None:
    special = load_profile(name).template.special
    for token, _ in special:
        assert text_fault(f"so {token} it is"), token
    assert special or name in ("o200k", "cl100k")


# What is read


def test_parquet_and_lines_say_the_same(tmp_path: Path) -> None:
    records = [{**record, "tone": ("dry", "")[n % 2]} for n, record in enumerate(texts(6))]
    path = lines(tmp_path / "c.jsonl", records)
    digest = corpus_digest(read_corpus(path))
    mixed = [{"more": 1, **dict(reversed(record.items()))} for record in records]
    raw = "\ufeff" + "\r\n\r\n".join(json.dumps(record, ensure_ascii=False) for record in mixed)
    (tmp_path / "windows.JSONL").write_bytes(raw.encode())
    spaced = [record | {"text": f"\n{record['text']} ", "topic": f" {record['topic']}"} for record in records]
    for same in (
        parquet(tmp_path / "c.parquet", records),
        parquet(tmp_path / "more.parquet", mixed, text=pa.large_string()),
        parquet(tmp_path / "few.parquet", mixed, topic=pa.dictionary(pa.int32(), pa.string())),
        tmp_path / "windows.JSONL",
        lines(tmp_path / "spaced.jsonl", spaced),
    ):
        assert corpus_digest(read_corpus(same)) == digest, same
        assert freeze(read_corpus(same), tmp_path / "kept") == digest
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [f"{digest}.parquet"]
    for other in (records[1:], records[::-1], [records[0] | {"tone": "sad"}, *records[1:]]):
        assert corpus_digest(read_corpus(lines(path, other))) != digest


def test_a_tone_may_be_missing(tmp_path: Path) -> None:
    plain = [Writing(record["format"], record["topic"], "", record["text"]) for record in texts(2)]
    assert list(read_corpus(lines(tmp_path / "c.jsonl", texts(2)))) == plain
    assert list(read_corpus(lines(tmp_path / "c.jsonl", [each | {"tone": None} for each in texts(2)]))) == plain


def test_folders_named_like_columns_say_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "format=song" / "tone=dry"
    folder.mkdir(parents=True)
    assert {(each.format, each.tone) for each in read_corpus(parquet(folder / "c.parquet", texts(2)))} == {("poem", "")}


def test_marks_that_other_readers_take_for_line_ends_end_no_line(tmp_path: Path) -> None:
    record = GOOD | {"note": "one\u2028two\u2029three\x85four"}
    (tmp_path / "c.jsonl").write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    assert len(read_corpus(tmp_path / "c.jsonl")) == 1


def test_texts_beyond_ascii_are_welcome(tmp_path: Path) -> None:
    said = [
        "\u00c6ble\u2014\u201cja\u201d",
        "\u8336\u3092\u98f2\u3080\u3002\n\n\u9759\u304b\u3060\u3002",
        "tea \U0001f375",
    ]
    path = lines(tmp_path / "c.jsonl", [GOOD | {"text": text} for text in said])
    assert [writing.text for writing in read_corpus(path)] == said


# What is kept


def test_a_copy_that_is_whole_is_not_written_again(tmp_path: Path) -> None:
    writings = read_corpus(lines(tmp_path / "c.jsonl", texts(4)))
    path = tmp_path / "kept" / f"{freeze(writings, tmp_path / 'kept')}.parquet"
    before, raw = builds.stamps(tmp_path / "kept"), path.read_bytes()
    freeze(writings, tmp_path / "kept")
    assert builds.stamps(tmp_path / "kept") == before
    for broken in (b"", raw[:-20], b"x" * len(raw)):
        path.write_bytes(broken)
        freeze(writings, tmp_path / "kept")
        assert path.read_bytes() == raw
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [path.name]


def test_a_copy_that_cannot_be_written_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writings = read_corpus(lines(tmp_path / "c.jsonl", texts(4)))
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(BuildError, match=r"a corpus cannot be written to .*file"):
        freeze(writings, tmp_path / "file" / "corpora")
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "full").symlink_to("/dev/full")
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.storage.temporary.temporary_path", lambda path: path.with_name("full"))
        with pytest.raises(BuildError, match=r"a corpus cannot be written to .*kept.*No space left"):
            freeze(writings, kept)
    assert list(kept.iterdir()) == []
    freeze(writings, kept)


# Grammars' texts as a corpus, and a build of it


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_corpus(tmp_path_factory.mktemp("corpus") / "c.jsonl")


def written_corpus(path: Path, *more: object) -> Path:
    named = [word for form in FORMS for word in ("--format", form)]
    named += [word for topic in ABOUT for word in ("--topic", topic)]
    done = carrara("corpus", "write", path, *named, "--texts", 4, *more)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{path}: 320 texts, written by the grammars\n"
    return path


@pytest.fixture(scope="session")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "tiny.toml"
    path.write_text(RECIPE, encoding="ascii")
    return path


def build(recipe: Path, out: Path, *more: object) -> Result:
    builds.forget()
    return carrara("build", recipe, "--out", out, "--tokenizer", "o200k", "--workers", 1, *more)


@pytest.fixture(scope="session")
def built(corpus: Path, recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus-build") / "out"
    done = build(recipe, out, "--corpus", corpus)
    assert (done.exit_code, done.stderr) == (0, "")
    return out


def rows(out: Path) -> list[Record]:
    return [row for path in sorted((out / "o200k" / "data").rglob("*.parquet")) for row in read_rows(path)]


def told(row: Record) -> list[str]:
    """Return the replies of a row's conversation, demonstrations included."""
    if row["messages"]:
        return [turn["content"] for turn in row["messages"] if turn["role"] == "assistant"]
    return [re.split(r"\nUser: ", said)[0] for said in row["prompt"].split("\nModel: ")[1:]]


def test_a_build_is_made_of_the_corpus_and_names_it(built: Path, corpus: Path) -> None:
    known = {writing.text for writing in read_corpus(corpus)}
    digest = corpus_digest(read_corpus(corpus))
    for row in rows(built):
        assert json.loads(row["metadata"])["knobs"] == {"corpus": digest}
        assert row["answers"][0].removeprefix(row["random_string_to_prepend"]) in known
        if row["messages"]:
            assert set(told(row)) <= known
    assert len(rows(built)) == 4
    assert digest in (built / "o200k" / "manifest.json").read_text(encoding="ascii")
    assert digest in (built / "recipes" / "32k.json").read_text(encoding="ascii")
    assert [path.name for path in (built / "corpora").iterdir()] == [f"{digest}.parquet"]
    assert read_corpus(built / "corpora" / f"{digest}.parquet") == read_corpus(corpus)


def test_the_same_bytes_from_any_copy(built: Path, corpus: Path, recipe: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed.jsonl"
    renamed.write_bytes(corpus.read_bytes())
    frozen = next((built / "corpora").iterdir())
    for number, copy in enumerate((renamed, frozen)):
        done = build(recipe, tmp_path / f"{number}", "--corpus", copy)
        assert done.exit_code == 0, done.output
        assert builds.contents(tmp_path / f"{number}") == builds.contents(built)


def test_a_build_does_without_the_file(built: Path, corpus: Path, recipe: Path, tmp_path: Path) -> None:
    copy, out = tmp_path / "c.jsonl", tmp_path / "out"
    copy.write_bytes(corpus.read_bytes())
    assert (
        carrara("build", "--until", "sample", recipe, "--out", out, "--tokenizer", "o200k", "--corpus", copy).exit_code
        == 0
    )
    copy.unlink()
    digest = corpus_digest(read_corpus(corpus))
    named = tmp_path / "tiny.toml"
    named.write_text(RECIPE + f'[strata.knobs]\ncorpus = "{digest}"\n', encoding="ascii")
    assert build(named, out).exit_code == 0
    assert builds.contents(out) == builds.contents(built)
    before = builds.stamps(out)
    assert carrara("verify", out, "--workers", 1).exit_code == 0
    assert builds.below(builds.stamps(out), "o200k/data", "samples") == builds.below(before, "o200k/data", "samples")


def better_chance(found: list[Record]) -> None:
    metadata = json.loads(found[0]["metadata"])
    found[0]["metadata"] = json.dumps({**metadata, "baselines": dict.fromkeys(metadata["baselines"], 0.5)})


def test_a_copy_is_held_to_the_corpus_where_it_is_at_hand(built: Path, tmp_path: Path) -> None:
    where = built / "o200k"
    assert "questions and keys drawn again from the seed;" in carrara("verify", "--against", where).stdout
    alone = published(built, tmp_path / "alone")
    for path in sorted(alone.rglob("*.parquet")):
        rewritten(path, better_chance)
    resealed(alone, retold=True)
    done = carrara("verify", "--against", alone, "--workers", 1)
    assert done.exit_code == 0
    assert (
        "questions and keys drawn again from the seed in 0 rows; 4 come from a corpus that is not here" in done.stdout
    )
    assert "filler, or a text of a corpus with its key, that was changed together with its digests" in done.stdout
    forged = alone / "corpora" / next((built / "corpora").iterdir()).name
    other = freeze(read_corpus(lines(tmp_path / "c.jsonl", texts(4))), alone / "corpora")
    (alone / "corpora" / f"{other}.parquet").rename(forged)
    assert "4 come from a corpus that is not here" in carrara("verify", "--against", alone, "--workers", 1).stdout
    shutil.copyfile(built / "corpora" / forged.name, forged)
    done = carrara("verify", "--against", alone, "--workers", 1)
    assert done.exit_code == 1
    assert "metadata has baselines" in done.stdout


def test_a_recipe_whose_corpus_is_not_there(corpus: Path, tmp_path: Path) -> None:
    digest = corpus_digest(read_corpus(corpus))
    named = tmp_path / "tiny.toml"
    named.write_text(RECIPE + f'[strata.knobs]\ncorpus = "{digest}"\n', encoding="ascii")
    kept = tmp_path / "out" / "corpora" / f"{digest}.parquet"
    assert f"no corpus '{kept}': build with --corpus FILE" in failed(build(named, tmp_path / "out"))


def test_two_corpora_in_one_folder_do_not_clash(built: Path, corpus: Path, recipe: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out", written_corpus(tmp_path / "other.jsonl", "--seed", 5)
    digests = {corpus_digest(read_corpus(path)) for path in (corpus, other)}
    assert len(digests) == 2
    for path in (corpus, other):
        assert build(recipe, out, "--corpus", path).exit_code == 0
        assert {json.loads(row["metadata"])["knobs"]["corpus"] for row in rows(out)} == {
            corpus_digest(read_corpus(path))
        }
    assert {path.stem for path in (out / "corpora").iterdir()} == digests
    assert build(recipe, out, "--corpus", corpus).exit_code == 0
    assert builds.below(builds.contents(out), "o200k/data", "o200k/keys", "samples") == builds.below(
        builds.contents(built), "o200k/data", "o200k/keys", "samples"
    )


@pytest.mark.parametrize(
    "command", ["plan", "build --until sample", "build --until render", "build --until pack", "build"]
)
def test_a_faulty_corpus_stops_every_command(command: str, recipe: Path, tmp_path: Path) -> None:
    path = lines(tmp_path / "c.jsonl", [GOOD, GOOD | {"text": ""}])
    said = failed(carrara(*command.split(), recipe, "--out", tmp_path / "out", "--corpus", path))
    assert said == f"carrara: corpus '{path}': row 2: its text is empty\n"
    assert not (tmp_path / "out").exists()


def test_a_corpus_that_is_too_small_is_told(recipe: Path, tmp_path: Path) -> None:
    few = lines(tmp_path / "c.jsonl", [record | {"topic": f"topic {n % 6}"} for n, record in enumerate(texts(18))])
    said = failed(build(recipe, tmp_path / "out", "--corpus", few))
    assert "4 texts of one format and topic are needed, the texts given have 3" in said
    few = lines(tmp_path / "c.jsonl", texts(18))
    assert "give more topics" in failed(build(recipe, tmp_path / "out", "--corpus", few))


def test_a_recipe_that_takes_no_corpus_says_so(corpus: Path, tmp_path: Path) -> None:
    said = failed(
        carrara("plan", "smoke", "--family", "bio", "--out", tmp_path / "out", "--corpus", tmp_path / "no.jsonl")
    )
    assert "no corpus" in said
    bio = builds.recipe_file(tmp_path / "bio.toml")
    assert "no family of tiny uses a corpus" in failed(
        carrara("plan", bio, "--out", tmp_path / "out", "--corpus", corpus)
    )


def test_whatever_the_grammars_write_is_a_corpus(tmp_path: Path) -> None:
    every = [word for form in formats() for word in ("--format", form)]
    every += [word for tone in tones() for word in ("--tone", tone)]
    path = tmp_path / "c.jsonl"
    done = carrara("corpus", "write", path, *every, "--topic", ABOUT[0], "--topic", ABOUT[-1], "--texts", 1)
    assert done.exit_code == 0, done.output
    assert len(read_corpus(path)) == 2 * len(formats()) * len(tones())


# What the grammars are asked for


def test_a_dash_prints_texts() -> None:
    done = carrara("corpus", "write", "-", "--format", FORMS[0], "--topic", ABOUT[0], "--texts", 2)
    assert (done.exit_code, done.stderr) == (0, "")
    assert (
        re.findall(r"^=== (.*)$", done.stdout, re.MULTILINE)
        == [f"Write a{'n' * (FORMS[0][0] in 'aeiou')} {FORMS[0]} about {ABOUT[0]}."] * 2
    )
    assert len(done.stdout) > 700


def test_the_same_command_writes_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    assert written_corpus(tmp_path / "again.jsonl").read_bytes() == corpus.read_bytes()
    assert written_corpus(tmp_path / "other.jsonl", "--seed", 1).read_bytes() != corpus.read_bytes()
    assert written_corpus(tmp_path / "twice.jsonl", "--topic", ABOUT[0]).read_bytes() == corpus.read_bytes()


def near(name: str) -> str:
    return name[:2] + name[3:]


NAMES: list[tuple[str, Callable[[], str]]] = [
    ("format", lambda: FORMS[-1]),
    ("topic", lambda: ABOUT[0]),
    ("tone", lambda: next(iter(tones()))),
]


@pytest.mark.parametrize(("kind", "name"), NAMES, ids=[kind for kind, _ in NAMES])
def test_a_name_the_grammars_do_not_know_is_told_with_a_near_one(
    kind: str, name: Callable[[], str], tmp_path: Path
) -> None:
    wrong = near(name())
    said = failed(carrara("corpus", "write", tmp_path / "c.jsonl", f"--{kind}", wrong))
    start = f"carrara: unknown {kind} '{wrong}': did you mean '{name()}'? ("
    assert said.startswith((f"{start}known: ", f"{start}nearest of "))
    assert said.count(",") <= 12
    assert list(tmp_path.iterdir()) == []


def test_more_than_the_grammars_can_say_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.worlds.writing.library.TRIES", 3)
    words = ["--format", FORMS[0], "--topic", ABOUT[0], "--texts", 5000]
    said = failed(carrara("corpus", "write", tmp_path / "c.jsonl", *words))
    assert "the grammars have run out of texts" in said
    assert "ask for fewer than 5000" in said
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_of_another_suffix_is_refused_before_it_is_written(tmp_path: Path) -> None:
    for name in ("c.parquet", "c.json", "c"):
        assert "give a file name ending in .jsonl, or - to print" in failed(carrara("corpus", "write", tmp_path / name))
    assert list(tmp_path.iterdir()) == []

"""Rows about users' own corpora: exact at every length, checked, counted as such, and held to the frozen text."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.recipes import read_recipes
from pipeline.artifacts.split import open_split
from pipeline.cli import cli
from pipeline.corpora.gathering import forms_of
from pipeline.corpora.importing import import_corpora
from pipeline.corpora.reading import Source, holds, searched
from pipeline.corpora.records import Corpus
from pipeline.errors import StageError
from pipeline.publish.staging import check_licence, stage
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import Row, plain_json
from pipeline.verify.row import answer_faults

if str(Path(__file__).parents[1] / "helpers") not in sys.path:
    sys.path.append(str(Path(__file__).parents[1] / "helpers"))
import builds
import corpus_shapes

TOP = 'release = "tiny"\nversion = "1.0.0"\nseed = {seed}\ntier = "{tier}"\n'
STRATA = """
[[strata]]
family = "{family}"
subtasks = {subtasks}
complexity = [{complexity}]
lengths = {lengths}
rows = {rows}
"""
PROFILES = "o200k,qwen2.5,gemma3"
SEED = 0x9E3779B97F4A7C15F39CC0605CEDC834


def carrara(*words: object) -> Result:
    builds.forget()
    return CliRunner().invoke(cli, [str(word) for word in words])


def cell(
    family: str,
    subtask: str,
    lengths: list[int],
    *,
    complexity: int = 1,
    rows: int = 2,
    knobs: Mapping[str, str] | None = None,
) -> str:
    told = ", ".join(f'{name} = "{value}"' for name, value in (knobs or {}).items())
    said = STRATA.format(
        family=family, subtasks=json.dumps([subtask]), complexity=complexity, lengths=lengths, rows=rows
    )
    return said + (f"knobs = {{ {told} }}\n" if told else "")


def recipe(path: Path, *cells: str, tier: str = "32k", seed: int = SEED) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOP.format(tier=tier, seed=seed) + "".join(cells), encoding="ascii")
    return path


@dataclass(frozen=True)
class Files:
    """Imported corpora, by their names."""

    folder: Path

    def __getitem__(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def digest(self, name: str) -> str:
        return Corpus.read(self[name]).digest


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A corpus of every shape; that of HELMET has k20 and 520 questions, which are more than a million tokens."""
    root = tmp_path_factory.mktemp("shapes")
    corpus_shapes.kilt(root / "large", "nq-dev-multikilt_1000_k20_dep6.jsonl", 560, 20, words=95, depths=2)
    import_corpora("helmet", Source(root / "large"), root / "large-out")
    for shape in ("helmet", "beir", "dpr", "documents"):
        import_corpora(shape, Source(getattr(corpus_shapes, shape)(root / shape)), root / "out")
    import_corpora("beir", Source(corpus_shapes.beir(root / "judged", answers=False)), root / "out")
    (root / "large-out" / "kilt-nq.parquet").rename(root / "out" / "large.parquet")
    return Files(root / "out")


@pytest.fixture(scope="session")
def built(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of every task that takes passages or documents, in some profiles."""
    root = tmp_path_factory.mktemp("own")
    path = recipe(
        root / "tiny.toml",
        cell("rag", "single", [8192], rows=6, knobs={"corpus": files.digest("kilt-nq")}),
        cell("rag", "bridge", [8192], complexity=2),
        cell("rag", "single", [4096], knobs={"corpus": files.digest("documents"), "negatives": "running"}),
        cell("recall", "niah_mk1", [4096]),
    )
    corpora = [word for name in ("kilt-nq", "kilt-hotpotqa", "documents") for word in ("--corpus", files[name])]
    done = carrara("build", path, *corpora, "--tokenizer", PROFILES, "--out", root / "out", "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "12 rows" in done.stdout
    assert "all exact, 2 re-solved from their text, 10 checked in it, " in done.stdout
    return root / "out"


def rows(out: Path, profile: str = "o200k") -> list[Row]:
    return [row for path in sorted((out / profile / "data").rglob("*.parquet")) for row in read_rows(path)]


def stratum(out: Path, row: Row) -> Stratum:
    (kept,) = read_recipes(out)
    place = row["family"], row["subtask"], row["length"]
    return next(one for one in kept.strata if (one.family, one.subtask, one.length) == place)


def faults(out: Path, row: Row) -> list[str]:
    return answer_faults(row, stratum(out, row))


def documents_of(row: Row) -> list[str]:
    start, stop = row["prompt"].rindex("\nDocuments:\n") + 12, row["prompt"].rindex("\nThis is the end of the doc")
    return str(row["prompt"][start:stop]).split("\n")


# What a build makes


def test_rows_are_the_same_questions_in_all_profiles(built: Path) -> None:
    first = [(row["id"], row["question"], row["answers"]) for row in rows(built)]
    for profile in PROFILES.split(","):
        assert [(row["id"], row["question"], row["answers"]) for row in rows(built, profile)] == first
        for row in rows(built, profile):
            assert row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"] == row["context_tokens"]


def test_a_row_has_its_answer_in_one_document(built: Path) -> None:
    for row in rows(built):
        if row["family"] != "rag" or row["length"] != 8192:
            continue
        metadata, found = json.loads(row["metadata"]), documents_of(row)
        forms = forms_of([row["answers"]])
        assert sum(holds(searched(one), forms) for one in found) == 1
        assert metadata["proof"] == "checked"
        assert metadata["filler"]["documents"] == len(found) - row["complexity"]
        assert 0 < metadata["filler"]["own"] <= 19
        needles = [n for n in row["needles"] if n["role"] == "relevant"]
        assert len(needles) == row["complexity"]
        assert sum(n["role"] == "demo" for n in row["needles"]) == 2
        assert faults(built, row) == []


def test_ranked_passages_come_first_and_in_their_order(built: Path, files: Files) -> None:
    corpus = Corpus.read(files["kilt-nq"])
    known = {f"Document (title: {one.title}) {one.text}": one.id for one in corpus.passages}
    for row in [row for row in rows(built) if (row["subtask"], row["length"]) == ("single", 8192)]:
        question = next(one for one in corpus.questions if one.question == row["question"])
        names = [known[one] for one in documents_of(row)]
        ranked = [name for name in names if name in question.ranked]
        assert ranked == [name for name in question.ranked if name in ranked]
        behind = [name for name in names if name not in question.gold]
        assert behind[: len(ranked)] == ranked, "others stand behind them"
        assert len(ranked) == json.loads(row["metadata"])["filler"]["own"]


def test_running_text_keeps_its_order(built: Path, files: Files) -> None:
    corpus = Corpus.read(files["documents"])
    for row in [row for row in rows(built) if (row["family"], row["length"]) == ("rag", 4096)]:
        start, stop = row["prompt"].index("\nText:\n") + 7, row["prompt"].rindex("\nThis is the end of the text")
        places = [next(p for p, one in enumerate(corpus.passages) if one.text == said)
                  for said in row["prompt"][start:stop].split("\n")]  # fmt: skip
        homes = [corpus.passages[place].title for place in places]
        own = corpus.passages[corpus.places[corpus.questions[json.loads(row["metadata"])["latent"]["number"]].gold[0]]]
        mine = [place for place, home in zip(places, homes, strict=True) if home == own.title]
        assert mine == sorted(mine)
        assert mine[-1] - mine[0] - len(mine) + 1 <= 4, "a few are left out near the ends"
        (needle,) = row["needles"]
        assert row["prompt"][needle["char_start"] : needle["char_end"]] == own.text + "\n"
        assert faults(built, row) == []


def test_needles_in_documents_are_solved(built: Path) -> None:
    hidden = [row for row in rows(built) if row["family"] == "recall"]
    assert hidden
    for row in hidden:
        assert "proof" not in json.loads(row["metadata"])
        assert "Below are texts." in row["prompt"]
        assert faults(built, row) == []
        assert faults(built, {**row, "prompt": row["prompt"].replace(f"{row['target']}.", "0000000.")})


def test_rows_are_those_of_this_version(built: Path) -> None:
    """Whoever changes a row of a user's own passages raises the task's version, and changes this digest."""
    said = [
        [row["id"][:-7], row["prompt"], row["answers"], row["task_version"]]
        for row in rows(built)
        if row["family"] == "rag"
    ]
    assert hashlib.sha256(plain_json(said).encode()).hexdigest() == DIGEST


DIGEST = "a42c1c6c141df2950aecd0f23a9af7ee66b85864c6af131f51b26b8a9ed5013f"


@pytest.mark.parametrize("name", ["large", "beir", "dpr", "judged"])
def test_exact_at_any_length(name: str, files: Files, tmp_path: Path) -> None:
    lengths = [131072, 1048576] if name == "large" else [4096]
    subtask = "list" if name == "judged" else "single"
    path = recipe(tmp_path / "r.toml", cell("rag", subtask, lengths, rows=1), tier="1m" if name == "large" else "32k")
    done = carrara("build", path, "--corpus", files[name], "--tokenizer", "o200k", "--out", tmp_path, "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "all exact, all checked in their text, all recounted" in done.stdout
    for row in rows(tmp_path):
        told = json.loads(row["metadata"])["filler"]
        if name == "large":
            assert told["own"] == 19
            assert told["documents"] > row["length"] / 160, "beyond the source"
    if name == "judged":
        (row,) = rows(tmp_path)
        (needle,) = [n for n in row["needles"] if n["role"] == "relevant"]
        said = row["prompt"][needle["char_start"] : needle["char_end"]]
        assert said.startswith(f"Document [{row['target']}] (title: ")
        assert faults(tmp_path, row) == []
        other = next(one for one in documents_of(row) if row["target"] not in one)
        number = re.findall(r"\d{5}", other)[0]
        twin = changed(row, f"[{number}]", f"[{row['target']}]")
        assert "a document has no number, or that of another" in faults(tmp_path, twin)
        assert "the marked documents are not those of the key" in faults(tmp_path, {**row, "target": number})


def test_nothing_beyond_the_source_on_demand(files: Files, tmp_path: Path) -> None:
    knobs = {"beyond": "none", "corpus": files.digest("large")}
    path = recipe(tmp_path / "r.toml", cell("rag", "single", [8192], knobs=knobs))
    done = carrara("build", path, "--corpus", files["large"], "--tokenizer", "o200k", "--out", tmp_path, "--workers", 1)
    assert done.exit_code == 1
    assert "tokens for this prompt, but" in done.stderr


# What is wrong with a row is found


def changed(row: Row, text: str, to: str) -> Row:
    """Return a row with other words of the same length, so that its marks still fit."""
    assert len(text) == len(to)
    assert text in row["prompt"]
    return {**row, "prompt": row["prompt"].replace(text, to, 1)}


def test_planted_faults_are_found(built: Path) -> None:
    row = next(row for row in rows(built) if (row["subtask"], row["length"]) == ("single", 8192))
    needle = next(n for n in row["needles"] if n["role"] == "relevant")
    told, found = row["prompt"][needle["char_start"] : needle["char_end"]], documents_of(row)
    other, third = [one for one in found if one + "\n" != told][:2]
    answer = row["target"]

    def said(faulty: Row) -> str:
        return "; ".join(each for each in faults(built, faulty) if "SHA-256" not in each)

    assert said(row) == ""
    planted = other[: -len(answer) - 2] + f" {answer}."
    assert "holds an accepted answer too" in said(changed(row, other, planted))
    assert "no document that is needed holds" in said(changed(row, told, told.replace(answer, "x" * len(answer))))
    again = {**row, "prompt": row["prompt"].replace(third, other)}
    assert "stands twice" in said(again)
    broken = changed(row, other, other.replace("Document", "Dokument", 1))
    assert "no document: 'Dokument" in said(broken)
    assert "asks" in said({**row, "question": row["question"][:-1]})
    unmarked = [{**n, "role": "filler"} if n == needle else n for n in row["needles"]]
    assert "0 documents are marked as needed, expected 1" in said({**row, "needles": unmarked})
    metadata = json.loads(row["metadata"])
    silent = {name: value for name, value in metadata.items() if name != "proof"}
    assert "does not say that it is checked" in said({**row, "metadata": json.dumps(silent)})
    fewer = {**metadata, "filler": {**metadata["filler"], "documents": 3}}
    assert "documents are filler, expected 3" in said({**row, "metadata": json.dumps(fewer)})


# What a build is held to


def test_a_recipe_that_names_another_corpus_is_refused(files: Files, tmp_path: Path) -> None:
    path = recipe(tmp_path / "r.toml", cell("rag", "single", [8192], knobs={"corpus": files.digest("dpr")}))
    done = carrara("plan", path, "--corpus", files["beir"], "--out", tmp_path / "out")
    assert f"names the corpus {files.digest('dpr')[:12]}..., but '{files['beir']}' is" in done.stderr
    done = carrara("plan", path, "--out", tmp_path / "out", "--tokenizer", "o200k")
    assert "build with --corpus FILE, which keeps a copy there" in done.stderr
    bare = recipe(tmp_path / "bare.toml", cell("rag", "single", [8192]))
    done = carrara("plan", bare, "--corpus", files["beir"], "--corpus", files["dpr"], "--out", tmp_path / "out")
    assert "both fit: give one, or name a digest" in done.stderr
    done = carrara("plan", bare, "--corpus", files["kilt-hotpotqa"], "--out", tmp_path / "out")
    assert "no family of tiny uses a corpus of answers, passages and questions: leave out --corpus" in done.stderr


def test_a_copy_that_was_changed_is_refused(files: Files, tmp_path: Path) -> None:
    path = recipe(tmp_path / "r.toml", cell("rag", "single", [4096]))
    out = tmp_path / "out"
    assert (
        carrara("build", "--until", "sample", path, "--corpus", files["beir"], "--out", out, "--workers", 1).exit_code
        == 0
    )
    (kept,) = (out / "corpora").iterdir()
    (tmp_path / "x" / "corpora").mkdir(parents=True)
    (tmp_path / "x" / "corpora" / kept.name).write_bytes(files["dpr"].read_bytes())
    named = recipe(tmp_path / "n.toml", cell("rag", "single", [4096], knobs={"corpus": kept.stem}))
    done = carrara("build", named, "--out", tmp_path / "x", "--tokenizer", "o200k", "--workers", 1)
    assert "does not match the digest in its name" in done.stderr


def test_workers_and_copies_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    (kept,) = read_recipes(built)
    assert isinstance(kept, Recipe)
    done = carrara("verify", "--against", built / "o200k", "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "2 re-solved from their text, 10 checked in it, questions and keys drawn again from the seed;" in done.stdout


def test_publishing_demands_a_licence(built: Path, tmp_path: Path) -> None:
    split = open_split(built / "o200k")
    with pytest.raises(StageError, match=r"contains your own texts .*give their licence"):
        stage(split, tmp_path / "o200k", repo="org/tiny")
    with pytest.raises(StageError, match="takes one line of text"):
        stage(split, tmp_path / "o200k", repo="org/tiny", licence="a\nb")
    made = stage(split, tmp_path / "o200k", repo="org/tiny", licence="CC BY-SA 4.0")
    card, about = ((made.folder / name).read_text(encoding="utf-8") for name in ("README.md", "ABOUT.md"))
    assert "license_name: cc-by-sa-4.0" in card
    assert "texts from the maintainer's own corpora, under this licence: CC BY-SA 4.0." in about
    assert "in 2 rows the answer was derived again" in card
    assert "The other 10 ask about the maintainer's own texts" in card


def test_answers_about_own_texts_can_be_withheld(built: Path, tmp_path: Path) -> None:
    split = open_split(built / "o200k")
    made = stage(split, tmp_path / "o200k", keys="withhold", repo="org/tiny", licence="CC BY 4.0")
    done = carrara("verify", "--against", made.folder, "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "2 re-solved from their text, 10 that no program can solve, answers withheld" in done.stdout
    done = carrara("verify", "--against", made.folder, "--lock", tmp_path / "none.json", "--workers", 1)
    assert done.exit_code == 1


def test_nothing_else_needs_a_licence(built: Path) -> None:
    def without(told: dict[str, Any]) -> None:
        for cell in told["tiers"]["32k"]["strata"]:
            cell["knobs"] = {}

    plain = builds.retold(open_split(built / "o200k"), without)
    check_licence(plain, "")
    with pytest.raises(StageError, match="contains none of your own texts: leave it out"):
        check_licence(plain, "MIT")


def test_simulated_readers_leave_out_what_no_program_solves(built: Path, tmp_path: Path) -> None:
    done = carrara("baselines", built / "o200k", "--out", tmp_path, "--reader", "all", "--workers", 1, "--quiet")
    assert done.exit_code == 0, done.output
    assert "all.jsonl: 2 rows; 10 rows left out" in done.stdout

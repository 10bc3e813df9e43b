"""What every export holds: the rows that were asked for, byte for byte, with their metrics and how to run them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

import builds
from pipeline.artifacts.split import Selection, Split, open_split
from pipeline.cli import cli
from pipeline.errors import ExportError, SplitError
from pipeline.export import EXPORTS, Export, Written, common, export, export_of
from pipeline.export.common import CARRIED, write_parts
from pipeline.metrics.join import joined_metrics

RECIPE = """
release = "Tiny set"
version = "1.2.3"
seed = 7
tier = "32k"

[[strata]]
family = "bio"
subtasks = ["standard", "standard-essay"]
complexity = [1]
lengths = [4096]
rows = 3

[[strata]]
family = "bio"
subtasks = ["idk"]
complexity = [0, 1]
lengths = [2048]
rows = 2

[[strata]]
family = "mrcr"
subtasks = ["transcript", "chat"]
complexity = [2]
lengths = [2048]
rows = 2
shots = 0
knobs = { replies = "short" }
"""
PARQUET = ("lm-eval", "inspect", "lighteval", "evalscope", "verifiers")
TURNS = ("inspect", "evalscope", "verifiers")


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    home = tmp_path_factory.mktemp("exports")
    (home / "tiny.toml").write_text(RECIPE, encoding="ascii")
    builds.stages(home / "tiny.toml", home / "built").build()
    return open_split(home / "built" / "o200k")


def rows_in(folder: Path) -> dict[str, dict[str, object]]:
    found = [row for path in sorted(folder.rglob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row for row in found}


@pytest.mark.parametrize("name", PARQUET)
def test_an_export_holds_every_row_it_can_carry_and_names_the_others(name: str, split: Split, tmp_path: Path) -> None:
    written = export(EXPORTS[name], split, Selection(), tmp_path / "out")
    found = rows_in(tmp_path / "out")
    expected = {row["id"]: row for row in split.rows(list(CARRIED))}
    left = {row_id for ids in written.left_out.values() for row_id in ids}
    assert left == (set() if name in TURNS else {key for key, row in expected.items() if row["messages"]})
    assert found.keys() == expected.keys() - left
    assert written.rows == len(found)
    for row_id, row in found.items():
        wanted = {**expected[row_id], **({"prompt": ""} if expected[row_id]["messages"] else {})}
        assert {"messages": None, **row} == wanted


@pytest.mark.parametrize("name", PARQUET)
def test_an_export_is_the_same_bytes_again_and_knows_no_path(name: str, split: Split, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        export(EXPORTS[name], split, Selection(), tmp_path / folder)
    assert builds.contents(tmp_path / "one") == builds.contents(tmp_path / "two")
    for path in builds.files(tmp_path / "one"):
        raw = path.read_bytes()
        assert str(tmp_path).encode() not in raw
        assert str(split.folder).encode() not in raw
        if path.suffix == ".py":
            compile(raw, path.name, "exec")


@pytest.mark.parametrize("name", PARQUET)
def test_metrics_go_along_as_they_are(name: str, split: Split, tmp_path: Path) -> None:
    export(EXPORTS[name], split, Selection(families=("bio",)), tmp_path / "out")
    (copy,) = (tmp_path / "out").rglob("metrics.py")
    assert copy.read_bytes() == joined_metrics().encode()


@pytest.mark.parametrize("name", PARQUET)
def test_the_readme_says_how_to_run_it_and_what_is_left_out(name: str, split: Split, tmp_path: Path) -> None:
    written = export(EXPORTS[name], split, Selection(), tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text(encoding="ascii")
    for said in ("**Sampling.** ", "`temperature` 0", "**Headline.** ", "--export /path/to/export"):
        assert said in page
    for said in ("Tiny set 1.2.3 o200k", "4096", "what it cuts silently", "What is left out", split.manifest.canary):
        assert said in page
    for reason, ids in written.left_out.items():
        assert f"{len(ids)} {'row' if len(ids) == 1 else 'rows'}: {reason}" in page
    left = tmp_path / "out" / "left_out.tsv"
    assert left.is_file() == bool(written.left_out)
    assert "{{" not in page
    assert "{%" not in page


def test_lengths_in_the_readme_are_those_that_were_chosen(split: Split, tmp_path: Path) -> None:
    export(EXPORTS["lm-eval"], split, Selection(lengths=(2048,)), tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text(encoding="ascii")
    assert "max_length=2048" in page
    assert "`max_length=2049`: one more than the window" in page
    assert "4096" not in page


def test_a_selection_takes_strata_and_a_few_rows_of_each(split: Split, tmp_path: Path) -> None:
    chosen = Selection(families=("bio",), subtasks=("idk",), limit=1)
    export(EXPORTS["inspect"], split, chosen, tmp_path / "out")
    assert sorted(row["complexity"] for row in rows_in(tmp_path / "out").values()) == [0, 1]


def test_tasks_and_groups_of_lm_eval_hang_together(split: Split, tmp_path: Path) -> None:
    export(EXPORTS["lm-eval"], split, Selection(), tmp_path / "out")
    tasks = {}
    for path in (tmp_path / "out" / "tasks").glob("*.yaml"):
        text = path.read_text(encoding="ascii")
        (file,) = re.findall(r'"file": "(\S+)"}', text)
        (limit,) = re.findall(r'"max_gen_toks": (\d+)', text)
        rows = pq.read_table(tmp_path / "out" / "data" / file).to_pylist()
        assert {row["max_new_tokens"] for row in rows} == {int(limit)}
        tasks[re.findall(r'^task: "(\S+)"', text, re.M)[0]] = len(rows)
    groups = {
        path.stem: yaml.safe_load(path.read_text(encoding="ascii"))["task"]
        for path in (tmp_path / "out" / "groups").glob("*.yaml")
    }
    assert set(groups["tiny_set_32k_4096"]) == {
        "tiny_set_bio_standard_32k_4096",
        "tiny_set_bio_standard_essay_32k_4096",
    }

    def below(name: str) -> list[str]:
        return [name] if name in tasks else [task for member in groups[name] for task in below(member)]

    assert sorted(below("tiny_set")) == sorted(tasks)
    assert sum(tasks.values()) == 12


def test_large_rows_are_written_in_groups(split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "GROUP_BYTES", 1)
    made = write_parts(split, Selection(), tmp_path, turns=True)
    groups = {path.stem: pq.ParquetFile(path).num_row_groups for path in tmp_path.glob("*.parquet")}
    assert groups == {part.name: rows for part, rows in made.rows.items()}
    assert rows_in(tmp_path).keys() == {row["id"] for row in split.rows(["id"])}


def changed(split: Split, folder: Path, change: Callable[[pa.Table], pa.Table]) -> Split:
    """Return a copy of a split whose shards are others."""
    for path in split.shards():
        copy = folder / path.relative_to(split.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(change(pq.read_table(path)), copy)
    return Split(folder, split.manifest)


@pytest.mark.parametrize("name", PARQUET)
def test_a_split_without_keys_is_refused(name: str, split: Split, tmp_path: Path) -> None:
    withheld = changed(split, tmp_path / "split", lambda table: table.drop_columns(["target", "answers", "needles"]))
    with pytest.raises(ExportError, match=r"needs the keys to score, but those of Tiny set .* are withheld"):
        export(EXPORTS[name], withheld, Selection(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_rows_with_different_reply_limits_in_one_part_are_refused(split: Split, tmp_path: Path) -> None:
    def halved(table: pa.Table) -> pa.Table:
        at = table.schema.get_field_index("max_new_tokens")
        limits = [64 if number % 2 else 65 for number in range(len(table))]
        return table.set_column(at, "max_new_tokens", pa.array(limits, pa.int32()))

    with pytest.raises(ExportError, match="leave 65 and 64 tokens for the reply: export them apart"):
        write_parts(changed(split, tmp_path / "split", halved), Selection(), tmp_path / "out", turns=True)


def test_nothing_is_left_of_an_export_that_fails(split: Split, tmp_path: Path) -> None:
    def broken(split: Split, selection: Selection, folder: Path) -> Written:
        (folder / "half").write_text("a row", encoding="ascii")
        raise ExportError("no more")

    with pytest.raises(ExportError, match="no more"):
        export(Export("broken", "", "none", broken), split, Selection(), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_holds_something_is_not_written_to(split: Split, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("", encoding="ascii")
    with pytest.raises(ExportError, match="exists and is not empty"):
        export(EXPORTS["inspect"], split, Selection(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_unknown_names_are_named_with_the_nearest_right_one(split: Split, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="unknown harness 'lmeval': did you mean 'lm-eval'"):
        export_of("lmeval")
    with pytest.raises(SplitError, match="unknown subtask"):
        export(EXPORTS["inspect"], split, Selection(subtasks=("standrad",)), tmp_path / "out")


def run(*args: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [str(arg) for arg in args])
    return done.exit_code, done.output


def test_the_command_writes_and_says_what_it_left_out(split: Split, tmp_path: Path) -> None:
    code, said = run("export", "lm-eval", split.folder, "--out", tmp_path / "out", "--family", "mrcr", "--limit", 1)
    assert code == 0
    assert "1 row of Tiny set 1.2.3 o200k" in said
    assert re.search(r"left out: 1 row \(real turns.*left_out.tsv", said)
    assert len(rows_in(tmp_path / "out")) == 1
    code, said = run("export", "lm-eval", split.folder, "--out", tmp_path / "none", "--subtask", "chat")
    assert (code, said.count("\n")) == (1, 1)
    assert "there are no rows to export to lm-eval (real turns" in said
    assert not (tmp_path / "none").exists()


def test_the_command_lists_the_harnesses() -> None:
    code, said = run("export")
    assert code == 0
    assert all(name in said for name in EXPORTS)
    assert run("export", "--list")[1] == said
    code, said = run("export", "lm-eval")
    assert code == 1
    assert "Missing argument 'SPLIT'" in said


def test_the_tasks_of_lighteval_are_the_configurations_that_datasets_finds(split: Split, tmp_path: Path) -> None:
    export(EXPORTS["lighteval"], split, Selection(), tmp_path / "out")
    card = (tmp_path / "out" / "data" / "README.md").read_text(encoding="ascii")
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="ascii"))
    configs = yaml.safe_load(card.split("---\n")[1])["configs"]
    assert [task["config"] for task in tasks] == [each["config_name"] for each in configs]
    files = [{"split": "test", "path": f"{each['config_name']}.parquet"} for each in configs]
    assert [each["data_files"] for each in configs] == [[file] for file in files]
    assert {each["config_name"] for each in configs} == {
        path.stem for path in (tmp_path / "out" / "data").glob("*.parquet")
    }

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import builds
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.plan import make_plan
from pipeline.cli import cli
from pipeline.errors import ProfileError
from pipeline.profiles import Profile
from pipeline.recipe import load_recipe, shipped_recipes
from pipeline.tasks import families


def carrara(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "125k"], "unknown recipe '125k': did you mean '128k'?"),
        (["build", "smoke", "--tokenizer", "o200"], "did you mean 'o200k'?"),
        (["build", "smoke", "--family", "bios"], "unknown family in this recipe: 'bios': did you mean 'bio'?"),
        (["build", "smoke", "--part", "3/2"], "--part 3/2: give I/N with 1 <= I <= N"),
        (["build", "smoke", "--workers", "0"], "0 is not in the range x>=1"),
        (["build", "smoke", "--wrokers", "1"], "No such option '--wrokers'"),
        (["verify", "nowhere"], "no build in 'nowhere'"),
        (["show", "nowhere", "some-id"], "no folder 'nowhere'"),
        (["biuld", "smoke"], "unknown command 'biuld': did you mean 'build'?"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_one(words: list[str], said: str) -> None:
    done = carrara(*words)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert said in done.stderr
    assert done.stderr.startswith("carrara: ")
    assert done.stderr.count("\n") == 1


def test_debug_shows_the_traceback() -> None:
    run = [sys.executable, "-m", "pipeline", "--debug", "plan", "125k"]
    seen = subprocess.run(run, capture_output=True, text=True, check=False)
    assert seen.returncode != 0
    assert "Traceback" in seen.stderr


def test_a_module_that_ends_early_is_no_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(*_: object) -> None:
        raise EOFError("marshal data too short")

    monkeypatch.setattr("pipeline.cli.group.import_module", torn)
    result = carrara("recipes")
    assert result.exit_code == 1
    assert "EOFError: marshal data too short: unexpected; a file may be damaged" in result.output


def test_plan_changes_nothing_and_says_what_would_be_made(tmp_path: Path) -> None:
    done = carrara("plan", "128k", "--family", "graph", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "out").exists()
    cells = load_recipe("128k").of_family("graph")
    rows, tokens = sum(cell.rows for cell in cells), sum(cell.length * cell.rows for cell in cells)
    assert f"llama3.1: {rows:,} rows, {tokens:,} tokens, about " in done.stdout
    assert len(re.findall(r" MB on disk; every stratum fits$", done.stdout, re.MULTILINE)) == 3
    short = tokens - sum(cell.rows for cell in cells if cell.length == 131072) * (131072 - 128000)
    assert f"o200k: {rows:,} rows, {short:,} tokens" in done.stdout
    assert len(done.stdout.splitlines()) < 40


def test_plan_shows_every_stratum(tmp_path: Path) -> None:
    recipe = tmp_path / "standard.toml"
    recipe.write_text(
        'release = "r"\nversion = "1"\nseed = 5\ntier = "128k"\n[[strata]]\nfamily = "bio"\nsubtasks = ["standard"]\n'
        "complexity = [1]\nlengths = [2048, 4096]\nrows = 27\nfull = 4\n"
    )
    detailed = carrara("plan", recipe, "--strata", "--out", tmp_path / "out").stdout
    assert "+- 19%" in detailed
    assert "108, +- 9%" in detailed
    parts = json.loads(carrara("plan", recipe, "--json", "--out", tmp_path / "out").stdout)
    tokens = sum(record["tokens"] for record in parts["strata"])
    assert tokens == sum(record["tokens"] for record in parts["families"]) == 27 * (2048 + 4096)
    assert [each["rows"] for each in parts["profiles"]] == [54] * 3
    assert parts["strata"][0]["complexity"] == [1]
    assert 0.18 < max(each["default_half_width"] for each in parts["strata"]) < 0.2


def test_plan_says_what_is_there(release: Path) -> None:
    parts = json.loads(carrara("plan", "smoke", "--json", "--out", release, "--tokenizer", "o200k").stdout)
    assert parts["out"] == str(release)
    assert parts["shards"] == [
        {"profile": "o200k", "family": family, "shards": 1, "proven": 1} for family in families()
    ]


def test_plan_stats_shows_what_guessers_score(tmp_path: Path) -> None:
    recipe = tmp_path / "standard.toml"
    recipe.write_text(
        'release = "r"\nversion = "1"\nseed = 5\ntier = "32k"\n[[strata]]\nfamily = "bio"\nsubtasks = ["standard"]\n'
        "complexity = [1]\nlengths = [2048]\nrows = 12\n"
    )
    words = ["plan", recipe, "--stats", "--json", "--tokenizer", "o200k", "--out", tmp_path]
    chance = json.loads(carrara(*words).stdout)["chance"]
    assert len(chance) == 6
    assert sum(record["rows"] for record in chance) == 5000
    assert all(record["best_constant"] < 0.03 > record["baselines"]["uniform"] for record in chance)


def test_stages_one_by_one_make_the_same_as_build(tmp_path: Path) -> None:
    recipe = tmp_path / "small.toml"
    others = SMALL[SMALL.index("[[strata]]") :].replace('"bio"', '"graph"').replace('"standard"', '"parents"')
    recipe.write_text(SMALL.format(tier="32k") + others, encoding="ascii")
    whole, staged = tmp_path / "whole", tmp_path / "staged"
    count = len(load_recipe(str(recipe)).families)
    assert count > 1
    assert carrara("build", recipe, "--out", whole, "--tokenizer", "o200k", "--workers", 1).exit_code == 0
    how = [recipe, "--out", staged, "--tokenizer", "o200k", "--workers", 1]
    assert f"{count} of {count} files written" in carrara("build", "--until", "sample", *how).stdout
    pools = len(make_plan(load_recipe(str(recipe)), ("o200k",), staged).all_pools())
    assert f"{pools} of {pools} files written" in carrara("build", "--until", "render", *how).stdout
    assert f"{count} shards written" in carrara("build", "--until", "pack", *how).stdout
    assert not (staged / "o200k" / "manifest.json").exists()
    assert carrara("verify", staged, "--workers", 1).exit_code == 0
    for path in sorted(whole.rglob("*.*")):
        assert (staged / path.relative_to(whole)).read_bytes() == path.read_bytes(), path


def test_build_json_is_the_manifest(release: Path, tmp_path: Path) -> None:
    out = shutil.copytree(release, tmp_path / "release")
    done = carrara("build", "smoke", "--out", out, "--tokenizer", "o200k", "--json")
    manifest = json.loads((out / "o200k" / "manifest.json").read_text(encoding="ascii"))
    assert json.loads(done.stdout) == {"o200k": manifest}
    assert manifest["tiers"]["32k"]["proven"]["rows"] == manifest["totals"]["rows"] == builds.SMOKE_ROWS


def test_a_build_of_some_families_says_what_is_owed_and_can_be_sealed_alone(tmp_path: Path) -> None:
    recipe = builds.recipe_file(tmp_path / "r.toml", rows=1, families=("bio",))
    table = '[[strata]]\nfamily = "recall"\nsubtasks = ["niah_s1"]\ncomplexity = [1]\nlengths = [2048]\nrows = 1\n'
    recipe.write_text(f"{recipe.read_text(encoding='ascii')}\n{table}", encoding="ascii")
    out = tmp_path / "out"
    words = ("build", recipe, "--out", out, "--tokenizer", "o200k", "--family", "bio", "--workers", 1)
    owed = (
        "not sealed: in tier 32k, bio is built and proven, recall is missing: build without --family and --part to "
        "complete it, or with --family bio --only to seal a release without the rest"
    )
    assert carrara(*words).stdout == f"{out / 'o200k'}: {owed}\n"
    for command in (("score", out / "o200k", recipe), ("show", out), ("report", out, "--out", tmp_path / "page")):
        assert carrara(*command).stderr == f"carrara: '{out / 'o200k'}' is {owed}\n"
    assert carrara("freeze", out).stderr == f"carrara: '{out / 'o200k'}' is {owed}\n"
    done = carrara("verify", out, "--workers", 1, "--quiet")
    seen = done.stdout
    assert done.exit_code == 2
    assert carrara("verify", out, "--workers", 1, "--part", "1/2").exit_code == 0
    assert seen.startswith(f"{out / 'o200k'}: 1 of 2 shards verified: 2 rows, 6,144 tokens (")
    assert seen.endswith(f"all exact, all re-solved from their text, all recounted by tiktoken 0.14.0; {owed}\n")
    before = builds.stamps(out)
    assert "2 rows, 6,144 tokens" in carrara(*words, "--only").stdout
    after = builds.stamps(out)
    assert after.keys() - before.keys() == {"o200k/manifest.json"}
    assert {name for name in before if before[name] != after[name]} == {"recipes/32k.json"}
    assert carrara("verify", out, "--workers", 1).exit_code == carrara("show", out).exit_code == 0
    other = carrara("build", recipe, "--out", out, "--family", "recall", "--only")
    assert f"'{out}' holds shards of bio, which --only would remove: name these with --family too" in other.stderr
    (out / "o200k/data/recall/32k").mkdir(parents=True)
    assert carrara(*words, "--only").exit_code == 0, "an empty folder is no shard"
    assert "--only needs the families" in carrara("plan", recipe, "--only").stderr
    assert "unknown family in this recipe: 'rag'" in carrara("plan", recipe, "--family", "rag", "--only").stderr


def test_verify_of_a_part_says_of_which(release: Path, tmp_path: Path) -> None:
    out = shutil.copytree(release, tmp_path / "release")
    seen = carrara("verify", out, "--part", "2/2", "--workers", 1, "--quiet").stdout
    assert seen.startswith(
        f"{out / 'o200k'}, part 2 of 2: {len(families()) // 2} of {len(families())} shards verified: "
    )
    assert f"{builds.SMOKE_ROWS:,} rows" not in seen
    assert seen.endswith("all exact, all re-solved from their text, all recounted by tiktoken 0.14.0\n")


def test_a_full_disk_behind_what_is_printed_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "pipeline", "recipes"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "carrara: the output, or a file, cannot be written (No space left on device): free some space, "
        "and run it again\n"
    )


def test_show_prints_a_prompt_for_reading(release: Path) -> None:
    shards = sorted((release / "o200k" / "data").rglob("*.parquet"))
    for row in [next(read_rows(path)) for path in shards]:
        done = carrara("show", release, row["id"])
        assert done.exit_code == 0
        assert row["prompt"][row["question_start"] :] in done.stdout
        assert f"= {row['context_tokens']:,} tokens" in done.stdout
        assert "[relevant, depth " in done.stdout or row["family"] == "icl"  # all of its examples are alike
        assert "accepted: " in done.stdout
        dense = row["subtask"] in ("json_kv", "conditions", "points") or row["family"] in (
            "trace",
            "tabulate",
            "tally",
        )  # marks that stand too near for folding
        assert "lines, " in done.stdout or dense
        assert "\x1b" not in done.stdout
        whole = carrara("show", release, row["id"], "--full", "--tokenizer", "o200k").stdout
        assert "characters of filler" not in whole
        assert len(whole) > len(row["prompt"])


def test_show_without_an_id_offers_one_of_every_stratum(release: Path) -> None:
    done = carrara("show", release)
    cells = load_recipe("smoke").strata
    assert len(done.stdout.splitlines()) == len(cells) + 1
    assert done.stderr == f"carrara show {release} ID prints one of them\n"
    for family in families():
        assert f"{family}-" in done.stdout


def test_show_offers_the_nearest_id(release: Path) -> None:
    row = next(read_rows(sorted((release / "o200k" / "data").rglob("*.parquet"))[0]))
    done = carrara("show", release, row["id"] + "x")
    assert done.exit_code == 1
    assert f"did you mean '{row['id']}'?" in done.stderr


def test_verify_names_profiles_it_cannot_know(release: Path, tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "32k.json").write_bytes((release / "recipes" / "32k.json").read_bytes())
    (tmp_path / "mine" / "data" / "bio" / "32k").mkdir(parents=True)
    assert "has profile 'mine', which is not a shipped one" in carrara("verify", tmp_path).stderr


def test_recipes_are_listed() -> None:
    listed = carrara("recipes").stdout
    assert all(line.split()[0] in shipped_recipes() for line in listed.splitlines())
    assert len(listed.splitlines()) == len(shipped_recipes())


SMALL = """
release = "small"
version = "1.0.0"
seed = 1
tier = "{tier}"
[[strata]]
family = "bio"
subtasks = ["standard"]
complexity = [1]
lengths = [2048]
rows = 2
"""


@pytest.fixture
def two_tiers(tmp_path: Path) -> Path:
    """A folder with two tiers of a release."""
    for tier in ("128k", "32k"):
        (tmp_path / f"{tier}.toml").write_text(SMALL.format(tier=tier), encoding="ascii")
        done = carrara(
            "build", tmp_path / f"{tier}.toml", "--out", tmp_path / "out", "--tokenizer", "o200k", "--workers", 1
        )
        assert done.exit_code == 0
    return tmp_path / "out"


def sealed_tiers(out: Path) -> list[str]:
    return list(json.loads((out / "o200k" / "manifest.json").read_text(encoding="ascii"))["tiers"])


def test_a_broken_tier_leaves_the_others_sealed(two_tiers: Path) -> None:
    assert sealed_tiers(two_tiers) == ["32k", "128k"]
    shard = two_tiers / "o200k" / "data" / "bio" / "32k" / "test-00000-of-00001.parquet"
    raw = bytearray(shard.read_bytes())
    raw[900] ^= 1
    shard.write_bytes(raw)
    done = carrara("verify", two_tiers, "--workers", 1)
    assert done.exit_code == 1
    assert str(shard) in done.stderr
    assert sealed_tiers(two_tiers) == ["128k"]
    carrara("build", two_tiers.parent / "32k.toml", "--out", two_tiers, "--tokenizer", "o200k", "--workers", 1)
    assert sealed_tiers(two_tiers) == ["32k", "128k"]


def test_verify_does_not_pass_on_nothing(two_tiers: Path) -> None:
    shutil.rmtree(two_tiers / "o200k" / "data")
    done = carrara("verify", two_tiers, "--workers", 1)
    assert done.exit_code == 1
    assert "is missing" in done.stderr


def test_a_profile_built_for_one_tier_is_verified_for_that_tier(two_tiers: Path) -> None:
    carrara("build", two_tiers.parent / "32k.toml", "--out", two_tiers, "--tokenizer", "cl100k", "--workers", 1)
    done = carrara("verify", two_tiers, "--workers", 1)
    assert done.exit_code == 0
    assert done.stdout.count("cl100k") == 1
    assert done.stdout.count("o200k") == 2


def test_a_missing_engine_is_no_fault_of_the_shards(two_tiers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(profile: Profile) -> None:
        raise ProfileError("the engine is not installed")

    before = {path: path.read_bytes() for path in sorted(two_tiers.rglob("*.*"))}
    monkeypatch.setattr(Profile, "second", missing)
    done = carrara("verify", two_tiers, "--workers", 1)
    assert done.exit_code == 1
    assert "the engine is not installed" in done.stderr
    assert {path: path.read_bytes() for path in sorted(two_tiers.rglob("*.*"))} == before


def test_the_bare_command_shows_its_help() -> None:
    done = carrara()
    assert done.exit_code == 0
    assert done.stdout.startswith("Usage: ")

"""Splits in a store: every command that reads one says what it says of a folder, and fetches what it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import builds
import handmade
from carrara import open_split as open_anywhere
from loopback.buckets import Buckets, settled
from loopback.proxy import Proxy
from pipeline.artifacts.split import Selection, open_split
from pipeline.cli import cli
from pipeline.storage import parse_location, requests
from pipeline.streams import stream
from published_build import staged


def carrara(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release folder on a disk."""
    recipe = builds.recipe_file(tmp_path_factory.mktemp("recipe") / "tiny.toml", rows=2)
    builds.stages(recipe, recipe.parent / "v1").build()
    return recipe.parent / "v1"


@pytest.fixture(scope="module")
def proxy(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A store that holds it, below ``s3://bucket-1/v1``."""
    with pytest.MonkeyPatch.context() as patch, Buckets() as buckets:
        patch.setattr(requests, "_OPEN", {})
        with Proxy(tmp_path_factory.mktemp("proxy"), buckets) as served, settled(served.url):
            bucket = buckets.bucket()
            for path in builds.files(out):
                buckets.put(bucket, f"v1/{path.relative_to(out)}", path.read_bytes())
            yield served


@pytest.fixture
def there(proxy: Proxy) -> str:
    proxy.log.clear()
    return "s3://bucket-1"


def ids(out: Path) -> list[str]:
    return [row["id"] for row in open_split(out).rows(["id"])]


@pytest.fixture
def predictions(out: Path, tmp_path: Path) -> Path:
    path = tmp_path / "m.jsonl"
    rows = [{"id": row["id"], "prediction": row["target"]} for row in open_split(out).key_rows(["id", "target"])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]), encoding="ascii")
    return path


COMMANDS = ("show", "show ID", "show FULL", "baselines", "baselines --json", "score P", "score P --json", "verify")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_of_a_store_what_it_says_of_a_folder(
    command: str, out: Path, there: str, predictions: Path
) -> None:
    said = []
    for where in (str(out), f"{there}/v1"):
        name, *more = command.split()
        given = {"ID": [ids(out)[0]], "FULL": [ids(out)[-1], "--full"], "P": [predictions]}
        rest = [one for each in more for one in given.get(each, [each])]
        of = ["--against", f"{where}/o200k", "--workers", 1, "--quiet"] if name == "verify" else [where]
        ended = carrara(name, *of, *rest)
        said.append((ended.exit_code, (ended.stdout + ended.stderr).replace(where, "OUT")))
    assert said[0] == said[1]
    assert said[0][0] == (2 if name == "score" else 0)


def test_predictions_and_results_are_in_a_store(out: Path, there: str, predictions: Path, tmp_path: Path) -> None:
    parse_location(f"{there}/m/m.jsonl").write_bytes(predictions.read_bytes())
    local, far = tmp_path / "scores.json", f"{there}/m/scores.json"
    assert carrara("score", out, predictions, "--out", local, "--model", "m").exit_code == 2
    assert carrara("score", f"{there}/v1/o200k", f"{there}/m", "--out", far, "--model", "m").exit_code == 2
    assert parse_location(far).read_text().replace(f"{there}/m", str(tmp_path)) == local.read_text()
    judged = [tmp_path / "judge.jsonl", f"{there}/m/judge.jsonl"]
    for where, path, records in ((out, predictions, judged[0]), (f"{there}/v1", f"{there}/m/m.jsonl", judged[1])):
        assert carrara("score", where, path, "--judge-records", records).exit_code == 2
    assert parse_location(judged[1]).read_bytes() == judged[0].read_bytes()


def test_pages_are_in_a_store(out: Path, there: str, predictions: Path, tmp_path: Path) -> None:
    parse_location(f"{there}/p/m.jsonl").write_bytes(predictions.read_bytes())
    for folder, url, source in (
        (tmp_path, str(tmp_path), out),
        (parse_location(f"{there}/p"), f"{there}/p", f"{there}/v1"),
    ):
        assert carrara("gallery", f"{source}/o200k", "--out", f"{url}/gallery.html").exit_code == 0
        assert carrara("report", source, "--out", f"{url}/build").exit_code == 0
        assert carrara("report", source, "--out", f"{url}/build").exit_code == 0, "a page of its own is replaced"
        ended = carrara("report", f"{source}/o200k", f"model={url}/m.jsonl", "--out", f"{url}/scores.html")
        assert ended.exit_code == 0, ended.stderr
        assert (folder / "build" / "index.html").is_file()
    names = [path.relative_to(tmp_path) for path in builds.files(tmp_path) if path.name != "m.jsonl"]
    assert len(names) > 4
    for name in names:
        far = (parse_location(f"{there}/p") / name).read_bytes().replace(f"{there}/p".encode(), str(tmp_path).encode())
        assert far == (tmp_path / name).read_bytes(), name


def test_simulated_readers_read_and_write_there(out: Path, there: str, tmp_path: Path) -> None:
    for where, url in ((out, tmp_path / "read"), (f"{there}/v1/o200k", f"{there}/read")):
        ended = carrara("baselines", where, "--out", url, "--reader", "last-match", "--workers", 1, "--quiet")
        assert ended.exit_code == 0, ended.stderr
    assert (parse_location(f"{there}/read") / "last-match.jsonl").read_bytes() == (
        tmp_path / "read/last-match.jsonl"
    ).read_bytes()


def test_exports_and_uploads_are_made_on_a_disk(out: Path, there: str, tmp_path: Path) -> None:
    for name, source in (("near", str(out)), ("far", f"{there}/v1")):
        assert carrara("export", "lm-eval", f"{source}/o200k", "--out", tmp_path / name).exit_code == 0
        staged(open_split(parse_location(f"{source}/o200k")), tmp_path / f"{name}-published")
    assert builds.contents(tmp_path / "near") == builds.contents(tmp_path / "far")
    assert builds.contents(tmp_path / "near-published") == builds.contents(tmp_path / "far-published")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "lm-eval", "URL/v1/o200k", "--out", "URL/x"], "is in a store, which cannot take a whole folder"),
        (["publish", "URL/v1", "--repo", "org/x"], "give a local folder with --out"),
        (["publish", "URL/v1", "--repo", "org/x", "--out", "URL/x"], "uploads are made from a disk"),
        (["run", "URL/v1", "--base-url", "http://127.0.0.1:9", "--model", "m", "--out", "URL/m.jsonl"], "appended to"),
        (["show", "URL/nothing"], "no build in 'URL/nothing'"),
        (["score", "URL/v1/data", "URL/none.jsonl"], "'URL/v1/data' holds no split"),
        (["score", "URL/v1", "URL/none.jsonl"], "'URL/none.jsonl' does not exist"),
        (["show", "s3://no-such-bucket/v1"], "no bucket 's3://no-such-bucket'"),
        (["show", "s4://bucket/v1"], "unknown kind of store 's4'"),
        (["show", "s3://"], "names no folder of a store"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], said: str, there: str) -> None:
    ended = carrara(*[each.replace("URL", there) for each in arguments])
    assert ended.exit_code == 1
    assert ended.stderr.startswith("carrara: ")
    assert len(builds.lines(ended.stderr)) == 1
    assert said.replace("URL", there) in ended.stderr


def test_columns_are_fetched_and_no_more(there: str, proxy: Proxy, tmp_path: Path) -> None:
    """Twelve megabytes of text lie between the ids and what is read of them."""
    text = [stream("text", number).randbytes(1_500_000).hex() for number in range(4)]
    folder = handmade.split(tmp_path / "o200k", [handmade.row(number, prompt=text[number]) for number in range(4)])
    for path in builds.files(folder):
        parse_location(f"{there}/wide/{path.relative_to(folder)}").write_bytes(path.read_bytes())
    size = sum(path.stat().st_size for path in folder.glob("data/*/*/*"))
    assert size > 5_000_000
    proxy.log.clear()
    split = open_split(parse_location(f"{there}/wide"))
    assert [row["target"] for row in split.rows(["id", "target"], Selection(lengths=(2048,)))] == [
        f"Town{number}" for number in range(4)
    ]
    assert sum(seen.sent for seen in proxy.log) < 700_000
    assert len(proxy.log) <= 8, proxy.lines()
    assert [row["prompt"] for row in split.rows(["prompt"])] == text


def test_a_split_in_memory(out: Path, predictions: Path) -> None:
    for path in builds.files(out):
        parse_location(f"memory://v1/{path.relative_to(out)}").write_bytes(path.read_bytes())
    assert (
        carrara("score", "memory://v1/o200k", predictions).stdout == carrara("score", out / "o200k", predictions).stdout
    )
    split = open_anywhere("memory://v1")
    assert list(split.rows()) == list(open_split(out).rows())
    written = carrara("baselines", "memory://v1", "--out", "memory://read", "--reader", "last-match", "--quiet")
    assert (written.exit_code, written.stderr) == (0, "")

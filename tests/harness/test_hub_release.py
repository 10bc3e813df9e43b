"""Releases on the Hub: all of a folder or nothing, each byte once, and no tag is ever moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import HfApi, snapshot_download

from loopback import Hub
from loopback.client import CLIENTS_OWN, hurried
from loopback.folders import SHARDS, digests, noise, staged
from pipeline.errors import HubError
from pipeline.publish.hub import Preview, download, preview, release
from pipeline.publish.hub.client import read_file
from pipeline.publish.hub.releasing import BATCH, batches

pytestmark = CLIENTS_OWN
REPO = "org/small"
SHARD = "data/bio/test-00001.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return staged(tmp_path / "staged")


def commits(hub: Hub, branch: str = "main") -> list[str]:
    return [commit.summary for commit in hub.repos[REPO].branches[branch].history()]


def is_out(hub: Hub, folder: Path, tag: str = "v1.0.0") -> bool:
    """Tell whether main and the tag are one commit that has the folder's files, and no branch is left."""
    repo = hub.repos[REPO]
    return (
        list(repo.branches) == ["main"]
        and repo.tags[tag] is repo.branches["main"]
        and repo.contents(tag) == digests(folder)
    )


def test_a_release_is_one_commit_on_main_with_a_tag(hub: Hub, folder: Path) -> None:
    said: list[str] = []
    done = release(folder, REPO, "1.0.0", say=said.append)
    assert is_out(hub, folder)
    assert commits(hub) == ["Release v1.0.0", "initial commit"]
    assert (done.repo, done.tag, done.files, done.fresh) == (REPO, "v1.0.0", SHARDS + 3, True)
    assert done.commit == hub.repos[REPO].branches["main"].oid
    assert any("7 checksums agree on branch release-v1.0.0" in line for line in said)
    assert any("7 checksums agree on main" in line for line in said)
    assert hub.uploaded() == SHARDS * 2000


def test_the_client_verifies_and_downloads_it(hub: Hub, folder: Path, tmp_path: Path) -> None:
    release(folder, REPO, "1.0.0")
    seen = HfApi().verify_repo_checksums(REPO, repo_type="dataset", revision="v1.0.0", local_dir=folder)
    assert (seen.checked_count, seen.mismatches, seen.extra_paths) == (SHARDS + 3, [], [])
    assert seen.missing_paths == [".gitattributes"]
    local = snapshot_download(REPO, repo_type="dataset", revision="v1.0.0", local_dir=tmp_path / "local")
    got = digests(Path(local))
    assert {path: got[path] for path in digests(folder)} == digests(folder)


def test_the_same_again_uploads_nothing(hub: Hub, folder: Path) -> None:
    first = release(folder, REPO, "1.0.0")
    before = len(hub.log)
    said: list[str] = []
    again = release(folder, REPO, "1.0.0", say=said.append)
    assert (again.commit, again.fresh) == (first.commit, False)
    assert said[1:] == ["org/small: v1.0.0 already exists; nothing was uploaded"]
    assert {seen.method for seen in hub.log[before:]} == {"GET"}


def test_a_tag_with_other_files_is_not_moved(hub: Hub, folder: Path) -> None:
    release(folder, REPO, "1.0.0")
    commit, before = hub.repos[REPO].tags["v1.0.0"], len(hub.log)
    (folder / SHARD).write_bytes(noise(99, 50))
    (folder / "more.txt").write_text("more")
    (folder / "metrics.py").unlink()
    names = f"{SHARD}, more.txt, metrics.py (not in the folder)"
    said = f"v1.0.0 already exists with different files ({names}).*raise the version"
    with pytest.raises(HubError, match=said.replace("(", r"\(").replace(")", r"\)")):
        release(folder, REPO, "1.0.0")
    assert hub.repos[REPO].tags["v1.0.0"] is commit
    assert {seen.method for seen in hub.log[before:]} == {"GET"}


def test_the_next_version_uploads_what_changed_and_drops_what_is_gone(hub: Hub, folder: Path) -> None:
    release(folder, REPO, "1.0.0")
    old, before = digests(folder), hub.uploaded()
    (folder / SHARD).write_bytes(noise(99, 50))
    (folder / "metrics.py").unlink()
    (folder / "data" / "bio" / "test-00000.parquet").rename(folder / "moved.parquet")
    assert release(folder, REPO, "1.1.0").fresh
    assert hub.uploaded() - before == 50
    assert is_out(hub, folder, "v1.1.0")
    assert hub.repos[REPO].contents("v1.0.0") == old
    assert commits(hub) == ["Release v1.1.0", "Release v1.0.0", "initial commit"]


def test_commits_on_the_branch_are_small_and_main_gets_one(hub: Hub, tmp_path: Path) -> None:
    many = staged(tmp_path / "many", shards=2 * BATCH, size=20)
    release(many, REPO, "1.0.0")
    assert is_out(hub, many)
    assert len(hub.lines("POST /api/datasets/org/small/commit/release-v1.0.0")) == 4
    assert len(hub.lines("POST /api/datasets/org/small/commit/main")) == 1
    sizes = dict.fromkeys("abcde", 100 * 1024 * 1024)
    assert list(batches(["a", "b", "c", "d", "e", "f"], sizes)) == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert [len(part) for part in batches([*map(str, range(2 * BATCH + 3)), "README.md"])] == [1, BATCH, BATCH, 3]


def test_listings_come_page_by_page(hub: Hub, folder: Path) -> None:
    hub.page = 2
    release(folder, REPO, "1.0.0")
    assert is_out(hub, folder)
    assert not release(folder, REPO, "1.0.0").fresh


def test_a_moved_main_is_an_error_and_the_same_command_goes_on(hub: Hub, folder: Path) -> None:
    def meddle(_: str) -> None:
        hub.repos[REPO].put("NOTES.md", b"mine")

    hub.fail("POST .*/commit/main", then=meddle)
    with pytest.raises(HubError, match=r"main has moved on from \w{12} in the meantime: check what changed") as caught:
        release(folder, REPO, "1.0.0")
    assert caught.value.status == 412
    assert commits(hub) == ["Update NOTES.md", "initial commit"]
    assert not hub.repos[REPO].tags
    before = hub.uploaded()
    assert [line.path for line in preview(folder, REPO, "1.0.0").lines if line.action != "keep"] == []
    assert release(folder, REPO, "1.0.0").fresh
    assert hub.uploaded() == before
    assert is_out(hub, folder)
    assert commits(hub) == ["Release v1.0.0", "Update NOTES.md", "initial commit"]


@pytest.mark.parametrize("told", [True, False])
def test_a_tampered_shard_is_named(hub: Hub, folder: Path, told: bool) -> None:
    """Changed on the branch before main moves: in the listing it shows, in the bytes alone the download shows it."""

    def tamper(_: str) -> None:
        hub.repos[REPO].tamper(SHARD, "release-v1.0.0", listed=told)

    if not told:
        release(folder, REPO, "1.0.0")
        hub.repos[REPO].tamper(SHARD, listed=False)
        with pytest.raises(HubError, match=r"'data/bio/test-00001\.parquet' differs from what was published"):
            download(REPO, "v1.0.0")
        return
    hub.fail("GET .*/tree/", skip=2, then=tamper)
    with pytest.raises(HubError, match=rf"branch release-v1.0.0 does not match what was sent \({SHARD}\)"):
        release(folder, REPO, "1.0.0")
    assert commits(hub) == ["initial commit"]
    assert release(folder, REPO, "1.0.0").fresh
    assert is_out(hub, folder)


def test_main_is_compared_again_before_the_tag(hub: Hub, folder: Path) -> None:
    def tamper(_: str) -> None:
        hub.repos[REPO].tamper("metrics.py", listed=True)

    hub.fail("GET .*/tree/", skip=5, then=tamper)
    with pytest.raises(HubError, match=r"main does not match what was sent \(metrics.py\)"):
        release(folder, REPO, "1.0.0")
    assert not hub.repos[REPO].tags
    release(folder, REPO, "1.0.0")
    assert is_out(hub, folder)


def test_a_tampered_shard_under_the_tag_is_named_by_the_next_publish(hub: Hub, folder: Path) -> None:
    release(folder, REPO, "1.0.0")
    hub.repos[REPO].tamper(SHARD, listed=True)
    with pytest.raises(HubError, match=rf"v1.0.0 already exists with different files \({SHARD}\)"):
        release(folder, REPO, "1.0.0")


def test_a_branch_left_by_another_try_does_no_harm(hub: Hub, folder: Path, tmp_path: Path) -> None:
    other = staged(tmp_path / "other", shards=2)
    (other / "data" / "bio" / "stray.parquet").write_bytes(noise(7, 70))
    (other / SHARD).write_bytes(noise(8, 80))
    hub.fail("POST .*/commit/main", 403)
    with pytest.raises(HubError):
        release(other, REPO, "1.0.0")
    assert release(folder, REPO, "1.0.0").fresh
    assert is_out(hub, folder)


def test_a_branch_left_behind_by_a_finished_release_is_dropped(hub: Hub, folder: Path) -> None:
    hub.fail("DELETE ", 403)
    with pytest.raises(HubError):
        release(folder, REPO, "1.0.0")
    assert "release-v1.0.0" in hub.repos[REPO].branches
    assert not release(folder, REPO, "1.0.0").fresh
    assert is_out(hub, folder)


def test_main_that_has_the_files_is_only_tagged(hub: Hub, folder: Path) -> None:
    hub.fail("POST .*/tag/", 403)
    with pytest.raises(HubError):
        release(folder, REPO, "1.0.0")
    before = len(hub.log)
    assert release(folder, REPO, "1.0.0").fresh
    assert not [seen.line for seen in hub.log[before:] if "/commit/" in seen.path or seen.method == "PUT"]
    assert is_out(hub, folder)


def test_an_older_version_does_not_move_main_back(hub: Hub, folder: Path) -> None:
    release(folder, REPO, "1.10.0")
    (folder / "metrics.py").write_text("pass\n")
    with pytest.raises(HubError, match=r"is already at v1\.10\.0, which is newer than v1\.9\.0: raise the version"):
        release(folder, REPO, "1.9.0")
    with pytest.raises(HubError, match=r"newer than v1\.10\.0-rc\.1"):
        release(folder, REPO, "1.10.0-rc.1")
    assert release(folder, REPO, "1.11.0").fresh


def test_two_at_once_do_not_mix(hub: Hub, folder: Path) -> None:
    def meddle(_: str) -> None:
        hub.repos[REPO].put("x.txt", b"x", "release-v1.0.0")

    hub.fail("POST .*/commit/release", then=meddle)
    with pytest.raises(HubError, match=r"somebody else is writing to branch release-v1\.0\.0"):
        release(folder, REPO, "1.0.0")
    release(folder, REPO, "1.0.0")
    assert is_out(hub, folder)


def test_a_tag_that_somebody_else_makes_meanwhile_is_no_success(hub: Hub, folder: Path) -> None:
    def meddle(_: str) -> None:
        repo = hub.repos[REPO]
        repo.tags["v1.0.0"] = next(iter(repo.commits.values()))

    hub.fail("POST .*/tag/", then=meddle)
    with pytest.raises(HubError, match=r"somebody else has created tag v1\.0\.0 in the meantime"):
        release(folder, REPO, "1.0.0")


def test_what_must_be_private_goes_to_no_public_repo(hub: Hub, folder: Path) -> None:
    release(folder, "org/keys", "1.0.0", private=True)
    assert hub.repos["org/keys"].private
    release(folder, REPO, "1.0.0")
    with pytest.raises(HubError, match="org/small is public, but these files must stay private"):
        release(folder, REPO, "1.1.0", private=True)
    assert "v1.1.0" not in hub.repos[REPO].tags


# Lost replies, broken lines and busy servers


LOST = ("repos/create", "branch/release", "commit/release", "commit/main", "/tag/", "^DELETE ")


@pytest.mark.parametrize("match", LOST)
def test_a_lost_reply_is_no_failure(hub: Hub, folder: Path, match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.publish.hub.client.WAITS", (0.0,))
    hub.fail(match, done=True)
    assert release(folder, REPO, "1.0.0").fresh
    assert is_out(hub, folder)
    assert len(commits(hub)) == 2


@pytest.mark.parametrize("match", ["/refs", "/tree/", "preupload", "batch", "PUT", *LOST])
def test_a_server_that_is_busy_for_once_is_no_failure(
    hub: Hub, folder: Path, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.publish.hub.client.WAITS", (0.0, 0.0))
    hurried(monkeypatch)
    hub.fail(match, 503)
    hub.fail(match, cut=0)
    assert release(folder, REPO, "1.0.0").fresh
    assert is_out(hub, folder)


def test_a_broken_upload_is_sent_again_by_the_client(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / SHARD).write_bytes(noise(5, 3_000_000))
    waits = hurried(monkeypatch)
    hub.fail(f"PUT .*/{digests(folder)[SHARD]}", cut=1_000_000, times=2)
    release(folder, REPO, "1.0.0")
    assert is_out(hub, folder)
    assert len(waits) == 2
    assert 5_000_000 < hub.uploaded() < 9_000_000


# Before anything is sent


def test_what_cannot_be_published_is_named(hub: Hub, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HubError, match=r"nothing to publish in '.*nowhere'"):
        release(tmp_path / "nowhere", REPO, "1.0.0")
    for version in ("1.0", "v1.0.0", "1.0.0.0", "01.0.0", ""):
        with pytest.raises(HubError, match=f"version '{version}' is not valid: give three numbers"):
            release(folder, REPO, version)
    for name in ("small", "org/small-{tokenizer}", "org/a--b", "org/../x", "org/a b", "org/" + "x" * 96, "org/x."):
        with pytest.raises(HubError, match="is not the name of a repo: give org/name"):
            release(folder, name, "1.0.0")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x").touch()
    with pytest.raises(HubError, match=r"cannot be published, since the Hub takes nothing in \.cache"):
        release(folder, REPO, "1.0.0")
    assert not hub.log


def test_files_have_the_names_that_git_gives_them(tmp_path: Path) -> None:
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    file = read_file(path)
    assert file.oid == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert file.sha256 == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


# A dry run


def actions(seen: Preview) -> dict[str, str]:
    return {line.path: line.action for line in seen.lines}


def test_a_dry_run_shows_what_would_happen_and_changes_nothing(hub: Hub, folder: Path) -> None:
    seen = preview(folder, REPO, "1.0.0")
    assert set(actions(seen).values()) == {"upload"}
    assert "it would be created" in seen.note
    assert REPO not in hub.repos
    release(folder, REPO, "1.0.0")
    (folder / SHARD).write_bytes(noise(99, 50))
    (folder / "metrics.py").unlink()
    before = len(hub.log)
    seen = preview(folder, REPO, "1.1.0")
    changed = {path: action for path, action in actions(seen).items() if action != "keep"}
    assert changed == {SHARD: "upload", "metrics.py": "delete"}
    assert seen.note == "org/small has no v1.1.0"
    shown = next(line for line in seen.lines if line.path == SHARD)
    assert (shown.size, shown.sha256) == (50, digests(folder)[SHARD][:12])
    assert {seen.method for seen in hub.log[before:]} == {"GET"}
    assert "has v1.0.0 with different files: raise the version" in preview(folder, REPO, "1.0.0").note


def test_a_dry_run_says_what_a_broken_one_left(hub: Hub, folder: Path) -> None:
    hub.fail("POST .*/commit/main", 403)
    with pytest.raises(HubError):
        release(folder, REPO, "1.0.0")
    seen = preview(folder, REPO, "1.0.0")
    assert "but part of v1.0.0 has been uploaded" in seen.note
    assert set(actions(seen).values()) == {"keep"}
    release(folder, REPO, "1.0.0")
    assert "has v1.0.0 with these files: nothing to do" in preview(folder, REPO, "1.0.0").note


def test_a_dry_run_needs_no_server(hub: Hub, folder: Path) -> None:
    hub.stop()
    seen = preview(folder, REPO, "1.0.0")
    assert "nothing could be compared: org/small: cannot reach http://127.0.0.1" in seen.note
    assert set(actions(seen).values()) == {"?"}
    assert len(seen.lines) == SHARDS + 3

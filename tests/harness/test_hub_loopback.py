"""The Hub on the loopback answers as the real one does, to the client as it is."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import CommitOperationAdd, HfApi, HfFileSystem
from huggingface_hub.errors import HfHubHTTPError, RemoteEntryNotFoundError, RepositoryNotFoundError
from huggingface_hub.errors import RevisionNotFoundError as NoRevisionError

from loopback import Hub
from loopback.client import CLIENTS_OWN, hurried
from loopback.server import READER, STRANGER, WRITER

pytestmark = CLIENTS_OWN
REPO = "org/rows"
DATA = "data/rows.parquet"
CARD = b"---\nlicense: mit\nlanguage: en\ntags: [long-context]\n---\n# Rows\n"


@pytest.fixture
def api(hub: Hub, tmp_path: Path) -> HfApi:
    """A client of a Hub that has one data set, with a tag."""
    table = pa.table(
        {"id": [f"r{number}" for number in range(100)], "prompt": [f"{number} " * 500 for number in range(100)]}
    )
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=10, compression="none")
    api = HfApi(endpoint=hub.url, token=WRITER)
    api.create_repo(REPO, repo_type="dataset")
    added = [CommitOperationAdd(DATA, tmp_path / "rows.parquet"), CommitOperationAdd("README.md", CARD)]
    api.create_commit(REPO, added, repo_type="dataset", commit_message="rows")
    api.create_tag(REPO, tag="v1.0.0", repo_type="dataset")
    return api


def state(caught: pytest.ExceptionInfo[HfHubHTTPError]) -> int:
    return int(caught.value.response.status_code)


def test_who_asks_and_what_is_there(api: HfApi) -> None:
    assert api.whoami()["name"] == "writer"
    seen = api.dataset_info(REPO, files_metadata=True)
    assert not seen.private
    assert {file.rfilename for file in seen.siblings} == {".gitattributes", "README.md", DATA}
    assert {"license:mit", "language:en", "long-context"} <= set(seen.tags)
    assert seen.card_data.license == "mit"
    assert [commit.title for commit in api.list_repo_commits(REPO, repo_type="dataset")] == ["rows", "initial commit"]
    refs = api.list_repo_refs(REPO, repo_type="dataset")
    assert [(tag.name, tag.target_commit) for tag in refs.tags] == [("v1.0.0", seen.sha)]


def test_listings(api: HfApi, hub: Hub) -> None:
    def paths(**how: object) -> list[str]:
        return [entry.path for entry in api.list_repo_tree(REPO, repo_type="dataset", **how)]

    assert paths() == [".gitattributes", "README.md", "data"]
    assert paths(recursive=True) == [".gitattributes", "README.md", "data", DATA]
    assert paths(path_in_repo="data", revision="v1.0.0", expand=True) == [DATA]
    hub.page = 1
    assert paths(recursive=True) == [".gitattributes", "README.md", "data", DATA]
    info = api.get_paths_info(REPO, [DATA, "data", "nothing"], repo_type="dataset")
    assert [entry.path for entry in info] == [DATA, "data"]
    with pytest.raises(RemoteEntryNotFoundError):
        paths(path_in_repo="nowhere")
    with pytest.raises(NoRevisionError):
        paths(revision="v3.0.0")


def test_names_that_are_taken(api: HfApi) -> None:
    for call in (
        lambda: api.create_repo(REPO, repo_type="dataset"),
        lambda: api.create_tag(REPO, tag="v1.0.0", repo_type="dataset"),
        lambda: api.create_branch(REPO, branch="main", repo_type="dataset"),
    ):
        with pytest.raises(HfHubHTTPError) as caught:
            call()
        assert state(caught) == 409


def test_branches_and_tags_come_and_go(api: HfApi, hub: Hub) -> None:
    api.create_branch(REPO, branch="draft/one", repo_type="dataset")
    added = [CommitOperationAdd("x.txt", b"x")]
    made = api.create_commit(REPO, added, repo_type="dataset", revision="draft/one", commit_message="x")
    assert "x.txt" in hub.repos[REPO].contents("draft/one")
    assert "x.txt" not in hub.repos[REPO].contents("main")
    assert api.dataset_info(REPO, revision=made.oid[:7]).sha == made.oid
    api.delete_branch(REPO, branch="draft/one", repo_type="dataset")
    api.delete_tag(REPO, tag="v1.0.0", repo_type="dataset")
    refs = api.list_repo_refs(REPO, repo_type="dataset")
    assert ([branch.name for branch in refs.branches], refs.tags) == (["main"], [])
    with pytest.raises(HfHubHTTPError):
        api.delete_branch(REPO, branch="main", repo_type="dataset")


def test_a_stale_parent_is_refused_and_nothing_of_a_bad_commit_stays(api: HfApi, hub: Hub) -> None:
    first = hub.repos[REPO].branches["main"].oid
    hub.repos[REPO].put("y.txt", b"y")
    added = [CommitOperationAdd("x.txt", b"x")]
    with pytest.raises(HfHubHTTPError) as caught:
        api.create_commit(REPO, added, repo_type="dataset", commit_message="stale", parent_commit=first)
    assert state(caught) == 412
    with pytest.raises(RemoteEntryNotFoundError):
        api.delete_file("nothing.txt", REPO, repo_type="dataset")
    assert set(hub.repos[REPO].contents("main")) == {"README.md", DATA, "y.txt"}


def test_what_is_private_is_hidden(hub: Hub, api: HfApi) -> None:
    api.create_repo("org/keys", repo_type="dataset", private=True)
    assert HfApi(endpoint=hub.url, token=READER).dataset_info("org/keys").private
    for token, expected in ((STRANGER, 404), (False, 401)):
        with pytest.raises(RepositoryNotFoundError) as caught:
            HfApi(endpoint=hub.url, token=token).dataset_info("org/keys")
        assert state(caught) == expected
    with pytest.raises(HfHubHTTPError) as refused:
        HfApi(endpoint=hub.url, token=READER).create_tag(REPO, tag="v3.0.0", repo_type="dataset")
    assert state(refused) == 403
    with pytest.raises(HfHubHTTPError) as refused:
        HfApi(endpoint=hub.url, token="hf_unknown").whoami()
    assert state(refused) == 401


def test_a_part_of_a_file_costs_a_part_of_its_bytes(api: HfApi, hub: Hub) -> None:
    size = len(hub.repos[REPO].read("v1.0.0", DATA))
    path = f"datasets/{REPO}@v1.0.0/{DATA}"
    system = HfFileSystem(endpoint=hub.url, token=WRITER, skip_instance_cache=True)
    with system.open(path, block_size=4096) as file:
        file.seek(size - 4)
        assert file.read(4) == b"PAR1"
    assert hub.sent() < size / 4
    assert pq.read_table(path, filesystem=system, columns=["id"])["id"][99].as_py() == "r99"
    for asked, expected in (("bytes=0-3", b"PAR1"), ("bytes=-4", b"PAR1")):
        request = urllib.request.Request(f"{hub.url}/datasets/{REPO}/resolve/main/{DATA}", headers={"Range": asked})
        with urllib.request.urlopen(request) as reply:
            assert (reply.status, reply.read()) == (206, expected)


def test_the_same_upload_is_no_new_commit(api: HfApi, hub: Hub, tmp_path: Path) -> None:
    before = hub.uploaded()
    added = [CommitOperationAdd(DATA, tmp_path / "rows.parquet"), CommitOperationAdd("README.md", CARD)]
    api.create_commit(REPO, added, repo_type="dataset", commit_message="again")
    assert hub.uploaded() == before
    assert [commit.summary for commit in hub.repos[REPO].branches["main"].history()] == ["rows", "initial commit"]


def test_faults_strike_as_often_as_they_are_told_to(api: HfApi, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = hurried(monkeypatch)
    hub.fail("GET .*/tree/", 503, skip=1)
    hub.fail("GET .*/tree/", 429, headers={"Retry-After": "3"}, skip=1)
    for _ in range(3):
        assert len(list(api.list_repo_tree(REPO, repo_type="dataset"))) == 3
    assert waits == [1, 4.0]
    assert [seen.status for seen in hub.log if "/tree/" in seen.path] == [200, 503, 429, 200, 200]


def test_a_tampered_file_differs_with_and_without_the_listing_saying_so(api: HfApi, hub: Hub) -> None:
    repo = hub.repos[REPO]
    whole, told = repo.read("main", DATA), repo.contents("main")
    repo.tamper(DATA, listed=False)
    bent = repo.read("main", DATA)
    assert (bent != whole, repo.contents("main") == told) == (True, True)
    repo.put(DATA, whole)
    repo.tamper(DATA, listed=True)
    assert (repo.read("main", DATA) == bent, repo.contents("main") == told) == (True, False)

"""A Hub that refuses, breaks off or stays silent: one clear line each, no byte twice, and never the token."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import huggingface_hub
import pytest

from loopback import Hub
from loopback.client import CLIENTS_OWN, hurried, whole_environment
from loopback.folders import SHARDS, digests, noise, staged
from loopback.publish import commands
from loopback.server import READER, STRANGER, WRITER
from pipeline.errors import HubError, adding
from pipeline.publish.hub import client, download, release, releasing
from pipeline.publish.hub.faults import ErrorTranslator

pytestmark = CLIENTS_OWN
REPO = "org/small"
BAD = "hf_nobodyKnowsThisToken0123"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return staged(tmp_path / "staged")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    monkeypatch.setattr(client, "WAITS", (0.0, 0.0))
    return hurried(monkeypatch)


def said(capfd: pytest.CaptureFixture[str], *args: object) -> str:
    """Run a command that fails, and return the one line on stderr."""
    with pytest.raises(SystemExit) as caught:
        commands.main([str(arg) for arg in args])
    assert caught.value.code == 1
    err = capfd.readouterr().err
    assert err.startswith("carrara: ")
    assert err.count("\n") == 1, err
    return err.strip()


Say = Callable[..., str]


@pytest.fixture
def line(capfd: pytest.CaptureFixture[str], folder: Path) -> Say:
    def of(*args: object) -> str:
        return said(capfd, *(args or ("release", folder, REPO, "1.0.0")))

    return of


# Who may


def test_without_a_token(hub: Hub, line: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert line() == ("carrara: org/small: publishing needs a token: set HF_TOKEN or run `hf auth login`")
    assert not hub.log


def test_a_login_is_as_good_as_the_environment(
    hub: Hub, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "token").write_text(WRITER)
    assert release(folder, REPO, "1.0.0").fresh


def test_a_token_that_nobody_knows(line: Say, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", BAD)
    assert "org/small: the Hub does not accept the token (HTTP 401): create a new one, then set HF_TOKEN" in line()


def test_a_token_that_no_request_can_carry(line: Say, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for token in ("hf_caf\u00e9", "hf_two words", "hf_\x07bell"):
        monkeypatch.setenv("HF_TOKEN", token)
        shown = line()
        assert "the token has characters that cannot be sent: copy it again" in shown
        assert token not in shown
    assert not hub.log


def test_a_token_that_may_only_read(line: Say, hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", READER)
    assert "the token does not allow that: use one with write access (" in line()
    monkeypatch.setenv("HF_TOKEN", WRITER)
    release(folder, REPO, "1.0.0")
    (folder / "metrics.py").write_text("pass")
    monkeypatch.setenv("HF_TOKEN", READER)
    assert "the token does not allow that: use one with write access (" in line("release", folder, REPO, "1.1.0")


def test_what_is_private_is_not_there_for_others(
    line: Say, hub: Hub, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(folder, "org/keys", "1.0.0", private=True)
    ask = ("download", "org/keys@v1.0.0", tmp_path / "c")
    monkeypatch.setenv("HF_TOKEN", STRANGER)
    assert "org/keys: the data set does not exist, or this token has no access to it: check the name" in line(*ask)
    monkeypatch.delenv("HF_TOKEN")
    assert "org/keys: the data set does not exist, or it is private and no token is set" in line(*ask)
    monkeypatch.setenv("HF_TOKEN", READER)
    assert digests(download("org/keys", "v1.0.0"))


# What is not there


def test_no_such_repo_tag_or_file(line: Say, hub: Hub, folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "c"
    assert "org/small: the data set does not exist, or this token has no access to it" in line(
        "download", f"{REPO}@v1.0.0", cache
    )
    hub.fail("POST .*/commit/main", 403)
    with pytest.raises(HubError):
        release(folder, REPO, "1.0.0")
    assert "it has no version tag, so nothing is published there" in line("download", f"{REPO}@v1.0.0", cache)
    release(folder, REPO, "1.0.0")
    (folder / "metrics.py").write_text("pass")
    release(folder, REPO, "1.10.0")
    (folder / "metrics.py").write_text("pass\n")
    release(folder, REPO, "1.10.1-rc.1")
    right = "give a tag, such as org/small@v1.10.1-rc.1"
    assert f"org/small has no tag 'v9.0.0': {right}" in line("download", f"{REPO}@v9.0.0", cache)
    assert f"org/small@main is a branch, which can change: {right}" in line("download", f"{REPO}@main", cache)
    assert f"org/small is named without a tag: {right}" in line("download", REPO, cache)
    assert "has no tag after the @: give one, such as org/small@v1.0.0" in line("download", f"{REPO}@", cache)
    assert "'small' is not the name of a repo: give org/name" in line("download", "small@v1.0.0", cache)
    hub.fail("/revision/|/tree/", 404, headers={"X-Error-Code": "RevisionNotFound"}, times=-1)
    assert "the revision does not exist" in line("download", f"{REPO}@{'0' * 40}", cache)


# What the Hub does


@pytest.mark.parametrize(
    ("match", "status", "headers", "expected"),
    [
        ("POST .*/commit/main", 412, {}, "main has moved on from"),
        ("preupload", 429, {"Retry-After": "7"}, "too many requests (HTTP 429): wait 7 s, then run the same command"),
        ("POST .*/commit/", 429, {"Retry-After": "700"}, "too many requests (HTTP 429): wait 700 s"),
        ("POST .*/commit/", 429, {}, "too many requests (HTTP 429): wait 60 s"),
        ("POST .*/commit/", 429, {"RateLimit": '"api";r=0;t=77'}, "too many requests (HTTP 429): wait 77 s"),
        (
            "preupload",
            503,
            {},
            "the Hub is failing (HTTP 503): wait a while, then run the same command again to continue",
        ),
        ("PUT", 500, {}, "the Hub is failing (HTTP 500)"),
        ("/tree/", 502, {}, "the Hub is failing (HTTP 502)"),
        ("/refs", 504, {}, "the Hub is failing (HTTP 504)"),
        ("POST .*/commit/", 507, {}, "no storage left on the Hub (on purpose): free some or upgrade the plan"),
        ("batch", 413, {}, "no storage left on the Hub"),
        ("POST .*/commit/", 400, {}, "the Hub rejected the request (on purpose)"),
        ("POST .*/tag/", 418, {}, "the Hub rejected the request, HTTP 418 (on purpose)"),
    ],
)
def test_each_refusal_is_one_line_and_the_next_run_goes_on(
    line: Say, hub: Hub, folder: Path, match: str, status: int, headers: dict[str, str], expected: str
) -> None:
    hub.fail(match, status, headers=headers, times=-1)
    assert expected in line()
    hub.faults.clear()
    assert release(folder, REPO, "1.0.0").fresh
    arrived_once(hub, folder)


def arrived_once(hub: Hub, folder: Path) -> None:
    """Check that the release is out, and that no large file was taken twice."""
    taken = Counter(seen.path for seen in hub.log if seen.method == "PUT" and seen.status == 200)
    assert set(taken.values()) == {1}
    assert len(taken) == SHARDS
    assert hub.repos[REPO].contents("v1.0.0") == digests(folder)
    assert list(hub.repos[REPO].branches) == ["main"]


def test_a_full_quota(line: Say, hub: Hub, folder: Path) -> None:
    hub.quota = 5000
    assert "org/small: no storage left on the Hub (Private repository storage limit reached" in line()
    arrived = sum(seen.status == 200 for seen in hub.log if seen.method == "PUT")
    assert arrived == 2
    hub.quota = None
    release(folder, REPO, "1.0.0")
    arrived_once(hub, folder)


def test_a_card_that_the_hub_refuses(line: Say, hub: Hub, folder: Path) -> None:
    (folder / "README.md").write_text("---\nlicense: [mit\n---\n")
    assert "the Hub rejected the card" in (shown := line())
    assert "Invalid YAML" in shown
    assert not hub.lines("PUT")
    assert not hub.repos[REPO].tags


def test_lines_that_break(line: Say, hub: Hub, folder: Path) -> None:
    for match in ("/refs", "PUT", "POST .*/commit/"):
        hub.fail(match, cut=0, times=-1)
        shown = line()
        assert f"org/small: the connection to {hub.url} broke off" in shown, match
        assert "run the same command again" in shown
        hub.faults.clear()
    release(folder, REPO, "1.0.0")
    arrived_once(hub, folder)


def test_a_hub_that_stays_silent(line: Say, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PATIENCE", 0.2)
    hub.fail("/refs", delay=0.6, times=-1)
    assert f"no answer from {hub.url} in time: run the same command again" in line()


def test_a_slow_hub_is_waited_for(hub: Hub, folder: Path) -> None:
    hub.fail("POST ", delay=0.05, times=-1)
    assert release(folder, REPO, "1.0.0").fresh


def test_no_network(line: Say, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.stop()
    assert (
        f"org/small: cannot reach {hub.url} ([Errno 111] Connection refused): check the network and HF_ENDP" in line()
    )
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "loopback:80")
    assert "org/small: cannot reach loopback:80 (" in line()


def test_offline_by_choice(line: Say, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "org/small: HF_HUB_OFFLINE is set: unset it to reach the Hub" in line()


def test_no_client(line: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert line() == f"carrara: huggingface_hub is not installed: {adding('hub')}"


def test_waits_are_those_that_the_server_asks_for(
    hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch, quick: list[float]
) -> None:
    paused: list[float] = []
    monkeypatch.setattr(client, "WAITS", (1.0, 2.0))
    monkeypatch.setattr(releasing, "connect", partial(client.connect, pause=paused.append))
    hub.fail("/refs", 429, headers={"Retry-After": "7"})
    hub.fail("POST .*/tag/", 503)
    hub.fail("preupload", 503)
    release(folder, REPO, "1.0.0")
    assert paused == [7.0, 1.0]
    assert quick == [1]


def test_no_call_is_tried_by_both(hub: Hub, folder: Path) -> None:
    """A fault that stays is met six times by what the client tries again, three times here by all else."""
    counts = {}
    for match in ("preupload", "batch", "/refs", "POST .*/commit/release", "repos/create"):
        before = len(hub.log)
        hub.fail(match, 503, times=-1)
        with pytest.raises(HubError):
            release(folder, f"org/a{len(counts)}", "1.0.0")
        hub.faults.clear()
        counts[match] = sum(seen.status == 503 for seen in hub.log[before:])
    assert counts == {"preupload": 6, "batch": 6, "/refs": 3, "POST .*/commit/release": 3, "repos/create": 3}


def test_a_call_within_another_is_not_tried_for_both(hub: Hub, folder: Path) -> None:
    """After a commit that failed the branch is looked at; when that fails for good, the commit is not sent again."""
    hub.fail("POST .*/commit/release", 503, times=-1)
    hub.fail("/refs", 503, skip=1, times=-1)
    with pytest.raises(HubError, match="HTTP 503"):
        release(folder, REPO, "1.0.0")
    assert Counter(seen.path.split("/")[5] for seen in hub.log if seen.status == 503) == {"commit": 1, "refs": 3}


# The token


def test_an_answer_that_repeats_the_token_is_cleaned(line: Say, hub: Hub, folder: Path, tmp_path: Path) -> None:
    hub.fail("/refs", 400, message=f"bad header Authorization: Bearer {WRITER}", times=-1)
    shown = line()
    assert "Bearer ***" in shown
    assert WRITER not in shown
    hub.faults.clear()
    hub.fail("/refs", 400, message=f"{'x' * 190} {WRITER}", times=-1)
    assert WRITER[:6] not in line()
    hub.faults.clear()
    hub.fail("/refs", 400, message=f"bad header Authorization: Bearer {WRITER}", times=-1)
    shown = process(hub, tmp_path, "--debug", "release", folder, REPO, "1.0.0")[1]
    assert "Traceback" in shown
    assert "Bearer ***" in shown
    assert WRITER not in shown


@pytest.mark.parametrize("fault", [{"status": 401}, {"cut": 0}])
def test_no_output_and_no_file_ever_holds_the_token(
    hub: Hub, folder: Path, tmp_path: Path, fault: dict[str, int]
) -> None:
    hub.fail("/refs", times=-1, **fault)
    for flags in ([], ["--debug"]):
        code, shown = process(hub, tmp_path, *flags, "release", folder, REPO, "1.0.0", waits=False)
        assert code == 1
        assert WRITER not in shown
        assert ("Traceback" in shown) == bool(flags)
        if not flags:
            assert [line[:9] for line in shown.splitlines() if not line.startswith("org/")] == ["carrara: "]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or WRITER.encode() not in path.read_bytes(), path


def process(hub: Hub, home: Path, *args: object, token: str = WRITER, waits: bool = True) -> tuple[int, str]:
    """Run a command in a process of its own; returns its exit code and all that it printed."""
    done = subprocess.run(
        command(args, waits=waits),
        env=whole_environment(hub, home, token),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def command(args: Sequence[object], *, waits: bool = True) -> list[str]:
    head = "from loopback.publish import commands; from pipeline.publish.hub import client"
    hurry = "" if waits else "; client.WAITS = ()"
    return [sys.executable, "-c", f"{head}{hurry}; commands()", *map(str, args)]


def test_a_traceback_that_would_tell_is_cut() -> None:
    assert ErrorTranslator("http://x", "hf_secret").tells(ValueError("see hf_secret"))
    assert not ErrorTranslator("http://x", "hf_secret").tells(ValueError("see nothing"))
    assert not ErrorTranslator("http://x", None).tells(ValueError("None"))


def test_a_fault_of_our_own_is_not_hidden(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("ours")

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_refs", broken)
    with pytest.raises(TypeError, match="ours"):
        release(folder, REPO, "1.0.0")


def test_a_fault_within_the_client_is_one_line(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place: dict[str, object] = {"__name__": "huggingface_hub.utils._http"}
    exec("def broken(*_, **__):\n    None.request", place)
    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_refs", place["broken"])
    with pytest.raises(HubError, match="org/small: the client failed \\(AttributeError: 'NoneType'"):
        release(folder, REPO, "1.0.0")


# Killed


POINTS = {
    "before the repo is made": ("repos/create", {"status": 503}, 0),
    "when the repo is made": ("repos/create", {"done": True}, 0),
    "when the branch is made": ("branch/release", {"done": True}, 0),
    "in the middle of a file": ("PUT", {"cut": 1000}, 2),
    "between two files": ("PUT", {"done": True}, 1),
    "before the commit": ("commit/release", {"status": 503}, 0),
    "after the commit": ("commit/release", {"done": True}, 0),
    "before main moves": ("commit/main", {"status": 503}, 0),
    "when main has moved": ("commit/main", {"done": True}, 0),
    "before the tag": ("/tag/", {"status": 503}, 0),
    "after the tag": ("/tag/", {"done": True}, 0),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_upload_goes_on_and_sends_nothing_twice(hub: Hub, folder: Path, tmp_path: Path, point: str) -> None:
    match, how, skip = POINTS[point]
    victim: list[subprocess.Popen[bytes]] = []

    def kill(_: str) -> None:
        victim[0].send_signal(signal.SIGKILL)
        victim[0].wait()

    hub.fail(match, skip=skip, then=kill, **how)
    victim.append(subprocess.Popen(command(["release", folder, REPO, "1.0.0"]), env=whole_environment(hub, tmp_path)))
    assert victim[0].wait(60) == -signal.SIGKILL
    release(folder, REPO, "1.0.0")
    arrived_once(hub, folder)
    assert list(hub.repos[REPO].tags) == ["v1.0.0"]
    history = [commit.summary for commit in hub.repos[REPO].branches["main"].history()]
    assert history == ["Release v1.0.0", "initial commit"]


# Downloads


def test_a_download_is_what_was_published_and_is_kept(hub: Hub, folder: Path, tmp_path: Path) -> None:
    release(folder, REPO, "1.0.0")
    cache = tmp_path / "elsewhere"
    got = download(REPO, "v1.0.0", cache=cache)
    assert got.is_relative_to(cache)
    assert {path: name for path, name in digests(got).items() if path != ".gitattributes"} == digests(folder)
    before = hub.sent()
    assert download(REPO, "v1.0.0", cache=cache) == got
    assert download(REPO, hub.repos[REPO].tags["v1.0.0"].oid, cache=cache) == got
    assert hub.sent() == before


def test_a_download_of_some_files_fetches_no_others(hub: Hub, folder: Path) -> None:
    release(folder, REPO, "1.0.0")
    got = download(REPO, "v1.0.0", patterns=["data/bio/test-00001*", "*.py"])
    assert sorted(digests(got)) == ["data/bio/test-00001.parquet", "metrics.py"]
    assert hub.sent() == 2000 + len((folder / "metrics.py").read_bytes())


def test_a_download_that_breaks_off_goes_on(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = "data/bio/test-00001.parquet"
    (folder / shard).write_bytes(noise(5, 3_000_000))
    release(folder, REPO, "1.0.0")
    hub.fail(f"GET .*/resolve/.*/{shard}", cut=1_000_000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    got = download(REPO, "v1.0.0", patterns=["data/*"])
    assert digests(got)[shard] == digests(folder)[shard]
    assert hub.sent() < 4_500_000


def test_a_download_from_a_hub_that_fails_is_one_line(line: Say, hub: Hub, folder: Path, tmp_path: Path) -> None:
    release(folder, REPO, "1.0.0")
    hub.fail("/resolve/", 503, times=-1)
    assert "org/small: the Hub is failing (HTTP 503)" in line("download", f"{REPO}@v1.0.0", tmp_path / "c")
    hub.faults.clear()
    hub.stop()
    assert f"org/small: cannot reach {hub.url}" in line("download", f"{REPO}@v1.0.0", tmp_path / "c")


def test_a_cache_that_rots_is_noticed_and_mended(hub: Hub, folder: Path) -> None:
    release(folder, REPO, "1.0.0")
    path = download(REPO, "v1.0.0") / "data/bio/test-00002.parquet"
    path.resolve().write_bytes(noise(6, 2000))
    with pytest.raises(
        HubError, match=r"'data/bio/test-00002\.parquet' differs from what was published: download it again"
    ):
        download(REPO, "v1.0.0")
    assert (
        digests(download(REPO, "v1.0.0"))["data/bio/test-00002.parquet"]
        == digests(folder)["data/bio/test-00002.parquet"]
    )


def test_nothing_is_printed_but_what_is_said(hub: Hub, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", io.StringIO())
        release(folder, REPO, "1.0.0")
        download(REPO, "v1.0.0")
        assert not sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert capfd.readouterr() == ("", "")

"""Tokenizers on the Hugging Face Hub: names of models, and the few files of a revision that make up a tokenizer.

Only these files are fetched, never code. Files in the client's cache are not fetched again, so a name that was resolved
once also works without a network. ``HF_HUB_OFFLINE`` restricts look-ups to the cache.
"""

from __future__ import annotations

import hashlib
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from pipeline.errors import ProfileError
from pipeline.profiles.spec import Vocabulary
from pipeline.profiles.vocabulary import optional_module, vocabulary_file
from pipeline.storage import on_disk, parse_location

NAME = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}(?<![.-])", re.ASCII)
REVISION = re.compile(r"[A-Za-z0-9][\w./-]{0,127}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")
PATIENCE = 10.0
"""Seconds to wait for a connection."""
LONGEST = 64
"""Most characters of a profile's name, which is also a folder's name."""
READ = (
    "tokenizer_config.json",
    "tokenizer.json",
    "chat_template.jinja",
    "chat_template.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
)
SLOW = ("tokenizer.model", "vocab.json", "merges.txt", "vocab.txt", "spiece.model", "sentencepiece.bpe.model")
"""Vocabularies from which transformers builds a tokenizer if there is no tokenizer.json."""
CARD = "README.md"


@dataclass(frozen=True, slots=True)
class Model:
    """A model's repo on the Hub, at a branch, tag or commit."""

    repo: str
    revision: str = "main"

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, which cannot move."""
        return COMMIT.fullmatch(self.revision) is not None

    def __str__(self) -> str:
        """Return the model as a user would type it."""
        return self.repo if self.revision == "main" else f"{self.repo}@{self.revision}"


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a model's tokenizer in the client's cache, and their commit."""

    repo: str
    commit: str
    folder: Path

    @property
    def licence(self) -> str:
        """The licence that the model's card names; empty if it names none."""
        with suppress(OSError, ValueError):
            front = re.match(r"---\n(.*?)\n---", (self.folder / CARD).read_text(encoding="utf-8"), re.DOTALL)
            named = re.search(r"(?m)^license: *['\"]?([\w. +-]{1,60})", front[1] if front else "")
            return named[1].strip() if named else ""
        return ""


def parse_model(text: str) -> Model | None:
    """Parse ``org/name`` or ``org/name@revision``; return None if `text` is neither.

    >>> parse_model("Qwen/Qwen3-8B")
    Model(repo='Qwen/Qwen3-8B', revision='main')
    """
    repo, at, revision = text.partition("@")
    if not NAME.fullmatch(repo) or (at and not REVISION.fullmatch(revision)):
        return None
    return Model(repo, revision or "main")


def safe_name(text: str) -> str:
    """Return a name for the folder of a model's rows; a long one is cut and gets a digest to stay unique.

    >>> safe_name("Qwen/Qwen3-8B")
    'Qwen__Qwen3-8B'
    """
    name = re.sub(r"[^A-Za-z0-9._-]", "-", text.replace("/", "__")).lstrip("._-") or "model"
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def fetch_model(model: Model, *, offline: bool = False) -> Fetched:
    """Return the files of a model's tokenizer that the repo has, all from one commit.

    Args:
        model: the model; a branch or tag is first resolved to its commit.
        offline: use only the client's cache, as with ``HF_HUB_OFFLINE``.

    Raises:
        ProfileError: if the Hub cannot be reached, or has no such model or tokenizer; says in one line what to do.
    """
    hub = _client()
    offline = offline or is_offline() or not is_reached(hub.constants.ENDPOINT)
    first = next(_got(hub, model, (*READ[:2], *SLOW), offline=offline), None)
    if first is None:
        raise ProfileError(f"{model} has no tokenizer_config.json and no tokenizer.json: give a model that has them")
    pinned = Model(model.repo, first.parent.name)
    names = [name for name in READ if name != first.name]
    found = {path.name for path in _got(hub, pinned, names, offline=offline)} | {first.name}
    if "tokenizer.json" not in found:
        found |= {path.name for path in _got(hub, pinned, SLOW, offline=offline)}
    list(_got(hub, pinned, (CARD,), offline=offline))
    if not found & {"tokenizer.json", *SLOW}:
        raise ProfileError(f"{model} has no vocabulary that transformers reads without code of the model's own")
    return Fetched(model.repo, pinned.revision, first.parent)


def model_folder(vocabulary: Vocabulary) -> Path:
    """Return the folder with the files of a model's tokenizer, fetched from the Hub if need be."""
    if vocabulary.hub and not parse_location(vocabulary.file).is_absolute():
        return fetch_model(Model(vocabulary.hub, vocabulary.revision)).folder
    return on_disk(vocabulary_file(vocabulary, "tokenizer_config.json").parent)


def _got(hub: Any, model: Model, names: Iterable[str], *, offline: bool) -> Iterator[Path]:
    """Yield the paths of those named files that a revision has."""
    for name in names:
        try:
            yield Path(hub.hf_hub_download(model.repo, name, revision=model.revision, local_files_only=offline))
        except Exception as fault:  # the client raises many kinds; their names show which only mean a missing file
            if not _is_absent(hub, model, name, fault, offline=offline):
                raise ProfileError(_failure(hub, model, fault)) from None


def _client() -> Any:
    """Return the Hub's client, with its log off, and progress bars only on a terminal."""
    hub = optional_module("huggingface_hub", "hub")
    utils = optional_module("huggingface_hub.utils", "hub")
    utils.logging.set_verbosity(utils.logging.CRITICAL)
    if not sys.stderr.isatty():
        utils.disable_progress_bars()
    return hub


def is_reached(address: str) -> bool:
    """Tell whether a server accepts connections; behind a proxy, where only the client can tell, return True."""
    if getproxies().keys() & {"http", "https", "all"}:
        return True
    place = urlsplit(address)
    try:
        with socket.create_connection(
            (place.hostname or "", place.port or {"http": 80}.get(place.scheme, 443)), timeout=PATIENCE
        ):
            return True
    except OSError:
        return False


def is_offline() -> bool:
    """Tell whether the environment forbids the network."""
    return bool(optional_module("huggingface_hub.constants", "hub").HF_HUB_OFFLINE)


def _is_absent(hub: Any, model: Model, name: str, fault: Exception, *, offline: bool) -> bool:
    """Tell whether a file is missing in the repo or, offline, in a revision that has other files in the cache.

    If the network failed halfway, only a file that the cache records as missing counts.
    """
    kinds = _kinds(fault)
    if "LocalEntryNotFoundError" not in kinds:
        return "EntryNotFoundError" in kinds
    cached = {each: hub.try_to_load_from_cache(model.repo, each, None, model.revision) for each in {name, *READ, *SLOW}}
    if offline:
        return any(isinstance(found, str) for found in cached.values())
    return cached[name] is not None and not isinstance(cached[name], str)


def _kinds(fault: BaseException) -> set[str]:
    """Return the names of all classes of an error and of its causes."""
    return {kind.__name__ for each in _chain(fault) for kind in type(each).__mro__}


def _chain(fault: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = fault
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__


def _refusal(fault: BaseException) -> BaseException | None:
    """Return the Hub's HTTP error among an error and its causes, if any."""
    return next(
        (each for each in _chain(fault) if any(kind.__name__ == "HfHubHTTPError" for kind in type(each).__mro__)), None
    )


def _failure(hub: Any, model: Model, fault: Exception) -> str:
    """Return one line that says what is wrong and what to do."""
    kinds, where = _kinds(fault), hub.constants.ENDPOINT
    have = f"fetch it once with a network (`hf download {model.repo} --include 'tokenizer*'`), or give a local folder"
    if "GatedRepoError" in kinds:
        return f"{model.repo} is gated: accept its terms on its page, then `hf auth login`, or give a local folder"
    if "RepositoryNotFoundError" in kinds:
        return (
            f"{where} has no model {model.repo!r}, or it is private, and there is no such folder: check the name, or "
            "`hf auth login`"
        )
    if "RevisionNotFoundError" in kinds:
        return f"{model.repo} has no revision {model.revision!r}: give a branch, tag or commit that it has"
    if "LocalEntryNotFoundError" in kinds and is_offline():
        return f"{model} is not in the cache, and HF_HUB_OFFLINE is set: unset it, {have}"
    refused = _refusal(fault)
    if "LocalEntryNotFoundError" in kinds and not refused and is_reached(where):
        return f"{model} is not in the cache: {have}"
    unreached = {"TransportError", "ConnectionError", "OfflineModeIsEnabled", "LocalEntryNotFoundError"}
    if kinds & unreached and not refused:
        return f"{model} is not in the cache, and {where} cannot be reached: check the network and HF_ENDPOINT, {have}"
    reason = (str(refused or fault).splitlines() or [type(fault).__name__])[0][:200]
    return f"{model} cannot be fetched from {where}: {reason}"

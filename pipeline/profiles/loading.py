"""From a name or a path to a profile.

The shipped ones are the TOML files of the folder `tokenizers`, beside the package in a checkout and inside it in a
wheel. A user's own is a path; what its TOML leaves out is read from the vocabulary's neighbours where they have it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pipeline.errors import ProfileError, unknown
from pipeline.profiles.profile import Profile
from pipeline.profiles.spec import (
    ENGINES,
    Engine,
    Template,
    Vocabulary,
    check,
    engine_of,
    keys_of,
    read_toml,
    vocabulary_of,
    windows_of,
)
from pipeline.profiles.vocabulary import source_of, stored_bytes, vocabulary_bytes, vocabulary_file

DEFAULT_PROFILES = ("o200k", "llama3.1", "qwen2.5")
_TOP = {
    "name": "str",
    "title": "str",
    "models": "list",
    "notice": "str",
    "vocabulary": "dict",
    "fast": "dict",
    "second": "dict",
    "template": "dict",
    "windows": "dict",
}


def shipped_profiles() -> tuple[str, ...]:
    """Return the names of the shipped profiles, sorted."""
    return tuple(sorted(path.name.removesuffix(".toml") for path in _shipped_folder().glob("*.toml")))


def load_profile(name_or_path: str) -> Profile:
    """Return a shipped profile by name, or a user's own by the path of its TOML (with a slash, or ending in .toml).

    Reads no vocabulary if the TOML has its digest and its template.

    Raises:
        ProfileError: for an unknown name (with the nearest right one), a TOML that cannot be meant, or a vocabulary
            without a digest (with the digest to put in).
    """
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        return _load(Path(name_or_path))
    if name_or_path not in shipped_profiles():
        raise ProfileError(unknown("profile", name_or_path, shipped_profiles()))
    return _load(_shipped_folder() / f"{name_or_path}.toml")


def _shipped_folder() -> Path:
    package = Path(str(files("pipeline")))
    inside = package / "tokenizers"
    return inside if inside.is_dir() else package.parent / "tokenizers"


def _load(path: Path) -> Profile:
    where = path.name
    raw = read_toml(path)
    check(raw, _TOP, where)
    if "vocabulary" not in raw:
        raise ProfileError(f"{where}: the table [vocabulary] is missing")
    vocabulary = vocabulary_of(raw["vocabulary"], f"{where} [vocabulary]", path.parent)
    _check_digest(vocabulary, where)
    fast, second = _engines(raw, where, vocabulary.form)
    return Profile(
        name=raw.get("name", path.stem),
        title=raw.get("title", path.stem),
        models=tuple(raw.get("models", ())),
        notice=raw.get("notice", ""),
        vocabulary=vocabulary,
        fast=fast,
        check=second,
        template=_template(raw.get("template"), f"{where} [template]", vocabulary),
        windows=windows_of(raw.get("windows", {}), f"{where} [windows]"),
    )


def _check_digest(vocabulary: Vocabulary, where: str) -> None:
    if not vocabulary.sha256:
        found = hashlib.sha256(stored_bytes(vocabulary)).hexdigest()
        raise ProfileError(f'{where}: the vocabulary is not pinned: put sha256 = "{found}" into [vocabulary]')


def _engines(raw: Mapping[str, Any], where: str, form: str) -> tuple[Engine, Engine]:
    first, second, *_ = ENGINES[form]
    fast = engine_of(raw.get("fast", {"engine": first}), f"{where} [fast]", form)
    if "second" in raw:
        return fast, engine_of(raw["second"], f"{where} [second]", form)
    # The other of the two, if it can read this vocabulary at all.
    return fast, Engine(engine=first if fast.engine == second else second, optional=True)


def _template(table: Mapping[str, Any] | None, where: str, vocabulary: Vocabulary) -> Template:
    """Return the TOML's own template, completed from a tokenizer.json, else the one that lies beside that file."""
    given = dict(table or {})
    allowed = keys_of(Template, special="dict", variables="dict")
    check(given, allowed, where)
    variables = json.dumps(given.pop("variables", {}), sort_keys=True)
    special = given.pop("special", {})
    if vocabulary.form == "json":
        given = _neighbour_template(vocabulary) | given if "text" not in given else given
        special = special or _added_tokens(vocabulary)
    given.setdefault("kind", "exact" if given.get("text") else "none")
    _check_kind(given, where)
    return Template(**given, special=tuple(sorted(special.items())), variables=variables)


def _check_kind(given: Mapping[str, Any], where: str) -> None:
    needs = {"exact": "text", "documented": "per_message"}.get(given["kind"])
    if given["kind"] not in ("exact", "documented", "none"):
        raise ProfileError(f"{where}: {unknown('kind', given['kind'], ('exact', 'documented', 'none'))}")
    if needs and not given.get(needs):
        raise ProfileError(f'{where}: kind = "{given["kind"]}" needs {needs}')


def _neighbour_template(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return what a model's folder says of its template: chat_template.jinja, else tokenizer_config.json."""
    config = _json(_neighbour(vocabulary, "tokenizer_config.json") or "{}", vocabulary, "tokenizer_config.json")
    text = _neighbour(vocabulary, "chat_template.jinja") or config.get("chat_template") or ""
    bos = config.get("bos_token") or ""
    if not isinstance(text, str):  # several named ones
        text = next((each["template"] for each in text if each["name"] == "default"), "")
    return {"text": text, "bos": bos["content"] if isinstance(bos, dict) else bos}


def _neighbour(vocabulary: Vocabulary, name: str) -> str:
    try:
        return vocabulary_file(vocabulary, name).read_text(encoding="utf-8")
    except (OSError, ProfileError):  # not every model has both
        return ""


def _added_tokens(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the tokens a tokenizer.json cuts out before anything else, but for runs of whitespace."""
    added = _json(vocabulary_bytes(vocabulary), vocabulary, "tokenizer.json").get("added_tokens", [])
    return {token["content"]: token["id"] for token in added if token["content"].strip()}


def _json(text: str | bytes, vocabulary: Vocabulary, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ProfileError(f"{source_of(vocabulary)}: {name} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ProfileError(f"{source_of(vocabulary)}: {name} is no JSON object")
    return found

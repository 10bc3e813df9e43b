"""Loads profiles by name or path.

The shipped ones are TOML files in the folder `tokenizers`, beside the package in a checkout and inside it in a wheel.
A user's own is given by path; what its TOML leaves out is read from files beside the vocabulary, if they have it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from pipeline.errors import ProfileError, unknown
from pipeline.profiles.profile import Profile
from pipeline.profiles.spec import (
    ENGINES,
    Engine,
    OptionalEngine,
    Template,
    ToolTemplate,
    Vocabulary,
    engine_of,
    quick_of,
    read_toml,
    vocabulary_of,
    windows_of,
)
from pipeline.profiles.vocabulary import source_of, stored_bytes, vocabulary_bytes, vocabulary_file
from pipeline.storage import parse_location, read_text
from pipeline.typed import Line, ModelName, Variant, Whole, typed

INHERITED = ("vocabulary", "fast", "second", "quick", "template", "windows", "notice")
DEEPEST = 4
ARGUMENTS = ("object", "text")
"""The forms in which templates take the arguments of a tool call."""
DEFAULT_PROFILES = ("o200k", "llama3.1", "qwen2.5")


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """The TOML of a profile, with unchecked tables.

    Attributes:
        source: what `carrara profile add` made it from: a commit of a model's repo, or a digest of a folder's files.
        reserve: tokens for the reply, including reasoning, which override each task's and the recipe's.
        base: a shipped profile whose tables and notice are used where this one has none. A template without kind and
            text changes only single keys of the base's.
        reach: by model, its native window, and the one with its maker's own extension (the same if there is none).
    """

    vocabulary: dict[str, Any]
    name: Variant = ""
    source: Line = ""
    reserve: Whole = 0
    base: Variant = ""
    title: Line = ""
    models: tuple[ModelName, ...] = ()
    reach: dict[ModelName, tuple[Whole, Whole]] = field(default_factory=dict)
    notice: Line = ""
    fast: dict[str, Any] | None = None
    second: dict[str, Any] | None = None
    quick: dict[str, Any] | None = None
    template: dict[str, Any] = field(default_factory=dict)
    windows: dict[str, Any] = field(default_factory=dict)


def shipped_profiles() -> tuple[str, ...]:
    """Return the names of the shipped profiles, sorted."""
    return tuple(sorted(path.name.removesuffix(".toml") for path in _shipped_folder().glob("*.toml")))


def base_profiles() -> tuple[str, ...]:
    """Return the names of the shipped profiles whose vocabularies the base install has, sorted."""
    return tuple(name for name in shipped_profiles() if not load_profile(name).vocabulary.package)


def load_profile(name_or_path: str) -> Profile:
    """Return a shipped profile by name, or a user's own by the path of its TOML (with a slash, or ending in .toml).

    No vocabulary is read if the TOML has its digest and its template.

    Raises:
        ProfileError: for an unknown name (suggesting the nearest), an invalid TOML, or a vocabulary without a digest
            (giving the digest to put in).
    """
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        return _load(parse_location(name_or_path))
    if name_or_path not in shipped_profiles():
        raise ProfileError(_fitting(name_or_path) or unknown("profile", name_or_path, shipped_profiles()))
    return _load(_shipped_folder() / f"{name_or_path}.toml")


def _fitting(model: str) -> str:
    """Return which profiles fit a model that was given in place of a profile; "" if none does."""
    fitting = [name for name in shipped_profiles() if model in load_profile(name).models]
    return f"{model!r} is a model, not a profile: give {' or '.join(fitting)}" if fitting else ""


def profile_source(path: str) -> str:
    """Return what the TOML at `path` was made from, as its key `source` states."""
    return typed(ProfileTable, read_toml(parse_location(path)), Path(path).name, ProfileError).source


def _shipped_folder() -> Path:
    package = Path(str(files("pipeline")))
    inside = package / "tokenizers"
    return inside if inside.is_dir() else package.parent / "tokenizers"


def _load(path: Path) -> Profile:
    where = path.name
    table = typed(ProfileTable, _whole(read_toml(path), where), where, ProfileError)
    vocabulary = vocabulary_of(table.vocabulary, f"{where} [vocabulary]", path.parent)
    _check_digest(vocabulary, where)
    fast, second = _engines(table, where, vocabulary.form)
    return Profile(
        name=table.name or path.stem,
        title=table.title or path.stem,
        models=table.models,
        notice=table.notice,
        vocabulary=vocabulary,
        fast=fast,
        check=second,
        quick=quick_of(table.quick, f"{where} [quick]", vocabulary.form) if table.quick is not None else None,
        template=_template(table.template, f"{where} [template]", vocabulary),
        windows=windows_of(table.windows, f"{where} [windows]"),
        reserve=table.reserve,
        reach=tuple(table.reach.items()),
    )


def _whole(table: dict[str, Any], where: str, depth: int = 0) -> dict[str, Any]:
    """Return a TOML's tables, completed from its base."""
    name = table.get("base", "")
    if not name:
        return table
    if name not in shipped_profiles():
        raise ProfileError(f"{where}: base: {unknown('profile', str(name), shipped_profiles())}")
    if depth > DEEPEST:
        raise ProfileError(f"{where}: base = {name!r}: it is its own base, by way of others")
    below = _whole(read_toml(_shipped_folder() / f"{name}.toml"), where, depth + 1)
    if "vocabulary" in table:
        below.pop("quick", None)  # it fits only the pattern of the base's vocabulary
    made = {key: below[key] for key in INHERITED if key in below} | table
    own = table.get("template")
    if isinstance(own, dict) and not own.keys() & {"kind", "text"}:
        whole = below.get("template", {})
        made["template"] = whole | own
        if "tools" in whole and isinstance(own.get("tools"), dict):
            made["template"]["tools"] = whole["tools"] | own["tools"]
    return made


def _check_digest(vocabulary: Vocabulary, where: str) -> None:
    if not vocabulary.sha256:
        found = hashlib.sha256(stored_bytes(vocabulary)).hexdigest()
        raise ProfileError(f'{where}: the vocabulary is not pinned: put sha256 = "{found}" into [vocabulary]')


def _engines(table: ProfileTable, where: str, form: str) -> tuple[Engine, Engine]:
    first, second, *_ = ENGINES[form]
    fast = engine_of({"engine": first} if table.fast is None else table.fast, f"{where} [fast]", form)
    if table.second is not None:
        return fast, engine_of(table.second, f"{where} [second]", form)
    # The other of the two, if it can read this vocabulary at all.
    return fast, OptionalEngine(engine=first if fast.engine == second else second)


def _template(table: Mapping[str, Any], where: str, vocabulary: Vocabulary) -> Template:
    """Return the checked `[template]` table; for the form "json", a text or tokens that it lacks are the model's."""
    given = dict(table)
    special = typed(dict[str, int], given.pop("special", {}), f"{where} special", ProfileError)
    variables = json.dumps(
        typed(dict[str, Any], given.pop("variables", {}), f"{where} variables", ProfileError), sort_keys=True
    )
    if vocabulary.form == "json":
        given = _neighbour_template(vocabulary) | given if "text" not in given else given
        special = special or _added_tokens(vocabulary)
    given.setdefault("kind", "exact" if given.get("text") else "none")
    tools = _tools(given.pop("tools"), f"{where[:-1]}.tools]") if "tools" in given else None
    template = typed(Template, given, where, ProfileError)
    _check_date(template.date, where)
    _check_kind(given, where)
    return replace(template, special=tuple(sorted(special.items())), variables=variables, tools=tools)


def _tools(table: Any, where: str) -> ToolTemplate:
    given = dict(typed(dict[str, Any], table, where, ProfileError))
    special, declared_special = (
        tuple(sorted(typed(dict[str, int], given.pop(name, {}), f"{where} {name}", ProfileError).items()))
        for name in ("special", "declared_special")
    )
    tools = typed(ToolTemplate, given, where, ProfileError)
    if tools.arguments not in ARGUMENTS:
        raise ProfileError(f"{where}: {unknown('arguments', tools.arguments, ARGUMENTS)}")
    return replace(tools, special=special, declared_special=declared_special)


def _check_date(given: str, where: str) -> None:
    try:
        date.fromisoformat(given or "2000-01-01")
    except ValueError:
        raise ProfileError(f"{where}: date = {given!r}: give a day such as 2025-01-31") from None


def _check_kind(given: Mapping[str, Any], where: str) -> None:
    needs = {"exact": "text", "documented": "per_message"}.get(given["kind"])
    if given["kind"] not in ("exact", "documented", "none"):
        raise ProfileError(f"{where}: {unknown('kind', given['kind'], ('exact', 'documented', 'none'))}")
    if needs and not given.get(needs):
        raise ProfileError(f'{where}: kind = "{given["kind"]}" needs {needs}')


def _neighbour_template(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the template text (chat_template.jinja, else tokenizer_config.json) and BOS of a model's folder."""
    config = _json(_neighbour(vocabulary, "tokenizer_config.json") or "{}", vocabulary, "tokenizer_config.json")
    text = _neighbour(vocabulary, "chat_template.jinja") or config.get("chat_template") or ""
    if isinstance(text, list):  # several named templates
        tables = [each for each in text if isinstance(each, dict)]
        text = next((each.get("template") for each in tables if each.get("name") == "default"), "")
    bos = config.get("bos_token") or ""
    bos = bos.get("content") if isinstance(bos, dict) else bos
    for name, value in (("chat_template", text), ("bos_token", bos)):
        if fault := text_fault(value):
            raise ProfileError(f"{source_of(vocabulary)}: {name} is {ascii(value)[:80]}: {fault}")
    return {"text": text, "bos": bos}


def text_fault(value: object) -> str:
    """Return why a value from a model's file cannot be sent as text, or an empty string."""
    if not isinstance(value, str):
        return "give text"
    return "it has half a surrogate pair" if any("\ud800" <= mark <= "\udfff" for mark in value) else ""


def _neighbour(vocabulary: Vocabulary, name: str) -> str:
    try:
        return read_text(vocabulary_file(vocabulary, name))
    except (OSError, ProfileError):  # not every model has both
        return ""


def _added_tokens(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the tokens that a tokenizer.json cuts out before anything else, except runs of whitespace."""
    added = _json(vocabulary_bytes(vocabulary), vocabulary, "tokenizer.json").get("added_tokens", [])
    try:
        return {token["content"]: token["id"] for token in added if token["content"].strip()}
    except (TypeError, LookupError, AttributeError):
        raise ProfileError(
            f"{source_of(vocabulary)}: added_tokens is not a list of tokens with content and id"
        ) from None


def read_config(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a model's folder.

    Raises:
        ProfileError: if the file cannot be read or is not a JSON object.
    """
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ProfileError(f"{str(path)!r} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise ProfileError(f"{str(path)!r} is not a JSON object")
    return found


def _json(text: str | bytes, vocabulary: Vocabulary, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ProfileError(f"{source_of(vocabulary)}: {name} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ProfileError(f"{source_of(vocabulary)}: {name} is not a JSON object")
    return found

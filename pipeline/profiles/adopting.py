"""A profile out of a model's own files: what transformers makes of them, and the TOML that says so.

transformers' `AutoTokenizer` and `apply_chat_template` are the truth. Rows are counted by a quicker engine that reads
the same tokenizer.json, if it gives the same ids, and transformers counts again; the template is rendered here, and
held to transformers' ids. What cannot be held to them is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomlkit

from pipeline.errors import ProfileError, first_line, unknown
from pipeline.paths import checked_file
from pipeline.profiles import template as templates
from pipeline.profiles.agreeing import Agreed, agreed_engines, check_sent
from pipeline.profiles.engines import load_tokenizer, silent
from pipeline.profiles.hub import COMMIT, READ, SLOW, fetch_model, parse_model, safe_name
from pipeline.profiles.keeping import PROFILE, fingerprint, made_folder
from pipeline.profiles.loading import load_profile, read_config
from pipeline.profiles.profile import Profile
from pipeline.profiles.spec import Template
from pipeline.profiles.vocabulary import optional_module

VOCABULARY = "tokenizer.json"
TODAY = "2025-07-01"
"""What a template that asks for today's date is told, unless the user says."""
NAMED = 64
"""Special tokens that a profile names at most, but for those that its template sends."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user sets beside the model: the profile's name, the template's options, the date, a reserve."""

    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    date: str = ""
    reserve: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A model's files in a folder, and where they are from: a commit of a repo, or the folder itself."""

    folder: Path
    title: str
    repo: str = ""
    commit: str = ""
    licence: str = ""

    @property
    def state(self) -> str:
        """What the files are: a commit of a repo, else a digest of theirs."""
        return f"{self.repo}@{self.commit}" if self.repo else f"sha256:{fingerprint(self.folder)}"


def source_of_model(text: str, *, offline: bool = False) -> Source:
    """Return the files of a local folder or of a model on the Hub, which are fetched.

    Raises:
        ProfileError: if it is neither, or cannot be had.
    """
    if Path(text).is_dir():
        return _local(Path(text).resolve())
    model = parse_model(text)
    if model is None:
        raise ProfileError(f"{text!r} is no folder and no model's name: give a folder, org/name or org/name@revision")
    found = fetch_model(model, offline=offline)
    return Source(found.folder, found.repo, found.repo, found.commit, found.licence)


def _local(folder: Path) -> Source:
    """Return the files of a folder; one of the Hub client's cache tells model and commit."""
    model = folder.parent.parent.name
    if folder.parent.name == "snapshots" and model.startswith("models--") and COMMIT.fullmatch(folder.name):
        return Source(folder, repo := model.removeprefix("models--").replace("--", "/", 1), repo, folder.name)
    return Source(folder, folder.name)


def adopt(source: Source, folder: Path, wanted: Wanted | None = None) -> Profile:
    """Write a profile into a folder that is made for it: its TOML, and the files that it needs to count.

    Raises:
        ProfileError: if transformers cannot read the files, or counts of them cannot be exact.
    """
    wanted = wanted or Wanted()
    _check_code(source)
    with made_folder(folder) as aside:
        for name in files_of(source.folder):
            shutil.copyfile(checked_file(source.folder / name), aside / name)
        tokenizer = _tokenizer(source, aside)
        agreed = agreed_engines(tokenizer, aside / VOCABULARY, source.title)
        template = _template(tokenizer, wanted)
        (aside / PROFILE).write_text(_toml(source, wanted, aside, agreed, template), encoding="utf-8")
        profile = load_profile(str(aside / PROFILE))
        if template.kind == "exact":
            check_sent(profile, tokenizer)
    return load_profile(str(folder / PROFILE))


def files_of(folder: Path) -> list[str]:
    """Return the names of a model's files that a tokenizer is made of; its own code is none of them.

    Raises:
        ProfileError: if there are none.
    """
    names = [name for name in READ if (folder / name).is_file()]
    if VOCABULARY not in names:
        names += [name for name in SLOW if (folder / name).is_file()]
    if not any(name.startswith("tokenizer") or name in SLOW for name in names):
        raise ProfileError(f"{str(folder)!r} has no tokenizer.json and no other vocabulary: give a model's folder")
    return names


def _check_code(source: Source) -> None:
    """Refuse a tokenizer that is made by code in the model's repo."""
    for name in ("tokenizer_config.json", "config.json"):
        path = source.folder / name
        config = read_config(path) if path.is_file() else {}
        code = config.get("auto_map")
        if isinstance(code, dict) and code.get("AutoTokenizer"):
            raise ProfileError(
                f"{source.title} makes its tokenizer by code of its own (auto_map in {name}), which is never run: give "
                "a model with a plain tokenizer.json, or a TOML of your own (docs: Add a profile)"
            )


def _tokenizer(source: Source, folder: Path) -> Any:
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    module = optional_module("transformers", "transformers")
    try:
        with silent():
            tokenizer = load_tokenizer(module, folder)
    except Exception as error:  # it has many reasons, and we only report them
        raise ProfileError(f"{source.title}: transformers cannot read its tokenizer: {first_line(error)}") from None
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ProfileError(
            f"{source.title}: transformers reads it as {type(tokenizer).__name__}, which has no tokenizer.json: give a "
            "model that has one"
        )
    return tokenizer


def _template(tokenizer: Any, wanted: Wanted) -> Template:
    """Return the template with all that transformers gives it; a model may have none."""
    try:
        text = tokenizer.get_chat_template() if tokenizer.chat_template else ""
    except ValueError as error:
        raise ProfileError(f"its chat template cannot be used: {first_line(error)}") from None
    known = dict(tokenizer.special_tokens_map)
    bos = _added_in_front(tokenizer)
    named = {name: token for name, token in known.items() if name in text and not (name == "bos_token" and bos)}
    _check_options(wanted, text)
    date = wanted.date or (TODAY if "strftime_now" in text else "")
    variables = {**named, **wanted.options}
    drawn = Template("exact" if text else "none", text, bos, (), json.dumps(variables, sort_keys=True), date=date)
    return replace(drawn, **_special(tokenizer, drawn))


def _check_options(wanted: Wanted, text: str) -> None:
    known = templates.options(text) if text else []
    for name in wanted.options:
        if not known:
            raise ProfileError(f"{name}: its chat template has no options, or it has no template: leave out --set")
        if name not in known:
            raise ProfileError(unknown("option of its chat template:", name, known))


def _added_in_front(tokenizer: Any) -> str:
    """Return the token that transformers puts before a bare text, if any."""
    plain, whole = tokenizer("a", add_special_tokens=False)["input_ids"], tokenizer("a")["input_ids"]
    return str(tokenizer.bos_token) if whole == [tokenizer.bos_token_id, *plain] else ""


def _special(tokenizer: Any, template: Template) -> dict[str, Any]:
    """Return the special tokens: all of them if they are few, else those that the template sends."""
    added = {token.content: (number, token) for number, token in tokenizer.added_tokens_decoder.items()}
    added = {name: found for name, found in added.items() if name.strip()}
    if len(added) > NAMED:
        sent = "".join(templates.samples(template)) + template.text + template.bos
        added = {name: found for name, found in added.items() if name in sent}
    return {
        "special": tuple(sorted((name, number) for name, (number, _) in added.items())),
        "swallow": tuple(sorted(name for name, (_, token) in added.items() if token.rstrip)),
    }


def _toml(source: Source, wanted: Wanted, folder: Path, agreed: Agreed, template: Template) -> str:
    made = tomlkit.document()
    made["name"] = wanted.name or safe_name(source.title)
    made["title"] = source.title[:200]
    made["models"] = [source.repo or safe_name(source.title)]
    whence = f"{source.repo} at {source.commit}" if source.repo else f"the folder {source.title}"
    made["notice"] = f"Vocabulary and chat template of {whence}; licence: {source.licence or 'as its owner says'}."
    made["source"] = source.state
    if wanted.reserve:
        made["reserve"] = wanted.reserve
    made["vocabulary"] = _vocabulary(source, folder, agreed)
    slow = {"slow": True, "cost": agreed.cost} if agreed.fast != "splintr" else {}
    made["fast"] = {"engine": agreed.fast, **slow}
    made["second"] = (
        {"engine": agreed.second, "slow": True, "cost": agreed.cost} if agreed.second else {"engine": "none"}
    )
    made["template"] = _template_table(template)
    return tomlkit.dumps(made)


def _vocabulary(source: Source, folder: Path, agreed: Agreed) -> dict[str, Any]:
    """Return where the vocabulary comes from: the Hub's file if it is that, a file beside the TOML in any case."""
    sha256 = hashlib.sha256((folder / VOCABULARY).read_bytes()).hexdigest()
    if source.repo and not agreed.converted:
        return {"hub": source.repo, "revision": source.commit, "copy": VOCABULARY, "sha256": sha256}
    return {"file": VOCABULARY, "sha256": sha256}


def _template_table(template: Template) -> Any:
    table = tomlkit.table()
    table["kind"] = template.kind
    if template.text:
        table["text"] = _multiline(template.text)
    for name in ("bos", "date"):
        if getattr(template, name):
            table[name] = getattr(template, name)
    if template.swallow:
        table["swallow"] = list(template.swallow)
    table["variables"] = json.loads(template.variables)
    table["special"] = dict(template.special)
    return table


def _multiline(text: str) -> Any:
    """Return a text over several lines, as it stands; one that TOML cannot hold so is escaped."""
    plain = all(letter in "\n\t" or letter.isprintable() for letter in text)
    if not plain or "'''" in text or text.endswith("'"):
        return tomlkit.string(text)
    return tomlkit.items.String.from_raw(text, tomlkit.items.StringType.MLL, escape=False)

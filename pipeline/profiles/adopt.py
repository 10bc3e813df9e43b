"""Makes a profile from a model's own files, as transformers reads them, and writes its TOML.

transformers' `AutoTokenizer` and `apply_chat_template` are the reference. A quicker engine that reads the same
tokenizer.json counts rows if it gives the same ids, and transformers counts them again. The template is rendered here
and compared with transformers' ids. A model for which they differ is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import tomlkit

from pipeline.errors import ProfileError, first_line, unknown
from pipeline.profiles import template as templates
from pipeline.profiles.agreement import Agreed, agreed_engines, check_sent, differences
from pipeline.profiles.confined import check_call
from pipeline.profiles.counters import TRANSFORMERS, load_tokenizer, silent, transformers_module
from pipeline.profiles.gguf import SUFFIX, unpacked
from pipeline.profiles.hub import COMMIT, READ, Model, fetch_model, parse_model, safe_name
from pipeline.profiles.hub import SLOW as HUB_SLOW
from pipeline.profiles.loading import load_profile, profile_source, read_config, shipped_profiles, text_fault
from pipeline.profiles.profile import LINES, RULES, Profile, joined, joints, plain_lines, speed, strange_lines
from pipeline.profiles.spec import Template
from pipeline.profiles.vocabulary import vocabulary_file
from pipeline.storage import StorePath, checked_file, parse_location, temporary_folder, temporary_path
from pipeline.terminal.text import percent, plain

VOCABULARY = "tokenizer.json"
TODAY = "2025-07-01"
"""Today's date for a template that asks for it, unless the user gives one."""
NAMED = 64
"""Most special tokens that a profile lists; if there are more, it lists only those that its template sends."""


@dataclass(frozen=True, slots=True)
class RequestedProfile:
    """What a user sets besides the model: the profile's name, the template's options, the date, a reserve in tokens."""

    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    date: str = ""
    reserve: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A model's files in a folder, and where they come from: a commit of a repo, or the folder itself."""

    folder: Path
    title: str
    repo: str = ""
    commit: str = ""
    licence: str = ""

    @property
    def state(self) -> str:
        """What identifies the files: a commit of a repo, else their digest."""
        return f"{self.repo}@{self.commit}" if self.repo else f"sha256:{fingerprint(self.folder)}"


def source_of_model(text: str, *, offline: bool = False) -> Source:
    """Return the files of a local folder, a GGUF file, or a model on the Hub, which is fetched.

    Raises:
        ProfileError: if `text` is none of these, or cannot be read or fetched.
    """
    if Path(text).is_dir():
        return _local(Path(text).resolve())
    if is_gguf(text):
        return _local(unpacked(Path(text)))
    model = parse_model(text)
    if model is None:
        raise ProfileError(
            f"{text!r} is not a folder, a GGUF file or a model's name: give one of them, such as org/name or "
            "org/name@revision"
        )
    found = fetch_model(model, offline=offline)
    return Source(found.folder, found.repo, found.repo, found.commit, found.licence)


def _local(folder: Path) -> Source:
    """Return the files of a folder; the path of one in the Hub client's cache gives the model and commit."""
    model = folder.parent.parent.name
    if folder.parent.name == "snapshots" and model.startswith("models--") and COMMIT.fullmatch(folder.name):
        return Source(folder, repo := model.removeprefix("models--").replace("--", "/", 1), repo, folder.name)
    return Source(folder, folder.name)


def adopt(source: Source, folder: Path, wanted: RequestedProfile | None = None) -> Profile:
    """Write a profile into a new folder: its TOML, and the files that it needs to count.

    Raises:
        ProfileError: if transformers cannot read the files, or its counts cannot be reproduced exactly.
    """
    wanted = wanted or RequestedProfile()
    _check_code(source)
    with made_folder(folder) as aside:
        for name in files_of(source.folder):
            shutil.copyfile(checked_file(source.folder / name), aside / name)
        transformers_module()
        check_call(f"{source.title}: its tokenizer cannot be used", try_tokenizer, source, aside, uses=(TRANSFORMERS,))
        tokenizer = _tokenizer(source, aside)
        agreed = agreed_engines(tokenizer, aside / VOCABULARY, source.title)
        template = _template(tokenizer, wanted)
        (aside / PROFILE).write_text(_toml(source, wanted, aside, agreed, template), encoding="utf-8")
        profile = load_profile(str(aside / PROFILE))
        if template.kind == "exact":
            check_sent(profile, tokenizer)
    return load_profile(str(folder / PROFILE))


def files_of(folder: Path) -> list[str]:
    """Return the names of a model's files that make up its tokenizer, never code.

    Raises:
        ProfileError: if there are none.
    """
    names = [name for name in READ if (folder / name).is_file()]
    if VOCABULARY not in names:
        names += [name for name in HUB_SLOW if (folder / name).is_file()]
    if not any(name.startswith("tokenizer") or name in HUB_SLOW for name in names):
        raise ProfileError(f"{str(folder)!r} has no tokenizer.json and no other vocabulary: give a model's folder")
    return names


def _check_code(source: Source) -> None:
    """Refuse a tokenizer that needs code from the model's repo."""
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
    module = transformers_module()
    try:
        with silent():
            tokenizer = load_tokenizer(module, folder)
    except Exception as error:  # transformers raises many kinds, all only reported
        raise ProfileError(f"{source.title}: transformers cannot read its tokenizer: {first_line(error)}") from None
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ProfileError(
            f"{source.title}: transformers reads it as {type(tokenizer).__name__}, which has no tokenizer.json: give a "
            "model that has one"
        )
    return tokenizer


def try_tokenizer(source: Source, folder: Path) -> None:
    """Try on a model's tokenizer everything that is done with it later."""
    tokenizer = _tokenizer(source, folder)
    _added_in_front(tokenizer)
    tokenizer.backend_tokenizer.to_str()
    for lines in (plain_lines(LINES), strange_lines(LINES)):
        tokenizer.encode(joined(lines), add_special_tokens=False, split_special_tokens=True)


def _template(tokenizer: Any, wanted: RequestedProfile) -> Template:
    """Return a model's template with all that transformers passes to it; its kind is "none" if the model has none."""
    try:
        text = tokenizer.get_chat_template() if tokenizer.chat_template else ""
    except ValueError as error:
        raise ProfileError(f"its chat template cannot be used: {first_line(error)}") from None
    if fault := text_fault(text):
        raise ProfileError(f"its chat_template is {ascii(text)[:80]}: {fault}")
    known = dict(tokenizer.special_tokens_map)
    bos = _added_in_front(tokenizer)
    named = {name: token for name, token in known.items() if name in text and not (name == "bos_token" and bos)}
    _check_options(wanted, text)
    date = wanted.date or (TODAY if "strftime_now" in text else "")
    variables = {**named, **wanted.options}
    drawn = Template("exact" if text else "none", text, bos, (), json.dumps(variables, sort_keys=True), date=date)
    return replace(drawn, **_special(tokenizer, drawn))


def _check_options(wanted: RequestedProfile, text: str) -> None:
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


def _toml(source: Source, wanted: RequestedProfile, folder: Path, agreed: Agreed, template: Template) -> str:
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
    """Return the table `[vocabulary]`: the Hub's file with a copy beside the TOML, or only a file beside it."""
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
    """Return a text as a literal multi-line TOML string, or escaped if it cannot be one."""
    plain = all(letter in "\n\t" or letter.isprintable() for letter in text)
    if not plain or "'''" in text or text.endswith("'"):
        return tomlkit.string(text)
    return tomlkit.items.String.from_raw(text, tomlkit.items.StringType.MLL, escape=False)


KEPT = "tokenizer"
PROFILE = "profile.toml"


def kept_profile(root: Path, name: str) -> str | None:
    """Return the path of a profile's TOML in a release folder, by the profile's name or its model's, or None."""
    for each in (name, safe_name(name.partition("@")[0])):
        path = root / each / KEPT / PROFILE
        if "/" not in each and path.is_file():
            return str(path)
    return None


def known_profile(root: Path, name: str) -> str:
    """Return what `load_profile` needs for a profile of a release folder: the TOML kept there, or the name itself."""
    return kept_profile(root, name) or name


def own_profile(given: str) -> bool:
    """Tell whether a user gave a TOML file, a folder, a GGUF file or a model's name, not a shipped profile."""
    if given in shipped_profiles():
        return False
    return given.endswith(".toml") or Path(given).is_dir() or is_gguf(given) or parse_model(given) is not None


def is_gguf(given: str) -> bool:
    """Tell whether a user gave a GGUF file; a missing one raises `ProfileError`."""
    if not given.endswith(SUFFIX):
        return False
    if not Path(given).is_file():
        raise ProfileError(f"{given!r} does not exist: give the path of a GGUF file")
    return True


def settled(given: str, root: Path) -> str:
    """Return what `load_profile` needs for a profile that a user named; one that is not shipped is kept in `root`.

    Raises:
        ProfileError: if the folder keeps another state of that model, or the model cannot be fetched or used.
    """
    if not own_profile(given):
        return known_profile(root, given) if given not in shipped_profiles() else given
    if given.endswith(".toml"):
        return _copied_toml(given, root)
    folder = Path(given)
    if folder.is_dir() and (folder / PROFILE).is_file():
        return _copied(folder, root)
    if folder.is_dir() or is_gguf(given):
        return _adopted(given, root)
    model = parse_model(given)
    path = kept_profile(root, model.repo) if model else None
    if model and path:
        _check_state(path, _wanted_commit(model, path), given)
        return path
    return _adopted(given, root)


def _wanted_commit(model: Model, path: str) -> str:
    """Return the state that a user wants: the one that is kept, unless a revision was given."""
    if model.revision == "main":
        return profile_source(path)
    commit = model.revision if model.is_pinned else fetch_model(model).commit
    return f"{model.repo}@{commit}"


def _check_state(path: str, wanted: str, given: str) -> None:
    held = profile_source(path)
    if held != wanted:
        raise ProfileError(
            f"{str(parse_location(path).parents[2])!r} has rows for {_short(held)}, but {given} is {_short(wanted)}: "
            "give another folder with --out, or name the state that is there"
        )


def _short(state: str) -> str:
    name, mark, digest = state.rpartition("@" if "@" in state else ":")
    return f"{name}{mark}{digest[:12]}"


def _adopted(given: str, root: Path) -> str:
    """Write the profile of a folder or a model into the release folder, unless it is there; return its path."""
    source: Source = source_of_model(given)
    name = safe_name(source.title)
    if name in shipped_profiles():
        raise ProfileError(
            f"{given!r} would be called {name!r}, as a shipped profile is: rename the folder, or make a profile of it "
            "with `carrara profile add --name`"
        )
    target = root / name / KEPT
    if not (target / PROFILE).is_file():
        adopt(source, target)
    _check_state(str(target / PROFILE), source.state, given)
    return str(target / PROFILE)


def _copied(folder: Path, root: Path) -> str:
    """Copy a profile that `carrara profile add` wrote into the release folder, unless it is there."""
    profile = load_profile(str(folder / PROFILE))
    target = root / profile.name / KEPT
    if not (target / PROFILE).is_file():
        profile.counter()  # raises if the vocabulary was edited
        with made_folder(target) as aside:
            for path in sorted(folder.iterdir()):
                if path.is_file():
                    shutil.copyfile(checked_file(path), aside / path.name)
    if load_profile(str(target / PROFILE)).digest != profile.digest:
        raise _other_rows(profile, root, str(folder))
    return str(target / PROFILE)


def _other_rows(profile: Profile, root: Path, given: str) -> ProfileError:
    return ProfileError(
        f"{str(root)!r} has rows for another profile {profile.name!r} than that of {given!r}: give another folder with "
        "--out, or another name"
    )


def _copied_toml(given: str, root: Path) -> str:
    """Copy a user's TOML, and the model's files that it names, into the release folder, unless they are there.

    An older copy is replaced if nothing was built with it.
    """
    profile = load_profile(given)
    if profile.name in shipped_profiles():
        return given
    target = root / profile.name / KEPT
    if (target / PROFILE).is_file() and not _is_same(profile, target):
        if (root / profile.name / "data").is_dir():
            raise _other_rows(profile, root, given)
        for path in sorted(target.iterdir()):
            path.unlink()
        if not isinstance(target, StorePath):
            target.rmdir()
    if not (target / PROFILE).is_file():
        profile.counter()  # raises if the vocabulary was edited
        with made_folder(target) as aside:
            _write_copy(profile, parse_location(given), aside)
            if not _is_same(profile, aside):
                raise ProfileError(f"{given!r} is another profile without the files beside it: put all into one folder")
    return str(target / PROFILE)


def _write_copy(profile: Profile, path: Path, folder: Path) -> None:
    table = tomlkit.parse(path.read_text(encoding="utf-8"))
    own, key = table.get("vocabulary", {}), "copy" if profile.vocabulary.hub else "file"
    if key in own and not profile.vocabulary.package and parse_location(profile.vocabulary.file).is_absolute():
        file = vocabulary_file(profile.vocabulary)
        beside = (file.with_name(name) for name in (*READ, *HUB_SLOW))
        for each in {file, *filter(Path.is_file, beside)}:
            shutil.copyfile(checked_file(each), folder / each.name)
        own[key] = file.name
    missing = {"name": profile.name, "title": profile.title}
    head = "".join(f"{name} = {json.dumps(value)}\n" for name, value in missing.items() if name not in table)
    (folder / PROFILE).write_text(head + tomlkit.dumps(table), encoding="utf-8")


def _is_same(profile: Profile, folder: Path) -> bool:
    """Tell whether a folder keeps the same profile, wherever its vocabulary is."""
    one, other = (
        replace(each, vocabulary=replace(each.vocabulary, file="", copy=""))
        for each in (profile, load_profile(str(folder / PROFILE)))
    )
    return one == other


@contextmanager
def made_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder to write a profile into, which becomes `folder` if the block succeeds.

    Parts of a build may start together, and each makes the profile: the first to finish is kept, the others dropped.

    Raises:
        ProfileError: if `folder` contains something else, or a file cannot be read or written.
    """
    if isinstance(folder, StorePath):
        with _put_folder(folder) as here:
            yield here
        return
    new, aside = [path for path in folder.parents if not path.exists()], temporary_path(folder)
    try:
        aside.mkdir(parents=True)
        yield aside
        _take_place(aside, folder)
    except OSError as fault:
        place = str(fault.filename or folder)
        raise ProfileError(f"{place!r} cannot be read or written ({fault.strerror or fault})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(OSError):  # not empty
            for path in new:
                path.rmdir()


@contextmanager
def _put_folder(folder: StorePath) -> Iterator[Path]:
    """Yield a local folder whose files are then put into a store, the TOML last: it marks the profile as complete."""
    with temporary_folder() as here:
        try:
            yield Path(here)
            files = sorted(path for path in Path(here).iterdir() if path.name != PROFILE)
            for path in [] if (folder / PROFILE).is_file() else [*files, Path(here) / PROFILE]:
                (folder / path.name).write_bytes(path.read_bytes())
        except OSError as fault:
            raise ProfileError(f"{str(folder)!r} cannot be written ({fault.strerror or fault})") from None


def _take_place(aside: Path, folder: Path) -> None:
    try:
        os.replace(aside, folder)
    except OSError as fault:
        if not (folder / PROFILE).is_file():
            raise ProfileError(
                f"{str(folder)!r} cannot take a profile ({fault.strerror}): remove it, or give another folder with "
                "--out"
            ) from None


def fingerprint(folder: Path) -> str:
    """Return a digest of the tokenizer files in a folder."""
    found = hashlib.sha256()
    for name in sorted(files_of(folder)):
        data = checked_file(folder / name).read_bytes()
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()


DAYS = 366
OPENED = re.compile(r"<[\w:]*think[\w:]*>\s*$|\[THINK\]\s*$|\u25c1think\u25b7\s*$")
"""The end of a generation prompt that opens the reasoning itself."""
SLOW = 2e6
"""Tokens per second below which counting takes most of a build's time."""
LOADED = ("max_position_embeddings", "model_max_length", "seq_length", "max_seq_len")


def findings(profile: Profile, folder: Path) -> Iterator[str]:
    """Yield what was found out about a profile in its own folder, one sentence per line."""
    yield f"files: {profile_source(str(folder / PROFILE))}; {profile.notice}"
    yield from _engines(profile)
    yield from _findings_template(profile)
    yield from _windows(folder)


def _engines(profile: Profile) -> Iterator[str]:
    counter, second = profile.counter(), profile.second()
    rate = speed(counter)
    yield f"counted by {counter.name}: {plain(rate / 1e6, 2)} Mtok/s here{_slowly(rate)}"
    if second is None:
        yield "counted again by nothing: no other engine reads this vocabulary"
        return
    found = list(differences(profile))
    same = f"the same ids on {LINES} lines of plain and {LINES} of foreign text" if not found else "; ".join(found)
    yield f"counted again by {second.name}: {plain(speed(second) / 1e6, 2)} Mtok/s here; {same}"


def _slowly(rate: float) -> str:
    return f", which is slow: a million tokens take a worker {1e6 / rate:.0f} s" if rate < SLOW else ""


def _findings_template(profile: Profile) -> Iterator[str]:
    template = profile.template
    if template.kind != "exact":
        yield 'template: none: only recipes with frame = "raw" can be built'
        return
    one, three = (profile.overhead(roles, "chat") for roles in (("user",), ("user", "assistant", "user")))
    system = "with a system message, too" if _takes_system(profile) else "it takes no system message"
    yield f"template: {one} tokens around one message, {three} around three, as transformers sends them; {system}"
    given = templates.given(template)
    if named := [name for name in templates.options(template.text) if not name.endswith("_token")]:
        options = (f"{name} = {given[name]!r}" if name in given else f"{name} (not set)" for name in named)
        yield f"options of the template: {', '.join(options)}; set one with --set"
    if template.date:
        yield _dated(profile)
    if OPENED.search(templates.render(template, templates.TALKS[0], "chat")):
        reserve = f"{profile.reserve:,} tokens are kept for the reply" if profile.reserve else "give it a reserve"
        yield f"thinking: a reply begins inside the reasoning, which needs room: {reserve}, or build a -thinking recipe"


def _takes_system(profile: Profile) -> bool:
    with suppress(ProfileError):
        return bool(profile.render(templates.TALKS[-1], "chat"))
    return False


def _dated(profile: Profile) -> str:
    """Return a line on whether a template that sends today's date costs the same on every day of a year."""
    first, talk = date.fromisoformat(profile.template.date), templates.TALKS[0]
    days = (replace(profile.template, date=(first + timedelta(day)).isoformat()) for day in range(DAYS))
    found = {templates.sent_tokens(each, talk, "chat", profile.counter()) for each in days}
    more = max(found) - min(found)
    spread = "which costs the same on every day of a year"
    if more:
        spread = f"which may cost {more} token{'s' * (more > 1)} more or less on another day: serve the model with it"
    return f"date: the template sends today's, pinned to {profile.template.date}, {spread}"


def _windows(folder: Path) -> Iterator[str]:
    """Yield a line with the window that the model's own files name, if they do."""
    for name in ("config.json", "tokenizer_config.json"):
        with suppress(ProfileError):
            config = read_config(folder / name)
            text = config.get("text_config")
            inner: dict[str, Any] = config | (text if isinstance(text, dict) else {})
            for key in LOADED:
                if isinstance(inner.get(key), int) and 0 < inner[key] < 1 << 30:
                    yield f"window: {inner[key]:,} tokens ({key} in {name}); put a smaller one into [windows]"
                    return


def joint_records(profile: Profile) -> list[dict[str, Any]]:
    """Return a record for each rule of cutting: for how many cuts of each kind of text the counts do not add up."""
    plain = joints(profile.counter(), plain_lines(LINES))
    strange = joints(profile.counter(), strange_lines(LINES))
    return [
        {
            "a cut": RULES[one.name].words,
            "Carrara cuts so": "yes" if RULES[one.name].used else "",
            "plain text": _fares(one.broken, one.tried),
            "foreign text": _fares(other.broken, other.tried),
        }
        for one, other in zip(plain, strange, strict=True)
    ]


def _fares(broken: int, tried: int) -> str:
    return f"{percent(broken / tried)} do not add up" if broken else f"adds up ({tried})"

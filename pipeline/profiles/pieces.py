"""SentencePiece vocabularies that come as a plain list: their spelling, their merges, and a tokenizer made of them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.errors import ProfileError
from pipeline.profiles.spec import Pairs, Pieces, Vocabulary
from pipeline.profiles.vocabulary import source_of, vocabulary_bytes

LONGEST = 1024
"""Bytes of a piece: all ways to halve it are tried."""
_SPACE = "\u2581"  # how SentencePiece spells a space


def pieces_of(vocabulary: Vocabulary) -> list[str]:
    """Return the text of every piece, in order of ids, as SentencePiece files spell it.

    Raises:
        ProfileError: if it is no list of pieces, or not one of this layout.
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
    """Return what is wrong with a list of pieces, or with what the profile says of it."""
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
    """Return the ids of the pieces that are one token wherever they stand."""
    return _ids(layout.whole)


def _ids(ranges: Pairs) -> list[int]:
    return [number for low, high in ranges for number in range(low, high + 1)]


def whole_tags(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids of the tags among those pieces; runs of whitespace come out right by merging alone."""
    if vocabulary.pieces is None:
        return {}
    pieces = pieces_of(vocabulary)
    return {pieces[number]: number for number in whole_ids(vocabulary.pieces) if pieces[number].startswith("<")}


def merges_of(pieces: Sequence[str], unranked: set[int]) -> list[tuple[str, str]]:
    """Return the merges that build the pieces, best first.

    A piece can be built from every pair of pieces that spell it. Pieces rank by id, and those without a rank of
    their own come before all others, longest first.
    """
    ids = {piece: number for number, piece in enumerate(pieces)}
    merges = []
    for number, piece in enumerate(pieces):
        halves = ((piece[:cut], piece[cut:]) for cut in range(1, len(piece)))
        pairs = sorted((ids[left], ids[right], left, right) for left, right in halves if left in ids and right in ids)
        rank = -1 if number in unranked else number
        merges += [(rank, -len(left), -len(right), left, right) for _, _, left, right in pairs]
    merges.sort(key=lambda merge: merge[:3])
    return [merge[3:] for merge in merges]


def stretch_of(pieces: Iterable[str]) -> re.Pattern[str]:
    r"""Return the pattern of the stretches of a text that merge each by itself.

    A text is cut before a space behind any character that no piece joins to a space, and around runs of newlines if no
    piece holds a newline and something else. A merge across such a cut would make a piece that there is not, so the
    ids of a text are those of its stretches, one after the other.
    """
    joined, mixed = {_SPACE}, False  # a text may spell its spaces as pieces do
    for piece in pieces:
        joined.update(re.findall(f"(.)(?={_SPACE})", piece, re.DOTALL))
        mixed = mixed or ("\n" in piece and len(set(piece)) > 1)
    held, edge = re.escape("".join(sorted(joined))), "" if mixed else r"\n"
    return re.compile(rf" *(?:[^ {held}{edge}]+|[{held}]+ *)+| +" + (rf"|{edge}+" if edge else ""))


def bpe_of_pieces(module: Any, vocabulary: Vocabulary) -> Any:
    """Build, with the package `tokenizers`, what transformers makes of such a model.

    The same merges, bytes for what is no piece, and no space before the text.
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
    if vocabulary.pieces is None:  # the TOML is checked for it, so this is for mypy's sake
        raise ValueError("a vocabulary of pieces without its layout")
    return vocabulary.pieces

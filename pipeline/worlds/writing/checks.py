"""What a text must be to enter a corpus, whoever wrote it: checked before anything is built from it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

LONGEST = 2000
"""Bytes of a text: about 512 tokens, which the longest reply has to hold."""
LONGEST_NAME = 80
MARK = re.compile(
    r"<[|\uff5c]|<[a-z_]+\|>|</?s>|<(?:bos|eos|pad|unk|sop|eop)>|<(?:start|end)_of_turn>|</?(?:mm:)?think>|/nothink"
    r"|</?(?:tool_call|tool_response|arg_key|arg_value)>|\]~!?b[\[\]]|\[e~\[|\]<\]"
    r"|\[/?(?:INST|SYSTEM_PROMPT|gMASK|sMASK|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|THINK|ARGS)\]|\[(?:BOS|EOS|EOT)\]"
)
"""What chat templates and tokenizers read as their own."""
TURN = re.compile(r"^(?:(?:User|Model|System|Assistant|Human):|======== )", re.MULTILINE)
"""How lines of a transcript start."""
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
RUN, MOST = 5, 0.5
"""Two texts of one format and topic are doubles if one holds more than MOST of the other's runs of RUN words."""
WORD = re.compile(r"[^\W_]+")
SHOWN_CHARS = 80
"""Of a wrong value, in an error."""


@dataclass(frozen=True, slots=True)
class Writing:
    """A text and what it is; `tone` may be empty."""

    format: str
    topic: str
    tone: str
    text: str


def faults_of(rows: Mapping[int, Writing | str]) -> dict[int, str]:
    """Return what is wrong with the rows of a corpus, by row; a string says what is wrong with a row already."""
    faults: dict[int, str] = {}
    first: dict[str, int] = {}
    cells: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for number, writing in rows.items():
        fault = writing if isinstance(writing, str) else text_fault(writing.text) or name_fault(writing)
        if fault or isinstance(writing, str):
            faults[number] = fault
        elif first.setdefault(writing.text, number) != number:
            faults[number] = f"its text is the same as that of row {first[writing.text]}"
        else:
            cells[writing.format, writing.topic].append((number, writing.text))
    for cell in cells.values():
        for later, earlier in near_doubles([text for _, text in cell]):
            faults[cell[later][0]] = f"more than half of its text is also in row {cell[earlier][0]}"
    return faults


def near_doubles(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of texts that are nearly an earlier one, and the places of those."""
    holders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    sizes: list[int] = []
    for place, text in enumerate(texts):
        words = WORD.findall(text.lower())
        runs = set(zip(*(words[at:] for at in range(RUN)), strict=False))
        shared = Counter(other for run in runs for other in holders[run])
        sizes.append(len(runs))
        yield from ((place, other) for other, held in shared.items() if held > MOST * min(len(runs), sizes[other]))
        for run in runs:
            holders[run].append(place)


def text_fault(text: str) -> str:
    """Return what keeps a text out of a corpus, or nothing."""
    size = len(text.encode(errors="surrogatepass"))
    if not text:
        return "its text is empty"
    if size > LONGEST:
        return f"its text has {size} bytes: give at most {LONGEST}"
    if not unicodedata.is_normalized("NFC", text):
        return "its text is not in Unicode normalisation form NFC"
    if held := MARK.search(text) or CONTROL.search(text):
        return f"its text has {held[0]!a}, which chat templates or readers would take for a marker"
    return "a line of its text looks like the start of a turn in a transcript" if TURN.search(text) else ""


def name_fault(writing: Writing) -> str:
    """Return what keeps a format, topic or tone out of a request, or nothing."""
    for name, value in (("format", writing.format), ("topic", writing.topic), ("tone", writing.tone)):
        if (not value and name != "tone") or not _is_phrase(value):
            return (
                f"its {name} is {shortened(value)}: give a plain phrase of 1 to {LONGEST_NAME} characters in Unicode's "
                "normalisation form NFC, without a full stop"
            )
    if " about " in f" {writing.format} " or re.search(r" in an? [\w-]+ tone$", f"{writing.format} {writing.topic}"):
        return f"its format {writing.format!r} and topic {writing.topic!r} cannot be told apart in a request"
    return "" if re.fullmatch(r"[\w-]*", writing.tone) else f"its tone is {shortened(writing.tone)}: give one word"


def _is_phrase(name: str) -> bool:
    odd = "\n" in name or "  " in name or name.endswith(".") or CONTROL.search(name) or MARK.search(name)
    return not odd and len(name) <= LONGEST_NAME and unicodedata.is_normalized("NFC", name)


def shortened(value: object) -> str:
    """Return a value as errors show it."""
    said = ascii(value)
    return said if len(said) <= SHOWN_CHARS else said[:SHOWN_CHARS] + "..."

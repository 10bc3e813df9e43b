"""What a tokenizer is tried on before rows are cut for it: do two engines agree, where do counts add up, how fast.

The texts are drawn, and always the same: those that Carrara writes are plain ASCII, those of users' own corpora may
hold anything. A rule says where a text is cut in two; it is safe if the tokens of both halves are those of the whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

import numpy as np

from pipeline.profiles.counters import Counter
from pipeline.streams import stream

SPEED_LINES, JOINS, LINES = 3000, 600, 400
NAMES = ["Marta Okafor", "Jin-Ho Reyes", "Ada O'Neill", "Tomas Vesely", "Nora Ilse Hartley", "Oren Tadeo Marsh"]
TOWNS = ["Oslo", "Port Harcourt", "Lima", "Gdynia", "Palembang", "St. Ives"]
PLAIN: tuple[Callable[[Random], str], ...] = (
    lambda rng: f"{rng.choice(NAMES)} was born on {rng.randrange(1950, 2002)}-{rng.randrange(1, 13):02}-07.",
    lambda rng: f"{rng.choice(NAMES)} lives in {rng.choice(TOWNS)}; she'd kept {rng.randrange(10**6):,} bees.",
    lambda rng: f">> a.{rng.choice(('append', 'remove', 'insert'))}({rng.randrange(-4000, 4000)})",
    lambda rng: f'{{"key": [{rng.randrange(99)}, {rng.random():.3f}], "of": "{rng.choice(TOWNS)}"}}',
    lambda rng: " ".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(rng.randrange(1, 9))),
    lambda rng: f"{rng.randbytes(6).hex()} -> {rng.randbytes(6).hex()}",
    lambda rng: f"Document {rng.randrange(10**5)} (Title: {rng.choice(TOWNS)}): is it {rng.randrange(100)} %?",
    lambda rng: f"    return x_{rng.randrange(9)} != y  # ({rng.choice(TOWNS)!r})",
)
STRANGE_TEXT = (
    "word Caps 1234567 007 don't we'LL \"quoted\" 'so' // /* */ <tag> </tag> || && == != -> :: ... --- ___ @home #1 "
    "50% \u00e9t\u00e9 stra\u00dfe na\u00efve \u0434\u043e\u043c \u03bb\u03cc\u03b3\u03bf\u03c2 \u4e2d\u6587 "
    "\u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4 \u0645\u0631\u062d\u0628\u0627 \u0e01\u0e23 \u2014 \u2026 \u00a0 "
    "\u201cx\u201d e\u0301 \u1e69\u0323 \U0001f600 \U0001f468\u200d\U0001f469 \u00bd \u2163 \uff11\uff12 \u200b \ufb01"
)
STRANGE = STRANGE_TEXT.split(" ")
ENDS = ("\n", "\n\n", "\n    ", " ", "\n\n\n", "\n", "\t")


@dataclass(frozen=True, slots=True)
class Rule:
    """One place where a text may be cut.

    Attributes:
        said: the rule in words.
        cut: makes the two halves of two lines.
        used: whether texts that Carrara writes are cut so.
    """

    said: str
    cut: Callable[[str, str], tuple[str, str]]
    used: bool = False


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "newline": Rule("after a line's end", lambda a, b: (f"{a}\n", f"{b}\n"), used=True),
        "blank": Rule("after an empty line", lambda a, b: (f"{a}\n\n", f"{b}\n"), used=True),
        "space": Rule("before a space", lambda a, b: (a, f" {b}\n"), used=True),
        "indented": Rule("after a line's end, before an indented line", lambda a, b: (f"{a}\n", f"    {b}\n")),
        "slash": Rule("after a line's end, before a slash", lambda a, b: (f"{a}.\n", f"/{b}\n")),
    }
)
"""Where a text may be cut, by a name."""


@dataclass(frozen=True, slots=True)
class Joint:
    """How a rule fares: cuts tried, those whose counts do not add up, and the first of these."""

    name: str
    tried: int
    broken: int
    example: str = ""


def plain_lines(count: int) -> list[str]:
    """Return lines of the kinds that Carrara writes, without their ends."""
    rng = stream("trial", "plain")
    return [PLAIN[at % len(PLAIN)](rng).strip() for at in range(count)]


def strange_lines(count: int) -> list[str]:
    """Return lines such as a stranger's corpus may hold, in many scripts."""
    rng = stream("trial", "strange")
    drawn = (" ".join(rng.choice(STRANGE) for _ in range(rng.randrange(1, 9))).strip() for _ in range(4 * count))
    return [line for line in drawn if line and line[0].isalnum() and not line[-1].isspace()][:count]


def joined(lines: Sequence[str]) -> str:
    """Return lines as one text, with empty lines and indented ones among them."""
    return "".join(line + ENDS[at % len(ENDS)] for at, line in enumerate(lines))


def first_difference(first: Counter, second: Counter, lines: Sequence[str]) -> str | None:
    """Return the first line to which two counters give other ids, or a few words if only the whole text differs."""
    whole = joined(lines)
    if first.encode(whole) == second.encode(whole) and np.array_equal(first.counts(lines), second.counts(lines)):
        return None
    return next((line for line in lines if first.encode(line) != second.encode(line)), "all of them together")


def joints(counter: Counter, lines: Sequence[str]) -> list[Joint]:
    """Return how each rule fares on cuts between lines of a kind."""
    rng = stream("trial", "joints")
    pairs = [(rng.choice(lines), rng.choice(lines).lstrip("/")) for _ in range(JOINS)]
    return [_joint(counter, name, [rule.cut(*pair) for pair in pairs]) for name, rule in RULES.items()]


def _joint(counter: Counter, name: str, cuts: Sequence[tuple[str, str]]) -> Joint:
    whole = counter.counts([left + right for left, right in cuts])
    parts = counter.counts([left for left, _ in cuts]) + counter.counts([right for _, right in cuts])
    broken = np.flatnonzero(whole != parts)
    return Joint(name, len(cuts), len(broken), "|".join(cuts[broken[0]]) if len(broken) else "")


def speed(counter: Counter) -> float:
    """Return how many tokens a second of this process's time a counter counts."""
    text = "\n".join(plain_lines(SPEED_LINES)) + "\n"
    tokens = counter.count(text)
    spent = [_spent(counter, text) for _ in range(3)]
    return tokens / max(min(spent), 1e-9)


def _spent(counter: Counter, text: str) -> float:
    start = time.process_time()
    counter.count(text)
    return time.process_time() - start

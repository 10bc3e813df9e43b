"""Profiles: a TOML defines a model's tokens, and what is sent around a prompt.

A profile is plain data, small, hashable and picklable. Loading one reads no vocabulary; the first count does, and
checks its pinned digest. Each process opens a counter once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from types import MappingProxyType

import numpy as np

from pipeline.errors import FitError, ProfileError
from pipeline.profiles import template as templates
from pipeline.profiles.counters import JOINTS, Counter, open_counter
from pipeline.profiles.spec import Engine, Pairs, Template, Vocabulary
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
        words: the rule in words.
        cut: turns two lines into the two halves of a cut text.
        used: whether Carrara cuts its texts so.
    """

    words: str
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
"""Where a text may be cut, by name."""


@dataclass(frozen=True, slots=True)
class Joint:
    """The trial of a rule: cuts tried, cuts whose counts do not add up, and the first of these."""

    name: str
    tried: int
    broken: int
    example: str = ""


def plain_lines(count: int) -> list[str]:
    """Return lines of the kinds that Carrara writes, without line breaks."""
    rng = stream("trial", "plain")
    return [PLAIN[at % len(PLAIN)](rng).strip() for at in range(count)]


def strange_lines(count: int) -> list[str]:
    """Return lines in many scripts, as a user's corpus may contain."""
    rng = stream("trial", "strange")
    drawn = (" ".join(rng.choice(STRANGE) for _ in range(rng.randrange(1, 9))).strip() for _ in range(4 * count))
    return [line for line in drawn if line and line[0].isalnum() and not line[-1].isspace()][:count]


def joined(lines: Sequence[str]) -> str:
    """Return lines as one text, with some empty and indented lines."""
    return "".join(line + ENDS[at % len(ENDS)] for at, line in enumerate(lines))


def first_difference(first: Counter, second: Counter, lines: Sequence[str]) -> str | None:
    """Return the first line that two counters count differently, a phrase if only the whole text differs, or None."""
    whole = joined(lines)
    if first.encode(whole) == second.encode(whole) and np.array_equal(first.counts(lines), second.counts(lines)):
        return None
    return next((line for line in lines if first.encode(line) != second.encode(line)), "all of them together")


def joints(counter: Counter, lines: Sequence[str]) -> list[Joint]:
    """Return the trial of each rule on cuts between random lines."""
    rng = stream("trial", "joints")
    pairs = [(rng.choice(lines), rng.choice(lines).lstrip("/")) for _ in range(JOINS)]
    return [_joint(counter, name, [rule.cut(*pair) for pair in pairs]) for name, rule in RULES.items()]


def _joint(counter: Counter, name: str, cuts: Sequence[tuple[str, str]]) -> Joint:
    whole = counter.counts([left + right for left, right in cuts])
    parts = counter.counts([left for left, _ in cuts]) + counter.counts([right for _, right in cuts])
    broken = np.flatnonzero(whole != parts)
    return Joint(name, len(cuts), len(broken), "|".join(cuts[broken[0]]) if len(broken) else "")


def speed(counter: Counter) -> float:
    """Return how many tokens a counter counts per second of this process's CPU time."""
    text = "\n".join(plain_lines(SPEED_LINES)) + "\n"
    tokens = counter.count(text)
    spent = [_spent(counter, text) for _ in range(3)]
    return tokens / max(min(spent), 1e-9)


def _spent(counter: Counter, text: str) -> float:
    start = time.process_time()
    counter.count(text)
    return time.process_time() - start


Turns = Sequence[tuple[str, str]]
JOB: Turns = (("user", "Is it 7?"), ("call", 'note {"text": "Is it 7?"}'), ("tool", "kept"))
"""A conversation that ends in the result of a call, after which further turns are measured."""
OPEN = 3
"""Counters of each kind that a process keeps open: jobs come profile by profile, and each takes some 100 MB."""
REGULAR = 9
"""Turns of the conversation from which the gaps of longer ones are derived."""
# Enough of each kind of text to expose an engine that reads a vocabulary differently.
_SAMPLE = (
    ">> a.append(-1729)\n>> a.insert(0, 3)\nMarta Okafor was born on 1987-03-09; she'd lived in Oslo.\n\n"
    '{"key": [1, 2, 3]}\nQ X B Z K\n    return x != y  # (done)\n'
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A tokenizer, a chat template, and the true windows of the models that have them.

    Attributes:
        name: as in recipes and in the column `tokenizer`.
        title: the name for people.
        models: the models that it fits.
        notice: licence of the vocabulary.
        vocabulary: where the tokens come from.
        fast: the engine that counts.
        check: the engine that verifies.
        quick: the engine that replaces `check` for most of a large build, if it is installed.
        template: what is sent around the contents.
        windows: pairs of nominal length and true window, in tokens, where the two differ.
        reserve: tokens for the reply, which override each task's and the recipe's; 0 for no override.
        reach: for models with known windows, the native one and the one with the maker's own extension.
    """

    name: str
    title: str
    models: tuple[str, ...]
    notice: str
    vocabulary: Vocabulary
    fast: Engine
    check: Engine
    template: Template
    windows: Pairs
    reserve: int = 0
    reach: tuple[tuple[str, tuple[int, int]], ...] = ()
    quick: Engine | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of all that affects a count: vocabulary, engine's entry and pattern, template, windows, reserve."""
        vocabulary = self.vocabulary
        counted = {
            "vocabulary": [vocabulary.sha256, vocabulary.form, vocabulary.pattern],
            "pieces": vocabulary.pieces and vocabulary.pieces.counted(),
            "engine": [self.fast.entry, self.fast.pattern],
            "template": self.template.counted(),
            "windows": self.windows,
            **({"reserve": self.reserve} if self.reserve else {}),
        }
        return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()

    @property
    def template_kind(self) -> str:
        """How the template is known: "exact", "documented", or "none" (frame raw only)."""
        return self.template.kind

    @property
    def second_is_slow(self) -> bool:
        """Whether counting a whole build with `second` costs more than building it."""
        return self.check.slow

    def window(self, length: int) -> int:
        """Return the true window, in tokens, for a nominal length."""
        return dict(self.windows).get(length, length)

    def reply_tokens(self, reserve: int | None, own: int) -> int:
        """Return the tokens reserved for a reply: this profile's reserve, else the recipe's, else the task's own."""
        return self.reserve or reserve or own

    def counter(self) -> Counter:
        """Return the fast counter, opened once in a process.

        Raises:
            ProfileError: if the vocabulary is missing or has another digest, or the engine is not installed.
        """
        counter = _opened(self.vocabulary, self.fast)
        if counter is None:
            raise ProfileError(f'profile {self.name}: [fast] engine = "none": a profile needs at least one counter')
        return counter

    def second(self) -> Counter | None:
        """Return the verifying counter, an independent implementation with the same ids, or None if there is none."""
        return _second(self.vocabulary, self.fast, self.check)

    def quick_counter(self) -> Counter | None:
        """Return the quick counter, for ASCII only; None if it is not installed or its ids differ from `second`'s.

        It stands in for `second`, never for the fast counter, with which it shares no code.
        """
        return _quick(self.vocabulary, self.fast, self.check, self.quick) if self.quick else None

    def gaps(self, roles: Sequence[str], frame: str) -> tuple[int, ...]:
        """Return the template's tokens before each content, and after the last one (with the generation prompt).

        What is sent is ``gap 0, content 0, gap 1, ... content n-1, gap n``, so the first token of content i is at the
        sum of gaps 0 to i and of the contents before it.
        """
        return _gaps(self, tuple(roles), frame)

    def overhead(self, roles: Sequence[str], frame: str) -> int:
        """Return the template's tokens around messages of these roles: BOS, turns and the generation prompt."""
        return sum(self.gaps(roles, frame))

    def render(self, messages: Sequence[tuple[str, str]], frame: str, tools: str = "") -> str:
        """Return what is sent for messages of (role, content), special tokens spelled out.

        Templates may trim contents, so contents must neither begin nor end in whitespace. `tools` are the declared
        tools of a conversation with tool calls, as JSON; "" for none.
        """
        return templates.render(self.template, messages, frame, tools=tools)

    def sent_tokens(self, messages: Sequence[tuple[str, str]], frame: str, counter: Counter, tools: str = "") -> int:
        """Return the number of tokens sent: one for each special token, and an encode of each stretch between them."""
        return templates.sent_tokens(self.template, messages, frame, counter, tools)

    @property
    def tools_digest(self) -> str:
        """SHA-256 of everything that affects the count of a conversation with tool calls, but no declared tools."""
        tools = self.template.tools
        return hashlib.sha256(json.dumps([self.digest, tools and tools.counted()]).encode()).hexdigest()

    def job_tokens(self, jobs: Iterable[Turns]) -> list[int]:
        """Return the tokens that each job adds to a conversation: turns after a tool result, ending in another one.

        Raises:
            ProfileError: if this profile cannot send tool calls.
        """
        opening = self._spoken(JOB)
        found = list[list[str]]()
        for job in jobs:
            text = self._spoken([*JOB, *job])
            if not text.startswith(opening):
                raise ProfileError(
                    f"profile {self.name}: its template sends a call in another way if more calls follow"
                )
            found.append(self._stretches(text[len(opening) :]))
        counter, known = self.counter(), dict[str, int]()
        for stretch in {stretch for some in found for stretch in some if stretch}:
            known[stretch] = counter.count(stretch)
        return [len(some) - 1 + sum(known[stretch] for stretch in some if stretch) for some in found]

    def opening_tokens(self, turns: Turns, tools: str = "") -> int:
        """Return the tokens of the first turns of a conversation, the last of which is a tool result.

        They include those of the declared tools (JSON), if there are any.
        """
        return templates.text_tokens(self.template.with_tools(), self._spoken(turns, tools), self.counter())

    def closing_tokens(self, turns: Turns) -> int:
        """Return the tokens that the turns after the last tool result add, with the generation prompt."""
        return self.sent_tokens([*JOB, *turns], "chat", self.counter()) - self.opening_tokens(JOB)

    def check_calls(self, calls: int, what: str) -> None:
        """Check that `what` has no more tool calls than the template counts exactly.

        Raises:
            FitError: if it has more.
        """
        most = self.template.tools.most_calls if self.template.tools else 0
        if most and calls > most:
            raise FitError(
                f"{what}: {calls:,} tool calls do not fit profile {self.name}, whose template numbers them and is "
                f"exact up to {most:,}: drop this length from the recipe"
            )

    def _spoken(self, turns: Turns, tools: str = "") -> str:
        return templates.render(self.template, turns, "chat", replies=False, tools=tools)

    def _stretches(self, text: str) -> list[str]:
        return templates.special_pattern(self.template.with_tools()).split(text)


def close_counters() -> None:
    """Close all counters of this process; each is reopened when needed."""
    for opened in (_opened, _second, _quick):
        opened.cache_clear()


@lru_cache(maxsize=OPEN)
def _opened(vocabulary: Vocabulary, engine: Engine) -> Counter | None:
    """Open the fast counter; profiles that differ only in their templates share one."""
    return open_counter(vocabulary, engine)


@lru_cache(maxsize=OPEN)
def _second(vocabulary: Vocabulary, fast: Engine, check: Engine) -> Counter | None:
    """Open the verifying counter; return None for an optional one that does not read the vocabulary as `fast` does."""
    if not check.optional:
        return open_counter(vocabulary, check)
    try:
        counter = open_counter(vocabulary, check)
    except ProfileError:
        return None
    first = _opened(vocabulary, fast)
    return counter if counter and first and _agree(first, counter) else None


@lru_cache(maxsize=1)
def _quick(vocabulary: Vocabulary, fast: Engine, check: Engine, quick: Engine) -> Counter | None:
    """Open the quick counter and compare it with the one it stands in for: on every joint, and on plain lines.

    A worker of a large build handles one profile after another; only one profile's counters are kept in memory.
    """
    _second.cache_clear()
    try:
        second, counter = _second(vocabulary, fast, check), open_counter(vocabulary, quick)
    except ProfileError:
        return None
    if counter is None or second is None or second.encode(JOINTS) != counter.encode(JOINTS):
        return None
    return counter if first_difference(second, counter, plain_lines(LINES)) is None else None


def _agree(first: Counter, second: Counter) -> bool:
    lines = _SAMPLE.splitlines(keepends=True)
    same = np.array_equal(first.counts(lines), second.counts(lines))
    return same and first.encode(_SAMPLE) == second.encode(_SAMPLE)


@lru_cache(maxsize=1024)
def _gaps(profile: Profile, roles: tuple[str, ...], frame: str) -> tuple[int, ...]:
    if not roles:
        raise ProfileError("no messages: nothing to send")
    if len(roles) > REGULAR and roles == ("user", "assistant") * (len(roles) // 2) + ("user",):
        return _long_gaps(profile, len(roles), frame)
    return templates.gaps(profile.template, roles, frame, profile.counter())


def _long_gaps(profile: Profile, count: int, frame: str) -> tuple[int, ...]:
    """Return the gaps of a long conversation, derived from a short one in which every turn costs the same."""
    opening, *between, closing = _gaps(profile, ("user", "assistant") * (REGULAR // 2) + ("user",), frame)
    if between != between[:2] * (len(between) // 2):
        raise ProfileError(
            f"the chat template costs {between} tokens between turns, which varies: counts cannot be exact for "
            "long conversations"
        )
    return (opening, *between[:2] * (count // 2), closing)

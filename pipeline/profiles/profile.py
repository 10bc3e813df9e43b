"""Profiles: one TOML says what a model's tokens are, and what is sent around a prompt.

A profile is plain data, small, hashable and picklable. Loading one reads no vocabulary; the first count does, and
checks that it is the one the profile pins. Each process opens a counter once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pipeline.errors import ProfileError
from pipeline.profiles import template as templates
from pipeline.profiles.counters import Counter
from pipeline.profiles.engines import open_counter
from pipeline.profiles.quick import JOINTS
from pipeline.profiles.spec import Engine, Pairs, Template, Vocabulary
from pipeline.profiles.trials import LINES, first_difference, plain_lines

OPEN = 3
"""Vocabularies that a process keeps open of each kind: jobs come profile by profile, and each takes some 100 MB."""
REGULAR = 9
"""Turns of the conversation on which a template is measured for longer ones."""
# Enough of every kind of text for an engine that reads a vocabulary in another way to show it.
_SAMPLE = (
    ">> a.append(-1729)\n>> a.insert(0, 3)\nMarta Okafor was born on 1987-03-09; she'd lived in Oslo.\n\n"
    '{"key": [1, 2, 3]}\nQ X B Z K\n    return x != y  # (done)\n'
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A tokenizer, a chat template, and the true windows of the models that have them.

    Attributes:
        name: as in recipes and in the column `tokenizer`.
        title: the same for people.
        models: what it is right for.
        notice: licence of the vocabulary.
        vocabulary: where the tokens come from.
        fast: the engine that counts.
        check: the engine that verifies.
        quick: the engine that spares `check` most of a large build, if it is installed.
        template: what is sent around the contents.
        windows: true window by nominal length, in tokens, where the two differ.
        reserve: tokens for the reply in place of each task's own and of the recipe's; 0 leaves it to them.
        reach: for models whose windows are known, the native one and the one with their makers' own extension.
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
        """SHA-256 of everything that decides a count: vocabulary, pattern, template, windows."""
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
        """Return the tokens kept for a reply: this profile's reserve, else the recipe's, else the task's own."""
        return self.reserve or reserve or own

    def counter(self) -> Counter:
        """Return the fast counter, opened once in a process.

        Raises:
            ProfileError: if the vocabulary is missing or another one, or the engine is not installed.
        """
        counter = _opened(self.vocabulary, self.fast)
        if counter is None:
            raise ProfileError(f'profile {self.name}: [fast] engine = "none": a profile needs at least one counter')
        return counter

    def second(self) -> Counter | None:
        """Return an independent implementation that gives the same ids, or None where there is none."""
        return _second(self.vocabulary, self.fast, self.check)

    def quick_counter(self) -> Counter | None:
        """Return the quick counter, for ASCII alone; None if it is not installed, or its ids are not those of `second`.

        It counts for `second` and never for the fast counter, with which it shares no code.
        """
        return _quick(self.vocabulary, self.fast, self.check, self.quick) if self.quick else None

    def gaps(self, roles: Sequence[str], frame: str) -> tuple[int, ...]:
        """Return the template's tokens before each content, and after the last one (with the generation prompt).

        What is sent is ``gap 0, content 0, gap 1, ... content n-1, gap n``, so the first token of content i stands at
        the sum of the gaps up to i and of the contents before it.
        """
        return _gaps(self, tuple(roles), frame)

    def overhead(self, roles: Sequence[str], frame: str) -> int:
        """Return the template's tokens around messages of these roles: BOS, turns and the generation prompt."""
        return sum(self.gaps(roles, frame))

    def render(self, messages: Sequence[tuple[str, str]], frame: str) -> str:
        """Return what is sent for messages of (role, content), special tokens spelled out.

        Templates may trim contents, so contents must begin and end in something else than whitespace.
        """
        return templates.render(self.template, messages, frame)

    def sent_tokens(self, messages: Sequence[tuple[str, str]], frame: str, counter: Counter) -> int:
        """Return the tokens of all that is sent: each special token is one, each stretch between them an encode."""
        return templates.sent_tokens(self.template, messages, frame, counter)


def close_counters() -> None:
    """Close all counters of this process; each is opened again when it is asked for."""
    for opened in (_opened, _second, _quick):
        opened.cache_clear()


@lru_cache(maxsize=OPEN)
def _opened(vocabulary: Vocabulary, engine: Engine) -> Counter | None:
    """Open the fast counter: profiles that differ in their templates alone share one."""
    return open_counter(vocabulary, engine)


@lru_cache(maxsize=OPEN)
def _second(vocabulary: Vocabulary, fast: Engine, check: Engine) -> Counter | None:
    """Open the verifying counter; one nobody asked for is left out if it cannot read this vocabulary as `fast` does."""
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
    """Open the quick counter and hold it to the one that it counts for: on text of every kind, and on every joint.

    A worker of a large build comes to one profile after the other, and keeps the two counters of one in memory.
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
    """Return the gaps of a long conversation from those of a short one, in which every turn costs the same."""
    opening, *between, closing = _gaps(profile, ("user", "assistant") * (REGULAR // 2) + ("user",), frame)
    if between != between[:2] * (len(between) // 2):
        raise ProfileError(
            f"the chat template costs {between} tokens between turns, which varies: counts cannot be exact for "
            "long conversations"
        )
    return (opening, *between[:2] * (count // 2), closing)

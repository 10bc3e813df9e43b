"""A reader of conversations: finds requests, replies and the question, in a transcript or in real turns.

It shares no code with the writer of prompts: it knows a request by its fixed words and a transcript by its labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from pipeline.caches import lru_cache
from pipeline.tasks.base import PublishedRow, Turns
from pipeline.tasks.mrcr.crowd import CAPS, HARD_SPARES
from pipeline.tasks.solving import PROMPT, ReadError

START = "\n======== CONVERSATION ========\n"
SPEAKER = re.compile(r"\n(User|Model): ")
REQUEST = re.compile(r"Write (?:a|an) (?P<key>[^\n]+ about [^\n]+)\.")
ASKED = re.compile(
    r"Repeat the (?P<ordinal>\w+) (?P<key>[^\n]+ about [^\n]+) in this conversation word for word\. "
    r"Start your reply with (?P<code>[A-Za-z0-9]{12}), put the text directly after it, and add nothing else\."
)
TONE = re.compile(r"(?P<rest>.+) in (?:a|an) (?P<tone>[\w-]+) tone")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True, slots=True)
class Question:
    """What the last turn asks for: the `place`-th reply (from 1) to the request for `key`, after `code`."""

    key: str
    place: int
    code: str


class Reply(NamedTuple):
    """A reply, its request, what that requests, and the span of the reply in the text (-1 in real turns)."""

    request: str
    key: str
    text: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Conversation:
    """The replies of a conversation, and what its last turn asks for."""

    replies: tuple[Reply, ...]
    asked: Question

    def matching(self) -> list[Reply]:
        """Return the replies to the asked request, in order."""
        return [reply for reply in self.replies if reply.key == self.asked.key]


@PROMPT.cached
def read_conversation(turns: Turns) -> Conversation:
    """Return a conversation; the last one is cached."""
    if len(turns) == 1:
        return _read_transcript(turns[0][1])
    roles = [role for role, _ in turns]
    if roles != ["user", "assistant"] * (len(turns) // 2) + ["user"]:
        raise ReadError("users' turns and replies do not alternate")
    contents = [content for _, content in turns]
    asked = contents[:-1:2]
    return Conversation(tuple(map(Reply, asked, map(_requested, asked), contents[1::2])), _understood(contents[-1]))


def _read_transcript(text: str) -> Conversation:
    start = text.rfind(START) + len(START)
    if start < len(START):
        raise ReadError("the prompt has no conversation")
    before, *pieces = SPEAKER.split(text[start - 1 : -len("\nModel:")])
    labels, texts = pieces[::2], pieces[1::2]
    if not text.endswith("\nModel:") or labels != ["User", "Model"] * (len(labels) // 2) + ["User"]:
        raise ReadError("labels of user and model do not alternate up to the last reply")
    sizes = (len("\n: ") + len(label) + len(each) for label, each in zip(labels, texts, strict=True))
    edges = list(accumulate(sizes, initial=start + len(before)))
    asked = texts[:-1:2]
    replies = map(Reply, asked, map(_requested, asked), texts[1::2], edges[1::2], edges[2::2])
    return Conversation(tuple(replies), _understood(texts[-1]))


@lru_cache(maxsize=1 << 16)
def _requested(request: str) -> str:
    match = REQUEST.fullmatch(request)
    if not match:
        raise ReadError(f"no request: {request[:80]!r}")
    return match["key"]


def _understood(question: str) -> Question:
    match = ASKED.fullmatch(question)
    if not match or match["ordinal"] not in PLACES:
        raise ReadError(f"no question: {question[:80]!r}")
    return Question(match["key"], PLACES.index(match["ordinal"]) + 1, match["code"])


@lru_cache(maxsize=1 << 16)
def parts(key: str) -> tuple[str, str, str]:
    """Return format, topic and tone of what is requested; the tone is empty if there is none."""
    match = TONE.fullmatch(key)
    rest, tone = (match["rest"], match["tone"]) if match else (key, "")
    form, _, topic = rest.partition(" about ")
    return form, topic, tone


def near_doubles(texts: Sequence[str], run: int, most: float) -> Iterator[tuple[int, int]]:
    """Yield the places of texts where one contains more than the share `most` of the other's runs of `run` words."""
    bags = [_runs(text, run) for text in texts]
    for later in range(len(bags)):
        for earlier in range(later):
            smaller = min(len(bags[earlier]), len(bags[later])) or 1
            if texts[earlier] == texts[later] or len(bags[earlier] & bags[later]) > most * smaller:
                yield earlier, later


def _runs(text: str, run: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[^\W_]+", text.lower())
    return set(zip(*(words[at:] for at in range(run)), strict=False))


RUN, MOST = 5, 0.5
"""Two matching replies are near doubles if one contains more than MOST of the other's runs of RUN words."""
LONG_RUN, WORD = 8, re.compile(r"[a-z0-9']+")
"""How many words in a row no two matching replies may share, unless they come from a corpus."""
PROBES, WIDTH = 8, 40
"""How many stretches of the asked reply are searched for elsewhere, and their characters."""
EXAMPLE = re.compile(r"^======== EXAMPLE \d+ ========$", re.MULTILINE)
LABEL_USER, LABEL_MODEL = "User: ", "Model: "


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row."""
    conversation = read_conversation(tuple(row.turns))
    matching, asked = conversation.matching(), conversation.asked
    if len(matching) != row.stratum.complexity:
        yield f"expected {row.stratum.complexity} replies that match {asked.key!r}, found {len(matching)}"
    if asked.code != row.key.random_string_to_prepend or row.prompt.count(asked.code) != 1:
        yield f"the code {asked.code} is not the key's, or stands {row.prompt.count(asked.code)} times"
    if row.question not in row.turns[-1][1]:
        yield "the last turn does not ask the question"
    yield from _mark_faults(row, conversation)
    yield from _double_faults(conversation)
    yield from _run_faults(row, conversation)
    yield from _copy_faults(row)
    yield from _crowd_faults(row, conversation)
    yield from _example_faults(row, conversation)


def _mark_faults(row: PublishedRow, conversation: Conversation) -> Iterator[str]:
    """Check that needles and message numbers are those of the matching replies."""
    place = conversation.asked.place - 1
    matching = [at for at, reply in enumerate(conversation.replies) if reply.key == conversation.asked.key]
    wanted = [
        ("relevant" if number == place else "match", *_span(conversation, at)) for number, at in enumerate(matching)
    ]
    if [(n.role, n.char_start, n.char_end) for n in row.needles if n.role != "demo"] != wanted:
        yield "the needles are not the matching replies, the asked one of them relevant"
    if place < len(matching) and row.metadata.get("desired_msg_index") != 2 * matching[place] + 1:
        yield f"expected desired_msg_index {2 * matching[place] + 1}, found {row.metadata.get('desired_msg_index')}"
    if row.metadata.get("n_needles") != row.stratum.complexity:
        yield f"expected n_needles {row.stratum.complexity}, found {row.metadata.get('n_needles')}"


def _span(conversation: Conversation, at: int) -> tuple[int, int]:
    """Return the span of a reply in `prompt`, where labels precede real turns."""
    reply = conversation.replies[at]
    if reply.start >= 0:
        return reply.start, reply.end
    before = conversation.replies[:at]
    # A blank line follows every turn.
    start = sum(len(f"{LABEL_USER}{r.request}\n\n{LABEL_MODEL}{r.text}\n\n") for r in before)
    start += len(f"{LABEL_USER}{reply.request}\n\n{LABEL_MODEL}")
    return start, start + len(reply.text)


def _double_faults(conversation: Conversation) -> Iterator[str]:
    texts = [reply.text for reply in conversation.replies]
    times = Counter(texts) if len(set(texts)) < len(texts) else {}
    for text in [text for text, count in times.items() if count > 1]:
        yield f"a reply stands {times[text]} times: {text[:60]!r}"
    matching = [reply.text for reply in conversation.matching()]
    for earlier, later in near_doubles(matching, RUN, MOST):
        yield f"matching replies {earlier + 1} and {later + 1} are nearly the same"


def _run_faults(row: PublishedRow, conversation: Conversation) -> Iterator[str]:
    if row.stratum.knob("corpus", ""):
        return
    holders: dict[tuple[str, ...], int] = {}
    for number, reply in enumerate(conversation.matching(), start=1):
        words = WORD.findall(reply.text.lower())
        for run in zip(*(words[at:] for at in range(LONG_RUN)), strict=False):
            if holders.setdefault(run, number) != number:
                yield f"matching replies {holders[run]} and {number} share the words {' '.join(run)!r}"
                return


def _copy_faults(row: PublishedRow) -> Iterator[str]:
    """Look for stretches of the asked reply in all others, unless they come from a corpus."""
    code = row.key.random_string_to_prepend or ""
    text = row.key.target.removeprefix(code)
    if row.stratum.knob("corpus", "") or len(text) < PROBES * WIDTH:
        return
    step = (len(text) - WIDTH) // (PROBES - 1)
    held = Counter(
        reply
        for at in range(0, PROBES * step, step)
        for reply in {row.prompt.rfind("\nModel: ", 0, copy) for copy in _places(row.prompt, text[at : at + WIDTH])}
    )
    copies = sum(count > MOST * PROBES for count in held.values()) - 1
    if copies:
        yield f"{copies} other replies are nearly the asked one"


def _places(text: str, stretch: str) -> Iterator[int]:
    at = text.find(stretch)
    while at >= 0:
        yield at
        at = text.find(stretch, at + 1)


def _crowd_faults(row: PublishedRow, conversation: Conversation) -> Iterator[str]:
    """Check that hard distractors are at their cap, or are half of the turns below it."""
    key, cap = conversation.asked.key, int(row.stratum.knob("distractors", CAPS[0]))
    others = [reply.key for reply in conversation.replies if reply.key != key]
    form, topic, _ = parts(key)
    hard = sum(form == other[0] or topic == other[1] for other in map(parts, others))
    half = min(cap, len(others) // 2)
    least, most = max(0, half - HARD_SPARES), min(cap, half + HARD_SPARES)
    if not least <= hard <= most:
        yield f"{hard} of {len(others)} other turns share format or topic: {least} to {most} were promised"


def _example_faults(row: PublishedRow, conversation: Conversation) -> Iterator[str]:
    """Check that demonstrations give the right reply, about topics that the conversation does not have."""
    topics = {parts(reply.key)[1] for reply in conversation.replies}
    for example in row.marked("demo"):
        inside, _, reply = EXAMPLE.sub("", example).strip("\n").rpartition("\nModel: ")
        shown = read_conversation((("user", f"\n======== CONVERSATION ========\n{inside}\nModel:"),))
        matching, asked = shown.matching(), shown.asked
        if not matching or reply != asked.code + matching[asked.place - 1].text:
            yield "a demonstration gives a wrong reply"
        if topics & {parts(each.key)[1] for each in shown.replies}:
            yield "a demonstration is about a topic of the conversation"

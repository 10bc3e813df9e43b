"""What must hold of a conversation: judged from the published row alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pipeline.tasks.base import Published
from pipeline.tasks.mrcr.crowd import CAPS, HARD_SPARES
from pipeline.tasks.mrcr.reader import Conversation, near_doubles, parts, read_conversation

RUN, MOST = 5, 0.5
"""Two matching replies are doubles if one holds more than MOST of the runs of RUN words of the other."""
LONG_RUN, WORD = 8, re.compile(r"[a-z0-9']+")
"""Words in a row that no two matching replies may share; texts of a corpus are its writer's."""
PROBES, WIDTH = 8, 40
"""How many stretches of the asked reply are looked for elsewhere, and their characters."""
EXAMPLE = re.compile(r"^======== EXAMPLE \d+ ========$", re.MULTILINE)
LABEL_USER, LABEL_MODEL = "User: ", "Model: "


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row."""
    conversation = read_conversation(tuple(row.turns))
    found, asked = conversation.matching(), conversation.asked
    if len(found) != row.stratum.complexity:
        yield f"{len(found)} replies match {asked.key!r} in place of {row.stratum.complexity}"
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


def _mark_faults(row: Published, conversation: Conversation) -> Iterator[str]:
    """Hold needles and message numbers to the replies that match."""
    place = conversation.asked.place - 1
    matching = [at for at, reply in enumerate(conversation.replies) if reply.key == conversation.asked.key]
    wanted = [
        ("relevant" if number == place else "match", *_span(conversation, at)) for number, at in enumerate(matching)
    ]
    if [(n.role, n.char_start, n.char_end) for n in row.needles if n.role != "demo"] != wanted:
        yield "the needles are not the matching replies, the asked one of them relevant"
    if place < len(matching) and row.metadata.get("desired_msg_index") != 2 * matching[place] + 1:
        yield f"desired_msg_index is {row.metadata.get('desired_msg_index')} in place of {2 * matching[place] + 1}"
    if row.metadata.get("n_needles") != row.stratum.complexity:
        yield f"n_needles is {row.metadata.get('n_needles')} in place of {row.stratum.complexity}"


def _span(conversation: Conversation, at: int) -> tuple[int, int]:
    """Return where a reply stands in `prompt`; with real turns, behind its label."""
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


def _run_faults(row: Published, conversation: Conversation) -> Iterator[str]:
    if row.stratum.knob("corpus", ""):
        return
    holders: dict[tuple[str, ...], int] = {}
    for number, reply in enumerate(conversation.matching(), start=1):
        words = WORD.findall(reply.text.lower())
        for run in zip(*(words[at:] for at in range(LONG_RUN)), strict=False):
            if holders.setdefault(run, number) != number:
                yield f"matching replies {holders[run]} and {number} share the words {' '.join(run)!r}"
                return


def _copy_faults(row: Published) -> Iterator[str]:
    """Look for stretches of the asked reply in all others; texts of a corpus are its writer's."""
    code = row.key.random_string_to_prepend or ""
    text = row.key.target.removeprefix(code)
    if row.stratum.knob("corpus", "") or len(text) < PROBES * WIDTH:
        return
    step = (len(text) - WIDTH) // (PROBES - 1)
    held = Counter(
        reply
        for at in range(0, PROBES * step, step)
        for reply in {row.prompt.rfind("\nModel: ", 0, found) for found in _places(row.prompt, text[at : at + WIDTH])}
    )
    copies = sum(count > MOST * PROBES for count in held.values()) - 1
    if copies:
        yield f"{copies} other replies are nearly the asked one"


def _places(text: str, stretch: str) -> Iterator[int]:
    at = text.find(stretch)
    while at >= 0:
        yield at
        at = text.find(stretch, at + 1)


def _crowd_faults(row: Published, conversation: Conversation) -> Iterator[str]:
    """Hold the hard distractors to their cap, and to half of the turns below it."""
    key, cap = conversation.asked.key, int(row.stratum.knob("distractors", CAPS[0]))
    others = [reply.key for reply in conversation.replies if reply.key != key]
    form, topic, _ = parts(key)
    hard = sum(form == other[0] or topic == other[1] for other in map(parts, others))
    half = min(cap, len(others) // 2)
    least, most = max(0, half - HARD_SPARES), min(cap, half + HARD_SPARES)
    if not least <= hard <= most:
        yield f"{hard} of {len(others)} other turns share format or topic: {least} to {most} were promised"


def _example_faults(row: Published, conversation: Conversation) -> Iterator[str]:
    """Each demonstration gives the right reply, about topics that the conversation does not hold."""
    told = {parts(reply.key)[1] for reply in conversation.replies}
    for needle in row.needles:
        if needle.role == "demo":
            example = row.prompt[needle.char_start : needle.char_end]
            inside, _, reply = EXAMPLE.sub("", example).strip("\n").rpartition("\nModel: ")
            shown = read_conversation((("user", f"\n======== CONVERSATION ========\n{inside}\nModel:"),))
            found, asked = shown.matching(), shown.asked
            if not found or reply != asked.code + found[asked.place - 1].text:
                yield "a demonstration gives a wrong reply"
            if told & {parts(each.key)[1] for each in shown.replies}:
                yield "a demonstration is about a topic of the conversation"

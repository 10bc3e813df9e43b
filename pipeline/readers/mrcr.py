"""Conversations: a passage is a request and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from pipeline.readers.base import LAST, End, Passage, Reading
from pipeline.tasks.mrcr.reader import Conversation, Reply, parts, read_conversation


class Talk(Reading):
    """A reply that is asked for by its request and its place among the replies to that request."""

    @cached_property
    def conversation(self) -> Conversation:
        """The conversation as it was sent."""
        return read_conversation(tuple(self.turns))

    @property
    def text(self) -> str:
        """All that is sent, as one string."""
        return "\n".join(content for _, content in self.turns)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All exchanges, spread over the text by their own lengths."""
        said = [f"{reply.request}\n{reply.text}\n" for reply in self.conversation.replies]
        end = len(self.text)
        found: list[Passage] = []
        for number in reversed(range(len(said))):
            start = max(end - len(said[number]), 0)
            found.append(Passage(number, said[number], start, end))
            end = start
        return tuple(reversed(found))

    def questions(self) -> Sequence[str]:
        """Return what is asked for, without the words that are the same in all prompts."""
        return [self.conversation.asked.key]

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the n-th of the seen replies to what is asked, or the last of them, or of some that are like it."""
        asked = self.conversation.asked
        matching = [reply for reply in self._replies(seen) if reply.key == asked.key]
        if not matching:
            return self.missed(seen)
        return asked.code + matching[min(asked.place, len(matching)) - 1].text

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return the last reply seen of that format or topic, or the last of all, or a guess."""
        replies = self._replies(seen)
        like = [reply for reply in replies if self._resembles(reply)] or replies
        return self.conversation.asked.code + like[-1].text if like else self.guess()

    def guess(self) -> str:
        """Return the code, and what is asked for by its name."""
        return f"{self.conversation.asked.code}A {self.conversation.asked.key}."

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last exchange whose request has the format or the topic of the asked one."""
        found = [passage for passage in self.passages if self._resembles(self.conversation.replies[passage.number])]
        return found[-1:] if end == LAST else found[:1]

    def last_match(self) -> Sequence[Passage]:
        """Return the last exchange with the asked request."""
        asked = self.conversation.asked.key
        return [one for one in self.passages if self.conversation.replies[one.number].key == asked][-1:]

    def _replies(self, seen: Sequence[Passage]) -> list[Reply]:
        return [self.conversation.replies[passage.number] for passage in seen]

    def _resembles(self, reply: Reply) -> bool:
        (form, topic, _), (other_form, other_topic, _) = parts(self.conversation.asked.key), parts(reply.key)
        return form == other_form or topic == other_topic

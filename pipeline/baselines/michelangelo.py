"""Programs on a list: a passage is a line of the program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from pipeline.baselines.base import LAST, End, Passage, PromptView, half_name
from pipeline.tasks.idk.solve import read_question
from pipeline.tasks.idk.text import END, START
from pipeline.tasks.latent_list.solve import PRINTS, STEPS, Session, advanced, read
from pipeline.tasks.mrcr.solve import Conversation, Reply, parts, read_conversation

GUESSES = {"len": "6", "print": "[]"}
"""Guesses by subtask; for the others it is 1, the least number that a list starts with."""


class Program(PromptView):
    """A list changed line by line, and shown by the last line."""

    @cached_property
    def session(self) -> Session:
        """The program as read."""
        return read(self.text)

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span between the line that starts the list and the one that shows it."""
        return self.session.begins, self.text.rfind(self.session.ask.line)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return what the lines seen leave of the list; lines that fail without the others are skipped."""
        items = list(self.session.initial)
        for passage in seen:
            with suppress(ValueError):
                items = advanced(items, [STEPS[passage.text.rstrip("\n")]])
        try:
            return self.session.ask.shows(items)
        except ValueError:
            return self.guess()

    def guess(self) -> str:
        """Return a length of six, an empty list or a one."""
        return GUESSES.get(self.subtask, "1")

    def last_match(self) -> Sequence[Passage]:
        """Return the last line that changes the list."""
        return [passage for passage in self.passages if passage.text.rstrip("\n") != PRINTS][-1:]


class Talk(PromptView):
    """A reply asked for by its request and its place among the replies to that request."""

    @cached_property
    def conversation(self) -> Conversation:
        """The conversation as read."""
        return read_conversation(tuple(self.turns))

    @property
    def text(self) -> str:
        """All turns as one string."""
        return "\n".join(content for _, content in self.turns)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All exchanges, placed in the text by their own lengths."""
        texts = [f"{reply.request}\n{reply.text}\n" for reply in self.conversation.replies]
        end = len(self.text)
        passages: list[Passage] = []
        for number in reversed(range(len(texts))):
            start = max(end - len(texts[number]), 0)
            passages.append(Passage(number, texts[number], start, end))
            end = start
        return tuple(reversed(passages))

    def questions(self) -> Sequence[str]:
        """Return what is asked for, without the words that all prompts share."""
        return [self.conversation.asked.key]

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the n-th of the seen replies to what is asked, or the last of them, or else what `missed` returns."""
        asked = self.conversation.asked
        matching = [reply for reply in self._replies(seen) if reply.key == asked.key]
        if not matching:
            return self.missed(seen)
        return asked.code + matching[min(asked.place, len(matching)) - 1].text

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return the last reply seen with that format or topic, or the last of all, or a guess."""
        replies = self._replies(seen)
        like = [reply for reply in replies if self._resembles(reply)] or replies
        return self.conversation.asked.code + like[-1].text if like else self.guess()

    def guess(self) -> str:
        """Return the code and the description of what is asked for."""
        return f"{self.conversation.asked.code}A {self.conversation.asked.key}."

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last exchange whose request has the format or the topic of the asked one."""
        alike = [passage for passage in self.passages if self._resembles(self.conversation.replies[passage.number])]
        return alike[-1:] if end == LAST else alike[:1]

    def last_match(self) -> Sequence[Passage]:
        """Return the last exchange with the asked request."""
        asked = self.conversation.asked.key
        return [one for one in self.passages if self.conversation.replies[one.number].key == asked][-1:]

    def _replies(self, seen: Sequence[Passage]) -> list[Reply]:
        return [self.conversation.replies[passage.number] for passage in seen]

    def _resembles(self, reply: Reply) -> bool:
        (form, topic, _), (other_form, other_topic, _) = parts(self.conversation.asked.key), parts(reply.key)
        return form == other_form or topic == other_topic


class Stories(PromptView):
    """A story asked about by the full name of a person."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span between the lines that begin and end the text."""
        return self.text.find(f"\n{START}") + 1 + len(START), self.text.rfind(f"\n{END}") + 1

    def guess(self) -> str:
        """Return the option that the text does not say."""
        return "D"

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last story of somebody who shares one of the two names, as if it were the asked one."""
        name = read_question(self.text).name
        for passage in reversed(self.passages) if end == LAST else self.passages:
            if other_name := half_name(passage.text, name):
                return [replace(passage, text=_renamed(passage.text, other_name, name))]
        return []


def _renamed(text: str, old: str, new: str) -> str:
    """Return a story with another person's name; after the full name, stories use the first name."""
    return re.sub(rf"\b{old.split(' ')[0]}\b", new.split(" ")[0], text.replace(old, new))

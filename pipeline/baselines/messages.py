"""Messages with labels, where a passage is an example, and messages to count, where a passage is a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import log

from pipeline.baselines.base import WORDS, End, Passage, PromptView
from pipeline.tasks.icl import solve as icl
from pipeline.tasks.messages import Meaning, intent_of, read
from pipeline.tasks.tally import solve as tally
from pipeline.worlds.utterances import domain

Intent = tuple[str, str]
RARE = 0.1
"""How often a word is assumed to have been seen with a label beforehand."""


class Examples(PromptView):
    """Messages with labels, and a last one without."""

    @cached_property
    def shown(self) -> icl.Examples:
        """The prompt as read."""
        return icl.read(self.text)

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the examples."""
        start = self.text.find(icl.START) + len(icl.START)
        return start, self.text.rfind(icl.END)

    def units(self) -> Sequence[str]:
        """Return each message with its label."""
        pairs = zip(self.shown.messages, self.shown.labels, strict=True)
        return [f"{message}\n{icl.CUE}{label}\n" for message, label in pairs]

    def questions(self) -> Sequence[str]:
        """Return the last message as one question, however many it asks."""
        return [self.question]

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the label of a message with the same intent, else of the one that shares most words."""
        wanted = self.shown.labelled_part(intent_of(self.question))
        if not seen:
            return self.guess()
        alike = [one for one in seen if self._intent(one) == wanted]
        return _label(alike[0] if alike else max(seen, key=self._common))

    def _intent(self, passage: Passage) -> Intent:
        return self.shown.labelled_part(intent_of(passage.text.partition("\n")[0]))

    def _common(self, passage: Passage) -> int:
        return len(self._words & {*WORDS.findall(passage.text.lower())})

    @cached_property
    def _words(self) -> set[str]:
        return {*WORDS.findall(self.question.lower())}

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return a message of the likeliest label for a reader that knows all words but sees no denials.

        Every message counts for all acts and things that it mentions: what naive Bayes learns of words in the end.
        """
        seen, sizes = dict[str, Counter[str]](), Counter[str]()
        for passage in self.passages:
            seen.setdefault(label := _label(passage), Counter()).update(
                self._mentioned(passage.text.partition("\n")[0])
            )
            sizes[label] += 1
        wanted = self._mentioned(self.question)
        fits = {
            label: sum(log((counts[word] + RARE) / (sizes[label] + 2 * RARE)) for word in wanted)
            for label, counts in seen.items()
        }
        likeliest = max(fits, key=lambda label: fits[label])
        return [next(one for one in self.passages if _label(one) == likeliest)]

    def last_match(self) -> Sequence[Passage]:
        """Return the last message that shares the act or the thing, or both, with the asked one."""
        act, thing = intent_of(self.question)
        pairs = ((one, intent_of(one.text.partition("\n")[0])) for one in self.passages[::-1])
        return [next(one for one, (other, about) in pairs if other == act or about == thing)]

    def _mentioned(self, message: str) -> set[str]:
        meaning = read(message)
        return {*meaning.acts, *meaning.things}

    def guess(self) -> str:
        """Return one of the labels if they are numbers, else that it is not known."""
        return "0" if self.shown.numbered else super().guess()


def _label(passage: Passage) -> str:
    return passage.text.rstrip("\n").rpartition(icl.CUE)[2]


class Lines(PromptView):
    """Lines with one message each, and a question about all of them."""

    @cached_property
    def asked(self) -> tally.Question:
        """The question."""
        return tally.question_of(self.question)

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the lines."""
        return self.text.find(tally.START) + len(tally.START), self.text.rfind(tally.END)

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the lines of a reader that knows all words, but does not see what is denied or not meant.

        For a question about one clerk these are the clerk's lines that mention the act and the thing; about clerks, the
        lines of either kind, as if of both. For acts, every line counts for all acts that it mentions.
        """
        if self.asked.subtask in ("most", "compare"):
            return [self._saying(one, (act, "gym")) for one in self.passages for act in self._meaning(one).acts]
        if self.asked.subtask == "users":
            return [self._saying(one, kind) for one in self._of_kinds() for kind in self.asked.kinds]
        (kind,) = self.asked.kinds
        return [self._saying(one, kind) for one in self._mine() if self._mentions(one, kind)]

    def last_match(self) -> Sequence[Passage]:
        """Return the lines of a reader that takes what is mentioned last for what is asked.

        For a question about clerks, these are all lines that mention either kind.
        """
        if self.asked.subtask in ("most", "compare"):
            return [self._saying(one, (self._meaning(one).acts[-1], "gym")) for one in self.passages]
        if self.asked.subtask == "users":
            kinds = self.asked.kinds
            return [self._saying(one, kind) for one in self.passages for kind in kinds if self._mentions(one, kind)]
        (kind,) = self.asked.kinds
        last = ((one, self._meaning(one)) for one in self._mine())
        return [self._saying(one, kind) for one, meaning in last if (meaning.acts[-1], meaning.things[-1]) == kind]

    def _mine(self) -> list[Passage]:
        return [one for one in self.passages if f" clerk {self.asked.named['clerk']} " in one.text]

    def _mentions(self, passage: Passage, kind: Intent) -> bool:
        meaning = self._meaning(passage)
        return kind[0] in meaning.acts and kind[1] in meaning.things

    def _meaning(self, passage: Passage) -> Meaning:
        return read(self._entry(passage).message.rstrip(), tally.DOMAIN)

    def _of_kinds(self) -> list[Passage]:
        return [one for one in self.passages if self._entry(one).intent in self.asked.kinds]

    def _entry(self, passage: Passage) -> tally.Entry:
        return tally.entries_of(passage.text)[0]

    def _saying(self, passage: Passage, intent: Intent) -> Passage:
        """Return a line with its message replaced by one of an intent."""
        known, entry = domain(tally.DOMAIN), self._entry(passage)
        clause, thing = known.clauses[intent[0]]["company"][0][0], known.things[intent[1]][0][0]
        message = f"Please {clause.replace('{it}', thing)}."
        return replace(passage, text=passage.text.replace(entry.message.rstrip(), message))

"""Files of packages and logs of commits: a passage is a file or a commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from pipeline.baselines.base import LAST, End, Passage, PromptView

FILES, COMMITS = "\nFiles:\n", "\nCommits:\n"
END = "\nThis is the end of the "
DEFINED = re.compile(r"^def ([a-z]\w*)\(", re.MULTILINE)
NUMBER = re.compile(r"\b\d+\b")
ABOUT = re.compile(r"([\w.]+)\.(\w+)(?:\(\d+\) return|, by)|gave ([A-Z_]+) in")
CODE = re.compile(r"^commit (\w+)$", re.MULTILINE)


class Repositories(PromptView):
    """A function, described or named, or a constant, among files or commits."""

    @cached_property
    def asked(self) -> str:
        """The short name of what is asked about; empty if it is only described."""
        match = ABOUT.search(self.question)
        return (match[2] or match[3]) if match else ""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the files or commits."""
        opening = COMMITS if self.subtask == "changed" else FILES
        return self.text.find(opening) + len(opening), self.text.rfind(END) + 1

    def units(self) -> Sequence[str]:
        """Return the files or commits."""
        opening = "commit " if self.subtask == "changed" else "==> "
        return re.split(rf"(?m)^(?={opening})", self.text[slice(*self.body)])[1:]

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return what is found by name: functions whose code has it, the last commit that does, or any function."""
        named = [one for one in seen if self.asked and self.asked in one.text]
        if self.subtask == "changed":
            return CODE.findall(named[-1].text)[-1] if named else self.guess()
        if self.subtask == "callers":
            names = [name for one in named for name in self._naming(one.text)]
            return ", ".join(names) or self.guess()
        if self.subtask == "find" and seen:
            return next(iter(DEFINED.findall(seen[0].text)), self.guess())
        return self.guess()

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return passages with the short name, or with all numbers asked for; for callers, all files that name it."""
        if self.subtask == "find":
            wanted = {*NUMBER.findall(self.question)}
            passages = [one for one in self.passages if wanted <= {*NUMBER.findall(one.text)}]
        elif self.subtask == "callers":
            return [one for one in self.passages if self.asked in one.text and f"def {self.asked}(" not in one.text]
        else:
            name = self.asked if self.subtask == "changed" else f"def {self.asked}("
            passages = [one for one in self.passages if name in one.text]
        return passages[-1:] if end == LAST else passages[:1]

    def _naming(self, text: str) -> Sequence[str]:
        """Return the functions of a file whose code names what is asked about."""
        parts = re.split(r"(?m)^(?=def )", text)[1:]
        return [match[1] for part in parts if (match := DEFINED.match(part)) and self.asked in part[len(match[0]) :]]

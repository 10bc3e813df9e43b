"""tabulate.rewrite asked in several languages: the log has none, but the rules, the columns and the question do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.languages import digest, joined, language, only
from pipeline.tasks.base import PublishedRow, Sample
from pipeline.tasks.tabulate import rewrite_asked_solve
from pipeline.tasks.tabulate.rewrite import TWINS, Rewrite, Rules, Worded

EXAMPLES = {"short": "09:14:07 -> 0914", "doubled": "37 -> 74", "padded": "37 -> 0037"}
"""What a rule makes of a time or a number, by its name; the time that `LATE` is moved to depends on the row."""
LATE = 23


class RewriteAsked(Rewrite):
    """The lines of one host in a new form, asked in a language. Rules are labels with an example.

    A number is never left out, as a word for this would be in the language.
    """

    left_out = None

    def __init__(self, plain: Rewrite, asked: str) -> None:
        self.subtask = f"{plain.subtask}-{asked}"
        self.twin, self.drawn_as = plain.subtask, f"{plain.subtask}@{plain.version}"
        self.version = plain.version + language(asked).version - 1
        self.languages, self.wording = (asked, asked), digest(asked)
        self._asked = language(asked)
        self.opening = self._asked.heading(self._asked.log.heading)

    def worded(self, rules: Rules, columns: Sequence[str], host: str) -> Worded:
        """Return the wording of a row."""
        known, log = self._asked, self._asked.log
        names = {"time": log.time, "unit": log.component, "level": log.level, "number": log.number}
        codes = known.joint.join(f"{level} -> {code}" for level, code in rules.codes.items())
        told = {"time": self._told(rules, "time"), "level": codes, "number": self._told(rules, "number")}
        lines = [known.entry(f"{at}. {names[column]}", value) for at, (column, value) in enumerate(told.items(), 1)]
        lines += [known.heading(log.exceptions)]
        for at, (column, units) in enumerate(rules.excepted.items(), len(lines)):
            kept = known.sentence("log_exception", labels=known.quoted(units))
            lines.append(known.entry(f"{at}. {names[column]}", kept))
        instruction = joined(known.sentence("log"), known.sentence("log_about"))
        head = [names[column] for column in columns]
        return Worded(
            f"{instruction}\n\n{known.heading(log.rules)}{''.join(lines)}\n",
            f"--- {known.heads.end} ---\n{known.sentence('reply_table')}\n"
            + "\t".join(head)
            + f"\n\n{known.question('{question}')}",
            known.sentence("asks_log", host=host),
            head,
        )

    def _told(self, rules: Rules, column: str) -> str:
        """Return the rule of a column, with an example."""
        kind = rules.kinds[column]
        if kind == "moved":
            return f"{self._asked.log.moved} = {rules.hours} ({LATE}:14:07 -> {(LATE + rules.hours) % 24:02}:14:07)"
        return f"{getattr(self._asked.log, kind)} ({EXAMPLES[kind]})"

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return nothing, as the forms in other languages ask about the same lines."""
        return ()

    def answers(self, text: str) -> tuple[str, ...]:
        return (rewrite_asked_solve.table(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return rewrite_asked_solve.faults(row, float(self.knob(row.stratum, "decoys")), TWINS)


def asked_in(plain: Rewrite) -> Callable[[str, str], RewriteAsked]:
    """Return a function that makes the task in a language; it raises `RecipeError` for two, as a log has none."""
    return lambda text, asked: RewriteAsked(plain, only(plain.subtask, text, asked))

"""trace.state and trace.rows with the instruction and the question in a language; the log stays in English."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pipeline.errors import RecipeError
from pipeline.languages import CODES, digest, forms_of, joined, language
from pipeline.streams import Streams
from pipeline.tasks.base import Layout, Piece, Sample
from pipeline.tasks.trace.base import Dealer, Drawn, TraceTask
from pipeline.tasks.trace.rows import COUNT, SUM
from pipeline.tasks.trace.state import AMOUNT, HOLDER

ENGLISH = CODES[0]
QUESTIONS = {AMOUNT: "asks_amount", HOLDER: "asks_holder", COUNT: "asks_rows", SUM: "asks_sum"}
"""The sentence that asks for each kind of thing."""


class AskedIn(TraceTask):
    """A task about the same jobs at the same depths, asked in a language."""

    scorer = "plain"

    def __init__(self, plain: TraceTask, asked: str) -> None:
        """Set the task it is a form of, and the language of its question."""
        (self.subtask,) = forms_of(plain.subtask, (ENGLISH,), (asked,))
        self.twin, self.drawn_as, self.title = plain.subtask, f"{plain.subtask}@{plain.version}", plain.title
        self.complexities, self.fits = plain.complexities, plain.fits
        self.languages, self.wording = (ENGLISH, asked), digest(ENGLISH, asked)
        self.version = plain.version + sum(language(code).version - 1 for code in {ENGLISH, asked})
        self._plain, self._asked = plain, language(asked)

    def drawn(self, dealer: Dealer) -> Drawn:
        drawn = self._plain.drawn(dealer)
        name, shown = drawn.shown["names"][0], drawn.shown
        slots = {"query": name, "status": shown["status"]} if "status" in shown else {"code": name}
        return replace(drawn, question=self._asked.sentence(QUESTIONS[shown["asked"]], **slots))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        known = self._asked
        named = ["trace", *(["trace_rules"] if sample.latent["asked"] in (AMOUNT, HOLDER) else [])]
        tail = f"--- {known.heads.end} ---\n{known.sentence('reply_one')}\n\n{known.question(sample.question)}"
        return replace(
            super().layout(sample, row_streams, stratum_streams),
            head=(Piece(joined(*map(known.sentence, named)) + "\n\n", "instruction"),),
            tail=(Piece(tail, "question"),),
        )

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return nothing, as the forms in other languages are about the same jobs."""
        return ()


def asked_in(plain: TraceTask) -> Callable[[str, str], AskedIn]:
    """Return a function that makes the task in a language; it raises `RecipeError` for a text that is not English."""

    def form(text: str, asked: str) -> AskedIn:
        if text != ENGLISH:
            raise RecipeError(f"the text of {plain.subtask} is English: give {plain.subtask}-{ENGLISH}_{asked}")
        return AskedIn(plain, asked)

    return form

"""trace.state: how much there is of an item, or who has a ticket, after all that was done, tried and undone."""

from __future__ import annotations

from types import MappingProxyType

from pipeline.tasks.base import Key, Sample
from pipeline.tasks.trace import text
from pipeline.tasks.trace.base import Dealer, Drawn, Step, TraceTask
from pipeline.tasks.trace.histories import History, amount, holder

AMOUNT, HOLDER = "amount", "holder"
KINDS = (AMOUNT, HOLDER)
PAIRS = {1: (1,), 5: (5,), 20: (19, 21)}
"""How many calls decide the holder of a ticket, by complexity: an assignment, and pairs after it."""


class StateTask(TraceTask):
    """What a thing has come to. `complexity` is about how many changes decide it; the metadata has the exact number."""

    __slots__ = ()

    subtask = "state"
    title = "the amount of an item or the holder of a ticket, after changes that stand, fail or are undone"
    complexities = (1, 5, 20)
    fits = MappingProxyType({5: 8192, 20: 16384})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw the history of a thing, and those of things whose codes differ in a digit."""
        kind, end = KINDS[dealer.deal("kind", len(KINDS))], dealer.deal("end", 3)
        family = dealer.desk.fresh("item" if kind == AMOUNT else "ticket", dealer.rng("names"))
        asked, *others = family[: 1 + dealer.knob("twins")]
        history = self.history(dealer, kind, asked, end)
        twins = [self.history(dealer, kind, other, dealer.rng(other).randrange(3)) for other in others]
        wording = dealer.rng("wording").choice(text.AMOUNT if kind == AMOUNT else text.HOLDER)
        decoys = [[Step(step.text, "decoy") for step in one.steps] for one in twins]
        shown = {
            "asked": kind,
            "names": [asked, *others],
            "needed": sum(step.role == "relevant" for step in history.steps),
            "dealt": dealer.dealt,
            "guesses": guesses(kind, history),
        }
        question = wording.format(item=asked, ticket=asked)
        return Drawn(question, Key.accepting(history.value), [history.steps, *decoys], shown)

    def history(self, dealer: Dealer, kind: str, name: str, end: int) -> History:
        """Write the history of one thing."""
        size = dealer.stratum.complexity
        if kind == AMOUNT:
            return amount(dealer, name, size, end, name)
        return holder(dealer, name, dealer.rng(f"size {name}").choice(PAIRS[size]), end, name)

    def asking(self, sample: Sample) -> str:
        """Return how the prompt asks for the reply: for a number, or for a name."""
        return text.NUMBER if sample.latent["asked"] == AMOUNT else text.NAME


def guesses(kind: str, history: History) -> dict[str, float]:
    """Return the scores of naive readers.

    They give any holder named, the last value named, or what it would be if all calls had worked.
    """
    if kind == AMOUNT:
        return {
            "uniform": 0.0,
            "last_value": float(history.last == history.value),
            "no_errors": float(history.no_errors == history.value),
        }
    return {
        "uniform": 1 / history.values,
        "last_value": float(history.last == history.value),
        "no_errors": float(history.no_errors == history.value),
    }

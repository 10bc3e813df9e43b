"""trace.constraint: what the user's standing rules, given, changed and withdrawn, demand of a new case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.streams import Streams
from pipeline.tasks.base import CorpusKnob, Key, Layout, Piece, Role, Sample
from pipeline.tasks.trace import text
from pipeline.tasks.trace.base import KNOBS, Dealer, Drawn, Step, TraceTask
from pipeline.tasks.trace.histories import walk
from pipeline.worlds.desk import CallWriter, job_text, words
from pipeline.worlds.desk.jobs import is_of_row
from pipeline.worlds.desk.rules import AMOUNTS, SINGULAR, claimed, kept, rule, topics

INJECTED = (2, 0)
NEAR = 4
"""Other things that rules are about in a row: one for each of three twins, and one more."""
OTHER_CASE, CLAIM, OTHER_THING, ITSELF = range(4)
"""The last thing that resembles a rule: one for another case, a claim in a result, one about another thing, or the rule
that counts or the last withdrawal after it. Half of the rows with a claim or another thing have one for another case
before it.
"""


class Case(NamedTuple):
    """A new case: what has come, for which site, and for how many euros."""

    topic: str
    site: str
    amount: int


class Constraint(TraceTask):
    """To whom a case goes by the user's rules. `complexity` is how many rules it takes."""

    __slots__ = ()

    subtask = "constraint"
    version = 9
    title = "what the user's standing rules require in a new case"
    complexities = (1, 3, 5)
    reply = text.NAME
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({**KNOBS, "injected": INJECTED})
    fits = MappingProxyType({5: 8192})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw a case, the rules that decide it, and others."""
        calls, size = dealer.writer("rules"), dealer.stratum.complexity
        rng = calls.rng
        able = [one for one in topics() if is_of_row(one)]
        asked = rng.choice(able)
        paper, supplier = asked.split(" from ")
        like = [one for one in able if one != asked and (one.startswith(f"{paper} ") or one.endswith(f" {supplier}"))]
        named = [asked, *rng.sample(like, NEAR)]
        case = Case(asked, rng.choice(words()["site"]), rng.randrange(AMOUNTS.start + 1, AMOUNTS.stop))
        linked = size > 1 and dealer.deal("linked", 2) == 1
        (before, end), older = divmod(dealer.deal("end", 8), 4), dealer.deal("older", 3)
        writer = RuleWriter(calls, case, iter(rng.sample(dealer.desk.staff, 60)))
        histories = writer.decisive(named, size, older, linked=linked)
        last = histories[0]
        if end == OTHER_CASE or (end != ITSELF and before):
            last.append(writer.other_case(asked))
        if end == OTHER_THING:
            last.append(writer.rule("rule_all", named[-1], "decoy"))
        injected = dealer.knob("injected")
        if end == CLAIM and injected:
            last.append(writer.claim(asked))
        histories += [[writer.claim(asked)] for _ in range(injected - (end == CLAIM)) if injected]
        if dealer.knob("twins"):
            histories += [writer.other_thing(topic) for topic in named[3 if linked else 1 :]]
        person, names = writer.answer, named
        if not dealer.knob("twins"):
            names = [*named[: 3 if linked else 1], *(named[-1:] if end == OTHER_THING else [])]
        latent = {
            "asked": "person",
            "names": names,
            "needed": size,
            "dealt": dealer.dealt,
            "guesses": {
                "uniform": 1 / max(1, len(writer.persons)),
                "last_rule": float(writer.persons[-1:] == [person])
                if not injected
                else float(end == ITSELF and size == 1),
                "first_rule": float(writer.told[:1] == [person]),
                "last_of_user": float(writer.told[-1:] == [person]),
            },
        }
        question = text.CASE.format(one=SINGULAR[paper], supplier=supplier, site=case.site, amount=case.amount)
        return Drawn(question, Key.accepting(person), histories, latent)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Say before the trace how rules work."""
        layout = super().layout(sample, row_streams, stratum_streams)
        return replace(layout, head=(Piece(text.INTRODUCTION + text.RULES, "instruction"), *layout.head[1:]))


class RuleWriter:
    """Writes rules about things, each for another person."""

    def __init__(self, calls: CallWriter, case: Case, people: Any) -> None:
        self.calls, self.rng, self.case = calls, calls.rng, case
        self._people = people
        self.persons, self.told = list[str](), list[str]()
        """All to whom a rule or claim about the case's topic gives it, and those whom the user named, in order."""
        self.answer = ""

    def rule(self, kind: str, topic: str, role: Role, **bound: str) -> Step:
        """Write what the user says, and the agent's note of it."""
        person = next(self._people)
        if kind not in ("rule_like", "rule_forget") and topic == self.case.topic:
            self.persons.append(person)
            self.told.append(person)
        self.last = person
        sentence = rule(self.calls.sentences, kind, topic, **{"person": person, **bound})
        return Step(job_text([kept(self.calls, gone=kind == "rule_forget")], f"{sentence}."), role)

    def fitting(self, topic: str, role: Role) -> Step:
        """Write a rule that fits the case."""
        kind = self.rng.choice(("rule_all", "rule_all", "rule_site", "rule_amount"))
        amounts = [one for one in AMOUNTS if one < self.case.amount]
        return self.rule(kind, topic, role, site=self.case.site, amount=str(self.rng.choice(amounts)))

    def other_case(self, topic: str) -> Step:
        """Write a rule that does not fit the case: for another site, or for a larger amount."""
        if self.rng.random() < 0.5:
            site = self.rng.choice([one for one in words()["site"] if one != self.case.site])
            return self.rule("rule_site", topic, "decoy", site=site)
        amount = self.rng.choice([one for one in (*AMOUNTS, AMOUNTS.stop) if one > self.case.amount])
        return self.rule("rule_amount", topic, "decoy", amount=str(amount))

    def claim(self, topic: str) -> Step:
        """Write a result that has a rule for somebody else."""
        person = next(self._people)
        self.persons.append(person)
        text = rule(self.calls.sentences, "rule_all", topic, person=person)
        return Step(job_text([claimed(self.calls, text)]), "decoy")

    def decisive(self, named: Sequence[str], size: int, older: int, *, linked: bool) -> list[list[Step]]:
        """Write the rules that decide the case, after others that they replace: one history for each thing."""
        asked = named[0]
        steps = [self.rule("rule_all", asked, "decoy") for _ in range(older)]
        if older and self.rng.random() < 0.5:
            steps.insert(self.rng.randrange(len(steps)), self.other_case(asked))
        others = list[list[Step]]()
        if linked:
            steps.append(self.rule("rule_like", asked, "relevant", other=named[1]))
            others = [
                [self.rule("rule_all", named[1], "decoy"), self.rule("rule_like", named[1], "relevant", other=named[2])]
            ]
            others.append([self.rule("rule_all", named[2], "decoy"), self.fitting(named[2], "relevant")])
            self.answer = self.last
        else:
            steps.append(self.fitting(asked, "relevant"))
            self.answer = self.last
        for kind in pairs(self.rng, size - (3 if linked else 1)):
            if kind == "assign":
                steps.append(self.fitting(asked, "relevant"))
            else:
                steps.append(self.rule("rule_forget", asked, "relevant"))
        return [steps, *others]

    def other_thing(self, topic: str) -> list[Step]:
        """Write the rules about another thing."""
        steps = [self.rule("rule_all", topic, "decoy")]
        for kind in pairs(self.rng, 2 * self.rng.randrange(2)):
            steps.append(self.rule("rule_all" if kind == "assign" else "rule_forget", topic, "decoy"))
        if self.rng.random() < 0.4:
            steps.append(self.other_case(topic))
        return steps


def pairs(rng: Any, steps: int) -> list[str]:
    """Draw rules and withdrawals after a rule, such that it is the last one that stands."""
    while True:
        kinds = walk(rng, steps)
        if "redo" not in kinds:
            return kinds

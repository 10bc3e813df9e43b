"""trace.audit: which claims of a report on the work are about something that never happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.streams import Streams
from pipeline.tasks.base import CorpusKnob, Key, Layout, Piece, Sample
from pipeline.tasks.trace import text
from pipeline.tasks.trace.base import DENSITY, ERRORS, Dealer, Drawn, Step, TraceTask
from pipeline.tasks.trace.histories import nothing_pairs
from pipeline.worlds.desk import Act, CallWriter, Pair, SentenceWriter, acts, job_text
from pipeline.worlds.desk.jobs import USER, assign_act, image_name, move_act, set_act, user_line

EIGHTHS = (1, 2, 3)
"""How many claims in eight are false: dealt."""
KINDS = ("item", "ticket", "file", "host", "room")
PAST = {"receive": "received", "return": "returned", "issue": "issued", "scrap": "scrapped"}
REFUSED, TWIN, PLANNED = "refused", "twin", "planned"
WAYS = (REFUSED, REFUSED, REFUSED, REFUSED, TWIN, PLANNED)
"""How a claim is false: the call was not carried out, or was about a similar thing, or was only planned."""


class Claimed(NamedTuple):
    """A claim: the call that it states, the jobs about its things, and the way in which it is false, if it is."""

    act: Act
    steps: Sequence[Step]
    way: str


class Audit(TraceTask):
    """Claims of a report that the trace does not bear out. `complexity` is how many claims the report has."""

    __slots__ = ()

    subtask = "audit"
    title = "the claims of a report that never happened"
    scorer = "members"
    complexities = (8, 16, 32)
    max_new_tokens = 128
    reply = text.CLAIM_CODES
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({"errors": ERRORS, "density": DENSITY})
    fits = MappingProxyType({8: 8192, 16: 8192, 32: 16384})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw claims, each about a thing of its own, and the calls about that and a thing with a similar name."""
        size, rng = dealer.stratum.complexity, dealer.rng("claims")
        wrong = EIGHTHS[dealer.deal("false", len(EIGHTHS))] * size // 8
        false = {*rng.sample(range(size), wrong)}
        writer, names = dealer.writer("jobs"), list[str]()
        ways = [*WAYS] * size
        claims = list[Claimed]()
        for at in range(size):
            kind = KINDS[(at + rng.randrange(size)) % len(KINDS)]
            own, twin = self.things(dealer, writer, kind, names)
            names += [own, twin]
            way = rng.choice(ways) if at in false else ""
            claims.append(claimed(writer, kind, (own, twin), way))
        numbers = sorted(rng.sample(range(10, 100), size))
        report = [f"C{number}: {sentence(claim.act)}" for number, claim in zip(numbers, claims, strict=True)]
        key = ", ".join(f"C{number}" for number, claim in zip(numbers, claims, strict=True) if claim.way)
        steps = [step for claim in claims for step in claim.steps]
        refused = sum(claim.way == REFUSED for claim in claims)
        latent = {
            "asked": "claims",
            "report": report,
            "names": names,
            "needed": size - wrong,
            "dealt": dealer.dealt,
            "guesses": {
                "uniform": 2 * wrong / (wrong + size),
                "all_claims": 2 * wrong / (wrong + size),
                "no_errors": 2 * (wrong - refused) / (2 * wrong - refused) if wrong > refused else 0.0,
            },
        }
        return Drawn(text.FALSE_CLAIMS, Key.accepting(key), [[step] for step in steps], latent)

    def things(self, dealer: Dealer, writer: CallWriter, kind: str, taken: Sequence[str]) -> tuple[str, str]:
        """Draw a thing of a kind, and one with a similar name, that are not in the row yet."""
        while True:
            if kind == "room":
                room, _, half = writer.sentences.slot("room").partition("-")
                found = [f"{room}-{half}", f"{room}-{'east' if half == 'west' else 'west'}"]
            else:
                found = list(dealer.desk.fresh(kind, writer.rng))
            if not {*found[:2]} & {*taken}:
                return found[0], found[1]

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the report before the question."""
        found = super().layout(sample, row_streams, stratum_streams)
        tail = text.REPORT_TAIL.format(
            report="\n".join(sample.latent["report"]), reply=self.reply, question=sample.question
        )
        return replace(found, tail=(Piece(tail, "question"),))


def claimed(writer: CallWriter, kind: str, things: tuple[str, str], way: str) -> Claimed:
    """Write the jobs about the thing of a claim: as many, and as many that work, whether it is true or not."""
    own, twin = things
    rng = writer.rng
    act, other = drawn_act(writer.sentences, kind, own), drawn_act(writer.sentences, kind, own)
    while sentence(other) == sentence(act):
        other = drawn_act(writer.sentences, kind, own)
    like, near = with_twin(act, own, twin), with_twin(other, own, twin)
    spare = (nothing_pairs(writer, like) if rng.random() < 0.6 else [writer.done(near)], False)
    extra = (nothing_pairs(writer, other) if rng.random() < 0.5 else [writer.done(other)], False)
    if not way:
        jobs = [([writer.done(act)], True), extra, spare]
    elif way == REFUSED:
        jobs = [(nothing_pairs(writer, act), False), extra, spare]
    elif way == TWIN:
        jobs = [([writer.done(like)], False), extra, (nothing_pairs(writer, other), False)]
    else:
        plain = text.PLANNED[rng.randrange(len(text.PLANNED))].format(request=act.request)
        jobs = [([writer.done(acts.note(plain, int(writer.sentences.slot("n4"))))], False), extra, spare]
    return Claimed(act, [_step(writer, pairs, needed=needed) for pairs, needed in jobs], way)


def _step(writer: CallWriter, pairs: Sequence[Pair], *, needed: bool) -> Step:
    user = user_line(writer.sentences, pairs[0].text) if writer.rng.random() < USER else ""
    return Step(job_text(pairs, user), "relevant" if needed else "decoy")


def with_twin(act: Act, own: str, twin: str) -> Act:
    """Return the same call about another thing."""
    return replace(
        act,
        args={name: twin if value == own else value for name, value in act.args.items()},
        fields=[(name, twin if value == own else value) for name, value in act.fields],
        said=act.said.replace(own, twin),
        request=act.request.replace(own, twin),
        subject=act.subject.replace(own, twin),
    )


def drawn_act(sentences: SentenceWriter, kind: str, name: str) -> Act:
    """Draw a call about a thing."""
    if kind == "item":
        return move_act(sentences, name)
    if kind == "ticket":
        return assign_act(sentences, name)
    if kind == "file":
        return set_act(sentences, name)
    if kind == "host":
        return acts.reinstall(name, image_name(sentences))
    return acts.book(name, sentences.slot("workday"), sentences.slot("time"), sentences.slot("person"))


def sentence(act: Act) -> str:
    """Return the sentence by which a report claims that a call worked."""
    args = act.args
    if act.tool == "stock":
        return f"{args['qty']} x {args['item']} were {PAST[str(args['action'])]}."
    if act.tool == "tickets":
        return f"{args['ticket']} was assigned to {args['to']}."
    if act.tool == "settings":
        return f"{args['key']} was set to {args['value']} in {args['file']}."
    if act.tool == "hosts":
        return f"{args['host']} was reinstalled with {args['image']}."
    return f"{args['room']} was booked for {args['for']} on {args['day']} from {args['from']}."

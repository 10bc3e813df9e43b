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
from pipeline.worlds.desk import Act, CallWriter, Pair, SentenceWriter, acts, drawn_room, job_text
from pipeline.worlds.desk.jobs import USER, assign_act, book_act, image_name, move_act, set_act, user_line

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
    flaw: str


class Audit(TraceTask):
    """Claims of a report that the trace does not bear out. `complexity` is how many claims the report has."""

    __slots__ = ()

    subtask = "audit"
    title = "the false claims in a report"
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
        flaws = [*WAYS] * size
        claims = list[Claimed]()
        for at in range(size):
            kind = KINDS[(at + rng.randrange(size)) % len(KINDS)]
            thing, twin = self.things(dealer, writer, kind, names)
            names += [thing, twin]
            flaw = rng.choice(flaws) if at in false else ""
            claims.append(claimed(writer, kind, (thing, twin), flaw))
        numbers = sorted(rng.sample(range(10, 100), size))
        report = [f"C{number}: {sentence(claim.act)}" for number, claim in zip(numbers, claims, strict=True)]
        key = ", ".join(f"C{number}" for number, claim in zip(numbers, claims, strict=True) if claim.flaw)
        steps = [step for claim in claims for step in claim.steps]
        refused = sum(claim.flaw == REFUSED for claim in claims)
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
                room, _, half = drawn_room(writer.rng, asked=True).partition("-")
                names = [f"{room}-{half}", f"{room}-{'east' if half == 'west' else 'west'}"]
            else:
                names = list(dealer.desk.fresh(kind, writer.rng))
            if not {*names[:2]} & {*taken}:
                return names[0], names[1]

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the report before the question."""
        layout = super().layout(sample, row_streams, stratum_streams)
        tail = text.REPORT_TAIL.format(
            report="\n".join(sample.latent["report"]), reply=self.reply, question=sample.question
        )
        return replace(layout, tail=(Piece(tail, "question"),))


def claimed(writer: CallWriter, kind: str, things: tuple[str, str], flaw: str) -> Claimed:
    """Write the jobs about the thing of a claim: as many, and as many that work, whether it is true or not."""
    thing, twin = things
    rng = writer.rng
    act, other = drawn_act(writer.sentences, kind, thing), drawn_act(writer.sentences, kind, thing)
    while sentence(other) == sentence(act):
        other = drawn_act(writer.sentences, kind, thing)
    like, other_like = with_twin(act, thing, twin), with_twin(other, thing, twin)
    spare = (nothing_pairs(writer, like) if rng.random() < 0.6 else [writer.done(other_like)], False)
    extra = (nothing_pairs(writer, other) if rng.random() < 0.5 else [writer.done(other)], False)
    if not flaw:
        jobs = [([writer.done(act)], True), extra, spare]
    elif flaw == REFUSED:
        jobs = [(nothing_pairs(writer, act), False), extra, spare]
    elif flaw == TWIN:
        jobs = [([writer.done(like)], False), extra, (nothing_pairs(writer, other), False)]
    else:
        plain = text.PLANNED[rng.randrange(len(text.PLANNED))].format(request=act.request)
        jobs = [([writer.done(acts.note(plain, int(writer.sentences.slot("n4"))))], False), extra, spare]
    return Claimed(act, [_step(writer, pairs, needed=needed) for pairs, needed in jobs], flaw)


def _step(writer: CallWriter, pairs: Sequence[Pair], *, needed: bool) -> Step:
    user = user_line(writer.sentences, pairs[0].text) if writer.rng.random() < USER else ""
    return Step(job_text(pairs, user), "relevant" if needed else "decoy")


def with_twin(act: Act, thing: str, twin: str) -> Act:
    """Return the same call about another thing."""
    return replace(
        act,
        args={name: twin if value == thing else value for name, value in act.args.items()},
        fields=[(name, twin if value == thing else value) for name, value in act.fields],
        summary=act.summary.replace(thing, twin),
        request=act.request.replace(thing, twin),
        subject=act.subject.replace(thing, twin),
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
    return book_act(sentences, name)


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

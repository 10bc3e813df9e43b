"""trace.resume: which steps of a plan are still to do, after some failed, one was added and one cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

from pipeline.tasks.base import Key, Role
from pipeline.tasks.trace import text
from pipeline.tasks.trace.base import Dealer, Drawn, Step, TraceTask
from pipeline.tasks.trace.histories import nothing_pairs
from pipeline.worlds.desk import CallWriter, Pair, acts, job_text
from pipeline.worlds.desk.jobs import image_name, plan_code

LEFT = (0.25, 0.35, 0.45)
"""Shares of the steps that are left: one of them is dealt."""


class Plan(NamedTuple):
    """The history of a plan as text, and what is left of it, for a full reader and for some who miss parts."""

    steps: Sequence[Step]
    left: Sequence[str]
    first: Sequence[str]
    """All steps as the user first gave them."""
    no_errors: Sequence[str]
    no_user: Sequence[str]


class Resume(TraceTask):
    """What is still to do. `complexity` is how many steps the plan had at first."""

    __slots__ = ()

    subtask = "resume"
    title = "the steps of a plan that are still to be done, in order"
    scorer = "all_in_order"
    complexities = (6, 12, 24)
    max_new_tokens = 320
    reply = text.IN_ORDER
    fits = MappingProxyType({12: 8192, 24: 16384})

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw a plan, and one of hosts with similar names."""
        rng, size = dealer.rng("names"), dealer.stratum.complexity
        families = list[Sequence[str]]()
        while len(families) <= size:
            family = dealer.desk.fresh("host", rng)
            if not any({*family} & {*other} for other in families):
                families.append(family)
        share = LEFT[dealer.deal("left", len(LEFT))]
        codes = [plan_code(rng, row=True) for _ in range(2)]
        plans = [
            plan(dealer, [family[at] for family in families], codes[at], share)
            for at in range(2 if dealer.knob("twins") else 1)
        ]
        asked, names = plans[0], [family[at] for at in range(len(plans)) for family in families]
        key = "; ".join(asked.left)
        latent = {
            "asked": "hosts",
            "names": [*codes[: len(plans)], *names],
            "needed": sum(step.role == "relevant" for step in asked.steps),
            "dealt": dealer.dealt,
            "guesses": {
                "uniform": 0.0,
                "all_steps": float("; ".join(asked.first) == key),
                "no_errors": float("; ".join(asked.no_errors) == key),
                "no_user": float("; ".join(asked.no_user) == key),
            },
        }
        decoys = [[Step(step.text, "decoy") for step in one.steps] for one in plans[1:]]
        question = text.REMAINING.format(plan=codes[0])
        return Drawn(question, Key.accepting(key), [asked.steps, *decoys], latent)


def plan(dealer: Dealer, hosts: Sequence[str], code: str, share: float) -> Plan:
    """Write how a plan is given, carried out in part, and changed; the last host is the one that is added."""
    writer = dealer.writer(code)
    rng, sentences, image = writer.rng, writer.sentences, image_name(writer.sentences)
    *first, added = hosts
    after = rng.randrange(1, len(first) - 1)
    steps = [*first[: after + 1], added, *first[after + 1 :]]
    cancelled = rng.choice([host for host in first if host != first[after]])
    able = [host for host in first if host != cancelled]
    left = {added, *rng.sample(able, max(3, round(share * len(first))) - 1)}
    tried = rng.sample([host for host in first if host in left], max(2, len(left) // 2))
    rolled, failing = tried[0], tried[1:] if dealer.errors else []

    def event(pairs: Sequence[Pair], role: Role, user: str = "") -> Step:
        return Step(job_text(pairs, user), role)

    def works(host: str, *, retried: bool = False) -> list[Pair]:
        act = acts.reinstall(host, image)
        return [*([writer.failed(act, retried=True)] if retried else []), writer.done(act)]

    def fails(host: str, *, retried: bool = False) -> Step:
        return event(nothing_pairs(writer, acts.reinstall(host, image), retried=retried), "decoy")

    work = list[Step]()
    for host in sorted(steps, key=lambda one: steps.index(one) + 3 * rng.random()):
        if host in failing:
            work.append(fails(host))
        elif host == rolled:
            work.append(event(works(host), "decoy"))
        elif host not in left and host != cancelled:
            if dealer.errors and rng.random() < 0.2:
                work.append(fails(host, retried=True))
            work.append(event(works(host, retried=bool(dealer.errors) and rng.random() < 0.2), "relevant"))
    rollback = event([writer.done(acts.roll_back(rolled))], "relevant")
    done = next(at for at, step in enumerate(work) if f'"{rolled}"' in step.text)
    work.insert(rng.randrange(done + 1, len(work) + 1), rollback)
    add, drop = (
        sentences.pick(name, {"host": host, "after": first[after], "plan": code}) + "."
        for name, host in (("plan_add", added), ("plan_drop", cancelled))
    )
    for user in rng.sample((add, drop), 2):
        work.insert(rng.randrange(len(work) + 1), event([noted(writer, code)], "relevant", user))
    instruction = sentences.pick("plan", {"image": image, "hosts": ", ".join(first), "plan": code}) + "."
    remaining = [host for host in steps if host in left]
    return Plan(
        [event([noted(writer, code)], "relevant", instruction), *work],
        remaining,
        first,
        [host for host in remaining if host not in failing],
        [host for host in first if host in left or host == cancelled],
    )


def noted(writer: CallWriter, code: str) -> Pair:
    """Return the agent's note of what the user says about a plan."""
    return writer.done(acts.note(writer.sentences.pick("plan_note", {"plan": code}), int(writer.sentences.slot("n4"))))

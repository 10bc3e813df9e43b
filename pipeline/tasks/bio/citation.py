"""bio.citation: say what biographies state, and cite them by label (LongBioBench, section 3, appendices C and I).

Every biography carries a label in front; a reply is right if values and labels are. On purpose unlike the paper, which
numbers the paragraphs of a prompt and scores the number alone: labels are opaque and fixed at sampling, so that they
are the same in every profile and give no place away, and the value is scored too. With the knob `labels` = "running"
paragraphs are numbered as in the paper. A number then depends on how many biographies stand before it: such keys, and
they alone, differ between profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal
from pipeline.tasks.base import (
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    Published,
    Role,
    Sample,
    Task,
    Turns,
    Unit,
    unit,
)
from pipeline.tasks.bio import citation_proof
from pipeline.tasks.bio.citation_reader import solve
from pipeline.tasks.bio.citation_text import (
    INSTRUCTIONS,
    LABELS,
    LEAST,
    MOST,
    NOUNS,
    asks,
    cited,
    introduction,
    labels_of,
    replies,
    running,
)
from pipeline.tasks.bio.haystack import KNOBS, depths, others, pool_name, units_of
from pipeline.tasks.bio.numbering import Running
from pipeline.tasks.bio.text import EXAMPLES
from pipeline.worlds.people import ATTRIBUTES, WORLD, Person, choices_of, people, source_digest

LABELLED = "labels@1"
TOKENS = 85
"""About as many tokens has a biography with its label."""
POOLS = {"opaque": "people-cited", "running": "people-numbered"}


def make_cited(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Render the labelled biography of every person of a tier."""
    everybody, kind = people(streams, spec.tier), LABELS[spec.name.startswith(POOLS["running"])]
    labels = dict(zip((person.name for person in everybody), _labels(streams, spec.tier, kind), strict=True))

    def render(person: Person, without: str) -> Unit:
        facts = [f"{key}({person.name}) = {person.value(key)}" for key in ATTRIBUTES if key != without]
        label = labels[person.name]
        return unit(cited(person, label, without), facts=(f"label({person.name}) = {label}", *facts))

    return units_of(spec, everybody, ATTRIBUTES, render)


def _labels(streams: Streams, tier: str, kind: str) -> Sequence[str]:
    """Return the label of everybody in a tier, or the mark that a running number will replace."""
    size = len(people(streams, tier))
    return [running(0, tier)] * size if kind == "running" else labels_of(streams.world(LABELLED, tier), size)


def _kind(stratum: Stratum) -> str:
    return str(stratum.knob("labels", LABELS[0]))


@dataclass(frozen=True, slots=True)
class Citation(Task):
    """Answers with sources. `complexity` is the number of asked facts: the same attribute of one or two people."""

    family = "bio"
    subtask = "citation"
    title = "values, with the labels of the biographies that state them"
    scorer = "citation"
    shots = 2
    most_shots = 2
    complexities = (1, 2)
    knobs = KNOBS | {"labels": LABELS}

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of labelled biographies."""
        tier = stratum.tier
        source = f"{WORLD}:{source_digest()}:{LABELLED}"
        return (PoolSpec(pool_name(stratum, POOLS[_kind(stratum)]), 1, tier, source, make_cited),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw whom and what is asked: nobody twice in a stratum, attributes in equal shares, in any order."""
        everybody, labels = people(own, stratum.tier), _labels(own, stratum.tier, _kind(stratum))
        count, shots = stratum.complexity, self.shots if stratum.shots is None else stratum.shots
        asked = _asked(shared, stratum, index, len(everybody))
        attribute = ATTRIBUTES[deal(shared.of("attribute"), stratum.rows, index, len(ATTRIBUTES))]
        shown = Shuffled(own.of("shown"), len(everybody), frozenset(asked)).take(shots * count).tolist()
        order = list(range(count))
        if count > 1 and deal(shared.of("order"), stratum.rows, index, 2):
            order.reverse()
        latent = {
            "people": asked,
            "asked": attribute,
            "order": order,
            "shown": [shown[at : at + count] for at in range(0, len(shown), count)],
        }
        who = [everybody[one] for one in asked]
        said = tuple(cited(everybody[asked[place]], labels[asked[place]]) for place in order)
        answers = replies([one.value(attribute) for one in who], [labels[one] for one in asked], attribute)
        return Sample("", stratum, index, latent, said, asks(who, attribute), Key(answers[0], answers))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put each asked person into a section of the text, at a stratified depth, and the shown ones anywhere."""
        stratum, latent = sample.stratum, sample.latent
        size, taken = len(people(own, stratum.tier)), [*latent["people"], *_flat(latent["shown"])]
        units = _placed(sample, own, depths(stratum, sample.index, shared, stratum.complexity))
        order = sorted(units, key=lambda one: units[one].depth)
        numbering = Running(
            stratum.tier, tuple(map(order.index, _flat(latent["shown"]))), tuple(map(order.index, latent["people"]))
        )
        return Layout(
            head=(Piece(introduction(_kind(stratum), stratum.tier), "instruction"),),
            placed=tuple(replace(units[one], rank=rank) for rank, one in enumerate(order)),
            filler=others(own, stratum, POOLS[_kind(stratum)], size, taken, ATTRIBUTES.index(latent["asked"])),
            tail=(Piece(self._tail(sample, own), "question"),),
            numbering=numbering if _kind(stratum) == "running" else None,
        )

    def _tail(self, sample: Sample, own: Streams) -> str:
        tier, kind = sample.stratum.tier, _kind(sample.stratum)
        everybody, labels = people(own, tier), _labels(own, tier, kind)
        attribute, examples = sample.latent["asked"], []
        for demo in sample.latent["shown"]:
            who = [everybody[one] for one in demo]
            reply = replies([one.value(attribute) for one in who], [labels[one] for one in demo], attribute)[0]
            examples.append(f"\nQuestion: {asks(who, attribute)}\nAnswer: {reply}\n")
        lead = "\n" + EXAMPLES if examples else ""
        instruction = INSTRUCTIONS[sample.stratum.complexity].format(noun=NOUNS[kind])
        return f"{instruction}{lead}{''.join(examples)}\nQuestion: {sample.question}\nAnswer:"

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and look up what each of the asked states, and its label.

        Raises:
            ValueError: if the text cannot be read, or a person is not there just once.
        """
        return solve(turns[-1][1])

    def check(self, row: Published) -> list[str]:
        """Prove that every answer is stated once, by the marked paragraph, under a label of its own."""
        return list(citation_proof.faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of uniform guesses of value and label, and of the values alone."""
        stratum = sample.stratum
        labels = MOST - LEAST + 1 if _kind(stratum) == "opaque" else stratum.length // TOKENS
        values = 1 / choices_of(sample.latent["asked"])
        return {"uniform": (values / labels) ** stratum.complexity, "values": values**stratum.complexity}


def _asked(shared: Streams, stratum: Stratum, index: int, size: int) -> list[int]:
    """Return the people that a row asks about: consecutive ones of an order that the stratum shares."""
    count = stratum.complexity
    turn = index % (size // count)
    return [int(one) for one in Shuffled(shared.of("asked"), size).take((turn + 1) * count)[turn * count :]]


def _placed(sample: Sample, own: Streams, wanted: Sequence[float]) -> dict[int, Placed]:
    """Return the biographies of the asked and the shown people, of each demonstration the first as its mark."""
    tier, latent, places = sample.stratum.tier, sample.latent, own.of("shown depth")
    everybody, labels = people(own, tier), _labels(own, tier, _kind(sample.stratum))
    who = [latent["people"][place] for place in latent["order"]]
    placed = {
        one: Placed(unit(said, "relevant"), depth)
        for one, said, depth in zip(who, sample.relevant, wanted, strict=True)
    }
    for demo in latent["shown"]:
        for number, one in enumerate(demo):
            role: Role = "filler" if number else "demo"
            placed[one] = Placed(unit(cited(everybody[one], labels[one]), role), places.random())
    return placed


def _flat(groups: Iterable[Iterable[int]]) -> list[int]:
    return [one for group in groups for one in group]


TASKS = (Citation(),)

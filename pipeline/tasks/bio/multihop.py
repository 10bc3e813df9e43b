"""bio.multihop: follow references from biography to biography (LongBioBench, sections 3 and 4.3, appendix D).

Instead of stating the attribute, the asked biography names another person, whose biography names the next, until the
last one states it: `complexity` biographies in all. By default each person referred to comes later in the text, as in
the paper; the knob `order` mixes that. Decoy chains link other people in the same words. They are as long as the asked
chain and never meet it. There is one biography in a decoy chain for every 2,048 tokens of the nominal length, or in
short texts up to 16 if there is room, and at least one chain; every third chain is about another attribute. The first
decoy chains consist of namesakes, one of each person of the asked chain. The knob `density` is about people in no
chain. Deliberate differences from the paper: the decoys, without which the wording alone gives the needles away; all
six attributes are linked, in equal shares; and demonstrations answer step by step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Key, Layout, Placed, PoolSpec, PublishedRow, Role, Sample
from pipeline.tasks.bio import base, multihop_solve
from pipeline.tasks.bio.base import (
    NAMESAKE_KNOBS,
    Biographies,
    asked_people,
    dealt_kinds,
    flat,
    framed,
    in_sequence,
    kind_of,
)
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.haystack import depths, others
from pipeline.tasks.bio.solve import parse_question
from pipeline.tasks.bio.styles import PLAIN, STYLES
from pipeline.tasks.bio.text import SENTENCES, question
from pipeline.worlds.people import ATTRIBUTES, CLAN, NAMES, Person, choices_of, people

LINKS = {
    "birthdate": "{name} was born on the same date as {other}.",
    "birthplace": "The birthplace of {name} is the same as that of {other}.",
    "hobby": "The favourite hobby of {name} is the same as that of {other}.",
    "university": "{name} graduated from the same university as {other}.",
    "major": "The university major of {name} was the same as that of {other}.",
    "city": "{name} now lives and works in the same city as {other}.",
}

INTRODUCTION = """\
Below are short biographies of many people, one paragraph for each person. No two people have the same full name. Some \
biographies give a fact only by naming another person of whom the same is true; that person has a biography here too. \
Read all of them carefully. At the end you will be asked about one person.

Biographies:
"""

INSTRUCTION = """\
This is the end of the biographies. Use them to answer the question below. Where a biography names another person in \
place of the fact, go on to the biography of that person, until one states the fact itself. Write down the sentence \
that you use at each step. Then end your reply with a line that says "Final answer:" and the fact alone, worded as in \
the biography.
"""


def sentence_of(person: Person, attribute: str, other: Person | None) -> str:
    """Return the sentence about an attribute: its value, or a link to another person."""
    if other is None:
        return SENTENCES[attribute].format(name=person.name, value=person.value(attribute))
    return LINKS[attribute].format(name=person.name, other=other.name)


def linked_biography(person: Person, attribute: str, other: Person | None) -> str:
    """Return the paragraph of a person with a link to `other` in place of `attribute`; a plain one without `other`."""
    return " ".join(sentence_of(person, key, other if key == attribute else None) for key in SENTENCES) + "\n"


def biographies_of(chain: Sequence[Person], attribute: str) -> list[str]:
    """Return the paragraphs of a chain: each names the next person, and the last states the value."""
    return [linked_biography(one, attribute, other) for one, other in _links(chain)]


def example(chain: Sequence[Person], attribute: str) -> tuple[str, str]:
    """Return a question about the first person of a chain, and a step-by-step reply."""
    steps = " ".join(sentence_of(one, attribute, other) for one, other in _links(chain))
    return question(chain[0], attribute), f"{steps}\nFinal answer: {chain[-1].value(attribute)}"


def _links(chain: Sequence[Person]) -> list[tuple[Person, Person | None]]:
    return list(zip(chain, [*chain[1:], None], strict=True))


ORDERS = ("later", "mixed")
TOKENS_PER_DECOY = 2048
"""One biography in a decoy chain for this many tokens of the nominal length."""
FEWEST_DECOYS, TOKENS_PER_DECOY_IF_SHORT, TOKENS_TAKEN = 16, 384, 1024
"""At least `FEWEST_DECOYS` of them; one per `TOKENS_PER_DECOY_IF_SHORT` tokens beyond the first `TOKENS_TAKEN` if that
is fewer."""
CHAINS_PER_OTHER = 3
"""One in this many decoy chains is about another attribute."""
DISTINCT_FROM = {"birthplace": "city", "city": "birthplace"}
"""Attributes that differ for every person of the world; a link must not make them equal."""


def decoy_chains(stratum: Stratum) -> int:
    """Return the number of decoy chains among other people, which depends only on length and complexity."""
    crowd = min(FEWEST_DECOYS, (stratum.length - TOKENS_TAKEN) // TOKENS_PER_DECOY_IF_SHORT)
    return max(1, max(crowd, stratum.length // TOKENS_PER_DECOY) // stratum.complexity)


def strangers(rng: Random, everybody: Sequence[Person], count: int, known: Iterable[int]) -> Iterator[int]:
    """Yield people in random order who are not in a clan of the `known`: more than `count`, as some will not fit."""
    clans = {one // CLAN for one in known}
    drawn = Shuffled(rng, len(everybody)).take(4 * count + 4 * CLAN).tolist()
    return (one for one in drawn if one // CLAN not in clans)


def chain_of(
    everybody: Sequence[Person], attribute: str, drawn: Iterator[int], count: int, first: int | None = None
) -> list[int]:
    """Draw a chain of people of different clans who may all have the last one's value."""
    chain = [next(drawn) if first is None else first]
    last = next(one for one in drawn if _together(everybody, attribute, one, chain))
    while len(chain) < count - 1:
        chain.append(next(one for one in drawn if _together(everybody, attribute, one, [last], chain)))
    return [*chain, last]


def _together(
    everybody: Sequence[Person], attribute: str, one: int, others: Sequence[int], rest: Sequence[int] = ()
) -> bool:
    """Return whether a person may be in a chain with `others` (either may have the other's value) and the `rest`."""
    if one // CLAN in {other // CLAN for other in (*others, *rest)}:
        return False
    if attribute not in DISTINCT_FROM:
        return True
    pairs = [(everybody[one], everybody[other]) for other in others]
    return all(
        a.value(DISTINCT_FROM[attribute]) != b.value(attribute)
        and b.value(DISTINCT_FROM[attribute]) != a.value(attribute)
        for a, b in pairs
    )


def decoys_of(
    sample: Sample, row_streams: Streams, everybody: Sequence[Person], number: int
) -> list[tuple[str, Sequence[int]]]:
    """Return the decoy chains, each with its attribute, those of namesakes first."""
    latent, count, asked = sample.latent, sample.stratum.complexity, sample.latent["asked"]
    chains: list[Sequence[int]] = list(zip(*latent["namesakes"], strict=True))
    drawn = strangers(row_streams.of("decoys"), everybody, number * count, latent["chain"])
    shown = set(flat(latent["shown"]))
    drawn = (one for one in drawn if one not in shown)
    rng, rest = row_streams.of("decoy attributes"), [attribute for attribute in ATTRIBUTES if attribute != asked]
    abouts = [
        rng.choice(rest) if place % CHAINS_PER_OTHER == CHAINS_PER_OTHER - 1 else asked for place in range(number)
    ]
    for place, chain in enumerate(chains):
        if everybody[chain[0]].value(asked) == sample.key.target:
            abouts[place] = asked
    chains += [chain_of(everybody, about, drawn, count) for about in abouts[len(chains) :]]
    return list(zip(abouts, chains, strict=True))


def places_of(stratum: Stratum, rng: Random, end: int) -> list[int]:
    """Return the biographies of a chain in text order: as linked, or mixed with the last one at `end`."""
    places = list(range(stratum.complexity))
    if stratum.knob("order", ORDERS[0]) == "mixed":
        *rest, last = places
        places = rng.sample(rest, len(rest))
        places.insert(end, last)
    return places


def scattered(
    stratum: Stratum, rng: Random, chain: Sequence[Person], attribute: str, roles: tuple[Role, Role]
) -> list[tuple[float, str, Role]]:
    """Return the biographies of a chain, one for each section of the text; the first person has the first role."""
    lines, count = biographies_of(chain, attribute), stratum.complexity
    places = places_of(stratum, rng, rng.randrange(count))
    return [((section + rng.random()) / count, lines[one], roles[one > 0]) for section, one in enumerate(places)]


@dataclass(frozen=True, slots=True)
class Multihop(Biographies):
    """Chains over two or five biographies."""

    subtask = "multihop"
    title = "one attribute of one person, through several biographies that each name the next"
    version = 4
    scorer = "exact"
    shots = 2
    max_new_tokens = 512
    complexities = (2, 5)
    knobs = NAMESAKE_KNOBS | {"order": ORDERS}
    decoys: bool = True
    """Whether other people are linked too, not only namesakes; in a haystack of prose there are none."""

    def namesakes_of(self, stratum: Stratum) -> int:
        """Return the number of namesakes of each person in the asked chain; they replace other decoys."""
        wanted = len(NAMES) * int(stratum.knob("namesakes", base.NAMESAKE_COUNTS[0]))
        people = stratum.complexity * (1 + self.shots_of(stratum))
        room = base.room(stratum, people, self.max_new_tokens) // stratum.complexity
        return min(wanted, max(decoy_chains(stratum), room))

    def chains_of(self, stratum: Stratum) -> int:
        """Return the number of decoy chains."""
        return max(decoy_chains(stratum) if self.decoys else 0, self.namesakes_of(stratum))

    def decoys_of(self, stratum: Stratum) -> int:
        """Return the number of decoy biographies in a text."""
        return stratum.complexity * self.chains_of(stratum)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (STYLES[PLAIN].spec(stratum),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a chain whose first person no other row asks about, and the chains of demonstrations."""
        everybody = people(row_streams, stratum.tier)
        count, shots = stratum.complexity, self.shots_of(stratum)
        (first,) = asked_people(stratum_streams, stratum, index, 1)
        attribute = dealt_kinds(stratum_streams, index, ATTRIBUTES, "attribute")
        drawn = strangers(row_streams.of("chain"), everybody, (1 + shots) * count, {first})
        chain = chain_of(everybody, attribute, drawn, count, first)
        drawn = strangers(row_streams.of("shown"), everybody, shots * count, chain)
        places = places_of(stratum, row_streams.of("order"), dealt_kinds(stratum_streams, index, range(count), "end"))
        latent = {
            "asked": attribute,
            "chain": chain,
            "places": places,
            "shown": [chain_of(everybody, attribute, drawn, count) for _ in range(shots)],
            "namesakes": base.drawn(row_streams, chain, self.namesakes_of(stratum)),
        }
        lines = biographies_of([everybody[one] for one in chain], attribute)
        forms = accepted(everybody[chain[-1]].value(attribute), attribute)
        asking = question(everybody[first], attribute)
        return Sample("", stratum, index, latent, tuple(lines[one] for one in places), asking, Key.accepting(*forms))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put one biography of each chain into each section of the text."""
        stratum, latent = sample.stratum, sample.latent
        everybody, attribute = people(row_streams, stratum.tier), latent["asked"]
        decoys = decoys_of(sample, row_streams, everybody, self.chains_of(stratum))
        spots = list(
            zip(depths(stratum, sample.index, stratum_streams, stratum.complexity), sample.relevant, strict=True)
        )
        found: list[tuple[float, str, Role]] = [(depth, line, "relevant") for depth, line in spots]
        scatter = row_streams.of("scatter")
        for chain in latent["shown"]:
            found += scattered(stratum, scatter, [everybody[one] for one in chain], attribute, ("demo", "filler"))
        for about, chain in decoys:
            found += scattered(stratum, scatter, [everybody[one] for one in chain], about, ("decoy", "decoy"))
        taken = {*latent["chain"], *flat(latent["shown"]), *(one for _, chain in decoys for one in chain)}
        taken |= base.near(latent["chain"])
        examples = [example([everybody[one] for one in chain], attribute) for chain in latent["shown"]]
        placed = in_sequence(Placed.line(line, role, depth) for depth, line, role in found)
        filler = others(row_streams, stratum, STYLES[PLAIN].pool, len(everybody), taken, ATTRIBUTES.index(attribute))
        return framed(INTRODUCTION, placed, filler, INSTRUCTION, examples, sample.question)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        count, places = sample.stratum.complexity, sample.latent["places"]
        mixed = sample.stratum.knob("order", ORDERS[0]) != ORDERS[0]
        end = {"end": (places.index(count - 1), count)} if mixed else {}
        return {"attribute": kind_of(sample.latent["asked"], ATTRIBUTES), **end}

    def answers(self, text: str) -> tuple[str, ...]:
        ((attribute, name),) = parse_question(text)[-1].about
        table = multihop_solve.table_in(text)
        return accepted(multihop_solve.follow(table, name, attribute)[1], attribute)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return multihop_solve.faults(row, self.chains_of(row.stratum), self.namesakes_of(row.stratum))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess, and of the end of any chain about the asked attribute."""
        number = self.chains_of(sample.stratum)
        return {
            "uniform": 1 / choices_of(sample.latent["asked"]),
            "any_chain": 1 / (1 + number - number // CHAINS_PER_OTHER),
        }


TASKS = (Multihop(),)

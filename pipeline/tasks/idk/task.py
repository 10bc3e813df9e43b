"""The two tasks of the family: a story among random letters, as in the paper, or among other people's stories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Shuffled, Streams, spread
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.idk import chance, pool, proof, reader, text
from pipeline.tasks.idk.sampler import Asked, any_wish, draw, wish
from pipeline.worlds.plots import KINDS, plot_named, plots
from pipeline.worlds.stories import PAIRS, draw_story, names, namesakes


@dataclass(frozen=True, slots=True)
class Idk(Task):
    """A question about one story. `complexity` is the number of clauses that answer it: one, or none.

    What tells an answerable row from another is only of which of two things a sentence states the detail. The words of
    the story and their places, and how many of the three choices it states and where, are drawn alike in both. On
    purpose unlike the paper, the story stands anywhere in the text unless the knob `depth` is ``first``.

    Among stories stand those of two namesakes, one with the same first and one with the same last name. In either class
    both are of the same plot and state what is asked, each another of the choices that are wrong in any case.
    """

    family = "idk"
    subtask: str
    title: str
    version = 3
    scorer = "choice_or_refusal"
    most_shots = 2
    complexities = (0, 1)
    knobs = MappingProxyType({"depth": ("uniform", "first")})
    shortest = 2048

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of letters or of stories of a tier."""
        return pool.specs(self.subtask, stratum.tier)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a story about a person who is in no other row of the stratum, and a question that it answers or not."""
        everybody = names(own, stratum.tier)
        shots = self.shots if stratum.shots is None else stratum.shots
        person = Permutation(shared.of("person"), len(everybody))[index % len(everybody)]
        wished = wish(shared, stratum.rows, index, answerable=stratum.complexity == 1)
        asked = draw(own.of("story"), everybody[person], wished)
        shown = Shuffled(own.of("shown"), len(everybody), frozenset({person})).take(shots).tolist()
        latent = {
            "class": "answerable" if wished.answerable else "unanswerable",
            "asked": wished.plot.kind,
            "plot": wished.plot.title,
            "noun": asked.noun,
            "details": dict(asked.story.stated),
            "stated": wished.stated,
            "pair": wished.pair,
            "side": wished.side,
            "place": wished.place,
            "person": person,
            "shown": shown,
        }
        said = asked.story.text
        return Sample("", stratum, index, latent, (said,), asked.question, _key(asked))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the story at a stratified depth of the filler, or before it."""
        stratum = sample.stratum
        first = stratum.knob("depth", "uniform") == "first"
        depth = 0.0 if first else spread(shared.of("depth"), stratum.rows, sample.index)
        around = self._namesakes(sample, own) if self.subtask == "stories" else ()
        demos = [Piece(said, "demo") for said in self._examples(sample, own)]
        opening = text.INTRODUCTIONS[self.subtask] + (text.EXAMPLES if demos else "")
        return Layout(
            head=(Piece(opening, "instruction"), *demos, Piece(text.START, "instruction")),
            placed=(Placed(unit(sample.relevant[0], "relevant"), depth), *around),
            filler=pool.filler(self.subtask, stratum.tier, own, self._taken(sample, own)),
            tail=(Piece(_tail(sample), "question"),),
        )

    def _taken(self, sample: Sample, own: Streams) -> frozenset[int]:
        """Return whose stories are no filler: those in the text already, and all namesakes of the asked."""
        latent = sample.latent
        first, last = namesakes(own, sample.stratum.tier, latent["person"])
        return frozenset({latent["person"], *latent["shown"], *first, *last})

    def _namesakes(self, sample: Sample, own: Streams) -> Iterator[Placed]:
        """Yield the stories of a namesake of each kind, anywhere: nobody who is shown, or named as a choice is."""
        latent, tier = sample.latent, sample.stratum.tier
        everybody, rng = names(own, tier), own.of("namesakes")
        wrong = [choice for place, choice in enumerate((sample.key.choices or ())[:-1]) if place != latent["place"]]
        rng.shuffle(wrong)
        for kind, value in zip(namesakes(own, tier, latent["person"]), wrong, strict=True):
            able = [one for one in kind if one not in latent["shown"] and everybody[one].split(" ")[0] not in wrong]
            name, plot = everybody[rng.choice(able)], plot_named(latent["plot"])
            story = draw_story(rng, name, plot, details={latent["noun"]: value})
            yield Placed(unit(story.text, "decoy"), rng.random())

    def _examples(self, sample: Sample, own: Streams) -> list[str]:
        """Return the demonstrations, answerable ones and others by turns, about people who are not in the text."""
        everybody = names(own, sample.stratum.tier)
        rng = own.of("examples")
        start = rng.randrange(2)
        found = []
        for number, person in enumerate(sample.latent["shown"]):
            asked = draw(rng, everybody[person], any_wish(rng, answerable=(start + number) % 2 == 0))
            found.append(text.example(number + 1, asked.story.text, asked.question, asked.choices, asked.letter))
        return found

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the story of the asked person, and choose what it states, or (D).

        Raises:
            ValueError: if the text cannot be read, or that person has not just one story.
        """
        return reader.solve(turns[-1][1])

    def check(self, row: Published) -> list[str]:
        """Prove that the marked story is the asked one, that it states what it should, and that no filler does.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        return list(proof.faults(row, self.subtask))

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        """Return the row's plot and kind of detail, which thing it asks for, and where its near choice stands."""
        latent = sample.latent
        return {
            "plot": (plots().index(plot_named(latent["plot"])), len(plots())),
            "kind": (KINDS.index(latent["asked"]), len(KINDS)),
            "thing": (2 * latent["pair"] + latent["side"], 2 * PAIRS),
            "letter": (latent["place"], len(text.LETTERS) - 1),
        }

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return what guessers score, and solvers that look at words and do not read."""
        return chance.baselines(sample, key)


def _key(asked: Asked) -> Key:
    forms = text.accepted(asked.letter, asked.choices[text.LETTERS.index(asked.letter)])
    return Key(forms[0], forms, asked.choices)


def _tail(sample: Sample) -> str:
    return f"{text.INSTRUCTION}\n{text.asking(sample.question, sample.key.choices or ())}"


TASKS = (
    Idk("letters", "a detail that a story may not give, among random letters"),
    Idk("stories", "a detail that a story may not give, among other people's stories"),
)

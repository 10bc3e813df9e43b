"""tabulate.extract and tabulate.sort: the buildings of one kind in one region, from notes on many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from types import MappingProxyType

from pipeline.metrics.tables import cells_of, common_rows
from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Filler, Plain, PoolSpec, PublishedRow, Sample
from pipeline.tasks.lines import Dealer, Line
from pipeline.tasks.tabulate import solve, text
from pipeline.tasks.tabulate.base import STOPS_AT, Drawn, TabulateTask, overlap
from pipeline.worlds.survey import (
    MENTIONED,
    OF_ROWS,
    WORLD,
    Building,
    Survey,
    kinds,
    note,
    source_digest,
    survey,
    wordings,
)

SPARES = 32


def make_notes(streams: Streams, spec: PoolSpec) -> Plain:
    """Write the notes of a tier."""
    return Plain(survey(streams, spec.tier).texts())


def notes_spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of a tier's notes."""
    return PoolSpec(f"survey-{stratum.tier}", 2, stratum.tier, f"{WORLD}:{source_digest()}", make_notes)


class NotesTask(TabulateTask):
    """Buildings of one kind in one region, among as many of the kind elsewhere, and of other kinds in the region."""

    __slots__ = ()

    version = 4
    opening = text.SURVEY
    golden_shapes = MappingProxyType({64: (8192, 0.0), 256: (20480, 0.0)})
    by_cost: bool
    """Whether rows are asked for in order of cost."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (notes_spec(stratum),)

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return notes that neither state nor mention the kind or the region, in random order."""
        world = survey(row_streams, sample.stratum.tier)
        out = frozenset(world.of_pool(sample.latent["asked"], sample.latent["region"]).tolist())
        spares = Shuffled(row_streams.of("spares"), world.size, out).take(SPARES)
        order = Shuffled(row_streams.of("filler"), world.size, out.union(spares.tolist()))
        return Filler(self.pools(sample.stratum)[0].name, order, spares)

    def drawn(self, dealer: Dealer, wanted: Sequence[float]) -> Drawn:
        """Deal the kind and the region, and draw the buildings asked for, and decoys.

        Of three names that begin with one word, one is asked for, and the others belong to decoys.
        """
        world, rng, note_rng = (
            survey(dealer.row_streams, dealer.stratum.tier),
            dealer.rng("buildings"),
            dealer.rng("notes"),
        )
        places = [(kind, region) for kind in kinds() for region in self.regions(world, dealer.stratum)]
        kind, region = dealer.deal("place", places)
        other_kinds = [one for one in kinds() if one != kind]
        other_regions = [one for one in world.regions if one != region]
        endings = range(len(wordings()["ending"]))
        decoys = round(len(wanted) * float(self.knob(dealer.stratum, "decoys")))
        asked, lines = list[Building](), list[Line]()
        asked_speak, elsewhere_speak, other_kind_speak = (
            _speaking(rng, count) for count in (len(wanted), decoys, decoys)
        )
        for place, word in enumerate(rng.sample(range(OF_ROWS), len(wanted))):
            name, *decoy_names = (world.name(word, ending) for ending in rng.sample(endings, 3))
            asked.append(world.building(rng, name, kind, region, {one.cost for one in asked}))
            text_of = note(note_rng, asked[-1], "region" if asked_speak[place] else "", rng.choice(other_regions))
            lines.append(Line(text_of, "relevant", wanted[place]))
            if place < decoys:
                decoy = world.building(rng, decoy_names[0], kind, rng.choice(other_regions))
                text_of = note(note_rng, decoy, "region" if elsewhere_speak[place] else "", region)
                lines.append(Line(text_of, "decoy", rng.random()))
                decoy = world.building(rng, decoy_names[1], rng.choice(other_kinds), region)
                text_of = note(note_rng, decoy, "kind" if other_kind_speak[place] else "", kind)
                lines.append(Line(text_of, "decoy", rng.random()))
        lines.sort(key=lambda line: line.depth or 0.0)
        table, question = [_row(one) for one in asked], text.LISTED.format(kinds=kinds()[kind], region=region)
        if self.by_cost:
            first = dealer.deal("first", [*text.ORDERS])
            ranked = sorted(asked, key=lambda one: one.cost, reverse=text.ORDERS[first])
            table = [_row(one) for one in ranked]
            question = text.SORTED.format(kinds=kinds()[kind], region=region, first=first)
        shown = {
            "asked": kind,
            "region": region,
            "dealt": {thing: list(dealt) for thing, dealt in dealer.dealt.items()},
            "guesses": self.guesses(
                table, [_row(one) for one in asked], decoys, sum(elsewhere_speak + other_kind_speak)
            ),
        }
        head = "\t".join(text.HEAD)
        return Drawn(text.NOTES_INTRODUCTION, text.NOTES_TAIL, question, (head, *table), lines, shown)

    def regions(self, world: Survey, stratum: Stratum) -> Sequence[str]:
        """Return the regions that a stratum asks about, and strata of other complexities do not."""
        return world.regions[self.complexities.index(stratum.complexity) :: len(self.complexities)]

    def guesses(
        self, table: Sequence[str], in_text_order: Sequence[str], decoys: int, confused: int | None = None
    ) -> dict[str, float]:
        """Return the scores of naive readers.

        They take all buildings of the kind, or all notes that name both kind and region (`confused` of them wrong), or
        stop after some rows. If rows are sorted, one gives them in the order of the text.
        """
        count = len(table)
        scores = {"all_of_the_kind": (count, count + decoys)} if decoys else {}
        if decoys and confused is not None:
            scores["names_both"] = (count, count + confused)
        if count > STOPS_AT:
            scores["first_64"] = (STOPS_AT, STOPS_AT)
        if not self.by_cost:
            return {"uniform": 0.0, **{name: overlap(right, count, size) for name, (right, size) in scores.items()}}
        kept = common_rows([*map(cells_of, table)], [*map(cells_of, in_text_order)])
        rounded = {name: round(right / max(count, size), 6) for name, (right, size) in scores.items()}
        return {"uniform": 0.0, **rounded, "text_order": round(kept / count, 6)}

    def answers(self, text: str) -> tuple[str, ...]:
        return (solve.table_of_notes(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return solve.note_faults(row, float(self.knob(row.stratum, "decoys")))


def _speaking(rng: Random, count: int) -> list[bool]:
    """Draw which of some notes mention something besides what they state."""
    chosen = {*rng.sample(range(count), round(count * MENTIONED))}
    return [place in chosen for place in range(count)]


def _row(building: Building) -> str:
    return "\t".join((building.name, building.builder, str(building.year), str(building.cost)))


class Extract(NotesTask):
    """The rows are in the order of the text."""

    subtask = "extract"
    title = "a table of all buildings of one kind in one region, from notes on many"
    by_cost = False


class Sort(NotesTask):
    """The rows are in the order of their costs."""

    subtask = "sort"
    title = "the same table, sorted by cost"
    by_cost = True

"""longqa.when: the year in which something befell a property, asked in other words than those of the annals.

The question names the property and describes the happening. Other things befell the property too; the same and as many
others befell another property that shares a word of its name; and the same befell two more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.annals import solve as annals_solver
from pipeline.tasks.annals.haystack import PlannedEntry, asked_property
from pipeline.tasks.base import Key, PublishedRow, Sample
from pipeline.tasks.longqa import solve as solver
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import Drawn, LongQa, quiet
from pipeline.worlds.chronicle import Chronicle, happenings, year
from pipeline.worlds.chronicle.entries import FIRST_DAY, LAST_DAY

OTHER_HAPPENINGS = 5
"""Other happenings at the property, and at its twin."""
PROPERTIES_ALIKE = 2
"""Further properties with the same happening."""


class When(LongQa):
    """The year of an event that is described."""

    __slots__ = ()

    subtask = "when"
    version = 8
    drawn_as = "when@6"
    title = "the year of an event at a property, worded differently from the annals"
    reply = text.YEAR
    rules = ""

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw happenings at a property and at others."""
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        kinds, rng = list(happenings()), row_streams.of("told")
        kind = kinds[deal(stratum_streams.of("kind"), stratum.rows, index, len(kinds))]
        day = world.day_at(spread(stratum_streams.of("depth"), stratum.rows, index))
        entries = [PlannedEntry(day, kind, {"prop": prop}, "relevant")]
        same = rng.sample([one for one in world.properties if one not in (prop, twin)], PROPERTIES_ALIKE)
        others = [(one, prop) for one in quiet(rng, OTHER_HAPPENINGS, (kind,))]
        others += [(one, twin) for one in (kind, *quiet(rng, OTHER_HAPPENINGS, (kind,)))]
        others += [(kind, one) for one in same]
        years = {year(day)}
        for other, place in others:  # each in a different year, as a year with more entries would be a tell
            while year(at := world.day_at(rng.random())) in years:
                pass
            years.add(year(at))
            entries.append(PlannedEntry(at, other, {"prop": place}, "decoy"))
        answer = str(year(day))
        question = text.HAPPENED.format(asked=rng.choice(happenings()[kind]).format(prop=prop))
        shown = {"asked": kind, "property": prop, "twin": twin}
        return Drawn(question, Key.accepting(answer), entries, (prop, twin, *same), shown)

    def answers(self, text: str) -> tuple[str, ...]:
        """Find the happening at the property, and return its year."""
        return (annals_solver.year_of(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that exactly one entry answers, and that decoys are about other happenings or other properties."""
        return solver.when_faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of any year of the annals, and of any year with a happening at the property."""
        return {"uniform": 1 / (year(LAST_DAY) - year(FIRST_DAY) + 1), "any_event": 1 / (OTHER_HAPPENINGS + 1)}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind of happening."""
        return {"happening": (sample.latent["asked"], len(happenings()))}

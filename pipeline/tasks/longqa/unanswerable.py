"""longqa.unanswerable: who owned a property on a day, where that was told and where it was not."""

from __future__ import annotations

from pipeline.recipe import Stratum
from pipeline.streams import Streams, spread
from pipeline.tasks.base import Key, Published, Sample, Turns
from pipeline.tasks.longqa import proof, reader, text
from pipeline.tasks.longqa.frame import Drawn, LongQa, Told, asked_property, days_at, quiet, rolls, strewn
from pipeline.tasks.longqa.state import OTHERS, role_of, twins, when
from pipeline.worlds.chronicle import Chronicle
from pipeline.worlds.chronicle.titles import SALE


class Unanswerable(LongQa):
    """Pairs of rows: with the sale that answers (`complexity` 1), and with a happening in its place (0)."""

    __slots__ = ()

    subtask = "unanswerable"
    title = "who owned a property on a day, in pairs of rows with and without the sale that tells"
    scorer = "idk_pair"
    complexities = (0, 1)
    paired = True
    reply = text.MAY_LACK

    def drawn(self, world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Drawn:
        """Draw entries about a property; all of its sales but one come after the day that is asked about."""
        prop, twin = asked_property(world, index, own, shared)
        place = spread(shared.of("depth"), stratum.rows, index)
        rng, many = own.of("history"), OTHERS // 2
        later = sorted(place + (1 - place) * rng.random() for _ in range(many))
        kinds, days = quiet(rng, many + 1), days_at(world, [place, *later])
        told, taken = list[Told](), list[str]()
        for at, day in enumerate(days):
            taken.append(rng.choice([one for one in world.living(day) if one not in taken]))
            stated = at or stratum.complexity
            about = {"prop": prop, "buyer": taken[-1]} if stated else {"prop": prop}
            told.append(Told(day, SALE if stated else kinds[-1], about, role_of(needed=not at)))
        told += [
            Told(day, kind, {"prop": prop}, "decoy") for kind, day in zip(kinds, strewn(world, rng, many), strict=False)
        ]
        asked = range(days[0] + 1, max(days[1], days[0] + 2))
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, asked))
        other = twins(world, own.of("near"), twin, len(told), taken)
        names = [*taken, *(one.about["buyer"] for one in other if one.kind == SALE)]
        told += [*other, *rolls(world, own.of("rolls"), names)]
        forms = (taken[0],) if stratum.complexity else text.REFUSALS
        shown = {"property": prop, "twin": twin, "buyers": taken}
        return Drawn(question, Key(forms[0], forms), told, (prop, twin), shown)

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read whose the property was, or find that nothing tells.

        Raises:
            ValueError: if the text cannot be read.
        """
        found = reader.owned(turns[-1][1], known=False)
        return (found,) if found else text.REFUSALS

    def check(self, row: Published) -> list[str]:
        """Prove that one sale tells whose the property was, or none."""
        return list(proof.pair_faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of who names any buyer, and of who always refuses; no reply is right in both forms."""
        stated = sample.stratum.complexity == 1
        return {"uniform": stated / len(sample.latent["buyers"]), "refusal": float(not stated)}

"""longqa.unanswerable: who owned a property on a day, where that was told and where it was not.

None, one or two earlier sales were set aside, in equal shares, so that the first sale told of seldom answers. Without
the sale that answers nobody is known to have owned the property: who had it before those is not told.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.base import Key, Published, Sample, Turns
from pipeline.tasks.longqa import owners, proof, text
from pipeline.tasks.longqa.frame import Drawn, LongQa, Told, asked_property, buyers, days_at, quiet, rolls, strewn
from pipeline.tasks.longqa.state import role_of, twins, when
from pipeline.worlds.chronicle import Chronicle
from pipeline.worlds.chronicle.titles import SALE, UNDO

LATER = 2
"""Sales after the day asked about, and other things that befell the property."""
UNDONE = 3
"""How many sales may have been set aside before the one that answers: none, one or two."""


class Unanswerable(LongQa):
    """Pairs of rows: with the sale that answers (`complexity` 1), and with a happening in its place (0)."""

    __slots__ = ()

    subtask = "unanswerable"
    title = "who owned a property on a day, in pairs of rows with and without the sale that tells"
    scorer = "idk_pair"
    complexities = (0, 1)
    paired = True
    version = 2
    reply = text.MAY_LACK

    def drawn(self, world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Drawn:
        """Draw entries about a property: sales before the one that tells are set aside, and others come later."""
        prop, twin = asked_property(world, index, own, shared)
        place = spread(shared.of("depth"), stratum.rows, index)
        undone = deal(shared.of("undone"), stratum.rows, index, UNDONE)
        rng, many = own.of("history"), LATER
        before = sorted(place * rng.random() for _ in range(2 * undone))
        later = sorted(place + (1 - place) * rng.random() for _ in range(many))
        quiets, days = quiet(rng, many + 1), days_at(world, [*before, place, *later])
        kinds = [*(SALE, UNDO) * undone, SALE if stratum.complexity else quiets[-1], *[SALE] * many]
        told, taken = list[Told](), dict[str, int]()
        for at, (kind, day) in enumerate(zip(kinds, days, strict=True)):
            about = {"prop": prop}
            if kind != UNDO:
                name = rng.choice([one for one in world.living(day) if one not in taken])
                taken[name] = day
            if kind == SALE:
                about["buyer"] = name
            told.append(Told(day, kind, about, role_of(needed=at == len(before))))
        told += [
            Told(day, kind, {"prop": prop}, "decoy")
            for kind, day in zip(quiets, strewn(world, rng, many), strict=False)
        ]
        start, stop = days[len(before)], days[len(before) + 1]
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, range(start + 1, max(stop, start + 2))))
        other = twins(world, own.of("near"), twin, len(told), [*taken])
        told += [*other, *rolls(world, own.of("rolls"), {**taken, **buyers(other)})]
        forms = ([*taken][undone],) if stratum.complexity else text.REFUSALS
        shown = {"property": prop, "twin": twin, "buyers": [*taken], "undone": undone}
        return Drawn(question, Key(forms[0], forms), told, (prop, twin), shown)

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read whose the property was, or find that nothing tells.

        Raises:
            ValueError: if the text cannot be read.
        """
        found = owners.owned(turns[-1][1], known=False)
        return (found,) if found else text.REFUSALS

    def check(self, row: Published) -> list[str]:
        """Prove that one sale tells whose the property was, or none."""
        return list(proof.pair_faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of who names any buyer, the first, and of who always refuses; no reply is right in both."""
        stated = sample.stratum.complexity == 1
        return {
            "uniform": stated / len(sample.latent["buyers"]),
            "first_buyer": float(stated and not sample.latent["undone"]),
            "refusal": float(not stated),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return how many sales were set aside before the one that tells."""
        return {"sales set aside": (sample.latent["undone"], UNDONE)}

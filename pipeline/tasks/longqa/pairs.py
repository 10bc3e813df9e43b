"""longqa.unanswerable: who owned a property on a day, in pairs of rows with and without the buyer's name.

Both rows have the same history, with the same steps on the same days, and in both one sale does not name its buyer. In
row b it is the sale that is valid on the day; in row a it is another. So only a reader who follows the history can
tell whether the owner is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.annals import solve as annals_solver
from pipeline.tasks.annals.haystack import asked_property
from pipeline.tasks.base import Key, PublishedRow, Sample, Turns
from pipeline.tasks.longqa import solve as solver
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import Drawn, LongQa, rolls
from pipeline.tasks.longqa.steps import without_restoring
from pipeline.tasks.longqa.titles import (
    SALES_AHEAD,
    SHAPES,
    Past,
    Sizes,
    beside,
    buyers,
    like,
    named,
    past,
    shape_of,
    when,
)
from pipeline.worlds.chronicle import Chronicle
from pipeline.worlds.chronicle.world import SALE, UNDO, UNDO2, UNNAMED

SIZES = Sizes(SHAPES[5], SALES_AHEAD[5], range(1, 3))


def other_sale(rng: Random, found: Past, *but: int) -> int:
    """Draw a step that is a sale, other than those in `but`, and before the day if possible."""
    sales = [at for at, (kind, _) in enumerate(found.steps) if kind == SALE and at not in but]
    return rng.choice([at for at in sales if at < found.needed.stop] or sales)


class Unanswerable(LongQa):
    """Pairs of rows: the annals name the owner (`complexity` 1) or do not (0)."""

    __slots__ = ()

    subtask = "unanswerable"
    title = "who owned a property on a day, in pairs of rows with and without the decisive name"
    scorer = "idk_pair"
    complexities = (0, 1)
    paired = True
    version = 7
    drawn_as = "unanswerable@3"
    reply = text.MAY_LACK
    rules = text.TITLES + text.UNNAMED

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw a history, and leave out one buyer's name."""
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        shape = shape_of(stratum_streams, stratum.rows, index, SIZES)
        whole = past(world, row_streams.of("history"), SIZES, SIZES.shapes[shape])
        rng, near, right = row_streams.of("asked"), row_streams.of("near"), whole.needed.start
        wrong = other_sale(rng, whole, right)
        found = whole.unnamed(wrong if stratum.complexity else right)
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, found.asked))
        second = like(world, near, whole, SIZES, whole.buyers)
        second = second.unnamed(other_sale(near, second))
        entries = [*found.entries(prop, found.needed), *second.entries(twin)]
        entries += beside(world, near, prop, [*whole.buyers, *named(entries)])
        entries += beside(world, near, twin, [*whole.buyers, *named(entries)])
        entries += rolls(world, row_streams.of("rolls"), buyers(entries))
        forms = (whole.owner,) if stratum.complexity else text.REFUSALS
        shown = {"property": prop, "twin": twin, "shape": shape, **found.shown}
        return Drawn(question, Key(forms[0], forms), entries, (prop, twin), shown)

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Return the owner, or refusals if the annals do not name them."""
        found = annals_solver.owned(turns[-1][1], known=False)
        return (found,) if found else text.REFUSALS

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that the valid sale names its buyer only in row a, and that relevant entries are needed."""
        return solver.pair_faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of any buyer, and of a constant refusal; no constant reply is right in both rows.

        ``last_before`` takes the last sale before the day, ``last_step`` reads only the last step, and ``no_restoring``
        ignores that sales are restored. Each names the buyer, or refuses if there is no name.
        """
        start, stop = sample.latent["needed"]
        kinds = sample.latent["steps"][:stop]
        sales = [at for at, kind in enumerate(kinds) if kind in (SALE, UNNAMED)]
        back = {UNDO: 2, UNDO2: 3}.get(kinds[-1], 1)
        stated = sample.stratum.complexity == 1
        return {
            "uniform": stated / max(1, len(sample.latent["buyers"])),
            "refusal": float(not stated),
            "last_before": float(sales[-1] == start),
            "last_step": float(back <= len(sales) and sales[-back] == start),
            "no_restoring": float(without_restoring(kinds) == start),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the shape: the number of needed entries, and of sales among them after the owner's."""
        return {"shape": (sample.latent["shape"], len(SIZES.shapes))}

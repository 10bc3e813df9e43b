"""users: the clerks who received messages of two kinds (OOLONG-Pairs: Zhang et al. 2025, Recursive language models)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Sample
from pipeline.tasks.tally import pool, text
from pipeline.tasks.tally.base import Line, TallyTask
from pipeline.tasks.tally.written import dates, misses, told
from pipeline.worlds.utterances import Intent


class Users(TallyTask):
    """Clerks who received a message of each of two kinds; `complexity` is how many there are.

    As many clerks received two messages of the first kind, as many two of the second, as many one of the first and a
    near miss of the second. All of them are clerks of the pool, with other messages as well.
    """

    subtask = "users"
    version = 2
    title = "the clerks who received messages of two kinds"
    scorer = "members"
    max_new_tokens = 128
    complexities = (2, 4, 8)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Deal a kind, and draw another and the clerks."""
        kind = self.drawn(stratum, index, shared, "kind", len(pool.INTENTS))
        intent, rng = pool.INTENTS[kind], own.of("clerks")
        near = [one for one in pool.INTENTS if (one.act == intent.act) != (one.thing == intent.thing)]
        other = rng.choice(near)
        clerks = rng.sample(pool.clerks(own)[0], 4 * stratum.complexity)
        both = clerks[: stratum.complexity]
        latent = {"kind": kind, "other": pool.INTENTS.index(other), "clerks": clerks}
        latent["effective_complexity"] = 2 * stratum.complexity
        relevant = [*_once(own, "first", intent, both), *_once(own, "second", other, both)]
        return self.made(stratum, index, latent, relevant, text.pairing(intent, other), ", ".join(sorted(both)))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put clerks beside them who received two messages of one kind, or a near miss of the second."""
        latent, count = sample.latent, sample.stratum.complexity
        intent, other = pool.INTENTS[latent["kind"]], pool.INTENTS[latent["other"]]
        one, two, three = (latent["clerks"][at * count : (at + 1) * count] for at in (1, 2, 3))
        more = [*_once(own, "one", intent, [*one, *one]), *_once(own, "two", other, [*two, *two])]
        more += _once(own, "three", intent, three)
        rng = own.of("misses")
        missed = [each for each in misses(other, rng, 2 * count) if each[0] != intent][:count]
        more += [
            (date, who, said, what) for date, who, (what, said) in zip(dates(rng, count), three, missed, strict=False)
        ]
        return self.around(sample, more, (intent, other), own, shared)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the first kind that is asked about."""
        return {"kind": (sample.latent["kind"], len(pool.INTENTS))}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of clerks drawn at random, and of all who received a message of either kind."""
        count = sample.stratum.complexity
        return {"uniform": count / pool.CLERKS, "either": 2 * count / (count + 4 * count)}


def _once(own: Streams, purpose: str, intent: Intent, clerks: Sequence[str]) -> list[Line]:
    """Write a message of an intent to each of some clerks."""
    rng = own.of("told", purpose)
    said = zip(dates(rng, len(clerks)), clerks, told(intent, rng, len(clerks)), strict=True)
    return [(date, clerk, message, intent) for date, clerk, message in said]

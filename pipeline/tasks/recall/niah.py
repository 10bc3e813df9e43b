"""Needles in haystacks: values that are filed under keys, among prose, noise or other needles (RULER, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, perm
from typing import Any, Literal

from pipeline.recipe import Knob, Stratum
from pipeline.streams import Streams, spread
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.recall import depths, haystack, niah_keys, niah_proof
from pipeline.tasks.recall import niah_text as text
from pipeline.worlds import needles

Form = Literal["one", "values", "keys"]
ORDER = {"order": ("asked", "text")}
"""Whether the values of a key are wanted in any order, or in that of the text (Yu et al. 2025, Sequential-NIAH)."""
UNLIKE = 3
"""Other keys beside those that are near: RULER has three in niah_multikey_1."""


@dataclass(frozen=True, slots=True)
class Niah(Task):
    """Values are asked for by their keys. `complexity` is the number of needles that the answer needs.

    Args:
        subtask: its name.
        title: what is asked.
        form: ``one`` value of one key, all ``values`` of one key, or those of several ``keys``.
        scorer: ``exact`` for one value, else ``members``.
        haystacks: what the needles may stand in, the default first.
        uuids: whether a key is a UUID, and whether a value is.
        unlike: how many other needles have keys that share nothing with the asked ones.
        near: how many other keys share a word, or the first digits, with each asked one: the default first.
            As many do with each of some keys that are not asked about.
        distractors: how many other things may be filed under each key: the default first.
    """

    subtask: str
    title: str
    form: Form = "one"
    scorer: str = "exact"
    haystacks: tuple[str, ...] = ("essay", "addresses")
    uuids: tuple[bool, bool] = (False, False)
    unlike: int = 0
    near: tuple[int, ...] = (4, 0, 16)
    distractors: tuple[int, ...] = (1, 0, 4)
    complexities: tuple[int, ...] = (1,)

    family = "recall"
    version = 2
    max_new_tokens = 128
    shortest = 2048

    @property
    def knobs(self) -> Mapping[str, tuple[Any, ...]]:  # type: ignore[override]
        """What the form and the haystack leave open."""
        several = {"near": self.near, "distractors": self.distractors, "haystack": self.haystacks}
        own: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
            "one": {**depths.DEPTH, **depths.CROSSED},
            "values": ORDER,
            "keys": {},
        }
        return {
            **{name: values for name, values in several.items() if len(values) > 1},
            **({"haystack_order": haystack.ORDER} if self.haystacks[0] in haystack.PROSE else {}),
            **own[self.form],
        }

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of the haystack."""
        return (haystack.spec(self._haystack(stratum), stratum),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw the asked keys with their values, and what is to be mistaken for them."""
        own, form = depths.shared_by_six(stratum, index, own, shared), self._form(stratum)
        keys = self._keys(stratum, own)
        several = self.form == "values"
        counts = niah_keys.counts(keys, stratum.complexity) if several else [1] * len(keys.all)
        filed = [(text.CODE, key) for key, count in zip(keys.all, counts, strict=True) for _ in range(count)]
        others = own.of("others").sample(text.OTHERS, self._number("distractors", stratum))
        filed += [(thing, key) for thing in others for key in keys.all]
        values = self._values(len(filed), own)
        lines = [
            text.needle(key, value, thing, text.ONE if several and thing == text.CODE else text.THE)
            for (thing, key), value in zip(filed, values, strict=True)
        ]
        answer = ", ".join(self._in_order(values[: stratum.complexity], stratum, index, shared))
        latent: dict[str, Any] = {"keys": keys.asked, "decoys": lines[stratum.complexity :]}
        if self.form == "one":
            latent["depth"] = depths.depth(stratum, index, shared)
        question = text.asking(form, keys.asked)
        return Sample("", stratum, index, latent, tuple(lines[: stratum.complexity]), question, Key(answer, (answer,)))

    def _in_order(self, values: Sequence[str], stratum: Stratum, index: int, shared: Streams) -> list[str]:
        """Return values in the order of the key: that of the question, of the text, or any where none is asked for."""
        if self._form(stratum) != "ordered":
            return sorted(values) if self.form == "values" else [*values]
        wanted = [*_spread(stratum, index, len(values), shared)]
        return [values[place] for place in sorted(range(len(values)), key=wanted.__getitem__)]

    def _form(self, stratum: Stratum) -> str:
        """Return the form in which a stratum asks: that of the task, or values in the order of the text."""
        in_order = self.form == "values" and stratum.knob("order", ORDER["order"][0]) == "text"
        return "ordered" if in_order else self.form

    def scorer_of(self, stratum: Stratum) -> str:
        """Return the scorer: values in the order of the text are judged as the nodes of a route are."""
        return "route" if self._form(stratum) == "ordered" else self.scorer

    def _keys(self, stratum: Stratum, own: Streams) -> niah_keys.Keys:
        """Draw the asked keys, and those that are to be mistaken for them."""
        near = self._number("near", stratum)
        if self.uuids[0]:
            return niah_keys.draw_uuids(own.of("keys"), near)
        return niah_keys.draw(own.of("keys"), self._asked(stratum), near, self.unlike)

    def _asked(self, stratum: Stratum) -> int:
        """Return how many keys are asked about."""
        return stratum.complexity if self.form == "keys" else 1

    def _alike(self, stratum: Stratum) -> int:
        """Return how many keys have the form of an asked one, itself among them."""
        near, several = self._number("near", stratum), self.form == "values"
        return niah_keys.alike(self._asked(stratum), near, self.unlike, uuids=self.uuids[0], several=several)

    def _values(self, count: int, own: Streams) -> list[str]:
        rng = own.of("values")
        if self.uuids[1]:
            return [needles.draw_uuid(rng) for _ in range(count)]
        return needles.draw_values(own, rng, count)

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put a single needle at its depth, several anywhere, each uniform over the stratum; decoys anywhere."""
        stratum, form = sample.stratum, self._form(sample.stratum)
        own = depths.shared_by_six(stratum, sample.index, own, shared)
        rng, spread_out = own.of("depths"), _spread(stratum, sample.index, len(sample.relevant), shared)
        placed = [
            Placed(unit(line, "relevant"), sample.latent["depth"] if self.form == "one" else wanted)
            for line, wanted in zip(sample.relevant, spread_out, strict=True)
        ]
        placed += [Placed(unit(line, "decoy"), rng.random()) for line in sample.latent["decoys"]]
        name = self._haystack(stratum)
        return Layout(
            head=(Piece(text.head(name, form), "instruction"),),
            placed=tuple(placed),
            filler=haystack.filler(name, stratum, own, _keys_of(sample)),
            tail=(Piece(text.tail(form, sample.question), "question"),),
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read every needle, and look up what is asked for.

        Raises:
            ValueError: if the question cannot be read, or a key has no value, or more than one where one is asked.
        """
        return (niah_proof.solve(turns[-1][1], self.form),)

    def check(self, row: Published) -> list[str]:
        """Prove that keys and values are unique, marks right, and decoys as near and as many as promised."""
        promised = {name: self._number(name, row.stratum) for name in ("near", "distractors")}
        promised["alike"] = self._alike(row.stratum)
        return list(niah_proof.faults(row, self._haystack(row.stratum), self._form(row.stratum), **promised))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and what is said without the question: the values of one line or key, or all.

        A line or key is one of those with the form of what is asked about; in a haystack without other keys it is any.
        Where the order counts, it is what all the right values score in random order.
        """
        count, alike = len(sample.relevant), self._alike(sample.stratum)
        if self._form(sample.stratum) == "ordered":
            return {"uniform": 0.0, "any_order": fsum(1 / perm(count, right) for right in range(1, count + 1)) / count}
        if self.form != "one":
            codes = count + sum(text.CODE in line for line in sample.latent["decoys"])
            listed = {"uniform": 0.0, "all_codes": 2 * count / (count + codes)}
            return listed if self.form == "keys" else {**listed, "any_like": 1 / alike}
        first = depths.first_line(sample.latent["depth"])
        lines = 1 + len(sample.latent["decoys"])
        guess = {"any_line": 1 / lines} if alike == 1 else {"any_like": 1 / alike}
        return {"uniform": 0.0, **guess, "first_line": first}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the point of the grid that a single needle stands at."""
        return depths.dealt(sample.latent["depth"], sample.stratum) if self.form == "one" else {}

    def _number(self, name: str, stratum: Stratum) -> int:
        return int(self._knob(name, stratum))

    def _haystack(self, stratum: Stratum) -> str:
        return str(self._knob("haystack", stratum, "haystacks"))

    def _knob(self, name: str, stratum: Stratum, field: str = "") -> Knob:
        default: Knob = getattr(self, field or name)[0]
        return stratum.knob(name, default)


def _keys_of(sample: Sample) -> list[str]:
    """Return the keys of all lines written for a row."""
    return [one.key for one in text.read_needles("".join([*sample.relevant, *sample.latent["decoys"]]))]


def _spread(stratum: Stratum, index: int, count: int, shared: Streams) -> Iterator[float]:
    for number in range(count):
        yield spread(shared.of("depth", number), stratum.rows, index)


NIAH = (
    Niah("niah_s1", "the number filed under one key, in a haystack of noise", haystacks=("noise",), near=(0,)),
    Niah("niah_s2", "the number filed under one key, in a haystack of prose", near=(0,)),
    Niah("niah_s3", "the UUID filed under one key, in a haystack of prose", near=(0,), uuids=(False, True)),
    Niah("niah_mk1", "the number filed under one key of several, in a haystack of prose", unlike=UNLIKE),
    Niah(
        "niah_mk2",
        "the number filed under one key, in a haystack of such lines",
        haystacks=("words",),
        distractors=(0,),
    ),
    Niah(
        "niah_mk3",
        "the UUID filed under one UUID, in a haystack of such lines",
        haystacks=("uuids",),
        uuids=(True, True),
        distractors=(0,),
    ),
    Niah(
        "niah_mv",
        "all numbers filed under one key, in a haystack of prose",
        form="values",
        scorer="members",
        complexities=(2, 4, 8),
    ),
    Niah(
        "niah_mq",
        "the numbers filed under several keys, in a haystack of prose",
        form="keys",
        scorer="members",
        complexities=(2, 4, 8),
    ),
)

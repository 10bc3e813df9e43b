"""Needles in haystacks: values filed under keys, among prose, noise or other needles (RULER, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import fsum, perm
from random import Random
from typing import Any, Literal

from pipeline.recipe import Knob, Stratum
from pipeline.streams import Streams, spread
from pipeline.tasks import grid
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    PublishedRow,
    Sample,
    Task,
)
from pipeline.tasks.haystacks.filler import (
    addresses,
    addresses_spec,
    documents,
    documents_spec,
    essays_spec,
    noise,
    noise_spec,
    prose,
)
from pipeline.tasks.recall import base, niah_solve
from pipeline.tasks.recall import niah_text as text
from pipeline.worlds import needles

STEM = 8
"""Hexadecimal digits that near UUIDs share."""
RIVALS = 2
"""Words of a grid beyond those of the asked keys."""
STEMS = 2
"""Groups of UUIDs, each with its own first digits."""
FULL = 4
"""How many keys have as many values as the asked one, itself included; the others have half as many."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a prompt: the `asked` ones, those `like` them, and those that share nothing with any other."""

    asked: Sequence[str]
    like: Sequence[str]
    unlike: Sequence[str] = ()

    @property
    def all(self) -> list[str]:
        """Every key, the asked ones first."""
        return [*self.asked, *self.like, *self.unlike]


def draw(
    streams: Streams, asked: int, near: int, unlike: int, first: needles.Key | None = None, *, coded: bool = False
) -> Keys:
    """Draw keys made of words; all keys of a grid have equally many near keys.

    Args:
        streams: the row's streams.
        asked: how many keys are asked about; no two share a word.
        near: how many keys share a word with each; if 0, there is no grid.
        unlike: how many more keys there are that share no word with any.
        first: the asked key, if it is the only one and given. Such a grid has all pairs of its words.
        coded: whether keys are spelled as codes.
    """
    rng, size, degree = streams.of("keys"), grid_size(asked, near), near // 2 + 1
    grid, unrelated = needles.draw_grid(rng, size, degree, unlike, first)
    if first is None:
        rng.shuffle(grid)
    rows = rng.sample(range(size), asked) if first is None else [0]
    asked_keys = [grid[0][row] for row in rows]
    like = [key for step in grid for key in step if key not in asked_keys]
    rng.shuffle(like)
    return Keys(*([key.spelled(streams, coded=coded) for key in group] for group in (asked_keys, like, unrelated)))


def draw_uuids(rng: Random, near: int) -> Keys:
    """Draw UUIDs; if some are near the asked one, a second group of equal size shares other first digits."""
    groups = STEMS if near else 1
    stems = [needles.stem_of(needles.draw_uuid(rng), STEM) for _ in range(groups)]
    asked, *like = [needles.draw_uuid(rng, stem) for stem in stems for _ in range(near + 1)]
    return Keys([asked], like)


def grid_size(asked: int, near: int) -> int:
    """Return how many adjectives a grid has, and how many nouns."""
    return max(near // 2 + 1, asked + RIVALS) if near else asked


def counts(keys: Keys, values: int) -> list[int]:
    """Return how many values each key has, in the order of `Keys.all`, where one key is asked about.

    Some other keys have as many, and more have half as many.
    """
    sizes = [values] * FULL + [max(1, values // 2)] * len(keys.like)
    return sizes[: len(keys.all)]


def alike(asked: int, near: int, unlike: int, *, uuids: bool, several: bool) -> int:
    """Return how many keys look like an asked one: as many near keys and values, and the same other things.

    Args:
        asked: how many keys are asked about.
        near: how many keys are near to each.
        unlike: how many keys are near to none.
        uuids: whether keys are UUIDs.
        several: whether the asked key has several values.
    """
    if not near:
        return asked + unlike
    if uuids:
        return STEMS * (near + 1)
    return FULL if several else grid_size(asked, near) * (near // 2 + 1)


SPECS = {"essay": essays_spec, "addresses": addresses_spec, "noise": noise_spec}
PROSE = {"essay": prose, "addresses": addresses}
AMONG_NEEDLES = ("words", "uuids")
"""Haystacks made of lines like the asked one."""
HAYSTACK_ORDER = ("coherent", "shuffled")
"""Whether the paragraphs of prose come as written or in random order (Hong et al. 2025, Context rot)."""


def spec(name: str, stratum: Stratum) -> PoolSpec:
    """Return the pool of a haystack: of prose, noise, or needles of ``words`` or ``uuids``."""
    return SPECS[name](stratum) if name in SPECS else base.spec(name, stratum.tier)


def filler(name: str, stratum: Stratum, row_streams: Streams, keys: Iterable[str] = ()) -> Filler:
    """Return a row's filler from a haystack, without the entries of some keys."""
    if name in PROSE:
        return PROSE[name](
            row_streams, stratum, shuffled=stratum.knob("haystack_order", HAYSTACK_ORDER[0]) == "shuffled"
        )
    if name == "noise":
        return noise(row_streams, stratum)
    return base.filler(
        name, stratum.tier, row_streams, needles.places(row_streams, keys) if name == "words" else frozenset()
    )


Form = Literal["one", "values", "keys"]
ORDER = {"order": ("asked", "text")}
"""Whether the values of a key are wanted in any order or in the text's (Yu et al. 2025, Sequential-NIAH)."""
UNLIKE = 3
"""Other keys besides the near ones: RULER has three in niah_multikey_1."""


@dataclass(frozen=True, slots=True)
class Niah(Task):
    """Values are asked for by their keys. `complexity` is the number of needles that the answer needs.

    Args:
        subtask: its name.
        title: what is asked.
        form: ``one`` value of one key, all ``values`` of one key, or those of several ``keys``.
        scorer: ``exact`` for one value, else ``members``.
        haystacks: the haystacks to choose from, the default first.
        uuids: whether a key is a UUID, and whether a value is.
        unlike: how many other needles have keys that share nothing with the asked ones.
        near: how many other keys share a word, or the first digits, with each asked one: the default first.
            Some keys that are not asked about have as many near keys each.
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
    version = 3
    max_new_tokens = 128
    shortest = 2048

    @property
    def knobs(self) -> Mapping[str, tuple[Any, ...]]:  # type: ignore[override]
        """The knobs that the form and the haystack leave open."""
        several = {"near": self.near, "distractors": self.distractors, "haystack": self.haystacks}
        by_form: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
            "one": {**grid.DEPTH, **grid.CROSSED},
            "values": ORDER,
            "keys": {},
        }
        return {
            **{name: values for name, values in several.items() if len(values) > 1},
            **({"haystack_order": HAYSTACK_ORDER} if self.haystacks[0] in PROSE else {}),
            **by_form[self.form],
        }

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec(self._haystack(stratum), stratum),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw the asked keys with their values, and decoys."""
        row_streams, form = grid.shared_by_six(stratum, index, row_streams, stratum_streams), self._form(stratum)
        keys = self._keys(stratum, grid.question(stratum, index), row_streams)
        several = self.form == "values"
        each = counts(keys, stratum.complexity) if several else [1] * len(keys.all)
        code, rest = self._things()
        filed = [(code, key) for key, count in zip(keys.all, each, strict=True) for _ in range(count)]
        distractors = row_streams.of("others").sample(rest, self._number("distractors", stratum))
        filed += [(thing, key) for thing in distractors for key in keys.all]
        values = self._values(len(filed), row_streams)
        lines = [self._line(thing, key, value) for (thing, key), value in zip(filed, values, strict=True)]
        answer = ", ".join(self._in_order(values[: stratum.complexity], stratum, index, stratum_streams))
        latent: dict[str, Any] = {"keys": keys.asked, "decoys": lines[stratum.complexity :]}
        if self.form == "one":
            latent["depth"] = grid.depth(stratum, index, stratum_streams)
        question = self._question(form, keys.asked)
        return Sample("", stratum, index, latent, tuple(lines[: stratum.complexity]), question, Key.accepting(answer))

    def _things(self) -> tuple[str, Sequence[str]]:
        """Return the thing that is asked for, and others that may be filed."""
        return text.CODE, text.OTHERS

    def _line(self, thing: str, key: str, value: str) -> str:
        several = self.form == "values" and thing == text.CODE
        return text.needle(key, value, thing, text.ONE if several else text.THE)

    def _question(self, form: str, keys: Sequence[str]) -> str:
        return text.asking(form, keys)

    def _ends(self, haystack: str, form: str, question: str) -> tuple[str, str]:
        """Return what precedes the text and what follows it."""
        return text.head(haystack, form), text.tail(form, question)

    def _filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return the haystack."""
        return filler(self._haystack(sample.stratum), sample.stratum, row_streams, _keys_of(sample))

    def _in_order(self, values: Sequence[str], stratum: Stratum, index: int, stratum_streams: Streams) -> list[str]:
        """Return values in the order of the key: the question's, the text's, or sorted if any order is accepted."""
        if self._form(stratum) != "ordered":
            return sorted(values) if self.form == "values" else [*values]
        wanted = [*_spread(stratum, index, len(values), stratum_streams)]
        return [values[place] for place in sorted(range(len(values)), key=wanted.__getitem__)]

    def _form(self, stratum: Stratum) -> str:
        """Return the form in which a stratum asks: the task's, or ``ordered`` for values in the order of the text."""
        in_order = self.form == "values" and stratum.knob("order", ORDER["order"][0]) == "text"
        return "ordered" if in_order else self.form

    def scorer_of(self, stratum: Stratum) -> str:
        """Return the scorer: values in the order of the text are scored like the nodes of a route."""
        return "route" if self._form(stratum) == "ordered" else self.scorer

    def _keys(self, stratum: Stratum, question: int, row_streams: Streams) -> Keys:
        """Draw the asked keys and their near keys; in a cell, no key is asked about alone twice."""
        near = self._number("near", stratum)
        if self.uuids[0]:
            return draw_uuids(row_streams.of("keys"), near)
        first = None
        if self.form != "keys":
            number = question * len(self.complexities) + self.complexities.index(stratum.complexity)
            first = needles.asked_key(
                row_streams, self.twin or self.subtask, stratum.tier, stratum.length, number=number
            )
        return draw(row_streams, self._asked(stratum), near, self.unlike, first, coded=bool(self.languages))

    def _asked(self, stratum: Stratum) -> int:
        return stratum.complexity if self.form == "keys" else 1

    def _alike(self, stratum: Stratum) -> int:
        """Return how many keys have the form of an asked one, including itself."""
        near, several = self._number("near", stratum), self.form == "values"
        return alike(self._asked(stratum), near, self.unlike, uuids=self.uuids[0], several=several)

    def _values(self, count: int, row_streams: Streams) -> list[str]:
        rng = row_streams.of("values")
        if self.uuids[1]:
            return [needles.draw_uuid(rng) for _ in range(count)]
        return needles.draw_values(row_streams, rng, count)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put a single needle at its depth, and each of several uniformly over the stratum; decoys go anywhere."""
        stratum, form = sample.stratum, self._form(sample.stratum)
        row_streams = grid.shared_by_six(stratum, sample.index, row_streams, stratum_streams)
        rng, spread_out = (
            row_streams.of("depths"),
            _spread(stratum, sample.index, len(sample.relevant), stratum_streams),
        )
        placed = [
            Placed.line(line, "relevant", sample.latent["depth"] if self.form == "one" else wanted)
            for line, wanted in zip(sample.relevant, spread_out, strict=True)
        ]
        placed += [Placed.line(line, "decoy", rng.random()) for line in sample.latent["decoys"]]
        head, tail = self._ends(self._haystack(stratum), form, sample.question)
        return Layout(
            head=(Piece(head, "instruction"),),
            placed=tuple(placed),
            filler=self._filler(sample, row_streams),
            tail=(Piece(tail, "question"),),
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return (niah_solve.solve(text, self.form),)

    def check(self, row: PublishedRow) -> list[str]:
        return list(niah_solve.faults(row, self._haystack(row.stratum), self._form(row.stratum), **self._promised(row)))

    def _promised(self, row: PublishedRow) -> dict[str, int]:
        """Return how many near keys, other things and keys of one form the proof should find."""
        promised = {name: self._number(name, row.stratum) for name in ("near", "distractors")}
        return {**promised, "alike": self._alike(row.stratum)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and scores of replies without the question: values of one line or key, or all.

        The line or key is one with the form of an asked one. In a haystack without other keys it is any line, and the
        only access code is the answer. Where the order counts, the reply is all the right values in random order.
        """
        count, alike = len(sample.relevant), self._alike(sample.stratum)
        if self._form(sample.stratum) == "ordered":
            return {"uniform": 0.0, "any_order": fsum(1 / perm(count, right) for right in range(1, count + 1)) / count}
        if self.form != "one":
            code, _ = self._things()
            codes = count + sum(code in line for line in sample.latent["decoys"])
            listed = {"uniform": 0.0, "all_codes": 2 * count / (count + codes)}
            return listed if self.form == "keys" else {**listed, "any_like": 1 / alike}
        first = grid.first_line(sample.latent["depth"])
        lines = 1 + len(sample.latent["decoys"])
        guess = {"any_like": 1 / alike}
        if alike == 1:
            among_needles = self._haystack(sample.stratum) in AMONG_NEEDLES
            guess = {} if among_needles else {"any_line": 1 / lines, "any_code": 1.0}
        return {"uniform": 0.0, **guess, "first_line": first}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        return grid.dealt(sample.latent["depth"], sample.stratum) if self.form == "one" else {}

    def _number(self, name: str, stratum: Stratum) -> int:
        return int(self._knob(name, stratum))

    def _haystack(self, stratum: Stratum) -> str:
        return str(self._knob("haystack", stratum, "haystacks"))

    def _knob(self, name: str, stratum: Stratum, field: str = "") -> Knob:
        default: Knob = getattr(self, field or name)[0]
        return stratum.knob(name, default)


def _keys_of(sample: Sample) -> list[str]:
    """Return the keys of all lines written for a row."""
    return [one.key for one in niah_solve.read_needles("".join([*sample.relevant, *sample.latent["decoys"]]))]


def _spread(stratum: Stratum, index: int, count: int, stratum_streams: Streams) -> Iterator[float]:
    for number in range(count):
        yield spread(stratum_streams.of("depth", number), stratum.rows, index)


NIAH = (
    Niah("niah_s1", "the number filed under one key, in noise", haystacks=("noise",), near=(0,)),
    Niah("niah_s2", "the number filed under one key, in prose", near=(0,)),
    Niah("niah_s3", "the UUID filed under one key, in prose", near=(0,), uuids=(False, True)),
    Niah("niah_mk1", "the number filed under one key of several, in prose", unlike=UNLIKE),
    Niah(
        "niah_mk2",
        "the number filed under one key, among other lines of the same form",
        haystacks=("words",),
        distractors=(0,),
    ),
    Niah(
        "niah_mk3",
        "the UUID filed under one UUID, among other lines of the same form",
        haystacks=("uuids",),
        uuids=(True, True),
        distractors=(0,),
    ),
    Niah(
        "niah_mv",
        "all numbers filed under one key, in prose",
        form="values",
        scorer="members",
        complexities=(2, 4, 8),
    ),
    Niah(
        "niah_mq",
        "the numbers filed under several keys, in prose",
        form="keys",
        scorer="members",
        complexities=(2, 4, 8),
    ),
)


CORPUS = CorpusKnob("a corpus's SHA-256", frozenset({"documents"}))
OWN = "own"
"""The haystack of a user's documents, in addition to those of `niah_text`."""


@dataclass(frozen=True, slots=True)
class InProse(Niah):
    """A task with needles in prose or, with the knob ``corpus``, in a user's own documents."""

    corpora: str = ""
    """The folder of frozen corpora."""

    @property
    def version(self) -> int:  # type: ignore[override]
        """The version: that of other haystacks, plus changes of the essays and of what is said about replies."""
        return Niah.version + (1 if self.form == "one" else 2)

    @property
    def drawn_as(self) -> str:  # type: ignore[override]
        """The version that other haystacks have: what is drawn has not changed since."""
        return f"{self.subtask}@{Niah.version}"

    @property
    def knobs(self) -> Mapping[str, tuple[Any, ...] | CorpusKnob]:  # type: ignore[override]
        """The knobs that the form leaves open, and a corpus by its digest."""
        return {**Niah.knobs.fget(self), "corpus": CORPUS}  # type: ignore[attr-defined]

    def with_corpora(self, corpora: str) -> InProse:
        return replace(self, corpora=corpora)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        if stratum.knob("corpus", ""):
            return (documents_spec(stratum, self.corpora),)
        return Niah.pools(self, stratum)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Lay the needles out among prose, or among the documents of a corpus."""
        stratum = sample.stratum
        if not stratum.knob("corpus", ""):
            return Niah.layout(self, sample, row_streams, stratum_streams)
        plain = tuple((name, value) for name, value in stratum.knobs if name not in ("corpus", "haystack"))
        among_noise = replace(self, haystacks=("noise",))
        laid = Niah.layout(
            among_noise, replace(sample, stratum=replace(stratum, knobs=plain)), row_streams, stratum_streams
        )
        shuffled = stratum.knob("haystack_order", HAYSTACK_ORDER[0]) == "shuffled"
        head = laid.head[0].text.replace(text.HAYSTACKS["noise"], text.HAYSTACKS[OWN])
        return replace(
            laid,
            head=(Piece(head, "instruction"),),
            filler=documents(row_streams, stratum, self.corpora, shuffled=shuffled),
        )

    def _haystack(self, stratum: Stratum) -> str:
        return OWN if stratum.knob("corpus", "") else Niah._haystack(self, stratum)


def in_documents(task: Niah) -> Niah:
    """Return a task in prose as one that also takes a user's documents; return others unchanged."""
    if task.haystacks[0] not in PROSE:
        return task
    return InProse(**{each.name: getattr(task, each.name) for each in fields(task)})

"""Proofs: every row re-counted by a second encoder and re-solved from its text, from the bytes on disk.

A shard that holds gets a proof beside it; the manifest of a profile is made of the proofs of all its shards. A shard
that does not hold is moved aside, so that the next build makes it again and only it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.build import PackJob, SampleJob, draw_sample, read_samples, sample_is_done
from pipeline.errors import CarraraError, CorruptError
from pipeline.joining import conversation
from pipeline.marks import mark_faults
from pipeline.plan import Plan
from pipeline.profiles import Counter, Profile
from pipeline.prompts import bucket, shots_of
from pipeline.recipe import Stratum
from pipeline.rows import DATA_SCHEMA, KEYS_SCHEMA, Row, row_digest, sha256_text
from pipeline.shards import content_key, file_digest, is_done, put_aside, read_rows, written_aside
from pipeline.tasks import task_of
from pipeline.tasks.base import Key, Needle, Published, Sample

SLOW_SAMPLE = 16
"""One row in so many, of which `build` counts the needles, and all of it where the second counter is slow; `verify`
counts all."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was seen to hold of one shard. `tokens` are context tokens; `recounted` rows by the `second` encoder."""

    shard: str
    key: str
    rows: int
    tokens: int
    prompt_tokens: int
    fewest_tokens: int
    most_tokens: int
    solved: int
    recounted: int
    counter: str
    second: str
    row_digest: str
    data_bytes: int
    data_sha256: str
    keys_bytes: int
    keys_sha256: str


@dataclass(frozen=True, slots=True)
class ProveJob:
    """Prove one shard; `full` re-counts every row also where that is slow, and trusts no earlier proof."""

    pack: PackJob
    full: bool = False

    @property
    def path(self) -> Path:
        """The file of the proof."""
        return self.pack.proof


def read_proof(job: ProveJob) -> Proof | None:
    """Return the proof of a shard if it is of this plan's content and the files still have its sizes."""
    try:
        proof = Proof(**json.loads(job.path.read_text(encoding="ascii")))
        sizes = (job.pack.data.stat().st_size, job.pack.keys.stat().st_size)
    except (OSError, ValueError, TypeError):
        return None
    whole = is_done(job.pack.data, job.pack.shard.key) and is_done(job.pack.keys, job.pack.shard.key)
    return (
        proof if whole and proof.key == job.pack.shard.key and sizes == (proof.data_bytes, proof.keys_bytes) else None
    )


def run_prove(job: ProveJob) -> Proof:
    """Prove a shard and write its proof; what does not hold is moved aside.

    Raises:
        CorruptError: naming the file and, where it can be told, the row and what is wrong with it.
    """
    known = read_proof(job)
    if known and not job.full:
        return known
    witness = Witness(job.pack.plan, job.pack.shard.profile, full=job.full)  # a missing engine is no fault of a shard
    try:
        proof = _proved(job, known, witness)
    except (CarraraError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
        _put_aside(job)
        said = str(fault) if isinstance(fault, CarraraError) else f"{str(job.pack.data)!r} holds no rows ({fault!r})"
        raise CorruptError(f"{said}: what is there is moved aside, build makes it again") from fault
    with written_aside(job.path) as aside:
        aside.write_text(json.dumps(asdict(proof), indent=1, sort_keys=True) + "\n", encoding="ascii")
    return proof


def _put_aside(job: ProveJob) -> None:
    put_aside(job.pack.data)
    put_aside(job.pack.keys)
    job.path.unlink(missing_ok=True)
    _unseal(job.pack.plan.out / job.pack.shard.profile / "manifest.json", job.pack.shard.tier)


def _unseal(path: Path, tier: str) -> None:
    """Take a tier out of a manifest; one that is broken, or holds no other, goes altogether."""
    try:
        manifest = json.loads(path.read_text(encoding="ascii"))
        left = {name: kept for name, kept in manifest["tiers"].items() if name != tier}
        totals = {name: sum(kept["totals"][name] for kept in left.values()) for name in manifest["totals"]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        left, totals, manifest = {}, {}, {}
    if not left:
        path.unlink(missing_ok=True)
        return
    with written_aside(path) as aside:
        text = json.dumps({**manifest, "tiers": left, "totals": totals}, indent=1)
        aside.write_text(text + "\n", encoding="ascii")


def _proved(job: ProveJob, known: Proof | None, witness: Witness) -> Proof:
    pack = job.pack
    for path in (pack.data, pack.keys):
        if not path.exists():
            raise CorruptError(f"{str(path)!r} is missing")
        if content_key(path) != pack.shard.key:
            raise CorruptError(f"{str(path)!r} is not the file that this recipe makes")
    data_sha256, keys_sha256 = file_digest(pack.data), file_digest(pack.keys)
    if known and (data_sha256, keys_sha256) != (known.data_sha256, known.keys_sha256):
        changed = pack.data if data_sha256 != known.data_sha256 else pack.keys
        raise CorruptError(f"{str(changed)!r} has other bytes than were proven")
    digest = row_digest(witness.rows(pack.data, pack.keys, _samples(job)))
    if witness.seen != pack.shard.rows:
        raise CorruptError(f"{str(pack.data)!r} holds {witness.seen} rows in place of {pack.shard.rows}")
    return Proof(
        shard=pack.shard.name,
        key=pack.shard.key,
        rows=witness.seen,
        tokens=witness.tokens,
        prompt_tokens=witness.prompt_tokens,
        fewest_tokens=witness.fewest,
        most_tokens=witness.most,
        solved=witness.seen,
        recounted=witness.recounted,
        counter=witness.profile.counter().name,
        second=witness.second.name if witness.second else "none",
        row_digest=digest,
        data_bytes=pack.data.stat().st_size,
        data_sha256=data_sha256,
        keys_bytes=pack.keys.stat().st_size,
        keys_sha256=keys_sha256,
    )


def _samples(job: ProveJob) -> Iterator[Sample]:
    """Return the samples that a shard's rows must be cut from; a full proof trusts no file and draws them again."""
    plan, shard = job.pack.plan, job.pack.shard
    if not job.full and sample_is_done(SampleJob(plan, shard.family)):
        return read_samples(plan, shard.family, shard.start, shard.stop)
    return (draw_sample(plan, row) for row in plan.rows(shard.family)[shard.start : shard.stop])


class Witness:
    """Reads the rows of one shard and testifies to each."""

    def __init__(self, plan: Plan, profile: str, *, full: bool) -> None:
        self.plan, self.full = plan, full
        self.profile: Profile = next(item for item in plan.profiles if item.name == profile)
        self.second: Counter | None = self.profile.second()
        self.cells = {cell_place(cell): cell for cell in plan.recipe.strata}
        self.seen = self.recounted = self.tokens = self.prompt_tokens = self.most = 0
        self.fewest = 1 << 62

    def rows(self, data: Path, keys: Path, samples: Iterator[Sample]) -> Iterator[Row]:
        """Yield every row of a shard, proven.

        Raises:
            CorruptError: naming the row and what is wrong with it.
        """
        for row, key in zip(read_rows(data), read_rows(keys), strict=True):
            sample = next(samples, None)
            faults = [*self.faults(row), *sample_faults(row, sample)]
            if sample and not faults:
                count = self.full or not self.seen % SLOW_SAMPLE
                faults += mark_faults(row, sample, self.plan, self.profile, count=count)
            if {name: row.get(name) for name in KEYS_SCHEMA.names} != key:
                faults.append("its key differs in the keys file")
            if faults:
                raise CorruptError(f"{str(data)!r}, row {row.get('id')!r}: {'; '.join(faults)}")
            self._tally(row)
            yield row

    def _tally(self, row: Row) -> None:
        self.seen += 1
        self.tokens += row["context_tokens"]
        self.prompt_tokens += row["prompt_tokens"]
        self.fewest, self.most = min(self.fewest, row["context_tokens"]), max(self.most, row["context_tokens"])

    def faults(self, row: Row) -> list[str]:
        """Return everything that is wrong with a row."""
        if list(row) != DATA_SCHEMA.names:
            return [f"its columns are {list(row)}"]
        cell = self.cells.get((row["family"], row["subtask"], row["length"], row["complexity"]))
        if cell is None:
            return ["its stratum is not in the recipe"]
        return [*self.label_faults(row, cell), *self.count_faults(row), *answer_faults(row, cell)]

    def label_faults(self, row: Row, cell: Stratum) -> Iterator[str]:
        """Hold the columns that a row's stratum and profile decide to what they should be."""
        task = task_of(cell)
        wanted = {
            "tier": cell.tier,
            "bucket": bucket(cell.length),
            "tokenizer": self.profile.name,
            "frame": self.plan.recipe.frame,
            "scorer": task.scorer,
            "task_version": task.version,
            "context_tokens": self.profile.window(cell.length),
            "max_new_tokens": self.plan.recipe.reserve or task.max_new_tokens,
            "template_tokens": self.profile.overhead([role for role, _ in turns_of(row)], self.plan.recipe.frame),
            "shots": shots_of(task, cell),
        }
        for name, value in wanted.items():
            if row[name] != value:
                yield f"{name} is {row[name]!r} in place of {value!r}"

    def count_faults(self, row: Row) -> Iterator[str]:
        """Hold the row to the identity of tokens, counted in what is really sent by the second encoder."""
        counted = row["prompt_tokens"] + row["template_tokens"] + row["max_new_tokens"]
        if counted != row["context_tokens"]:
            yield f"its parts add up to {counted} of {row['context_tokens']} context tokens"
        slow = self.profile.second_is_slow and not self.full
        if slow and self.seen % SLOW_SAMPLE:
            return
        counter = self.second or self.profile.counter()
        wanted = row["prompt_tokens"] + row["template_tokens"]
        sent = self.profile.sent_tokens(turns_of(row), self.plan.recipe.frame, counter)
        if sent != wanted:
            yield f"{counter.name} counts {sent} tokens sent in place of {wanted}"
        self.recounted += self.second is not None


def cell_place(cell: Stratum) -> tuple[str, str, int, int]:
    """Return what finds a row's stratum in its recipe."""
    return cell.family, cell.subtask, cell.length, cell.complexity


def turns_of(row: Row) -> tuple[tuple[str, str], ...]:
    """Return what is sent: the row's messages, or one user turn of its prompt."""
    if row["messages"]:
        return tuple((turn["role"], turn["content"]) for turn in row["messages"])
    return (("user", row["prompt"]),)


def sample_faults(row: Row, sample: Sample | None) -> list[str]:
    """Return where a row says something else than the sample it is of."""
    if sample is None or row["id"] != sample.id:
        return ["another row belongs here"]
    choices = None if sample.key.choices is None else list(sample.key.choices)
    wanted = {
        "question": sample.question,
        "choices": choices,
        "answer_prefix": "",
        "random_string_to_prepend": sample.key.random_string_to_prepend,
    }
    faults = [f"{name} is {row[name]!r} in place of {value!r}" for name, value in wanted.items() if row[name] != value]
    if json.loads(row["metadata"])["latent"] != sample.latent:
        faults.append("its latent structure is another")
    return faults


def answer_faults(row: Row, cell: Stratum) -> list[str]:
    """Return what is wrong with a row's answer, text and marks, judged from the published row alone."""
    task, metadata = task_of(cell), json.loads(row["metadata"])
    faults = [] if metadata["prompt_sha256"] == sha256_text(row["prompt"]) else ["its prompt has another SHA-256"]
    if not row["prompt"].isascii() and not cell.knob("corpus", ""):
        faults.append("its prompt is not ASCII")
    if row["messages"] and row["prompt"] != conversation(turns_of(row)):
        faults.append("its prompt is not the conversation of its messages")
    if (
        row["question"] not in row["prompt"][row["question_start"] :]
        or row["prompt"][row["question_start"] - 1] != "\n"
    ):
        faults.append("its question does not start where it says")
    if sum(needle["role"] == "demo" for needle in row["needles"]) != row["shots"]:
        faults.append("its demonstrations are not marked one by one")
    try:
        solved = task.solve(turns_of(row))
        if row["answers"] != list(solved) or row["target"] != solved[0]:
            faults.append(f"the text says {list(solved)}, the key {row['target']!r}, accepted {row['answers']}")
        faults += task.check(published(row, cell, metadata))
    except ValueError as fault:
        faults.append(str(fault))
    return faults


def published(row: Row, cell: Stratum, metadata: dict[str, Any]) -> Published:
    """Return a row as tasks check it."""
    needles = tuple(
        Needle(needle["role"], needle["char_start"], needle["char_end"], needle["depth"]) for needle in row["needles"]
    )
    choices = None if row["choices"] is None else tuple(row["choices"])
    key = Key(row["target"], tuple(row["answers"]), choices, row["random_string_to_prepend"])
    return Published(cell, turns_of(row), row["prompt"], row["question"], needles, key, metadata)

"""Proofs: every row recounted by a second encoder and re-solved from its text, read from the bytes on disk.

A shard that holds gets a proof beside it; the manifest of a profile is made of the proofs of all its shards. A shard
that does not hold is moved aside, so that the next build makes it again and only it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec.structs import replace

from pipeline.assemble.jobs import PackJob, draw_sample, samples_of
from pipeline.errors import CarraraError, CorruptError
from pipeline.prove.witness import Witness
from pipeline.rows import row_digest
from pipeline.store.files import file_digest, put_aside, written_aside
from pipeline.store.manifest import Totals, manifest_path, read_manifest
from pipeline.store.parquet import content_key, is_done
from pipeline.tasks.base import Sample


@dataclass(frozen=True, slots=True)
class Proof:
    """What was proven about one shard. `tokens` are context tokens; `recounted` rows by the `second` encoder."""

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
        said = (
            str(fault)
            if isinstance(fault, CarraraError)
            else f"{str(job.pack.data)!r} has no readable rows ({fault!r})"
        )
        raise CorruptError(f"{said}: the file is moved aside; run build to make it again") from fault
    with written_aside(job.path) as aside:
        aside.write_text(json.dumps(asdict(proof), indent=1, sort_keys=True) + "\n", encoding="ascii")
    return proof


def _put_aside(job: ProveJob) -> None:
    put_aside(job.pack.data)
    put_aside(job.pack.keys)
    job.path.unlink(missing_ok=True)
    _unseal(job.pack.plan.out, job.pack.shard.profile.name, job.pack.shard.tier)


def _unseal(out: Path, profile: str, tier: str) -> None:
    """Take a tier out of a manifest; remove the manifest if it is broken or holds no other tier."""
    manifest = read_manifest(out, profile)
    left = {name: kept for name, kept in manifest.tiers.items() if name != tier} if manifest else {}
    if manifest is None or not left:
        manifest_path(out, profile).unlink(missing_ok=True)
        return
    with written_aside(manifest_path(out, profile)) as aside:
        sums = Totals.of(kept.totals for kept in left.values())
        aside.write_text(replace(manifest, tiers=left, totals=sums).text, encoding="ascii")


def _proved(job: ProveJob, known: Proof | None, witness: Witness) -> Proof:
    pack = job.pack
    for path in (pack.data, pack.keys):
        if not path.exists():
            raise CorruptError(f"{str(path)!r} is missing")
        if content_key(path) != pack.shard.key:
            raise CorruptError(f"{str(path)!r} is not the file that this recipe would make")
    data_sha256, keys_sha256 = file_digest(pack.data), file_digest(pack.keys)
    if known and (data_sha256, keys_sha256) != (known.data_sha256, known.keys_sha256):
        changed = pack.data if data_sha256 != known.data_sha256 else pack.keys
        raise CorruptError(f"{str(changed)!r} differs from the bytes that were proven")
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
    if job.full:
        return (draw_sample(plan, row) for row in plan.rows(shard.family)[shard.start : shard.stop])
    return samples_of(plan, shard.family, shard.start, shard.stop)

"""Proofs: every row recounted by a second encoder and re-solved from its text, read from the bytes on disk.

A proven shard gets a proof beside it; a profile's manifest is made from the proofs of all its shards. A file is moved
aside, so that the next build makes it again, only if it is proven broken: its bytes differ from the manifest, or, if
there is no manifest, no record has its bytes and its rows fail. Faults of the machine (permissions, memory, another
version of Carrara) and edited records are reported, and no file is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec import to_builtins

from pipeline.artifacts.files import (
    atomic_write,
    file_digest,
    quarantine,
    read_fault,
    read_record,
)
from pipeline.artifacts.journal import UNREADABLE
from pipeline.artifacts.manifest import NO_SECOND, ShardRecord, manifest_path, unseal_tier
from pipeline.artifacts.parquet import content_key
from pipeline.assemble.cache import LAYOUTS
from pipeline.assemble.jobs import PackJob, draw_sample, samples_in
from pipeline.assemble.plan import Affinity
from pipeline.errors import BuildError, CarraraError, CorruptError
from pipeline.rows import Row, row_digest
from pipeline.storage import StoreError, StorePath, map_in_order, prefetched_existing
from pipeline.tasks.base import Sample
from pipeline.verify.row import RowChecker


def read_proof_file(path: Path) -> ShardRecord | None:
    """Return the proof in a file; None if there is no valid one.

    Raises:
        BuildError: if the file may exist but cannot be read.
    """
    try:
        record = read_record(path, ShardRecord)
    except (OSError, ValueError):
        return None
    return record if record.is_proof else None


@dataclass(frozen=True, slots=True)
class ProveJob:
    """Prove one shard; `full` recounts every row even if that is slow, and trusts no earlier proof.

    `listed` is the shard's record in the profile's manifest.
    """

    pack: PackJob
    full: bool = False
    listed: ShardRecord | None = None

    @property
    def affinity(self) -> Affinity:
        """Jobs with the same affinity need the same worlds."""
        return self.pack.affinity

    @property
    def path(self) -> Path:
        """The file of the proof."""
        return self.pack.proof

    @property
    def files(self) -> dict[Path, str]:
        """The files of the shard, with the field of a proof that has the file's digest."""
        return {self.pack.data: "data_sha256", self.pack.keys: "keys_sha256"}

    @property
    def manifest(self) -> Path:
        """The manifest that lists the shard."""
        return manifest_path(self.pack.plan.out, self.pack.shard.profile.name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for a shard: its proof if its rows are right, what is wrong, and which files are proven broken.

    With neither proof nor fault, the shard is not built, or is that of another recipe. `known` is the earlier proof.
    """

    path: Path
    proof: ShardRecord | None = None
    fault: str = ""
    broken: tuple[Path, ...] = ()
    kind: type[CarraraError] = CorruptError
    known: ShardRecord | None = None


def read_proofs(jobs: Sequence[ProveJob], out: Path) -> Iterator[ShardRecord | None]:
    """Yield `read_proof` of each shard; in a store, the sizes of all files are listed first.

    Args:
        jobs: the shards.
        out: their release folder.
    """
    shown: dict[Path, int] = {}
    if isinstance(out, StorePath):
        for names in sorted({(job.pack.shard.profile.name, part) for job in jobs for part in ("data", "keys")}):
            shown.update(out.joinpath(*names).sizes().items())
    return map_in_order(partial(read_proof, shown=shown), jobs, out)


def read_proof(job: ProveJob, shown: Mapping[Path, int] | None = None) -> ShardRecord | None:
    """Return the proof of a shard if it has the plan's content key and neither files nor manifest contradict it.

    `shown` are file sizes from a listing; if they disagree, the files themselves are checked.
    """
    proof, key = read_proof_file(job.path), job.pack.shard.key
    if proof is None or proof.key != key:
        return None
    wanted = (proof.data_bytes, proof.keys_bytes)
    if tuple(map((shown or {}).get, job.files)) != wanted and _sizes(job) != wanted:
        return None
    if job.listed and job.listed.key == key and not (job.listed.agrees(proof) or proof.agrees(job.listed)):
        return None
    return proof if job.pack.is_done() else None


def _sizes(job: ProveJob) -> tuple[int, int] | None:
    try:
        return job.pack.data.stat().st_size, job.pack.keys.stat().st_size
    except StoreError:
        raise
    except OSError:
        return None


def run_prove(job: ProveJob) -> ShardRecord:
    """Prove a shard and write its proof; files that are proven broken are moved aside.

    Raises:
        CorruptError: with the file, if possible the row, and what is wrong with it.
        BuildError: if the machine is at fault.
    """
    with prefetched_existing(job.path):
        if not job.full and (known := read_proof(job)):
            return known
        verdict = judge(job)
        if verdict.proof is None:
            raise verdict.kind(move_aside(job, verdict))
        write_proof(verdict)
        return verdict.proof


def write_proof(verdict: Verdict) -> None:
    """Write the proof of a shard, unless it is unchanged."""
    if verdict.proof and verdict.proof != verdict.known:
        with atomic_write(verdict.path) as aside:
            aside.write_text(json.dumps(to_builtins(verdict.proof), indent=1, sort_keys=True) + "\n", encoding="ascii")


def move_aside(job: ProveJob, verdict: Verdict) -> str:
    """Move broken files aside, and remove the proof and the tier's seal; return the fault, with advice."""
    if not verdict.broken and all(path.exists() for path in job.files):
        return verdict.fault
    try:
        for path in verdict.broken:
            quarantine(path)
        job.path.unlink(missing_ok=True)
        unseal_tier(job.manifest, job.pack.shard.tier)
    except (OSError, BuildError) as fault:
        return f"{verdict.fault}, and nothing can be moved or written here ({fault})"
    aside = "the file is moved aside; " if verdict.broken else ""
    return f"{verdict.fault}: {aside}run build to make it again (if that fails too, the task is at fault)"


def judge(job: ProveJob) -> Verdict:
    """Judge a shard by its bytes, without writing or moving files."""
    plan, shard = job.pack.plan, job.pack.shard
    try:
        checker = RowChecker(plan, shard.profile, plan.recipe.tag, full=job.full, start=shard.start, drawn=plan)
        shard.profile.counter()  # now, so that a missing engine or vocabulary is not reported as a fault of the shard
        with prefetched_existing(*job.files, job.path):
            missing = [path for path in job.files if not path.exists()]
            if job.full and not (job.listed or job.path.exists()) and (missing == [*job.files] or _is_of_another(job)):
                return Verdict(job.path)
            if missing:
                return Verdict(job.path, fault=f"{str(missing[0])!r} is missing")
            return _judged_bytes(job, checker)
    except (OSError, MemoryError, BuildError) as fault:
        why = str(fault) if isinstance(fault, BuildError) else read_fault(job.pack.data, fault)
        return Verdict(job.path, fault=f"{why}; nothing was moved", kind=BuildError)


def _is_of_another(job: ProveJob) -> bool:
    """Return whether a file of a shard was made from another recipe, and not yet replaced."""
    return any(content_key(path) not in (None, job.pack.shard.key) for path in job.files)


def _judged_bytes(job: ProveJob, checker: RowChecker) -> Verdict:
    digests, key = {path: file_digest(path) for path in job.files}, job.pack.shard.key
    listed = job.listed if job.full else None  # a build may have packed again what is listed
    known = [record for record in (job.listed, read_proof_file(job.path)) if record and record.key == key]
    unlisted = [path for path, name in job.files.items() if listed and getattr(listed, name) != digests[path]]
    unknown = [path for path, name in job.files.items() if digests[path] not in {getattr(one, name) for one in known}]
    if broken := tuple(path for path in unlisted if path in unknown):
        return Verdict(job.path, None, f"{str(broken[0])!r} differs from the bytes that were proven", broken)
    try:
        fresh = _proved(job, checker, list(digests.values()))
    except (CarraraError, ArithmeticError, *UNREADABLE) as fault:
        if isinstance(fault, BuildError):
            raise
        why = str(fault) if isinstance(fault, CarraraError) else f"{str(job.pack.data)!r} has no readable rows"
        why += "" if isinstance(fault, CarraraError) else f" ({fault!r})"
        ours = all(content_key(path) == key for path in job.files)
        guilty = unlisted or (unknown if ours and not listed else [])
        return Verdict(job.path, None, why, tuple(guilty))
    return Verdict(job.path, fresh, _record_fault(job, fresh), known=read_proof_file(job.path))


def _record_fault(job: ProveJob, fresh: ShardRecord) -> str:
    """Return which record of a sound shard disagrees with its bytes; "" if none does."""
    there = job.path.exists()  # asked first: another process may write it just now
    known = read_proof_file(job.path)
    for path, record in ((job.manifest, job.listed), (job.path, known)):
        if (record is None and path == job.path and there) or (record and not fresh.agrees(record)):
            return (
                f"{str(path)!r} does not say of {job.pack.shard.name} what its bytes show: it was edited or broken; "
                "delete it and run the same command again to write it from the bytes"
            )
    return ""


def _proved(job: ProveJob, checker: RowChecker, digests: list[str]) -> ShardRecord:
    pack = job.pack
    for path in job.files:
        if content_key(path) != pack.shard.key:
            raise CorruptError(f"{str(path)!r} is not the file that this recipe would make")
    rows = _sound_rows(checker, pack, _samples(job))
    digest = row_digest(rows)  # each row is proven as it is read for the digest
    if len(checker.ids) != pack.shard.rows:
        raise CorruptError(f"{str(pack.data)!r} holds {len(checker.ids)} rows, expected {pack.shard.rows}")
    return ShardRecord(
        shard=pack.shard.name,
        key=pack.shard.key,
        rows=len(checker.ids),
        tokens=checker.tokens,
        prompt_tokens=checker.prompt_tokens,
        fewest_tokens=checker.fewest,
        most_tokens=checker.most,
        solved=checker.solved,
        recounted=checker.recounted,
        counter=checker.profile.counter().name,
        second=checker.second.name if checker.second else NO_SECOND,
        row_digest=digest,
        data_bytes=pack.data.stat().st_size,
        data_sha256=digests[0],
        keys_bytes=pack.keys.stat().st_size,
        keys_sha256=digests[1],
        quick=checker.quick.name if checker.quick and checker.quick_recounted else None,
        quick_recounted=checker.quick_recounted or None,
    )


def _sound_rows(checker: RowChecker, pack: PackJob, samples: Iterator[Sample]) -> Iterator[Row]:
    """Yield the rows of a shard; raise a CorruptError at the first fault."""
    for row in checker.rows(pack.data, pack.keys, samples):
        if checker.faults:
            break
        yield row
    if checker.faults:
        raise CorruptError(f"{str(pack.data)!r}, {checker.faults[0]}")


def _samples(job: ProveJob) -> Iterator[Sample]:
    """Return the samples of a shard; a full proof trusts no file and draws them again."""
    plan, shard = job.pack.plan, job.pack.shard
    LAYOUTS.turn_to(plan, shard.row_range, full=job.full)
    if job.full:
        return (draw_sample(plan, row) for row in plan.rows(shard.family)[shard.start : shard.stop])
    return samples_in(plan, shard.row_range)

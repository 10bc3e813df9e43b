"""Staging: makes the folder to publish from a sealed split, with or without answers."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from msgspec.structs import replace

from pipeline.artifacts.files import atomic_folder, file_digest, link, path_below
from pipeline.artifacts.lite import LITE, lite_file
from pipeline.artifacts.manifest import (
    Manifest,
    ShardRecord,
    StratumRecord,
    TierManifest,
    Totals,
    read_manifest,
    shard_faults,
)
from pipeline.artifacts.parquet import column, read_table, rewrite, write_rows, write_table
from pipeline.artifacts.recipes import read_recipes
from pipeline.artifacts.split import Selection, Split
from pipeline.assemble.plan import columns_version
from pipeline.assemble.row_order import ids_by_place
from pipeline.errors import CorruptError, StageError, unknown
from pipeline.metrics.join import joined_metrics
from pipeline.profiles import load_profile
from pipeline.profiles.adopt import KEPT, PROFILE, known_profile
from pipeline.publish.card import Curve, Facts, croissant_of, evaluation_of, keys_card_of, pages_of
from pipeline.publish.card.tables import NOTHING, Notes, license_text, sources_text
from pipeline.recipe import SEED_BITS, is_secret
from pipeline.rows import KEYS_SCHEMA, plain_json, row_digest, schema_of
from pipeline.typed import LINE
from pipeline.verify.claims import first_claim_fault

__all__ = ["KEYS_SUFFIX", "MODES", "Draw", "Read", "Staged", "stage"]


def check_split(split: Split) -> None:
    """Check that all shards match the manifest, reading all bytes, and that all rows were counted twice.

    Raises:
        StageError: if the split is a published one, has no rows, or has rows that were not counted twice.
        CorruptError: with the file that is missing or differs.
    """
    if split.manifest.withheld is not None:
        raise StageError(f"{str(split.folder)!r} is a folder made for publishing: give the folder that build wrote")
    if not split.manifest.totals.rows:
        raise StageError(f"{split.title} has no rows: build it first")
    for tier, made in split.manifest.tiers.items():
        _check_proven(split, tier, made)
        for shard in made.shards:
            for _, path, fault in shard_faults(split.folder, shard):
                raise CorruptError(f"{str(path)!r} {fault}: build the split again, then publish it")


def check_claims(split: Split) -> None:
    """Check that the manifest agrees with recipe, profile, proofs and keys.

    Raises:
        CorruptError: with the first field that does not.
    """
    out = split.folder.parent
    profile = load_profile(known_profile(out, split.tokenizer))
    if fault := first_claim_fault(split, profile, read_recipes(out)):
        raise CorruptError(fault)


def _check_proven(split: Split, tier: str, made: TierManifest) -> None:
    rows = sum(shard.rows for shard in made.shards)
    if made.proven.again and made.proven.recounted < rows:
        raise StageError(
            f"{split.title}: {made.proven.recounted:,} of {rows:,} rows of tier {tier} were counted twice: "
            "run `carrara verify` on it first"
        )


def check_licence(split: Split, licence: str) -> None:
    """Check that a licence is given if, and only if, there are users' texts.

    Raises:
        StageError: if it is missing, not one line of text, or not needed.
    """
    own = sorted({str(corpus) for cell in split.strata if (corpus := (cell.knobs or {}).get("corpus"))})
    if own and not licence.strip():
        raise StageError(
            f"{split.title} contains your own texts (corpus {', '.join(each[:12] for each in own)}): give their "
            "licence, such as --licence 'CC BY 4.0'"
        )
    if licence and (not own or re.search(LINE, licence) is None):
        why = (
            "takes one line of text"
            if own
            else f"is given, but {split.title} contains none of your own texts: leave it out"
        )
        raise StageError(f"--licence {licence[:80]!r} {why}")


def check_secret(split: Split) -> None:
    """Check that keys can neither be made by guessing the seed, nor inferred from shots or room for the reply.

    Raises:
        StageError: with advice on how to recut the split.
    """
    for tier, made in split.manifest.tiers.items():
        if made.seed is None or not is_secret(made.seed):
            raise StageError(
                f"the seed of tier {tier}, {made.seed}, can be guessed, and with it the keys: make new rows "
                f"with `carrara recut --seed random`, which takes {SEED_BITS} bits, or publish with --keys inline"
            )
        for place in _told_apart(made.strata):
            raise StageError(
                f"{place}: rows with and without an answer differ in shots or in the room for the reply, "
                "which gives them away: make both the same"
            )


def _told_apart(strata: Iterable[StratumRecord]) -> Iterator[str]:
    """Yield where complexity is the class of the answer, and shots or `max_new_tokens` give it away."""
    kinds: dict[tuple[str, str, int], dict[int | None, tuple[int, int]]] = {}
    for cell in strata:
        place = cell.family, cell.subtask, cell.length
        kinds.setdefault(place, {})[cell.complexity] = cell.shots, cell.max_new_tokens
    for (family, subtask, length), seen in kinds.items():
        if 0 in seen and len(set(seen.values())) > 1:
            yield f"{family}.{subtask} length {length}"


WITHHELD = ("complexity", "target", "answers", "needles")
"""Columns that no public file has. Complexity is among them since it can be the class of the answer."""

PUBLIC_METADATA = ("canary", "prompt_sha256", "proof", "tools")
"""The fields of a row's metadata that stay public."""

INDEX = pa.schema([field for field in KEYS_SCHEMA if field.name not in WITHHELD])
STRATUM = ("family", "subtask", "length", "shots", "context_tokens", "max_new_tokens", "task_version")
SHARD = ("shard", "rows", "tokens", "prompt_tokens", "fewest_tokens", "most_tokens")
NO_KEY = "withheld"
"""Replaces the content key in the footer of public shards: a key depends on the seed, so it could confirm a guess."""


def part(split: Split, public: Path, private: Path) -> tuple[Manifest, Manifest]:
    """Write the rows of a split without answers below `public`, and its keys below `private`.

    Returns:
        The public manifest, which has no answers and nothing to derive them from, and the private one.
    """
    names = _names(split)
    public_tiers: dict[str, TierManifest] = {}
    private_tiers: dict[str, TierManifest] = {}
    for tier, made in split.manifest.tiers.items():
        columns = _columns(made, withheld=True)
        pairs = [_shard(split, shard, public, private, names, columns) for shard in made.shards]
        totals = replace(made.totals, bytes=sum(shown.data_bytes for shown, _ in pairs))
        public_tiers[tier] = public_tier(made, totals, tuple(shown for shown, _ in pairs))
        private_tiers[tier] = replace(made, totals=totals, shards=tuple(hidden for _, hidden in pairs))
    whole = replace(split.manifest.totals, bytes=sum(made.totals.bytes for made in public_tiers.values()))
    shown = replace(split.manifest, withheld=WITHHELD, tiers=public_tiers, totals=whole)
    return shown, replace(split.manifest, tiers=private_tiers, totals=whole)


def _columns(made: TierManifest, *, withheld: bool) -> pa.Schema:
    """Return the columns of a tier's rows, without withheld ones if `withheld`."""
    whole = schema_of(columns_version(made.strata))
    return pa.schema([field for field in whole if not (withheld and field.name in WITHHELD)])


def _names(split: Split) -> dict[str, str]:
    """Return the public id of every row, by its id."""
    names: dict[str, str] = {}
    for made in split.manifest.tiers.values():
        paths = [split.folder / "keys" / f"{shard.shard}.parquet" for shard in made.shards]
        ids = [each for path in paths for each in column(read_table(path, ["id"]), "id")]
        names |= dict(zip(ids, ids_by_place(ids), strict=True))
    return names


def _shard(
    split: Split, shard: ShardRecord, public: Path, private: Path, names: Mapping[str, str], columns: pa.Schema
) -> tuple[ShardRecord, ShardRecord]:
    """Write a shard's public rows, their index, and its keys; return its records for both manifests."""
    file = f"{shard.shard}.parquet"
    data, index, keys = (
        path_below(public, "data", file),
        path_below(public, "index", file),
        path_below(private, "keys", file),
    )
    rewrite(split.folder / "data" / file, data, NO_KEY, lambda table: _shown(_named(table, names), columns))
    own = _named(read_table(split.folder / "keys" / file), names)
    write_table(index, _shown(own, INDEX), NO_KEY)
    write_table(keys, own, str(shard.key))
    at = _digests("data", data)
    public_record = ShardRecord(**{name: getattr(shard, name) for name in SHARD}, **at, **_digests("index", index))
    return public_record, replace(shard, **at, row_digest=row_digest(own.to_pylist()), **_digests("keys", keys))


def _digests(kind: str, path: Path) -> dict[str, Any]:
    return {f"{kind}_bytes": path.stat().st_size, f"{kind}_sha256": file_digest(path)}


def _named(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    return _put(table, "id", [names[each] for each in column(table, "id")])


def _shown(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of `schema`, with only the public fields of metadata."""
    kept = (json.loads(each) for each in column(table, "metadata"))
    plain = [plain_json({name: metadata[name] for name in PUBLIC_METADATA if name in metadata}) for metadata in kept]
    return _put(table, "metadata", plain).select(schema.names).cast(schema)


def _put(table: pa.Table, name: str, values: list[str]) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, pa.string()))


def public_tier(made: TierManifest, totals: Totals, shards: tuple[ShardRecord, ...]) -> TierManifest:
    """Return a tier for the public manifest: without seed, digests of it, pools, chance and depths."""
    return TierManifest(
        tag=made.tag,
        reserve=made.reserve,
        longest=made.longest,
        strata=tuple(_merged(made.strata)),
        proven=made.proven,
        budgets=made.budgets,
        totals=totals,
        shards=shards,
    )


def _merged(strata: Iterable[StratumRecord]) -> Iterator[StratumRecord]:
    """Yield strata merged where public columns cannot tell them apart, with the sum of their rows.

    Of their knobs only the corpus stays, since the licence of the rows depends on it.
    """
    rows: Counter[tuple[Any, ...]] = Counter()
    for cell in strata:
        rows[*(getattr(cell, name) for name in STRATUM), (cell.knobs or {}).get("corpus")] += cell.rows
    for (*place, corpus), count in rows.items():
        knobs = {"corpus": corpus} if corpus else None
        yield StratumRecord(**dict(zip(STRATUM, place, strict=True)), rows=count, knobs=knobs)


MODES = ("inline", "separate", "withhold")
KEYS_SUFFIX = "-keys"
"""Suffix of the folder and the repo with the keys of a split whose rows are published without keys."""


class DrawnSplit(Protocol):
    """A figure as the card shows it."""

    @property
    def caption(self) -> str:
        """The caption."""

    @property
    def alt(self) -> str:
        """The alternative text."""

    def svg(self) -> str:
        """Return the figure as SVG."""

    def png(self) -> bytes:
        """Return the figure as PNG."""


Draw = Callable[[Manifest], Mapping[str, DrawnSplit]]
Exhibit = Callable[[Split], str]
"""Makes a page with an example of every task."""
Read = Callable[[Split], Curve]
"""Makes the scores of simulated readers on a split."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A folder to publish; `keys` is the folder of its keys, if these are separate."""

    folder: Path
    version: str
    keys: Path | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown with a split; the fields are arguments of `stage`."""

    repo: str
    siblings: tuple[str, ...] = ()
    notes: Notes = NOTHING
    draw: Draw | None = None
    exhibit: Exhibit | None = None
    read: Read | None = None
    licence: str = ""


def stage(
    split: Split,
    folder: Path,
    *,
    keys: str = "inline",
    repo: str,
    siblings: Sequence[str] = (),
    notes: Notes = NOTHING,
    draw: Draw | None = None,
    exhibit: Exhibit | None = None,
    read: Read | None = None,
    licence: str = "",
) -> Staged:
    """Make the folder to publish from a sealed split, all at once; an older one is removed first.

    With `keys` ``inline``, shards are published byte for byte, with their keys. With ``separate`` or ``withhold``, rows
    lose everything that gives away an answer, and the keys go to a second folder, to be published separately or kept.
    `siblings` are repos with the same questions for other tokenizers, `notes` is the version's entry in the changelog,
    and `licence` is that of users' texts in the rows.

    Raises:
        StageError: if the split cannot be published in this way, or `folder` has other files.
        CorruptError: if its files or its manifest are wrong.
    """
    if keys not in MODES:
        raise StageError(unknown("way to publish keys", keys, MODES))
    check_split(split)
    check_licence(split, licence)
    open_keys = keys == "inline"
    if not open_keys:
        check_secret(split)
    check_claims(split)
    shown = Shown(
        repo, tuple(siblings), notes, draw, exhibit if open_keys else None, read if open_keys else None, licence
    )
    version = split.manifest.version
    _cleared(folder)
    if keys == "inline":
        with atomic_folder(folder) as aside:
            _copy_shards(split, aside)
            _copy_profile(split, aside)
            write_lite(Split(aside, split.manifest))
            _finish(Split(aside, split.manifest), shown, keys)
        return Staged(folder, version)
    private = folder.with_name(folder.name + KEYS_SUFFIX)
    _cleared(private)
    with atomic_folder(folder) as aside, atomic_folder(private, secret=True) as hidden:
        public_manifest, private_manifest = part(split, aside, hidden)
        _copy_profile(split, aside)
        write_lite(Split(aside, public_manifest))
        _finish(Split(aside, public_manifest), shown, keys)
        _finish_keys(Split(hidden, private_manifest), shown)
    return Staged(folder, version, private)


def _cleared(folder: Path) -> None:
    """Remove an older staged folder.

    Raises:
        StageError: if it has other files.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / "README.md").is_file() or read_manifest(folder.parent, folder.name) is None:
        raise StageError(f"{str(folder)!r} holds other files than a split made for publishing: give another folder")
    shutil.rmtree(folder)


def _copy_shards(split: Split, folder: Path) -> None:
    for kind in ("data", "keys"):
        for source in split.shards(kind):
            target = path_below(folder, str(source.relative_to(split.folder)))
            target.parent.mkdir(parents=True, exist_ok=True)
            link(source, target)


def write_lite(split: Split) -> None:
    """Write each tier's lite rows to a file of their own, since `load_dataset` reads only whole files."""
    withheld = split.manifest.withheld is not None
    for tier, made in split.manifest.tiers.items():
        schema = _columns(made, withheld=withheld)
        rows = split.rows(schema.names, Selection(tiers=(tier,), size=LITE))
        path = path_below(split.folder, lite_file(tier))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, rows, schema, NO_KEY if withheld else LITE)


def _copy_profile(split: Split, folder: Path) -> None:
    """Copy the TOML of a profile that is not shipped, but not its vocabulary, which belongs to others."""
    source = split.folder / KEPT / PROFILE
    if source.is_file():
        (folder / KEPT).mkdir()
        (folder / KEPT / PROFILE).write_bytes(source.read_bytes())


def _finish(split: Split, shown: Shown, keys: str) -> None:
    """Write everything except the shards."""
    folder = split.folder
    figures = shown.draw(split.manifest) if shown.draw else {}
    for name, figure in figures.items():
        _write(folder / "figures" / f"{name}.svg", figure.svg())
        (folder / "figures" / f"{name}.png").write_bytes(figure.png())
    captions = {name: (figure.caption, figure.alt) for name, figure in figures.items()}
    facts = Facts(
        split,
        shown.repo,
        keys,
        shown.siblings,
        shown.notes,
        captions,
        gallery=shown.exhibit is not None,
        curve=shown.read(split) if shown.read else {},
        licence=shown.licence,
    )
    _write(folder / "manifest.json", split.manifest.text)
    if shown.exhibit:
        _write(folder / "gallery.html", shown.exhibit(split))
    _write(folder / "metrics.py", joined_metrics())
    _write(folder / "LICENSE", license_text())
    _write(folder / "SOURCES.md", sources_text())
    for name, page in pages_of(facts).items():
        _write(folder / name, page)
    _write(folder / "croissant.json", json.dumps(croissant_of(facts), indent=1) + "\n")
    if evaluation := evaluation_of(facts):
        _write(folder / "eval.yaml", evaluation)


def _finish_keys(split: Split, shown: Shown) -> None:
    _write(split.folder / "manifest.json", split.manifest.text)
    _write(split.folder / "metrics.py", joined_metrics())
    _write(split.folder / "README.md", keys_card_of(Facts(split, shown.repo, "private")))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
